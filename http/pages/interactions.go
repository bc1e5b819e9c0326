package pages

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/commands"
	"svc/commands/accounts"
	"svc/domain"
	"svc/domain/feed"
	"svc/domain/page"
	"svc/domain/value"
	"svc/http/gateway"
)

// Upload is a file that a visitor sends.
type Upload struct {
	Name, Type string
	Content    io.Reader
}

// StoredFile is an uploaded file as the event has it.
type StoredFile struct {
	ID, URL, Name, MimeType string
	Size                    int64
}

// Uploads stores files of visitors in a workspace. Nobody but its members can read them.
type Uploads interface {
	Store(ctx context.Context, workspaceID string, upload Upload) (StoredFile, error)
}

// interaction is what a visitor does on a page.
type interaction struct {
	view, block, on, socket string
	values                  *value.Object
	faults                  []page.Fault // of its files
	asked                   bool         // the question of the action is still to be asked
	isForm                  bool         // no script sent it: it is answered with a page
}

// maxEventLength is how many characters the payload of an event of a page may have.
const maxEventLength = 100_000

// receiveEvent handles POST …/_svc/events: the visitor does something that emits an event.
func (p *Pages) receiveEvent(r *http.Request) (any, error) {
	at, err := p.place(r)
	if err != nil {
		return p.errorAnswer(r, nil, err)
	}
	if !isSameOrigin(r) {
		return nil, domain.Refuse(domain.CodePermissionDenied, "pages take events from their own origin only").Reason("origin")
	}
	v, err := p.visitorOf(r, at)
	if err != nil {
		return nil, err
	}
	if err := v.limitEvents(); err != nil {
		return nil, err
	}
	if err := v.ensureSession(); err != nil {
		return nil, err
	}
	in, err := v.readInteraction()
	if err != nil {
		return v.answerForm(in, err)
	}
	recorded, answer, err := v.perform(in)
	if err != nil {
		return v.answerForm(in, err)
	}
	if answer != nil {
		return answer, nil
	}
	return v.withCookie(recorded), nil
}

// answerForm answers a refusal: as a page to a form without a script, else as JSON.
func (v *visit) answerForm(in interaction, err error) (any, error) {
	if in.isForm {
		return v.errorAnswer(v.request, v, err)
	}
	return nil, err
}

// withCookie adds the cookie of a new session to an answer.
func (v *visit) withCookie(answer *gateway.Answer) *gateway.Answer {
	if v.cookie != nil {
		answer.WithCookie(v.cookie)
	}
	return answer
}

// isSameOrigin reports whether a request comes from a page of the same origin, as far as its headers say.
func isSameOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return false
}

// ensureSession begins an anonymous session for a visitor who has none.
func (v *visit) ensureSession() error {
	if v.caller.SessionID != "" {
		return nil
	}
	from := accounts.Client{UserAgent: v.request.UserAgent()}
	if ip := gateway.ClientIP(v.request); ip.IsValid() {
		from.IP = ip.String()
	}
	made, err := v.Visitors.Anonymous(v.request.Context(), from)
	if err != nil {
		return err
	}
	v.caller = gateway.Caller{Kind: gateway.KindUser, UserID: made.UserID, SessionID: made.SessionID, Anonymous: true, ByCookie: true}
	v.cookie = gateway.SessionCookie(v.request, made.Token, made.Expires.Sub(v.Now()))
	v.rights, _, err = v.Access.RightsOf(v.caller.Identity(), v.place.workspaceID)
	return err
}

// readInteraction reads the body: JSON of the script, or a form.
func (v *visit) readInteraction() (in interaction, err error) {
	in.values = value.NewObject()
	kind, _, _ := mime.ParseMediaType(v.request.Header.Get("Content-Type"))
	switch kind {
	case "application/x-www-form-urlencoded":
		in.isForm = !prefersJSON(v.request)
		body, err := gateway.ReadBody(v.request)
		if err != nil {
			return in, err
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return in, domain.Refuse(domain.CodeInvalidRequest, "the form is not well-formed")
		}
		var named []page.NamedValue
		for _, name := range sortedKeys(form) {
			for _, text := range form[name] {
				named = append(named, page.NamedValue{Name: name, Value: text})
			}
		}
		in.take(named)
	case "multipart/form-data":
		in.isForm = !prefersJSON(v.request)
		err = v.readParts(&in)
	default:
		err = in.readJSON(v.request)
	}
	return in, err
}

func (in *interaction) readJSON(r *http.Request) error {
	var body struct {
		View   string          `json:"view"`
		Block  string          `json:"block"`
		On     string          `json:"on"`
		Values json.RawMessage `json:"values"`
		Socket string          `json:"socket"`
	}
	if err := gateway.Decode(r, &body); err != nil {
		return err
	}
	in.view, in.block, in.on, in.socket = body.View, body.Block, body.On, body.Socket
	if len(body.Values) > 0 {
		values, err := value.ParseJSON(string(body.Values))
		o, ok := values.(*value.Object)
		if err != nil || !ok && values != nil {
			return domain.Refuse(domain.CodeInvalidRequest, "values: must be an object")
		}
		if ok {
			in.values = o
		}
	}
	return nil
}

// take reads the values of a form. Names of the platform begin with svc:.
func (in *interaction) take(named []page.NamedValue) {
	var values []page.NamedValue
	for _, one := range named {
		text, _ := one.Value.(string)
		switch one.Name {
		case "svc:view":
			in.view = text
		case "svc:block":
			in.block = text
		case "svc:on":
			in.on = text
		case "svc:socket":
			in.socket = text
		case "svc:ask":
			in.asked = true
		default:
			values = append(values, one)
		}
	}
	in.values = page.Nest(values)
}

// Limits of a form with files.
const (
	maxFiles     = 50
	maxFormTexts = 1 << 20 // bytes of all its fields that are no files
)

// readParts reads a form with files, each of which is stored as it arrives. A file is stored only when the page asks for
// one in its field: what names the form comes before its files, as in the HTML.
func (v *visit) readParts(in *interaction) error {
	var named []page.NamedValue
	var asked *target
	files, texts := 0, 0
	err := gateway.Parts(v.request, 0, func(part gateway.Part) error {
		if part.Filename == "" {
			if texts += len(part.Text); texts > maxFormTexts {
				return gateway.RefuseStatus(http.StatusRequestEntityTooLarge, "the fields of the form have more than %d bytes", maxFormTexts)
			}
			if part.File == nil {
				named = append(named, page.NamedValue{Name: part.Name, Value: part.Text})
			}
			return nil // or no file was chosen
		}
		if asked == nil {
			in.take(named)
			var err error
			if asked, err = v.find(*in); err != nil {
				return err
			}
		}
		if !asked.hook.takesFile(part.Name) {
			return nil
		}
		if files++; files > maxFiles {
			return gateway.RefuseStatus(http.StatusRequestEntityTooLarge, "the form has more than %d files", maxFiles)
		}
		stored, err := v.Uploads.Store(v.request.Context(), v.place.workspaceID, Upload{Name: part.Filename, Type: part.Type, Content: part.File})
		if large := fileLimit(err); large > 0 && asked.hook.form != nil { // the rest of the form is read, and shown again
			in.faults = append(in.faults, page.Fault{Field: part.Name, Rule: "size", Limit: formatBytes(large, asked.out.view.Language.Tag)})
			return nil
		}
		if err != nil {
			return err
		}
		file := page.StoredFile{Object: value.NewObject("id", stored.ID, "url", stored.URL, "name", stored.Name, "mimetype", stored.MimeType, "size", float64(stored.Size))}
		named = append(named, page.NamedValue{Name: part.Name, Value: file})
		return nil
	})
	in.take(named)
	return err
}

// fileLimit returns how many bytes a file may have that was refused for having more; 0 for any other error.
func fileLimit(err error) int64 {
	refusal, ok := errors.AsType[*gateway.Refusal](err)
	if !ok || refusal.Status != http.StatusRequestEntityTooLarge {
		return 0
	}
	limit, _ := refusal.Err.Details["limit"].(int64)
	return limit
}

// formatBytes returns a size as people read it.
func formatBytes(n int64, lang string) string {
	if n < 1<<20 {
		return page.FormatNumber(float64(n)/(1<<10), lang, 0) + " kB"
	}
	return page.FormatNumber(float64(n)/(1<<20), lang, 0) + " MB"
}

// takesFile reports whether files may be sent in a field.
func (h hook) takesFile(name string) bool {
	if h.uploads {
		return name == "files"
	}
	if h.form == nil {
		return false
	}
	field := h.form.Find(name)
	return field != nil && field.IsUpload() && !field.Disabled
}

// target is what an interaction is about: a hook of a view, as that is now.
type target struct {
	live *liveView
	out  *rendering
	hook hook
}

// find finds the hook of an interaction. It refuses one that is not there, or disabled.
func (v *visit) find(in interaction) (*target, error) {
	ctx := v.request.Context()
	live, err := v.openView(ctx, in.view, in.socket)
	if err != nil {
		return nil, err
	}
	if live == nil {
		return nil, domain.Refuse(domain.CodeNotFound, "the view of the page is gone: load the page again").With("resource", "view")
	}
	if err := live.catchUp(ctx); err != nil {
		return nil, err
	}
	out := live.render()
	out.main(live.record.PageID, "")
	h, ok := out.hooks[in.block][in.on]
	if !ok {
		return nil, domain.Refuse(domain.CodeNotFound, "there is nothing to do at this place of the page").With("resource", "hook").With("block", in.block).With("on", in.on)
	}
	if h.disabled {
		return nil, domain.Refuse(domain.CodeConflict, "this is disabled at the moment")
	}
	return &target{live, out, h}, nil
}

// perform finds what an interaction emits in the view, and emits it. The answer is set when it is a page.
func (v *visit) perform(in interaction) (recorded *gateway.Answer, answer any, err error) {
	ctx := v.request.Context()
	found, err := v.find(in)
	if err != nil {
		return nil, nil, err
	}
	live, h := found.live, found.hook
	if in.isForm && in.asked && h.confirm != nil {
		return nil, live.confirmPage(in, h), nil
	}
	payload, faults := h.payloadOf(in, live)
	if len(faults) > 0 {
		if in.isForm {
			return nil, live.faultyForm(in, faults), nil
		}
		return nil, nil, refuseFaults(found.out.texts, faults)
	}
	body := value.JSON(payload, "")
	if utf8.RuneCountInString(body) > maxEventLength {
		return nil, nil, gateway.RefuseStatus(http.StatusRequestEntityTooLarge, "the event has more than %d characters", maxEventLength)
	}
	event, err := v.emit(ctx, h.event, body, in.socket)
	if err != nil {
		return nil, nil, err
	}
	if in.isForm {
		back := v.place.site.path(live.record.Slug)
		if live.record.Query != "" {
			back += "?" + live.record.Query
		}
		return v.withCookie(redirectTo(http.StatusSeeOther, back)), nil, nil
	}
	return gateway.Created(map[string]string{"id": event.ID, "correlationId": gateway.CorrelationID(ctx)}, ""), nil, nil
}

// payloadOf returns the payload of an event: what the visitor supplies, with the configured payload over it.
func (h hook) payloadOf(in interaction, live *liveView) (*value.Object, []page.Fault) {
	payload := value.NewObject()
	var faults []page.Fault
	switch {
	case h.form != nil:
		payload, faults = h.form.Decode(in.values)
		faults = slices.DeleteFunc(faults, func(f page.Fault) bool { // it has no file because that is too large
			return slices.ContainsFunc(in.faults, func(known page.Fault) bool { return known.Field == f.Field })
		})
		if faults = append(slices.Clone(in.faults), faults...); in.on == "onChange" {
			faults = nil
		}
	case h.uploads:
		payload.Set("files", page.StoredFiles(in.values.At("files")))
	case in.on == "onInit":
		payload = live.initPayload(in)
	case h.extra != nil:
		payload = h.extra(in.values)
	}
	for key, v := range h.payload.All() {
		payload.Set(key, v)
	}
	return payload, faults
}

// initPayload is the payload of onInit: the page, its configuration, language, query and fragment.
func (l *liveView) initPayload(in interaction) *value.Object {
	shown := l.tree.Config
	if b := l.tree.ByPath[in.block]; in.block != "" && b != nil {
		shown = b.Config
	}
	payload := value.NewObject("page", l.record.PageID, "config", withoutBlocks(shown), "language", l.record.Language)
	if hash, ok := in.values.At("hash").(string); ok && hash != "" {
		payload.Set("hash", hash)
	}
	if l.view.Query.Len() > 0 {
		payload.Set("query", l.view.Query)
	}
	if !value.FitsWithin(payload, maxEventLength/2) {
		payload.Delete("config")
	}
	return payload
}

// withoutBlocks returns a configuration as data: without the blocks in it.
func withoutBlocks(v any) any {
	switch v := v.(type) {
	case *value.Object:
		o := value.NewObjectSize(v.Len())
		for key, item := range v.All() {
			if cleaned := withoutBlocks(item); !value.IsUndefined(cleaned) {
				o.Set(key, cleaned)
			}
		}
		return o
	case []any:
		list := make([]any, 0, len(v))
		for _, item := range v {
			if cleaned := withoutBlocks(item); !value.IsUndefined(cleaned) {
				list = append(list, cleaned)
			}
		}
		return list
	case *page.Block:
		return value.Undefined
	case *page.MixedText:
		return v.String()
	case page.Unsecure:
		return v.Text.String()
	}
	switch v.(type) {
	case nil, bool, float64, string:
		return v
	}
	return value.Undefined
}

// emit records an event of the visitor.
func (v *visit) emit(ctx context.Context, name, payload, socket string) (domain.Recorded, error) {
	request := commands.RequestFrom(ctx)
	request.Meta.UserID, request.Meta.SessionID, request.Meta.SocketID = v.caller.UserID, v.caller.SessionID, socket
	recorded, err := v.Emitter.Emit(ctx, v.place.workspaceID, []commands.Emission{{Type: name, Payload: json.RawMessage(payload)}}, func(ev domain.Recorded) error {
		return v.rights.Check("create", "events", feed.Of(ev, domain.Position{}, ev.Body))
	})
	if err != nil {
		return domain.Recorded{}, err
	}
	return recorded[0], nil
}

// refuseFaults is the refusal of a form.
func refuseFaults(t *texts, faults []page.Fault) error {
	var list []domain.FieldError
	for _, f := range faults {
		list = append(list, domain.FieldError{Field: f.Field, Message: t.faultText(f)})
	}
	return domain.Invalid(list...)
}

// faultyForm is the page again, with what was entered and what is wrong with it.
func (l *liveView) faultyForm(in interaction, faults []page.Fault) any {
	t := textsOf(l.view.Language)
	state := &formState{values: in.values, faults: map[string]string{}}
	for _, f := range faults {
		if _, ok := state.faults[f.Field]; !ok {
			state.faults[f.Field] = t.faultText(f)
		}
	}
	out := l.newRendering(l.view, l.tree, l.id, map[string]*formState{in.block: state})
	out.query, _ = url.ParseQuery(l.record.Query)
	f := found{slug: l.record.Slug, language: l.view.Language, prefixed: l.record.Prefixed}
	html := out.document(l.documentData(f, l.view, l.tree, false, l.record.Seq))
	return l.htmlAnswer(html, http.StatusUnprocessableEntity, f, "", l.view.Language)
}

// confirmPage asks before an action, for visitors without scripts.
func (l *liveView) confirmPage(in interaction, h hook) any {
	t := textsOf(l.view.Language)
	back := l.place.site.path(l.record.Slug)
	doc := page.Compile("", "", value.NewObject("name", h.confirm.Label, "blocks", []any{
		value.NewObject("slug", "Hero", "title", h.confirm.Label),
	}))
	view := &page.View{Document: doc, Language: l.view.Language, Query: value.NewObject(), Now: l.Now()}
	tree := view.Expand()
	out := &rendering{site: l.place.site, view: view, tree: tree, texts: t, hooks: map[string]map[string]hook{}}
	f := found{slug: l.record.Slug, language: l.view.Language, prefixed: true}
	d := l.documentData(f, view, tree, false, "")
	d.Script = ""
	yes := action{Type: "event", Text: h.confirm.Yes, Class: "svc-btn svc-btn-primary", Base: l.place.site.base, View: l.id, Block: in.block, On: in.on, Texts: t}
	no := action{Type: "link", Text: h.confirm.No, Class: "svc-btn svc-btn-secondary", Href: back, Texts: t}
	out.extra = out.execute("Buttons", map[string]any{"Root": root{Path: "1", Name: "Buttons", Class: "svc-buttons"}, "Actions": []action{yes, no}})
	html := out.document(d)
	return l.htmlAnswer(html, http.StatusOK, f, "", l.view.Language)
}

// limitEvents refuses more than 30 events a second of one session, with a burst of 100. Those without a session count
// by their address: otherwise each would begin a session, and a limit, of its own.
func (v *visit) limitEvents() error {
	who := v.caller.SessionID
	if who == "" {
		who = gateway.ClientKey(v.request)
	}
	return v.events.take(who, v.Now())
}
