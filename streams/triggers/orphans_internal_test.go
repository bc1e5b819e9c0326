package triggers

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/commands/content"
	"svc/commands/contexts"
	"svc/commands/parked"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/commands/seal"
	"svc/commands/throttle"
	"svc/commands/vault"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/redact"
	"svc/domain/document"
	"svc/domain/value"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

const (
	patience = time.Minute
	tick     = 5 * time.Millisecond
)

// slowLog is a real log that can take for ever.
type slowLog struct {
	*jetstream.Store
	slow  atomic.Bool
	asked atomic.Bool  // while it was slow
	tree  atomic.Value // that began last
	began atomic.Int32 // how often one did
}

func (l *slowLog) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	if l.slow.Load() {
		l.asked.Store(true)
		<-ctx.Done()
		return eventstore.Receipt{}, ctx.Err()
	}
	for _, c := range commits {
		for _, f := range c.Facts {
			if begun, is := f.Event.(activity.TreeStarted); is {
				l.tree.Store(begun.ExecutionID)
				l.began.Add(1)
			}
		}
	}
	return l.Store.Log.Append(ctx, commits...)
}

// waits is a workspace with one automation, which waits.
type waits struct{}

func (waits) Moment() uint64 { return 1 }

func (waits) Workspace(id string) (programs.Workspace, bool, error) {
	return programs.Workspace{ID: id, Slug: id, Name: id, Revision: 1}, true, nil
}

func (waits) Edition(string, string) (string, uint64, error) { return "", 0, nil }

func (waits) At(context.Context, string, uint64) (map[string]content.Ref, error) {
	return map[string]content.Ref{"automations/a": {Hash: "a"}}, nil
}

func (waits) Changes(context.Context, string, uint64, uint64) (map[string]content.Ref, bool, error) {
	return nil, false, nil
}

func (waits) Document(context.Context, string, content.Ref) (*document.Map, error) {
	doc := document.MapOf()
	return doc, doc.UnmarshalJSON([]byte(`{"slug":"a","name":"a","do":[{"wait":{"timeout":600}}]}`))
}

func (waits) All(context.Context, string) (map[string]string, error) { return nil, nil }

func (waits) Open(context.Context, string) (map[string]string, *redact.Set, error) {
	return nil, redact.New(), nil
}

func (waits) Known(context.Context, string) ([]programs.Workspace, error) { return nil, nil }

// openOrphanHandler returns an orphanHandler with a real runtime, on a log of its own.
func openOrphanHandler(t *testing.T) (*orphanHandler, *slowLog) {
	t.Helper()
	quiet, log := slog.New(slog.DiscardHandler), &slowLog{Store: livetest.Store(t, jetstream.Options{})}
	bucket, err := log.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(t, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte{7, 0x5a}, 16), Active: true}})
	require.NoError(t, err)
	keys := vault.New(box, bucket)
	library, err := programs.New(programs.Options{
		Contents: waits{}, Secrets: waits{}, Vault: keys, Rules: func() automation.Rules { return automation.Rules{} },
		Defaults: func() programs.Defaults { return programs.Defaults{} },
	})
	require.NoError(t, err)
	running, err := runtime.New(runtime.Options{
		Store: log, Contexts: contexts.New(contexts.Options{Store: log.Data, Vault: keys, Log: quiet}), Parked: &parked.Parked{Store: log.Data, Vault: keys},
		Secrets: waits{}, Registry: waits{}, Throttles: &throttle.Throttle{Rate: func(string, throttle.What) throttle.Rate { return throttle.Rate{} }},
		Settings: func() runtime.Settings {
			return runtime.Settings{
				MaxDepth: 20, MaxActive: time.Minute, MaxEvent: 100_000, MaxExecuted: 10_000, Zone: time.UTC, Locale: "en",
				Wait: time.Minute, MaxWait: time.Hour, Sizes: map[string]int{"local": 1 << 20, "run": 1 << 20},
			}
		},
		Process: "p1", Now: time.Now, NewID: func() string { return ulid.Make().String() }, Log: quiet,
		Effects: runtime.Effects{Position: func() domain.Position { return domain.Position{} }},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, running.Close(gone))
	})
	s := newPartition(&Triggers{
		Options: Options{
			Programs: library, Runtime: running, LookEvery: tick, Now: time.Now, Log: quiet, MaxAttempts: func() int { return 3 },
			Identify: func(context.Context, string, domain.Actor) (runtime.Caller, error) { return runtime.Caller{}, nil },
		},
		shares: 1, resuming: make(chan struct{}, maxResuming),
	}, 0)
	return newOrphanHandler(s, nil), log
}

// parkedOrphan is a tree that stands in a wait and that nobody runs.
func (a *orphanHandler) parkedOrphan(t *testing.T, log *slowLog) (o Orphan) {
	t.Helper()
	programSet, err := a.Programs.ProgramSet(t.Context(), "w1")
	require.NoError(t, err)
	o = Orphan{Attempt: 1, Parked: true, OnlyWaits: true}
	o.WorkspaceID, o.CorrelationID, o.Automation = "w1", "r1", "a"
	o.Trigger = activity.Trigger{Type: activity.ByEvent, Value: "go", ID: "e1"}
	run := a.Runtime.Launch(runtime.Start{
		ProgramSet: programSet, Program: programSet.Program("a"), Input: &value.Object{}, CorrelationID: "r1", Depth: 1, Attempt: 1, Trigger: o.Trigger,
	})
	<-run.Parked()
	a.Runtime.BreakOffAll()
	<-run.Done()
	a.Runtime.Reopen("p2")
	o.ExecutionID = log.tree.Load().(string)
	return o
}

// Who takes the share over goes on with it: two nodes would otherwise.
func TestATreeThatIsNotToldToGoOnHereIsLetGoWithTheShare(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]bool{"it is not on the log": true, "it is": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, log := openOrphanHandler(t)
			o := a.parkedOrphan(t, log)
			log.slow.Store(slow)
			mine, lose := context.WithCancel(t.Context())
			a.handleOrphan(mine, o)
			holds := func() bool { return a.Runtime.IsRunning("w1", "r1", o.ExecutionID) }
			require.Eventually(t, func() bool { return holds() && (log.asked.Load() || len(a.resuming) == 0) }, patience, tick)
			lose()
			a.workers.Wait()
			require.Equal(t, !slow, holds())
		})
	}
}

// One whose beginning is told under two names is found under both.
func TestATreeThatIsFoundTwiceGoesOnOnce(t *testing.T) {
	t.Parallel()
	a, log := openOrphanHandler(t)
	o := a.parkedOrphan(t, log)
	mine, lose := context.WithCancel(t.Context())
	a.find = func(_ context.Context, _ Wanted, visit func(Orphan)) error {
		visit(o)
		o.Automation = "renamed.a"
		visit(o)
		require.Eventually(t, func() bool { return len(a.resuming) == 0 }, patience, tick)
		lose()
		return nil
	}
	a.handleLoop(mine)
	a.workers.Wait()
	require.EqualValues(t, 2, log.began.Load(), "it began, and goes on")
}

func TestTreesThatAreOverAreForgottenAlthoughOthersCouldNotBeLookedFor(t *testing.T) {
	t.Parallel()
	s := idlePartition(0)
	s.LookEvery, s.Now = tick, time.Now
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	a := newOrphanHandler(s, func(_ context.Context, wanted Wanted, _ func(Orphan)) error {
		if looks++; looks == 3 {
			cancel()
		}
		wanted("open")
		return errors.New("one cannot be read")
	})
	for id, c := range map[string]*adoptedTree{"open": {failures: 2}, "over": {over: true}, "under": {running: true}} {
		a.adopted[id] = c
	}
	a.handleLoop(ctx)
	require.NotContains(t, a.adopted, "over")
	require.Contains(t, a.adopted, "under")
	require.Equal(t, 2, a.adopted["open"].failures)
}
