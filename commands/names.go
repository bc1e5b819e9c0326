package commands

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"svc/domain"
	"svc/domain/name"
	"svc/eventstore"
)

// Name is a word that one aggregate holds on the whole platform, such as the
// mail address of an account.
type Name struct{ Kind, Value string }

// Holder returns the aggregate that holds a name, as StreamID.String writes it,
// or "" when nobody does. It is the log's own word.
func Holder(ctx context.Context, e *Engine, n Name) (string, error) {
	held, err := refresh(ctx, e, name.Decider, name.Stream(n.Kind, n.Value), &folded[name.State]{})
	return held.state.Owner, err
}

// naming returns what is to be recorded with a decision of the aggregate id that
// held the names before and holds those after. Names are always read anew: they
// change seldom, and a refusal must be the log's own.
func naming(ctx context.Context, e *Engine, id domain.StreamID, own EventIDs, before, after []Name) ([]eventstore.Commit, error) {
	var commits []eventstore.Commit
	add := func(n Name, cmd name.Command) error {
		c, err := rename(ctx, e, n, own, cmd)
		if err == nil && len(c.Facts) > 0 {
			commits = append(commits, c)
		}
		return err
	}
	for i, n := range after {
		if slices.Contains(before, n) || slices.Contains(after[:i], n) {
			continue
		}
		if err := add(n, name.Take{Kind: n.Kind, Owner: id.String()}); err != nil {
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

// rename decides cmd on a name. The ids of its events are functions of those of
// the decision that it belongs to.
func rename(ctx context.Context, e *Engine, n Name, own EventIDs, cmd name.Command) (eventstore.Commit, error) {
	stream := name.Stream(n.Kind, n.Value)
	held, err := refresh(ctx, e, name.Decider, stream, &folded[name.State]{})
	if err != nil {
		return eventstore.Commit{}, err
	}
	c, err := commitBeside(ctx, e, name.Decider, stream, held, cmd, own)
	if refusal, ok := errors.AsType[*domain.Error](err); ok && refusal.Code == domain.CodeAlreadyExists {
		return eventstore.Commit{}, refusal.With("value", n.Value)
	}
	return c, err
}

// DecideBeside decides cmd on an aggregate as the log has it now, for a decision on
// another one that it is recorded with. A commit without facts changes nothing.
func DecideBeside[S, C any](ctx context.Context, e *Engine, d domain.Decider[S, C], id domain.StreamID, cmd C, own EventIDs) (eventstore.Commit, error) {
	agg, current, err := recall(ctx, e, d, id)
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
	return ids{base: fit(sha256.Sum256(append(d.base[:], stream.String()...)))}.at(i)
}
