package recording

import (
	"bytes"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/machine"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// The kinds of differences.
const (
	effectChanged = "effect_changed" // another request at the same place
	effectMissing = "effect_missing" // a request that was not recorded
	effectUnused  = "effect_unused"  // a recorded request that was not made
	otherBranch   = "branch"
	otherEmit     = "emit"
	otherContext  = "context"
	otherOutput   = "output"
	otherError    = "error"
)

// MaxDifferences is how many differences are reported.
const MaxDifferences = 1000

// difference is something that a replay did differently.
type difference struct {
	execution        string
	location         machine.Location
	kind             string
	expected, actual any
}

// reportDifference adds a difference at a place.
func (p *player) reportDifference(x *machine.Execution, at machine.Location, kind string, expected, actual any) {
	p.addDifference(difference{x.ID, at, kind, expected, actual})
}

func (p *player) addDifference(d difference) {
	p.different++
	if p.differs == nil {
		p.differs = map[string]bool{}
	}
	p.differs[d.execution] = true
	if len(p.differences) < MaxDifferences {
		spent, _ := value.SizeWithin(d.actual, p.maxBytes)
		p.countBytes(observedBytes + spent)
		p.differences = append(p.differences, d)
	}
}

// requestValue returns a request as a difference shows it.
func requestValue(kind, slug string, request any) *value.Object {
	if params, ok := request.(*value.Object); ok {
		request = withoutCredentials(machine.EffectOf(machine.Kind(kind)), params)
	}
	return value.NewObject("kind", kind, "slug", textOf(slug), "request", request)
}

// withoutCredentials returns the parameters of a request without credentials.
func withoutCredentials(effect *automation.Effect, params *value.Object) *value.Object {
	if effect.Redacted == nil {
		return params
	}
	return effect.Redacted(params)
}

// writeNames are the kinds of writes, as set and delete name them.
var writeNames = map[variable.Kind]string{variable.Replace: "set", variable.Merge: "merge", variable.Push: "push", variable.Delete: "delete"}

// writeValue returns a write as a difference shows it.
func writeValue(w machine.Write) *value.Object {
	path := w.Context
	for _, step := range w.Op.Path {
		path = expr.Member(path, step.Key)
	}
	return value.NewObject("path", path, "type", writeNames[w.Op.Kind], "value", w.Op.Value)
}

// compare reports a request that differs from the recorded one.
func (p *player) compare(r machine.Request, q *request) {
	slug, _ := q.asked.more.(string)
	effect := q.effect()
	is, was := askedValue(r), q.asked.value
	if effect.Compared != nil {
		is, was = effect.Compared(is), effect.Compared(was)
	}
	if r.Slug == slug && equal(is, was) {
		return
	}
	kind := effectChanged
	if effect.Emits {
		kind = otherEmit
	}
	p.reportDifference(r.Execution, r.Location, kind, requestValue(q.asked.name, slug, q.asked.value), requestValue(string(r.Kind), r.Slug, askedValue(r)))
}

// maxCompared is the size of the largest values that are compared: no recording has larger ones.
const maxCompared = 64 << 20

// equal reports whether two values have the same encoding.
func equal(a, b any) bool {
	if !value.FitsWithin(a, maxCompared) || !value.FitsWithin(b, maxCompared) {
		return false
	}
	return bytes.Equal(variable.Encode(a), variable.Encode(b))
}

// reportUnused reports the requests that were recorded and not made.
func (p *player) reportUnused() {
	for _, q := range p.record.requests {
		if !p.used[q] {
			slug, _ := q.asked.more.(string)
			p.addDifference(difference{
				q.asked.execution, machine.Location{Path: q.asked.path, Iteration: q.asked.iteration}, effectUnused,
				requestValue(q.asked.name, slug, q.asked.value), value.Undefined,
			})
		}
	}
}

// reportOutcomes reports executions with another result.
func (p *player) reportOutcomes() {
	for _, was := range p.record.ended {
		is, ended := p.ended[was.execution]
		at := machine.Location{Path: "output"}
		if !ended {
			p.addDifference(difference{was.execution, at, otherOutput, was.value, value.Undefined})
			continue
		}
		if !sameError(was.failure, is.err) {
			if is.err != nil {
				at.Path = is.err.Instruction
			} else {
				at.Path = was.failure.Instruction
			}
			p.addDifference(difference{was.execution, at, otherError, errorValue(was.failure), errorValue(is.err)})
		} else if !equal(was.value, is.output) {
			p.addDifference(difference{was.execution, at, otherOutput, was.value, is.output})
		}
	}
}

func sameError(a, b *automation.Error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && a.Message == b.Message && equal(object(a.Details), object(b.Details))
}

func errorValue(err *automation.Error) any {
	if err == nil {
		return value.Undefined
	}
	return value.NewObject("error", err.Name, "message", err.Message, "details", object(err.Details))
}
