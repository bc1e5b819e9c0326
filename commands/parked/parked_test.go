package parked_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/parked"
	"svc/commands/seal"
	"svc/commands/vault"
	"svc/domain"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

func open(t *testing.T, dir string) (*parked.Parked, *jetstream.Store) {
	t.Helper()
	store := livetest.Store(t, jetstream.Options{Dir: dir})
	bucket, err := store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(t, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte{7, 0x5a}, 16), Active: true}})
	require.NoError(t, err)
	return &parked.Parked{Store: store.Data, Vault: vault.New(box, bucket)}, store
}

// got returns the state of a tree; "" when there is none.
func got(t *testing.T, p *parked.Parked, workspaceID, treeID string) string {
	t.Helper()
	state, ok, err := p.Get(t.Context(), workspaceID, treeID)
	require.NoError(t, err)
	require.Equal(t, ok, state != nil)
	return string(state)
}

func TestTheLastStateOfATreeIsKept(t *testing.T) {
	t.Parallel()
	p, store := open(t, t.TempDir())
	require.Empty(t, got(t, p, "w1", "t1"))
	require.NoError(t, p.Put(t.Context(), "w1", "t2", []byte("of another tree")))
	require.NoError(t, p.Put(t.Context(), "w2", "t1", []byte("of another workspace")))
	for _, state := range []string{"small", strings.Repeat("large", 200_000), strings.Repeat("other", 300_000), "last"} {
		require.NoError(t, p.Put(t.Context(), "w1", "t1", []byte(state)))
		require.Equal(t, state, got(t, p, "w1", "t1"))
	}
	require.NoError(t, p.Drop(t.Context(), "w1", "t1"))
	require.NoError(t, p.Drop(t.Context(), "w1", "t1"), "dropping nothing is no error")
	require.Empty(t, got(t, p, "w1", "t1"))
	require.Equal(t, "of another tree", got(t, p, "w1", "t2"))
	require.Equal(t, "of another workspace", got(t, p, "w2", "t1"))
	require.NoError(t, p.Drop(t.Context(), "w1", "t2"))
	holds, err := store.HasWorkspaceData(t.Context(), "w1")
	require.NoError(t, err)
	require.False(t, holds)
}

func TestStatesSurviveACrashAndAreSealed(t *testing.T) {
	t.Parallel()
	dir, crashed := t.TempDir(), filepath.Join(t.TempDir(), "crashed")
	p, _ := open(t, dir)
	large := strings.Repeat("plainlocals", 50_000)
	require.NoError(t, p.Put(t.Context(), "w1", "t1", []byte("plainlocals")))
	require.NoError(t, p.Put(t.Context(), "w1", "t2", []byte(large)))
	require.NoError(t, os.CopyFS(crashed, os.DirFS(dir)), "what is on disk while it runs")
	require.NoError(t, filepath.WalkDir(crashed, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NotContains(t, string(content), "plainlocals", name)
		return nil
	}))
	p, _ = open(t, crashed)
	require.Equal(t, "plainlocals", got(t, p, "w1", "t1"))
	require.Equal(t, large, got(t, p, "w1", "t2"))
}

func TestAStateOpensInItsPlaceOnly(t *testing.T) {
	t.Parallel()
	p, store := open(t, t.TempDir())
	v, _ := p.Vault.(*vault.Vault)
	sealed, err := v.Seal(t.Context(), "w1", []byte("x"), "trees/t1")
	require.NoError(t, err)
	other := parked.Parked{Store: store.Data, Vault: asIs{}}
	require.NoError(t, other.Put(t.Context(), "w1", "t2", sealed))
	require.Empty(t, got(t, p, "w1", "t2"))
}

// The key is destroyed before what it sealed is erased, and nobody can read that any more.
func TestAStateIsLetGoWithTheKeyOfItsWorkspace(t *testing.T) {
	t.Parallel()
	p, store := open(t, t.TempDir())
	var told bytes.Buffer
	p.Log = slog.New(slog.NewTextHandler(&told, nil))
	for _, workspaceID := range []string{"w1", "w2"} {
		require.NoError(t, p.Put(t.Context(), workspaceID, "t1", bytes.Repeat([]byte("x"), 1_500_000)))
	}
	v, _ := p.Vault.(*vault.Vault)
	require.NoError(t, v.Destroy(t.Context(), "w1"))
	for range 3 {
		require.Empty(t, got(t, p, "w1", "t1"))
	}
	require.Equal(t, 1, strings.Count(told.String(), "level=WARN"), told.String())
	require.Contains(t, told.String(), "workspace=w1 executionId=t1")
	holds, err := store.HasWorkspaceData(t.Context(), "w1")
	require.NoError(t, err)
	require.False(t, holds, "not even its parts are left")
	require.Len(t, got(t, p, "w2", "t1"), 1_500_000)
}

// What is sealed later makes a new key, which does not open what is left of before.
func TestAStateIsLetGoWhoseWorkspaceHasAnotherKey(t *testing.T) {
	t.Parallel()
	p, store := open(t, t.TempDir())
	var told bytes.Buffer
	p.Log = slog.New(slog.NewTextHandler(&told, nil))
	require.NoError(t, p.Put(t.Context(), "w1", "t1", []byte("x")))
	v, _ := p.Vault.(*vault.Vault)
	require.NoError(t, v.Destroy(t.Context(), "w1"))
	require.NoError(t, p.Put(t.Context(), "w1", "t2", []byte("y")))
	for range 3 {
		require.Empty(t, got(t, p, "w1", "t1"))
	}
	require.Equal(t, 1, strings.Count(told.String(), "level=WARN"), told.String())
	require.Contains(t, told.String(), "workspace=w1 executionId=t1")
	require.NoError(t, store.Data.Since(t.Context(), domain.StreamID{Scope: "w1", Kind: "trees", ID: "t1"}, 0, func(uint64, bool, string, []byte) error {
		return errors.New("it is still there")
	}))
	require.Equal(t, "y", got(t, p, "w1", "t2"))
}

// A vault that cannot be asked says nothing of the key.
func TestAStateIsKeptWhileItsKeyIsNotKnown(t *testing.T) {
	t.Parallel()
	p, store := open(t, t.TempDir())
	require.NoError(t, p.Put(t.Context(), "w1", "t1", []byte("x")))
	unknown := parked.Parked{Store: store.Data, Vault: silent{}}
	_, _, err := unknown.Get(t.Context(), "w1", "t1")
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.Equal(t, "x", got(t, p, "w1", "t1"))
}

// silent is a vault whose bucket does not answer.
type silent struct{ commands.Vault }

func (silent) Open(context.Context, string, []byte, string) ([]byte, error) {
	return nil, eventstore.ErrUnavailable
}

// asIs is what an attacker who can write to the log has of a vault.
type asIs struct{ commands.Vault }

func (asIs) Seal(_ context.Context, _ string, plain []byte, _ string) ([]byte, error) {
	return plain, nil
}

func TestStatesOfTreesThatAreOverAreSwept(t *testing.T) {
	t.Parallel()
	p, _ := open(t, t.TempDir())
	now := time.Now()
	id := func(age time.Duration) string {
		return ulid.MustNew(ulid.Timestamp(now.Add(-age)), rand.Reader).String()
	}
	stands, over, young, large := id(time.Hour), id(time.Hour), id(0), id(time.Hour)
	for _, treeID := range []string{stands, over, young, "t1"} {
		require.NoError(t, p.Put(t.Context(), "w1", treeID, []byte("x")))
	}
	require.NoError(t, p.Put(t.Context(), "w2", large, bytes.Repeat([]byte("x"), 1_500_000)))
	swept, err := p.Sweep(t.Context(), now.Add(-time.Minute), func(treeID string) bool { return treeID == stands })
	require.NoError(t, err)
	require.EqualValues(t, 2, swept)
	require.Empty(t, got(t, p, "w1", over))
	require.Empty(t, got(t, p, "w2", large))
	for _, treeID := range []string{stands, young, "t1"} {
		require.Equal(t, "x", got(t, p, "w1", treeID), treeID)
	}
}

func TestAStateFromBeforeThereWereSweepsIsRead(t *testing.T) {
	t.Parallel()
	p, store := open(t, t.TempDir())
	sealed, err := p.Vault.Seal(t.Context(), "w1", []byte("x"), "trees/t1")
	require.NoError(t, err)
	require.NoError(t, store.Data.Replace(t.Context(), domain.StreamID{Scope: "w1", Kind: "trees", ID: "t1"}, "one", sealed))
	require.Equal(t, "x", got(t, p, "w1", "t1"))
}

func TestFailuresAreTold(t *testing.T) {
	t.Parallel()
	p, _ := open(t, t.TempDir())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, p.Put(ended, "w1", "t1", nil), "keep the state of tree t1")
	_, _, err := p.Get(ended, "w1", "t1")
	require.ErrorContains(t, err, "read the state of tree t1")
	require.ErrorContains(t, p.Drop(ended, "w1", "t1"), "forget the state of tree t1")
	_, err = p.Sweep(ended, time.Now(), func(string) bool { return false })
	require.ErrorContains(t, err, "forget the states of trees that are over")
}

func BenchmarkPut(b *testing.B) {
	store := livetest.Store(b, jetstream.Options{})
	bucket, err := store.Buckets.Open(b.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(b, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte{7, 0x5a}, 16), Active: true}})
	require.NoError(b, err)
	p := &parked.Parked{Store: store.Data, Vault: vault.New(box, bucket)}
	state := bytes.Repeat([]byte("x"), 4000)
	for name, puts := range map[string]int{"once": 1, "three times": 3} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				for range puts {
					require.NoError(b, p.Put(b.Context(), "w1", name+string(rune('a'+i%26)), state))
				}
				require.NoError(b, p.Drop(b.Context(), "w1", name+string(rune('a'+i%26))))
			}
		})
	}
}
