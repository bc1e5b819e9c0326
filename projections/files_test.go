package projections_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/file"
	"svc/eventstore/jetstream"
	"svc/projections"
)

// filesFixture is a log and the read model of files.
type filesFixture struct {
	*projections.Models
	t   *testing.T
	log *jetstream.Store
	now time.Time
}

func newFilesFixture(t *testing.T) *filesFixture {
	t.Helper()
	l := &filesFixture{t: t, now: time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}
	l.log, _ = openLog(t, t.TempDir())
	db, _ := openDB(t, filepath.Join(t.TempDir(), "models"))
	l.Models, _ = start(t, projections.Options{DB: db, Store: l.log.Log, Projections: []projections.Projection{projections.Files{}}, Known: l.log.Log.Known})
	return l
}

func sum(char string) string { return strings.Repeat(char, 64) }

func (l *filesFixture) facts(workspace, id, content string, expires time.Time) file.Facts {
	return file.Facts{
		ID: id, WorkspaceID: workspace, Terms: file.Terms{Name: id + ".txt", ExpiresAt: expires},
		Content: file.Content{Mimetype: "text/plain", Size: 1, Checksum: sum(content)},
	}
}

// put uploads a file and returns the sequence of its event.
func (l *filesFixture) put(workspace, id, content string, expires time.Time) uint64 {
	l.t.Helper()
	return add(l.t, l.log.Log, file.Stream(workspace, id), 0, file.Uploaded{File: l.facts(workspace, id, content, expires)}).Seqs[0]
}

func (l *filesFixture) view(read func(projections.Reader) error) {
	l.t.Helper()
	require.NoError(l.t, l.Fresh(bounded(l.t)))
	require.NoError(l.t, l.View(read))
}

// listed returns the ids of a workspace as the list has them.
func (l *filesFixture) listed(workspace string, at time.Time) (ids []string) {
	l.t.Helper()
	l.view(func(r projections.Reader) error {
		return projections.Files{}.List(r, workspace, at, func(f projections.File) bool { ids = append(ids, f.ID); return true })
	})
	return ids
}

func (l *filesFixture) get(workspace, id string, at time.Time) (f projections.File, ok bool) {
	l.t.Helper()
	l.view(func(r projections.Reader) (err error) {
		f, ok, err = projections.Files{}.Get(r, workspace, id, at)
		return err
	})
	return f, ok
}

func (l *filesFixture) due(at time.Time, limit int) (found []projections.FileRef) {
	l.t.Helper()
	l.view(func(r projections.Reader) (err error) {
		found, err = projections.Files{}.Due(r, at, limit)
		return err
	})
	return found
}

func TestFilesAreListedByWorkspaceTheNewestFirst(t *testing.T) {
	l := newFilesFixture(t)
	for i := range 3 {
		l.put("w1", fmt.Sprintf("f%d", 9-i), "a", time.Time{})
	}
	l.put("w11", "g", "b", time.Time{})
	require.Equal(t, []string{"f7", "f8", "f9"}, l.listed("w1", l.now))
	require.Equal(t, []string{"g"}, l.listed("w11", l.now))
	require.Empty(t, l.listed("w", l.now))

	f, ok := l.get("w1", "f8", l.now)
	require.True(t, ok)
	require.Equal(t, "f8.txt", f.State.Name)
	require.Equal(t, "u1", f.UpdatedBy)
	require.NotEmpty(t, f.CreatedAt)
	require.Equal(t, f.CreatedAt, f.UpdatedAt)
	_, ok = l.get("w11", "f8", l.now)
	require.False(t, ok, "a file belongs to its workspace")

	first := ""
	l.view(func(r projections.Reader) error {
		return projections.Files{}.List(r, "w1", l.now, func(f projections.File) bool { first = f.ID; return false })
	})
	require.Equal(t, "f7", first, "a visitor may stop")
}

func TestChangesOfFilesMoveWhatTheyAreFoundBy(t *testing.T) {
	l := newFilesFixture(t)
	soon, later := l.now.Add(time.Minute), l.now.Add(time.Hour)
	seq := l.put("w1", "f1", "a", soon)
	l.put("w2", "f2", "a", later)
	l.put("w1", "f3", "b", time.Time{})
	require.Empty(t, l.due(soon.Add(-time.Millisecond), 10))
	require.Equal(t, []projections.FileRef{{WorkspaceID: "w1", ID: "f1"}}, l.due(soon, 10))
	require.Equal(t, []projections.FileRef{{WorkspaceID: "w1", ID: "f1"}, {WorkspaceID: "w2", ID: "f2"}}, l.due(later, 10))
	require.Equal(t, []projections.FileRef{{WorkspaceID: "w1", ID: "f1"}}, l.due(later, 1), "the first to end comes first")

	seq = add(t, l.log.Log, file.Stream("w1", "f1"), seq, file.Updated{File: l.facts("w1", "f1", "b", time.Time{})}).Seqs[0]
	require.Equal(t, []projections.FileRef{{WorkspaceID: "w2", ID: "f2"}}, l.due(later, 10))
	require.Equal(t, []string{"f3", "f1"}, l.listed("w1", l.now), "its place is that of its upload")

	add(t, l.log.Log, file.Stream("w1", "f1"), seq, file.Deleted{ID: "f1", Name: "f1.txt"})
	require.Equal(t, []string{"f3"}, l.listed("w1", l.now))
	_, ok := l.get("w1", "f1", l.now)
	require.False(t, ok)
}

func TestAnExpiredFileIsGoneAtOnce(t *testing.T) {
	l := newFilesFixture(t)
	ends := l.now.Add(time.Minute)
	l.put("w1", "old", "a", ends)
	l.put("w1", "new", "a", time.Time{})
	_, ok := l.get("w1", "old", ends.Add(-time.Millisecond))
	require.True(t, ok)
	require.Equal(t, []string{"new", "old"}, l.listed("w1", ends.Add(-time.Millisecond)))
	_, ok = l.get("w1", "old", ends)
	require.False(t, ok)
	require.Equal(t, []string{"new"}, l.listed("w1", ends))
}

func TestTheReadModelOfFilesIsRebuiltAsItWas(t *testing.T) {
	l := newFilesFixture(t)
	seq := l.put("w1", "f1", "a", l.now)
	add(t, l.log.Log, file.Stream("w1", "f1"), seq, file.Updated{File: l.facts("w1", "f1", "b", l.now.Add(time.Hour)), Share: file.Share{Generation: 1, Sealed: []byte("x")}})
	l.put("w1", "f2", "a", l.now)
	require.NoError(t, l.Fresh(bounded(t)))
	report, err := l.Verify(bounded(t), nil)
	require.NoError(t, err)
	require.True(t, report.OK, "%+v", report)
}
