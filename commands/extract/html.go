package extract

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"svc/domain/crawl"
)

const (
	maxNodes    = 500_000 // of a page
	minMainText = 200     // code points, below which the main part of a page is not trusted to be it
)

// readHTML reads a page: its main part, without scripts and what is hidden, as Markdown.
func readHTML(f File, t *text) error {
	contentType := typeHTML
	if strings.Contains(strings.ToLower(f.Mimetype), "charset=") {
		contentType = typeHTML + f.Mimetype[strings.IndexByte(f.Mimetype+";", ';'):]
	}
	root, err := html.Parse(strings.NewReader(decodeText(f.Content, contentType)))
	if err != nil {
		return refuse(Corrupt, "the page cannot be read: %s", err)
	}
	if f.Links {
		t.document.Page = pageOf(root)
	}
	count := removeHidden(root)
	if count > maxNodes {
		return refuse(TooLarge, "the page has more than %d nodes", maxNodes)
	}
	t.document.Title = titleOf(root)
	parts, err := selectParts(root, count, f.Selector)
	if err != nil {
		return err
	}
	for _, part := range parts {
		t.add(markdownOf(part))
	}
	if parts != nil {
		return nil
	}
	main := markdownWriter{mainOnly: true}
	main.write(mainPart(root))
	if utf8.RuneCountInString(main.b.String()) < minMainText {
		t.add(markdownOf(root))
		return nil
	}
	t.add(main.b.String())
	return nil
}

// maxLink is how long an address in a page may be.
const maxLink = 4096

// pageOf returns what a page says to crawlers. Of very many links the first count.
func pageOf(root *html.Node) *Page {
	p := &Page{}
	for n := range root.Descendants() {
		switch n.DataAtom {
		case atom.Base:
			p.Base = cmp.Or(p.Base, attribute(n, "href"))
		case atom.A, atom.Area:
			href := strings.TrimSpace(attribute(n, "href"))
			if href != "" && len(href) <= maxLink && len(p.Links) < crawl.MaxLinks && !hasWord(attribute(n, "rel"), "nofollow") {
				p.Links = append(p.Links, href)
			}
		case atom.Link:
			if hasWord(attribute(n, "rel"), "canonical") {
				p.Canonical = cmp.Or(p.Canonical, attribute(n, "href"))
			}
		case atom.Meta:
			name := strings.ToLower(attribute(n, "name"))
			if name == "robots" || name == crawl.RobotsToken {
				noIndex, noFollow := crawl.Directives(attribute(n, "content"))
				p.NoIndex, p.NoFollow = p.NoIndex || noIndex, p.NoFollow || noFollow
			}
		}
	}
	return p
}

func hasWord(words, word string) bool {
	for w := range strings.FieldsSeq(words) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// removeHidden removes elements that are not shown, and returns how many nodes there are.
func removeHidden(n *html.Node) (count int) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if isHidden(c) {
			n.RemoveChild(c)
		} else if count++; count <= maxNodes {
			count += removeHidden(c)
		}
		c = next
	}
	return count
}

func isHidden(n *html.Node) bool {
	switch n.Type {
	case html.CommentNode:
		return true
	case html.ElementNode:
	default:
		return false
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Canvas, atom.Select, atom.Button, atom.Input, atom.Textarea:
		return true
	}
	style := strings.ToLower(strings.ReplaceAll(attribute(n, "style"), " ", ""))
	return hasAttribute(n, "hidden") || attribute(n, "aria-hidden") == "true" || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

func hasAttribute(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// titleOf returns the title of a page: og:title, title, the first h1.
func titleOf(root *html.Node) string {
	var og, title, h1 string
	for n := range root.Descendants() {
		switch n.DataAtom {
		case atom.Meta:
			if attribute(n, "property") == "og:title" {
				og = cmp.Or(og, attribute(n, "content"))
			}
		case atom.Title:
			title = cmp.Or(title, strings.TrimSpace(plainText(n)))
		case atom.H1:
			h1 = cmp.Or(h1, strings.TrimSpace(plainText(n)))
		}
	}
	return cmp.Or(og, title, h1)
}

func plainText(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// mainPart returns the element that has the content of a page. Without main or article it is the one whose own
// paragraphs have the most text that is no link.
func mainPart(root *html.Node) *html.Node {
	scores := map[*html.Node]int{}
	var mains, articles []*html.Node
	for n := range root.Descendants() {
		switch {
		case n.DataAtom == atom.Main || attribute(n, "role") == "main":
			mains = append(mains, n)
		case n.DataAtom == atom.Article:
			articles = append(articles, n)
		case n.DataAtom == atom.P || n.DataAtom == atom.Pre || n.DataAtom == atom.Td || n.DataAtom == atom.Li:
			score := len(plainText(n)) - 2*linkLength(n)
			if score <= 0 || n.Parent == nil || isAside(n) {
				continue
			}
			scores[n.Parent] += score
			if n.Parent.Parent != nil {
				scores[n.Parent.Parent] += score / 2
			}
		}
	}
	if len(mains) == 1 {
		return mains[0]
	}
	if len(articles) == 1 {
		return articles[0]
	}
	best := root
	for n := range root.Descendants() { // not over the map: the first of equals
		if scores[n] > scores[best] {
			best = n
		}
	}
	return best
}

func linkLength(n *html.Node) (length int) {
	for c := range n.Descendants() {
		if c.DataAtom == atom.A {
			length += len(plainText(c))
		}
	}
	return length
}

// isAside reports whether a node is in a part of a page that is the same on others.
func isAside(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		switch n.DataAtom {
		case atom.Nav, atom.Footer, atom.Aside, atom.Form:
			return true
		}
	}
	return false
}

// markdownOf returns the text below a node as Markdown.
func markdownOf(n *html.Node) string {
	var w markdownWriter
	w.write(n)
	return w.b.String()
}

// markdownWriter writes blocks, with a blank line between them, and the text in them with single spaces.
type markdownWriter struct {
	b        strings.Builder
	inBlock  bool // text follows text
	space    bool // a space is due before the next text
	mainOnly bool // what is the same on other pages is left out
}

// inner returns a writer for the text of an item or a cell.
func (w *markdownWriter) inner() *markdownWriter { return &markdownWriter{mainOnly: w.mainOnly} }

// endBlock ends what is written: the next text is a block of its own.
func (w *markdownWriter) endBlock() { w.inBlock, w.space = false, false }

// writeText writes a word or more within a block.
func (w *markdownWriter) writeText(s string) {
	for i, word := range strings.Fields(s) {
		if !w.inBlock && w.b.Len() > 0 {
			w.b.WriteString("\n\n")
		} else if w.inBlock && (w.space || i > 0 || strings.TrimLeft(s, " \t\r\n\f") != s) {
			w.b.WriteByte(' ')
		}
		w.b.WriteString(word)
		w.inBlock, w.space = true, false
	}
	if s != "" && strings.TrimRight(s, " \t\r\n\f") != s {
		w.space = true
	}
}

// writeBlock writes a block as it stands.
func (w *markdownWriter) writeBlock(s string) {
	w.endBlock()
	if s = strings.TrimRight(s, "\n"); s != "" {
		if w.b.Len() > 0 {
			w.b.WriteString("\n\n")
		}
		w.b.WriteString(s)
	}
}

func (w *markdownWriter) write(n *html.Node) {
	if n.Type == html.TextNode {
		w.writeText(n.Data)
		return
	}
	switch n.DataAtom {
	case atom.Head:
	case atom.Nav, atom.Footer, atom.Aside:
		if !w.mainOnly {
			w.endBlock()
			w.writeChildren(n)
			w.endBlock()
		}
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		if title := strings.Join(strings.Fields(plainText(n)), " "); title != "" {
			w.writeBlock(strings.Repeat("#", int(n.Data[1]-'0')) + " " + title)
		}
	case atom.Pre:
		w.writeBlock("```\n" + strings.Trim(plainText(n), "\n") + "\n```")
	case atom.Table:
		if !isDataTable(n) {
			w.writeChildren(n)
			break
		}
		for c := range n.ChildNodes() {
			if c.DataAtom == atom.Caption {
				w.write(c)
			}
		}
		w.writeBlock(w.tableOf(n))
	case atom.Ul, atom.Ol:
		w.writeBlock(w.listOf(n, ""))
	case atom.Br:
		if w.inBlock {
			w.b.WriteByte('\n')
			w.space = false
		}
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Body, atom.Blockquote, atom.Dl, atom.Dt, atom.Dd, atom.Figure, atom.Figcaption,
		atom.Fieldset, atom.Form, atom.Hr, atom.Address, atom.Details, atom.Summary, atom.Li, atom.Tr, atom.Td, atom.Th, atom.Caption:
		w.endBlock()
		w.writeChildren(n)
		w.endBlock()
	default:
		w.writeChildren(n)
	}
}

func (w *markdownWriter) writeChildren(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.write(c)
	}
}

// listOf returns the items of a list, one on each line. Text beside the items is one, too, and a list beside them is
// below the item before it.
func (w *markdownWriter) listOf(list *html.Node, indent string) string {
	var b strings.Builder
	beside := w.inner()
	writeItem := func(text string) {
		if line := strings.Join(strings.Fields(text), " "); line != "" {
			b.WriteString(indent + "- " + line + "\n")
		}
	}
	for item := list.FirstChild; item != nil; item = item.NextSibling {
		if item.DataAtom != atom.Li && !isList(item) {
			beside.write(item)
			continue
		}
		writeItem(beside.b.String())
		beside = w.inner()
		if isList(item) {
			b.WriteString(w.listOf(item, indent+"  "))
			continue
		}
		own := w.inner()
		below := ""
		for c := item.FirstChild; c != nil; c = c.NextSibling {
			if isList(c) {
				below += w.listOf(c, indent+"  ")
			} else {
				own.write(c)
			}
		}
		writeItem(own.b.String())
		b.WriteString(below)
	}
	writeItem(beside.b.String())
	return b.String()
}

func isList(n *html.Node) bool { return n.DataAtom == atom.Ul || n.DataAtom == atom.Ol }

// isDataTable reports whether a table is one of values, and not one that places blocks.
func isDataTable(table *html.Node) bool {
	for n := range table.Descendants() {
		switch n.DataAtom {
		case atom.Table, atom.H1, atom.H2, atom.H3, atom.Ul, atom.Ol, atom.Pre:
			return false
		}
	}
	return true
}

// tableOf returns a table with its first row as head.
func (w *markdownWriter) tableOf(table *html.Node) string {
	var rows [][]string
	for n := range table.Descendants() {
		if n.DataAtom != atom.Tr {
			continue
		}
		var row []string
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
				cell := w.inner()
				cell.write(c)
				row = append(row, plainCell(cell.b.String()))
			}
		}
		if strings.Join(row, "") != "" {
			rows = append(rows, row)
		}
	}
	return markdownTable(rows)
}

func plainCell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}

// markdownTable writes rows of cells as a table.
func markdownTable(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	return b.String()
}
