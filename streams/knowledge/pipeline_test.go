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

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/extract"
	documents "svc/commands/knowledge"
	"svc/commands/llm"
	"svc/domain/activity"
	"svc/domain/kbdocument"
	chunks "svc/domain/knowledge"
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
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, base: kbdocument.Base{ID: "kb_1", Slug: "faq"}}
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
		Engine: f.engine, Models: f.models, Blobs: f.store.Blobs, Extractor: x, Fetcher: fetch, Kept: func() int { return 2 }, Workers: 4, Fresh: f.models.Latest, Now: now,
		FindBase: func(context.Context, string, string) (knowledge.Base, bool, error) {
			return knowledge.Base{Base: f.base, Settings: chunks.Settings{Chunking: chunks.Chunking{Size: 200}, Language: "auto"}}, true, nil
		},
		Bases:     func(context.Context, string) ([]knowledge.Base, error) { return nil, nil },
		Documents: f.docs, Reindexes: documents.Reindexes{Engine: f.engine, Now: time.Now}, Embedder: noModel{},
		Used: func(context.Context, string, activity.Usage) {}, Log: slog.New(slog.DiscardHandler),
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
		workspace := fmt.Sprintf("w%d", i%3)
		ids[f.add(workspace, fmt.Sprint("k", i), fmt.Sprintf("text number %d", i))] = workspace
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
	for id, workspace := range ids {
		d := f.await(workspace, id, kbdocument.Ready)
		require.Equal(t, 1, d.Extract.Count)
		require.Equal(t, 1, d.Revision)
		body, err := f.store.Blobs.Get(t.Context(), d.Extract.Chunks)
		require.NoError(t, err)
		passages, err := kbdocument.ParsePassages(body)
		require.NoError(t, err)
		require.Len(t, passages.Chunks, 1)
	}
	require.NoError(t, f.models.View(func(r projections.Reader) error {
		for _, workspace := range []string{"w0", "w1", "w2"} {
			c, err := projections.KBDocuments{}.Counts(r, workspace, f.base.ID)
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
	var mu sync.Mutex
	clock := time.Now().Add(time.Hour) // later than anything is queued
	now := func() time.Time { mu.Lock(); defer mu.Unlock(); return clock }
	f.start(&plain{}, failing{}, now)
	out, err := f.docs.Put(t.Context(), "w", documents.Put{
		Base: f.base, Origin: kbdocument.Origin{Source: kbdocument.URL, URL: "https://example.com/"}, Name: "n",
	}, func(_, _ kbdocument.State) error { return nil })
	require.NoError(t, err)
	for attempt := 1; attempt <= 4; attempt++ {
		require.Eventually(t, func() bool {
			d := f.get("w", out.ID)
			return d.Job != nil && d.Job.Attempts == attempt && d.Job.Begun.IsZero()
		}, waitTime, 5*time.Millisecond)
		mu.Lock()
		clock = clock.Add(20 * time.Minute)
		mu.Unlock()
		f.add("other", fmt.Sprint(attempt), fmt.Sprint("wakes the pipeline ", attempt))
	}
	d := f.await("w", out.ID, kbdocument.Failed)
	require.Equal(t, kbdocument.Fault{Reason: "fetch_failed", Message: "nobody there"}, *d.Fault)
}

type failing struct{}

// Fetch implements knowledge.Fetcher.
func (failing) Fetch(context.Context, string) (site.Page, error) {
	return site.Page{}, &site.Fault{Fault: kbdocument.Fault{Reason: "fetch_failed", Message: "nobody there"}}
}

func contentOf(text string) *documents.Content {
	sum := sha256.Sum256([]byte(text))
	return &documents.Content{
		Content: kbdocument.Content{Mimetype: "text/plain", Size: int64(len(text)), Hash: hex.EncodeToString(sum[:])}, Reader: strings.NewReader(text),
	}
}
