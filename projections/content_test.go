package projections_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/projections"
)

// page is a document of a workspace.
func page(path, text string) workspace.Entry {
	body, err := document.JSON(document.MapOf(document.Pair{Key: "slug", Value: path}, document.Pair{Key: "name", Value: text}))
	if err != nil {
		panic(err)
	}
	return workspace.Entry{Path: path, Hash: workspace.HashOf(body), Checksum: "sha256:" + text, Body: body}
}

// contentFixture is a fixture with the history of one workspace in it.
type contentFixture struct {
	*fixture
	id   string
	last uint64
}

func (h *contentFixture) append(t testing.TB, ev domain.Event) uint64 {
	t.Helper()
	r := add(t, h.log.Log, workspace.Stream(h.id), h.last, ev)
	h.last = r.Seqs[0]
	return h.last
}

func newContentFixture(t testing.TB) *contentFixture {
	t.Helper()
	return newContentOf(t, newFixture(t), "w1")
}

// newContentOf begins the history of another workspace.
func newContentOf(t testing.TB, in *fixture, id string) *contentFixture {
	t.Helper()
	h := &contentFixture{fixture: in, id: id}
	h.append(t, workspace.Created{Workspace: snapshot(id, "Shop"), Security: access.Default(id)})
	return h
}

func (h *contentFixture) reach(t testing.TB) {
	t.Helper()
	require.NoError(t, h.Reach(bounded(t), domain.At(domain.State, h.last)))
}

func (h *contentFixture) at(t testing.TB, seq uint64) (paths []string) {
	t.Helper()
	require.NoError(t, h.View(func(r projections.Reader) error {
		m, err := projections.History{}.ManifestAt(r, h.id, seq)
		for _, path := range m.Paths() {
			paths = append(paths, path+"="+m[path].Hash[:4])
		}
		return err
	}))
	return paths
}

func TestDocumentsAreFoundAndForgotten(t *testing.T) {
	h := newContentFixture(t)
	home := page("pages/home", "one")
	home.ID = "page001"
	first := h.append(t, workspace.PageCreated{Entry: home})
	h.append(t, workspace.AutomationCreated{Entry: page("automations/a", "x")})
	moved := page("pages/start", "two")
	moved.From, moved.ID = "pages/home", "page001"
	renamed := h.append(t, workspace.PageUpdated{Entry: moved})
	h.reach(t)
	require.NoError(t, h.View(func(r projections.Reader) error {
		item, ok, err := projections.Content{}.Get(r, "w1", "pages/start")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, projections.Item{Path: "pages/start", Hash: moved.Hash, ID: "page001", Revision: 3, Created: first, Updated: renamed}, item)
		_, ok, _ = projections.Content{}.Get(r, "w1", "pages/home")
		require.False(t, ok)
		id, path, err := projections.Content{}.Page(r, "page001")
		require.Equal(t, []any{"w1", "pages/start", nil}, []any{id, path, err})
		old, ok, err := projections.Content{}.Body(r, "w1", home.Hash)
		require.NoError(t, err)
		require.True(t, ok, "what was stays readable")
		require.JSONEq(t, string(home.Body), string(old))
		meta, err := projections.Content{}.Meta(r, "w1", moved.Hash)
		require.Equal(t, "sha256:two", meta.Checksum)
		return err
	}))
	h.append(t, workspace.PageDeleted{Slug: "start"})
	h.reach(t)
	require.NoError(t, h.View(func(r projections.Reader) error {
		id, _, err := projections.Content{}.Page(r, "page001")
		require.Empty(t, id)
		return err
	}))
	require.Len(t, h.at(t, renamed), 4, "index, security, an automation and a page")
	require.Len(t, h.at(t, h.last), 3)
}

func TestWhatIsStagedShowsInOneStep(t *testing.T) {
	h := newContentFixture(t)
	h.append(t, workspace.Staged{Name: "never", Entries: []workspace.Entry{page("automations/never", "x")}})
	h.append(t, workspace.Staged{Name: "s", Entries: []workspace.Entry{page("automations/a", "1"), page("automations/b", "2")}})
	before := h.append(t, workspace.Staged{Name: "s", Entries: []workspace.Entry{page("automations/c", "3")}})
	h.reach(t)
	require.Len(t, h.at(t, before), 2)
	h.append(t, workspace.Imported{Switch: workspace.Switch{Stage: "s"}})
	h.reach(t)
	require.Len(t, h.at(t, h.last), 5)
	var found []string
	require.NoError(t, h.View(func(r projections.Reader) error {
		return projections.Content{}.List(r, "w1", "automations/", func(i projections.Item) (bool, error) {
			_, ok, err := projections.Content{}.Body(r, "w1", i.Hash)
			require.True(t, ok)
			found = append(found, i.Slug())
			return true, err
		})
	}))
	require.Equal(t, []string{"a", "b", "c"}, found)
	v, err := h.Verify(bounded(t), nil)
	require.NoError(t, err)
	require.True(t, v.OK, "a rebuilt model is the same")
}

// Whatever happened, the manifest at a sequence is what folding up to it gives.
func TestTheManifestIsTheFold(t *testing.T) {
	shared, n := newFixture(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		h := newContentOf(t, shared, fmt.Sprintf("w%d", n))
		states := map[uint64]workspace.State{h.last: {}}
		s := states[h.last]
		for i := range rapid.IntRange(1, 150).Draw(rt, "changes") {
			ev := someChange(rt, s, i)
			s = workspace.Decider.Evolve(s, ev)
			states[h.append(t, ev)] = s
		}
		h.reach(t)
		for seq, state := range states {
			require.NoError(rt, h.View(func(r projections.Reader) error {
				m, err := projections.History{}.ManifestAt(r, h.id, seq)
				require.Len(rt, m, state.Items.Len()+2)
				for path, item := range state.Items.All() {
					require.Equal(rt, item.Hash, m[path].Hash, path)
				}
				return errors.Join(err, checkChanges(rt, r, h, seq, m))
			}))
		}
	})
}

// checkChanges compares what a change touched, and what changed after it, with the manifests.
func checkChanges(rt *rapid.T, r projections.Reader, h *contentFixture, seq uint64, m projections.Manifest) error {
	before, err := projections.History{}.ManifestAt(r, h.id, seq-1)
	require.NoError(rt, err)
	was, is, err := projections.History{}.ChangedBy(r, h.id, seq)
	require.NoError(rt, err)
	for _, path := range append(before.Paths(), m.Paths()...) {
		if _, touched := is[path]; !touched {
			require.Equal(rt, before[path], m[path], "%s was not touched", path)
		}
	}
	for path := range is {
		require.Equal(rt, before[path], was[path], "%s before", path)
		require.Equal(rt, m[path], is[path], "%s after", path)
	}
	changed, known, err := projections.History{}.ChangedAfter(r, h.id, seq, h.last)
	require.True(rt, known)
	now, err2 := projections.History{}.ManifestAt(r, h.id, h.last)
	for _, path := range append(now.Paths(), m.Paths()...) {
		want, ok := changed[path]
		if !ok {
			want = now[path]
		}
		require.Equal(rt, m[path], want, "%s then", path)
	}
	return errors.Join(err, err2)
}

func someChange(rt *rapid.T, s workspace.State, i int) domain.Event {
	slug := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "slug")
	path := "automations/" + slug
	exists := s.Items.Has(path)
	e := page(path, fmt.Sprint(i))
	switch {
	case exists && rapid.Bool().Draw(rt, "delete"):
		return workspace.AutomationDeleted{Slug: slug}
	case exists:
		return workspace.AutomationUpdated{Entry: e}
	}
	return workspace.AutomationCreated{Entry: e}
}

func TestHistoryTellsWhatWasTouched(t *testing.T) {
	h := newContentFixture(t)
	renamed := h.append(t, workspace.Updated{Workspace: snapshot("w1", "Store")})
	aside := snapshot("w1", "Store")
	aside.Settings.CustomDomains = []string{"a.example.com"}
	elsewhere := h.append(t, workspace.Updated{Workspace: aside, Aside: true})
	saved := h.append(t, workspace.AutomationCreated{Entry: page("automations/a", "1")})
	h.reach(t)
	require.NoError(t, h.View(func(r projections.Reader) error {
		var all []projections.Change
		require.NoError(t, projections.History{}.List(r, "w1", 0, func(c projections.Change) bool { all = append(all, c); return true }))
		require.Len(t, all, 4)
		require.Equal(t, saved, all[0].Seq)
		require.Equal(t, []string{"automations/a"}, all[0].Parts)
		require.Equal(t, "Automation a created", all[0].Summary)
		require.Equal(t, elsewhere, all[1].Seq)
		require.False(t, all[1].Content, "a host is no content")
		require.Equal(t, []string{"index#name"}, all[2].Parts)
		touched, err := projections.History{}.Touched(r, "w1", "index#name")
		require.Equal(t, renamed, touched)
		require.NoError(t, err)
		rec, ok, err := projections.Workspaces{}.Record(r, "w1")
		require.True(t, ok)
		require.Equal(t, saved, rec.Dynamic.ContentRevision)
		now, err2 := projections.History{}.SeqAt(r, "w1", time.Now())
		require.Equal(t, saved, now)
		require.NoError(t, err2)
		before, err2 := projections.History{}.SeqAt(r, "w1", time.Now().Add(-time.Hour))
		require.Zero(t, before)
		require.NoError(t, err2)
		return err
	}))
}

// An edit that was made while a push ran stays to be pushed.
func TestDirtyFollowsTheRevisionThatWasPushed(t *testing.T) {
	h := newContentFixture(t)
	dirty := func() (dirty bool) {
		h.reach(t)
		require.NoError(t, h.View(func(r projections.Reader) error {
			rec, _, err := projections.Workspaces{}.Record(r, "w1")
			dirty = rec.Dynamic.Dirty
			return err
		}))
		return dirty
	}
	require.True(t, dirty(), "a new workspace is nowhere else")
	snapshotAt := h.append(t, workspace.AutomationCreated{Entry: page("automations/a", "1")})
	version := workspace.Version{Name: "v1", Repository: &workspace.RepositoryRef{ID: "origin"}, ContentRevision: snapshotAt}
	h.append(t, workspace.Published{Version: version, Synced: snapshotAt})
	require.False(t, dirty())
	again := h.append(t, workspace.AutomationUpdated{Entry: page("automations/a", "2")})
	require.True(t, dirty())
	h.append(t, workspace.AutomationUpdated{Entry: page("automations/a", "3")})
	h.append(t, workspace.Published{Version: version, Synced: again})
	require.True(t, dirty(), "the third text was not in what was pushed")
	h.append(t, workspace.Published{Version: workspace.Version{Name: "n1"}})
	require.True(t, dirty(), "a native version says nothing about the outside")
	h.append(t, workspace.Locked{Reason: "manual", Epoch: 1})
	h.append(t, workspace.Published{Version: version, Synced: h.last})
	require.False(t, dirty())
	h.append(t, workspace.AutomationUpdated{Entry: page("automations/a", "4")})
	h.append(t, workspace.Imported{Sync: &workspace.Integration{RepositoryID: "origin"}})
	require.True(t, dirty(), "what is here was merged with what is there")
	h.append(t, workspace.Imported{Sync: &workspace.Integration{RepositoryID: "origin", Clean: true}})
	require.False(t, dirty(), "a pull found the same there")
}

// A page of another workspace with the same id takes nothing from this one.
func TestPagesOfTwoWorkspacesWithOneID(t *testing.T) {
	shared := newFixture(t)
	victim, thief := newContentOf(t, shared, "victim"), newContentOf(t, shared, "thief")
	home, copied := page("pages/home", "one"), page("pages/mine", "two")
	home.ID, copied.ID = "page001", "page001"
	victim.append(t, workspace.PageCreated{Entry: home})
	thief.append(t, workspace.PageCreated{Entry: copied})
	bob := access.Target{ID: "bob"}
	thief.append(t, workspace.PageShared{DocumentShare: workspace.DocumentShare{SubjectID: "page001", Path: "pages/mine", Target: bob, Permissions: access.Permissions{Policies: map[string]bool{"update": true}}}})
	thief.append(t, workspace.PageDeleted{Slug: "mine"})
	thief.reach(t)
	require.NoError(t, shared.View(func(r projections.Reader) error {
		id, path, err := projections.Content{}.Page(r, "page001")
		require.Equal(t, []string{"victim", "pages/home"}, []string{id, path})
		require.NoError(t, err)
		shares, err := projections.Content{}.Shares(r, "victim", "page001")
		require.Empty(t, shares)
		return err
	}))
}

func TestALongNameOfAPartStopsNothing(t *testing.T) {
	h := newContentFixture(t)
	odd := snapshot("w1", "Shop")
	odd.Settings.Unknown = document.MapOf(document.Pair{Key: strings.Repeat("k", 70_000), Value: "v"})
	h.append(t, workspace.Updated{Workspace: odd})
	h.reach(t)
}

// switching records a change of so many documents with paths of a length: new ones in place
// of others.
func switching(t *testing.T, h *fixture, seq uint64, round string, n, length int, deleted []string) (next uint64, paths []string) {
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
	h := &fixture{log: store}
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
