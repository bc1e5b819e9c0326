package projections_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
	"svc/projections"
)

// switching records a change of so many documents with paths of a length: new ones in place
// of others.
func switching(t *testing.T, h *house, seq uint64, round string, n, length int, deleted []string) (next uint64, paths []string) {
	t.Helper()
	var entries []workspace.Entry
	for i := range n {
		path := fmt.Sprintf("automations/%s%05d", round, i)
		path += strings.Repeat("x", max(0, length-len(path)))
		entries, paths = append(entries, workspace.Entry{Path: path, Hash: strings.Repeat("a", 64)}), append(paths, path)
	}
	id := workspace.Stream("w1")
	record := func(ev domain.Event) {
		receipt := add(t, h.log.Log, id, seq, ev)
		seq = receipt.Seqs[len(receipt.Seqs)-1]
	}
	for i := 0; i < n; i += 500 {
		record(workspace.Staged{Name: round, Entries: entries[i:min(i+500, n)]})
	}
	record(workspace.Imported{Switch: workspace.Switch{Stage: round, Deleted: deleted}})
	return seq, paths
}

// What one step may change, it can: more than one transaction holds would stop the read
// models of everybody.
func TestTheLargestChangeFits(t *testing.T) {
	t.Parallel()
	store, _ := openLog(t, t.TempDir())
	db, err := projections.OpenDB(projections.DBOptions{Dir: t.TempDir(), Log: quiet, MemtableMB: 16}) // as by default
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	h := &house{log: store}
	h.Models, _ = start(t, projections.Options{DB: db, Store: store.Log, Projections: []projections.Projection{projections.History{}, projections.Content{}}, Known: store.Log.Known})
	made := create(t, h.log.Log, "w1", "Shop")
	seq := made.Seqs[len(made.Seqs)-1]
	for i := range 62 { // so that the next ones are those after which the whole is written out
		receipt := update(t, h.log.Log, "w1", fmt.Sprint(i), seq)
		seq = receipt.Seqs[len(receipt.Seqs)-1]
	}
	seq, first := switching(t, h, seq, "a", workspace.MaxDocuments, 131, nil)
	seq, second := switching(t, h, seq, "b", workspace.MaxDocuments, 42, first)
	receipt := update(t, h.log.Log, "w1", "last", seq)
	require.NoError(t, h.Reach(bounded(t), receipt.Position))
	require.NoError(t, h.View(func(r projections.Reader) error {
		manifest, err := projections.History{}.ManifestAt(r, "w1", receipt.Seqs[0])
		require.NoError(t, err)
		require.Subset(t, manifest.Paths(), second)
		require.NotContains(t, manifest, first[0])
		change, ok, err := projections.History{}.Get(r, "w1", seq)
		require.True(t, ok)
		require.Subset(t, change.Parts, second, "and all that it touched is known")
		require.Subset(t, change.Parts, first)
		return err
	}))
}
