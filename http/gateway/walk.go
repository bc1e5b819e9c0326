package gateway

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"svc/domain"
)

// walker goes over JSON that is known to be valid, beside the type it will be
// decoded into, and notes the keys that are unknown or doubled. encoding/json
// would accept the latter, and name the former without its path.
type walker struct {
	data    []byte
	pos     int
	faults  []domain.FieldError
	tooDeep bool
}

// The bounds of what one answer says about faults.
const (
	maxFaults = 20  // listed
	maxShown  = 100 // characters of a name that the client chose
)

func (w *walker) fault(path, message string) {
	if len(w.faults) < maxFaults {
		w.faults = append(w.faults, domain.FieldError{Field: shown(path), Message: message})
	}
}

// shown is a name that the client chose, cut to a length that can be shown.
func shown(name string) string {
	if len(name) <= maxShown {
		return name
	}
	n := 0
	for at := range name {
		if n++; n > maxShown {
			return name[:at] + "…"
		}
	}
	return name
}

// value goes over one value. A nil type is open.
func (w *walker) value(t reflect.Type, path string, depth int) {
	t = closedType(t)
	w.space()
	opening := w.data[w.pos] == '{' || w.data[w.pos] == '['
	if w.tooDeep = opening && depth >= maxNesting; w.tooDeep {
		w.faults = []domain.FieldError{{Field: shown(path), Message: "is nested too deeply"}}
		return
	}
	switch w.data[w.pos] {
	case '{':
		w.object(t, path, depth)
	case '[':
		w.list(t, path, depth)
	case '"':
		if _, whole := w.text(); !whole {
			w.fault(cmp.Or(path, "body"), unpaired)
		}
	default:
		w.scalar(t, depth)
	}
}

func (w *walker) object(t reflect.Type, path string, depth int) {
	seen := map[string]bool{}
	for w.pos++; w.next() != '}'; {
		key, whole := w.text()
		at := join2(path, key)
		if !whole {
			w.fault(at, unpaired)
		}
		if seen[key] {
			w.fault(at, "given twice")
		}
		seen[key] = true
		w.next() // the colon
		w.value(w.member(t, key, at), at, depth+1)
		if w.tooDeep {
			return
		}
	}
	w.pos++
}

// member returns the type of a key of an object of type t, and notes a key
// that t does not have.
func (w *walker) member(t reflect.Type, key, path string) reflect.Type {
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		field, ok := fieldsOf(t)[key]
		if !ok {
			w.fault(path, "unknown field")
		}
		return field
	}
	return nil
}

func (w *walker) list(t reflect.Type, path string, depth int) {
	var element reflect.Type
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		element = t.Elem()
	}
	w.pos++
	for i := 0; w.next() != ']'; i++ {
		w.value(element, path+"["+strconv.Itoa(i)+"]", depth+1)
		if w.tooDeep {
			return
		}
	}
	w.pos++
}

// scalar skips a number, true, false or null. A body that is null is not the
// object it should be.
func (w *walker) scalar(t reflect.Type, depth int) {
	if depth == 0 && t != nil && w.data[w.pos] == 'n' {
		w.fault("body", "must be "+jsonName(t))
	}
	for w.pos < len(w.data) && !strings.ContainsRune(" \t\r\n,]}", rune(w.data[w.pos])) {
		w.pos++
	}
}

// unpaired is the fault of a text that no UTF-8 can hold.
const unpaired = "has an unpaired surrogate"

// text reads a string and returns it decoded, and whether it can be.
func (w *walker) text() (s string, whole bool) {
	start := w.pos
	for w.pos++; w.data[w.pos] != '"'; w.pos++ {
		if w.data[w.pos] == '\\' {
			w.pos++
		}
	}
	w.pos++
	quoted := w.data[start:w.pos]
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), true
	}
	_ = json.Unmarshal(quoted, &s) // valid: the whole was
	return s, isPaired(quoted)
}

// isPaired reports whether each half of a surrogate pair in a quoted string has
// the other.
func isPaired(quoted []byte) bool {
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		if i++; quoted[i] != 'u' {
			continue
		}
		first := unit(quoted[i-1:])
		if i += 4; !utf16.IsSurrogate(first) {
			continue
		}
		if utf16.DecodeRune(first, unit(quoted[i+1:])) == utf8.RuneError {
			return false
		}
		i += 6
	}
	return true
}

// unit is the number of a \u escape with its four digits at the beginning of b, or -1.
func unit(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// next skips space, commas and colons and returns what follows.
func (w *walker) next() byte {
	for strings.IndexByte(" \t\r\n,:", w.data[w.pos]) >= 0 {
		w.pos++
	}
	return w.data[w.pos]
}

func (w *walker) space() {
	for strings.IndexByte(" \t\r\n", w.data[w.pos]) >= 0 {
		w.pos++
	}
}

func join2(path, key string) string {
	if path == "" {
		return shown(key)
	}
	return path + "." + shown(key)
}

var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// closedType returns what a value is checked against: t behind its pointers,
// or nil for what decodes itself or takes anything.
func closedType(t reflect.Type) reflect.Type {
	for t != nil {
		if ptr := reflect.PointerTo(t); ptr.Implements(jsonDecoder) || ptr.Implements(textDecoder) {
			return nil
		}
		if t.Kind() != reflect.Pointer {
			break
		}
		t = t.Elem()
	}
	if t == nil || t.Kind() == reflect.Interface {
		return nil
	}
	return t
}

// knownFields remembers fieldsOf: the types are those of the handlers, few.
var knownFields sync.Map

// fieldsOf lists the JSON fields of a struct, those of embedded ones included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := knownFields.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || f.Anonymous && name == "" || !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		fields[name] = f.Type
	}
	knownFields.Store(t, fields)
	return fields
}
