package commands

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/feed"
	"svc/domain/topic"
	"svc/eventstore"
)

// Events records what users and automations emit.
type Events struct {
	Engine *Engine
	Now    func() time.Time
	Limit  func() int // characters of a payload: BROKER_EMIT_MAXLEN
	// Live gets the events that are not kept, once those that came with them are; nil:
	// nobody does. Their Seq is 0.
	Live func(workspaceID string, ev domain.Recorded)
}

// Emission is an event to be recorded under a name of its sender's choice.
type Emission = activity.Emission

// Emit records all events of a batch or none, with one wait for the disk, and returns
// them as they are kept. Each of may is asked about every event, as it is about to be
// recorded, and refuses the whole batch with an error. An event with persist: false is
// kept nowhere.
func (e Events) Emit(ctx context.Context, workspaceID string, batch []Emission, may ...func(domain.Recorded) error) ([]domain.Recorded, error) {
	batch, err := activity.Terms{Limit: e.Limit()}.Normalise(batch)
	if err != nil {
		return nil, err
	}
	ids := drawIDs(ctx, "activity/"+workspaceID+"/emit")
	drafts := e.drafts(ctx, workspaceID, batch, ids)
	for _, ask := range may {
		for _, ev := range drafts {
			if err := ask(ev); err != nil {
				return nil, err
			}
		}
	}
	if err := e.appendPersisted(ctx, drafts, ids); err != nil {
		return nil, err
	}
	for _, ev := range drafts {
		if !ev.Options.Persisted() && e.Live != nil {
			e.Live(workspaceID, ev)
		}
	}
	return drafts, nil
}

// drafts returns the events of a batch before they have a place in the log.
func (e Events) drafts(ctx context.Context, workspaceID string, batch []Emission, ids ids) []domain.Recorded {
	meta, now := e.Engine.meta(ctx), e.Now()
	meta.ServiceTopic = feed.Emitted
	drafts := make([]domain.Recorded, len(batch))
	for i, em := range batch {
		meta.Actor = em.Actor
		drafts[i] = domain.Recorded{
			ID: ids.at(i), Log: domain.Activity, Stream: domain.StreamID{Scope: workspaceID}, At: now, Meta: meta,
			Data: domain.Unknown{Name: em.Type, Body: em.Payload}, Target: em.Target, Options: em.Options, Body: em.Payload,
		}
	}
	return drafts
}

// appendPersisted appends the events that are persisted, and replaces the drafts by the stored
// events: their time is that of the log, and those of a repeated request are those of the first. A
// crash may have voided the ids of the first attempt: then the events get the next ones.
func (e Events) appendPersisted(ctx context.Context, drafts []domain.Recorded, ids ids) error {
	facts := persistedFacts(drafts)
	if len(facts) == 0 {
		return nil
	}
	receipt, err := e.append(ctx, drafts, facts)
	for attempt := 1; errors.Is(err, eventstore.ErrVoidIDs) && attempt < maxAttempts; attempt++ {
		ids = ids.again()
		for i := range drafts {
			drafts[i].ID = ids.at(i)
		}
		facts = persistedFacts(drafts)
		receipt, err = e.append(ctx, drafts, facts)
	}
	if err != nil {
		return unavailable(err)
	}
	RequestFrom(ctx).Saw(receipt.Position)
	stored, err := e.Engine.store.Reread(ctx, domain.Activity, receipt.Seqs)
	if err != nil || len(stored) != len(facts) {
		stored = nil // they are stored all the same
	}
	next := 0
	for i := range drafts {
		if !drafts[i].Options.Persisted() {
			continue
		}
		drafts[i].Seq = receipt.Seqs[next]
		if stored != nil {
			drafts[i] = stored[next]
		}
		next++
	}
	return nil
}

// persistedFacts returns the facts of the drafts that are persisted.
func persistedFacts(drafts []domain.Recorded) []eventstore.Fact {
	facts := make([]eventstore.Fact, 0, len(drafts))
	for _, ev := range drafts {
		if ev.Options.Persisted() {
			facts = append(facts, eventstore.Fact{ID: ev.ID, Event: ev.Data, Target: ev.Target, Options: ev.Options})
		}
	}
	return facts
}

func (e Events) append(ctx context.Context, drafts []domain.Recorded, facts []eventstore.Fact) (eventstore.Receipt, error) {
	return e.Engine.store.Append(ctx, eventstore.Commit{Stream: drafts[0].Stream, Meta: drafts[0].Meta, Facts: facts})
}

// Failures records refused requests as `error` events of their workspace.
type Failures struct {
	Engine *Engine
	Log    *slog.Logger
}

// RecordFailure records err in workspaceID. A failure to do so is only logged:
// the caller has its answer already.
func (f Failures) RecordFailure(ctx context.Context, workspaceID string, err *domain.Error) {
	ev := activity.Failure{Error: string(err.Code), Message: err.Message, Details: err.Details}
	if recordErr := f.Engine.Record(ctx, workspaceID, ev); recordErr != nil {
		f.Log.WarnContext(ctx, "error event not recorded", "workspace", workspaceID, "err", recordErr)
	}
}

// Topics makes user topics and adds users to them.
type Topics struct{ Engine *Engine }

// Create makes a topic of a workspace with its first members. One that exists is left
// as it is, its members too.
func (t Topics) Create(ctx context.Context, workspaceID, name string, userIDs []string) error {
	return t.execute(ctx, workspaceID, name, topic.Create{Name: name, UserIDs: userIDs})
}

// Join adds users to a topic of a workspace. One that does not exist is made, or
// without create refused as not found.
func (t Topics) Join(ctx context.Context, workspaceID, name string, userIDs []string, create bool) error {
	return t.execute(ctx, workspaceID, name, topic.Join{Name: name, UserIDs: userIDs, Create: create})
}

func (t Topics) execute(ctx context.Context, workspaceID, name string, cmd topic.Command) error {
	_, err := Execute(ctx, t.Engine, topic.Decider, topic.Stream(workspaceID, name), cmd)
	return err
}
