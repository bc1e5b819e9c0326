package projections_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore"
	"svc/projections"
)

const replayed = 20000

// history fills a log with creations and updates, as many of each.
func history(b *testing.B) eventstore.Store {
	log, _ := openLog(b, b.TempDir())
	var writers sync.WaitGroup
	for w := range 64 {
		writers.Go(func() {
			for i := range replayed / 64 / 2 {
				id := fmt.Sprintf("w%d-%d", w, i)
				r := create(b, log.Log, id, "a workspace with an ordinary name")
				update(b, log.Log, id, "and another name", r.Seqs[0])
			}
		})
	}
	writers.Wait()
	return log.Log
}

// BenchmarkReplay builds the read models of a whole log; "control" only reads
// and decodes it.
func BenchmarkReplay(b *testing.B) {
	log := history(b)
	info, err := log.Info(b.Context(), domain.State)
	require.NoError(b, err)
	rate := func(b *testing.B) {
		b.ReportMetric(float64(info.Last)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	}
	b.Run("control", func(b *testing.B) {
		for b.Loop() {
			consume(b, log)
		}
		rate(b)
	})
	b.Run("models", func(b *testing.B) {
		dir := b.TempDir()
		n := 0
		for b.Loop() {
			b.StopTimer()
			n++
			db, closeDB := openDB(b, filepath.Join(dir, fmt.Sprint(n)))
			b.StartTimer()
			m, stop := start(b, projections.Options{DB: db, Store: log})
			require.NoError(b, m.Reach(bounded(b), domain.At(domain.State, info.Last)))
			b.StopTimer()
			stop()
			closeDB()
			b.StartTimer()
		}
		rate(b)
	})
}

func consume(b *testing.B, log eventstore.Store) {
	enough := errors.New("enough")
	err := log.Subscribe(context.WithoutCancel(b.Context()), domain.State, 1, func(batch eventstore.Batch) error {
		if batch.Pending == 0 {
			return enough
		}
		return nil
	})
	require.ErrorIs(b, err, enough)
}

// BenchmarkGet reads one workspace; "control" is one Badger get.
func BenchmarkGet(b *testing.B) {
	h := newFixture(b)
	allocateBlocks(b, h.log.Log, 500)
	create(b, h.log.Log, "a", "a workspace")
	require.NoError(b, h.Fresh(bounded(b)))
	key := append(append([]byte{}, h.Area(projections.Workspaces{})...), "da"...)
	b.Run("control", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			err := h.db.Badger().View(func(txn *badger.Txn) error {
				item, err := txn.Get(key)
				if err != nil {
					return err
				}
				_, err = item.ValueCopy(nil)
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("workspace", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			err := h.View(func(r projections.Reader) error {
				_, ok, err := projections.Workspaces{}.Get(r, "a")
				if !ok {
					return errors.Join(err, errors.New("not there"))
				}
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
