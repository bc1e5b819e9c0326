package commands

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"

	"svc/domain"
	"svc/domain/name"
	"svc/eventstore"
)

// Bounds of the command path.
const (
	maxAttempts   = 50      // lost races before a command gives up
	cachedStates  = 4096    // aggregates kept folded
	snapshotEvery = 200     // events after which a state is snapshotted, if it is small
	snapshotBytes = 1 << 10 // of a snapshot for each event since: a large state is written less often
	maxSnapshot   = 4 << 20 // bytes; what is larger is folded again after a restart
	recentIDs     = 32      // ids remembered per aggregate, to know one's own events
)

// folded is an aggregate at a point of its history. It is never changed, only
// replaced.
type folded[S any] struct {
	state  S
	seq    uint64   // of its last event; 0 for none
	recent []string // ids of its last events
	voided []string // ids of its last events that never counted
	length int      // events folded since the last snapshot
	size   int      // bytes of the last snapshot
}

// snapshot is a folded aggregate as it is kept.
type snapshot[S any] struct {
	State  S        `json:"state"`
	Recent []string `json:"recent,omitempty"`
	Voided []string `json:"voided,omitempty"`
}

// Execution is the result of a command.
type Execution[S any] struct {
	State   S
	Seq     uint64 // of the aggregate's last event
	Changed bool   // whether this command recorded anything
}

// Precondition is asked before each decision with the state it is made on.
type Precondition[S any] func(S) error

// Execute runs cmd against the aggregate at id. A lost race is run again from
// the load, so Decide always has the last word of the log: a decision made on a
// remembered state counts only when the append accepts it; a refusal is given
// only after the state was brought up to date.
func Execute[S, C any](ctx context.Context, e *Engine, d domain.Decider[S, C], id domain.StreamID, cmd C, pre ...Precondition[S]) (Execution[S], error) {
	return ExecuteNaming(ctx, e, d, id, cmd, nil, pre...)
}

// ExecuteNaming is Execute for an aggregate that holds names which nobody else
// may hold; names lists those of a state. What the command changes and the names
// it takes or gives up are recorded together or not at all. A name that is taken
// is refused as one that exists already.
func ExecuteNaming[S, C any](ctx context.Context, e *Engine, d domain.Decider[S, C], id domain.StreamID, cmd C, names func(S) []Name, pre ...Precondition[S]) (Execution[S], error) {
	var beside Beside[S]
	if names != nil {
		beside = func(before, after S, own EventIDs) ([]eventstore.Commit, error) {
			return naming(ctx, e, id, own, names(before), names(after))
		}
	}
	return ExecuteBeside(ctx, e, d, id, cmd, beside, pre...)
}

// EventIDs returns the id of the i-th event that is recorded on another aggregate
// together with a decision: the same for every attempt at it.
type EventIDs func(stream domain.StreamID, i int) string

// Beside returns what is recorded on other aggregates together with a decision that
// turned before into after. It is asked for each attempt, and must not cause effects.
type Beside[S any] func(before, after S, own EventIDs) ([]eventstore.Commit, error)

// ExecuteBeside is Execute for a decision that other aggregates record too: all of it
// or nothing. Without beside it is Execute.
func ExecuteBeside[S, C any](ctx context.Context, e *Engine, d domain.Decider[S, C], id domain.StreamID, cmd C, beside Beside[S], pre ...Precondition[S]) (Execution[S], error) {
	release, err := e.turns.Acquire(ctx, id)
	if err != nil {
		return Execution[S]{}, err
	}
	defer release()
	ids := drawIDs(ctx, id.String())
	agg, current, err := cached(ctx, e, d, id)
	for attempt := 1; err == nil; attempt++ {
		for slices.Contains(agg.voided, ids.at(0)) {
			ids = ids.again() // a power cut took the first attempt, and its ids
		}
		if slices.Contains(agg.recent, ids.at(0)) {
			return newExecution(ctx, agg, true), nil
		}
		var events []domain.Event
		var with []eventstore.Commit
		var after S
		if events, err = decide(d, agg, cmd, pre); err == nil && len(events) > 0 {
			if after = d.Fold(agg.state, events...); beside != nil {
				with, err = beside(agg.state, after, ids.beside)
			}
		}
		if (err != nil || len(events) == 0) && !current {
			agg, err = refresh(ctx, e, d, id, agg)
			current = true
			continue
		}
		if err != nil || len(events) == 0 {
			return newExecution(ctx, agg, false), err
		}
		next, appendErr := appendTo(ctx, e, d, id, agg, after, ids, events, with)
		if appendErr == nil {
			return newExecution(ctx, next, true), nil
		}
		if !errors.Is(appendErr, eventstore.ErrConflict) {
			return Execution[S]{}, appendErr
		}
		if attempt == maxAttempts {
			return Execution[S]{}, busyError(id)
		}
		agg, err = afterConflict(ctx, e, d, id, agg, attempt)
		current = true
	}
	return Execution[S]{}, err
}

// afterConflict brings agg up to date. When there is nothing newer, what was remembered is ahead of the log, which lost
// its end: it is folded from the beginning. When that is no other state either, the replica that was read lags behind
// the one that refused: it gets some time.
func afterConflict[S, C any](ctx context.Context, e *Engine, d domain.Decider[S, C], id domain.StreamID, agg *folded[S], attempt int) (*folded[S], error) {
	next, err := refresh(ctx, e, d, id, agg)
	if err != nil || next.seq != agg.seq {
		return next, err
	}
	e.cache.Drop(id)
	next, err = refresh(ctx, e, d, id, &folded[S]{})
	if err != nil || next.seq != agg.seq {
		return next, err
	}
	if err := Backoff(ctx, attempt); err != nil {
		return next, err
	}
	return refresh(ctx, e, d, id, next)
}

// busyError is the answer when others won every race.
func busyError(id domain.StreamID) error {
	return domain.Refuse(domain.CodeConflict, "%s is being changed by others, try again", id.Kind).Reason("stale")
}

func decide[S, C any](d domain.Decider[S, C], agg *folded[S], cmd C, pre []Precondition[S]) ([]domain.Event, error) {
	for _, check := range pre {
		if err := check(agg.state); err != nil {
			return nil, err
		}
	}
	return d.Decide(agg.state, cmd)
}

func newExecution[S any](ctx context.Context, agg *folded[S], changed bool) Execution[S] {
	if changed {
		RequestFrom(ctx).Saw(domain.At(domain.State, agg.seq))
	}
	return Execution[S]{State: agg.state, Seq: agg.seq, Changed: changed}
}

// cached returns the aggregate of the cache, or loads it; current is true when it was loaded just now.
func cached[S, C any](ctx context.Context, e *Engine, d domain.Decider[S, C], id domain.StreamID) (agg *folded[S], current bool, err error) {
	if known, ok := e.cache.Get(id); ok {
		if agg, ok := known.(*folded[S]); ok {
			return agg, false, nil
		}
	}
	agg, err = refresh(ctx, e, d, id, fromSnapshot(e, d, id))
	return agg, true, err
}

// fromSnapshot returns the state of the snapshot of id, or an empty one.
func fromSnapshot[S, C any](e *Engine, d domain.Decider[S, C], id domain.StreamID) *folded[S] {
	agg := &folded[S]{}
	if e.snapshots == nil {
		return agg
	}
	seq, body, ok := e.snapshots.Get(id, d.Version)
	if !ok {
		return agg
	}
	var stored snapshot[S]
	if err := json.Unmarshal(body, &stored); err != nil {
		e.log.Warn("unreadable snapshot ignored", "aggregate", id.String(), "err", err)
		return agg
	}
	return &folded[S]{state: stored.State, seq: seq, recent: stored.Recent, voided: stored.Voided, size: len(body)}
}

// refresh folds the events since agg and stores the result in the cache.
func refresh[S, C any](ctx context.Context, e *Engine, d domain.Decider[S, C], id domain.StreamID, agg *folded[S]) (*folded[S], error) {
	events, err := e.store.Load(ctx, id, agg.seq)
	if err != nil {
		return agg, unavailable(err)
	}
	next := *agg
	for _, ev := range events {
		if _, void := ev.Data.(domain.Void); void {
			next.voided = appendRecent(next.voided, ev.ID)
		} else {
			next.state = d.Evolve(next.state, ev.Data)
			next.recent = appendRecent(next.recent, ev.ID)
		}
		next.seq = ev.Seq
		next.length++
	}
	store(e, d, id, &next)
	return &next, nil
}

// appendTo records events, with what else belongs to the decision, and returns
// the aggregate after them, with the state that they turned it into.
func appendTo[S, C any](ctx context.Context, e *Engine, d domain.Decider[S, C], id domain.StreamID, agg *folded[S], after S, ids ids, events []domain.Event, with []eventstore.Commit) (*folded[S], error) {
	facts := make([]eventstore.Fact, len(events))
	for i, ev := range events {
		facts[i] = eventstore.Fact{ID: ids.at(i), Event: ev}
	}
	commit := eventstore.Commit{Stream: id, Expected: agg.seq, Meta: e.meta(ctx), Facts: facts}
	receipt, err := e.store.Append(ctx, append([]eventstore.Commit{commit}, with...)...)
	if err != nil {
		return nil, unavailable(err)
	}
	RequestFrom(ctx).Saw(receipt.Position)
	if receipt.Seqs[0] <= agg.seq {
		return refresh(ctx, e, d, id, agg) // stored by an earlier attempt, long ago
	}
	next := *agg
	next.state = after
	next.seq = receipt.Seqs[len(facts)-1]
	next.length += len(events)
	for _, f := range facts {
		next.recent = appendRecent(next.recent, f.ID)
	}
	store(e, d, id, &next)
	return &next, nil
}

// store stores agg in the cache, and makes a snapshot after many events: so many that what it
// costs is shared by them, however large the state is.
func store[S, C any](e *Engine, d domain.Decider[S, C], id domain.StreamID, agg *folded[S]) {
	if e.snapshots != nil && agg.length >= max(snapshotEvery, agg.size/snapshotBytes) {
		body, err := json.Marshal(snapshot[S]{agg.state, agg.recent, agg.voided})
		if err == nil && (len(body) > maxSnapshot || e.snapshots.Put(id, d.Version, agg.seq, body) == nil) {
			agg.length, agg.size = 0, len(body)
		}
	}
	e.cache.Update(id, func(old any, _ bool) (any, bool) {
		have, ok := old.(*folded[S])
		return agg, !ok || have.seq <= agg.seq // else the cached one is newer
	})
}

// appendRecent returns a copy of recent with id added.
func appendRecent(recent []string, id string) []string {
	if len(recent) >= recentIDs {
		recent = recent[1:]
	}
	return append(recent[:len(recent):len(recent)], id)
}

// Current returns the aggregate at id as the log has it now.
func Current[S, C any](ctx context.Context, e *Engine, d domain.Decider[S, C], id domain.StreamID) (Execution[S], error) {
	agg, current, err := cached(ctx, e, d, id)
	if err == nil && !current {
		agg, err = refresh(ctx, e, d, id, agg)
	}
	if err != nil {
		return Execution[S]{}, err
	}
	return newExecution(ctx, agg, false), nil
}

// Name is a word that one aggregate holds on the whole platform, such as the
// mail address of an account.
type Name struct{ Kind, Value string }

// NameOwner returns the aggregate that holds a name, as StreamID.String writes it,
// or "" when nobody does. It is the log's own word.
func NameOwner(ctx context.Context, e *Engine, n Name) (string, error) {
	owner, err := refresh(ctx, e, name.Decider, name.Stream(n.Kind, n.Value), &folded[name.State]{})
	return owner.state.Owner, err
}

// naming returns what is to be recorded with a decision of the aggregate id that
// held the names before and holds those after. Names are always read anew: they
// change seldom, and a refusal must be the log's own.
func naming(ctx context.Context, e *Engine, id domain.StreamID, own EventIDs, before, after []Name) ([]eventstore.Commit, error) {
	var commits []eventstore.Commit
	add := func(n Name, cmd name.Command) error {
		c, err := claimCommit(ctx, e, n, own, cmd)
		if err == nil && len(c.Facts) > 0 {
			commits = append(commits, c)
		}
		return err
	}
	for i, n := range after {
		if slices.Contains(before, n) || slices.Contains(after[:i], n) {
			continue
		}
		if err := add(n, name.Claim{Kind: n.Kind, Owner: id.String()}); err != nil {
			return nil, err
		}
	}
	for i, n := range before {
		if slices.Contains(after, n) || slices.Contains(before[:i], n) {
			continue
		}
		if err := add(n, name.Release{Kind: n.Kind, Owner: id.String()}); err != nil {
			return nil, err
		}
	}
	return commits, nil
}

// claimCommit decides cmd on a name. The ids of its events are functions of those of
// the decision that it belongs to.
func claimCommit(ctx context.Context, e *Engine, n Name, own EventIDs, cmd name.Command) (eventstore.Commit, error) {
	stream := name.Stream(n.Kind, n.Value)
	owner, err := refresh(ctx, e, name.Decider, stream, &folded[name.State]{})
	if err != nil {
		return eventstore.Commit{}, err
	}
	c, err := commitBeside(ctx, e, name.Decider, stream, owner, cmd, own)
	if refusal, ok := errors.AsType[*domain.Error](err); ok && refusal.Code == domain.CodeAlreadyExists {
		return eventstore.Commit{}, refusal.With("value", n.Value)
	}
	return c, err
}

// DecideBeside decides cmd on an aggregate as the log has it now, for a decision on
// another one that it is recorded with. A commit without facts changes nothing.
func DecideBeside[S, C any](ctx context.Context, e *Engine, d domain.Decider[S, C], id domain.StreamID, cmd C, own EventIDs) (eventstore.Commit, error) {
	agg, current, err := cached(ctx, e, d, id)
	if err == nil && !current {
		agg, err = refresh(ctx, e, d, id, agg)
	}
	if err != nil {
		return eventstore.Commit{}, err
	}
	return commitBeside(ctx, e, d, id, agg, cmd, own)
}

func commitBeside[S, C any](ctx context.Context, e *Engine, d domain.Decider[S, C], id domain.StreamID, agg *folded[S], cmd C, own EventIDs) (eventstore.Commit, error) {
	events, err := d.Decide(agg.state, cmd)
	if err != nil || len(events) == 0 {
		return eventstore.Commit{}, err
	}
	c := eventstore.Commit{Stream: id, Expected: agg.seq, Meta: e.meta(ctx)}
	for i, ev := range events {
		c.Facts = append(c.Facts, eventstore.Fact{ID: own(id, i), Event: ev})
	}
	return c, nil
}

// beside is an EventIDs.
func (d ids) beside(stream domain.StreamID, i int) string {
	return ids{base: toULID(sha256.Sum256(append(d.base[:], stream.String()...)))}.at(i)
}
