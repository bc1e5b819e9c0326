package recording

import (
	"encoding/binary"
	"errors"
	"fmt"

	"svc/domain/automation"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// entryKind says what an entry of a record tells. The names are stored.
type entryKind string

const (
	entryStart    entryKind = "start"    // what the tree started with
	entryPlace    entryKind = "place"    // where programs live: an app instance
	entryAsked    entryKind = "asked"    // a request
	entryCode     entryKind = "code"     // clock and seed of the custom code of a request
	entryConsole  entryKind = "console"  // what that code said
	entryAnswered entryKind = "answered" // what came of a request
	entryClock    entryKind = "clock"
	entryDate     entryKind = "date" // run.date
	entryRandom   entryKind = "random"
	entryView     entryKind = "view"    // a context when it was read
	entryConfig   entryKind = "config"  // the config of a place when it was read
	entryFirst    entryKind = "first"   // the first value of something that does not change
	entryRefused  entryKind = "refused" // an error of reading or writing a context
	entryStopped  entryKind = "stopped"
	entryResumed  entryKind = "resumed" // another node went on with the tree
	entryEnded    entryKind = "ended"   // an execution
	entrySecrets  entryKind = "secrets" // what reports must not tell
	entryMark     entryKind = "mark"    // of the turn in which the record was saved
	entryCut      entryKind = "cut"     // the record is too large: this is all of it
)

// entry is one thing that a record tells. Which fields count depends on the kind.
type entry struct {
	kind entryKind
	turn int   // of the machine
	at   int64 // milliseconds since the record began

	id        uint64 // of a request
	execution string
	path      string
	iteration []int

	name    string // kind of a request, key of what was read, slug
	value   any
	more    any // second value: the parameters of a request beside its slug
	ref     string
	callee  string // execution that a call started
	number  int64
	failure *automation.Error
}

// recordVersion is the first thing that a record says.
const recordVersion = 1

var errRecord = errors.New("recording: the record does not fit")

// appendEntry writes an entry behind others.
func appendEntry(to []byte, e *entry) []byte {
	o := value.NewObject("k", string(e.kind), "t", float64(e.turn), "a", float64(e.at))
	if e.id != 0 {
		o.Set("i", float64(e.id))
	}
	for _, text := range [...]struct{ key, text string }{
		{"x", e.execution}, {"p", e.path}, {"n", e.name}, {"r", e.ref}, {"c", e.callee},
	} {
		if text.text != "" {
			o.Set(text.key, text.text)
		}
	}
	if len(e.iteration) > 0 {
		o.Set("l", numbers(e.iteration))
	}
	if e.number != 0 {
		o.Set("s", value.Bytes(binary.LittleEndian.AppendUint64(nil, uint64(e.number)))) //nolint:gosec // the same bits
	}
	o.Set("v", []any{e.value, e.more})
	if e.failure != nil {
		o.Set("e", failureValue(e.failure))
	}
	body := variable.Encode(o)
	to = binary.AppendUvarint(to, uint64(len(body)))
	return append(to, body...)
}

func numbers(list []int) []any {
	all := make([]any, len(list))
	for i, n := range list {
		all[i] = float64(n)
	}
	return all
}

// readEntries reads what appendEntry wrote.
func readEntries(body []byte) ([]*entry, error) {
	var all []*entry
	for len(body) > 0 {
		size, n := binary.Uvarint(body)
		if n <= 0 || size > uint64(len(body)-n) {
			return nil, errRecord
		}
		v, err := variable.Decode(body[n : n+int(size)]) //nolint:gosec // it is within body
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errRecord, err)
		}
		e := entryOf(v)
		if e.kind == "" {
			return nil, errRecord
		}
		all = append(all, e)
		body = body[n+int(size):] //nolint:gosec // as above
	}
	return all, nil
}

func entryOf(v any) *entry {
	text := func(key string) string { s, _ := value.At(v, key).(string); return s }
	number := func(key string) float64 { n, _ := value.At(v, key).(float64); return n }
	e := &entry{
		kind: entryKind(text("k")), turn: int(number("t")), at: int64(number("a")), id: uint64(max(number("i"), 0)), execution: text("x"),
		path: text("p"), name: text("n"), ref: text("r"), callee: text("c"), value: value.Undefined, more: value.Undefined,
	}
	list, _ := value.At(v, "l").([]any)
	for _, item := range list {
		n, _ := item.(float64)
		e.iteration = append(e.iteration, int(n))
	}
	if bits, ok := value.At(v, "s").(value.Bytes); ok && len(bits) == 8 {
		e.number = int64(binary.LittleEndian.Uint64(bits)) //nolint:gosec // the same bits
	}
	if pair, ok := value.At(v, "v").([]any); ok && len(pair) == 2 {
		e.value, e.more = pair[0], pair[1]
	}
	e.failure = failureOf(value.At(v, "e"))
	return e
}

func failureValue(err *automation.Error) any {
	o := value.NewObject("name", err.Name, "message", err.Message, "document", err.Document, "instruction", err.Instruction)
	if err.Details != nil {
		o.Set("details", err.Details)
	}
	return o
}

func failureOf(v any) *automation.Error {
	o, ok := v.(*value.Object)
	if !ok {
		return nil
	}
	text := func(key string) string { s, _ := o.At(key).(string); return s }
	err := &automation.Error{Name: text("name"), Message: text("message"), Document: text("document"), Instruction: text("instruction")}
	err.Details, _ = o.At("details").(*value.Object)
	return err
}
