package contexts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"svc/domain/automation/variable"
	"svc/domain/value"
	"svc/eventstore"
)

// trusted is how long what a node remembers is only complemented by what is new.
// Then it is read from the beginning: what was swept meanwhile has left no trace.
const trusted = 10 * time.Minute

// loadEntry brings an entry up to date and returns what it knows then.
func (c *Contexts) loadEntry(ctx context.Context, e *entry) (cachedState, error) {
	before := e.asked.Load()
	if err := e.acquire(ctx); err != nil {
		return cachedState{}, err
	}
	defer e.release()
	if err := c.refresh(ctx, e, before); err != nil {
		return cachedState{}, err
	}
	if e.needsCompaction() {
		c.compact(ctx, e)
	}
	return e.cachedState, nil
}

// refresh reads what the log has that the entry has not. Whoever asked the log
// since the call began, which was after so many questions, has asked for us too;
// and where nobody else writes the entry knows all there is.
func (c *Contexts) refresh(ctx context.Context, e *entry, before uint64) error {
	if e.stale.Swap(false) {
		e.reset()
	}
	if e.loaded && (c.isSingleNode(e) || e.answered > before) {
		return nil
	}
	now := c.opts.Now()
	if e.loaded && now.Sub(e.checked) > trusted {
		e.reset()
	}
	question := e.asked.Add(1)
	err := c.opts.Store.Since(ctx, e.key.stream(), e.seq, func(seq uint64, snapshot bool, parts string, body []byte) error {
		return c.apply(ctx, e, seq, snapshot, parts, body)
	})
	if err != nil {
		e.reset()
		return err
	}
	e.loaded, e.answered, e.checked = true, question, now
	return nil
}

// doubtful is how long a write whose outcome is not known may still arrive.
const doubtful = time.Minute

// isSingleNode reports whether an entry that is loaded has all that the log has because
// nobody else writes there, and nothing is on its way.
func (c *Contexts) isSingleNode(e *entry) bool {
	return c.opts.Store.Alone() && e.checked.UnixNano() > c.doubt.Load()
}

// apply adds to an entry what the log has at seq.
func (c *Contexts) apply(ctx context.Context, e *entry, seq uint64, snapshot bool, parts string, body []byte) error {
	plain, err := c.opts.Vault.Open(ctx, e.key.WorkspaceID, body, e.key.purpose())
	if err != nil {
		return err
	}
	if snapshot {
		s, err := decodeState(plain)
		if err == nil {
			e.replace(seq, s, parts)
		}
		return err
	}
	r, err := decodeRecord(plain)
	if err == nil {
		e.add(seq, r, parts, len(body))
	}
	return err
}

// append adds one change to the log. The entry is held until the log has it, so
// that the order here is that of the log; not until it is on disk.
func (c *Contexts) append(ctx context.Context, id string, change Change) error {
	r := record{
		mark: mark(id), at: rounded(c.opts.Now()), expires: rounded(change.Expires), writes: slices.Clone(change.Writes),
		limit: change.Limit, lifetime: change.Lifetime,
	}
	for i, w := range r.writes {
		r.writes[i].Until = rounded(w.Until)
	}
	body, err := c.opts.Vault.Seal(ctx, change.Key.WorkspaceID, r.encode(), change.Key.purpose())
	if err != nil {
		return err
	}
	e := c.cache.use(change.Key)
	size := -1
	defer func() { c.cache.done(e, size) }()
	if err := e.acquire(ctx); err != nil {
		return err
	}
	expires := r.expires
	if e.loaded {
		expires = e.state.at(r.at).expiryOf(r)
	}
	listed := c.announce(ctx, e, expires)
	stored, full := false, false
	err = c.opts.Store.Put(ctx, change.Key.stream(), id, body, func(seq uint64, parts string) {
		if e.loaded && c.isSingleNode(e) && seq > e.seq {
			e.add(seq, r, parts, len(body))
			size, full = e.state.size, e.needsCompaction()
		}
		stored = true
		e.release()
	})
	if !stored {
		c.doubt.Store(c.opts.Now().Add(doubtful).UnixNano())
		e.release()
	} else if err != nil {
		e.stale.Store(true) // the log has it, the disk may not
	}
	if err = errors.Join(err, listed()); err == nil && full {
		_, _ = c.loadEntry(ctx, e) // folds it; what is written is written
	}
	return err
}

// compact puts a snapshot in the place of the operations. Who cannot, because others
// write meanwhile, tries again some operations later: that is no error of who reads
// or writes.
func (c *Contexts) compact(ctx context.Context, e *entry) {
	e.patience = e.count + manyOperations/4
	err := c.fold(ctx, e, e.state.at(rounded(c.opts.Now())))
	if err != nil && !errors.Is(err, eventstore.ErrConflict) {
		c.opts.Log.WarnContext(ctx, "a context was not folded into a snapshot; the next write does it", "context", e.key.Kind, "workspace", e.key.WorkspaceID, "err", err)
	}
}

// fold replaces everything that the entry knows of in the log by a state.
func (c *Contexts) fold(ctx context.Context, e *entry, s state) error {
	body, err := c.opts.Vault.Seal(ctx, e.key.WorkspaceID, s.encode(), e.key.purpose())
	if err != nil {
		return err
	}
	seq, parts, err := c.opts.Store.Fold(ctx, e.key.stream(), "fold-"+rand.Text(), e.seq, e.parts, body)
	if err != nil {
		if c.opts.Store.Alone() || !errors.Is(err, eventstore.ErrConflict) {
			e.stale.Store(true)
		}
		return err
	}
	e.replace(seq, s, parts)
	return nil
}

// record is one operation on a context as it is stored.
type record struct {
	mark    []byte    // tells repetitions
	at      time.Time // by the clock of its writer
	expires time.Time
	writes  []Write

	limit    int // bytes of the context; 0: none
	lifetime Lifetime
}

var errMalformed = errors.New("a stored context is malformed")

// mark returns a short text that differs for operations with different ids.
func mark(id string) []byte {
	sum := sha256.Sum256([]byte(id))
	return sum[:markSize]
}

func (r record) encode() []byte {
	writes := make([]any, len(r.writes))
	for i, w := range r.writes {
		writes[i] = []any{w.Op.Encoded(), encodeTime(w.Until)}
	}
	return variable.Encode([]any{value.Bytes(r.mark), encodeTime(r.at), encodeTime(r.expires), writes, float64(r.limit), float64(r.lifetime)})
}

func decodeRecord(body []byte) (r record, err error) {
	f, err := decodeFields(body, 4, 6) // 4: from before there were limits
	if err != nil {
		return r, err
	}
	r = record{mark: f.bytes(0), at: f.time(1), expires: f.time(2)}
	if len(f.all) == 6 {
		r.limit, r.lifetime = f.count(4), Lifetime(f.count(5))
	}
	for _, item := range f.list(3) {
		pair, _ := item.([]any)
		if len(pair) != 2 {
			return r, errMalformed
		}
		op, err := variable.DecodeOp(pair[0])
		if err != nil {
			return r, fmt.Errorf("%w: %w", errMalformed, err)
		}
		r.writes = append(r.writes, Write{Op: op, Until: f.timeOf(pair[1])})
	}
	if f.failed || len(r.mark) != markSize {
		return r, errMalformed
	}
	return r, nil
}

// encode writes a state as a snapshot.
func (s state) encode() []byte {
	lifetimes := make([]any, len(s.lifetimes))
	for i, l := range s.lifetimes {
		lifetimes[i] = []any{variable.Op{Path: l.path}.Encoded(), encodeTime(l.until)}
	}
	return variable.Encode([]any{value.Bytes(s.seen), encodeTime(s.expires), s.object, lifetimes})
}

func decodeState(body []byte) (s state, err error) {
	f, err := decodeFields(body, 4)
	if err != nil {
		return s, err
	}
	object, ok := f.all[2].(*value.Object)
	s = state{object: object, size: variable.Size(object), expires: f.time(1), seen: f.bytes(0)}
	for _, item := range f.list(3) {
		pair, _ := item.([]any)
		if len(pair) != 2 {
			return s, errMalformed
		}
		at, err := variable.DecodeOp(pair[0])
		if err != nil {
			return s, fmt.Errorf("%w: %w", errMalformed, err)
		}
		s.lifetimes = append(s.lifetimes, lifetime{at.Path, f.timeOf(pair[1])})
	}
	if !ok || f.failed || len(s.seen)%markSize != 0 {
		return s, errMalformed
	}
	return s, nil
}

// Key is encoded where its context has to be found again.

func (k Key) encode() []byte { return variable.Encode([]any{k.WorkspaceID, k.Kind, k.ID}) }

func decodeKey(body []byte) (Key, error) {
	f, err := decodeFields(body, 3)
	if err != nil {
		return Key{}, err
	}
	workspace, one := f.all[0].(string)
	kind, two := f.all[1].(string)
	id, three := f.all[2].(string)
	if !one || !two || !three {
		return Key{}, errMalformed
	}
	return Key{workspace, kind, id}, nil
}

// fields are the parts of something stored. A part of another type than asked for
// makes it failed.
type fields struct {
	all    []any
	failed bool
}

func decodeFields(body []byte, numbers ...int) (*fields, error) {
	v, err := variable.Decode(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	all, _ := v.([]any)
	if !slices.Contains(numbers, len(all)) {
		return nil, errMalformed
	}
	return &fields{all: all}, nil
}

func (f *fields) bytes(i int) []byte {
	b, ok := f.all[i].(value.Bytes)
	f.failed = f.failed || !ok
	return b
}

func (f *fields) list(i int) []any {
	list, ok := f.all[i].([]any)
	f.failed = f.failed || !ok
	return list
}

// count is a number from 0 on.
func (f *fields) count(i int) int {
	n, ok := f.all[i].(float64)
	if !ok || n < 0 || n > math.MaxInt32 || n != math.Trunc(n) {
		f.failed = true
		return 0
	}
	return int(n)
}

func (f *fields) time(i int) time.Time { return f.timeOf(f.all[i]) }

func (f *fields) timeOf(v any) time.Time {
	ms, ok := v.(float64)
	f.failed = f.failed || !ok
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// encodeTime writes a time in milliseconds; 0 for the zero one.
func encodeTime(t time.Time) any {
	if t.IsZero() {
		return 0.0
	}
	return float64(t.UnixMilli())
}

// rounded is a time as it is stored, so that a state is the same before and after.
func rounded(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}
