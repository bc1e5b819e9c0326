package vault_test

import (
	"bytes"
	"encoding/base64"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/seal"
	"svc/commands/vault"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

func openBucket(t *testing.T) *jetstream.Bucket {
	t.Helper()
	b, err := livetest.Store(t, jetstream.Options{}).Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(t, err)
	return b
}

func key(kid string, number byte, active bool) seal.MasterKey {
	return seal.MasterKey{KID: kid, Key: bytes.Repeat([]byte{number, 0x5a}, 16), Active: active}
}

func box(t *testing.T, keys ...seal.MasterKey) *seal.Box {
	t.Helper()
	b, err := seal.New(keys)
	require.NoError(t, err)
	return b
}

func sealed(t *testing.T, v *vault.Vault, workspace, text, purpose string) []byte {
	t.Helper()
	s, err := v.Seal(t.Context(), workspace, []byte(text), purpose)
	require.NoError(t, err)
	return s
}

func requireOpens(t *testing.T, v *vault.Vault, workspace string, s []byte, purpose, want string) {
	t.Helper()
	plain, err := v.Open(t.Context(), workspace, s, purpose)
	require.NoError(t, err)
	require.Equal(t, want, string(plain))
}

func mac(t *testing.T, v *vault.Vault, workspace, purpose, message string) string {
	t.Helper()
	sum, err := v.MAC(t.Context(), workspace, purpose, []byte(message))
	require.NoError(t, err)
	require.Len(t, sum, 32)
	return string(sum)
}

func TestWhatIsSealedOpensInItsWorkspaceAndForItsPurposeOnly(t *testing.T) {
	t.Parallel()
	kv, master := openBucket(t), box(t, key("k1", 1, true))
	v := vault.New(master, kv)
	s := sealed(t, v, "w1", "hunter2", "secrets/a")
	require.NotContains(t, string(s), "hunter2")
	require.NotEqual(t, s, sealed(t, v, "w1", "hunter2", "secrets/a"), "sealed twice is sealed differently")
	requireOpens(t, v, "w1", s, "secrets/a", "hunter2")
	requireOpens(t, vault.New(master, kv), "w1", s, "secrets/a", "hunter2") // on another node

	_, err := v.Open(t.Context(), "w1", s, "secrets/b")
	require.ErrorIs(t, err, vault.ErrDamaged)
	_, err = v.Open(t.Context(), "w2", s, "secrets/a")
	require.ErrorIs(t, err, vault.ErrNoKey, "opening makes no key")
	sealed(t, v, "w2", "x", "y")
	_, err = v.Open(t.Context(), "w2", s, "secrets/a")
	require.ErrorIs(t, err, vault.ErrDamaged)
	for i := range s {
		bad := bytes.Clone(s)
		bad[i] ^= 1
		_, err := v.Open(t.Context(), "w1", bad, "secrets/a")
		require.ErrorIs(t, err, vault.ErrDamaged)
		_, err = v.Open(t.Context(), "w1", s[:i], "secrets/a")
		require.ErrorIs(t, err, vault.ErrDamaged)
	}
}

func TestProofsDifferByWorkspacePurposeAndMessage(t *testing.T) {
	t.Parallel()
	kv, master := openBucket(t), box(t, key("k1", 1, true))
	v := vault.New(master, kv)
	proof := mac(t, v, "w1", "share", "f1")
	require.Equal(t, proof, mac(t, vault.New(master, kv), "w1", "share", "f1"))
	require.NotEqual(t, proof, mac(t, v, "w2", "share", "f1"))
	require.NotEqual(t, proof, mac(t, v, "w1", "other", "f1"))
	require.NotEqual(t, proof, mac(t, v, "w1", "share", "f2"))
}

func TestADestroyedKeyOpensNothing(t *testing.T) {
	t.Parallel()
	v := vault.New(box(t, key("k1", 1, true)), openBucket(t))
	s, other := sealed(t, v, "w1", "a", "p"), sealed(t, v, "w2", "b", "p")
	require.NoError(t, v.Destroy(t.Context(), "w1"))
	_, err := v.Open(t.Context(), "w1", s, "p")
	require.ErrorIs(t, err, vault.ErrNoKey)
	require.NoError(t, v.Destroy(t.Context(), "w1"), "destroying nothing is no error")

	again := sealed(t, v, "w1", "c", "p")
	requireOpens(t, v, "w1", again, "p", "c")
	_, err = v.Open(t.Context(), "w1", s, "p")
	require.ErrorIs(t, err, vault.ErrDamaged, "a new key does not open the old")
	requireOpens(t, v, "w2", other, "p", "b")
}

func TestAKeyThatIsDestroyedElsewhereIsForgotten(t *testing.T) {
	t.Parallel()
	kv, master := openBucket(t), box(t, key("k1", 1, true))
	here, there, now := vault.New(master, kv), vault.New(master, kv), time.Now()
	here.Now = func() time.Time { return now }
	s := sealed(t, here, "w1", "a", "p")
	require.NoError(t, there.Destroy(t.Context(), "w1"))
	requireOpens(t, here, "w1", s, "p", "a")
	now = now.Add(time.Minute)
	_, err := here.Open(t.Context(), "w1", s, "p")
	require.ErrorIs(t, err, vault.ErrNoKey)
}

// That a text does not open says something of the text only when the key is the one of now.
func TestAKeyThatIsMadeAnewElsewhereIsAskedFor(t *testing.T) {
	t.Parallel()
	kv, master := openBucket(t), box(t, key("k1", 1, true))
	here, there := vault.New(master, kv), vault.New(master, kv)
	old := sealed(t, here, "w1", "a", "p")
	require.NoError(t, there.Destroy(t.Context(), "w1"))
	requireOpens(t, here, "w1", sealed(t, there, "w1", "b", "p"), "p", "b")
	_, err := here.Open(t.Context(), "w1", old, "p")
	require.ErrorIs(t, err, vault.ErrDamaged)

	sealed(t, here, "w2", "a", "p")
	require.NoError(t, there.Destroy(t.Context(), "w2"))
	_, err = here.Open(t.Context(), "w2", old, "p")
	require.ErrorIs(t, err, vault.ErrNoKey)
}

func TestNodesThatBeginTogetherShareOneKey(t *testing.T) {
	t.Parallel()
	kv, master := openBucket(t), box(t, key("k1", 1, true))
	texts := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range texts {
		wg.Go(func() {
			var err error
			if texts[i], err = vault.New(master, kv).Seal(t.Context(), "w1", []byte("a"), "p"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, s := range texts {
		requireOpens(t, vault.New(master, kv), "w1", s, "p", "a")
	}
}

func TestDataKeysMoveToTheActiveMasterKey(t *testing.T) {
	t.Parallel()
	kv := openBucket(t)
	old := vault.New(box(t, key("k1", 1, true)), kv)
	first, second := sealed(t, old, "w1", "a", "p"), sealed(t, old, "w2", "b", "p")

	both := vault.New(box(t, key("k2", 2, true), key("k1", 1, false)), kv)
	third := sealed(t, both, "w3", "c", "p")
	_, err := vault.New(box(t, key("k2", 2, true)), kv).Open(t.Context(), "w1", first, "p")
	require.ErrorIs(t, err, seal.ErrUnknownKey)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := both.Reseal(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()

	without := vault.New(box(t, key("k2", 2, true)), kv)
	requireOpens(t, without, "w1", first, "p", "a")
	requireOpens(t, without, "w2", second, "p", "b")
	requireOpens(t, without, "w3", third, "p", "c")
	require.NoError(t, without.Reseal(t.Context()), "nothing left to do")
}

func TestDamagedKeysAreFaults(t *testing.T) {
	t.Parallel()
	kv := openBucket(t)
	v := vault.New(box(t, key("k1", 1, true)), kv)
	short, err := box(t, key("k1", 1, true)).Seal([]byte("short"), "workspace/w1")
	require.NoError(t, err)
	for _, body := range []string{"{", `{"workspaceId":"w1","sealed":"AAAA"}`, `{"workspaceId":"w1","sealed":"` + base64.StdEncoding.EncodeToString(short) + `"}`} {
		_, err := kv.Put(t.Context(), "workspaces/w1", []byte(body))
		require.NoError(t, err)
		_, err = v.Seal(t.Context(), "w1", []byte("a"), "p")
		require.Error(t, err, body)
		require.NotErrorIs(t, err, vault.ErrNoKey, "it is never made anew")
	}
	_, err = kv.Put(t.Context(), "workspaces/w1", []byte(`{"workspaceId":"w1","sealed":"AAAA"}`))
	require.NoError(t, err)
	require.Error(t, v.Reseal(t.Context()))
	_, err = kv.Put(t.Context(), "workspaces/w1", []byte(`{`))
	require.NoError(t, err)
	require.Error(t, v.Reseal(t.Context()))
}
