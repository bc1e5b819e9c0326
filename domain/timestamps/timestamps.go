// Package timestamps writes the times of JSON texts in one form: UTC, with milliseconds.
// encoding/json writes as many digits as a time.Time has, and its own offset.
package timestamps

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

	"svc/domain"
)

// plan says where a type has times. Nil: nowhere.
type plan struct {
	isTime bool
	fields map[string]*plan // of a struct, by their names in JSON
	each   *plan            // of the elements of a list or a map
}

var plans sync.Map // reflect.Type -> *plan

var (
	timeType      = reflect.TypeFor[time.Time]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
	textType      = reflect.TypeFor[encoding.TextMarshaler]()
)

// Normalize returns the JSON text of a value of type t with every time.Time of it as UTC
// with milliseconds. What lies behind an interface, or writes itself, is left as it is, and
// so is every text that only looks like a time.
func Normalize(t reflect.Type, text []byte) []byte {
	if t == nil {
		return text
	}
	known, ok := plans.Load(t)
	if !ok {
		known, _ = plans.LoadOrStore(t, planOf(t, nil))
	}
	p, _ := known.(*plan)
	if p == nil {
		return text
	}
	out, err := p.write(text)
	if err != nil {
		return text // it is not of that type
	}
	return out
}

// planOf finds the times of a type. Types that contain themselves are followed once.
func planOf(t reflect.Type, within []reflect.Type) *plan {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == timeType {
		return &plan{isTime: true}
	}
	for _, outer := range within {
		if outer == t {
			return nil
		}
	}
	if t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType) || t.Implements(textType) {
		return nil
	}
	within = append(within[:len(within):len(within)], t)
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		if each := planOf(t.Elem(), within); each != nil {
			return &plan{each: each}
		}
	case reflect.Struct:
		fields := map[string]*plan{}
		for i := range t.NumField() {
			addField(fields, t.Field(i), within)
		}
		if len(fields) > 0 {
			return &plan{fields: fields}
		}
	}
	return nil
}

// addField adds what a field of a struct has, under its name in JSON.
func addField(fields map[string]*plan, f reflect.StructField, within []reflect.Type) {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" || !f.IsExported() && !f.Anonymous {
		return
	}
	p := planOf(f.Type, within)
	if p == nil {
		return
	}
	if f.Anonymous && name == "" && p.fields != nil {
		for inner, q := range p.fields {
			if _, own := fields[inner]; !own {
				fields[inner] = q
			}
		}
		return
	}
	if name == "" {
		name = f.Name
	}
	fields[name] = p
}

// write returns text with its times in one form. The order of members stays.
func (p *plan) write(text []byte) ([]byte, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] == 'n' {
		return text, nil
	}
	if p.isTime {
		var t time.Time
		if err := json.Unmarshal(text, &t); err != nil {
			return nil, err
		}
		return []byte(`"` + domain.FormatTime(t) + `"`), nil
	}
	in := json.NewDecoder(bytes.NewReader(text))
	open, err := in.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := open.(json.Delim)
	if !ok {
		return nil, errors.New("neither an object nor a list")
	}
	var out bytes.Buffer
	isObject := delim == '{'
	out.WriteString(delim.String())
	for first := true; in.More(); first = false {
		if !first {
			out.WriteByte(',')
		}
		inner := p.each
		if isObject {
			key, err := in.Token()
			if err != nil {
				return nil, err
			}
			name, err := json.Marshal(key)
			if err != nil {
				return nil, err
			}
			out.Write(name)
			out.WriteByte(':')
			if p.fields != nil {
				inner = p.fields[key.(string)]
			}
		}
		var member json.RawMessage
		if err := in.Decode(&member); err != nil {
			return nil, err
		}
		if inner != nil {
			if member, err = inner.write(member); err != nil {
				return nil, err
			}
		}
		out.Write(member)
	}
	if isObject {
		out.WriteByte('}')
	} else {
		out.WriteByte(']')
	}
	return out.Bytes(), nil
}
