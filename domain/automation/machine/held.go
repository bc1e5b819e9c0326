package machine

import (
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// leastLimit is the smallest bound of a tree. Each of its executions may have as many local
// variables as the limit says, and there may be thousands of them side by side.
const leastLimit = 1 << 20

// heldLimit is how much memory all that a tree holds may take: what one execution may have
// as JSON takes several times as much.
func (m *Machine) heldLimit() int { return max(8*m.LocalLimit, leastLimit) }

// keptLimit is how many bytes a tree may have when it is saved: a little more than one
// execution may.
func (m *Machine) keptLimit() int { return max(m.LocalLimit/5*6, leastLimit) }

// hold counts a value that the tree is about to hold, and refuses it when all that it holds
// becomes too large.
//
// To know that, everything is weighed, since most of it may be shared or gone: not each
// time, but whenever so much has been added that it could matter. So a tree may hold a
// quarter more than the limit before nothing can be added at all.
func (m *Machine) hold(v any) error {
	limit := m.heldLimit()
	one := value.Scale{Limit: limit}
	if one.Add(v); value.IsUndefined(v) {
		return nil
	}
	m.env.Spent += one.Values
	if m.added += one.Weight; m.added <= limit/8 {
		return nil
	}
	all := value.Shared(limit + limit/4)
	all.Add(m.state())
	if all.Weight <= all.Limit {
		m.added = 0
	}
	all.Add(v) // it may be part of that already
	m.env.Spent += all.Values
	if all.Weight > limit {
		return automation.Raise(automation.ContextTooLarge, "all that the automation holds becomes too large",
			"context", "local", "size", float64(all.Weight), "limit", float64(limit))
	}
	return nil
}

// copied is how much memory it takes to change what is at a path without changing v: the
// objects and lists on the way are copied.
func copied(v any, path []expr.Step) int {
	scale := value.Scale{}
	scale.Copy(v)
	for _, step := range path {
		v = value.At(v, step.Key)
		scale.Copy(v)
	}
	return scale.Weight
}
