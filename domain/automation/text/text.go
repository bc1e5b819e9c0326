// Package text is the text module of automations: cutting texts into chunks, and
// taking addresses apart.
package text

import (
	"math"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// functions are those of the module.
var functions = map[string]func(*value.Object) (any, error){
	"splitText": splitText,
	"parseUrl":  parseURL,
}

// Has reports whether the module has a function of that name.
func Has(function string) bool { return functions[function] != nil }

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
		return nil, automation.Invalid("content is a string, not %s", value.Kind(params.At("content")))
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

// maxSeparators bounds how often a content is looked through: nobody can stop that.
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
		return nil, automation.Invalid("keepSeparator is true or false, not %s", value.Kind(keep))
	}
	s := &splitter{size: size, overlap: overlap, keep: kept}
	given := params.At("separators")
	if value.IsNothing(given) {
		given = defaultSeparators()
	}
	list, ok := given.([]any)
	if !ok {
		return nil, automation.Invalid("separators are a list of strings, not %s", value.Kind(given))
	}
	if len(list) > maxSeparators {
		return nil, automation.Invalid("there are at most %d separators", maxSeparators)
	}
	for _, item := range list {
		separator, ok := item.(string)
		if !ok {
			return nil, automation.Invalid("separators are strings, not %s", value.Kind(item))
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
