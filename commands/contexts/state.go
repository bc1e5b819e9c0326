package contexts

import (
	"container/list"
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"svc/domain/automation/expr"
	"svc/domain/automation/variable"
	"svc/domain/value"
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
	expires := s.expiryOf(r)
	for _, w := range r.writes {
		if next := s.after(w); r.limit == 0 || next.size <= max(s.size, r.limit) {
			s = next
		}
	}
	s.expires = expires
	s.seen = append(slices.Clone(s.seen[max(0, len(s.seen)+markSize-maxSeen):]), r.mark...)
	return s
}

// expiryOf is when the state goes after an operation on it, by the clock of which it is
// what it is.
func (s state) expiryOf(r record) time.Time {
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
	if isExpired(s.expires, now) {
		return state{object: &value.Object{}, size: len("{}"), expires: s.expires, seen: s.seen}
	}
	for {
		due := slices.IndexFunc(s.lifetimes, func(l lifetime) bool { return isExpired(l.until, now) })
		if due < 0 {
			return s
		}
		path := s.lifetimes[due].path
		s.lifetimes = slices.Delete(slices.Clone(s.lifetimes), due, due+1)
		s = s.after(Write{Op: variable.Op{Kind: variable.Delete, Path: path}})
	}
}

// isExpired reports whether a time has come; a zero one never does.
func isExpired(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// after returns the state after one write. One that others' writes have made
// impossible meanwhile, such as a push to what is no list any more, does nothing.
func (s state) after(w Write) state {
	idle := value.IsUndefined(w.Op.Value) && (w.Op.Kind == variable.Merge || w.Op.Kind == variable.Push)
	next, added, err := variable.Change(s.object, w.Op)
	if err != nil || idle {
		return s
	}
	object, ok := next.(*value.Object)
	if !ok && !value.IsUndefined(next) {
		return s
	}
	s.lifetimes = remaining(s.lifetimes, w.Op, s.object)
	s.object, s.size = object, s.size+added
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

// entry is a context as this node knows it, and the lock under which it is read
// from and written to the log: who holds it knows the order of what it stores.
type entry struct {
	key         Key
	lock        chan struct{} // holds one while the entry is taken
	stale       atomic.Bool   // set when the log may have something else than the entry
	asked       atomic.Uint64 // how often the log was asked
	users       int           // who may hold or want the lock; of the cache
	cost        int           // of the cache
	place       *list.Element // of the cache
	cachedState               // under the lock
}

// cachedState is what an entry knows.
type cachedState struct {
	loaded   bool
	state    state
	seq      uint64    // of the last operation in state
	answered uint64    // which question to the log was the last to be answered
	checked  time.Time // when it was asked
	count    int       // operations since the last snapshot
	bytes    int       // their size
	parts    []string  // what of them, and of the snapshot, has parts
	patience int       // how many operations there must be before the next attempt at a snapshot
}

// acquire waits for the lock.
func (e *entry) acquire(ctx context.Context) error {
	select {
	case e.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (e *entry) release() { <-e.lock }

// reset makes the entry know nothing.
func (e *entry) reset() { e.cachedState = cachedState{state: empty()} }

// add applies one operation that the log has at seq.
func (e *entry) add(seq uint64, r record, parts string, size int) {
	e.state, e.seq = e.state.with(r), seq
	e.count++
	e.bytes += size
	if parts != "" {
		e.parts = append(e.parts, parts)
	}
}

// replace makes a snapshot that the log has at seq the whole of the entry.
func (e *entry) replace(seq uint64, s state, parts string) {
	e.state, e.seq, e.count, e.bytes, e.parts, e.patience = s, seq, 0, 0, nil, 0
	if parts != "" {
		e.parts = []string{parts}
	}
}

// When a context is worth a snapshot: reading its operations costs more than
// reading it. A large one is not written again for a few small operations.
const (
	manyOperations = 64
	tooMany        = 8 * manyOperations
	smallContext   = 16 << 10
)

// needsCompaction reports whether a snapshot should take the place of the operations.
func (e *entry) needsCompaction() bool {
	switch {
	case e.count < max(2, e.patience):
		return false
	case e.bytes >= 4*max(e.state.size, smallContext), e.count >= tooMany:
		return true
	}
	return e.count >= manyOperations && e.bytes >= e.state.size/8
}

// cache keeps the contexts that were used last. An entry that someone uses is
// never dropped: two entries of one context would not know of each other.
type cache struct {
	mu      sync.Mutex
	max     int // bytes
	used    int
	entries map[Key]*entry
	order   *list.List // of *entry, the last used in front
}

func newCache(limit int) *cache {
	return &cache{max: limit, entries: map[Key]*entry{}, order: list.New()}
}

// use returns the entry of a context. Each use ends with one done.
func (c *cache) use(key Key) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		e = &entry{key: key, lock: make(chan struct{}, 1), cost: entryCost, cachedState: cachedState{state: empty()}}
		e.place = c.order.PushFront(e)
		c.entries[key] = e
		c.used += e.cost
	}
	c.order.MoveToFront(e.place)
	e.users++
	return e
}

// entryCost is what an entry takes besides its values, about; and a value in
// memory takes about this many times its JSON.
const (
	entryCost   = 1 << 10
	valueFactor = 3
)

// done ends a use. size is that of the context, negative when it is not known.
func (c *cache) done(e *entry, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.users--
	if size >= 0 {
		cost := entryCost + valueFactor*size
		c.used += cost - e.cost
		e.cost = cost
	}
	for element := c.order.Back(); element != nil && c.used > c.max; {
		last, _ := element.Value.(*entry)
		element = element.Prev()
		c.drop(last)
	}
}

func (c *cache) drop(e *entry) {
	if e.users == 0 {
		c.order.Remove(e.place)
		delete(c.entries, e.key)
		c.used -= e.cost
	}
}

// deleteWorkspace drops the entries of a workspace. Those in use are read again.
func (c *cache) deleteWorkspace(workspaceID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.entries {
		if key.WorkspaceID == workspaceID {
			e.stale.Store(true)
			c.drop(e)
		}
	}
}
