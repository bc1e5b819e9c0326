package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// readDocument returns the JSON that text is, or that the file text names
// holds, with each ${VAR} in a string replaced by what lookup knows. Its errors
// never hold the document.
func readDocument(text string, readFile func(string) ([]byte, error), lookup func(string) (string, bool)) (string, error) {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		content, err := readFile(text)
		if err != nil {
			return "", expected("the path of a readable JSON file, or a JSON object")
		}
		text = string(content)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil || d.More() {
		return "", expected("the path of a JSON file, or a JSON object")
	}
	missing := ""
	filled := fill(doc, func(name string) string {
		value, ok := lookup(name)
		if !ok && missing == "" {
			missing = name
		}
		return value
	})
	if missing != "" {
		return "", expected(fmt.Sprintf("the variable %s to be set, for ${%s}", missing, missing))
	}
	return encodeJSON(filled)
}

// fill replaces ${VAR} in every string of a JSON value.
func fill(v any, value func(name string) string) any {
	switch v := v.(type) {
	case string:
		return variable.ReplaceAllStringFunc(v, func(ref string) string { return value(ref[2 : len(ref)-1]) })
	case []any:
		for i := range v {
			v[i] = fill(v[i], value)
		}
	case map[string]any:
		for key := range v {
			v[key] = fill(v[key], value)
		}
	}
	return v
}

// encodeJSON writes v without escaping <, > and &.
func encodeJSON(v any) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSpace(out.String()), err
}
