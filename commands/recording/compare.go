package recording

import (
	"bytes"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// The kinds of differences.
const (
	effectChanged = "effect_changed" // another request at the same place
	effectMissing = "effect_missing" // a request that was not recorded
	effectUnused  = "effect_unused"  // a recorded one that was not made
	otherBranch   = "branch"
	otherEmit     = "emit"
	otherContext  = "context"
	otherOutput   = "output"
	otherError    = "error"
)

// MaxDifferences is how many differences are told.
const MaxDifferences = 1000

// difference is something that a replay did otherwise.
type difference struct {
	execution        string
	place            machine.Place
	kind             string
	expected, actual any
}

// differ notes a difference.
func (p *player) differ(x *machine.Execution, at machine.Place, kind string, expected, actual any) {
	p.note(difference{x.ID, at, kind, expected, actual})
}

func (p *player) note(d difference) {
	p.different++
	if p.differs == nil {
		p.differs = map[string]bool{}
	}
	p.differs[d.execution] = true
	if len(p.differences) < MaxDifferences {
		spent, _ := value.SizeWithin(d.actual, p.most)
		p.keep(oneKept + spent)
		p.differences = append(p.differences, d)
	}
}

// told is a request as a difference tells it.
func told(kind, slug string, request any) *value.Object {
	if params, ok := request.(*value.Object); ok {
		request = shownParams(machine.EffectOf(machine.Kind(kind)), params)
	}
	return value.NewObject("kind", kind, "slug", textOf(slug), "request", request)
}

// shownParams are the parameters of a request without credentials.
func shownParams(effect *automation.Effect, params *value.Object) *value.Object {
	if effect.Shown == nil {
		return params
	}
	return effect.Shown(params)
}

// writeNames are the kinds of writes, as set and delete name them.
var writeNames = map[variable.Kind]string{variable.Replace: "set", variable.Merge: "merge", variable.Push: "push", variable.Delete: "delete"}

// shownWrite is a write as a difference tells it.
func shownWrite(w machine.Write) *value.Object {
	path := w.Context
	for _, step := range w.Op.Path {
		path = expr.Member(path, step.Key)
	}
	return value.NewObject("path", path, "type", writeNames[w.Op.Kind], "value", w.Op.Value)
}

// compare reports a request that is not what was recorded at its place.
func (p *player) compare(r machine.Request, q *request) {
	slug, _ := q.asked.more.(string)
	effect := q.effect()
	is, was := asked(r), q.asked.value
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
	p.differ(r.Execution, r.Place, kind, told(q.asked.name, slug, q.asked.value), told(string(r.Kind), r.Slug, asked(r)))
}

// maxCompared is how large values are that are compared: no record holds larger ones.
const maxCompared = 64 << 20

// equal reports whether two values are the same in everything that can be kept.
func equal(a, b any) bool {
	if !value.FitsWithin(a, maxCompared) || !value.FitsWithin(b, maxCompared) {
		return false
	}
	return bytes.Equal(variable.Encode(a), variable.Encode(b))
}

// unused reports the requests that were recorded and not made.
func (p *player) unused() {
	for _, q := range p.record.requests {
		if !p.used[q] {
			slug, _ := q.asked.more.(string)
			p.note(difference{
				q.asked.execution, machine.Place{Path: q.asked.path, Iteration: q.asked.iteration}, effectUnused,
				told(q.asked.name, slug, q.asked.value), value.Undefined,
			})
		}
	}
}

// outcomes reports executions that came to something else.
func (p *player) outcomes() {
	for _, was := range p.record.ended {
		is, ended := p.ended[was.execution]
		at := machine.Place{Path: "output"}
		if !ended {
			p.note(difference{was.execution, at, otherOutput, was.value, value.Undefined})
			continue
		}
		if !sameError(was.failure, is.err) {
			if is.err != nil {
				at.Path = is.err.Instruction
			} else {
				at.Path = was.failure.Instruction
			}
			p.note(difference{was.execution, at, otherError, shownError(was.failure), shownError(is.err)})
		} else if !equal(was.value, is.output) {
			p.note(difference{was.execution, at, otherOutput, was.value, is.output})
		}
	}
}

func sameError(a, b *automation.Error) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && a.Message == b.Message && equal(object(a.Details), object(b.Details))
}

func shownError(err *automation.Error) any {
	if err == nil {
		return value.Undefined
	}
	return value.NewObject("error", err.Name, "message", err.Message, "details", object(err.Details))
}
