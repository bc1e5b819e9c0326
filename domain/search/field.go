package search

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/feed"
)

// field is a path of documents.
type field string

// created is the time of an event.
const created field = "createdAt"

// fieldAt returns the field with a name.
func fieldAt(name string) field {
	if name == "@timestamp" {
		return created
	}
	return field(name)
}

// isProse reports whether the field has text by people, which is searched word by word.
// Fields of the envelope are names: they are compared as a whole.
func (f field) isProse() bool {
	return f.isBelow("payload") || f.isBelow(typed) || f.isBelow("error")
}

// isIndexed reports whether an index of events knows the field without reading them.
func (f field) isIndexed() bool {
	return f == created || f == "id" || f == "type" || f == "source.workspaceId" || f == "source.correlationId"
}

// isLogged reports whether the log itself has the field. The inputs and outputs of executions may be stored
// separately; the length of events with it is that of both.
func (f field) isLogged() bool {
	return !f.isTyped() && f != "" && f != "payload" && f != "size" && f != "stripped" && f != "payload.apart" &&
		!f.isBelow("payload.payload") && !f.isBelow("payload.output")
}

// isTyped reports whether the field is one of those that workspaces declare.
func (f field) isTyped() bool { return f.isBelow(typed) }

// isBelow reports whether the field is a part, or inside of it.
func (f field) isBelow(part string) bool {
	rest, ok := strings.CutPrefix(string(f), part)
	return ok && (rest == "" || rest[0] == '.')
}

// indexed reports whether a filter of the index may ask for texts of the field:
// those of typed fields are not the ones that are recorded.
func (f field) indexed() bool {
	return f != created && !f.isTyped()
}

// valuesOf returns the plain values of the field in a document: texts, numbers, booleans,
// and times where the field is known to hold them.
func (f field) valuesOf(d Doc) []any {
	found := d.Values(string(f))
	plain := found[:0:0]
	for _, v := range found {
		if text, ok := v.(string); ok && f == created {
			if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
				v = at
			}
		}
		switch v.(type) {
		case string, float64, bool, time.Time:
			plain = append(plain, v)
		}
	}
	return plain
}

// each visits the different plain values of the field in a document: a document
// counts once for a value, however often it has it.
func (f field) each(d Doc, visit func(v any) error) error {
	values := f.valuesOf(d)
	for i, v := range values {
		if at, ok := v.(time.Time); ok {
			values[i] = at.UTC() // equal times are one value
		}
	}
	return distinctValues(values, visit)
}

// distinctValues visits each value once, in order.
func distinctValues[V comparable](values []V, visit func(V) error) error {
	switch len(values) { // nearly always
	case 0:
		return nil
	case 1:
		return visit(values[0])
	}
	seen := make(map[V]struct{}, len(values))
	for _, v := range values {
		if _, again := seen[v]; again {
			continue
		}
		seen[v] = struct{}{}
		if err := visit(v); err != nil {
			return err
		}
	}
	return nil
}

// numbers returns the numbers of the field in a document; of a time, its
// milliseconds.
func (f field) numbers(d Doc) (found []float64) {
	for _, v := range f.valuesOf(d) {
		switch v := v.(type) {
		case float64:
			found = append(found, v)
		case time.Time:
			found = append(found, float64(v.UnixMilli()))
		}
	}
	return found
}

// times returns the times of the field in a document: also those that are written
// as texts.
func (f field) times(d Doc) (found []time.Time) {
	for _, v := range f.valuesOf(d) {
		if at, ok := timeOf(v); ok {
			found = append(found, at)
		}
	}
	return found
}

// timeOf returns a value as a time, if it is one or can be parsed.
func timeOf(v any) (at time.Time, ok bool) {
	switch v := v.(type) {
	case time.Time:
		return v, true
	case string:
		at, _, ok = parseDate(v)
	}
	return at, ok
}

// textOf returns a plain value in the form that it is compared in.
func textOf(v any) string {
	if at, ok := v.(time.Time); ok {
		return domain.FormatTime(at)
	}
	text, _ := feed.Text(v)
	return text
}

// wordsOf returns the words of a text.
func wordsOf(text string) (words []string) {
	feed.Words(text, func(word string) bool {
		words = append(words, word)
		return true
	})
	return words
}

// texts visits the texts of all plain values in v until visit returns false.
func texts(v any, visit func(text string) (more bool)) (more bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			if !texts(inner, visit) {
				return false
			}
		}
	case []any:
		for _, inner := range v {
			if !texts(inner, visit) {
				return false
			}
		}
	case nil:
	default:
		return visit(textOf(v))
	}
	return true
}

// typed is the field under which payloads are found as their types say.
const typed = "aggPayload"

// Types are the types of the fields of payloads, by event type: the events.types of a
// workspace.
type Types map[string]*schema

// schema is the declared type of a value.
type schema struct {
	kind       string // of JSON, or date
	properties map[string]*schema
	items      *schema
}

// TypesOf reads the events of a workspace's settings. Fields that are not declared, or have an unknown type, are
// searched as they were recorded.
func TypesOf(events *document.Map) Types {
	all := Types{}
	for name, v := range objectAt(events, "types").All() {
		if m, ok := v.(*document.Map); ok {
			all[name] = payloadSchema(objectAt(m, "schema"))
		}
	}
	return all
}

// objectAt returns the object at a key; an empty one when there is none.
func objectAt(m *document.Map, key string) *document.Map {
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
	s := &schema{kind: m.Text("type"), properties: propertiesOf(objectAt(m, "properties"))}
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

// at returns the schema at a dotted path; nil when it is not declared.
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

// read converts a value to its declared type; ok is false when it does not fit.
func (s *schema) read(v any) (value any, ok bool) {
	switch s.kind {
	case "number", "integer":
		if text, isText := v.(string); isText {
			n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			return n, err == nil && !isNotFinite(n)
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

// ContainsWords implements Doc.
func (d typedDoc) ContainsWords(words ...string) bool {
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
