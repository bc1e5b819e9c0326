package contexts

import (
	"slices"
	"strconv"
	"time"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// state is a context as its operations leave it. It is a value: whoever changes
// it makes another. What a state is depends on the operations alone, never on
// when or where they are applied, so that all nodes agree.
type state struct {
	object    *value.Object
	size      int       // of the object as JSON
	expires   time.Time // from when on there is nothing; zero: never
	lifetimes []lifetime
	seen      []byte // the last operations, by their marks
}

// lifetime is a variable that goes at a time of its own.
type lifetime struct {
	path  []expr.Step
	until time.Time
}

// How many of the last operations a state knows, and the length of the mark of
// each. The broker itself refuses a repeated operation for two minutes, unless
// the first one was purged and the broker restarted meanwhile.
const (
	markSize = 8
	maxSeen  = 64 * markSize
)

func empty() state { return state{object: &value.Object{}, size: len("{}")} }

// with returns the state after one operation on it.
func (s state) with(r record) state {
	if s.knows(r.mark) {
		return s
	}
	s = s.at(r.at)
	expires := s.lasting(r)
	for _, w := range r.writes {
		if next := s.after(w); r.limit == 0 || next.size <= max(s.size, r.limit) {
			s = next
		}
	}
	s.expires = expires
	s.seen = append(slices.Clone(s.seen[max(0, len(s.seen)+markSize-maxSeen):]), r.mark...)
	return s
}

// lasting is when the state goes after an operation on it, by the clock of which it is
// what it is.
func (s state) lasting(r record) time.Time {
	switch there := s.object.Len() > 0; {
	case r.lifetime == Moves:
		return r.expires
	case there && s.expires.IsZero(), !there && r.lifetime == stayed:
		return time.Time{}
	case s.expires.After(r.expires):
		return s.expires // also of one that holds nothing: somebody waits for what others write
	}
	return r.expires
}

func (s state) knows(mark []byte) bool {
	for known := range slices.Chunk(s.seen, markSize) {
		if string(known) == string(mark) {
			return true
		}
	}
	return false
}

// at returns what is left of the state at a time.
func (s state) at(now time.Time) state {
	if over(s.expires, now) {
		return state{object: &value.Object{}, size: len("{}"), expires: s.expires, seen: s.seen}
	}
	for {
		due := slices.IndexFunc(s.lifetimes, func(l lifetime) bool { return over(l.until, now) })
		if due < 0 {
			return s
		}
		path := s.lifetimes[due].path
		s.lifetimes = slices.Delete(slices.Clone(s.lifetimes), due, due+1)
		s = s.after(Write{Op: variable.Op{Kind: variable.Delete, Path: path}})
	}
}

// over reports whether a time has come; a zero one never does.
func over(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// after returns the state after one write. One that others' writes have made
// impossible meanwhile, such as a push to what is no list any more, does nothing.
func (s state) after(w Write) state {
	idle := value.IsUndefined(w.Op.Value) && (w.Op.Kind == variable.Merge || w.Op.Kind == variable.Push)
	next, grown, err := variable.Change(s.object, w.Op)
	if err != nil || idle {
		return s
	}
	object, ok := next.(*value.Object)
	if !ok && !value.IsUndefined(next) {
		return s
	}
	s.lifetimes = remaining(s.lifetimes, w.Op, s.object)
	s.object, s.size = object, s.size+grown
	if !ok {
		s.object, s.size = &value.Object{}, len("{}")
	}
	if !w.Until.IsZero() && w.Op.Kind != variable.Delete && !value.IsUndefined(w.Op.Value) {
		s.lifetimes = append(s.lifetimes, lifetime{w.Op.Path, w.Until})
	}
	return s
}

// remaining returns the lifetimes that an operation leaves, in a list of their
// own. What is set anew, or is gone, has no lifetime from before.
func remaining(all []lifetime, op variable.Op, before *value.Object) []lifetime {
	var left []lifetime
	for _, l := range all {
		if !ends(l.path, op) {
			left = append(left, lifetime{moved(l.path, op, before), l.until})
		}
	}
	return left
}

// ends reports whether an operation ends the lifetime of the variable at a path.
func ends(path []expr.Step, op variable.Op) bool {
	if !below(path, op.Path) {
		return false
	}
	inside := path[len(op.Path):]
	switch {
	case len(inside) == 0, op.Kind == variable.Replace, op.Kind == variable.Delete:
		return true
	case op.Kind == variable.Merge:
		object, _ := op.Value.(*value.Object)
		_, written := object.Get(inside[0].Key)
		return written
	}
	return false
}

// moved returns the path of a variable after an operation: items behind one that
// is deleted move up.
func moved(path []expr.Step, op variable.Op, before *value.Object) []expr.Step {
	last := len(op.Path) - 1
	if op.Kind != variable.Delete || last < 0 || len(path) <= last || !below(path, op.Path[:last]) {
		return path
	}
	list, _ := walk(before, op.Path[:last]).([]any)
	gone, isIndex := value.Index(op.Path[last].Key)
	mine, isItem := value.Index(path[last].Key)
	if !isIndex || !isItem || gone >= len(list) || mine < gone {
		return path
	}
	path = slices.Clone(path)
	path[last].Key = strconv.Itoa(mine - 1)
	return path
}

// below reports whether a path leads to what root leads to, or into it.
func below(path, root []expr.Step) bool {
	if len(path) < len(root) {
		return false
	}
	for i, step := range root {
		if path[i].Key != step.Key {
			return false
		}
	}
	return true
}

func walk(v any, path []expr.Step) any {
	for _, step := range path {
		v = value.At(v, step.Key)
	}
	return v
}
