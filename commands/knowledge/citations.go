package knowledge

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Citation is a source that an answer names.
type Citation struct {
	N             int    `json:"n"`
	DocumentID    string `json:"documentId"`
	KnowledgeBase string `json:"knowledgeBase"`
	Name          string `json:"name"`
	Title         string `json:"title"`
	URL           string `json:"url,omitempty"`
	Chunk         int    `json:"chunk"`
	Page          int    `json:"page,omitempty"`
	Quote         string `json:"quote"`
}

// maxQuote is how much of a passage a citation shows, in characters.
const maxQuote = 300

// NewCitation returns the citation of a passage as source n.
func NewCitation(n int, d SearchDocument, p SearchPassage) Citation {
	quote := []rune(p.Text)
	return Citation{
		N: n, DocumentID: d.ID, KnowledgeBase: d.KnowledgeBase, Name: d.Name, Title: d.Title, URL: d.URL, Chunk: p.Chunk, Page: p.Page,
		Quote: string(quote[:min(maxQuote, len(quote))]),
	}
}

var sourceTag = regexp.MustCompile(`(?i)<(/?source)`)

// WriteSource writes a source as prompts have it. Its text cannot end it, nor begin another.
func WriteSource(to *strings.Builder, n int, d SearchDocument, text string) {
	name := html.EscapeString(strings.Join(strings.Fields(cmp.Or(d.Title, d.Name)), " "))
	fmt.Fprintf(to, "<source n=\"%d\" name=\"%s\">\n%s\n</source>\n\n", n, name, sourceTag.ReplaceAllString(text, `<\$1`))
}

// CitationFilter takes numbers that name no source out of an answer, piece by piece.
type CitationFilter struct {
	Sources int          // how many there are
	Used    map[int]bool // those that the answer names
	held    string       // begins with [
}

// maxHeld is how much of an answer is held back until a citation is complete, in characters.
const maxHeld = 12

var citation = regexp.MustCompile(`^\[\s*\d+(\s*,\s*\d+)*\s*\]$`)

// Feed returns so much of the answer as can be shown.
func (f *CitationFilter) Feed(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '[':
			out.WriteString(f.held)
			f.held = "["
		case f.held == "":
			out.WriteRune(r)
		case r == ']':
			out.WriteString(f.check(f.held + "]"))
			f.held = ""
		default:
			if f.held += string(r); utf8.RuneCountInString(f.held) > maxHeld {
				out.WriteString(f.held)
				f.held = ""
			}
		}
	}
	return out.String()
}

// check returns a citation with the numbers that name a source; "" when there are none.
func (f *CitationFilter) check(text string) string {
	if !citation.MatchString(text) {
		return text
	}
	var known []string
	for _, part := range strings.Split(strings.Trim(text, "[]"), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > f.Sources {
			continue
		}
		if f.Used == nil {
			f.Used = map[int]bool{}
		}
		f.Used[n] = true
		known = append(known, strconv.Itoa(n))
	}
	if len(known) == 0 {
		return ""
	}
	return "[" + strings.Join(known, ", ") + "]"
}

// End returns what is left.
func (f *CitationFilter) End() string {
	rest := f.held
	f.held = ""
	return rest
}

// Words returns prose as a query: its words, without syntax.
func Words(text string) string {
	var words []string
	for _, word := range strings.Fields(strings.ReplaceAll(text, `"`, " ")) {
		if word = strings.Trim(word, "+-*"); word != "" {
			words = append(words, word)
		}
	}
	query := []rune(strings.Join(words, " "))
	if len(query) > maxQuery {
		query = query[len(query)-maxQuery:] // what is asked is last
	}
	return string(query)
}

const maxQuery = 2000 // characters of a search
