package recording

import (
	"strings"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/value"
)

// Recorder records one tree. A nil Recorder records nothing. Only the goroutine of the tree
// uses it.
type Recorder struct {
	limit        int // bytes, roughly
	size         int
	cut          bool // it became too large: nothing more is recorded
	turn         int
	betweenTurns bool // the tree was resumed, or has changed its config: the next turn reads again
	began        time.Time
	entries      []entry
	written      []byte // the entries before these
	asked        map[uint64]bool
	firsts       map[string]bool
}

// NewRecorder returns a Recorder of at most limit bytes.
func NewRecorder(limit int) *Recorder {
	return &Recorder{limit: limit, entries: make([]entry, 0, usualEntries)}
}

// usualEntries is how many entries a recording has at least: the start, and a scope.
const usualEntries = 2

// isActive reports whether anything is recorded.
func (r *Recorder) isActive() bool { return r != nil && !r.cut }

// Truncated reports whether the recording became too large.
func (r *Recorder) Truncated() bool { return r != nil && r.cut }

// entryWeight is what an entry takes beside its values.
const entryWeight = 96

// add adds an entry. If the recording becomes too large, all of it is discarded.
func (r *Recorder) add(e entry) {
	e.turn = r.turn
	if r.betweenTurns && (e.kind == entryView || e.kind == entryConfig) {
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

// weight returns about the size of a value as JSON, or more than is left.
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
	left := r.limit - r.size
	if spent, ok := value.SizeWithin(v, left); left >= 0 && ok {
		return spent
	}
	return r.limit + 1
}

// startWeight is about the size of what a tree starts with, without its input.
const startWeight = 1 << 10

// Start records what the tree starts with. It is encoded when the recording is saved: most are not.
func (r *Recorder) Start(s Start) {
	if r.isActive() {
		r.began = s.At
		r.size += startWeight + r.weight(object(s.Input))
		r.add(entry{kind: entryStart, load: s.encoded})
	}
}

// Turn counts a turn of the machine.
func (r *Recorder) Turn() {
	if r != nil {
		r.turn++
		r.betweenTurns = false
	}
}

// scopeWeight is about the size of the keys of a scope.
const scopeWeight = 128

// Scope records the keys of run that depend on the scope, once. load is called when the recording is saved.
func (r *Recorder) Scope(instance string, load func() *value.Object) {
	if r.isActive() && r.once(scopeKey(instance)) {
		r.size += scopeWeight
		r.add(entry{kind: entryScope, name: instance, load: func() any { return load() }})
	}
}

func scopeKey(instance string) string { return "place\x00" + instance }

func (r *Recorder) once(key string) bool {
	if r.firsts[key] {
		return false
	}
	if r.firsts == nil {
		r.firsts = map[string]bool{}
	}
	r.firsts[key] = true
	return true
}

func (r *Recorder) since(now time.Time) int64 { return now.Sub(r.began).Milliseconds() }

func (r *Recorder) setAsked(id uint64) {
	if r.asked == nil {
		r.asked = map[uint64]bool{}
	}
	r.asked[id] = true
}

// Ask records a request, unless it is repeated after an interruption.
func (r *Recorder) Ask(q machine.Request, now time.Time) {
	if !r.isActive() || r.asked[q.ID] {
		return
	}
	r.setAsked(q.ID)
	r.add(entry{
		kind: entryAsked, at: r.since(now), id: q.ID, execution: q.Execution.ID, path: q.Path, iteration: q.Iteration, name: string(q.Kind),
		value: askedValue(q), more: textOf(q.Slug), number: int64(q.Duration),
	})
}

func textOf(s string) any {
	if s == "" {
		return value.Undefined
	}
	return s
}

// askedValue returns what distinguishes a request from others of its kind.
func askedValue(q machine.Request) any {
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

// Code records the clock and the seed of the custom code that a request runs.
func (r *Recorder) Code(id uint64, clock time.Time, seed int64) {
	if r.isActive() {
		r.add(entry{kind: entryCode, id: id, value: float64(clock.UnixMilli()), number: seed})
	}
}

// Answer records the answer of a request.
func (r *Recorder) Answer(id uint64, a machine.Answer, now time.Time) {
	if !r.isActive() {
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

// Clock records a time that the automation asked for.
func (r *Recorder) Clock(x *machine.Execution, at machine.Location, now time.Time) {
	if r.isActive() {
		r.add(entry{kind: entryClock, execution: x.ID, path: at.Path, iteration: at.Iteration, number: now.UnixNano()})
	}
}

// Date records a time that the automation read as run.date.
func (r *Recorder) Date(x *machine.Execution, at machine.Location, date any) {
	if r.isActive() {
		r.add(entry{kind: entryDate, execution: x.ID, path: at.Path, iteration: at.Iteration, value: date})
	}
}

// Random records random bytes.
func (r *Recorder) Random(x *machine.Execution, at machine.Location, drawn []byte) {
	if r.isActive() {
		r.add(entry{kind: entryRandom, execution: x.ID, path: at.Path, iteration: at.Iteration, value: value.Bytes(drawn)})
	}
}

// View records a context when it was read. It is read again after a wait.
func (r *Recorder) View(kind, id string, stored *value.Object) {
	if r.isActive() {
		r.add(entry{kind: entryView, name: viewKey(kind, id), value: object(stored)})
	}
}

func viewKey(kind, id string) string { return kind + "\x00" + id }

// Config records the config of a scope when it was read.
func (r *Recorder) Config(instance string, config *value.Object) {
	if r.isActive() {
		r.add(entry{kind: entryConfig, name: instance, value: object(config)})
	}
}

// Configured records the config of a scope after the tree has changed it: the next turn sees
// it.
func (r *Recorder) Configured(instance string, config *value.Object) {
	if r.isActive() {
		was := r.betweenTurns
		r.betweenTurns = true
		r.add(entry{kind: entryConfig, name: instance, value: object(config)})
		r.betweenTurns = was
	}
}

// First records the first read of a value that does not change while the tree runs: a secret,
// a part of $workspace, a computed key.
func (r *Recorder) First(instance string, keys []string, v any) {
	if !r.isActive() {
		return
	}
	if key := firstKey(instance, keys); r.once(key) {
		r.add(entry{kind: entryFirst, name: key, value: v})
	}
}

func firstKey(instance string, keys []string) string {
	return instance + "\x00" + strings.Join(keys, "\x00")
}

// Refused records that a context could not be read or written, and why.
func (r *Recorder) Refused(x *machine.Execution, at machine.Location, what string, err error) {
	if r.isActive() {
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

// Console records what the custom code of a request wrote to its console, to be shown with the
// run. A replay executes the code again and does not need it.
func (r *Recorder) Console(id uint64, lines []string) {
	if r.isActive() && len(lines) > 0 {
		r.add(entry{kind: entryConsole, id: id, value: value.From(lines)})
	}
}

// Stop records that the tree is stopped.
func (r *Recorder) Stop(err *automation.Error) {
	if r.isActive() {
		r.add(entry{kind: entryStopped, failure: err})
	}
}

// Ended records the result of an execution.
func (r *Recorder) Ended(x *machine.Execution) {
	if r.isActive() {
		r.add(entry{kind: entryEnded, execution: x.ID, name: x.Program.Slug, value: x.Output, failure: x.Err})
	}
}

// Secrets records what reports about the recording must not show.
func (r *Recorder) Secrets(secrets []string) {
	if r.isActive() && len(secrets) > 0 {
		r.add(entry{kind: entrySecrets, value: value.From(secrets)})
	}
}

// Save encodes the recording so far: to be stored, or to be loaded where the tree is resumed.
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
		e := &r.entries[i]
		if e.load != nil {
			e.value = e.load()
		}
		r.written = appendEntry(r.written, e)
	}
	clear(r.entries)
	r.entries = r.entries[:0]
	return r.written[:len(r.written):len(r.written)]
}

// Load continues a recording that Save wrote. The Recorder must be empty, and the tree restored
// to the state of that time.
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
			r.setAsked(e.id)
		case entryFirst:
			r.once(e.name)
		case entryScope:
			r.once(scopeKey(e.name))
		}
	}
	r.add(entry{kind: entryResumed})
	r.betweenTurns = true
	return nil
}
