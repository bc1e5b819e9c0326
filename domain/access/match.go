package access

import (
	"cmp"
	"strings"
)

// Object is what a right is asked about. Field returns one of its top-level
// fields; values are those of JSON: nil, bool, string, numbers, []any, []string
// and map[string]any.
type Object interface {
	Field(name string) (any, bool)
}

// Fields is an Object made of a map.
type Fields map[string]any

// Field implements Object.
func (f Fields) Field(name string) (any, bool) {
	v, ok := f[name]
	return v, ok
}

// truth is the outcome of a test. Both, either and the opposite of two truths
// are their minimum, their maximum and the mirror image.
type truth int8

const (
	no     truth = -1
	unsure truth = 0 // it is not known, or would take too many steps to tell
	yes    truth = 1
)

func is(b bool) truth {
	if b {
		return yes
	}
	return no
}

// sight is what one decision sees and may still spend, on behalf of one caller.
type sight struct {
	*binding
	left int // steps
}

// maxSteps is the effort of one decision, however many rules it takes: a step is
// the comparison of two values, or of a character with two instructions of an
// expression. What a comparison costs depends on the operand alone, so that the
// order of a map cannot change an outcome.
const maxSteps = 50000

// look begins one decision.
func (r *Rights) look() sight { return sight{&r.bound, maxSteps} }

// affords takes steps, if there are so many left. Asking costs one anyway.
func (s *sight) affords(steps int) bool {
	s.left--
	if steps > s.left {
		return false
	}
	s.left -= steps
	return true
}

// missing is the value of a field that is not there.
type missing struct{}

// holds judges the condition on an object or a value within it.
func (c condition) holds(v any, s *sight) truth {
	all := yes
	for i := range c {
		if all = min(all, c[i].holds(v, s)); all == no {
			break
		}
	}
	return all
}

func (t *test) holds(v any, s *sight) truth {
	found := no
	if t.op == opAny {
		for i := 0; i < len(t.of) && found != yes; i++ {
			found = max(found, t.of[i].holds(v, s))
		}
	} else {
		found = t.find(v, t.path, s)
	}
	if t.not {
		return -found
	}
	return found
}

// find looks for a value at path that passes the test. A path that crosses a
// list goes on in each of its elements.
func (t *test) find(v any, path []string, s *sight) truth {
	if s.left--; s.left < 0 {
		return unsure
	}
	if len(path) == 0 {
		if dim(v) {
			return unsure
		}
		return t.look(v, s)
	}
	switch v := v.(type) {
	case unknown:
		return unsure
	case map[string]any:
		if inner, ok := v[path[0]]; ok {
			return t.find(inner, path[1:], s)
		}
	case Object:
		if inner, ok := v.Field(path[0]); ok {
			return t.find(inner, path[1:], s)
		}
	case []any:
		found := no
		for i := 0; i < len(v) && found != yes && s.left >= 0; i++ {
			found = max(found, t.find(v[i], path, s))
		}
		if len(v) > 0 {
			return found
		}
	}
	return t.look(missing{}, s)
}

// look tests the value that was found: as it is, or by its elements.
func (t *test) look(v any, s *sight) truth {
	switch t.op {
	case opExists:
		return is(v != any(missing{}))
	case opMissing:
		return is(v == any(missing{}))
	case opSize:
		return is(float64(length(v)) == t.arg)
	case opAll:
		return t.containsAll(v, s)
	case opElem:
		found := no
		for i := 0; i < length(v) && found != yes && s.left >= 0; i++ {
			found = max(found, t.of[0].holds(element(v, i), s))
		}
		return found
	}
	found := t.compare(v, s)
	for i := 0; i < length(v) && found != yes && s.left >= 0; i++ {
		found = max(found, t.compare(element(v, i), s))
	}
	return found
}

// containsAll reports whether v holds each of the operand. Nothing asked is
// not "everything there".
func (t *test) containsAll(v any, s *sight) truth {
	if !s.affords(t.weight * (1 + max(0, length(v)))) {
		return unsure
	}
	wanted := s.fill(t.arg)
	all := is(length(wanted) > 0)
	for i := 0; i < length(wanted) && all != no; i++ {
		one := test{op: opEq, arg: element(wanted, i)}
		all = min(all, one.look(v, s))
	}
	return all
}

// compare tests a single value.
func (t *test) compare(v any, s *sight) truth {
	str, isText := v.(string)
	cost := t.weight
	if t.op == opRegex {
		cost = 1 + len(str)*t.weight/2
	}
	if !s.affords(cost) {
		return unsure
	}
	switch arg := s.fill(t.arg); t.op {
	case opEq:
		return is(s.equal(v, arg))
	case opIn:
		return is(s.within(v, arg))
	case opRegex:
		return is(isText && t.re.MatchString(str))
	default:
		order, ok := compare(v, arg)
		return is(ok && inOrder(t.op, order))
	}
}

func inOrder(o op, order int) bool {
	switch o {
	case opGt:
		return order > 0
	case opGte:
		return order >= 0
	case opLt:
		return order < 0
	default:
		return order <= 0
	}
}

// compare orders numbers with numbers and texts with texts.
func compare(a, b any) (order int, ok bool) {
	if x, ok := a.(string); ok {
		y, ok := b.(string)
		return strings.Compare(x, y), ok
	}
	x, isNumber := number(a)
	y, ok := number(b)
	return cmp.Compare(x, y), isNumber && ok
}

// within reports whether one of list equals v. A list among them that a
// placeholder stands for counts by its elements.
func (b *binding) within(v, list any) bool {
	for i := range max(0, length(list)) {
		item := element(list, i)
		if h, ok := item.(hole); ok && h == holeTopics {
			if b.within(v, b.fill(h)) {
				return true
			}
		} else if b.equal(v, item) {
			return true
		}
	}
	return false
}

// equal compares strictly: no value equals one of another type. What is not
// there equals null.
func (b *binding) equal(v, arg any) bool {
	switch want := b.fill(arg).(type) {
	case nil:
		return v == nil || v == any(missing{})
	case string:
		got, ok := v.(string)
		return ok && got == want
	case bool:
		got, ok := v.(bool)
		return ok && got == want
	case map[string]any:
		return b.equalFields(v, want)
	case []any, []string:
		return b.equalLists(v, want)
	default:
		order, ok := compare(v, want)
		return ok && order == 0
	}
}

func (b *binding) equalFields(v any, want map[string]any) bool {
	got, ok := v.(map[string]any)
	if !ok || len(got) != len(want) {
		return false
	}
	for key, item := range want {
		if inner, ok := got[key]; !ok || !b.equal(inner, item) {
			return false
		}
	}
	return true
}

func (b *binding) equalLists(v, want any) bool {
	if length(v) != length(want) {
		return false
	}
	for i := range max(0, length(want)) {
		if !b.equal(element(v, i), element(want, i)) {
			return false
		}
	}
	return true
}

// length returns how many elements a list has; -1 for what is no list.
func length(v any) int {
	switch list := v.(type) {
	case []any:
		return len(list)
	case []string:
		return len(list)
	}
	return -1
}

func element(list any, i int) any {
	if texts, ok := list.([]string); ok {
		return texts[i]
	}
	return list.([]any)[i]
}
