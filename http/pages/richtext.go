package pages

import (
	"bytes"
	"html"
	"html/template"
	"regexp"
	"strconv"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	goldmarkhtml "github.com/yuin/goldmark/renderer/html"

	"svc/domain/page"
)

// markdown turns Markdown into HTML. HTML in it stays: the result is sanitised.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify),
	goldmark.WithRendererOptions(goldmarkhtml.WithUnsafe()))

// sanitizer keeps text, headings, lists, tables, code, images and links.
var sanitizer = newSanitizer()

func newSanitizer() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "div", "span", "b", "strong", "i", "em", "u", "s", "del", "ins", "sub", "sup", "small", "mark", "abbr", "cite", "q",
		"blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd", "pre", "code", "kbd", "samp", "var", "table", "caption", "thead",
		"tbody", "tfoot", "tr", "th", "td", "figure", "figcaption", "section", "article", "aside", "address", "time", "a", "img")
	p.AllowAttrs("class", "title", "lang", "dir").Globally()
	p.AllowAttrs("alt", "width", "height").OnElements("img")
	p.AllowAttrs("src").Matching(imageSource).OnElements("img")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("colspan", "rowspan").Matching(regexp.MustCompile(`^\d{1,3}$`)).OnElements("td", "th")
	p.AllowURLSchemes("http", "https", "mailto", "tel", "data")
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	return p
}

// imageSource are the addresses of images: http, https, paths, and data of raster images.
var imageSource = regexp.MustCompile(`(?i)^(?:https?://|/|\./|\.\./|[^:/?#]+(?:[/?#]|$)|data:image/(?:png|jpe?g|gif|webp|avif);base64,)`)

// dataLink is a link to data, which only images may have.
var dataLink = regexp.MustCompile(`(?i)(<a\b[^>]*?)\s+href="\s*data:[^"]*"`)

// sanitiseHTML returns HTML without anything that could run or imitate the page.
func sanitiseHTML(text string) template.HTML {
	clean := sanitizer.Sanitize(text)                            //nolint:misspell // the name of the library
	return template.HTML(dataLink.ReplaceAllString(clean, "$1")) //nolint:gosec // it is sanitised
}

// richText returns content as HTML. Values in mixed text are shown as they are, whatever characters they have.
func richText(content any, language page.Language, isMarkdown, allowUnsecure bool) template.HTML {
	unsecure := false
	if u, ok := content.(page.Unsecure); ok {
		content, unsecure = u.Text, allowUnsecure
	}
	mixed, ok := content.(*page.MixedText)
	if !ok {
		text, isText := language.Resolve(content)
		if !isText {
			text = plainText(content)
		}
		mixed = &page.MixedText{Literals: []string{text}}
	}
	var source strings.Builder
	for i, literal := range mixed.Literals {
		source.WriteString(literal)
		if i < len(mixed.Values) {
			source.WriteString(slotName(i))
		}
	}
	text := source.String()
	if isMarkdown && !unsecure {
		var out bytes.Buffer
		if err := markdown.Convert([]byte(text), &out); err == nil {
			text = out.String()
		}
	}
	if len(mixed.Values) > 0 {
		text = slotPattern.ReplaceAllStringFunc(text, func(name string) string {
			i, err := strconv.Atoi(slotPattern.FindStringSubmatch(name)[1])
			if err != nil || i >= len(mixed.Values) {
				return ""
			}
			return html.EscapeString(mixed.Values[i])
		})
	}
	if unsecure {
		return template.HTML(text) //nolint:gosec // the workspace allows it, and the page has its own origin
	}
	return sanitiseHTML(text)
}

// slotName stands for a value while Markdown is converted: letters and digits that no converter changes.
func slotName(i int) string { return "q7svcslot" + strconv.Itoa(i) + "slotq7" }

var slotPattern = regexp.MustCompile(`q7svcslot(\d+)slotq7`)
