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
	held    string       // what may become a citation: it begins with [, or with a comma when the beginning of a list was shown
	shown   bool         // the beginning of the list that is held was shown
}

// maxHeld is how much of an answer is held back until a citation is complete, in characters. Of a longer list the numbers
// that name a source are shown one after the other; what is held then are numbers that name none, up to maxList.
const (
	maxHeld = 12
	maxList = 200
)

var (
	citationStart = regexp.MustCompile(`^[\[,]\s*(\d{1,9}\s*,\s*)*(\d{1,9}\s*)?$`)
	citation      = regexp.MustCompile(`^[\[,]\s*(\d{1,9}\s*,\s*)*\d{1,9}\s*$`) // without its ]
	citedNumber   = regexp.MustCompile(`\d+`)
)

// Feed returns so much of the answer as can be shown.
func (f *CitationFilter) Feed(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '[':
			out.WriteString(f.End())
			f.held = "["
		case f.held == "":
			out.WriteRune(r)
		case r == ']':
			out.WriteString(f.close())
		default:
			f.held += string(r)
			switch held := utf8.RuneCountInString(f.held); {
			case held > maxList || !citationStart.MatchString(f.held):
				out.WriteString(f.End())
			case held > maxHeld:
				out.WriteString(f.showBeginning())
			}
		}
	}
	return out.String()
}

// close returns what is held as it is shown when a ] follows: of a citation the numbers that name a source, nothing when
// there are none.
func (f *CitationFilter) close() string {
	if !citation.MatchString(f.held) {
		return f.End() + "]"
	}
	text := f.known(f.held)
	if f.shown {
		text += "]"
	}
	f.held, f.shown = "", false
	return text
}

// showBeginning returns the list that is held up to the last number that is complete and names a source. What follows is
// held on: it is text when the list turns out not to be one.
func (f *CitationFilter) showBeginning() string {
	end := 0
	complete := f.held[:strings.LastIndex(f.held, ",")+1]
	for _, at := range citedNumber.FindAllStringIndex(complete, -1) {
		if f.isSource(complete[at[0]:at[1]]) {
			end = at[1]
		}
	}
	text := f.known(f.held[:end])
	if end > 0 {
		f.held = strings.TrimLeft(f.held[end:], " \t\r\n\f") // begins with the comma after the number
	}
	return text
}

// known returns the numbers of a part of a list that name a source, as they continue what was shown.
func (f *CitationFilter) known(part string) string {
	var out strings.Builder
	for _, digits := range citedNumber.FindAllString(part, -1) {
		if !f.isSource(digits) {
			continue
		}
		if f.Used == nil {
			f.Used = map[int]bool{}
		}
		n, _ := strconv.Atoi(digits)
		f.Used[n] = true
		if f.shown {
			out.WriteString(", ")
		} else {
			out.WriteByte('[')
		}
		out.WriteString(strconv.Itoa(n))
		f.shown = true
	}
	return out.String()
}

func (f *CitationFilter) isSource(digits string) bool {
	n, err := strconv.Atoi(digits)
	return err == nil && n >= 1 && n <= f.Sources
}

// End returns what is left.
func (f *CitationFilter) End() string {
	rest := f.held
	f.held, f.shown = "", false
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
