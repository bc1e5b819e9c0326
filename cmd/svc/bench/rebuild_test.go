//go:build bench

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain/kbdocument"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/fulltext"
	"svc/projections/livetest"
	"svc/projections/vectors"
)

// Aims of the index of a large base.
const (
	aimHybridMS      = 150 // more than the text query alone, at the 95th percentile
	aimRebuild       = 1.1 // of the time of the first build
	aimSearchRebuild = 2.0 // of the time of a search beside nothing
	vectorSize       = 768
	vectorSet        = "bench@768"
	rebuildQueries   = 100
)

// largeBase is a base with an index, whose documents are on a log and whose blobs are in memory.
type largeBase struct {
	*projections.SearchIndex
	*corpus
	models *projections.Models
	store  *jetstream.Store
}

// newLargeBase returns a base of so many chunks, each with a vector. Its index is not built yet.
func newLargeBase(t *testing.T, chunks int) *largeBase {
	t.Helper()
	store := livetest.Store(t, jetstream.Options{})
	b := &largeBase{corpus: newCorpus(chunks), store: store, models: livetest.Models(t, store)}
	engine, err := commands.NewEngine(commands.EngineOptions{Store: store.Log})
	require.NoError(t, err)
	var all sync.WaitGroup
	for worker := range writers {
		all.Go(func() {
			for i := worker; i < len(b.documents); i += writers {
				if err := b.put(t.Context(), engine, i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	livetest.Fresh(t, b.models)
	dir := t.TempDir()
	b.SearchIndex, err = projections.NewSearchIndex(projections.SearchIndexOptions{
		Models: b.models, Passages: b.passages, Log: slog.New(slog.DiscardHandler), VectorsMemory: 1 << 30,
		Open: func() (*projections.DB, error) {
			return projections.OpenDB(projections.DBOptions{Dir: dir, MemtableMB: 32, Log: slog.New(slog.DiscardHandler)})
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// put records a document that was processed, and its vectors. Its blobs are named by its number.
func (b *largeBase) put(ctx context.Context, engine *commands.Engine, i int) error {
	d := b.documents[i]
	stream := kbdocument.Stream("w", d.ID)
	passages := fmt.Sprintf("p%d", i)
	_, err := commands.Execute(ctx, engine, kbdocument.Decider, stream, kbdocument.Command(kbdocument.Put{
		ID: d.ID, Base: kbdocument.Base{ID: "kb", Slug: "kb"}, Origin: kbdocument.Origin{Source: kbdocument.Text, Key: d.ID}, Name: d.ID,
		Content: &kbdocument.Content{Mimetype: "text/plain", Size: chunkLength * chunksEach, Hash: fmt.Sprintf("c%d", i)}, Now: time.Now(),
		Result: &kbdocument.Result{VectorSet: vectorSet, Extract: kbdocument.Extract{Text: fmt.Sprintf("t%d", i), Chunks: passages, Count: chunksEach, Title: d.Title, Language: "en"}},
	}))
	if err != nil {
		return err
	}
	_, err = commands.Execute(ctx, engine, kbdocument.Decider, stream, kbdocument.Command(kbdocument.PutVectors{
		Vectors: kbdocument.Vectors{Set: vectorSet, Chunks: passages, Blob: fmt.Sprintf("v%d", i), At: time.Now()},
	}))
	return err
}

// passages returns the passages of a document, or their vectors.
func (b *largeBase) passages(_ context.Context, name string) ([]byte, error) {
	var kind rune
	var i int
	if _, err := fmt.Sscanf(name, "%c%d", &kind, &i); err != nil {
		return nil, err
	}
	if kind == 'p' {
		return json.Marshal(kbdocument.Passages{Chunks: b.documents[i].Chunks})
	}
	v := kbdocument.StoredVectors{Dimensions: vectorSize}
	r := rand.New(rand.NewPCG(searchSeed, uint64(i)))
	for _, c := range b.documents[i].Chunks {
		v.Hashes = append(v.Hashes, kbdocument.PassageHash(c))
		v.Values = append(v.Values, randomVector(r)...)
	}
	return v.Encode(), nil
}

// randomVector returns a vector of length 1.
func randomVector(r *rand.Rand) []float32 {
	v, length := make([]float32, vectorSize), 0.0
	for i := range v {
		v[i] = float32(r.NormFloat64())
		length += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(length))
	}
	return v
}

// query searches by words.
func (b *largeBase) query(t *testing.T, words []string) {
	t.Helper()
	found, err := b.Search(t.Context(), "w", "kb", fulltext.Query{Parsed: fulltext.Parse(strings.Join(words, " ")), Limit: 100, ByChunk: true})
	require.NoError(t, err)
	require.NotEmpty(t, found.Hits)
}

// queryAll makes a number of queries one after another.
func (b *largeBase) queryAll(query func(i int, words []string)) (s sample) {
	for i, words := range b.queries[:rebuildQueries] {
		start := time.Now()
		query(i, words)
		took := time.Since(start)
		s.latency, s.count, s.took = append(s.latency, took), s.count+1, s.took+took
	}
	return s
}

// benchRebuild builds the index of a large base, searches it by words and by meaning, and builds it again while others
// search it.
func benchRebuild(t *testing.T, _ *history) {
	others := watchOthers(t)
	b := newLargeBase(t, scaled(100_000))
	collectGarbage()
	cpu, start := ownCPU(t), time.Now()
	require.NoError(t, b.build(t.Context()))
	built, builtCPU := time.Since(start), ownCPU(t)-cpu
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = b.Run(ctx) }) // sweeps what a rebuild replaces
	defer func() { stop(); running.Wait() }()

	r := rand.New(rand.NewPCG(1, 1))
	var text, hybrid series
	for range runs {
		text = append(text, b.queryAll(func(_ int, words []string) { b.query(t, words) }))
		hybrid = append(hybrid, b.queryAll(func(_ int, words []string) {
			b.query(t, words)
			found, err := b.Nearest(t.Context(), "w", "kb", vectorSet, vectors.Query{Vector: randomVector(r), Limit: 100, Least: -1})
			require.NoError(t, err)
			require.Len(t, found.Hits, 100)
			require.False(t, found.OnDisk)
		}))
	}
	chunks := len(b.documents) * chunksEach
	out := line{
		"runs": runs, "others_cores": others(), "seed": searchSeed, "chunks": chunks, "dimensions": vectorSize, "control": "the text query alone",
		"aim_ms": aimHybridMS, "p95_ms_more": more(hybrid, text), "ok": more(hybrid, text) <= aimHybridMS,
	}
	text.describe(out, "text")
	hybrid.describe(out, "hybrid")
	out.print(t, "hybrid")

	collectGarbage()
	cpuBefore, begun := ownCPU(t), time.Now()
	require.NoError(t, b.rebuild(t.Context(), chunks))
	took, rebuiltCPU := time.Since(begun), ownCPU(t)-cpuBefore
	ended := make(chan error, 1)
	go func() { ended <- b.rebuild(t.Context(), chunks) }()
	during := series{b.queryUntil(t, ended)}
	idle := func(s sample) float64 { return percentile(s.latency, 95) }
	times, slower := took.Seconds()/built.Seconds(), during.of(idle)/text.of(idle)
	out = line{
		"runs": 1, "others_cores": others(), "seed": searchSeed, "chunks": chunks, "control": "the first build; a search beside nothing",
		"build_s": built.Seconds(), "rebuild_s": took.Seconds(), "cpu_s_build": builtCPU.Seconds(), "cpu_s_rebuild": rebuiltCPU.Seconds(), "aim": aimRebuild, "ratio": times,
		"ratio_cpu": rebuiltCPU.Seconds() / builtCPU.Seconds(), "aim_search": aimSearchRebuild, "ratio_search": slower, "ok": times <= aimRebuild && slower <= aimSearchRebuild,
		"durability": "none: an index is built again, not synced",
	}
	during.describe(out, "search")
	out.print(t, "rebuild")
}

// rebuild builds the index again beside the live one.
func (b *largeBase) rebuild(ctx context.Context, chunks int) error {
	report, err := b.Rebuild(ctx, "")
	if err == nil && report.Chunks != chunks {
		err = fmt.Errorf("%d chunks were rebuilt, not %d", report.Chunks, chunks)
	}
	return err
}

// queryUntil searches ten times a second until something has ended.
func (b *largeBase) queryUntil(t *testing.T, ended <-chan error) (s sample) {
	t.Helper()
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	for i := 0; ; i++ {
		select {
		case err := <-ended:
			require.NoError(t, err)
			return s
		case <-pace.C:
			begun := time.Now()
			b.query(t, b.queries[i%len(b.queries)])
			took := time.Since(begun)
			s.latency, s.count, s.took = append(s.latency, took), s.count+1, s.took+took
		}
	}
}

// build builds the index from nothing. A search refuses to wait that long, so it is asked again.
func (b *largeBase) build(ctx context.Context) error {
	for {
		err := b.Sync(ctx, "w", "kb")
		p, lagging := b.Progress("w", "kb")
		if lagging != nil || err == nil && p == (projections.IndexProgress{}) || ctx.Err() != nil {
			return lagging
		}
	}
}
