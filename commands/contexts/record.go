package contexts

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// record is one operation on a context as it is stored.
type record struct {
	mark    []byte    // tells repetitions
	at      time.Time // by the clock of its writer
	expires time.Time
	writes  []Write

	limit    int // bytes of the context; 0: none
	lifetime Lifetime
}

var errMalformed = errors.New("a stored context is malformed")

// mark returns a short text that tells operations with different ids apart.
func mark(id string) []byte {
	sum := sha256.Sum256([]byte(id))
	return sum[:markSize]
}

func (r record) encode() []byte {
	writes := make([]any, len(r.writes))
	for i, w := range r.writes {
		writes[i] = []any{w.Op.Encoded(), encodeTime(w.Until)}
	}
	return variable.Encode([]any{value.Bytes(r.mark), encodeTime(r.at), encodeTime(r.expires), writes, float64(r.limit), float64(r.lifetime)})
}

func decodeRecord(body []byte) (r record, err error) {
	f, err := decodeFields(body, 4, 6) // 4: from before there were limits
	if err != nil {
		return r, err
	}
	r = record{mark: f.bytes(0), at: f.time(1), expires: f.time(2)}
	if len(f.all) == 6 {
		r.limit, r.lifetime = f.count(4), Lifetime(f.count(5))
	}
	for _, item := range f.list(3) {
		pair, _ := item.([]any)
		if len(pair) != 2 {
			return r, errMalformed
		}
		op, err := variable.DecodeOp(pair[0])
		if err != nil {
			return r, fmt.Errorf("%w: %w", errMalformed, err)
		}
		r.writes = append(r.writes, Write{Op: op, Until: f.timeOf(pair[1])})
	}
	if f.failed || len(r.mark) != markSize {
		return r, errMalformed
	}
	return r, nil
}

// encode writes a state as a snapshot.
func (s state) encode() []byte {
	lifetimes := make([]any, len(s.lifetimes))
	for i, l := range s.lifetimes {
		lifetimes[i] = []any{variable.Op{Path: l.path}.Encoded(), encodeTime(l.until)}
	}
	return variable.Encode([]any{value.Bytes(s.seen), encodeTime(s.expires), s.object, lifetimes})
}

func decodeState(body []byte) (s state, err error) {
	f, err := decodeFields(body, 4)
	if err != nil {
		return s, err
	}
	object, ok := f.all[2].(*value.Object)
	s = state{object: object, size: variable.Size(object), expires: f.time(1), seen: f.bytes(0)}
	for _, item := range f.list(3) {
		pair, _ := item.([]any)
		if len(pair) != 2 {
			return s, errMalformed
		}
		at, err := variable.DecodeOp(pair[0])
		if err != nil {
			return s, fmt.Errorf("%w: %w", errMalformed, err)
		}
		s.lifetimes = append(s.lifetimes, lifetime{at.Path, f.timeOf(pair[1])})
	}
	if !ok || f.failed || len(s.seen)%markSize != 0 {
		return s, errMalformed
	}
	return s, nil
}

// Key is encoded where its context has to be found again.

func (k Key) encode() []byte { return variable.Encode([]any{k.WorkspaceID, k.Kind, k.ID}) }

func decodeKey(body []byte) (Key, error) {
	f, err := decodeFields(body, 3)
	if err != nil {
		return Key{}, err
	}
	workspace, one := f.all[0].(string)
	kind, two := f.all[1].(string)
	id, three := f.all[2].(string)
	if !one || !two || !three {
		return Key{}, errMalformed
	}
	return Key{workspace, kind, id}, nil
}

// fields are the parts of something stored. A part of another type than asked for
// makes it failed.
type fields struct {
	all    []any
	failed bool
}

func decodeFields(body []byte, numbers ...int) (*fields, error) {
	v, err := variable.Decode(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	all, _ := v.([]any)
	if !slices.Contains(numbers, len(all)) {
		return nil, errMalformed
	}
	return &fields{all: all}, nil
}

func (f *fields) bytes(i int) []byte {
	b, ok := f.all[i].(value.Bytes)
	f.failed = f.failed || !ok
	return b
}

func (f *fields) list(i int) []any {
	list, ok := f.all[i].([]any)
	f.failed = f.failed || !ok
	return list
}

// count is a number from 0 on.
func (f *fields) count(i int) int {
	n, ok := f.all[i].(float64)
	if !ok || n < 0 || n > math.MaxInt32 || n != math.Trunc(n) {
		f.failed = true
		return 0
	}
	return int(n)
}

func (f *fields) time(i int) time.Time { return f.timeOf(f.all[i]) }

func (f *fields) timeOf(v any) time.Time {
	ms, ok := v.(float64)
	f.failed = f.failed || !ok
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// encodeTime writes a time in milliseconds; 0 for the zero one.
func encodeTime(t time.Time) any {
	if t.IsZero() {
		return 0.0
	}
	return float64(t.UnixMilli())
}

// rounded is a time as it is stored, so that a state is the same before and after.
func rounded(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}
