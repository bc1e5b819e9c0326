package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// Record is the recording of a tree, ready to be replayed and listed.
type Record struct {
	Start

	requests []*request            // in the order in which they were asked
	at       map[string][]*request // by position
	halts    []*entry              // stops and interruptions, in order
	order    map[*entry]int        // of answers and halts
	moments  map[string][]*entry   // times, random bytes and refusals, by position
	loads    map[string][]*entry   // of contexts and configs
	firsts   map[string]any
	scopes   map[string]*value.Object
	ended    []*entry
	secrets  []string
	dates    []*entry // all times and random bytes, in order
	refuses  bool     // there are refusals
}

// request is a request that was made, and its answer.
type request struct {
	asked    *entry
	code     *entry // nil: it ran no custom code
	console  *entry // nil: it wrote nothing to its console
	answered *entry // nil: no answer came
}

// effect says how the request is listed and compared.
func (q *request) effect() *automation.Effect { return machine.EffectOf(machine.Kind(q.asked.name)) }

// Parse reads what Recorder.Save wrote about a tree that has ended.
func Parse(body []byte) (*Record, error) {
	all, err := readEntries(body)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 || all[0].kind != entryStart {
		return nil, errRecord
	}
	s, ok := startOf(all[0].value)
	if !ok {
		return nil, errRecord
	}
	s.Input = inputWithStreams(s.Input)
	r := &Record{
		Start: s, at: map[string][]*request{}, order: map[*entry]int{}, moments: map[string][]*entry{}, loads: map[string][]*entry{},
		firsts: map[string]any{}, scopes: map[string]*value.Object{},
	}
	byID := map[uint64]*request{}
	for i, e := range all {
		r.order[e] = i
		r.index(e, byID)
	}
	return r, nil
}

// index adds an entry to the maps that it is searched in.
func (r *Record) index(e *entry, byID map[uint64]*request) {
	switch e.kind {
	case entryAsked:
		q := &request{asked: e}
		byID[e.id] = q
		key := position(e.name, e.execution, e.path, e.iteration)
		r.requests, r.at[key] = append(r.requests, q), append(r.at[key], q)
	case entryCode:
		if q := byID[e.id]; q != nil {
			q.code = e
		}
	case entryConsole:
		if q := byID[e.id]; q != nil {
			q.console = e
		}
	case entryAnswered:
		if q := byID[e.id]; q != nil && q.answered == nil {
			e.value = withStreams(e.value)
			q.answered = e
		}
	case entryClock, entryDate, entryRandom, entryRefused:
		r.moments[momentKey(e)] = append(r.moments[momentKey(e)], e)
		if e.kind == entryRefused {
			r.refuses = true
		} else {
			r.dates = append(r.dates, e)
		}
	case entryView, entryConfig:
		key := string(e.kind) + "\x00" + e.name
		r.loads[key] = append(r.loads[key], e)
	case entryFirst:
		r.firsts[e.name] = e.value
	case entryScope:
		r.scopes[e.name], _ = e.value.(*value.Object)
	case entryStopped, entryResumed:
		r.halts = append(r.halts, e)
	case entryEnded:
		r.ended = append(r.ended, e)
	case entrySecrets:
		list, _ := e.value.([]any)
		for _, secret := range list {
			r.secrets = append(r.secrets, value.Text(secret))
		}
	}
}

func momentKey(e *entry) string {
	return position(string(e.kind)+"\x00"+e.name, e.execution, e.path, e.iteration)
}

// position identifies where in a tree something happens: execution, instruction and
// iterations. An execution has the same id in a replay, because the recorded answer of its
// call contains it.
func position(kind, execution, path string, iteration []int) string {
	var b strings.Builder
	b.Grow(len(kind) + len(execution) + len(path) + 4 + 4*len(iteration))
	b.WriteString(kind)
	b.WriteByte(1)
	b.WriteString(execution)
	b.WriteByte(1)
	b.WriteString(path)
	for _, n := range iteration {
		b.WriteByte(1)
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// recordedStream is a stream in a replay: its items are recorded.
type recordedStream struct{}

// LiveStream implements value.Stream.
func (recordedStream) LiveStream() {}

// inputWithStreams returns an input as it was before it was encoded.
func inputWithStreams(in *value.Object) *value.Object {
	result := value.NewObjectSize(in.Len())
	for _, key := range in.Keys() {
		v := in.At(key)
		if _, lost := v.(variable.LostStream); lost && key == "$http" {
			v = machine.HTTP{}
		}
		result.Set(key, withStreams(v))
	}
	return result
}

// withStreams replaces streams that were lost when a value was encoded. It changes the value.
func withStreams(v any) any {
	switch v := v.(type) {
	case variable.LostStream:
		return recordedStream{}
	case []any:
		for i, item := range v { // it was just decoded
			v[i] = withStreams(item)
		}
	case *value.Object:
		for _, key := range v.Keys() {
			if item := v.At(key); mayContainStream(item) {
				v.Set(key, withStreams(item))
			}
		}
	}
	return v
}

func mayContainStream(v any) bool {
	switch v.(type) {
	case variable.LostStream, []any, *value.Object:
		return true
	}
	return false
}

// duration returns how long a request took, in milliseconds.
func (q *request) duration() int64 {
	if q.answered == nil {
		return 0
	}
	return max(0, q.answered.at-q.asked.at)
}

func (s *Start) zone() *time.Location {
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// entryKind is the kind of an entry of a recording. The names are stored.
type entryKind string

const (
	entryStart    entryKind = "start"    // what the tree started with
	entryScope    entryKind = "place"    // the scope of programs: an app instance
	entryAsked    entryKind = "asked"    // a request
	entryCode     entryKind = "code"     // clock and seed of the custom code of a request
	entryConsole  entryKind = "console"  // what that code wrote to its console
	entryAnswered entryKind = "answered" // the answer of a request
	entryClock    entryKind = "clock"
	entryDate     entryKind = "date" // run.date
	entryRandom   entryKind = "random"
	entryView     entryKind = "view"    // a context when it was read
	entryConfig   entryKind = "config"  // the config of a scope when it was read
	entryFirst    entryKind = "first"   // the first value of something that does not change
	entryRefused  entryKind = "refused" // an error of reading or writing a context
	entryStopped  entryKind = "stopped"
	entryResumed  entryKind = "resumed" // another node resumed the tree
	entryEnded    entryKind = "ended"   // an execution
	entrySecrets  entryKind = "secrets" // what reports must not show
	entryMark     entryKind = "mark"    // of the turn in which the recording was saved
	entryCut      entryKind = "cut"     // the recording is too large: there is no other entry
)

// entry is one entry of a recording. Its kind decides which fields it has.
type entry struct {
	kind entryKind
	turn int   // of the machine
	at   int64 // milliseconds since the recording began

	id        uint64 // of a request
	execution string
	path      string
	iteration []int

	name    string // kind of a request, key of what was read, slug
	value   any
	load    func() any // returns the value when it is saved; nil: it is there already
	more    any        // second value: the parameters of a request beside its slug
	ref     string
	callee  string // execution that a call started
	number  int64
	failure *automation.Error
}

// recordVersion is the version of the format, at the beginning of a recording.
const recordVersion = 1

var errRecord = errors.New("recording: the format is not known")

// appendEntry encodes an entry behind others.
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

// Start is what a tree started with.
type Start struct {
	WorkspaceID   string
	CorrelationID string
	ExecutionID   string // of its first execution
	Ref           string // of the document of that
	Slug          string
	Revision      uint64 // of the content and the config of the workspace
	Depth         int
	Trigger       *value.Object
	Input         *value.Object
	At            time.Time

	UserID, SessionID, SocketID string
	// Run and User are the computed keys of run and user, without the time.
	Run, User *value.Object
	// Keys are the names of the computed keys of each context, in order.
	Keys *value.Object
	// Complete sets the fields that take work, when the recording is saved; nil: all are set.
	Complete func(*Start)

	// What the interpreter runs with.
	MaxDepth, LocalLimit       int
	MaxWait, Wait, CodeTimeout time.Duration
	Locale, Zone               string
}

func (s Start) encoded() any {
	if s.Complete != nil {
		s.Complete(&s)
	}
	return value.NewObject(
		"version", float64(recordVersion), "workspaceId", s.WorkspaceID, "correlationId", s.CorrelationID, "executionId", s.ExecutionID,
		"ref", s.Ref, "slug", s.Slug, "revision", float64(s.Revision), "depth", float64(s.Depth), "trigger", object(s.Trigger),
		"input", object(s.Input), "at", float64(s.At.UnixMilli()), "userId", s.UserID, "sessionId", s.SessionID, "socketId", s.SocketID,
		"run", object(s.Run), "user", object(s.User), "keys", object(s.Keys), "maxDepth", float64(s.MaxDepth),
		"local", float64(s.LocalLimit), "maxWait", float64(s.MaxWait), "wait", float64(s.Wait), "code", float64(s.CodeTimeout),
		"locale", s.Locale, "zone", s.Zone,
	)
}

func object(o *value.Object) *value.Object {
	if o == nil {
		return &value.Object{}
	}
	return o
}

func startOf(v any) (Start, bool) {
	text := func(key string) string { s, _ := value.At(v, key).(string); return s }
	number := func(key string) float64 { n, _ := value.At(v, key).(float64); return n }
	within := func(key string) *value.Object { o, _ := value.At(v, key).(*value.Object); return object(o) }
	s := Start{
		WorkspaceID: text("workspaceId"), CorrelationID: text("correlationId"), ExecutionID: text("executionId"), Ref: text("ref"),
		Slug: text("slug"), Revision: uint64(max(number("revision"), 0)), Depth: int(number("depth")), Trigger: within("trigger"),
		Input: within("input"), At: time.UnixMilli(int64(number("at"))).UTC(), UserID: text("userId"), SessionID: text("sessionId"),
		SocketID: text("socketId"), Run: within("run"), User: within("user"), Keys: within("keys"), MaxDepth: int(number("maxDepth")),
		LocalLimit: int(number("local")), MaxWait: time.Duration(number("maxWait")), Wait: time.Duration(number("wait")),
		CodeTimeout: time.Duration(number("code")), Locale: text("locale"), Zone: text("zone"),
	}
	return s, number("version") == recordVersion
}
