package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Breaks lists what a client of the released document would miss in the current
// one: paths, methods, answers, fields and values that are gone, types that are
// others, and things that are newly required. Both are YAML or JSON. Paths of
// beta versions are exempt.
func Breaks(released, current []byte) ([]string, error) {
	var g guard
	if err := yaml.Unmarshal(released, &g.old.root); err != nil {
		return nil, fmt.Errorf("read released document: %w", err)
	}
	if err := yaml.Unmarshal(current, &g.new.root); err != nil {
		return nil, fmt.Errorf("read current document: %w", err)
	}
	g.seen = map[string]bool{}
	g.paths()
	slices.Sort(g.found)
	return slices.Compact(g.found), nil
}

// decode reads a JSON value.
func decode(body []byte) (value any, err error) {
	err = json.Unmarshal(body, &value)
	return value, err
}

// node is any part of a document.
type node = map[string]any

// tree is a document in which references are followed.
type tree struct{ root node }

// at returns a member of n, with a reference replaced by what it means; it also
// returns the reference, to know a part again.
func (t tree) at(n node, key string) (found node, ref string) { return t.resolve(n[key]) }

func (t tree) resolve(v any) (found node, ref string) {
	found, _ = v.(node)
	for range 32 { // a reference to a reference, but no circle
		next, ok := found["$ref"].(string)
		if !ok {
			break
		}
		ref, found = next, t.lookup(next)
	}
	return found, ref
}

func (t tree) lookup(ref string) node {
	n := t.root
	for word := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		word = strings.NewReplacer("~1", "/", "~0", "~").Replace(word)
		n, _ = n[word].(node)
	}
	return n
}

// guard compares two documents.
type guard struct {
	old, new tree
	found    []string
	seen     map[string]bool // pairs of schemas under way or done
}

func (g *guard) report(where, format string, args ...any) {
	g.found = append(g.found, where+": "+fmt.Sprintf(format, args...))
}

// keys returns the keys of an object in order.
func keys(n node) []string { return slices.Sorted(maps.Keys(n)) }

// exempt reports whether a path belongs to a version that may change.
func exempt(path string) bool { return path == "/v3" || strings.HasPrefix(path, "/v3/") }

var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

func (g *guard) paths() {
	before, _ := g.old.at(g.old.root, "paths")
	after, _ := g.new.at(g.new.root, "paths")
	for _, path := range keys(before) {
		if exempt(path) {
			continue
		}
		was, _ := g.old.at(before, path)
		is, _ := g.new.at(after, path)
		if is == nil {
			g.report(path, "path lost")
			continue
		}
		for _, method := range methods {
			g.operation(strings.ToUpper(method)+" "+path, was, is, method)
		}
	}
}

func (g *guard) operation(where string, pathWas, pathIs node, method string) {
	was, _ := g.old.at(pathWas, method)
	is, _ := g.new.at(pathIs, method)
	if was == nil {
		return
	}
	if is == nil {
		g.report(where, "method lost")
		return
	}
	g.parameters(where, g.old.parameters(pathWas, was), g.new.parameters(pathIs, is))
	g.requestBody(where+" body", was, is)
	g.responses(where, was, is)
}

// parameters returns those of a path and its operation, by place and name.
func (t tree) parameters(path, operation node) map[string]node {
	all := map[string]node{}
	for _, owner := range []node{path, operation} {
		list, _ := owner["parameters"].([]any)
		for _, item := range list {
			p, _ := t.resolve(item)
			all[strings.ToLower(fmt.Sprintf("%v parameter %v", p["in"], p["name"]))] = p
		}
	}
	return all
}

func (g *guard) parameters(where string, before, after map[string]node) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == nil {
			g.report(where, "%s lost", name)
			continue
		}
		g.schema(where+" "+name, before[name]["schema"], after[name]["schema"], asked)
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if after[name]["required"] == true && (before[name] == nil || before[name]["required"] != true) {
			g.report(where, "%s newly required", name)
		}
	}
}

func (g *guard) requestBody(where string, was, is node) {
	before, _ := g.old.at(was, "requestBody")
	after, _ := g.new.at(is, "requestBody")
	if after["required"] == true && before["required"] != true {
		g.report(where, "newly required")
	}
	if before != nil {
		g.content(where, before, after, asked)
	}
}

func (g *guard) responses(where string, was, is node) {
	before, _ := g.old.at(was, "responses")
	after, _ := g.new.at(is, "responses")
	for _, status := range keys(before) {
		here := where + " " + status
		answerWas, _ := g.old.at(before, status)
		answerIs, _ := g.new.at(after, status)
		if answerIs == nil {
			g.report(here, "answer lost")
			continue
		}
		headersWas, _ := g.old.at(answerWas, "headers")
		headersIs, _ := g.new.at(answerIs, "headers")
		for _, name := range keys(headersWas) {
			if headersIs[name] == nil {
				g.report(here, "header %s lost", name)
			}
		}
		g.content(here, answerWas, answerIs, answered)
	}
}

// content compares bodies by media type.
func (g *guard) content(where string, was, is node, d direction) {
	before, _ := g.old.at(was, "content")
	after, _ := g.new.at(is, "content")
	for _, kind := range keys(before) {
		mediaWas, _ := g.old.at(before, kind)
		mediaIs, _ := g.new.at(after, kind)
		if mediaIs == nil {
			g.report(where, "media type %s lost", kind)
			continue
		}
		g.schema(where, mediaWas["schema"], mediaIs["schema"], d)
	}
}
