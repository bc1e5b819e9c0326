package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"svc/domain"
)

// maxNesting is how deep a JSON body may be.
const maxNesting = 64

// Decode reads the JSON body of r into v. Bodies are closed: a field that v
// does not have, a key given twice or a value of another type is refused and
// named by its dotted path. Maps, interfaces, json.RawMessage and types that
// decode themselves are open parts, in which only doubled keys and texts with half
// a surrogate pair are refused. No body is an empty object. A body without a
// Content-Type is taken for JSON; one that is nested too deeply is refused with
// 400, like any other shape that is not acceptable.
func Decode(r *http.Request, v any) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		body = []byte("{}")
	} else if err := checkJSONType(r.Header); err != nil {
		return err
	}
	return decodeJSON(body, v)
}

// checkJSONType refuses bodies that say they are something else.
func checkJSONType(h http.Header) error {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return RefuseStatus(http.StatusUnsupportedMediaType, "bodies must not be encoded")
	}
	declared := h.Get("Content-Type")
	if declared == "" {
		return nil
	}
	media, params, err := mime.ParseMediaType(declared)
	charset := params["charset"]
	if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return RefuseStatus(http.StatusUnsupportedMediaType, "the body must be application/json in UTF-8")
	}
	return nil
}

// decodeJSON is Decode once the bytes are there.
func decodeJSON(body []byte, v any) error {
	if err := walkJSON(body, reflect.TypeOf(v)); err != nil {
		return err
	}
	err := json.Unmarshal(body, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return wrongType(wrong, reflect.TypeOf(v))
	}
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		return refusal // a type that decodes itself knows better
	}
	if err != nil {
		return badBody("the body is not acceptable")
	}
	return nil
}

// walkJSON refuses a body that is no JSON, and one with what a walker finds that it should
// not have for a type.
func walkJSON(body []byte, t reflect.Type) error {
	if !utf8.Valid(body) {
		return badBody("the body is not UTF-8")
	}
	if !json.Valid(body) {
		var whole json.RawMessage
		if err := json.Unmarshal(body, &whole); err != nil && !tooDeep(body, err) {
			return badBody("the body is not JSON: " + err.Error())
		}
	}
	w := walker{data: body}
	w.value(t, "", 0)
	if len(w.faults) > 0 {
		return badBody(w.faults[0].Field+": "+w.faults[0].Message, w.faults...)
	}
	return nil
}

// tooDeep reports whether a body that is no JSON is nested too deeply before the place
// where it ceases to be: a walker stops there, and names it.
func tooDeep(body []byte, err error) bool {
	wrong, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < min(int(wrong.Offset), len(body))-1 && depth <= maxNesting; i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '{' || c == '['):
			depth++
		case !quoted && (c == '}' || c == ']'):
			depth--
		}
	}
	return depth > maxNesting
}

// CheckJSON refuses a text that is no JSON object, and one with a key given twice,
// half a surrogate pair or nested too deeply, as Decode does.
func CheckJSON(body []byte) error {
	var open map[string]json.RawMessage
	err := walkJSON(body, reflect.TypeOf(&open))
	if err != nil || bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return err
	}
	return decodeJSON(body, &open)
}

// CheckAnyJSON is CheckJSON for a text that may be any value, not an object alone.
func CheckAnyJSON(body []byte) error { return walkJSON(body, nil) }

// badBody is the refusal of a body's shape.
func badBody(message string, faults ...domain.FieldError) error {
	e := domain.Refuse(domain.CodeInvalidRequest, "%s", message)
	if len(faults) > 0 {
		e.With("errors", faults)
	}
	return e
}

// wrongType names the field of a body of type t and what it should have been.
func wrongType(e *json.UnmarshalTypeError, t reflect.Type) error {
	expected := "must be " + jsonName(e.Type)
	if e.Field == "" {
		return badBody("the body " + expected)
	}
	field := shown(withoutEmbedded(e.Field, t))
	return badBody(field+": "+expected, domain.FieldError{Field: field, Message: expected})
}

// withoutEmbedded is a path into a type without the names of embedded structs, which are
// no fields of the body.
func withoutEmbedded(path string, t reflect.Type) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	first, rest, nested := strings.Cut(path, ".")
	if !nested || t.Kind() != reflect.Struct {
		return path
	}
	if f, ok := t.FieldByName(first); ok && f.Anonymous && f.Tag.Get("json") == "" {
		return withoutEmbedded(rest, f.Type)
	}
	if inner, ok := fieldsOf(t)[first]; ok {
		return first + "." + withoutEmbedded(rest, inner)
	}
	return path
}

// jsonName names a Go type as a client knows it.
func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number in range"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number in range, not negative"
	case reflect.Float32, reflect.Float64:
		return "a number in range"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "of another type"
}
