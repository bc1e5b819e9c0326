package pages

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/accounts"
	"svc/commands/apps"
	"svc/commands/cache"
	"svc/commands/content"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/activity"
	"svc/domain/document"
	"svc/domain/page"
	"svc/domain/value"
	"svc/http/gateway"
	"svc/projections"
	"svc/streams/feed"
)

// Options are what pages need of the rest of the platform. Those without a default are required.
type Options struct {
	ReadModel ReadModel
	Library   content.Library // documents of workspaces
	Shelf     *apps.Shelf     // what apps consist of
	Access    Access
	Programs  Programs
	Runtime   Runtime
	Emitter   Emitter
	Record    func(ctx context.Context, workspaceID string, ev domain.Event) error // error events
	Feed      *feed.Feed
	Views     Views
	Visitors  Visitors // sessions of visitors who are not signed in
	Uploads   Uploads
	SignIn    SignIn

	PagesHost func() string // PAGES_HOST; "": pages are on the host of the API only
	APIURL    string        // where the API is reached
	Timeout   func() time.Duration
	Heartbeat time.Duration // of feeds; default 15 s

	Now func() time.Time // default time.Now
	Log *slog.Logger     // default slog.Default
}

// ReadModel is what is read. It is a *projections.Models.
type ReadModel interface {
	View(fn func(projections.Reader) error) error
}

// Access decides who may do what. It is an *identity.Identity.
type Access interface {
	RightsOf(p access.Principal, workspaceID string) (rights *access.Rights, found bool, err error)
}

// Programs finds what can run. It is a *programs.Library.
type Programs interface {
	ProgramSet(ctx context.Context, workspaceID string) (*programs.ProgramSet, error)
}

// Runtime runs automations. It is a *runtime.Runtime.
type Runtime interface {
	Launch(s runtime.Start) *runtime.Handle
}

// Emitter records events. It is a commands.Events.
type Emitter interface {
	Emit(ctx context.Context, workspaceID string, batch []commands.Emission, may ...func(domain.Recorded) error) ([]domain.Recorded, error)
}

// Visitors makes sessions for visitors who are not signed in. It is an *accounts.Accounts.
type Visitors interface {
	Anonymous(ctx context.Context, from accounts.Client) (accounts.LoginResult, error)
}

// Pages serves the pages of workspaces.
type Pages struct {
	Options
	apiHost  string
	cache    documentCache
	rendered *cache.Cache[renderedKey, renderedPage]
	styles   styleCache
	feeds    feedCount
	events   eventLimit
	assets   assets
}

// New returns Pages.
func New(o Options) *Pages {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	p := &Pages{Options: o, assets: loadAssets(), rendered: newRenderedPages()}
	if u, err := url.Parse(o.APIURL); err == nil {
		p.apiHost = strings.ToLower(u.Hostname())
	}
	return p
}

// Routes is the part of the table that this package answers: below /pages/{workspaceSlug} on the host of the API, and
// everything on hosts of pages.
func (p *Pages) Routes() []gateway.Route {
	var rows []gateway.Route
	for _, own := range []bool{false, true} {
		prefix, when := "/pages/{workspaceSlug}", (func(*http.Request) bool)(nil)
		if own {
			prefix, when = "", p.OnOwnHost
		}
		row := func(method, path string, handler gateway.HandlerFunc, summary string) gateway.Route {
			return gateway.Route{Method: method, Path: prefix + path, Permission: gateway.Public, NoScope: true, NoCSRF: true, AnySite: true, BeforeMFA: true, When: when, Handler: handler, Summary: summary}
		}
		events := row(http.MethodPost, "/_svc/events", p.receiveEvent, "Emit an event of a page")
		events.Body = gateway.FilesBody
		signIn := row(http.MethodGet, "/_svc/signin", p.signIn, "Sign in to the pages of a workspace")
		callback := row(http.MethodGet, "/_svc/callback", p.callback, "Return from signing in")
		signIn.OwnAuth, callback.OwnAuth = true, true // the cookie of the sign-in is no credential of the platform
		rows = append(rows, events,
			row(http.MethodGet, "/_svc/feed", p.follow, "Follow what changes in a page"),
			row(http.MethodGet, "/_svc/assets/{asset}", p.asset, "Load a script or a style sheet of pages"),
			signIn,
			callback,
			row(http.MethodPost, "/_svc/signout", p.signOut, "Sign out of the pages of a workspace"),
			row(http.MethodGet, "/{path:.*}", p.get, "Show a page"),
		)
		if own { // nothing but pages is served there: the API would see the cookies of visitors
			rows = append(rows, row(gateway.AnyMethod, "/{path:.*}", p.refuseMethod, "Refuse what no page answers"))
		} else {
			rows = append(rows,
				row(http.MethodGet, "", p.get, "Show the first page of a workspace"),
				row(http.MethodGet, "/_svc/preview/{preview}", p.showPreview, "Show a draft of a page"),
			)
		}
	}
	return rows
}

// visit is one request for a page.
type visit struct {
	*Pages
	request *http.Request
	place   place
	caller  gateway.Caller
	rights  *access.Rights
	cookie  *http.Cookie // of a session that this request has begun
	isDraft bool         // nothing is recorded about a page that is not saved
}

// visitorOf returns who visits, with their rights. A session that owes its second factor counts as none.
func (p *Pages) visitorOf(r *http.Request, at place) (*visit, error) {
	v := &visit{Pages: p, request: r, place: at, caller: gateway.CallerFrom(r.Context())}
	if v.caller.MFAPending {
		v.caller = gateway.Caller{}
	}
	var err error
	v.rights, _, err = p.Access.RightsOf(v.caller.Identity(), at.workspaceID)
	return v, err
}

// isSignedIn reports whether the visitor has an account.
func (v *visit) isSignedIn() bool { return v.caller.UserID != "" && !v.caller.Anonymous }

// get handles GET of a page.
func (p *Pages) get(r *http.Request) (any, error) {
	at, err := p.place(r)
	if err != nil {
		return p.errorAnswer(r, nil, err)
	}
	if !at.ownHost {
		if target := p.subdomain(r, at.record.Meta.Slug, "/"+strings.TrimPrefix(r.URL.EscapedPath(), at.site.base+"/")); target != "" {
			if target = strings.TrimSuffix(target, at.site.base); r.URL.RawQuery != "" {
				target += "?" + r.URL.RawQuery
			}
			return redirectTo(http.StatusPermanentRedirect, target), nil
		}
	}
	if target := canonicalPath(r, at); target != "" {
		return redirectTo(http.StatusPermanentRedirect, target), nil
	}
	v, err := p.visitorOf(r, at)
	if err != nil {
		return nil, err
	}
	answer, err := v.show()
	if err != nil {
		return p.errorAnswer(r, v, err)
	}
	return answer, nil
}

// refuseMethod refuses other methods on hosts of pages.
func (p *Pages) refuseMethod(*http.Request) (any, error) {
	refusal := gateway.RefuseStatus(http.StatusMethodNotAllowed, "pages are read with GET")
	refusal.Header.Set("Allow", "GET, HEAD")
	return nil, refusal
}

func redirectTo(status int, location string) *gateway.Answer {
	return gateway.Status(status, nil).With("Location", location)
}

// show renders the page of the request.
func (v *visit) show() (any, error) {
	f, err := v.findPage(v.request.Context(), v.place)
	if err != nil {
		return nil, err
	}
	if !f.exists || strings.HasPrefix(f.slug, "_") && (f.slug == "_401" || f.slug == "_404") && !v.mayRead(f.item) {
		return nil, errNoPage
	}
	if !v.mayRead(f.item) {
		return nil, v.refusal()
	}
	return v.render(f, http.StatusOK, nil)
}

// refusal asks whom nobody knows for a credential, and refuses others.
func (v *visit) refusal() error {
	if v.isSignedIn() {
		return domain.Refuse(domain.CodePermissionDenied, "you may not read this page")
	}
	return domain.Refuse(domain.CodeMissingToken, "sign in to read this page")
}

// mayRead reports whether the visitor may read a page.
func (v *visit) mayRead(item projections.Item) (may bool) {
	err := v.ReadModel.View(func(rd projections.Reader) error {
		may = v.rights.Allows("read", "pages", projections.Content{}.SharedObject(rd, v.place.workspaceID, item))
		return nil
	})
	return err == nil && may
}

// render runs the automations of a page and answers with its HTML.
func (v *visit) render(f found, status int, forms map[string]*formState) (any, error) {
	doc, err := v.document(v.request.Context(), v.place.workspaceID, f.item)
	if err != nil {
		return nil, err
	}
	language := f.language
	if !f.prefixed {
		language = page.ChooseLanguage(v.request.Header.Get("Accept-Language"), doc.Languages)
	} else {
		v.place.site.lang = f.language.Tag
	}
	rec := viewRecord{
		WorkspaceID: v.place.workspaceID, PageID: f.item.ID, Slug: f.slug, Hash: f.item.Hash, Apart: f.item.Apart, Language: language.Tag, Prefixed: f.prefixed,
		Query: v.request.URL.RawQuery,
	}
	viewID := rec.shared()
	shared := f.item.Public && !doc.UsesVisitor && status == http.StatusOK && forms == nil
	key := renderedKey{viewID, scheme(v.request) + "://" + v.request.Host, v.place.site.base, v.place.settings.revision}
	if known, ok := v.rendered.Get(key); shared && ok && v.Now().Sub(known.at) < renderedLifetime {
		return v.htmlAnswer(known.html, status, f, known.etag, language), nil
	}
	blocks := v.definitions(v.request.Context(), v.place)
	view := &page.View{
		Document: doc, Definitions: blocks, Language: language, SignedIn: v.isSignedIn(), Query: queryObject(v.request.URL.Query()), Now: v.Now(),
	}
	tree := view.Expand()
	shared = shared && !usesAutomations(tree)
	if !shared {
		if err := v.ensureSession(); err != nil {
			return nil, err
		}
		rec.SessionID = v.caller.SessionID
		run := automationRun{visit: v, view: view, page: f.slug, outputs: map[string]*value.Object{}}
		if tree, err = run.all(tree); err != nil {
			return nil, err
		}
		rec.Outputs = run.outputs
		if viewID, err = v.storeView(v.request.Context(), &rec); err != nil {
			return nil, err
		}
	}
	if status == http.StatusOK {
		if answer := v.redirect(tree, rec.Outputs[""]); answer != nil {
			return answer, nil
		}
	}
	out := v.newRendering(view, tree, viewID, forms)
	html := out.document(v.documentData(f, view, tree, shared, rec.Seq))
	v.reportProblems(f, out)
	etag := ""
	if shared {
		etag = `W/"` + cssHash(string(html)) + `"`
		if len(blocks.instances) == 0 { // blocks of apps have revisions of their own
			v.rendered.Set(key, renderedPage{html, etag, v.Now()})
		}
	}
	return v.htmlAnswer(html, status, f, etag, language), nil
}

// renderedKey is what the HTML of a page that all visitors see alike depends on.
type renderedKey struct {
	view     string // page, revision, language and query
	origin   string
	base     string
	settings uint64 // revision of the settings of the workspace
}

// renderedPage is such HTML.
type renderedPage struct {
	html []byte
	etag string
	at   time.Time
}

// Bounds of the HTML that is kept: what it says about the time that has passed is not much older than it.
const (
	renderedLifetime = 5 * time.Second
	maxRendered      = 32 << 20 // bytes
)

func newRenderedPages() *cache.Cache[renderedKey, renderedPage] {
	return cache.Weighing(maxRendered, func(key renderedKey, p renderedPage) uint32 { return uint32(len(key.view) + len(p.html)) }) //nolint:gosec // both are far smaller
}

// htmlAnswer is the answer with a page. Only one that all visitors see alike has an ETag.
func (v *visit) htmlAnswer(html []byte, status int, f found, etag string, language page.Language) gateway.Content {
	h := v.pageHeader()
	h.Set("Content-Language", language.Tag)
	if etag != "" {
		h.Set("Cache-Control", "public, max-age=0, s-maxage=60")
		h.Set("Etag", etag)
	} else {
		h.Set("Cache-Control", "private, no-store")
	}
	if !f.prefixed {
		h.Set("Vary", "Accept-Language")
	}
	if !f.item.Public || status != http.StatusOK {
		h.Set("X-Robots-Tag", "noindex")
	}
	return gateway.Content{Type: "text/html; charset=utf-8", Body: html, Status: status, Header: h}
}

// The content security policies of pages.
const (
	policy         = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: data:; font-src 'self' https:; connect-src 'self'; form-action 'self'; frame-ancestors 'self'; base-uri 'none'"
	previewPolicy  = "default-src 'none'; style-src 'self'; img-src 'self' https: data:; font-src 'self' https:; form-action 'none'; frame-ancestors 'self'; base-uri 'none'"
	unsecurePolicy = "default-src 'none'; script-src 'self' 'unsafe-inline' https:; style-src 'self'; img-src 'self' https: data:; font-src 'self' https:; connect-src 'self'; form-action 'self'; frame-ancestors 'self'; base-uri 'none'"
)

// pageHeader returns the headers of all HTML.
func (v *visit) pageHeader() http.Header {
	h := http.Header{}
	h.Set("Content-Security-Policy", policy)
	if v.allowsScripts() {
		h.Set("Content-Security-Policy", unsecurePolicy)
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	if v.cookie != nil {
		h.Add("Set-Cookie", v.cookie.String())
	}
	return h
}

// allowsScripts reports whether scripts of authors may run: the workspace allows it, and its pages have an origin of
// their own.
func (v *visit) allowsScripts() bool { return v.place.ownHost && v.place.settings.unsecure }

// redirect returns where a page or the output of its automation sends visitors; nil when they do not.
func (v *visit) redirect(tree *page.Tree, output *value.Object) *gateway.Answer {
	target := objectOf(output.At("redirect"))
	if target == nil {
		target = objectOf(tree.Config.At("redirect"))
	}
	if target == nil {
		return nil
	}
	address, _ := target.At("url").(string)
	link := externalLink(address)
	if link == "" || !strings.HasPrefix(link, "/") && !strings.HasPrefix(link, "http") {
		tree.Problems = append(tree.Problems, page.Problem{Code: "InvalidRedirect", Message: "a page can redirect to http(s) addresses and paths only"})
		return nil
	}
	status := http.StatusFound
	if target.At("permanent") == true {
		status = http.StatusPermanentRedirect
	}
	answer := redirectTo(status, link).With("Cache-Control", "private, no-store")
	if v.cookie != nil {
		answer.WithCookie(v.cookie)
	}
	return answer
}

// queryObject returns a query as templates read it: a text, or a list where a name is given several times.
func queryObject(query url.Values) *value.Object {
	o := value.NewObjectSize(len(query))
	for _, name := range sortedKeys(query) {
		if values := query[name]; len(values) == 1 {
			o.Set(name, values[0])
		} else {
			o.Set(name, document.StringList(values))
		}
	}
	return o
}

// reportProblems records what could not be shown: once per problem and revision of the page on this node, however
// often the page is visited.
func (v *visit) reportProblems(f found, out *rendering) {
	for _, problem := range append(out.tree.Problems, out.problems...) {
		if !v.cache.isNewProblem(f.item.ID + "/" + f.item.Hash + "/" + problem.Path + "/" + problem.Message) {
			continue
		}
		details := map[string]any{"page": f.slug}
		if problem.Path != "" {
			details["block"], details["kind"] = problem.Path, problem.Kind
		}
		v.recordError(problem.Code, problem.Message, details)
	}
}

// recordError records an error event in the workspace of the page.
func (v *visit) recordError(code, message string, details map[string]any) {
	if v.isDraft {
		return
	}
	ctx := context.WithoutCancel(v.request.Context())
	if err := v.Record(ctx, v.place.workspaceID, activity.Failure{Error: code, Message: message, Details: details}); err != nil {
		v.Log.WarnContext(ctx, "an error of a page could not be recorded", "err", err)
	}
}

// documentCache has compiled documents by their hash, and the settings of workspaces.
type documentCache struct {
	mu       sync.Mutex
	docs     map[string]*page.Document
	settings map[string]*settings // by workspace
	problems map[string]bool      // that were recorded
}

// maxCached is how many compiled documents are kept. When there are more, all are dropped and compiled again.
const maxCached = 1000

// isNewProblem reports whether a problem was not recorded yet, and notes it.
func (c *documentCache) isNewProblem(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problems[key] {
		return false
	}
	if len(c.problems) >= maxCached || c.problems == nil {
		c.problems = map[string]bool{}
	}
	c.problems[key] = true
	return true
}

// document returns a page, compiled.
func (p *Pages) document(ctx context.Context, workspaceID string, item projections.Item) (*page.Document, error) {
	key := workspaceID + "/" + item.ID + "/" + item.Hash
	p.cache.mu.Lock()
	doc := p.cache.docs[key]
	p.cache.mu.Unlock()
	if doc != nil {
		return doc, nil
	}
	stored, err := p.Library.Document(ctx, workspaceID, content.Ref{Hash: item.Hash, Apart: item.Apart})
	if err != nil {
		return nil, err
	}
	doc = page.Compile(item.ID, item.Slug(), stored)
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	if len(p.cache.docs) >= maxCached || p.cache.docs == nil {
		p.cache.docs = map[string]*page.Document{}
	}
	p.cache.docs[key] = doc
	return doc, nil
}

// settings are what pages need of the settings of a workspace.
type settings struct {
	revision    uint64
	unsecure    bool
	domains     []string
	blocks      *value.Object
	mu          sync.Mutex
	definitions map[string]*page.Definition // of blocks, compiled
}

// settings returns those of a workspace, which are read again after they have changed.
func (p *Pages) settings(rd projections.Reader, rec projections.Record) (*settings, error) {
	p.cache.mu.Lock()
	known := p.cache.settings[rec.ID]
	p.cache.mu.Unlock()
	if known != nil && known.revision == rec.Revision {
		return known, nil
	}
	doc, _, err := projections.Workspaces{}.Settings(rd, rec.ID)
	if err != nil {
		return nil, err
	}
	next := &settings{
		revision: rec.Revision, unsecure: doc.At("allowUnsecurePages") == true, domains: rec.Meta.CustomDomains, blocks: objectOf(doc.At("blocks")),
		definitions: map[string]*page.Definition{},
	}
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	if len(p.cache.settings) >= maxCached || p.cache.settings == nil {
		p.cache.settings = map[string]*settings{}
	}
	p.cache.settings[rec.ID] = next
	return next, nil
}

// find returns the definition of a block of the workspace.
func (s *settings) find(name string) *page.Definition {
	if s.blocks.Len() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	def, ok := s.definitions[name]
	if !ok {
		if given := objectOf(s.blocks.At(name)); given != nil {
			def = page.CompileDefinition("", given)
			s.definitions[name] = def
		}
	}
	return def
}

// blockLibrary finds the blocks of a workspace and of its app instances, for one request.
type blockLibrary struct {
	pages       *Pages
	ctx         context.Context
	workspaceID string
	own         *settings
	compiled    map[string]*page.Definition
	instances   map[string]*value.Object
}

// definitions returns the blocks that the pages of a workspace can use.
func (p *Pages) definitions(ctx context.Context, at place) *blockLibrary {
	return &blockLibrary{pages: p, ctx: ctx, workspaceID: at.workspaceID, own: at.settings, compiled: map[string]*page.Definition{}, instances: map[string]*value.Object{}}
}

// Find implements page.Definitions.
func (l *blockLibrary) Find(instance, name string) *page.Definition {
	if instance == "" {
		return l.own.find(name)
	}
	key := instance + "/" + name
	def, ok := l.compiled[key]
	if !ok {
		def = page.CompileDefinition(instance, objectOf(l.blocksOf(instance).At(name)))
		l.compiled[key] = def
	}
	return def
}

// blocksOf returns the blocks of the app of an instance; nil when there is none in use. They are found where its
// automations are: also those of an instance inside of an app, or of an app that is published no more.
func (l *blockLibrary) blocksOf(instance string) *value.Object {
	if blocks, ok := l.instances[instance]; ok {
		return blocks
	}
	var blocks *value.Object
	set, err := l.pages.Programs.ProgramSet(l.ctx, l.workspaceID)
	if err != nil {
		l.pages.Log.WarnContext(l.ctx, "the blocks of an app could not be read", "workspace", l.workspaceID, "instance", instance, "err", err)
	} else if set != nil {
		if scope := set.Scope(instance); scope != nil {
			blocks = scope.Blocks()
		}
	}
	l.instances[instance] = blocks
	return blocks
}

// usesAutomations reports whether a page or one of its blocks calls an automation.
func usesAutomations(tree *page.Tree) bool {
	if tree.Call != nil {
		return true
	}
	for _, b := range tree.ByPath {
		if b.Call != nil {
			return true
		}
	}
	return false
}

// errorAnswer answers with the page for an error of the workspace, or with one of the platform; JSON for whoever
// prefers it.
func (p *Pages) errorAnswer(r *http.Request, v *visit, err error) (any, error) {
	var status int
	var slugs []string
	switch domain.CodeOf(err) {
	case domain.CodeNotFound:
		status, slugs = http.StatusNotFound, []string{"_404", "404"}
	case domain.CodeMissingToken, domain.CodeInvalidToken, domain.CodeInvalidCredentials, domain.CodeTokenExpired:
		status, slugs = http.StatusUnauthorized, []string{"_401", "401"}
	case domain.CodePermissionDenied:
		status, slugs = http.StatusForbidden, []string{"_401", "401"}
	default:
		return nil, err
	}
	if prefersJSON(r) {
		return nil, err
	}
	if v != nil {
		for _, slug := range slugs {
			at := v.place
			at.path = slug
			f, findErr := p.findPage(r.Context(), at)
			if findErr != nil || !f.exists {
				continue
			}
			if language, _, ok := page.SplitLanguage(v.place.path); ok {
				f.language, f.prefixed = language, true
			}
			answer, showErr := v.render(f, status, nil)
			if showErr != nil {
				return nil, errors.Join(err, showErr)
			}
			if shown, ok := answer.(gateway.Content); ok && status == http.StatusUnauthorized {
				shown.Header.Set("WWW-Authenticate", "Bearer")
			}
			return answer, nil
		}
	}
	return p.builtInError(r, v, status), nil
}

// prefersJSON reports whether a client asks for JSON rather than for HTML.
func prefersJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "json") && !gateway.PrefersHTML(r.Header)
}
