package recording

import (
	"strings"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// Recorder notes what happens to one tree. A nil one notes nothing. It belongs to the
// goroutine of the tree.
type Recorder struct {
	limit   int // bytes, roughly
	size    int
	cut     bool // it became too large: nothing is noted any more
	turn    int
	between bool // turns, where what was read before counts no more: the tree goes on on another node
	began   time.Time
	entries []entry
	written []byte // the entries before these
	asked   map[uint64]bool
	firsts  map[string]bool
}

// NewRecorder returns a recorder that notes as much as limit allows.
func NewRecorder(limit int) *Recorder {
	return &Recorder{limit: limit, asked: map[uint64]bool{}, firsts: map[string]bool{}}
}

// on reports whether anything is to be noted.
func (r *Recorder) on() bool { return r != nil && !r.cut }

// Truncated reports whether the record became too large.
func (r *Recorder) Truncated() bool { return r != nil && r.cut }

// entryWeight is what an entry takes beside its values.
const entryWeight = 96

// add notes an entry, unless the record becomes too large: then all of it goes.
func (r *Recorder) add(e entry) {
	e.turn = r.turn
	if r.between && (e.kind == entryView || e.kind == entryConfig) {
		e.turn++ // the turn before had read it already
	}
	r.size += entryWeight + len(e.path) + len(e.name) + r.weight(e.value) + r.weight(e.more)
	if e.failure != nil {
		r.size += len(e.failure.Message) + r.weight(e.failure.Details)
	}
	if r.size > r.limit {
		*r = Recorder{cut: true, limit: r.limit}
		return
	}
	r.entries = append(r.entries, e)
}

// weight is how large a value is as JSON, or more than is left.
func (r *Recorder) weight(v any) int {
	switch v := v.(type) {
	case nil, bool, float64:
		return 8
	case string:
		return len(v)
	case *value.Object:
		if v == nil {
			return 0
		}
	}
	if value.IsUndefined(v) {
		return 0
	}
	if left := r.limit - r.size; left < 0 || !value.FitsWithin(v, left) {
		return r.limit + 1
	}
	return variable.Size(v)
}

// Start notes what the tree starts with.
func (r *Recorder) Start(s Start) {
	if r.on() {
		r.began = s.At
		r.add(entry{kind: entryStart, value: s.encoded()})
	}
}

// Turn notes that the machine takes another turn.
func (r *Recorder) Turn() {
	if r != nil {
		r.turn++
		r.between = false
	}
}

// Place notes what run says in an app instance, once.
func (r *Recorder) Place(instance string, said func() *value.Object) {
	if r.on() && r.once("place\x00"+instance) {
		r.add(entry{kind: entryPlace, name: instance, value: said()})
	}
}

func (r *Recorder) once(key string) bool {
	if r.firsts[key] {
		return false
	}
	r.firsts[key] = true
	return true
}

func (r *Recorder) since(now time.Time) int64 { return now.Sub(r.began).Milliseconds() }

// Ask notes a request. One that is asked again after an interruption is known.
func (r *Recorder) Ask(q machine.Request, now time.Time) {
	if !r.on() || r.asked[q.ID] {
		return
	}
	r.asked[q.ID] = true
	r.add(entry{
		kind: entryAsked, at: r.since(now), id: q.ID, execution: q.Execution.ID, path: q.Path, iteration: q.Iteration, name: string(q.Kind),
		value: asked(q), more: textOf(q.Slug), number: int64(q.Duration),
	})
}

func textOf(s string) any {
	if s == "" {
		return value.Undefined
	}
	return s
}

// asked is what tells a request from another of its kind.
func asked(q machine.Request) any {
	switch {
	case q.Kind == machine.Chunk:
		return q.Value
	case q.Write != nil:
		return value.NewObject("context", q.Write.Context, "op", q.Write.Op.Encoded())
	case q.Params == nil:
		return value.Undefined
	}
	return q.Params
}

// Code notes the clock and the seed of the custom code that a request runs.
func (r *Recorder) Code(id uint64, clock time.Time, seed int64) {
	if r.on() {
		r.add(entry{kind: entryCode, id: id, value: float64(clock.UnixMilli()), number: seed})
	}
}

// Answer notes what came of a request.
func (r *Recorder) Answer(id uint64, a machine.Answer, now time.Time) {
	if !r.on() {
		return
	}
	e := entry{kind: entryAnswered, at: r.since(now), id: id, value: a.Value, callee: a.ExecutionID}
	if a.Err != nil {
		e.value, e.failure = value.Undefined, automation.ErrorOf(a.Err)
	}
	if a.Program != nil {
		e.ref = a.Program.Ref
	}
	r.add(e)
}

// Clock notes a time that the automation asked for.
func (r *Recorder) Clock(x *machine.Execution, at machine.Place, now time.Time) {
	if r.on() {
		r.add(entry{kind: entryClock, execution: x.ID, path: at.Path, iteration: at.Iteration, number: now.UnixNano()})
	}
}

// Date notes a time that the automation read as run.date.
func (r *Recorder) Date(x *machine.Execution, at machine.Place, date any) {
	if r.on() {
		r.add(entry{kind: entryDate, execution: x.ID, path: at.Path, iteration: at.Iteration, value: date})
	}
}

// Random notes what was drawn.
func (r *Recorder) Random(x *machine.Execution, at machine.Place, drawn []byte) {
	if r.on() {
		r.add(entry{kind: entryRandom, execution: x.ID, path: at.Path, iteration: at.Iteration, value: value.Bytes(drawn)})
	}
}

// View notes a context as it was read. It is read again after the tree has waited.
func (r *Recorder) View(kind, id string, stored *value.Object) {
	if r.on() {
		r.add(entry{kind: entryView, name: viewKey(kind, id), value: object(stored)})
	}
}

func viewKey(kind, id string) string { return kind + "\x00" + id }

// Config notes the config of a place as it was read.
func (r *Recorder) Config(instance string, config *value.Object) {
	if r.on() {
		r.add(entry{kind: entryConfig, name: instance, value: object(config)})
	}
}

// Configured notes the config of a place as the tree has changed it since its last
// turn: the next one sees it.
func (r *Recorder) Configured(instance string, config *value.Object) {
	if r.on() {
		was := r.between
		r.between = true
		r.add(entry{kind: entryConfig, name: instance, value: object(config)})
		r.between = was
	}
}

// First notes a value that stays the same as long as the tree runs, when it is first
// read: a secret, a part of $workspace, something that the platform says.
func (r *Recorder) First(instance string, keys []string, v any) {
	if !r.on() {
		return
	}
	if key := firstKey(instance, keys); r.once(key) {
		r.add(entry{kind: entryFirst, name: key, value: v})
	}
}

func firstKey(instance string, keys []string) string {
	return instance + "\x00" + strings.Join(keys, "\x00")
}

// Refused notes that a context could not be read or written, and why.
func (r *Recorder) Refused(x *machine.Execution, at machine.Place, what string, err error) {
	if r.on() {
		r.add(entry{
			kind: entryRefused, execution: x.ID, path: at.Path, iteration: at.Iteration, name: what, failure: automation.ErrorOf(err),
		})
	}
}

// Writing names a write for Refused.
func Writing(w machine.Write) string {
	name := "write " + w.Context
	for _, step := range w.Op.Path {
		name += "\x00" + step.Key
	}
	return name
}

// Reading names a read for Refused.
func Reading(keys []string) string { return "read " + strings.Join(keys, "\x00") }

// Console notes what the custom code of a request said, for who looks at the run: a
// replay executes the code again, and does not ask.
func (r *Recorder) Console(id uint64, lines []string) {
	if r.on() && len(lines) > 0 {
		r.add(entry{kind: entryConsole, id: id, value: value.From(lines)})
	}
}

// Stop notes that the tree is stopped.
func (r *Recorder) Stop(err *automation.Error) {
	if r.on() {
		r.add(entry{kind: entryStopped, failure: err})
	}
}

// Ended notes what an execution came to.
func (r *Recorder) Ended(x *machine.Execution) {
	if r.on() {
		r.add(entry{kind: entryEnded, execution: x.ID, name: x.Program.Slug, value: x.Output, failure: x.Err})
	}
}

// Secrets notes what reports about the record must not tell.
func (r *Recorder) Secrets(secrets []string) {
	if r.on() && len(secrets) > 0 {
		r.add(entry{kind: entrySecrets, value: value.From(secrets)})
	}
}

// Save writes the record so far: to be kept, or to be loaded where the tree goes on.
// It is nil for a nil Recorder.
func (r *Recorder) Save() []byte {
	if r == nil {
		return nil
	}
	if r.cut {
		return appendEntry(nil, &entry{kind: entryCut})
	}
	if n := len(r.entries); n == 0 || r.entries[n-1].turn < r.turn {
		r.add(entry{kind: entryMark})
	}
	for i := range r.entries {
		r.written = appendEntry(r.written, &r.entries[i])
	}
	clear(r.entries)
	r.entries = r.entries[:0]
	return r.written[:len(r.written):len(r.written)]
}

// Load goes on with what Save wrote, in a recorder that has noted nothing: the tree
// was brought to where it stood then.
func (r *Recorder) Load(saved []byte) error {
	if r == nil {
		return nil
	}
	all, err := readEntries(saved)
	if err != nil {
		return err
	}
	if len(all) == 0 || all[0].kind != entryStart { // it was cut, or nothing was recorded at first
		*r = Recorder{cut: true, limit: r.limit}
		return nil
	}
	s, ok := startOf(all[0].value)
	if !ok {
		return errRecord
	}
	r.began, r.size, r.written = s.At, len(saved), saved
	for _, e := range all {
		r.turn = max(r.turn, e.turn)
		switch e.kind {
		case entryAsked:
			r.asked[e.id] = true
		case entryFirst:
			r.firsts[e.name] = true
		case entryPlace:
			r.firsts["place\x00"+e.name] = true
		}
	}
	r.add(entry{kind: entryResumed})
	r.between = true
	return nil
}
