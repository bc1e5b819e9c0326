package pages

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"

	"svc/domain/page"
	"svc/domain/value"
	"svc/http/gateway"
)

// documentData is what the HTML of a page has around its blocks.
type documentData struct {
	Lang, Scheme, ColorScheme, Title, Description, Canonical, Favicon string
	RightToLeft                                                       bool
	BaseCSS, Script, Base                                             string
	StyleSheets                                                       []string
	Texts                                                             *texts
	Main                                                              template.HTML

	page, seq string
}

// newRendering returns a rendering of a view for the visitor.
func (v *visit) newRendering(view *page.View, tree *page.Tree, viewID string, forms map[string]*formState) *rendering {
	return &rendering{
		site: v.place.site, view: view, tree: tree, viewID: viewID, texts: textsOf(view.Language), query: v.request.URL.Query(), unsecure: v.allowsScripts(),
		forms: forms, hooks: map[string]map[string]hook{},
	}
}

// documentData returns what the HTML of a page has around its blocks.
func (v *visit) documentData(f found, view *page.View, tree *page.Tree, shared bool, seq string) documentData {
	name, _ := view.Language.Resolve(view.Document.Name)
	c := config{&rendering{view: view}, nil, tree.Config}
	d := documentData{
		Lang: view.Language.Tag, RightToLeft: view.Language.IsRightToLeft(), Title: name, Description: c.text("description"),
		Favicon: imageURL(c.text("favicon")), Base: v.place.site.base, Texts: textsOf(view.Language),
		BaseCSS: v.assetURL(v.assets.css), Script: v.assetURL(v.assets.script), page: view.Document.ID, seq: seq,
	}
	switch scheme := c.text("colorScheme"); scheme {
	case "light", "dark":
		d.Scheme, d.ColorScheme = scheme, scheme
	default:
		d.ColorScheme = "light dark"
	}
	d.Canonical = v.canonical(f)
	if shared {
		d.seq = ""
	}
	if styles, ok := view.Document.Config.At("styles").(string); ok && strings.TrimSpace(styles) != "" {
		d.StyleSheets = append(d.StyleSheets, v.styleURL(scopeCSS(styles, "#svc-page")))
	}
	d.StyleSheets = append(d.StyleSheets, v.blockStyles(styledBlocks(tree))...)
	return d
}

// styledBlocks returns a block of a page for each CSS that its blocks have, by the class that this is limited to.
func styledBlocks(tree *page.Tree) map[string]*page.Block {
	styled := map[string]*page.Block{}
	for _, b := range tree.ByPath {
		if len(b.CSS) > 0 && b.Err == nil {
			styled[cssClass(b)] = b
		}
	}
	return styled
}

// blockStyles returns the address of the CSS of blocks, each once, in one style sheet. There is none when they have none.
func (v *visit) blockStyles(styled map[string]*page.Block) []string {
	var all strings.Builder
	for _, class := range sortedKeys(styled) {
		all.WriteString(scopeCSS(strings.ReplaceAll(blockCSS(styled[class]), "@import default;", ""), "."+class))
	}
	if all.Len() == 0 {
		return nil
	}
	return []string{v.styleURL(all.String())}
}

// canonical returns the address that search engines should show: on the first domain of the workspace, else on its
// sub-domain.
func (v *visit) canonical(f found) string {
	s := site{lang: v.place.site.lang}
	if domains := v.place.settings.domains; len(domains) > 0 {
		return scheme(v.request) + "://" + domains[0] + s.path(f.slug)
	}
	return v.subdomain(v.request, v.place.record.Meta.Slug, s.path(f.slug))
}

// main renders the blocks of a page with the element around them.
func (r *rendering) main(pageID, seq string) template.HTML {
	blocks := append(r.blocks(r.tree.Blocks), r.extra)
	c := config{r, &page.Block{}, r.tree.Config}
	r.listen(c, "updateOn", "update")
	r.listen(c, "notifyOn", "notify")
	init := ""
	if h := hookOf(c, c.at("onInit")); h.event != "" {
		r.addHook(c.block, "onInit", h)
	}
	if len(r.hooks[""]) > 0 {
		init = "page"
	}
	for path := range r.hooks {
		if _, ok := r.hooks[path]["onInit"]; ok && path != "" {
			init = strings.TrimSpace(init + " " + path)
		}
	}
	return r.execute("main", map[string]any{
		"Page": pageID, "View": r.viewID, "Seq": seq, "Live": len(r.listeners) > 0 || init != "", "Init": strings.Join(sortedWords(init), " "), "Blocks": blocks,
	})
}

func sortedWords(text string) []string {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		words[word] = true
	}
	return sortedKeys(words)
}

// document renders the whole page.
func (r *rendering) document(d documentData) []byte {
	d.Main = r.main(d.page, d.seq)
	if r.inert {
		d.Script = ""
	}
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, "document", d); err != nil {
		panic(err) // the template does not fit the data, which tests find
	}
	return b.Bytes()
}

// ErrorPage returns the page for an error that the gateway found: too many requests, not ready, a method that is not
// allowed. It is nil for requests that are not about pages, or prefer JSON.
func (p *Pages) ErrorPage(r *http.Request, status int) *gateway.Content {
	if !strings.HasPrefix(r.URL.Path, Prefix) && !p.OnOwnHost(r) || !gateway.PrefersHTML(r.Header) || strings.Contains(r.URL.Path, "/_svc/assets/") {
		return nil
	}
	page := p.builtInError(r, nil, status)
	return &page
}

// builtInError is the page of the platform for an error, with a way to sign in where that may help.
func (p *Pages) builtInError(r *http.Request, v *visit, status int) gateway.Content {
	t := textsOf(builtInLanguage(r))
	title, text := t.Failed, t.FailedText
	switch status {
	case http.StatusNotFound:
		title, text = t.NotFound, t.NotFoundText
	case http.StatusUnauthorized:
		title, text = t.Signin, t.SigninText
	case http.StatusForbidden:
		title, text = t.Forbidden, t.ForbiddenText
	case http.StatusRequestEntityTooLarge:
		title, text = t.TooLarge, t.TooLargeText
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		title, text = t.Busy, t.BusyText
	}
	var more []any
	switch {
	case v == nil:
	case status == http.StatusUnauthorized:
		more = append(more, value.NewObject("slug", "Signin", "redirect", r.URL.RequestURI()))
	case status == http.StatusNotFound:
		more = append(more, value.NewObject("slug", "Button", "type", "internal", "value", "index", "text", t.Home))
	}
	return p.builtInPage(r, v, status, title, text, more...)
}

// builtInLanguage is the language of the pages of the platform itself.
func builtInLanguage(r *http.Request) page.Language {
	return page.ChooseLanguage(r.Header.Get("Accept-Language"), []string{"en", "fr"})
}

// builtInPage is a page of the platform itself: a title, a text, and blocks. Without a visit nobody knows the workspace.
func (p *Pages) builtInPage(r *http.Request, v *visit, status int, title, text string, more ...any) gateway.Content {
	language := builtInLanguage(r)
	t := textsOf(language)
	blocks := append([]any{value.NewObject("slug", "Hero", "title", title, "lead", text)}, more...)
	base, prefix := "", ""
	h := http.Header{}
	if v != nil {
		base = v.place.site.base
		prefix = base
		h = v.pageHeader()
	} else {
		if !p.OnOwnHost(r) {
			prefix = "/pages/-" // assets are the same below every workspace
		}
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	}
	doc := page.Compile("", "", value.NewObject("name", title, "blocks", blocks))
	view := &page.View{Document: doc, Language: language, Query: value.NewObject(), Now: p.Now()}
	out := &rendering{site: site{base: base}, view: view, tree: view.Expand(), texts: t, hooks: map[string]map[string]hook{}}
	html := out.document(documentData{
		Lang: language.Tag, ColorScheme: "light dark", Title: title, Texts: t, BaseCSS: prefix + "/_svc/assets/" + p.assets.css, Base: base,
	})
	h.Set("Content-Language", language.Tag)
	h.Set("Cache-Control", "private, no-store")
	h.Set("X-Robots-Tag", "noindex")
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	return gateway.Content{Type: "text/html; charset=utf-8", Body: html, Status: status, Header: h}
}
