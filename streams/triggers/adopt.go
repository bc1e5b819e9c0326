package triggers

import (
	"context"
	"sync"
	"time"

	"svc/commands"
)

// adopter takes care of trees that nobody runs any more.
type adopter struct {
	*share

	find func(ctx context.Context, wanted Wanted, visit func(Orphan)) error

	guard sync.Mutex
	wards map[string]*ward // by first execution
}

// ward is a tree that is, or was, taken care of.
type ward struct {
	under    bool // it goes on here
	over     bool // it has ended
	failures int  // how often it could not go on
	again    time.Time
	seen     bool // nobody has read of its end yet
}

func newAdopter(s *share, find func(ctx context.Context, wanted Wanted, visit func(Orphan)) error) *adopter {
	return &adopter{share: s, find: find, wards: map[string]*ward{}}
}

// adopt takes care of trees until ctx ends.
func (a *adopter) adopt(ctx context.Context) {
	for ctx.Err() == nil {
		err := a.find(ctx, a.wants, func(o Orphan) {
			if ctx.Err() == nil && a.wants(o.ExecutionID) { // once, however often it is found
				a.care(ctx, o)
			}
		})
		if err != nil && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "trees that nobody runs any more could not be looked for", "err", err)
		}
		a.sweep()
		_ = commands.Sleep(ctx, a.LookEvery)
	}
}

// wants reports whether a tree is to be taken care of.
func (a *adopter) wants(executionID string) bool {
	a.guard.Lock()
	defer a.guard.Unlock()
	c := a.wards[executionID]
	if c == nil {
		return true
	}
	c.seen = true
	return !c.under && !c.over && !a.Now().Before(c.again)
}

// note changes what is known of a tree.
func (a *adopter) note(o Orphan, change func(*ward)) {
	a.guard.Lock()
	defer a.guard.Unlock()
	c := a.wards[o.ExecutionID]
	if c == nil {
		c = &ward{seen: true}
		a.wards[o.ExecutionID] = c
	}
	change(c)
}

// sweep forgets the trees whose end was read.
func (a *adopter) sweep() {
	a.guard.Lock()
	defer a.guard.Unlock()
	for id, c := range a.wards {
		if !c.seen && !c.under {
			delete(a.wards, id)
		}
		c.seen = false
	}
}
