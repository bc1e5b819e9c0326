package projections

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// modelBench is read models by themselves, with events of its own times.
type modelBench struct {
	t   *testing.T
	db  *badger.DB
	gen *generation
	all []Projection
}

func newModelBench(t *testing.T, all ...Projection) *modelBench {
	t.Helper()
	db, err := badger.Open(badger.DefaultOptions("").WithInMemory(true).WithLogger(nil).WithMemTableSize(8 << 20))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return &modelBench{t, db, newGeneration(1, all), all}
}

func (b *modelBench) apply(ev domain.Recorded) {
	b.t.Helper()
	require.NoError(b.t, b.db.Update(func(txn *badger.Txn) error {
		for _, p := range b.all {
			if err := p.Apply(Tx{keys: txnKeys{txn: txn}, area: b.gen.areas[p.Name()]}, ev); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (b *modelBench) view(fn func(Reader)) {
	b.t.Helper()
	require.NoError(b.t, b.db.View(func(txn *badger.Txn) error { fn(Reader{txn, b.gen}); return nil }))
}

// What happened is found by time and by sequence, as a look at all events finds it.
func TestChangesAreFoundAsInAListOfAll(t *testing.T) {
	t.Parallel()
	b := newModelBench(t, History{})
	random := rand.New(rand.NewPCG(7, 8))
	type known struct {
		Change

		hidden bool
		ms     int64
	}
	var all []known
	at := begins
	for seq := uint64(1); seq <= 400; seq++ {
		at = at.Add(time.Duration(random.IntN(3)) * 700 * time.Microsecond)
		id := fmt.Sprintf("w%d", random.IntN(3))
		text := fmt.Appendf(nil, `{"n":%d}`, seq)
		var ev domain.Event
		switch random.IntN(4) {
		case 0:
			ev = workspace.Locked{Reason: "manual", Epoch: seq}
		case 1:
			ev = workspace.Staged{Name: "unused"}
		default:
			ev = workspace.AutomationUpdated{Entry: workspace.Entry{Path: fmt.Sprintf("automations/a%d", random.IntN(4)), Hash: workspace.HashOf(text), Body: text}}
		}
		b.apply(domain.Recorded{Log: domain.State, Stream: workspace.Stream(id), Seq: seq, At: at, Meta: domain.Meta{UserID: fmt.Sprint("u", seq)}, Data: ev})
		d, content := workspace.DeltaOf(ev)
		c := Change{Seq: seq, Workspace: id, At: domain.FormatTime(at), By: fmt.Sprint("u", seq), Type: ev.EventType(), Summary: workspace.Summarise(ev), Content: content}
		for _, e := range d.Entries {
			c.Parts = append(c.Parts, e.Path)
		}
		all = append(all, known{c, isHidden(ev), at.UnixMilli()})
	}
	// last returns the changes that fit, the last one first.
	last := func(fits func(known) bool) (found []Change) {
		for _, k := range slices.Backward(all) {
			if !k.hidden && fits(k) {
				found = append(found, k.Change)
			}
		}
		return found
	}
	first := func(found []Change) uint64 {
		if len(found) == 0 {
			return 0
		}
		return found[0].Seq
	}
	b.view(func(r Reader) {
		for i := range 3 {
			id := fmt.Sprintf("w%d", i)
			for ms := begins.UnixMilli() - 2; ms <= at.UnixMilli()+2; ms++ {
				seq, err := History{}.SeqAt(r, id, time.UnixMilli(ms).Add(300*time.Microsecond))
				require.NoError(t, err)
				require.Equal(t, first(last(func(k known) bool { return k.Workspace == id && k.ms <= ms })), seq, "%s at %d", id, ms)
			}
		}
		for seq := uint64(0); seq <= 401; seq++ {
			revision, err := History{}.Revision(r, "w1", seq)
			require.NoError(t, err)
			require.Equal(t, first(last(func(k known) bool { return k.Workspace == "w1" && k.Content && k.Seq <= seq })), revision)
			var listed, listedAll []Change
			require.NoError(t, History{}.List(r, "w1", seq, func(c Change) bool { listed = append(listed, c); return len(listed) < 20 }))
			require.NoError(t, History{}.ListAll(r, seq, func(c Change) bool { listedAll = append(listedAll, c); return len(listedAll) < 50 }))
			before := func(k known) bool { return seq == 0 || k.Seq < seq }
			want := last(func(k known) bool { return k.Workspace == "w1" && before(k) })
			require.Equal(t, want[:min(20, len(want))], listed)
			want = last(before)
			require.Equal(t, want[:min(50, len(want))], listedAll)
		}
		for _, k := range all {
			c, ok, err := History{}.Get(r, k.Workspace, k.Seq)
			require.NoError(t, err)
			require.Equal(t, !k.hidden, ok)
			audit, err := History{}.Audit(r, k.Workspace, k.Seq)
			require.NoError(t, err)
			if ok {
				require.Equal(t, k.Change, c)
			}
			if k.Content {
				require.Equal(t, Audit{k.At, k.By}, audit)
			}
		}
	})
}

// What a change did is read as a whole, whether it is stored beside the change or apart.
func TestALargeChangeIsReadAsASmallOne(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 20, 60, maxParts, maxParts + 1} {
		b := newModelBench(t, History{})
		want, paths := Manifest{}, []string{}
		entries := make([]workspace.Entry, n)
		for i := range entries {
			entries[i] = workspace.Entry{Path: fmt.Sprintf("automations/a%04d", i), Hash: workspace.HashOf(fmt.Append(nil, i))}
			want[entries[i].Path], paths = Ref{Hash: entries[i].Hash}, append(paths, entries[i].Path)
		}
		b.apply(domain.Recorded{Log: domain.State, Stream: workspace.Stream("w"), Seq: 5, At: begins, Data: workspace.Imported{Switch: workspace.Switch{Entries: entries}}})
		b.view(func(r Reader) {
			is, err := History{}.ManifestAt(r, "w", 9)
			require.NoError(t, err)
			require.Equal(t, want, is)
			changed, known, err := History{}.ChangedSince(r, "w", 4, 9)
			require.NoError(t, err)
			require.True(t, known)
			require.Equal(t, want, changed)
			_, is, err = History{}.ChangedBy(r, "w", 5)
			require.NoError(t, err)
			require.Equal(t, want, is)
			c, ok, err := History{}.Get(r, "w", 5)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, paths, c.Parts)
		})
	}
}

// A document is read by its hash whatever its length, also when a later change had it without its text.
func TestADocumentIsReadWhereverItIsStored(t *testing.T) {
	t.Parallel()
	for _, length := range []int{10, maxBeside - 9, maxBeside, maxBeside + 1, 100_000} {
		b := newModelBench(t, Content{})
		body := []byte(`{"name":"` + strings.Repeat("x", length) + `"}`)
		e := workspace.Entry{Path: "automations/a", Hash: workspace.HashOf(body), Checksum: "sum", Body: body}
		b.apply(domain.Recorded{Log: domain.State, Stream: workspace.Stream("w"), Seq: 1, At: begins, Data: workspace.AutomationCreated{Entry: e}})
		without := e
		without.Apart, without.Body, without.About = true, nil, document.MapOf(document.Pair{Key: "name", Value: "short"})
		for seq, ev := range []domain.Event{workspace.AutomationUpdated{Entry: without}, workspace.AutomationUpdated{Entry: without}} {
			b.view(func(r Reader) {
				read, ok, err := Content{}.Body(r, "w", e.Hash)
				require.NoError(t, err)
				require.True(t, ok)
				require.Equal(t, string(body), string(read))
				meta, err := Content{}.Meta(r, "w", e.Hash)
				require.NoError(t, err)
				require.Equal(t, "sum", meta.Checksum)
				require.NotNil(t, meta.About)
			})
			b.apply(domain.Recorded{Log: domain.State, Stream: workspace.Stream("w"), Seq: uint64(seq + 2), At: begins, Data: ev})
		}
	}
	b := newModelBench(t, Content{})
	apart := workspace.Entry{Path: "automations/a", Hash: workspace.HashOf(nil), Apart: true, About: document.MapOf()}
	b.apply(domain.Recorded{Log: domain.State, Stream: workspace.Stream("w"), Seq: 1, At: begins, Data: workspace.AutomationCreated{Entry: apart}})
	b.view(func(r Reader) {
		_, ok, err := Content{}.Body(r, "w", apart.Hash)
		require.NoError(t, err)
		require.False(t, ok, "its text is in the blob store")
		_, ok, err = Content{}.Body(r, "w", workspace.HashOf([]byte("other")))
		require.NoError(t, err)
		require.False(t, ok)
	})
}

// What an index touches is found from the members that are written in another way.
func TestUnequalMembers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after, rest, same string }{
		{`{}`, `{"name":"a"}`, `{}`, ""},
		{`{"name":"a"}`, `{}`, `{"name":"a"}`, ""},
		{`{"name":"a","slug":"s","blocks":{"x":[1,2]}}`, `{"name":"b","blocks":{"x":[1,2]},"slug":"s"}`, `{"name":"a"}`, "slug blocks"},
		{`{"a\"b":1,"slug":"s"}`, `{"a\"b":1,"slug":"t"}`, `{"a\"b":1,"slug":"s"}`, ""},
		{`{"name":"a","slug":"s"}`, `{"name":"s","slug":"a"}`, `{"name":"a","slug":"s"}`, ""},
	} {
		rest, same, err := unequalMembers([]byte(c.before), []byte(c.after))
		require.NoError(t, err)
		require.Equal(t, c.rest, string(rest))
		require.Equal(t, c.same, strings.Join(same, " "))
	}
	for _, damaged := range [][2]string{{`{`, `{}`}, {`{}`, `[`}} {
		_, _, err := unequalMembers([]byte(damaged[0]), []byte(damaged[1]))
		require.Error(t, err)
	}
}
