package machine

import (
	"slices"
	"strings"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// kinds are the requests of the instructions that are nothing else.
var kinds = map[string]Kind{
	"emit": Emit, "wait": Wait, "fetch": Fetch, "createUserTopic": Topic, "joinUserTopic": Topic,
	"rateLimit": RateLimit, "auth": Auth, "run": Module,
}

// effect begins an instruction that something outside carries out.
func (m *Machine) effect(b *branch, in *automation.Instruction) *outcome {
	params, to, err := m.parameters(in)
	m.traceBegin(b, orUndefined(params))
	if err != nil {
		return m.raise(b, err)
	}
	r := Request{Kind: kinds[in.Name], Params: params}
	switch r.Kind {
	case "":
		return m.raise(b, automation.Invalid("there is no instruction %s", in.Name))
	case Emit:
		payload, ok := payloadOf(params)
		if !ok {
			m.notice(b, automation.Raise(automation.InvalidEvent, "the payload of an event is an object", "event", params.At("event")))
			return nil
		}
		r.Params, r.BeforeWait = payload, b.top().waitFollows()
	case Wait:
		r.Duration = m.Wait
		if timeout, ok := params.At("timeout").(float64); ok {
			if timeout > m.MaxWait.Seconds() {
				return m.raise(b, automation.Invalid("wait.timeout must be at most %d seconds", int(m.MaxWait.Seconds())))
			}
			r.Duration = seconds(timeout)
		}
	}
	m.ask(b, r, to)
	return nil
}

// waitFollows reports whether the next instruction that asks for anything is a wait that
// cancels triggers.
func (f *frame) waitFollows() bool {
	for _, in := range f.list[f.next:] {
		switch {
		case in.Fault != nil || !in.Builtin:
			return false
		case in.Name == "wait":
			return in.Params != nil && slices.ContainsFunc(automation.OneOf(in.Params.Written()), automation.MayCancel)
		case in.Name == "comment":
		case in.Name == "set" || in.Name == "delete":
			if root := in.Target.Root(); root == "" || root == "$http" || root == "config" {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// orUndefined is an object as a value: none is Undefined.
func orUndefined(o *value.Object) any {
	if o == nil {
		return value.Undefined
	}
	return o
}

// payloadOf returns the parameters of an emit with a payload, an empty one when
// there is none. False when it is something else than an object.
func payloadOf(params *value.Object) (*value.Object, bool) {
	payload := params.At("payload")
	if _, ok := payload.(*value.Object); ok {
		return params, true
	}
	if !value.IsNothing(payload) {
		return nil, false
	}
	params = params.Copy()
	params.Set("payload", &value.Object{})
	return params, true
}

// parameters evaluates what an instruction is given. What was not checked when the
// document was saved, because it is made of templates, is checked now.
func (m *Machine) parameters(in *automation.Instruction) (*value.Object, result, error) {
	v, err := in.Params.Eval(&m.env)
	if err != nil {
		return nil, result{}, err
	}
	params, ok := v.(*value.Object)
	if !ok {
		return nil, result{}, automation.Invalid("expected parameters as an object, got %s", value.Kind(v))
	}
	if err := m.sized(params); err != nil {
		return nil, result{}, err
	}
	_, written := in.Params.Written().(*value.Object)
	if in.Builtin && (!in.Params.Static() || in.Name == "run") {
		if err := automation.CheckParams(in.Path, in.Name, params); err != nil {
			return nil, result{}, err
		}
	}
	if !written {
		return given(params)
	}
	to := result{bad: in.BadOutput}
	if in.Output != nil {
		to.steps, err = in.Output.Resolve(&m.env)
	}
	return params, to, err
}

// sized refuses what is larger than all local variables may be, or makes the tree too
// large. Everything that an instruction puts together goes through here: the same list
// may stand in it many times, and whoever measures it later would never come to an end.
func (m *Machine) sized(v any) error {
	spent, ok := value.Spend(v, m.LocalLimit)
	if m.env.Spent += spent; ok {
		return m.hold(v)
	}
	return automation.Raise(automation.ContextTooLarge, "a value becomes too large", "context", "local", "size", float64(m.LocalLimit+1), "limit", float64(m.LocalLimit))
}

// given takes the output out of parameters that a template yielded: values are no
// templates, so it is a plain path.
func given(params *value.Object) (*value.Object, result, error) {
	output, ok := params.Get("output")
	if !ok {
		return params, result{}, nil
	}
	rest := &value.Object{}
	for _, key := range params.Keys() {
		if key != "output" {
			rest.Set(key, params.At(key))
		}
	}
	name, ok := output.(string)
	if !ok {
		return rest, result{bad: output != nil}, nil
	}
	steps, err := plainPath(name)
	return rest, result{steps: steps}, err
}

func plainPath(name string) ([]expr.Step, error) {
	steps, ok := expr.PlainPath(name)
	if !ok {
		return nil, automation.Raise(automation.InvalidVariable, "no path of a variable: "+strings.ToValidUTF8(name[:min(len(name), 100)], ""))
	}
	return steps, nil
}

// store puts the result of an instruction where it goes. An undefined one leaves
// the variable as it was.
func (m *Machine) store(b *branch, to result, v any) *outcome {
	if to.bad {
		m.notice(b, automation.Raise(automation.InvalidOutput, "expected the path of a variable: the result goes nowhere"))
		return nil
	}
	if to.steps == nil || value.IsUndefined(v) {
		return nil
	}
	return m.assign(b, assignment{steps: to.steps, value: v})
}

func errorValue(name, message string, details any) *value.Object {
	if o, ok := details.(*value.Object); value.IsNothing(details) || ok && o == nil {
		details = &value.Object{}
	}
	return value.NewObject("error", name, "message", message, "details", details)
}
