package pages

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"svc/domain/page"
	"svc/domain/value"
)

//go:embed blocks.html
var blockTemplates string

// templates allow the schemes of the contract in links and images; by itself html/template drops tel: and data:.
var templates = template.Must(template.New("pages").Funcs(template.FuncMap{
	"link":  func(target string) template.URL { return template.URL(externalLink(target)) }, //nolint:gosec // it is checked
	"image": func(target string) template.URL { return template.URL(imageURL(target)) },     //nolint:gosec // it is checked
}).Parse(blockTemplates))

// rendering turns a view into HTML. It also collects what the page listens to, and which events its visitor may emit.
type rendering struct {
	site     site // where the page is shown
	view     *page.View
	tree     *page.Tree
	viewID   string
	texts    *texts
	query    url.Values
	unsecure bool // scripts of authors may run
	inert    bool // a preview: nothing can be done in it

	forms     map[string]*formState // what was entered in forms that are shown again, by block
	inner     *[]action             // of the form whose fields are being rendered; nil outside of forms
	extra     template.HTML         // after the blocks
	hooks     map[string]map[string]hook
	listeners []listener
	problems  []page.Problem
}

// site is where the pages of a workspace are served.
type site struct {
	base string // path of the workspace; "" on a host of its own
	lang string // language prefix of the address; "" when it has none
}

// path returns the path of a page.
func (s site) path(slug string) string {
	if slug == "index" {
		slug = ""
	}
	parts := []string{s.base}
	if s.lang != "" {
		parts = append(parts, s.lang)
	}
	segments := strings.Split(slug, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	path := strings.Join(append(parts, strings.Join(segments, "/")), "/")
	if path == "" {
		return "/"
	}
	return path
}

// hook is an event that the visitor may emit.
type hook struct {
	event    string // full name
	payload  *value.Object
	disabled bool
	confirm  *confirmation
	form     *page.Field // what may be entered; nil: nothing but what extra says
	uploads  bool
	extra    func(given *value.Object) *value.Object // values of the visitor that the event has
}

// listener is a block, or the page, that an event changes.
type listener struct {
	event string // full name
	path  string // of the block; "" for the page
	does  string // update, toast, open, close, row, notify
}

// root are the attributes of the root of a block.
type root struct{ Path, Name, Class, ID string }

// blocks renders blocks.
func (r *rendering) blocks(list []*page.Block) (all []template.HTML) {
	for _, b := range list {
		all = append(all, r.block(b))
	}
	return all
}

// block renders a block, or what stands in its place.
func (r *rendering) block(b *page.Block) template.HTML {
	data := root{Path: b.Path, Name: b.Name, Class: "svc-" + kebab(b.Kind)}
	if b.Err != nil {
		data.Class = "svc-block-error"
		return r.execute("error", map[string]any{"Root": data, "Text": r.texts.BlockError})
	}
	c := config{r, b, b.Config}
	r.listen(c, "updateOn", "update")
	switch {
	case b.Hidden:
		return r.execute("hidden", map[string]any{"Root": data})
	case b.Repeats:
		data.Class = "svc-repeat"
		left := ""
		if b.LeftOut > 0 {
			left = with(r.texts.LeftOut, page.FormatNumber(float64(b.LeftOut), r.view.Language.Tag, 0))
		}
		return r.execute("repeat", map[string]any{"Root": data, "Copies": r.blocks(b.Copies), "LeftOut": left})
	}
	if data.ID = identifier(c.text("sectionId")); strings.HasPrefix(data.ID, "svc-") {
		data.ID = "" // ids of the platform
	}
	if class := classNames(c.text("className")); class != "" {
		data.Class += " " + class
	}
	if len(b.CSS) > 0 {
		data.Class += " " + cssClass(b)
	}
	if _, ok := c.get("onInit"); ok {
		r.addHook(b, "onInit", hookOf(c, c.at("onInit")))
	}
	return r.showKind(c, data)
}

// showKind renders a block of a built-in kind. A fault of ours in one of them leaves out only that block.
func (r *rendering) showKind(c config, data root) (out template.HTML) {
	defer func() {
		if fault := recover(); fault != nil {
			r.inner = nil
			out = c.showError(data, fmt.Sprintf("the block could not be shown: %v", fault))
		}
	}()
	return showBlock(c, data)
}

// showError shows that a block cannot be shown, and reports why.
func (c config) showError(data root, why string) template.HTML {
	c.problems = append(c.problems, page.Problem{Code: "DisplayBlockError", Message: why, Path: c.block.Path, Kind: c.block.Name})
	data.Class = "svc-block-error"
	return c.execute("error", map[string]any{"Root": data, "Text": c.texts.BlockError})
}

// execute renders a template.
func (r *rendering) execute(name string, data any) template.HTML {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // the templates do not fit the data, which tests find
	}
	return template.HTML(b.String()) //nolint:gosec // html/template has escaped it
}

// listen notes that an event named by a key of a block changes it.
func (r *rendering) listen(c config, key, does string) {
	if name, ok := c.at(key).(string); ok && name != "" {
		r.listeners = append(r.listeners, listener{page.EventName(c.block.Instance, name), c.block.Path, does})
	}
}

// addHook notes that the visitor may emit an event by a block.
func (r *rendering) addHook(b *page.Block, on string, h hook) {
	if h.event == "" || r.inert {
		return
	}
	if r.hooks[b.Path] == nil {
		r.hooks[b.Path] = map[string]hook{}
	}
	r.hooks[b.Path][on] = h
}

// config reads the configuration of a block, or a part of it.
type config struct {
	*rendering
	block *page.Block
	*value.Object
}

func (c config) get(key string) (any, bool) { return c.Object.Get(key) }

func (c config) at(key string) any { return c.Object.At(key) }

// text returns a text, "" when there is none.
func (c config) text(key string) string { return c.textOf(c.at(key)) }

func (c config) textOf(v any) string {
	if text, ok := c.view.Language.Resolve(v); ok {
		return text
	}
	return plainText(v)
}

// plainText returns a value that is no text as one.
func plainText(v any) string {
	if u, ok := v.(page.Unsecure); ok {
		return u.Text.String()
	}
	if _, isBlock := v.(*page.Block); isBlock || value.IsNothing(v) {
		return ""
	}
	return value.Text(v)
}

func (c config) isSet(key string) bool { return value.IsTruthy(c.at(key)) }

func (c config) number(key string, otherwise float64) float64 {
	switch v := c.at(key).(type) {
	case float64:
		return v
	case string:
		if n, ok := value.ParseNumber(v); ok {
			return n
		}
	}
	return otherwise
}

// part returns an object inside of the configuration.
func (c config) part(key string) (config, bool) {
	o, ok := c.at(key).(*value.Object)
	return config{c.rendering, c.block, o}, ok
}

// list returns the objects of a list.
func (c config) list(key string) (parts []config) {
	items, _ := c.at(key).([]any)
	for _, item := range items {
		o, ok := item.(*value.Object)
		if !ok {
			o = value.NewObject()
		}
		parts = append(parts, config{c.rendering, c.block, o})
	}
	return parts
}

// nested returns the blocks under a key: one, or a list of them.
func (c config) nested(key string) (list []*page.Block) {
	switch v := c.at(key).(type) {
	case *page.Block:
		return []*page.Block{v}
	case []any:
		for _, item := range v {
			if b, ok := item.(*page.Block); ok {
				list = append(list, b)
			}
		}
	}
	return list
}

// rich returns the content of a block, or of a part of it, as HTML.
func (c config) rich() template.HTML {
	v, ok := c.get("content")
	if !ok || len(c.nested("content")) > 0 || value.IsNothing(v) {
		return ""
	}
	isMarkdown := true
	if given, ok := c.get("markdown"); ok {
		isMarkdown = value.IsTruthy(given)
	}
	return richText(v, c.view.Language, isMarkdown, c.unsecure)
}

// heading returns a heading of the level that the block has, or a usual one; "" when it has no title.
func (c config) heading(usual int) template.HTML {
	title := c.text("title")
	if title == "" {
		return ""
	}
	level := min(6, max(1, int(c.number("level", float64(usual)))))
	return template.HTML(fmt.Sprintf("<h%d>%s</h%d>", level, template.HTMLEscapeString(title), level)) //nolint:gosec // it is escaped
}

// confirmation is the question before an action.
type confirmation struct{ Label, Yes, No string }

func (c config) confirmation() *confirmation {
	given, ok := c.part("confirm")
	if !ok {
		if label, isText := c.at("confirm").(string); isText && label != "" {
			return &confirmation{label, c.texts.Yes, c.texts.No}
		}
		if c.at("confirm") == true {
			return &confirmation{c.texts.Sure, c.texts.Yes, c.texts.No}
		}
		return nil
	}
	return &confirmation{orElse(given.text("label"), c.texts.Sure), orElse(given.text("yesLabel"), c.texts.Yes), orElse(given.text("noLabel"), c.texts.No)}
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// action is an action as it is shown.
type action struct {
	Type                          string // link, event, upload, menu, script, or none
	Text, Class, Icon, Href       string
	HTML                          template.HTML
	NewTab, Disabled, Loading     bool
	Current                       string
	AfterGap                      bool   // numbers are left out before it
	FormID                        string // of the form that a button in a form sends; "": it has one around it
	Base, View, Block, On, Accept string
	Script                        string
	Confirm                       *confirmation
	Items                         []action
	Texts                         *texts
}

// action returns an action of a block; on is the path to it in the configuration of the block.
func (c config) action(on, class string) action {
	a := action{
		Text: c.text("text"), Class: class, Disabled: c.isSet("disabled"), Loading: c.isSet("loading"), Confirm: c.confirmation(),
		Base: c.site.base, View: c.viewID, Block: c.block.Path, On: on, Texts: c.texts, Icon: imageURL(c.text("icon")),
	}
	if a.Loading {
		a.Disabled = true
	}
	target := c.text("value")
	kind, _ := c.at("type").(string)
	switch {
	case page.IsScript(c.Object):
		if c.unsecure {
			a.Type, a.Script = "script", target
		}
	case kind == "event" && target != "":
		a.Type = "event"
		c.addHook(c.block, on, hook{event: page.EventName(c.block.Instance, target), payload: objectOf(c.at("payload")), disabled: a.Disabled, confirm: a.Confirm})
		if c.inner != nil {
			a.FormID = identifier("e-" + c.block.Path + "-" + on)
			*c.inner = append(*c.inner, a)
		}
	case kind == "upload" && target != "":
		a.Type, a.Accept = "upload", c.text("accept")
		c.addHook(c.block, on, hook{event: page.EventName(c.block.Instance, target), payload: objectOf(c.at("payload")), disabled: a.Disabled, uploads: true})
	case kind == "internal" && target != "":
		a.Type, a.Href = "link", c.internalLink(target)
	case kind == "inside":
		a.Type, a.Href = "link", "#"+identifier(strings.TrimPrefix(target, "#"))
	case kind == "menu":
		a.Type = "menu"
		a.Text = orElse(a.Text, c.texts.Menu)
		for i, item := range c.list("items") {
			a.Items = append(a.Items, item.action(on+".items."+strconv.Itoa(i), "svc-menu-item"))
		}
	case kind == "external" || kind == "" && target != "":
		a.Href = externalLink(target)
		if a.Href != "" {
			a.Type, a.NewTab = "link", c.isSet("popup")
		}
	}
	if c.inert && a.Type != "link" && a.Type != "menu" {
		a.Type = ""
	}
	if a.Disabled && a.Type == "link" {
		a.Type = ""
	}
	return a
}

// internalLink returns the link to a page of the workspace, with its query and fragment.
func (c config) internalLink(target string) string {
	rest := ""
	if i := strings.IndexAny(target, "?#"); i >= 0 {
		target, rest = target[:i], target[i:]
	}
	target = strings.Trim(target, "/")
	if target == "" {
		target = "index"
	}
	return c.site.path(target) + rest
}

// externalLink returns a link with one of the allowed schemes, or a path; "" for any other.
func externalLink(target string) string {
	target = strings.TrimSpace(target)
	u, err := url.Parse(target)
	if err != nil || strings.ContainsFunc(target, unicode.IsControl) {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		if u.Host == "" {
			return ""
		}
		return u.String()
	case "mailto", "tel":
		return u.String()
	case "":
		if strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "//") && !strings.HasPrefix(target, `/\`) || strings.HasPrefix(target, "?") || strings.HasPrefix(target, "#") {
			return target
		}
	}
	return ""
}

// imageURL returns the address of an image that may be shown; "" for any other.
func imageURL(target string) string {
	target = strings.TrimSpace(target)
	if target == "" || !imageSource.MatchString(target) || strings.HasPrefix(target, "//") {
		return ""
	}
	return target
}

// hookOf returns the hook of an event: its name, or {event, payload}.
func hookOf(c config, v any) hook {
	switch v := v.(type) {
	case string:
		if v != "" {
			return hook{event: page.EventName(c.block.Instance, v)}
		}
	case *value.Object:
		if name, ok := v.At("event").(string); ok && name != "" {
			return hook{event: page.EventName(c.block.Instance, name), payload: objectOf(v.At("payload"))}
		}
	}
	return hook{}
}

func objectOf(v any) *value.Object {
	o, _ := v.(*value.Object)
	return o
}

// kebab writes a kind in kebab case: DataTable is data-table, KPI is kpi.
func kebab(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// identifier returns a text as the id of an element: letters, digits, - and _.
func identifier(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, strings.TrimSpace(s))
}

// classNames returns the class names of a text that do not begin like those of the platform.
func classNames(s string) string {
	names := slices.DeleteFunc(strings.Fields(s), func(name string) bool { return strings.HasPrefix(name, "svc-css-") })
	return strings.Join(names, " ")
}
