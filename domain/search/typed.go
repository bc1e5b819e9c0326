package search

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain/document"
	"svc/domain/feed"
)

// typed is the field under which payloads are found as their types say.
const typed = "aggPayload"

// Types says of which type the fields of payloads are, by type of event: the
// events.types of a workspace.
type Types map[string]*schema

// schema is what is known of a value.
type schema struct {
	kind       string // of JSON, or date
	properties map[string]*schema
	items      *schema
}

// TypesOf reads the events of a workspace's settings. What is not there, or of a
// type that it does not know, is found as it was recorded.
func TypesOf(events *document.Map) Types {
	all := Types{}
	for name, v := range inside(events, "types").All() {
		if m, ok := v.(*document.Map); ok {
			all[name] = payloadSchema(inside(m, "schema"))
		}
	}
	return all
}

// inside returns the object at a key; an empty one when there is none.
func inside(m *document.Map, key string) *document.Map {
	v, _ := m.Get(key)
	inner, ok := v.(*document.Map)
	if !ok {
		return document.MapOf()
	}
	return inner
}

// payloadSchema reads one schema, or typed fields by name.
func payloadSchema(m *document.Map) *schema {
	kind, _ := m.Get("type")
	if _, fields := kind.(*document.Map); kind != nil && !fields {
		return schemaOf(m)
	}
	return &schema{kind: "object", properties: propertiesOf(m)}
}

func propertiesOf(m *document.Map) map[string]*schema {
	all := map[string]*schema{}
	for name, v := range m.All() {
		if inner, ok := v.(*document.Map); ok {
			all[name] = schemaOf(inner)
		}
	}
	return all
}

func schemaOf(m *document.Map) *schema {
	s := &schema{kind: m.Text("type"), properties: propertiesOf(inside(m, "properties"))}
	if kinds, ok := m.Get("type"); ok && s.kind == "" {
		several, _ := kinds.([]any)
		for _, kind := range slices.Backward(several) { // the first that says something
			if text, ok := kind.(string); ok && text != "null" {
				s.kind = text
			}
		}
	}
	if format := m.Text("format"); s.kind == "string" && (format == "date-time" || format == "date") {
		s.kind = "date"
	}
	if items, ok := m.Get("items"); ok {
		if inner, ok := items.(*document.Map); ok {
			s.items = schemaOf(inner)
		}
	}
	return s
}

// at returns the schema of what is at a dotted path; nil when it is not known.
func (s *schema) at(path string) *schema {
	for s != nil && s.kind == "array" {
		s = s.items
	}
	if s == nil || path == "" {
		return s
	}
	if inner, ok := s.properties[path]; ok {
		return inner.at("")
	}
	name, rest, _ := strings.Cut(path, ".")
	return s.properties[name].at(rest)
}

// read returns a value as its type says; ok is false when it is of none such.
func (s *schema) read(v any) (value any, ok bool) {
	switch s.kind {
	case "number", "integer":
		if text, isText := v.(string); isText {
			n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			return n, err == nil && !isOdd(n)
		}
		_, ok = v.(float64)
	case "boolean":
		if v == "true" || v == "false" {
			return v == "true", true
		}
		_, ok = v.(bool)
	case "date":
		if n, isNumber := v.(float64); isNumber {
			return time.UnixMilli(int64(n)).UTC(), true
		}
		return timeOf(v)
	case "string":
		if _, isObject := v.(map[string]any); !isObject {
			return textOf(v), true
		}
	default:
		return v, true
	}
	return v, ok
}

// Doc returns an event as it is searched. Its payload is found under aggPayload, too,
// when its type is a declared one or when it was emitted to be.
func (t Types) Doc(e *feed.Event) Doc { return typedDoc{e, t} }

type typedDoc struct {
	*feed.Event
	types Types
}

// Says implements Doc.
func (d typedDoc) Says(words ...string) bool {
	f := feed.Filter{Words: words}
	return f.Match(d.Event)
}

// Values implements Doc.
func (d typedDoc) Values(path string) []any {
	rest, ok := strings.CutPrefix(path, typed)
	if !ok || rest != "" && rest[0] != '.' {
		return d.Event.Values(path)
	}
	known, declared := d.types[d.Type]
	if !declared && !d.Options.AggPayload {
		return nil
	}
	found := d.Event.Values("payload" + rest)
	if known = known.at(strings.TrimPrefix(rest, ".")); known == nil {
		return found
	}
	values := found[:0:0]
	for _, v := range found {
		if v, ok := known.read(v); ok {
			values = append(values, v)
		}
	}
	return values
}
