package machine

import (
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// kept is a part of a saved tree. What is not there reads as nothing.
type kept struct{ v any }

func (k kept) at(key string) any { return value.At(k.v, key) }

func (k kept) within(key string) kept { return kept{k.at(key)} }

func (k kept) text(key string) string {
	s, _ := k.at(key).(string)
	return s
}

func (k kept) number(key string) int {
	n, _ := k.at(key).(float64)
	return int(n)
}

func (k kept) flag(key string) bool { return k.at(key) == true }

func (k kept) list(key string) []any {
	list, _ := k.at(key).([]any)
	return list
}

// only returns what stands alone in a list, where an undefined value is kept.
func (k kept) only(key string) any {
	if list := k.list(key); len(list) == 1 {
		return list[0]
	}
	return value.Undefined
}

func (k kept) place(key string) Place {
	parts := k.list(key)
	if len(parts) != 3 {
		return Place{}
	}
	var p Place
	p.Path, _ = parts[0].(string)
	numbers, _ := parts[1].([]any)
	for _, n := range numbers {
		n, _ := n.(float64)
		p.Iteration = append(p.Iteration, int(n))
	}
	ordinal, _ := parts[2].(float64)
	p.Ordinal = int(ordinal)
	return p
}

func (k kept) result(key string) result {
	parts := k.list(key)
	if len(parts) != 2 {
		return result{}
	}
	bad, _ := parts[1].(bool)
	return result{steps: restoredSteps(parts[0]), bad: bad}
}

func restoredSteps(v any) []expr.Step {
	op, err := variable.DecodeOp(v)
	if err != nil {
		return nil
	}
	return op.Path
}

func restoredOutcome(v any) *outcome {
	o, ok := v.(*value.Object)
	if !ok {
		return nil
	}
	k := kept{o}
	out := &outcome{scope: k.text("scope"), payload: k.at("payload"), paid: k.flag("paid"), origin: k.text("origin")}
	if name := k.text("name"); name != "" {
		out.err = &automation.Error{
			Name: name, Message: k.text("message"), Document: k.text("document"), Instruction: k.text("instruction"),
		}
		out.err.Details, _ = k.at("details").(*value.Object)
	}
	return out
}
