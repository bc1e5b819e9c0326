package gateway

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"

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

// maxFaults is how many faults one answer lists.
const maxFaults = 20

func (w *walker) fault(path, message string) {
	if len(w.faults) < maxFaults {
		w.faults = append(w.faults, domain.FieldError{Field: path, Message: message})
	}
}

// value goes over one value. A nil type is open.
func (w *walker) value(t reflect.Type, path string, depth int) {
	t = closedType(t)
	w.space()
	opening := w.data[w.pos] == '{' || w.data[w.pos] == '['
	if w.tooDeep = opening && depth >= maxNesting; w.tooDeep {
		return
	}
	switch w.data[w.pos] {
	case '{':
		w.object(t, path, depth)
	case '[':
		w.list(t, path, depth)
	case '"':
		w.text()
	default:
		w.scalar(t, depth)
	}
}

func (w *walker) object(t reflect.Type, path string, depth int) {
	seen := map[string]bool{}
	for w.pos++; w.next() != '}'; {
		key := w.text()
		at := join2(path, key)
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

// text reads a string and returns it decoded.
func (w *walker) text() string {
	start := w.pos
	for w.pos++; w.data[w.pos] != '"'; w.pos++ {
		if w.data[w.pos] == '\\' {
			w.pos++
		}
	}
	w.pos++
	quoted := w.data[start:w.pos]
	if !strings.Contains(string(quoted), `\`) {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // valid: the whole was
	return s
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
		return key
	}
	return path + "." + key
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
