//go:build bench

package bench

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the control

	"svc/domain/knowledge"
	"svc/projections"
	"svc/projections/fulltext"
)

// Aims of search, and its corpus.
const (
	aimSearchIndex = 0.15 // of the rate of the control
	aimSearchQuery = 0.25 // of its time
	searchSeed     = 34
	searchWords    = 50_000 // different ones
	searchQueries  = 300
	chunkLength    = 1000 // characters
	chunksEach     = 10   // of a document
	searchBatch    = 250  // chunks in a transaction
	searchBaseName = "w.kb"
)

// corpus is documents of words that are as frequent as those of a language, and queries of three of them.
type corpus struct {
	documents []fulltext.Document
	queries   [][]string
}

func newCorpus(chunks int) *corpus {
	r := rand.New(rand.NewPCG(searchSeed, searchSeed))
	words := make([]string, searchWords)
	for i := range words {
		b := make([]byte, 3+r.IntN(8))
		for j := range b {
			b[j] = "etaoinshrdlucmfwypvbgk"[min(r.IntN(22), r.IntN(22))]
		}
		words[i] = string(b)
	}
	zipf := rand.NewZipf(r, 1.1, 4, searchWords-1)
	c := &corpus{}
	for range chunks / chunksEach {
		d := fulltext.Document{ID: fmt.Sprintf("doc_%06d", len(c.documents)), Title: words[zipf.Uint64()] + " " + words[zipf.Uint64()]}
		for n := range chunksEach {
			var b strings.Builder
			for b.Len() < chunkLength {
				b.WriteString(words[zipf.Uint64()] + " ")
			}
			d.Chunks = append(d.Chunks, knowledge.Chunk{N: n, Text: b.String(), Headings: []string{}, Language: "en"})
		}
		c.documents = append(c.documents, d)
	}
	for range searchQueries {
		c.queries = append(c.queries, []string{words[zipf.Uint64()], words[zipf.Uint64()], words[zipf.Uint64()]})
	}
	return c
}

// benchSearch compares the index of full text with FTS5 of SQLite, both in Go: writing chunks, and queries of three words
// of which any may match.
func benchSearch(t *testing.T, _ *history) {
	c := newCorpus(scaled(20_000))
	others := watchOthers(t)
	var index, indexControl, query, queryControl series
	var size, sizeControl int64
	for range runs {
		dir := t.TempDir()
		db, writing := indexCorpus(t, dir, c)
		index, query = append(index, writing), append(query, queryIndex(t, db, c))
		require.NoError(t, db.Close())
		size = sizeOf(t, dir)

		dir = t.TempDir()
		control, writing := indexControlCorpus(t, dir, c)
		indexControl, queryControl = append(indexControl, writing), append(queryControl, queryControlIndex(t, control, c))
		require.NoError(t, control.Close())
		sizeControl = sizeOf(t, dir)
	}
	times := func(p int) float64 {
		figure := func(s sample) float64 { return percentile(s.latency, p) }
		return query.of(figure) / queryControl.of(figure)
	}
	out := line{
		"runs": runs, "others_cores": others(), "seed": searchSeed, "chunks": len(c.documents) * chunksEach, "mb": megabytes(size), "mb_control": megabytes(sizeControl),
		"aim_index": aimSearchIndex, "ratio_index": index.ratio(indexControl), "ratios_index": index.ratios(indexControl),
		"aim_query": aimSearchQuery, "ratio_query_p50": times(50), "ratio_query_p95": times(95),
		"ok": index.ratio(indexControl) >= aimSearchIndex && times(50) <= aimSearchQuery && times(95) <= aimSearchQuery, "durability": "none: an index is built again, not synced",
	}
	index.describe(out, "index")
	indexControl.describe(out, "index_control")
	query.describe(out, "query")
	queryControl.describe(out, "query_control")
	out.print(t, "search")
}

// txnIndex is the keys of a transaction.
type txnIndex struct{ *badger.Txn }

func (x txnIndex) Get(key []byte) ([]byte, bool, error) {
	item, err := x.Txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	value, err := item.ValueCopy(nil)
	return value, err == nil, err
}

func (x txnIndex) Iterate(prefix, from []byte, _ bool, visit func(key, value []byte) (bool, error)) error {
	o := badger.DefaultIteratorOptions
	o.Prefix, o.PrefetchValues = prefix, false
	it := x.NewIterator(o)
	defer it.Close()
	if from == nil {
		from = prefix
	}
	for it.Seek(from); it.Valid(); it.Next() {
		more := false
		err := it.Item().Value(func(value []byte) (err error) {
			more, err = visit(it.Item().Key(), value)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// indexCorpus writes an index as a read model does: in transactions, each with a checkpoint.
func indexCorpus(t *testing.T, dir string, c *corpus) (*projections.DB, sample) {
	t.Helper()
	db, err := projections.OpenDB(projections.DBOptions{Dir: filepath.Join(dir, "search"), MemtableMB: 32, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	store, commit := db.DirectAccess()
	collectGarbage()
	stop, err := profile("search-index")
	require.NoError(t, err)
	cpu, start := ownCPU(t), time.Now()
	for from := 0; from < len(c.documents); {
		to := min(from+searchBatch/chunksEach, len(c.documents))
		txn := store.NewTransaction(true)
		batch := fulltext.NewBatch(txnIndex{txn}, searchBaseName, uint64(to))
		for _, d := range c.documents[from:to] {
			require.NoError(t, batch.Put(d))
		}
		require.NoError(t, batch.Flush())
		require.NoError(t, txn.Set([]byte("checkpoint"), fmt.Append(nil, to)))
		require.NoError(t, commit(txn))
		from = to
	}
	s := sample{count: len(c.documents) * chunksEach, took: time.Since(start), cpu: ownCPU(t) - cpu}
	stop()
	return db, s
}

// queryIndex searches the index.
func queryIndex(t *testing.T, db *projections.DB, c *corpus) (s sample) {
	t.Helper()
	store, _ := db.DirectAccess()
	collectGarbage()
	stop, err := profile("search-query")
	require.NoError(t, err)
	defer stop()
	cpu, begun := ownCPU(t), time.Now()
	for _, words := range c.queries {
		start := time.Now()
		txn := store.NewTransaction(false)
		result, err := fulltext.Search(t.Context(), txnIndex{txn}, searchBaseName, fulltext.Query{Parsed: fulltext.Parse(strings.Join(words, " ")), Limit: 10, ByChunk: true})
		txn.Discard()
		s.latency = append(s.latency, time.Since(start))
		require.NoError(t, err)
		require.NotEmpty(t, result.Hits)
		s.count++
	}
	s.took, s.cpu = time.Since(begun), ownCPU(t)-cpu
	return s
}

func indexControlCorpus(t *testing.T, dir string, c *corpus) (*sql.DB, sample) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "control.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(off)")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `create virtual table chunks using fts5(id unindexed, body, tokenize = 'porter unicode61')`)
	require.NoError(t, err)
	collectGarbage()
	cpu, start := ownCPU(t), time.Now()
	for from := 0; from < len(c.documents); {
		to := min(from+searchBatch/chunksEach, len(c.documents))
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		insert, err := tx.PrepareContext(t.Context(), `insert into chunks (id, body) values (?, ?)`)
		require.NoError(t, err)
		for _, d := range c.documents[from:to] {
			for _, chunk := range d.Chunks {
				_, err := insert.ExecContext(t.Context(), fmt.Sprintf("%s/%d", d.ID, chunk.N), chunk.Text)
				require.NoError(t, err)
			}
		}
		require.NoError(t, tx.Commit())
		from = to
	}
	return db, sample{count: len(c.documents) * chunksEach, took: time.Since(start), cpu: ownCPU(t) - cpu}
}

func queryControlIndex(t *testing.T, db *sql.DB, c *corpus) (s sample) {
	t.Helper()
	collectGarbage()
	cpu, begun := ownCPU(t), time.Now()
	for _, words := range c.queries {
		start := time.Now()
		rows, err := db.QueryContext(t.Context(), `select id, body, rank from chunks where chunks match ? order by rank limit 10`, strings.Join(words, " OR "))
		require.NoError(t, err)
		found := 0
		for rows.Next() {
			var id, body string
			var rank float64
			require.NoError(t, rows.Scan(&id, &body, &rank))
			found++
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		s.latency = append(s.latency, time.Since(start))
		require.Positive(t, found)
		s.count++
	}
	s.took, s.cpu = time.Since(begun), ownCPU(t)-cpu
	return s
}
