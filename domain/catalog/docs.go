package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/activity"
)

const docsHead = `# Events

This page is generated from the table of event types in domain/catalog. Change the table, then run
` + "`go test ./domain/catalog -update`" + `.

Every change is an event, and a stored type name never changes. There are two logs. STATE is kept for ever and has no gaps:
workspaces, users and all other aggregates are folded from its events. ACTIVITY holds all other events, and the cleanup
erases old ones. A type that is not in this table was defined by a user, but for ` + "[`usage`](#usage)" + `; its events are in ACTIVITY.

## Envelope

These fields are the same for every event. ` + "`payload`" + ` is described per type below. An optional field is absent when it is empty.

`

const docsTypes = `
## Types

| Type | Log | Schema | Meaning |
|---|---|---|---|
`

// Docs returns the page docs/events.md. It is a function of the table alone.
func Docs() string {
	var b strings.Builder
	b.WriteString(docsHead)
	writeFields(&b, envelopeFields())
	b.WriteString(docsTypes)
	table := Table()
	for _, f := range table {
		fmt.Fprintf(&b, "| `%s` | %s | %d | %s |\n", f.Name, f.Log, f.Schema, f.Summary)
	}
	for _, f := range table {
		fmt.Fprintf(&b, "\n### %s\n\n%s Kept in %s.\n\n", f.Name, f.Summary, f.Log)
		writeFields(&b, payloadFields(f))
	}
	b.WriteString(docsUsage)
	writeFields(&b, slices.Concat(fieldsOf(reflect.TypeFor[activity.Metric](), "metrics.{name}", false), fieldsOf(reflect.TypeFor[activity.Usage](), "", false)[1:]))
	return b.String()
}

// docsUsage introduces the type that the platform shares with apps, and that is therefore no row of the table.
const docsUsage = "\n" +
	"### usage\n" +
	"\n" +
	"How much of something was used. Kept in ACTIVITY. The platform writes it for answers, messages to agents, vectors, documents that\n" +
	"became ready, crawls and tests of models, for searches once a minute, and for the size of knowledge bases once an hour. Each metric\n" +
	"grows by its value (`increment`) or is set to it (`set`). The metrics are `tokens.prompt`, `tokens.completion`, `tokens.embedding`,\n" +
	"`knowledge.queries`, `knowledge.questions`, `knowledge.documents.indexed`, `knowledge.pages.crawled`, `agents.messages` and\n" +
	"`agents.toolCalls`, which grow, and `knowledge.documents`, `knowledge.chunks` and `knowledge.bytes`, which are set. Apps report\n" +
	"metrics of their own under the same type; those of the platform count only in events that it wrote itself. See\n" +
	"[knowledge.md](knowledge.md#usage).\n" +
	"\n"

// field is one row of a page: where a value is in the JSON, and what it is.
type field struct {
	path, kind string
	optional   bool
}

func writeFields(b *strings.Builder, fields []field) {
	b.WriteString("| Field | Type |\n|---|---|\n")
	for _, f := range fields {
		optional := ""
		if f.optional {
			optional = ", optional"
		}
		fmt.Fprintf(b, "| `%s` | %s%s |\n", f.path, f.kind, optional)
	}
}

// envelopeFields are those of the stored envelope that the catalogue shows.
func envelopeFields() []field {
	fields := []field{
		{path: "id", kind: "text (ULID)"},
		{path: "type", kind: "text"},
		{path: "workspaceId", kind: "text"},
		{path: "createdAt", kind: "time"},
	}
	fields = append(fields, fieldsOf(reflect.TypeFor[domain.Meta](), "source", false)...)
	return append(fields, field{path: "payload", kind: "object"})
}

// payloadFields are those of what the catalogue shows of an event: its own, or
// those of its Payload.
func payloadFields(f domain.Fact) []field {
	ev, err := domain.NewRegistry(f).Decode(f.Name, []byte("{}"))
	if err != nil {
		panic(fmt.Sprintf("catalog: %s does not open as an empty object: %v", f.Name, err))
	}
	payload, err := domain.PayloadOf(domain.Recorded{Data: ev}, func(string, uint64) (uint64, error) { return 0, nil })
	if err != nil {
		panic(fmt.Sprintf("catalog: %s shows nothing: %v", f.Name, err))
	}
	return fieldsOf(reflect.TypeOf(payload), "", false)
}

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// deepest is how far a page follows objects into objects, so that a type that
// holds itself has an end.
const deepest = 6

// fieldsOf lists the JSON fields of t below path, in the order of the struct. A
// type that is no struct is one row, named path.
func fieldsOf(t reflect.Type, path string, optional bool) []field {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == timeType || strings.Count(path, ".") >= deepest {
		return []field{{path: cmp.Or(path, "-"), kind: kindOf(t), optional: optional}}
	}
	var fields []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if !sf.IsExported() && !sf.Anonymous || name == "-" {
			continue
		}
		below := path
		if !sf.Anonymous || name != "" {
			below = strings.TrimPrefix(path+"."+cmp.Or(name, sf.Name), ".")
		}
		fields = append(fields, elements(sf.Type, below, optional || strings.Contains(options, "omit"))...)
	}
	return fields
}

// elements lists a list of objects by the fields of one of them.
func elements(t reflect.Type, path string, optional bool) []field {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && t.Elem() != timeType {
		return fieldsOf(t.Elem(), path+"[]", optional)
	}
	return fieldsOf(t, path, optional)
}

// kindOf names a type as the reader of JSON sees it.
func kindOf(t reflect.Type) string {
	switch t {
	case timeType:
		return "time"
	case rawType:
		return "any"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Map, reflect.Struct:
		return "object"
	case reflect.Slice, reflect.Array:
		return "list of " + kindOf(t.Elem())
	case reflect.Interface:
		return "any"
	default:
		return "whole number"
	}
}
