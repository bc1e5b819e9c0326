package machine

import (
	"strings"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// assignment is a change of a variable.
type assignment struct {
	steps []expr.Step
	kind  variable.Kind
	value any
	ttl   time.Duration
}

func (a assignment) op() variable.Op {
	return variable.Op{Kind: a.kind, Path: a.steps[1:], Value: a.value}
}

func (m *Machine) set(b *branch, in *automation.Instruction) *outcome {
	a, err := m.assignmentOf(in)
	if err != nil {
		m.traceBegin(b, value.Undefined)
		return m.raise(b, err)
	}
	if m.Trace != nil {
		m.traceBegin(b, value.NewObject("name", pathText(a.steps), "value", a.value))
	}
	return m.assign(b, a)
}

// assignmentOf evaluates the parameters of a set. Those of most are written out but
// for the value: nothing is made of them, and they were checked when the document
// was saved.
func (m *Machine) assignmentOf(in *automation.Instruction) (a assignment, err error) {
	options, written := in.Params.Written().(*value.Object)
	push := false
	if written && in.Target != nil {
		push = in.Target.Push
		if a.steps, err = in.Target.Resolve(&m.env); err != nil {
			return a, err
		}
	}
	if written && isPlain(in.Params, options) {
		a.value, err = in.Params.Member("value").Eval(&m.env)
	} else {
		if options, _, err = m.parameters(in); err != nil {
			return a, err
		}
		a.value = options.At("value")
		if in.Target == nil {
			a.steps, push, err = nameIn(options)
		}
	}
	if options.Len() > 1 {
		a.kind, a.ttl = join(options)
	}
	if push {
		a.kind = variable.Push
	}
	return a, err
}

// isPlain reports whether all but the value is written out.
func isPlain(params *expr.Tree, written *value.Object) bool {
	for _, key := range written.Keys() {
		if key != "value" && !params.Member(key).Static() {
			return false
		}
	}
	return params.Member("value") != nil
}

// join says how a value joins the one before, and for how long.
func join(options *value.Object) (kind variable.Kind, ttl time.Duration) {
	switch options.At("type") {
	case "push":
		kind = variable.Push
	case "merge":
		kind = variable.Merge
	}
	for _, alias := range []string{"lifespan", "ttl"} {
		if n, ok := options.At(alias).(float64); ok {
			ttl = seconds(n)
		}
	}
	return kind, ttl
}

// nameIn reads the name of a set whose parameters a template yielded.
func nameIn(params *value.Object) ([]expr.Step, bool, error) {
	name, ok := params.At("name").(string)
	if !ok {
		return nil, false, automation.Invalid("the name is the path of a variable, not %s", value.Kind(params.At("name")))
	}
	name, push := strings.CutSuffix(name, "[]")
	steps, err := plainPath(name)
	return steps, push, err
}

func (m *Machine) delete(b *branch, in *automation.Instruction) *outcome {
	a := assignment{kind: variable.Delete}
	var err error
	if in.Target != nil {
		a.steps, err = in.Target.Resolve(&m.env)
	} else {
		var params *value.Object
		if params, _, err = m.parameters(in); err == nil {
			push := false
			if a.steps, push, err = nameIn(params); push {
				err = automation.Invalid("the name of delete must not end in []")
			}
		}
	}
	if err != nil {
		m.traceBegin(b, value.Undefined)
		return m.raise(b, err)
	}
	if m.Trace != nil {
		m.traceBegin(b, value.NewObject("name", pathText(a.steps)))
	}
	return m.assign(b, a)
}

// assign changes a variable: of the execution, of a context, or the answer of the
// endpoint.
func (m *Machine) assign(b *branch, a assignment) *outcome {
	root := a.steps[0].Key
	err := m.sized(a.value)
	more := 0
	switch {
	case err != nil:
	case root == "$http":
		return m.answer(b, a)
	case isContext(root):
		return m.assignContext(b, a)
	case (root == "item" || root == "$index") && b.iter != nil:
		more, err = b.iter.change(root, a.op(), m.LocalLimit)
		m.env.Spent += value.Parts(b.iter.item, m.LocalLimit) // all of it is measured
	default:
		more, err = b.x.local.change(root, a.op(), m.LocalLimit)
	}
	m.added += more
	m.env.Spent += more
	if err != nil {
		return m.raise(b, err)
	}
	return nil
}

// isContext reports whether a name is the root of a context. It hides a local
// variable of that name.
func isContext(root string) bool {
	switch root {
	case "run", "session", "user", "global", "socket", "config", "secret", "$workspace":
		return true
	}
	return false
}

func (m *Machine) assignContext(b *branch, a assignment) *outcome {
	root := a.steps[0].Key
	switch {
	case automation.ReadOnly(a.steps):
		return m.raise(b, automation.Invalid("%s cannot be written", pathText(a.steps)))
	case (root == "user" || root == "session") && len(a.steps) > 1 && a.steps[1].Key == "id":
		return m.become(b, a)
	case value.IsUndefined(a.value) && (a.kind == variable.Push || a.kind == variable.Merge):
		return nil
	}
	w := Write{Context: root, Op: a.op(), TTL: a.ttl}
	if root == "config" {
		m.ask(b, Request{Kind: Config, Write: &w}, result{})
		return nil
	}
	return m.write(b, w)
}

// become switches the identity of the run.
func (m *Machine) become(b *branch, a assignment) *outcome {
	id, ok := a.value.(string)
	if !ok || id == "" || len(a.steps) > 2 || a.kind == variable.Push || a.kind == variable.Delete {
		return m.raise(b, automation.Invalid("%s can only be set, to a text that is not empty", pathText(a.steps[:2])))
	}
	return m.write(b, Write{Context: a.steps[0].Key, Op: variable.Op{Path: a.steps[1:2], Value: id}, Switch: true})
}

func (m *Machine) write(b *branch, w Write) *outcome {
	m.env.Spent += costOfWrite
	if err := m.World.Write(b.x, w); err != nil {
		return m.raise(b, err)
	}
	return nil
}

func pathText(steps []expr.Step) string {
	path := ""
	for _, step := range steps {
		path = expr.Member(path, step.Key)
	}
	return path
}
