package recording

import (
	"strconv"
	"strings"
	"time"

	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// Record is what was noted of a tree, ready to be played and listed.
type Record struct {
	Start

	requests []*request            // in the order in which they were asked
	at       map[string][]*request // by position
	halts    []*entry              // stops and interruptions, in order
	order    map[*entry]int        // of answers and halts
	moments  map[string][]*entry   // time, chance and refusals, by position
	loads    map[string][]*entry   // of contexts and configs
	firsts   map[string]any
	places   map[string]*value.Object
	ended    []*entry
	secrets  []string
	dates    []*entry // all times and chance, in order
	refuses  bool     // there are refusals
}

// request is one that was made, and what came of it.
type request struct {
	asked    *entry
	code     *entry // nil: it ran no custom code
	console  *entry // nil: that said nothing
	answered *entry // nil: no answer came
}

// Parse reads what Recorder.Save wrote of a tree that ended.
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
	s.Input = liveInput(s.Input)
	r := &Record{
		Start: s, at: map[string][]*request{}, order: map[*entry]int{}, moments: map[string][]*entry{}, loads: map[string][]*entry{},
		firsts: map[string]any{}, places: map[string]*value.Object{},
	}
	byID := map[uint64]*request{}
	for i, e := range all {
		r.order[e] = i
		r.index(e, byID)
	}
	return r, nil
}

// index puts an entry where it is looked for.
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
			e.value = live(e.value)
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
	case entryPlace:
		r.places[e.name], _ = e.value.(*value.Object)
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

// position is where in a tree something happens: in which execution, at which
// instruction, in which iterations. An execution keeps its id in a replay, since that
// is given to it by the call at the same position.
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

// played is a stream in a replay: its items are recorded.
type played struct{}

// LiveStream implements value.Stream.
func (played) LiveStream() {}

// liveInput makes an input what it was before it was written down.
func liveInput(in *value.Object) *value.Object {
	made := value.NewObjectSize(in.Len())
	for _, key := range in.Keys() {
		v := in.At(key)
		if _, lost := v.(variable.LostStream); lost && key == "$http" {
			v = machine.HTTP{}
		}
		made.Set(key, live(v))
	}
	return made
}

// live puts streams in the place of those that were lost when a value was written
// down. What has none is returned as it is.
func live(v any) any {
	switch v := v.(type) {
	case variable.LostStream:
		return played{}
	case []any:
		for i, item := range v { // nobody else has it yet
			v[i] = live(item)
		}
	case *value.Object:
		for _, key := range v.Keys() {
			if item := v.At(key); holdsMore(item) {
				v.Set(key, live(item))
			}
		}
	}
	return v
}

func holdsMore(v any) bool {
	switch v.(type) {
	case variable.LostStream, []any, *value.Object:
		return true
	}
	return false
}

// lasted is how long a request took, in milliseconds.
func (q *request) lasted() int64 {
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
