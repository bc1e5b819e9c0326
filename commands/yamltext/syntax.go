package yamltext

import (
	"bytes"
	"errors"
	"regexp"
	"sort"
	"strconv"
	"unicode/utf8"

	"svc/domain/document"
)

// syntaxError is what the parser says of a text that is no YAML, with the line that it
// names: that of the mapping or list around the fault, if there is one.
type syntaxError struct{ text string }

// Error implements error.
func (e *syntaxError) Error() string { return e.text }

// maxSearched bounds how many bytes are parsed again to find the place of a fault.
const maxSearched = 16 << 20

var parserPrefix = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// plainMessages are the words of the parser that its users do not know.
var plainMessages = map[string]string{
	"did not find expected key":                      "expected a key here: check the indentation, and put texts with { } [ ] : or quotes in them into quotes",
	"did not find expected '-' indicator":            `expected a list item ("- ") here: check the indentation`,
	"did not find expected ',' or '}'":               `expected "," or "}": a { is not closed; put texts that begin with { into quotes`,
	"did not find expected ',' or ']'":               `expected "," or "]": a [ is not closed; put texts that begin with [ into quotes`,
	"did not find expected node content":             "expected a value here; put texts that begin with { or [ into quotes",
	"mapping values are not allowed in this context": `a ":" is not allowed here: check the indentation, and put texts with ": " in them into quotes`,
	"found character that cannot start any token":    "this character cannot begin a value: put the text into quotes; indent with spaces, not tabs",
	"found unexpected end of stream":                 "a quote is opened and not closed",
	"found unknown escape character":                 `unknown escape after \ in double quotes: write \\, or use single quotes`,
	"could not find expected ':'":                    `expected ":" after the key`,
}

// fault returns where in the text the parser stopped: the shortest beginning of the text
// that it refuses with the same words ends there. What is opened and never closed is
// found where it is opened.
func (e *syntaxError) fault(text []byte) *document.Fault {
	named := parserPrefix.FindStringSubmatch(e.text)
	fault := &document.Fault{Message: e.text}
	if named != nil {
		fault.Message = e.text[len(named[0]):]
		fault.Line, _ = strconv.Atoi(named[1])
	}
	if plain, ok := plainMessages[fault.Message]; ok {
		fault.Message = plain
	}
	left := maxSearched
	refused := func(end int) bool {
		if left -= end; left < 0 {
			return true
		}
		_, err := decode(text[:end])
		same, ok := errors.AsType[*syntaxError](err)
		return ok && same.text == e.text
	}
	ends := lineEnds(text)
	line := sort.Search(len(ends)-1, func(i int) bool { return refused(ends[i]) })
	if left < 0 { // the text is too long to be searched
		return fault
	}
	start := 0
	if line > 0 {
		start = ends[line-1]
	}
	content := bytes.TrimRight(text[start:ends[line]], "\n")
	width := sort.Search(len(content), func(i int) bool { return refused(start + i) })
	fault.Line = line + 1
	if left >= 0 {
		fault.Column = max(1, utf8.RuneCount(content[:width]))
	}
	return fault
}

// lineEnds returns where each line ends, after its line break.
func lineEnds(text []byte) []int {
	var ends []int
	for at := 0; at < len(text); {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
		ends = append(ends, at)
	}
	if len(ends) == 0 || ends[len(ends)-1] < len(text) {
		ends = append(ends, len(text))
	}
	return ends
}
