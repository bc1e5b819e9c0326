// Package text is the text module of automations: cutting texts into chunks, and
// taking addresses apart.
package text

import (
	"math"
	"strings"
	"unicode/utf8"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/value"
)

// functions are those of the module.
var functions = map[string]func(*value.Object) (any, error){
	"splitText": splitText,
	"parseUrl":  parseURL,
}

// Call calls a function of the module.
func Call(function string, params *value.Object) (any, error) {
	do := functions[function]
	if do == nil {
		return nil, automation.Invalid("text has no function %q", function)
	}
	return do(params)
}

// parseURL returns the parts of an address, Undefined when it is none.
func parseURL(params *value.Object) (any, error) {
	given := params.At("url")
	if value.IsUndefined(given) {
		return nil, automation.Invalid("url is missing")
	}
	address, ok := given.(string)
	if !ok {
		return value.Undefined, nil
	}
	return expr.URL(address), nil
}

// splitText returns content in chunks.
func splitText(params *value.Object) (any, error) {
	content, ok := params.At("content").(string)
	if !ok {
		return nil, automation.Invalid("content is a string, not %s", value.TypeName(params.At("content")))
	}
	s, err := readSplitter(params)
	if err != nil {
		return nil, err
	}
	chunks, err := s.split(content)
	if err != nil {
		return nil, err
	}
	list := make([]any, len(chunks))
	for i, c := range chunks {
		list[i] = value.NewObject("content", c.content, "size", float64(c.size))
	}
	return list, nil
}

// What chunks are like when nothing is said.
const (
	defaultSize    = 1000
	defaultOverlap = 200
	largest        = math.MaxInt32
)

// maxSeparators limits how often a content is scanned: the scan cannot be interrupted.
const maxSeparators = 100

func defaultSeparators() []any { return []any{"\n\n", "\n", " ", ""} }

func readSplitter(params *value.Object) (*splitter, error) {
	size, err := count(params, "chunkSize", defaultSize, 1)
	if err != nil {
		return nil, err
	}
	overlap, err := count(params, "chunkOverlap", defaultOverlap, 0)
	if err != nil {
		return nil, err
	}
	if overlap >= size {
		return nil, automation.Invalid("chunkOverlap (%d) is less than chunkSize (%d)", overlap, size)
	}
	keep := params.At("keepSeparator")
	kept, ok := keep.(bool)
	if !ok && !value.IsNothing(keep) {
		return nil, automation.Invalid("keepSeparator is true or false, not %s", value.TypeName(keep))
	}
	s := &splitter{size: size, overlap: overlap, keepSeparator: kept}
	given := params.At("separators")
	if value.IsNothing(given) {
		given = defaultSeparators()
	}
	list, ok := given.([]any)
	if !ok {
		return nil, automation.Invalid("separators are a list of strings, not %s", value.TypeName(given))
	}
	if len(list) > maxSeparators {
		return nil, automation.Invalid("there are at most %d separators", maxSeparators)
	}
	for _, item := range list {
		separator, ok := item.(string)
		if !ok {
			return nil, automation.Invalid("separators are strings, not %s", value.TypeName(item))
		}
		s.separators = append(s.separators, separator)
	}
	return s, nil
}

// count returns a parameter that is a whole number from least on.
func count(params *value.Object, name string, otherwise, least int) (int, error) {
	given := params.At(name)
	if value.IsNothing(given) {
		return otherwise, nil
	}
	n, ok := given.(float64)
	if !ok || n != math.Trunc(n) || n < float64(least) || n > largest {
		return 0, automation.Invalid("%s is a whole number from %d on", name, least)
	}
	return int(n), nil
}

// maxChunks is how much text all chunks together may hold, in bytes: chunks that
// overlap much are many times their content.
const maxChunks = 64 << 20

// splitter cuts texts into chunks. Lengths are in characters.
type splitter struct {
	size, overlap int
	separators    []string
	keepSeparator bool
}

// part is a piece of the content that is not cut any further.
type part struct {
	begin, end int // where it stands, in bytes
	gap        int // characters between it and the part before: in a chunk, they stand there again
	length     int // its own characters
}

type chunk struct {
	content string
	size    int
}

// splitting is one content that is being split: its parts come one by one, and are
// joined to chunks as they come.
type splitting struct {
	*splitter
	content string
	window  []part // the parts of the chunk that is being made
	size    int    // its characters
	last    int    // where the last part ended
	chunks  []chunk
	total   int
}

// split cuts content at separators into parts, and joins them to chunks.
func (s *splitter) split(content string) ([]chunk, error) {
	in := &splitting{splitter: s, content: content}
	in.cut(0, len(content), s.separators)
	in.emit()
	if in.total > maxChunks {
		return nil, automation.Invalid("the chunks together are larger than %d bytes: they overlap too much", maxChunks)
	}
	return in.chunks, nil
}

// cut takes a piece of the content apart: at the first separator that occurs, and
// what is too long then at the next ones.
func (in *splitting) cut(begin, end int, separators []string) {
	for i, separator := range separators {
		if separator == "" {
			in.characters(begin, end)
			return
		}
		if !strings.Contains(in.content[begin:end], separator) {
			continue
		}
		in.pieces(begin, end, separator, separators[i+1:])
		return
	}
	in.add(begin, end)
}

// pieces adds what is between separators. A kept separator belongs to what follows it.
func (in *splitting) pieces(begin, end int, separator string, others []string) {
	for from := begin; ; {
		at := strings.Index(in.content[from:end], separator)
		if at < 0 {
			in.piece(begin, end, others)
			return
		}
		in.piece(begin, from+at, others)
		begin, from = from+at, from+at+len(separator)
		if !in.keepSeparator {
			begin = from
		}
	}
}

// piece adds what is between two separators, split further if it is too long.
func (in *splitting) piece(begin, end int, separators []string) {
	if utf8.RuneCountInString(in.content[begin:end]) <= in.splitter.size {
		in.add(begin, end)
		return
	}
	in.cut(begin, end, separators)
}

func (in *splitting) characters(begin, end int) {
	for begin < end {
		_, width := utf8.DecodeRuneInString(in.content[begin:end])
		in.add(begin, begin+width)
		begin += width
	}
}

// add takes the next part: into the chunk that is being made when it fits, else
// into a new one. That begins with as many whole parts of the end of the one
// before as fit into the overlap.
func (in *splitting) add(begin, end int) {
	if begin == end || in.total > maxChunks {
		return
	}
	p := part{begin, end, utf8.RuneCountInString(in.content[in.last:begin]), utf8.RuneCountInString(in.content[begin:end])}
	in.last = end
	if in.size+p.gap+p.length > in.splitter.size {
		in.emit()
		for len(in.window) > 0 && (in.size > in.overlap || in.size+p.gap+p.length > in.splitter.size) {
			in.size -= in.window[0].length
			if in.window = in.window[1:]; len(in.window) > 0 {
				in.size -= in.window[0].gap
			}
		}
	}
	if len(in.window) > 0 {
		in.size += p.gap
	}
	in.window = append(in.window, p)
	in.size += p.length
}

// emit makes the parts so far a chunk.
func (in *splitting) emit() {
	if len(in.window) == 0 {
		return
	}
	c := chunk{in.content[in.window[0].begin:in.window[len(in.window)-1].end], in.size}
	in.chunks = append(in.chunks, c)
	in.total += len(c.content)
}
