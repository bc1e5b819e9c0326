package recording

import (
	"strings"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

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
