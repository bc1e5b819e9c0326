package lsp

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"svc/domain/document"
	"svc/domain/shape"
)

// schemaOf returns the JSON Schema of a kind of documents, the one that the service serves; nil for a kind without one.
var schemaOf = func() func(*document.Kind) *document.Map {
	load := sync.OnceValue(func() map[*document.Kind]*document.Map {
		all := map[*document.Kind]*document.Map{}
		for _, kind := range document.Kinds {
			all[kind], _ = shape.Schema(kind.Name)
		}
		return all
	})
	return func(kind *document.Kind) *document.Map { return load()[kind] }
}()

// schemasAt returns the schemas of the value at a path: what $ref and anyOf lead to each counts.
func schemasAt(root *document.Map, path []step) []*document.Map {
	found := expandSchema(root, root)
	for _, s := range path {
		var next []*document.Map
		for _, schema := range found {
			for _, inner := range innerSchemas(schema, s) {
				next = append(next, expandSchema(root, inner)...)
			}
		}
		if len(next) == 0 && s.key == "blocks" { // a block may hold others, whatever its kind
			next = expandSchema(root, root.Object("properties").Object("blocks"))
		}
		found = next
	}
	return found
}

// innerSchemas returns the schemas of one step into a value.
func innerSchemas(schema *document.Map, s step) []*document.Map {
	if s.item {
		return nonNil(schema.Object("items"))
	}
	if property := schema.Object("properties").Object(s.key); property != nil {
		return []*document.Map{property}
	}
	return nonNil(schema.Object("additionalProperties"))
}

func nonNil(schema *document.Map) []*document.Map {
	if schema == nil {
		return nil
	}
	return []*document.Map{schema}
}

// expandSchema returns a schema and those that it consists of.
func expandSchema(root, schema *document.Map) []*document.Map {
	if schema == nil {
		return nil
	}
	all := []*document.Map{schema}
	if name, ok := strings.CutPrefix(schema.Text("$ref"), "#/$defs/"); ok {
		all = append(all, expandSchema(root, root.Object("$defs").Object(name))...)
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		v, _ := schema.Get(word)
		list, _ := v.([]any)
		for _, one := range list {
			if one, ok := one.(*document.Map); ok {
				all = append(all, expandSchema(root, one)...)
			}
		}
	}
	return all
}

// isInstruction reports whether one of schemas is that of an instruction, whose key may be the slug of an automation.
func isInstruction(root *document.Map, schemas []*document.Map) bool {
	instruction := root.Object("$defs").Object("instruction")
	for _, schema := range schemas {
		if instruction != nil && schema == instruction {
			return true
		}
	}
	return false
}

// describe says in Markdown what schemas say of a value.
func describe(schemas []*document.Map) string {
	var lines []string
	add := func(line string) {
		for _, known := range lines {
			if known == line {
				return
			}
		}
		lines = append(lines, line)
	}
	for _, schema := range schemas {
		if text := schema.Text("description"); text != "" {
			add(text)
		}
	}
	for _, schema := range schemas {
		if types := typeNames(schema); len(types) > 0 && len(schemas) == 1 {
			add("Type: " + strings.Join(types, " or "))
		}
		if v, ok := schema.Get("enum"); ok {
			add("One of: " + strings.Join(valueTexts(v), ", "))
		}
		if v, ok := schema.Get("default"); ok {
			add("Default: " + valueText(v))
		}
	}
	return strings.Join(lines, "\n\n")
}

// typeNames returns the types that a schema allows, without null: that is as good as absent.
func typeNames(schema *document.Map) (names []string) {
	v, _ := schema.Get("type")
	if name, ok := v.(string); ok {
		return []string{name}
	}
	list, _ := v.([]any)
	for _, item := range list {
		if name, ok := item.(string); ok && name != "null" {
			names = append(names, name)
		}
	}
	return names
}

// valueTexts returns the values of a list, as they are written in YAML, without null.
func valueTexts(v any) (texts []string) {
	list, _ := v.([]any)
	for _, item := range list {
		if item != nil {
			texts = append(texts, valueText(item))
		}
	}
	return texts
}

func valueText(v any) string {
	if s, ok := v.(string); ok {
		return scalarText(s)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// scalarText is how a text is written in YAML, with quotes when it would be something else without.
func scalarText(s string) string {
	b, err := document.YAML(s)
	if err != nil {
		return s
	}
	return strings.TrimSuffix(string(b), "\n")
}
