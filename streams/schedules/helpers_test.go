package schedules_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/commands/contexts"
	"svc/commands/parked"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/commands/seal"
	"svc/commands/throttle"
	"svc/commands/vault"
	"svc/domain"
	"svc/domain/app"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/livetest"
	"svc/streams"
	"svc/streams/schedules"
)

var quiet = slog.New(slog.DiscardHandler)

const (
	patience = time.Minute
	tick     = 10 * time.Millisecond
)

// clock is one that a test sets.
type clock struct {
	mu    sync.Mutex
	at    time.Time
	looks atomic.Int64
}

func (c *clock) now() time.Time {
	c.looks.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// tomorrow is a midnight after everything that the log says of a test.
func tomorrow() time.Time { return time.Now().UTC().Truncate(24 * time.Hour).Add(48 * time.Hour) }

// fixture is a log with workspaces in it.
type fixture struct {
	t      testing.TB
	store  *jetstream.Store
	vault  *vault.Vault
	memory *jetstream.Bucket
	clock  *clock
	zone   atomic.Pointer[time.Location]
	last   map[domain.StreamID]uint64
	first  *node // which reads for the test
}

func open(t testing.TB) *fixture {
	t.Helper()
	h := &fixture{t: t, clock: &clock{at: tomorrow()}, last: map[domain.StreamID]uint64{}}
	h.zone.Store(time.UTC)
	h.store = livetest.Store(t, jetstream.Options{})
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte{7, 0x5a}, 16), Active: true}})
	require.NoError(t, err)
	h.vault, h.memory = vault.New(box, h.bucket("VAULT")), h.bucket("SCHEDULES")
	h.first = h.node()
	return h
}

func (h *fixture) bucket(name string) *jetstream.Bucket {
	h.t.Helper()
	b, err := h.store.Buckets.Open(h.t.Context(), jetstream.BucketConfig{Name: name})
	require.NoError(h.t, err)
	return b
}

// add records an event of an aggregate and waits until it can be read.
func (h *fixture) add(id domain.StreamID, ev domain.Event) uint64 {
	h.t.Helper()
	r, err := h.store.Log.Append(h.t.Context(), eventstore.Commit{
		Stream: id, Expected: h.last[id], Meta: domain.Meta{UserID: "u1", CorrelationID: "c1"},
		Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: ev}},
	})
	require.NoError(h.t, err)
	h.last[id] = r.Seqs[0]
	return r.Seqs[0]
}

func (h *fixture) create(id string, entries ...workspace.Entry) {
	h.t.Helper()
	h.add(workspace.Stream(id), workspace.Created{
		Workspace: workspace.Snapshot{ID: id, Settings: workspace.Settings{Name: id, Slug: id}}, Entries: entries,
	})
}

// doc is the document of an automation, with more fields as JSON.
func doc(slug, fields string) workspace.Entry {
	return entry("automations/"+slug, fmt.Sprintf(`{"slug":%q,"name":%q,%s}`, slug, slug, fields))
}

// every is an automation that does nothing but fire.
func every(slug string, crons ...string) workspace.Entry {
	list, _ := json.Marshal(crons) // strings
	return doc(slug, fmt.Sprintf(`"when":{"schedules":%s},"do":[]`, list))
}

func instance(slug, appSlug string) workspace.Entry {
	e := entry("imports/"+slug, fmt.Sprintf(`{"slug":%q,"appSlug":%q,"config":{}}`, slug, appSlug))
	e.App = appSlug
	return e
}

func entry(path, body string) workspace.Entry {
	return workspace.Entry{Path: path, Hash: workspace.HashOf([]byte(body)), Body: json.RawMessage(body)}
}

// publish makes the content of a workspace that of an app.
func (h *fixture) publish(slug, workspaceID string) {
	h.t.Helper()
	id := app.Stream(slug)
	history, err := h.store.Log.Load(h.t.Context(), id, 0)
	require.NoError(h.t, err)
	var state app.State
	for _, ev := range history {
		state = app.Decider.Evolve(state, ev.Data)
	}
	made, err := app.Decider.Decide(state, app.Publish{
		Slug: slug, WorkspaceID: workspaceID, Revision: h.last[workspace.Stream(workspaceID)], Name: document.InEveryLanguage(slug),
		Description: document.InEveryLanguage(slug), Photo: "/a.png", Now: time.Now(), By: "u1",
	})
	require.NoError(h.t, err)
	for _, ev := range made {
		h.add(id, ev)
	}
}

// node is one of the nodes that run automations.
type node struct {
	*fixture
	models  *projections.Models
	library *programs.Library
	runtime *runtime.Runtime
	paces   *paces
	log     schedules.Log
	bucket  eventstore.Bucket
	journal runtime.Store // what its trees write to
	most    int           // how often it begins a tree
	hold    func(ctx context.Context, name string, work func(context.Context) error) error
	asked   atomic.Int64 // how often what became of a tree
	stop    func()
}

// paces are those of throttles.
type paces struct {
	mu     sync.Mutex
	slow   bool // all emits but the first take for ever
	queue  bool // all executions but the first do
	queued int  // how often it was asked how long one takes
}

func (p *paces) rate(_ string, what throttle.What) throttle.Rate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if what == throttle.Executions {
		p.queued++
	}
	if p.slow && what == throttle.Emits || p.queue && what == throttle.Executions {
		return throttle.Rate{PerSecond: 1e-6, Burst: 1e-6}
	}
	return throttle.Rate{}
}

func (p *paces) set(slow bool) { p.change(func() { p.slow = slow }) }

func (p *paces) change(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// node makes a node that does not fire yet.
func (h *fixture) node() *node {
	h.t.Helper()
	n := &node{fixture: h, models: livetest.Models(h.t, h.store), paces: &paces{}, log: h.store.Log, bucket: h.memory, journal: h.store.Log, most: 3, stop: func() {}}
	var err error
	n.library, err = programs.New(programs.Options{
		Contents: contents{n.models}, Secrets: noSecrets{}, Vault: h.vault,
		Rules:    func() automation.Rules { return automation.Rules{} },
		Defaults: func() programs.Defaults { return programs.Defaults{} },
	})
	require.NoError(h.t, err)
	n.restart()
	h.t.Cleanup(n.stopNode)
	return n
}

// restart gives the node a runtime that runs nothing yet.
func (n *node) restart() {
	n.t.Helper()
	var err error
	n.runtime, err = runtime.New(runtime.Options{
		Store: n.journal, Contexts: contexts.New(contexts.Options{Store: n.store.Data, Vault: n.vault, Log: quiet}),
		Parked: &parked.Parked{Store: n.store.Data, Vault: n.vault}, Secrets: noSecrets{}, Throttles: &throttle.Throttle{Rate: n.paces.rate},
		Settings: func() runtime.Settings {
			return runtime.Settings{
				MaxDepth: 20, MaxActive: time.Minute, MaxEvent: 100_000, MaxExecuted: 10_000, Zone: time.UTC, Locale: "en",
				Wait: time.Minute, MaxWait: time.Hour, Sizes: map[string]int{"local": 1 << 20, "run": 1 << 20},
			}
		},
		Registry: noSecrets{}, Process: ulid.Make().String(), Now: time.Now, NewID: func() string { return ulid.Make().String() }, Log: quiet,
		Effects: runtime.Effects{Position: n.models.Position},
	})
	require.NoError(n.t, err)
}

// fire lets the node fire until it is shut.
func (n *node) fire() {
	n.t.Helper()
	s, err := schedules.New(schedules.Options{
		Store: n.log, Bucket: n.bucket, Models: n.models, Programs: n.library, Runtime: n.runtime,
		Document: contents{n.models}.Document, Rules: func() automation.Rules { return automation.Rules{} },
		Zone: n.zone.Load, MaxAttempts: func() int { return n.most }, Begun: n.treeStatus, Fresh: n.models.Fresh,
		Hold: n.hold, Now: n.clock.now, Log: quiet,
	})
	require.NoError(n.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	n.stop = func() { cancel(); running.Wait() }
}

// treeStatus tells what became of a tree, of which no node that is gone runs any.
func (n *node) treeStatus(ctx context.Context, workspaceID, correlationID, firingID, automation string) (past streams.TreeStatus, err error) {
	n.asked.Add(1)
	var open []projections.UnfinishedTree
	err = n.models.View(func(r projections.Reader) error {
		past.Attempts, past.Done, err = projections.Runs{}.Ended(r, workspaceID, firingID, automation)
		if err == nil {
			open, err = projections.Runs{}.Open(r, workspaceID, correlationID, 10)
		}
		return err
	})
	for _, t := range open {
		if _, ok, failed := (&parked.Parked{Store: n.store.Data, Vault: n.vault}).Get(ctx, workspaceID, t.ExecutionID); ok || failed != nil {
			past.Done, err = ok, failed
		}
	}
	return past, err
}

// stopNode stops the node as an orderly stop does, without waiting for what runs.
func (n *node) stopNode() {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_ = n.runtime.Close(gone)
	n.stop()
	n.stop = func() {}
}
