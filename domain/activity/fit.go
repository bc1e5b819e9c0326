package activity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sort"
	"unicode/utf8"
)

// least is what is left of a value of any size, in characters: "…", [], {} or null.
const least = 5

// FitExecuted is Fit for runtime.automations.executed: what went in and what came out
// are left out first.
func FitExecuted(payload map[string]any, limit int) (fitting map[string]any, truncated bool) {
	if length(payload) <= limit {
		return payload, false
	}
	bare := maps.Clone(payload)
	bare["payload"], bare["output"], bare[truncation] = nil, nil, true
	fitting, _ = Fit(bare, limit)
	return fitting, true
}

// truncation is the field of a payload that says that it was truncated.
const truncation = "truncated"

// Fit returns a payload whose compact JSON has at most limit characters: the same, or a
// copy with its largest fields cut that says so. Fields keep their kind: a text is cut
// to a text, a list to its beginning.
func Fit(payload map[string]any, limit int) (fitting map[string]any, truncated bool) {
	if length(payload) <= limit {
		return payload, false
	}
	whole := decodeObject(encode(payload))
	delete(whole, truncation)
	fitting = shortenMap(whole, limit-len(`"":true,`)-len(truncation))
	fitting[truncation] = true
	return fitting, true
}

// decodeObject returns what was encoded as an object that is made of what JSON knows. Numbers
// stay as they are written.
func decodeObject(encoded []byte) map[string]any {
	copied := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(encoded))
	d.UseNumber()
	_ = d.Decode(&copied) // it was encoded just now
	return copied
}

// encode returns the compact JSON of v; nothing for what JSON cannot hold.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// length is how many characters the compact JSON of v has.
func length(v any) int { return utf8.RuneCount(encode(v)) }

// shorten returns as much of v as has at most room characters, which are at least
// least.
func shorten(v any, limit int) any {
	switch v := v.(type) {
	case string:
		return shortenText(v, limit)
	case []any:
		return shortenList(v, limit)
	case map[string]any:
		return shortenMap(v, limit)
	}
	return nil // a number longer than a text may be
}

func shortenText(s string, limit int) string {
	all := []rune(s)
	over := sort.Search(len(all), func(n int) bool { return length(string(all[:n+1])+"…") > limit })
	return string(all[:over]) + "…"
}

func shortenList(list []any, limit int) []any {
	shortened := []any{}
	limit -= len("[]")
	for _, item := range list {
		size := length(item) + len(",")
		if size > limit {
			if limit > least {
				shortened = append(shortened, shorten(item, limit-len(",")))
			}
			break
		}
		shortened = append(shortened, item)
		limit -= size
	}
	return shortened
}

// field is a field of an object, and what it takes in characters.
type field struct {
	key         string
	value       any
	name, whole int // the key with its punctuation, and the value
}

func (f field) least() int { return f.name + min(f.whole, least) }

// shortenMap gives each field the same room, and what small ones leave to the larger.
// When there are more fields than have room at all, those with the longest names go.
func shortenMap(m map[string]any, limit int) map[string]any {
	fields := make([]field, 0, len(m))
	for key, value := range m {
		fields = append(fields, field{key, value, length(key) + len(":,"), length(value)})
	}
	slices.SortFunc(fields, func(a, b field) int {
		return cmp.Or(cmp.Compare(a.least(), b.least()), cmp.Compare(a.key, b.key))
	})
	limit -= len("{}")
	shortened := fields[:0]
	for needed := 0; len(shortened) < len(fields); {
		next := fields[len(shortened)]
		if needed += next.least(); needed > limit {
			break
		}
		shortened = fields[:len(shortened)+1]
	}
	return distribute(shortened, limit)
}

// distribute shortens the values of fields until all of them have room.
func distribute(fields []field, limit int) map[string]any {
	for _, f := range fields {
		limit -= f.name
	}
	slices.SortFunc(fields, func(a, b field) int {
		return cmp.Or(cmp.Compare(a.whole, b.whole), cmp.Compare(a.key, b.key))
	})
	cut := make(map[string]any, len(fields))
	for i, f := range fields {
		value, size := f.value, f.whole
		if share := limit / (len(fields) - i); size > share {
			value = shorten(value, share)
			size = length(value)
		}
		cut[f.key] = value
		limit -= size
	}
	return cut
}
