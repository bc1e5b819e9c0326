package search

import (
	"strings"
	"time"

	"svc/domain"
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

// prose reports whether the field holds what people wrote, which is searched word by
// word. What the envelope says are names: they are compared as a whole.
func (f field) prose() bool {
	return f.below("payload") || f.below(typed) || f.below("error")
}

// known reports whether an index of events knows the field without reading them.
func (f field) known() bool {
	return f == created || f == "id" || f == "type" || f == "source.workspaceId" || f == "source.correlationId"
}

// logged reports whether the log itself has the field. What executions were given and
// gave may be kept apart; the length of events with it is that of both.
func (f field) logged() bool {
	return !f.isTyped() && f != "" && f != "payload" && f != "size" && f != "stripped" && f != "payload.apart" &&
		!f.below("payload.payload") && !f.below("payload.output")
}

// isTyped reports whether the field is one of those that workspaces declare.
func (f field) isTyped() bool { return f.below(typed) }

// below reports whether the field is a part, or inside of it.
func (f field) below(part string) bool {
	rest, ok := strings.CutPrefix(string(f), part)
	return ok && (rest == "" || rest[0] == '.')
}

// indexed reports whether a filter of the index may ask for texts of the field:
// those of typed fields are not the ones that are recorded.
func (f field) indexed() bool {
	return f != created && !f.isTyped()
}

// of returns the plain values of the field in a document: texts, numbers, booleans,
// and times where the field is known to hold them.
func (f field) of(d Doc) []any {
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
	values := f.of(d)
	for i, v := range values {
		if at, ok := v.(time.Time); ok {
			values[i] = at.UTC() // equal times are one value
		}
	}
	return different(values, visit)
}

// different visits each value once, in order.
func different[V comparable](values []V, visit func(V) error) error {
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
	for _, v := range f.of(d) {
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
	for _, v := range f.of(d) {
		if at, ok := timeOf(v); ok {
			found = append(found, at)
		}
	}
	return found
}

// timeOf returns the time that a value is or says.
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
		return at.UTC().Format(domain.Timestamp)
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
