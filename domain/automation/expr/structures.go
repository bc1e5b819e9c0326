package expr

import (
	"errors"
	"strings"

	"svc/domain/automation/value"
)

func jsonText(c *calling) any {
	s, ok := c.arg(0).(string)
	if !ok {
		if value.IsUndefined(c.arg(0)) {
			return value.Undefined
		}
		return c.json(c.arg(0))
	}
	if !c.affords(len(s)) {
		return value.Undefined
	}
	v, err := value.ParseJSON(s)
	if err != nil {
		return c.refuse("not valid JSON: " + err.Error())
	}
	return c.parsed(v)
}

// parsed returns what JSON says, paid for by the memory that it takes: few bytes may become
// many values.
func (c *calling) parsed(v any) any {
	scale := value.Scale{Limit: MaxSpent}
	if scale.Add(v); !c.works(scale.Weight) {
		return value.Undefined
	}
	return v
}

// unsafeJSON looks for the first complete object or array in a text.
func unsafeJSON(c *calling) any {
	s, ok := c.arg(0).(string)
	if !ok {
		return c.arg(0)
	}
	for start := 0; ; start++ {
		n := strings.IndexAny(s[start:], "{[")
		if n < 0 {
			return value.Undefined
		}
		start += n
		if !c.works(len(s) - start) {
			return value.Undefined
		}
		v, _, err := value.FirstJSON(s[start:])
		if err == nil {
			return c.parsed(v)
		}
		if errors.Is(err, value.ErrMany) {
			return c.refuse(err.Error())
		}
	}
}

// costOfTest is what it costs to read a part of a condition.
const costOfTest = 100

func jsonMatch(c *calling) any {
	cond, ok := c.arg(1).(*value.Object)
	if !ok {
		return c.refuse("the condition must be an object")
	}
	if !c.works(costOfTest * value.Parts(cond, MaxSpent)) {
		return value.Undefined
	}
	m, err := compileMatcher(cond, false, c.evaluation)
	if err != nil {
		return c.refuse(err.Error())
	}
	target, ok := c.arg(0).(*value.Object)
	if !ok {
		return false
	}
	return m.match(c.evaluation, target)
}

func deepMerge(c *calling) any {
	join := value.Truth(value.At(c.arg(2), "concatStrings"))
	return c.merged(c.arg(0), c.arg(1), join)
}

func (c *calling) merged(a, b any, join bool) any {
	if value.IsNothing(b) {
		return a
	}
	switch b := b.(type) {
	case *value.Object:
		if a, ok := a.(*value.Object); ok && c.holds(a.Len()+b.Len()) {
			made := a.Copy()
			for _, key := range b.Keys() {
				made.Set(key, c.merged(a.At(key), b.At(key), join))
			}
			return made
		}
	case []any:
		if a, ok := a.([]any); ok && c.holds(len(a)+len(b)) {
			return append(append([]any{}, a...), b...)
		}
	case string:
		if a, ok := a.(string); ok && join && c.affords(len(a)+len(b)) {
			return a + b
		}
	}
	return b
}
