package recording

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/redact"
	"svc/domain/automation/value"
)

// Step is an instruction that was executed, as a run is shown.
type Step struct {
	N           int             `json:"n"` // in the order in which they began, in their tree
	Instruction string          `json:"instruction"`
	Iteration   []int           `json:"iteration,omitempty"` // of the loops around it, the outermost first
	Input       json.RawMessage `json:"input,omitempty"`     // its parameters, the first 2 kB
	Result      json.RawMessage `json:"result,omitempty"`    // the first 2 kB
	Error       string          `json:"error,omitempty"`     // name and message
	At          string          `json:"at"`
	Duration    int64           `json:"duration"` // ms
}

// Bounds of the steps of a run that are shown: how many, what is shown of a value in bytes,
// and how long they are looked for.
const (
	maxSteps     = 2000
	maxStepValue = 2 << 10
	maxStepTime  = 2 * time.Second
)

// stepTime is the form of the time of a step.
const stepTime = "2006-01-02T15:04:05.000Z"

// errEnoughSteps ends a replay that was only for its steps.
var errEnoughSteps = errors.New("there are enough steps")

// tracer notes the steps of a replay. Time passes in it as it is recorded: with each answer.
type tracer struct {
	record  *Record
	secrets *redact.Set
	left    int // steps that are still noted
	count   int
	now     int64 // ms since the record began
	steps   map[string][]*Step
	open    map[string]*tracedStep // the last of each position
}

// tracedStep is a step that has not ended.
type tracedStep struct {
	*Step
	began int64
}

// Steps returns what each execution did, instruction by instruction, without secrets: the
// record is played, with nothing leaving and no custom code executed. No more than most are
// looked at; all is false when there are more, or it took too long.
func (r *Record) Steps(ctx context.Context, find func(context.Context, string) (*machine.Program, error), known *redact.Set, most int) (steps map[string][]*Step, all bool) {
	secrets := known.Clone()
	secrets.Add(r.secrets...)
	secrets.Add(r.credentials()...)
	t := &tracer{record: r, secrets: secrets, left: most, steps: map[string][]*Step{}, open: map[string]*tracedStep{}}
	p := newPlayer(ctx, r, func(ref string) (*machine.Program, error) { return find(ctx, ref) }, Options{Document: Recorded})
	p.tracer = t
	err := p.playAll()
	return t.steps, err == nil
}

// credentials are those that the trigger came with, and that requests were sent with: events do
// not tell them, and steps do not either.
func (r *Record) credentials() (all []string) {
	add := func(texts ...string) {
		for _, text := range texts {
			if text != "" && len(all) < maxCredentials {
				all = append(all, text)
			}
		}
	}
	add(automation.HeaderCredentials(value.At(r.Input, "headers"))...)
	for _, q := range r.requests {
		if credentials := q.effect().Credentials; credentials != nil {
			params, _ := q.asked.value.(*value.Object)
			add(credentials(params)...)
		}
	}
	return all
}

// maxCredentials is how many credentials of a record are looked for in its steps.
const maxCredentials = 1000

func (t *tracer) full() bool { return t.left <= 0 }

// passed notes that an answer is handed over: it is as late as that came.
func (t *tracer) passed(answered *entry) {
	if t != nil && answered != nil {
		t.now = max(t.now, answered.at)
	}
}

// Begin implements machine.Trace.
func (t *tracer) Begin(x *machine.Execution, at machine.Place, name string, input any) {
	if t.left--; t.left < 0 {
		return
	}
	if params, ok := input.(*value.Object); ok {
		input = shownParams(automation.EffectOf(name), params)
	}
	t.count++
	s := &Step{
		N: t.count, Instruction: at.Path, Iteration: at.Iteration, Input: t.shown(input), At: t.record.At.Add(time.Duration(t.now) * time.Millisecond).UTC().Format(stepTime),
	}
	t.steps[x.ID] = append(t.steps[x.ID], s)
	t.open[position("", x.ID, at.Path, at.Iteration)] = &tracedStep{s, t.now}
}

// End implements machine.Trace.
func (t *tracer) End(x *machine.Execution, at machine.Place, result any, err *automation.Error) {
	key := position("", x.ID, at.Path, at.Iteration)
	s := t.open[key]
	if s == nil {
		return
	}
	delete(t.open, key)
	s.Result, s.Duration = t.shown(result), t.now-s.began
	if err != nil {
		s.Error = t.text(err.Name+": "+err.Message, maxStepValue)
	}
}

// shown is the beginning of a value, without secrets; nil for nothing.
func (t *tracer) shown(v any) json.RawMessage {
	left := maxStepValue
	if v = t.cut(v, &left); value.IsUndefined(v) {
		return nil
	}
	return json.RawMessage(value.JSON(v, ""))
}

// cutMark stands where something was cut off.
const cutMark = "…"

// cut copies as much of a value as there is room for. Lists and objects that go on end with
// a mark.
func (t *tracer) cut(v any, left *int) any {
	switch v := v.(type) {
	case string:
		text := t.text(v, max(*left, 0))
		*left -= len(text)
		return text
	case value.Bytes:
		return t.cut(value.Text(v[:min(len(v), maxStepValue)]), left)
	case []any:
		made := []any{}
		for _, item := range v {
			if *left <= 0 {
				return append(made, cutMark)
			}
			*left--
			made = append(made, t.cut(item, left))
		}
		return made
	case *value.Object:
		made := &value.Object{}
		for _, key := range v.Keys() {
			if *left <= 0 {
				made.Set(cutMark, true)
				break
			}
			name := t.text(key, max(*left, 0))
			*left -= len(name)
			made.Set(name, t.cut(v.At(key), left))
		}
		return made
	case value.Stream:
		return value.Undefined
	}
	*left -= 8
	return v
}

// text is the beginning of a text, without secrets, nor the beginning of one.
func (t *tracer) text(text string, most int) string {
	if len(text) <= most {
		return t.secrets.Text(text)
	}
	return t.secrets.RedactCut(strings.ToValidUTF8(text[:most], "")) + cutMark
}

// maxChunks bounds the chunks of a run that are shown, and maxChunkBytes all of them.
const (
	maxChunks     = 1000
	maxChunkBytes = 1 << 20
)

// Chunks returns what was sent to the caller of the endpoint piece by piece, without secrets;
// all is false when there is more.
func (r *Record) Chunks(known *redact.Set) (chunks []json.RawMessage, all bool) {
	secrets := known.Clone()
	secrets.Add(r.secrets...)
	size := 0
	for _, q := range r.requests {
		if q.asked.name != string(machine.Chunk) || q.answered == nil || q.answered.failure != nil {
			continue
		}
		if len(chunks) == maxChunks || size > maxChunkBytes || !value.FitsWithin(q.asked.value, maxChunkBytes) {
			return chunks, false
		}
		chunk := json.RawMessage(value.JSON(secrets.Value(q.asked.value), ""))
		chunks, size = append(chunks, chunk), size+len(chunk)
	}
	return chunks, true
}

// maxShownValue is how large an input or an output may be to be shown with a run, in bytes of JSON.
const maxShownValue = 1 << 20

// Values returns what the tree began with, and what each execution returned, without secrets.
// What is larger than maxShownValue is left out; all is false then.
func (r *Record) Values(known *redact.Set) (input json.RawMessage, outputs map[string]json.RawMessage, all bool) {
	secrets := known.Clone()
	secrets.Add(r.secrets...)
	secrets.Add(r.credentials()...)
	all = true
	shown := func(v any) json.RawMessage {
		if v == value.Undefined {
			return nil
		}
		if !value.FitsWithin(v, maxShownValue) {
			all = false
			return nil
		}
		return json.RawMessage(value.JSON(secrets.Value(v), ""))
	}
	outputs = map[string]json.RawMessage{}
	for _, ended := range r.ended {
		if ended.failure != nil {
			continue
		}
		if out := shown(ended.value); out != nil {
			outputs[ended.execution] = out
		}
	}
	if r.Input != nil {
		input = shown(r.Input)
	}
	return input, outputs, all
}
