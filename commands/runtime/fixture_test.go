package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
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
	"svc/domain/automation/machine"
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

// observedContexts are real contexts; load and write are called before each read and write.
type observedContexts struct {
	*contexts.Contexts
	load  func(ctx context.Context, key contexts.Key) // nil: nothing
	write func(changes []contexts.Change)             // nil: nothing
}

func (m *observedContexts) Load(ctx context.Context, key contexts.Key) (*value.Object, error) {
	if m.load != nil {
		m.load(ctx, key)
	}
	return m.Contexts.Load(ctx, key)
}

func (m *observedContexts) Append(ctx context.Context, id string, changes []contexts.Change) error {
	if m.write != nil {
		m.write(changes)
	}
	return m.Contexts.Append(ctx, id, changes)
}

// documents are the automations of every workspace, by slug.
type documents map[string]string

func (documents) Moment() uint64 { return 1 }

func (documents) Workspace(id string) (programs.Workspace, bool, error) {
	return programs.Workspace{ID: id, Slug: id, Name: id, Revision: 1}, true, nil
}

func (documents) Edition(string, string) (string, uint64, error) { return "", 0, nil }

func (d documents) At(context.Context, string, uint64) (map[string]content.Ref, error) {
	refs := map[string]content.Ref{}
	for slug := range d {
		refs["automations/"+slug] = content.Ref{Hash: slug}
	}
	return refs, nil
}

func (documents) Changes(context.Context, string, uint64, uint64) (map[string]content.Ref, bool, error) {
	return nil, false, nil
}

func (d documents) Document(_ context.Context, _ string, ref content.Ref) (*document.Map, error) {
	doc := document.MapOf()
	return doc, doc.UnmarshalJSON([]byte(fmt.Sprintf(`{"slug":%q,"name":%q,"do":%s}`, ref.Hash, ref.Hash, d[ref.Hash])))
}

// noSecrets are the secrets and the registry of workspaces that have none.
type noSecrets struct{ known func() }

func (noSecrets) All(context.Context, string) (map[string]string, error) { return nil, nil }

func (noSecrets) Open(context.Context, string) (map[string]string, *redact.Set, error) {
	return nil, redact.New(), nil
}

func (n noSecrets) Known(context.Context, string) ([]programs.Workspace, error) {
	if n.known != nil {
		n.known()
	}
	return nil, nil
}

// testRuntime is a runtime on a real log, with what it runs with.
type testRuntime struct {
	*runtime.Runtime
	t          testing.TB
	store      *store
	memory     *observedContexts
	parked     *parked.Parked
	programSet *programs.ProgramSet
	settings   *runtime.Settings
	rate       throttle.Rate
}

// open returns a runtime with automations, by slug. More changes what it runs with.
func open(t testing.TB, docs documents, more ...func(h *testRuntime, o *runtime.Options)) *testRuntime {
	t.Helper()
	h := &testRuntime{t: t, store: &store{Store: livetest.Store(t, jetstream.Options{})}}
	bucket, err := h.store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(t, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte{7, 0x5a}, 16), Active: true}})
	require.NoError(t, err)
	keys, quiet := vault.New(box, bucket), slog.New(slog.DiscardHandler)
	h.memory = &observedContexts{Contexts: contexts.New(contexts.Options{Store: h.store.Data, Vault: keys, Log: quiet})}
	h.parked = &parked.Parked{Store: h.store.Data, Vault: keys}
	h.settings = &runtime.Settings{
		MaxDepth: 20, MaxActive: time.Minute, MaxEvent: 100_000, MaxExecuted: 10_000, Zone: time.UTC, Locale: "en",
		Wait: time.Minute, MaxWait: time.Hour, RunExpires: time.Minute, VisitorExpires: time.Hour, SessionExpires: 24 * time.Hour,
		Sizes: map[string]int{"local": 50_000_000, "run": 500_000, "global": 500_000, "session": 1_000_000, "user": 100_000},
	}
	o := runtime.Options{
		Store: h.store, Contexts: h.memory, Parked: h.parked, Secrets: noSecrets{}, Registry: noSecrets{},
		Throttles: &throttle.Throttle{Rate: func(string, throttle.What) throttle.Rate { return h.rate }},
		Settings:  func() runtime.Settings { return *h.settings },
		Process:   ulid.Make().String(), Now: time.Now, NewID: func() string { return ulid.Make().String() }, Log: quiet,
		Recorded: h.recorded, Effects: runtime.Effects{Position: func() domain.Position { return domain.Position{} }},
	}
	for _, change := range more {
		change(h, &o)
	}
	h.Runtime, err = runtime.New(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		require.NoError(t, h.Close(gone))
	})
	library, err := programs.New(programs.Options{
		Contents: docs, Secrets: noSecrets{}, Vault: keys, Rules: func() automation.Rules { return automation.Rules{} },
		Defaults: func() programs.Defaults { return programs.Defaults{} },
	})
	require.NoError(t, err)
	h.programSet, err = library.ProgramSet(t.Context(), "w1")
	require.NoError(t, err)
	return h
}

// start is a tree of the automation a that somebody calls over HTTP.
func (h *testRuntime) start() runtime.Start {
	return runtime.Start{
		ProgramSet: h.programSet, Program: h.programSet.Program("a"), Input: value.NewObject("$http", machine.HTTP{}), CorrelationID: "run1", Depth: 1, Attempt: 1,
		Trigger: activity.Trigger{Type: activity.ByEndpoint, Value: "a"}, HTTP: &runtime.HTTP{Send: func(context.Context, []byte) {}},
	}
}

// eventStart describes a run of the automation a that an event starts.
func (h *testRuntime) eventStart() runtime.Start {
	s := h.start()
	s.Trigger = activity.Trigger{Type: activity.ByEvent, Value: "go", ID: ulid.Make().String()}
	s.Input, s.HTTP = &value.Object{}, nil
	return s
}

// waitEnd waits for the end of a run.
func (h *testRuntime) waitEnd(run *runtime.Handle) (runtime.Outcome, error) {
	h.t.Helper()
	select {
	case <-run.Done():
	case <-time.After(patience):
		h.t.Fatal("the tree has no end")
	}
	return run.Outcome()
}

// mustRun runs a tree, which must succeed.
func (h *testRuntime) mustRun(s runtime.Start) any {
	h.t.Helper()
	out, err := h.waitEnd(h.Launch(s))
	require.NoError(h.t, err)
	require.Nil(h.t, out.Err)
	return out.Output
}

// events are those on the log.
func (h *testRuntime) events() []eventstore.Fact {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	return slices.Clone(h.store.appended)
}

// recorded reports whether one of several events is on the log.
func (h *testRuntime) recorded(_ context.Context, _ string, ids ...string) (bool, error) {
	return slices.ContainsFunc(h.events(), func(f eventstore.Fact) bool { return slices.Contains(ids, f.ID) }), nil
}

// types are the types of the events on the log, of executions with their automation.
func (h *testRuntime) types() (types []string) {
	for _, ev := range h.events() {
		name := ev.Event.EventType()
		switch x := ev.Event.(type) {
		case activity.Executed:
			name += " " + x.Slug
		case domain.Unknown: // told again
			var told struct{ Slug string }
			if name == (activity.Executed{}).EventType() && json.Unmarshal(x.Body, &told) == nil {
				name += " " + told.Slug
			}
		}
		types = append(types, name)
	}
	return types
}

// contextJSON returns a context as JSON.
func (h *testRuntime) contextJSON(kind string) string {
	h.t.Helper()
	got, err := h.memory.Contexts.Load(h.t.Context(), contexts.Key{WorkspaceID: "w1", Kind: kind})
	require.NoError(h.t, err)
	return value.JSON(got, "")
}

// containsEvent reports whether one of the commits has an event of a type.
func containsEvent(commits []eventstore.Commit, name string) bool {
	for _, c := range commits {
		for _, f := range c.Facts {
			if f.Event.EventType() == name {
				return true
			}
		}
	}
	return false
}

// onceTrue returns a function that returns true once.
func onceTrue() func() bool {
	var once sync.Once
	return func() (is bool) {
		once.Do(func() { is = true })
		return is
	}
}

var errNone = errors.New("there is none")

// failureOf is the error that the first failed execution on the log tells of.
func (h *testRuntime) failureOf() (string, error) {
	for _, ev := range h.events() {
		if x, is := ev.Event.(activity.Executed); is && x.Error != nil {
			told, err := json.Marshal(x.Error)
			return string(told), err
		}
	}
	return "", errNone
}

// store is a real one that can refuse.
type store struct {
	*jetstream.Store
	refuses atomic.Pointer[func(commits []eventstore.Commit) bool]
	denies  atomic.Pointer[func(commits []eventstore.Commit) bool]

	mu       sync.Mutex
	appended []eventstore.Fact // what is on the log, in order
	seqs     []uint64          // of these
}

func (s *store) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	if refuses := s.refuses.Load(); refuses != nil && (*refuses)(commits) {
		return eventstore.Receipt{}, fmt.Errorf("%w: a hiccup", eventstore.ErrUnavailable)
	}
	if denies := s.denies.Load(); denies != nil && (*denies)(commits) {
		return eventstore.Receipt{}, domain.Refuse(domain.CodeInvalidRequest, "too large")
	}
	receipt, err := s.Store.Log.Append(ctx, commits...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range commits {
		if err == nil {
			s.appended = append(s.appended, c.Facts...)
		}
	}
	s.seqs = append(s.seqs, receipt.Seqs...)
	return receipt, err
}

// apart returns what is stored apart from the event at an index.
func (h *testRuntime) apart(i int) (body []byte, ok bool) {
	h.t.Helper()
	h.store.mu.Lock()
	id, seq := h.store.appended[i].ID, h.store.seqs[i]
	h.store.mu.Unlock()
	body, ok, err := h.store.Payloads.Get(h.t.Context(), "w1", id, seq)
	require.NoError(h.t, err)
	return body, ok
}

// refuse has the store refuse appends for which what is true.
func (s *store) refuse(what func(commits []eventstore.Commit) bool) { s.refuses.Store(&what) }

// deny has the store refuse these appends for good.
func (s *store) deny(what func(commits []eventstore.Commit) bool) { s.denies.Store(&what) }
