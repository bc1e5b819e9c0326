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
	"svc/domain/value"
)

// Step is an executed instruction as it is shown with a run.
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

// Limits of the steps that are shown with a run: their number, the bytes of a value, and the
// time to find them.
const (
	maxSteps     = 2000
	maxStepValue = 2 << 10
	maxStepTime  = 2 * time.Second
)

// stepTime is the form of the time of a step.
const stepTime = "2006-01-02T15:04:05.000Z"

// errEnoughSteps ends a replay that was only for its steps.
var errEnoughSteps = errors.New("there are enough steps")

// tracer collects the steps of a replay. Its time advances with each recorded answer.
type tracer struct {
	record  *Record
	secrets *redact.Set
	left    int // steps that may be added
	count   int
	now     int64 // ms since the recording began
	steps   map[string][]*Step
	open    map[string]*tracedStep // the last of each position
}

// tracedStep is a step that has not ended.
type tracedStep struct {
	*Step
	began int64
}

// Steps returns the executed instructions of each execution, redacted. It replays the recording
// without executing custom code. It returns at most most steps; all is false when there are
// more, or it took too long.
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

// credentials returns those of the trigger and of requests: like events, steps do not show
// them.
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

// maxCredentials is how many credentials are redacted in the steps of a recording.
const maxCredentials = 1000

// advanceTo sets the time to that of an answer.
func (t *tracer) advanceTo(answered *entry) {
	if t != nil && answered != nil {
		t.now = max(t.now, answered.at)
	}
}

// Begin implements machine.Trace.
func (t *tracer) Begin(x *machine.Execution, at machine.Location, name string, input any) {
	if t.left--; t.left < 0 {
		return
	}
	if params, ok := input.(*value.Object); ok {
		input = withoutCredentials(automation.EffectOf(name), params)
	}
	t.count++
	s := &Step{
		N: t.count, Instruction: at.Path, Iteration: at.Iteration, Input: t.redactedJSON(input), At: t.record.At.Add(time.Duration(t.now) * time.Millisecond).UTC().Format(stepTime),
	}
	t.steps[x.ID] = append(t.steps[x.ID], s)
	t.open[position("", x.ID, at.Path, at.Iteration)] = &tracedStep{s, t.now}
}

// End implements machine.Trace.
func (t *tracer) End(x *machine.Execution, at machine.Location, result any, err *automation.Error) {
	key := position("", x.ID, at.Path, at.Iteration)
	s := t.open[key]
	if s == nil {
		return
	}
	delete(t.open, key)
	s.Result, s.Duration = t.redactedJSON(result), t.now-s.began
	if err != nil {
		s.Error = t.truncateText(err.Name+": "+err.Message, maxStepValue)
	}
}

// redactedJSON returns the beginning of a value, redacted; nil for Undefined.
func (t *tracer) redactedJSON(v any) json.RawMessage {
	left := maxStepValue
	if v = t.truncate(v, &left); value.IsUndefined(v) {
		return nil
	}
	return json.RawMessage(value.JSON(v, ""))
}

// cutMark stands where something was left out.
const cutMark = "…"

// truncate copies as much of a value as there is room for. Lists and objects that are cut end
// with a mark.
func (t *tracer) truncate(v any, left *int) any {
	switch v := v.(type) {
	case string:
		text := t.truncateText(v, max(*left, 0))
		*left -= len(text)
		return text
	case value.Bytes:
		return t.truncate(value.Text(v[:min(len(v), maxStepValue)]), left)
	case []any:
		result := []any{}
		for _, item := range v {
			if *left <= 0 {
				return append(result, cutMark)
			}
			*left--
			result = append(result, t.truncate(item, left))
		}
		return result
	case *value.Object:
		result := &value.Object{}
		for _, key := range v.Keys() {
			if *left <= 0 {
				result.Set(cutMark, true)
				break
			}
			name := t.truncateText(key, max(*left, 0))
			*left -= len(name)
			result.Set(name, t.truncate(v.At(key), left))
		}
		return result
	case value.Stream:
		return value.Undefined
	}
	*left -= 8
	return v
}

// truncateText returns the beginning of a text, redacted, also without a partial secret at its
// end.
func (t *tracer) truncateText(text string, most int) string {
	if len(text) <= most {
		return t.secrets.Text(text)
	}
	return t.secrets.RedactCut(strings.ToValidUTF8(text[:most], "")) + cutMark
}

// maxChunks is how many chunks of a run are shown, and maxChunkBytes their size in all.
const (
	maxChunks     = 1000
	maxChunkBytes = 1 << 20
)

// Chunks returns the chunks that were sent to the caller of the endpoint, redacted; all is false
// when there are more.
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

// Values returns the input of the tree and the output of each execution, redacted. Values larger
// than maxShownValue are left out; all is false then.
func (r *Record) Values(known *redact.Set) (input json.RawMessage, outputs map[string]json.RawMessage, all bool) {
	secrets := known.Clone()
	secrets.Add(r.secrets...)
	secrets.Add(r.credentials()...)
	all = true
	render := func(v any) json.RawMessage {
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
		if out := render(ended.value); out != nil {
			outputs[ended.execution] = out
		}
	}
	if r.Input != nil {
		input = render(r.Input)
	}
	return input, outputs, all
}
