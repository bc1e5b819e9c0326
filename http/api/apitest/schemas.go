package apitest

import (
	"fmt"
	"slices"
	"strconv"
)

// direction says who reads a value: what may be added depends on it.
type direction int

const (
	asked    direction = iota // the server reads it: nothing more may be required
	answered                  // the client reads it: nothing may be missing
)

// schema compares two schemas and everything below them.
func (g *guard) schema(where string, was, is any, d direction) {
	before, refWas := g.old.resolve(was)
	after, refIs := g.new.resolve(is)
	if before == nil {
		return
	}
	if after == nil {
		g.report(where, "schema lost")
		return
	}
	if pair := fmt.Sprint(refWas, " ", refIs, " ", d); refWas != "" {
		if g.seen[pair] {
			return // compared where it was met first
		}
		g.seen[pair] = true
	}
	g.types(where, before, after, d)
	g.values(where, before, after, d)
	g.required(where, before, after, d)
	g.properties(where, before, after, d)
	g.variants(where, before, after, d)
	for _, inner := range []string{"items", "additionalProperties"} {
		if before[inner] != nil {
			g.schema(where+" "+inner, before[inner], after[inner], d)
		}
	}
}

// types compares the types: the server may take more, and may answer with less.
func (g *guard) types(where string, was, is node, d direction) {
	less, more := texts(was["type"]), texts(is["type"])
	if d == answered {
		less, more = more, less
	}
	if !covers(more, less) {
		g.report(where, "type changed from %v to %v", was["type"], is["type"])
	}
}

// covers reports whether everything of less is in more. Nothing means anything.
func covers(more, less []string) bool {
	missing := func(name string) bool { return !slices.Contains(more, name) }
	return len(more) == 0 || len(less) > 0 && !slices.ContainsFunc(less, missing)
}

// values compares enumerations: no value may go, and what the server took
// freely may not be limited to a few.
func (g *guard) values(where string, was, is node, d direction) {
	before, wasLimited := was["enum"].([]any)
	after, isLimited := is["enum"].([]any)
	if isLimited && !wasLimited && d == asked {
		g.report(where, "newly limited to %v", after)
	}
	for _, value := range before {
		if isLimited && !slices.Contains(after, value) {
			g.report(where, "value %v lost", value)
		}
	}
}

// required compares what must be there: requests may need less, and answers
// may promise more.
func (g *guard) required(where string, was, is node, d direction) {
	before, after, word := texts(was["required"]), texts(is["required"]), "newly required"
	if d == answered {
		before, after, word = after, before, "no longer promised"
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			g.report(where+"."+name, "%s", word)
		}
	}
}

func (g *guard) properties(where string, was, is node, d direction) {
	before, _ := was["properties"].(node)
	after, _ := is["properties"].(node)
	for _, name := range keys(before) {
		if after[name] == nil {
			g.report(where+"."+name, "field lost")
			continue
		}
		g.schema(where+"."+name, before[name], after[name], d)
	}
}

// variants compares oneOf and its kin by their order: add new ones at the end.
func (g *guard) variants(where string, was, is node, d direction) {
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		before, _ := was[word].([]any)
		after, _ := is[word].([]any)
		for i := range before {
			here := where + " " + word + " " + strconv.Itoa(i)
			if i >= len(after) {
				g.report(here, "variant lost")
				continue
			}
			g.schema(here, before[i], after[i], d)
		}
	}
}

// texts returns a text, or a list of them, as a list.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, item := range v {
			list = append(list, fmt.Sprint(item))
		}
		return list
	}
	return nil
}
