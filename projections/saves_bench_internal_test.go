package projections

import (
	"fmt"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// BenchmarkSave applies new automations of 64 workspaces, ten in one transaction, as a writer does.
func BenchmarkSave(b *testing.B) {
	db, err := badger.Open(badger.DefaultOptions("").WithInMemory(true).WithLogger(nil).WithMemTableSize(64 << 20))
	require.NoError(b, err)
	defer func() { require.NoError(b, db.Close()) }()
	gen := newGeneration(1, Table())
	w := &writer{gen: gen, log: domain.State}
	for _, p := range Table() {
		if p.Log() == domain.State {
			w.scopes = append(w.scopes, targetProjection{Projection: p, area: gen.areas[p.Name()]})
		}
	}
	recent := newRecentValues(recentBytes)
	seq := uint64(0)
	apply := func(events ...domain.Recorded) {
		defer w.room.reset()
		err := db.Update(func(txn *badger.Txn) error {
			at := checkpoint{Seq: seq}
			for i := range events {
				seq++
				events[i].Seq = seq
				if _, err := w.applyGroup(recentKeys{txnKeys{txn, &w.room}, recent}, &at, events[i:i+1]); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(b, err)
	}
	record := func(id string, ev domain.Event) domain.Recorded {
		return domain.Recorded{Log: domain.State, ID: fmt.Sprintf("01ARZ3NDEKTSV4RRFFQ69%05d", seq%100000), Stream: workspace.Stream(id), At: begins, Data: ev, Meta: domain.Meta{UserID: "daf76afb8ee6f1739d9da347", CorrelationID: "d18ae2a2-3767-4999-b9b2-fd8f96f1d2e0"}}
	}
	var ids []string
	for n := range 64 {
		id := fmt.Sprintf("w%06d", n)
		ids = append(ids, id)
		apply(record(id, workspace.Created{Workspace: workspace.Snapshot{ID: id, Settings: workspace.Settings{Name: "W", Slug: id}}}))
	}
	n := 0
	batch := make([]domain.Recorded, 10)
	b.ReportAllocs()
	for b.Loop() {
		for i := range batch {
			n++
			body := fmt.Appendf(nil, `{"slug":"r1x%d","name":"Charge card","when":{"events":["paid"]},"do":[{"emit":{"event":"charged","payload":{"n":%d}}}]}`, n, n)
			batch[i] = record(ids[n%64], workspace.AutomationCreated{Entry: workspace.Entry{
				Path: fmt.Sprintf("automations/r1x%d", n), Hash: workspace.HashOf(body), Checksum: workspace.HashOf(body), Body: body,
				Events: document.MapOf(document.Pair{Key: "emit", Value: []any{"charged"}}, document.Pair{Key: "listen", Value: []any{"paid"}}, document.Pair{Key: "autocomplete", Value: []any{}}),
			}})
		}
		apply(batch...)
	}
}
