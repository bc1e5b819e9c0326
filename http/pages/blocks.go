package pages

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"svc/domain/page"
	"svc/domain/value"
)

// showBlock shows a block of a built-in kind.
func showBlock(c config, root root) template.HTML {
	switch c.block.Kind {
	case "RichText":
		return showRichText(c, root)
	case "Header":
		return showHeader(c, root)
	case "Footer":
		return c.execute("Footer", map[string]any{"Root": root, "Content": c.rich(), "Blocks": c.allNested("content", "blocks")})
	case "Hero":
		return showHero(c, root)
	case "Image":
		return showImage(c, root)
	case "Action":
		return c.execute("Action", map[string]any{"Root": root, "Action": c.action("action", "svc-link")})
	case "Button":
		return c.execute("Action", map[string]any{"Root": root, "Action": c.action("action", c.buttonClass())})
	case "Buttons":
		return c.execute("Buttons", map[string]any{"Root": root, "Actions": c.actions("buttons")})
	case "Form":
		return showForm(c, root)
	case "DataTable":
		return showTable(c, root)
	case "Cards":
		return showCards(c, root)
	case "TabsView":
		return showTabs(c, root)
	case "BlocksList":
		return showList(c, root)
	case "BlocksGrid":
		return showGrid(c, root)
	case "Charts":
		return showChart(c, root)
	case "KPI":
		return showKPI(c, root)
	case "Modal":
		return showModal(c, root)
	case "Collapse":
		return showCollapse(c, root)
	case "Toast":
		c.listen(c, "toastOn", "toast")
		return c.execute("Toast", map[string]any{"Root": root})
	case "Signin":
		return showSignin(c, root)
	case "Breadcrumbs":
		return showBreadcrumbs(c, root)
	case "Loading":
		root.Class += " svc-size-" + oneOf(c.text("size"), "medium", "small", "large")
		return c.execute("Loading", map[string]any{"Root": root, "Text": orElse(c.text("text"), c.texts.Loading)})
	}
	return ""
}

// allNested renders the blocks under some keys.
func (c config) allNested(keys ...string) (all []template.HTML) {
	for _, key := range keys {
		all = append(all, c.blocks(c.nested(key))...)
	}
	return all
}

// actions returns the actions of a list.
func (c config) actions(key string) (all []action) {
	for i, item := range c.list(key) {
		all = append(all, item.action(key+"."+strconv.Itoa(i), item.buttonClass()))
	}
	return all
}

func (c config) buttonClass() string {
	return "svc-btn svc-btn-" + oneOf(c.text("theme"), "secondary", "primary", "danger", "link")
}

// oneOf returns a text when it is the usual one or one of some others, else the usual one.
func oneOf(text, usual string, others ...string) string {
	if slices.Contains(others, text) {
		return text
	}
	return usual
}

// element returns the opening and the closing tag of the root of a block whose element is configured.
func element(c config, root root, key string, allowed ...string) (open, end template.HTML) {
	tag := oneOf(strings.ToLower(c.text(key)), "div", allowed...)
	attributes := strings.TrimSuffix(strings.TrimPrefix(string(c.execute("hidden", map[string]any{"Root": root})), "<div"), " hidden></div>")
	return template.HTML("<" + tag + attributes + ">"), template.HTML("</" + tag + ">") //nolint:gosec // the tag is one of a list, the rest is escaped
}

var flowElements = []string{"section", "article", "aside", "span", "p", "ul", "ol", "nav", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6"}

func showRichText(c config, root root) template.HTML {
	open, end := element(c, root, "tag", "section", "article", "aside", "span", "blockquote")
	return c.execute("RichText", map[string]any{"Open": open, "Close": end, "Content": c.rich()})
}

// picture is an image with its text.
type picture struct {
	Src, Alt string
	Action   *action
}

func showHeader(c config, root root) template.HTML {
	if c.isSet("fixed") {
		root.Class += " svc-fixed"
	}
	var logo *picture
	if given, ok := c.part("logo"); ok {
		if src := imageURL(given.text("src")); src != "" {
			logo = &picture{Src: src, Alt: given.text("alt")}
			if link, ok := given.part("action"); ok {
				a := link.action("logo.action", "svc-logo-link")
				a.HTML = c.execute("img", map[string]any{"Src": src, "Alt": logo.Alt, "Width": "", "Height": ""})
				logo.Action = &a
			}
		}
	}
	var nav []action
	for i, item := range c.list("nav") {
		nav = append(nav, item.action("nav."+strconv.Itoa(i), "svc-nav-link"))
	}
	return c.execute("Header", map[string]any{"Root": root, "Logo": logo, "Title": c.heading(1), "Nav": nav, "Texts": c.texts})
}

func showHero(c config, root root) template.HTML {
	var image *picture
	if given, ok := c.part("img"); ok {
		if src := imageURL(given.text("src")); src != "" {
			image = &picture{Src: src, Alt: given.text("alt")}
		}
	}
	return c.execute("Hero", map[string]any{
		"Root": root, "Title": c.heading(1), "Lead": c.text("lead"), "Content": c.rich(), "Blocks": c.allNested("content"),
		"Buttons": c.actions("buttons"), "Image": image,
	})
}

func showImage(c config, root root) template.HTML {
	data := map[string]any{
		"Root": root, "Src": imageURL(c.text("src")), "Alt": c.text("alt"), "Caption": c.text("caption"), "Width": c.pixels("width"), "Height": c.pixels("height"), "Action": nil,
	}
	if given, ok := c.part("action"); ok {
		a := given.action("action", "svc-image-link")
		a.HTML = c.execute("img", data)
		data["Action"] = a
	}
	return c.execute("Image", data)
}

// pixels returns a length as the attributes of images have it; "" when there is none.
func (c config) pixels(key string) string {
	n := c.number(key, 0)
	if n < 1 || n > 10_000 {
		return ""
	}
	return strconv.Itoa(int(n))
}

func showList(c config, root root) template.HTML {
	if class := classNames(c.text("blocksClassName")); class != "" {
		root.Class += " " + class
	}
	open, end := element(c, root, "tag", flowElements...)
	return c.execute("BlocksList", map[string]any{"Open": open, "Close": end, "Blocks": c.allNested("blocks")})
}

// gaps are the steps between the blocks of a grid, in pixels.
var gaps = []float64{0, 4, 8, 12, 16, 24, 32, 48}

func showGrid(c config, root root) template.HTML {
	columns := min(12, max(1, int(c.number("columns", 2))))
	gap := gaps[0]
	for _, step := range gaps {
		if c.number("gap", 16) >= step {
			gap = step
		}
	}
	root.Class += fmt.Sprintf(" svc-columns-%d svc-gap-%d", columns, int(gap))
	return c.execute("BlocksGrid", map[string]any{"Root": root, "Blocks": c.allNested("blocks")})
}

// card is a card as it is shown.
type card struct {
	Title, Description, Cover string
	Content                   template.HTML
	Blocks                    []template.HTML
	Action                    *action
}

func showCards(c config, root root) template.HTML {
	var cards []card
	for i, item := range c.list("cards") {
		shown := card{
			Title: item.text("title"), Description: item.text("description"), Cover: imageURL(item.text("cover")), Content: item.rich(),
			Blocks: item.allNested("content", "blocks"),
		}
		if given, ok := item.part("action"); ok {
			a := given.action(fmt.Sprintf("cards.%d.action", i), "svc-card-action")
			a.Text = orElse(a.Text, shown.Title)
			shown.Action = &a
		}
		cards = append(cards, shown)
	}
	return c.execute("Cards", map[string]any{
		"Root": root, "Title": c.heading(2), "Cards": cards, "Layout": oneOf(c.text("layout"), "grid", "column", "carousel"),
		"Variant": oneOf(c.text("variant"), "classic", "short", "article", "square", "actions", "blocks"),
	})
}

// tab is a tab as it is shown.
type tab struct {
	Text    string
	Content template.HTML
	Blocks  []template.HTML
}

func showTabs(c config, root root) template.HTML {
	var tabs []tab
	for i, item := range c.list("tabs") {
		tabs = append(tabs, tab{orElse(item.text("text"), strconv.Itoa(i+1)), item.rich(), item.allNested("content", "blocks")})
	}
	on := ""
	if h := hookOf(c, c.at("onChange")); h.event != "" {
		h.extra = onlyKeys("selected")
		c.addHook(c.block, "onChange", h)
		on = "onChange"
	}
	selected := int(c.number("selected", 0))
	if selected < 0 || selected >= len(tabs) {
		selected = 0
	}
	return c.execute("TabsView", map[string]any{"Root": root, "Tabs": tabs, "Selected": selected, "Vertical": c.text("direction") == "vertical", "OnChange": on})
}

// onlyKeys returns a filter of the values of a visitor: only some keys, with numbers for texts that are numbers.
func onlyKeys(keys ...string) func(*value.Object) *value.Object {
	return func(given *value.Object) *value.Object {
		kept := value.NewObject()
		for _, key := range keys {
			v, ok := given.Get(key)
			if !ok {
				continue
			}
			if text, isText := v.(string); isText {
				if n, isNumber := value.ParseNumber(text); isNumber {
					v = n
				}
			}
			kept.Set(key, v)
		}
		return kept
	}
}

// collapsible is an item of a Collapse.
type collapsible struct {
	Label   string
	Open    bool
	Content template.HTML
	Blocks  []template.HTML
}

func showCollapse(c config, root root) template.HTML {
	var items []collapsible
	for _, item := range c.list("items") {
		items = append(items, collapsible{item.text("label"), item.isSet("open"), item.rich(), item.allNested("content", "blocks")})
	}
	return c.execute("Collapse", map[string]any{"Root": root, "Items": items})
}

func showModal(c config, root root) template.HTML {
	c.listen(c, "openOn", "open")
	c.listen(c, "closeOn", "close")
	on := ""
	if h := hookOf(c, c.at("onClose")); h.event != "" {
		c.addHook(c.block, "onClose", h)
		on = "onClose"
	}
	label := c.text("title")
	class, button := "svc-btn svc-btn-secondary", label
	if given, ok := c.part("button"); ok {
		class, button = given.buttonClass(), orElse(given.text("text"), label)
	} else if text := c.text("button"); text != "" {
		button = text
	}
	return c.execute("Modal", map[string]any{
		"Root": root, "Opened": c.isSet("opened"), "OnClose": on, "Button": orElse(button, c.texts.Menu), "ButtonClass": class, "Label": label,
		"Title": c.heading(2), "Blocks": c.allNested("blocks"), "Texts": c.texts,
	})
}

// trend is how a figure has changed.
type trend struct{ Direction, Text string }

func showKPI(c config, root root) template.HTML {
	text := c.formatted(c.at("value"), c.text("format"))
	var change *trend
	switch v := c.at("trend").(type) {
	case float64:
		change = &trend{"flat", page.FormatNumber(v, c.view.Language.Tag, -1) + " %"}
		if v > 0 {
			change = &trend{"up", "+" + change.Text}
		} else if v < 0 {
			change.Direction = "down"
		}
	case string:
		if v != "" {
			change = &trend{oneOf(v, "flat", "up", "down"), v}
		}
	}
	return c.execute("KPI", map[string]any{"Root": root, "Title": c.text("title"), "Value": text, "Unit": c.text("unit"), "Trend": change, "Description": c.text("description")})
}

// formatted returns a value in a format: number, percent, date, or the tokens of a date.
func (c config) formatted(v any, format string) string {
	n, isNumber := v.(float64)
	switch {
	case isNumber && format == "percent":
		return page.FormatNumber(n*100, c.view.Language.Tag, -1) + " %"
	case isNumber && (format == "" || format == "number"):
		return page.FormatNumber(n, c.view.Language.Tag, -1)
	}
	return c.textOf(v)
}

func showSignin(c config, root root) template.HTML {
	label := c.texts.Signin
	address := c.site.base + "/_svc/signin"
	var query []string
	if c.isSet("up") {
		label = c.texts.Signup
		query = append(query, "up=1")
	}
	if target := c.text("redirect"); target != "" {
		query = append(query, "redirect="+template.URLQueryEscaper(target))
	}
	if len(query) > 0 {
		address += "?" + strings.Join(query, "&")
	}
	return c.execute("Signin", map[string]any{"Root": root, "Href": address, "Label": orElse(c.text("label"), label)})
}

func showBreadcrumbs(c config, root root) template.HTML {
	list := c.list("links")
	var links []action
	for i, item := range list {
		if _, typed := item.get("type"); !typed {
			item.Object = item.Copy()
			item.Set("type", "internal")
		}
		a := item.action("links."+strconv.Itoa(i), "svc-crumb")
		if i == len(list)-1 {
			a.Current = "page"
			if a.Type != "link" {
				a.Type, a.Href = "link", "#svc-page"
			}
		}
		links = append(links, a)
	}
	return c.execute("Breadcrumbs", map[string]any{"Root": root, "Links": links, "Texts": c.texts})
}
