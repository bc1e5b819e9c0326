package knowledge_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/extract"
	documents "svc/commands/knowledge"
	"svc/commands/llm"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/document"
	"svc/domain/kbdocument"
	chunks "svc/domain/knowledge"
	"svc/domain/operation"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/livetest"
	"svc/streams"
	"svc/streams/knowledge"
	"svc/streams/site"
)

const waitTime = time.Minute

// fixture is a log with its read models, and documents.
type fixture struct {
	t      *testing.T
	store  *jetstream.Store
	models *projections.Models
	engine *commands.Engine
	docs   *documents.Documents
	base   kbdocument.Base

	model    string // of the base; "": none
	embedder knowledge.Embedder
	bases    []knowledge.Base // of all workspaces
	workers  int
	hold     func(ctx context.Context, name string, work func(context.Context) error) error // nil: there is one partition
	used     func(workspaceID string, u activity.Usage)
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, workers: 4, base: kbdocument.Base{ID: "kb_1", Slug: "faq"}, embedder: noModel{}, used: func(string, activity.Usage) {}}
	f.store = livetest.Store(t, jetstream.Options{})
	f.models = livetest.Models(t, f.store)
	var err error
	f.engine, err = commands.NewEngine(commands.EngineOptions{Store: f.store.Log})
	require.NoError(t, err)
	f.docs, err = documents.New(documents.Options{
		Engine: f.engine, Blobs: f.store.Blobs, Now: time.Now, CheckType: func(string) error { return nil },
		Settings: func() documents.Settings { return documents.Settings{MaxDocuments: 1000, Kept: 2} },
		Count:    func(context.Context, string, string) (int, error) { return 0, nil },
	})
	require.NoError(t, err)
	return f
}

// add adds a document with a text and returns its id.
func (f *fixture) add(workspaceID, key, text string) string {
	f.t.Helper()
	out, err := f.docs.Put(f.t.Context(), workspaceID, documents.Put{
		Base: f.base, Origin: kbdocument.Origin{Source: kbdocument.Text, Key: key}, Name: "n.txt", Content: contentOf(text),
	}, func(_, _ kbdocument.State) error { return nil })
	require.NoError(f.t, err)
	return out.ID
}

func (f *fixture) get(workspaceID, id string) (d projections.KBDocument) {
	f.t.Helper()
	require.NoError(f.t, f.models.Fresh(f.t.Context()))
	require.NoError(f.t, f.models.View(func(r projections.Reader) (err error) {
		d, _, err = projections.KBDocuments{}.ByID(r, workspaceID, id)
		return err
	}))
	return d
}

// await waits until a document has a status.
func (f *fixture) await(workspaceID, id string, want kbdocument.Status) projections.KBDocument {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return f.get(workspaceID, id).Status() == want }, waitTime, 5*time.Millisecond, "document %s", id)
	return f.get(workspaceID, id)
}

// start runs a pipeline until stop is called, with a cause.
func (f *fixture) start(x knowledge.Extractor, fetch knowledge.Fetcher, now func() time.Time) (stop func(cause error)) {
	f.t.Helper()
	p, err := knowledge.New(knowledge.Options{
		Engine: f.engine, Models: f.models, Blobs: f.store.Blobs, Extractor: x, Fetcher: fetch, Kept: func() int { return 2 }, Workers: f.workers, Hold: f.hold, Fresh: f.models.Latest, Now: now,
		FindBase: func(context.Context, string, string) (knowledge.Base, bool, error) {
			return knowledge.Base{Base: f.base, Settings: chunks.Settings{Chunking: chunks.Chunking{Size: 200}, Language: "auto", Embedding: chunks.Embedding{Model: f.model}}}, true, nil
		},
		Bases:     func(context.Context, string) ([]knowledge.Base, error) { return f.bases, nil },
		Documents: f.docs, Reindexes: documents.Reindexes{Engine: f.engine, Now: time.Now}, Embedder: f.embedder,
		Used: func(_ context.Context, workspaceID string, u activity.Usage) { f.used(workspaceID, u) }, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(f.t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = p.Run(ctx) })
	stop = func(cause error) { cancel(cause); running.Wait() }
	f.t.Cleanup(func() { stop(nil) })
	return stop
}

// plain reads texts as they are, after wait.
type plain struct {
	wait  func(ctx context.Context, text string) error
	count atomic.Int64
}

// Extract implements knowledge.Extractor.
func (p *plain) Extract(ctx context.Context, file extract.File) (extract.Document, error) {
	p.count.Add(1)
	if p.wait != nil {
		if err := p.wait(ctx, string(file.Content)); err != nil {
			return extract.Document{}, err
		}
	}
	return extract.Document{Text: string(file.Content), Mimetype: "text/plain"}, nil
}

type noModel struct{}

// Embed implements knowledge.Embedder.
func (noModel) Embed(context.Context, llm.EmbedRequest) (llm.Embeddings, error) {
	return llm.Embeddings{}, errors.New("not expected")
}

type noFetch struct{}

// Fetch implements knowledge.Fetcher.
func (noFetch) Fetch(context.Context, string) (site.Page, error) {
	return site.Page{}, errors.New("not expected")
}

func TestEveryDocumentIsReadyOnceAlthoughNodesAreLost(t *testing.T) {
	f := newFixture(t)
	ids := map[string]string{}
	for i := range 60 {
		workspaceID := fmt.Sprintf("w%d", i%3)
		ids[f.add(workspaceID, fmt.Sprint("k", i), fmt.Sprintf("text number %d", i))] = workspaceID
	}
	seen := make(chan struct{}, 1000)
	lost := &plain{wait: func(ctx context.Context, text string) error {
		seen <- struct{}{}
		if strings.HasSuffix(text, "7") {
			<-ctx.Done() // it was at work when the node was lost
			return ctx.Err()
		}
		return nil
	}}
	stop := f.start(lost, noFetch{}, nil)
	for range 10 {
		<-seen
	}
	stop(streams.ErrLost) // nothing is given back
	f.start(&plain{}, noFetch{}, nil)
	for id, workspaceID := range ids {
		d := f.await(workspaceID, id, kbdocument.Ready)
		require.Equal(t, 1, d.Extract.Count)
		require.Equal(t, 1, d.Revision)
		body, err := f.store.Blobs.Get(t.Context(), d.Extract.Chunks)
		require.NoError(t, err)
		passages, err := kbdocument.ParsePassages(body)
		require.NoError(t, err)
		require.Len(t, passages.Chunks, 1)
	}
	require.NoError(t, f.models.View(func(r projections.Reader) error {
		for _, workspaceID := range []string{"w0", "w1", "w2"} {
			c, err := projections.KBDocuments{}.Counts(r, workspaceID, f.base.ID)
			require.NoError(t, err)
			require.Equal(t, projections.KBCounts{Documents: 20, Ready: 20, Chunks: 20, Bytes: c.Bytes}, c)
		}
		return nil
	}))
}

func TestANodeThatStopsGivesItsWorkBack(t *testing.T) {
	f := newFixture(t)
	id := f.add("w", "k", "text")
	begun := make(chan struct{})
	stop := f.start(&plain{wait: func(ctx context.Context, _ string) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}}, noFetch{}, nil)
	<-begun
	stop(nil)
	d := f.get("w", id)
	require.Equal(t, kbdocument.Pending, d.Status())
	require.Zero(t, d.Job.Lost)
	f.start(&plain{}, noFetch{}, nil)
	f.await("w", id, kbdocument.Ready)
}

// A node that is paused while it works loses its partition. What it reports when it wakes is too late, and is dropped.
// Row 61 of the knowledge contract's conformance list.
func TestAPausedNodeIsTooLate(t *testing.T) {
	f := newFixture(t)
	begun, woken := make(chan struct{}), make(chan struct{})
	paused := &renaming{title: "late", plain: plain{wait: func(context.Context, string) error {
		close(begun)
		<-woken // whatever becomes of its partition
		return nil
	}}}
	stop := f.start(paused, noFetch{}, nil)
	id := f.add("w", "k", "text")
	<-begun
	var stopped sync.WaitGroup
	stopped.Go(func() { stop(streams.ErrLost) })
	f.start(&renaming{title: "in time"}, noFetch{}, nil)
	done := f.await("w", id, kbdocument.Ready)
	require.Equal(t, "in time", done.ShownTitle())
	close(woken)
	stopped.Wait()
	require.NoError(t, f.models.Latest(t.Context()))
	require.Equal(t, done, f.get("w", id))
}

// renaming reads texts as they are, and gives them a title.
type renaming struct {
	plain
	title string
}

// Extract implements knowledge.Extractor.
func (r *renaming) Extract(ctx context.Context, file extract.File) (extract.Document, error) {
	d, err := r.plain.Extract(ctx, file)
	d.Title = r.title
	return d, err
}

func TestTheFormerTextStaysUntilTheNewOneIsReady(t *testing.T) {
	f := newFixture(t)
	gate := make(chan struct{})
	x := &plain{wait: func(_ context.Context, text string) error {
		switch text {
		case "second":
			<-gate
		case "broken":
			return &extract.Error{Reason: extract.Corrupt, Message: "broken"}
		}
		return nil
	}}
	f.start(x, noFetch{}, nil)
	id := f.add("w", "k", "first")
	first := f.await("w", id, kbdocument.Ready).Extract
	f.add("w", "k", "second")
	require.Equal(t, first, f.await("w", id, kbdocument.Processing).Extract)
	close(gate)
	second := f.await("w", id, kbdocument.Ready)
	require.NotEqual(t, first.Text, second.Extract.Text)
	f.add("w", "k", "broken")
	failed := f.await("w", id, kbdocument.Failed)
	require.Equal(t, "corrupt", failed.Fault.Reason)
	require.Equal(t, second.Extract, failed.Extract, "what was searched is searched still")
	require.Equal(t, int64(3), x.count.Load())
}

func TestAttemptsAreRepeatedLater(t *testing.T) {
	f := newFixture(t)
	id := f.attempt(failing{}, 4)
	d := f.await("w", id, kbdocument.Failed)
	require.Equal(t, kbdocument.Fault{Reason: "fetch_failed", Message: "nobody there"}, *d.Fault)
}

// A fault of ours that one document meets must not end the node, nor the work on others.
func TestAPanicIsAnAttempt(t *testing.T) {
	f := newFixture(t)
	f.start(&plain{wait: func(_ context.Context, text string) error {
		if text == "poison" {
			panic("a fault of ours")
		}
		return nil
	}}, noFetch{}, time.Now)
	poison := f.add("w", "1", "poison")
	require.Eventually(t, func() bool {
		d := f.get("w", poison)
		return d.Job != nil && d.Job.Attempts == 1 && d.Job.Begun.IsZero()
	}, waitTime, 5*time.Millisecond, "it is tried again later")
	f.await("w", f.add("w", "2", "a text"), kbdocument.Ready)
}

// A document whose site is busy with others waits for as long as that takes.
func TestWaitingForATurnIsNoFailure(t *testing.T) {
	f := newFixture(t)
	id := f.attempt(failing{busy: true}, 7)
	require.Eventually(t, func() bool { return f.get("w", id).Job.Attempts == 8 }, waitTime, 5*time.Millisecond)
}

// attempt has a pipeline make so many attempts at a document whose address cannot be loaded, and makes it time for the next
// one after each. It returns the id of the document.
func (f *fixture) attempt(fetch failing, attempts int) string {
	t := f.t
	t.Helper()
	var mu sync.Mutex
	clock := time.Now().Add(time.Hour) // later than anything is queued
	now := func() time.Time { mu.Lock(); defer mu.Unlock(); return clock }
	f.start(&plain{}, fetch, now)
	out, err := f.docs.Put(t.Context(), "w", documents.Put{
		Base: f.base, Origin: kbdocument.Origin{Source: kbdocument.URL, URL: "https://example.com/"}, Name: "n",
	}, func(_, _ kbdocument.State) error { return nil })
	require.NoError(t, err)
	for attempt := 1; attempt <= attempts; attempt++ {
		require.Eventually(t, func() bool {
			d := f.get("w", out.ID)
			return d.Job != nil && d.Job.Attempts == attempt && d.Job.Begun.IsZero()
		}, waitTime, 5*time.Millisecond)
		mu.Lock()
		clock = clock.Add(20 * time.Minute)
		mu.Unlock()
		f.add("other", fmt.Sprint(attempt), fmt.Sprint("wakes the pipeline ", attempt))
	}
	return out.ID
}

// addWorkspace makes a workspace with the knowledge base of the fixture, and returns its last sequence.
func (f *fixture) addWorkspace(id string) uint64 {
	f.t.Helper()
	made := f.record(id, 0, workspace.Created{Workspace: workspace.Snapshot{ID: id, Settings: workspace.Settings{Name: id, Slug: id}}})
	return f.record(id, made, workspace.KnowledgeBaseCreated{Entry: workspace.Entry{Path: "knowledge/faq", ID: f.base.ID, Hash: "h", Body: []byte(`{"slug":"faq","name":"FAQ"}`)}})
}

// record appends an event of a workspace, and returns its sequence.
func (f *fixture) record(workspaceID string, expected uint64, ev domain.Event) uint64 {
	f.t.Helper()
	r, err := f.store.Log.Append(f.t.Context(), eventstore.Commit{
		Stream: workspace.Stream(workspaceID), Expected: expected, Meta: domain.Meta{UserID: "u1"}, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: ev}},
	})
	require.NoError(f.t, err)
	return r.Seqs[0]
}

// Documents that were divided by other rules are divided again without anybody asking for it, also where the last time was
// cancelled, and are searched as they were until then.
func TestOtherRulesOfChunkingDivideDocumentsAgain(t *testing.T) {
	f := newFixture(t)
	settings := chunks.Settings{Chunking: chunks.Chunking{Size: 200}, Language: "auto"}
	f.bases = []knowledge.Base{{Base: f.base, Settings: settings}}
	f.addWorkspace("w")
	stop := f.start(&plain{}, noFetch{}, nil)
	id := f.add("w", "k", "the text")
	d := f.await("w", id, kbdocument.Ready)
	stop(nil)

	_, division, _ := strings.Cut(d.Extract.Division, "/")
	former := *d.Extract
	former.Division = "0/" + division
	d.State.Extract = &former
	stream := kbdocument.Stream("w", id)
	require.NoError(t, f.append(stream, kbdocument.Updated{Document: d.State}))
	require.True(t, f.get("w", id).IsOutdated(settings))
	reindexes := documents.Reindexes{Engine: f.engine, Now: time.Now}
	about := operation.ReindexAbout{BaseID: f.base.ID, KnowledgeBase: f.base.Slug}
	_, err := reindexes.Execute(t.Context(), "w", "op_1", operation.StartReindex{Reindex: about, About: operation.About{
		ID: "op_1", Kind: operation.Reindex, WorkspaceID: "w", CreatedAt: time.Now(), Under: true,
	}})
	require.NoError(t, err)
	_, err = reindexes.Execute(t.Context(), "w", "op_1", operation.EndReindex{Status: operation.Cancelled, Now: time.Now()})
	require.NoError(t, err)

	f.start(&plain{}, noFetch{}, nil)
	require.Eventually(t, func() bool {
		now := f.get("w", id)
		require.NotNil(t, now.Extract)
		require.Equal(t, former.Chunks, now.Extract.Chunks, "the same text is divided alike")
		return !now.IsOutdated(settings) && now.Status() == kbdocument.Ready
	}, waitTime, 5*time.Millisecond)
}

// append appends an event of a document.
func (f *fixture) append(stream domain.StreamID, ev domain.Event) error {
	events, err := f.store.Log.Load(f.t.Context(), stream, 0)
	if err != nil {
		return err
	}
	last := events[len(events)-1].Seq
	_, err = f.store.Log.Append(f.t.Context(), eventstore.Commit{Stream: stream, Expected: last, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: ev}}})
	return err
}

// Once an hour it is recorded how much the knowledge bases have.
func TestTheNumbersOfBasesAreRecordedHourly(t *testing.T) {
	f := newFixture(t)
	f.bases = []knowledge.Base{{Base: f.base, Settings: chunks.Settings{Chunking: chunks.Chunking{Size: 200}, Language: "auto"}}}
	var mu sync.Mutex
	var recorded []activity.Usage
	f.used = func(workspaceID string, u activity.Usage) {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := u.Metrics[activity.Documents]; ok {
			require.Equal(t, "w", workspaceID)
			recorded = append(recorded, u)
		}
	}
	clock := time.Now().Add(time.Hour).Truncate(time.Hour).Add(time.Minute)
	now := func() time.Time { mu.Lock(); defer mu.Unlock(); return clock }
	f.addWorkspace("w")
	f.start(&plain{}, noFetch{}, now)
	f.await("w", f.add("w", "one", "the first text"), kbdocument.Ready)
	f.await("w", f.add("w", "two", "the second text"), kbdocument.Ready)
	mu.Lock()
	require.Empty(t, recorded, "the hour is not over")
	clock = clock.Add(time.Hour)
	mu.Unlock()
	f.add("other", "wakes", "the pipeline")
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(recorded) == 2 }, waitTime, 5*time.Millisecond)
	numbers := activity.Levels(map[string]float64{activity.Documents: 2, activity.Chunks: 2, activity.Bytes: float64(len("the first text" + "the second text"))})
	require.Equal(t, []activity.Usage{{KnowledgeBase: "faq", Metrics: numbers}, {Metrics: numbers}}, recorded)
}

// repairable is a model that fails until it is repaired.
type repairable struct{ works atomic.Bool }

// Embed implements knowledge.Embedder.
func (m *repairable) Embed(_ context.Context, r llm.EmbedRequest) (llm.Embeddings, error) {
	if !m.works.Load() {
		return llm.Embeddings{}, errors.New("nobody there")
	}
	made := llm.Embeddings{Model: r.Model}
	for range r.Texts {
		made.Vectors = append(made.Vectors, []float32{1, 0})
	}
	return made, nil
}

// Documents that wait for a model are tried again when the models of their workspace change, before their time comes.
func TestAChangeOfModelsTriesAgain(t *testing.T) {
	f := newFixture(t)
	model := &repairable{}
	f.model, f.embedder = "own/embed", model
	last := f.addWorkspace("w")
	clock := time.Now().Add(time.Hour) // later than anything is queued, and it stands still
	f.start(&plain{}, noFetch{}, func() time.Time { return clock })
	id := f.add("w", "k", "text")
	require.Eventually(t, func() bool { e := f.get("w", id).Embedding; return e != nil && e.Attempts == 1 }, waitTime, 5*time.Millisecond)
	model.works.Store(true)
	changed := workspace.Snapshot{ID: "w", Settings: workspace.Settings{Name: "W", Slug: "w"}}
	changed.Settings.Models = document.MapOf(document.Pair{Key: "defaults", Value: document.MapOf(document.Pair{Key: "embedding", Value: f.model})})
	f.record("w", last, workspace.Updated{Workspace: changed})
	require.Eventually(t, func() bool {
		return f.get("w", id).VectorStatus(chunks.Embedding{Model: f.model}.VectorSet()) == "ready"
	}, waitTime, 5*time.Millisecond)
}

// twoWorkspaces returns workspaces of different partitions, of which the pipeline is known to have both: what was added
// to them is ready.
func (f *fixture) twoWorkspaces() (one, other string) {
	f.t.Helper()
	one = "w0"
	for n := 1; other == "" || streams.PartitionOf(one, streams.Partitions) == streams.PartitionOf(other, streams.Partitions); n++ {
		other = fmt.Sprint("w", n)
	}
	for _, id := range []string{one, other} {
		f.await(id, f.add(id, "first", "first of "+id), kbdocument.Ready)
	}
	return one, other
}

// gated reads texts as they are, each when it is let through. It tells when it begins.
func gated() (x *plain, begun chan string, let chan struct{}) {
	begun, let = make(chan string, 100), make(chan struct{}, 100)
	return &plain{wait: func(ctx context.Context, text string) error {
		if strings.HasPrefix(text, "first") {
			return nil
		}
		begun <- text
		select {
		case <-let:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}, begun, let
}

// A workspace has half of the workers while another one waits, whichever partitions they belong to.
func TestWorkspacesOfAllPartitionsShareTheWorkers(t *testing.T) {
	f := newFixture(t)
	f.hold = func(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }
	x, begun, let := gated()
	f.start(x, noFetch{}, nil)
	busy, calm := f.twoWorkspaces()
	for i := range 8 {
		f.add(busy, fmt.Sprint("k", i), fmt.Sprintf("busy %d", i))
	}
	for range 4 {
		require.Contains(t, <-begun, "busy", "nobody else waits")
	}
	id := f.add(calm, "k", "calm")
	require.Equal(t, kbdocument.Pending, f.get(calm, id).Status())
	let <- struct{}{}
	require.Equal(t, "calm", <-begun)
	for range 8 {
		let <- struct{}{}
	}
	f.await(calm, id, kbdocument.Ready)
}

// What somebody waits for comes before what can wait, whichever partitions they belong to.
func TestWhatSomebodyWaitsForComesFirst(t *testing.T) {
	f := newFixture(t)
	f.hold = func(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }
	f.workers = 1
	x, begun, let := gated()
	f.start(x, noFetch{}, nil)
	bulk, hasty := f.twoWorkspaces()
	var ids []string
	for i := range 3 {
		ids = append(ids, f.add(bulk, fmt.Sprint("k", i), fmt.Sprintf("bulk %d", i)))
	}
	for range ids {
		<-begun
		let <- struct{}{}
	}
	for _, id := range ids {
		f.await(bulk, id, kbdocument.Ready)
		require.NoError(t, f.docs.Requeue(t.Context(), bulk, id, kbdocument.Reprocess{Extract: true, Bulk: true, Now: time.Now()}))
	}
	require.Contains(t, <-begun, "bulk")
	id := f.add(hasty, "k", "hasty")
	require.Equal(t, kbdocument.Pending, f.get(hasty, id).Status())
	let <- struct{}{}
	require.Equal(t, "hasty", <-begun)
	for range 3 {
		let <- struct{}{}
	}
	f.await(hasty, id, kbdocument.Ready)
}

// lengths is a model whose vectors have as many dimensions as it is told.
type lengths struct{ dimensions atomic.Int64 }

// Embed implements knowledge.Embedder.
func (m *lengths) Embed(_ context.Context, r llm.EmbedRequest) (llm.Embeddings, error) {
	made := llm.Embeddings{Model: r.Model}
	for range r.Texts {
		v := make([]float32, m.dimensions.Load())
		v[0] = 1
		made.Vectors = append(made.Vectors, v)
	}
	return made, nil
}

// All vectors of a base have the length of its first ones, until these are gone.
func TestVectorsOfAnotherLengthAreAFault(t *testing.T) {
	f := newFixture(t)
	model := &lengths{}
	model.dimensions.Store(3)
	f.model, f.embedder = "own/embed", model
	f.start(&plain{}, noFetch{}, nil)
	set := chunks.Embedding{Model: f.model}.VectorSet()
	await := func(id, want string) kbdocument.Vectors {
		t.Helper()
		require.Eventually(t, func() bool { return f.get("w", id).VectorStatus(set) == want }, waitTime, 5*time.Millisecond)
		v, _ := f.get("w", id).FindVectors(set)
		return v
	}
	first := f.add("w", "one", "the first text")
	require.Equal(t, 3, await(first, "ready").Dimensions)
	model.dimensions.Store(4)
	second := f.add("w", "two", "the second text")
	fault := await(second, "error").Fault
	require.Equal(t, llm.WrongDimensions, fault.Reason)
	require.Contains(t, fault.Message, "vectors of 4 dimensions now, and those of the base have 3")
	require.Equal(t, kbdocument.Ready, f.get("w", second).Status(), "it is found by its words")

	_, err := f.docs.Remove(t.Context(), "w", f.base, []string{first}, kbdocument.ByAPI)
	require.NoError(t, err)
	require.NoError(t, f.docs.Requeue(t.Context(), "w", second, kbdocument.Reprocess{Extract: true, Now: time.Now()}))
	require.Equal(t, 4, await(second, "ready").Dimensions)
}

type failing struct{ busy bool }

// Fetch implements knowledge.Fetcher.
func (f failing) Fetch(context.Context, string) (site.Page, error) {
	return site.Page{}, &site.Fault{Fault: kbdocument.Fault{Reason: "fetch_failed", Message: "nobody there"}, Busy: f.busy}
}

func contentOf(text string) *documents.Content {
	sum := sha256.Sum256([]byte(text))
	return &documents.Content{
		Content: kbdocument.Content{Mimetype: "text/plain", Size: int64(len(text)), Hash: hex.EncodeToString(sum[:])}, Reader: strings.NewReader(text),
	}
}
