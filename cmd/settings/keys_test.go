package settings

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeysAreMadeOnceAndReadBack(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	first := mustLoad(t, "DATA_DIR="+data)
	require.NoDirExists(t, data, "loading creates nothing")

	made, err := EnsureKeys(first, rand.Reader)
	require.NoError(t, err)
	keys := filepath.Join(data, "keys")
	require.Equal(t, []KeyFile{
		{"SECRETS_MASTER_KEYS", filepath.Join(keys, "master-keys.json"), true},
		{"INTERNAL_API_KEY", filepath.Join(keys, "internal-api-key"), true},
	}, made)
	for path, mode := range map[string]os.FileMode{data: 0o700, keys: 0o700, made[0].Path: 0o600, made[1].Path: 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), path)
	}
	left, err := os.ReadDir(keys)
	require.NoError(t, err)
	require.Len(t, left, 2, "no temporary file stays")
	require.Len(t, first.Config.Core.MasterKeys, 1)
	require.Len(t, first.Config.Core.MasterKeys[0].Bytes(), 32)
	require.True(t, first.Config.Core.MasterKeys[0].Active)
	require.GreaterOrEqual(t, len(first.Config.Core.InternalAPIKey), 32)
	require.Equal(t, OriginGenerated, entryOf(t, first, "SECRETS_MASTER_KEYS").Source)

	second := mustLoad(t, "DATA_DIR="+data)
	again, err := EnsureKeys(second, failing{})
	require.NoError(t, err)
	require.False(t, again[0].Created)
	require.Equal(t, first.Config.Core, second.Config.Core)
}

func TestGivenKeysAreNotMade(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	loaded := mustLoad(t, append(keysGiven(), "DATA_DIR="+data)...)
	made, err := EnsureKeys(loaded, failing{})
	require.NoError(t, err)
	require.Empty(t, made)
	require.NoDirExists(t, data)
}

func TestClusterKeysAreNeverMade(t *testing.T) {
	loaded := mustLoad(t, clusterEnv("DATA_DIR="+t.TempDir())...)
	delete(loaded.given, "INTERNAL_API_KEY")
	_, err := EnsureKeys(loaded, rand.Reader)
	require.ErrorContains(t, err, noKey)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("no entropy") }

func TestBrokenRandomSources(t *testing.T) {
	for name, random := range map[string]io.Reader{
		"failing": failing{}, "short": strings.NewReader("abc"), "zero": bytes.NewReader(make([]byte, 64)),
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			_, err := EnsureKeys(mustLoad(t, "DATA_DIR="+data), random)
			require.ErrorContains(t, err, "random source")
			require.NoDirExists(t, filepath.Join(data, "keys"))
		})
	}
}

func TestKeyFilesMustBePrivate(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string)
		want  string
	}{
		{"readable by the group", func(t *testing.T, dir string) { chmod(t, filepath.Join(dir, "master-keys.json"), 0o640) }, "chmod 0600"},
		{"readable by all", func(t *testing.T, dir string) { chmod(t, filepath.Join(dir, "internal-api-key"), 0o604) }, "chmod 0600"},
		{"directory open", func(t *testing.T, dir string) { chmod(t, dir, 0o750) }, "chmod 0700"},
		{"emptied", func(t *testing.T, dir string) {
			require.NoError(t, os.Truncate(filepath.Join(dir, "master-keys.json"), 0))
		}, "restore it from a backup"},
		{"a link", func(t *testing.T, dir string) {
			path := filepath.Join(dir, "internal-api-key")
			require.NoError(t, os.Rename(path, path+".real"))
			require.NoError(t, os.Symlink(path+".real", path))
		}, "symbolic link"},
		{"a directory", func(t *testing.T, dir string) {
			path := filepath.Join(dir, "internal-api-key")
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o700))
		}, "not a regular file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := t.TempDir()
			_, err := EnsureKeys(mustLoad(t, "DATA_DIR="+data), rand.Reader)
			require.NoError(t, err)
			tt.spoil(t, filepath.Join(data, "keys"))
			_, err = EnsureKeys(mustLoad(t, "DATA_DIR="+data), rand.Reader)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.Chmod(path, mode))
}

func TestKeyFilesMustBeOurs(t *testing.T) {
	store := keyStore{dir: filepath.Join(t.TempDir(), "keys"), uid: os.Geteuid()}
	_, err := store.ensure(mustLoad(t), rand.Reader)
	require.NoError(t, err)
	store.uid++
	_, err = store.ensure(mustLoad(t), rand.Reader)
	require.ErrorContains(t, err, "is owned by user")
	require.ErrorContains(t, err, "chown")
}

func TestKeysDirectoryIsAFile(t *testing.T) {
	data := t.TempDir()
	writeFile(t, data, "keys", "")
	_, err := EnsureKeys(mustLoad(t, "DATA_DIR="+data), rand.Reader)
	require.ErrorContains(t, err, "not a directory")
}

func TestMasterKeys(t *testing.T) {
	one := func(key string) string { return fmt.Sprintf(`[{"kid":"k1","key":%q,"active":true}]`, key) }
	tests := []struct{ name, text, want string }{
		{"not JSON", "secret", "JSON ["},
		{"not an array", `{"kid":"k1"}`, "JSON ["},
		{"empty", `[]`, "exactly one key must be active, not 0"},
		{"unknown field", `[{"kid":"k1","key":"` + goodKey + `","activ":true}]`, "JSON ["},
		{"two values", one(goodKey) + "[]", "JSON ["},
		{"no kid", `[{"key":"` + goodKey + `","active":true}]`, "kid must be"},
		{"short", one(goodKey[:62]), "32 bytes"},
		{"long", one(goodKey + "00"), "32 bytes"},
		{"not hex", one("zz" + goodKey[2:]), "32 bytes"},
		{"duplicate kid", `[{"kid":"k1","key":"` + goodKey + `","active":true},{"kid":"k1","key":"` + otherKey + `"}]`, "kid k1 is given twice"},
		{"none active", `[{"kid":"k1","key":"` + goodKey + `"}]`, "not 0"},
		{"two active", `[{"kid":"k1","key":"` + goodKey + `","active":true},{"kid":"k2","key":"` + otherKey + `","active":true}]`, "not 2"},
		{"all equal", one(strings.Repeat("ab", 32)), "pattern"},
		{"counting", one("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"), "pattern"},
		{"counting down", one("201f1e1d1c1b1a191817161514131211100f0e0d0c0b0a090807060504030201"), "pattern"},
		{"counting in steps", one(strings.Repeat("00112233445566778899aabbccddeeff", 2)), "pattern"},
		{"repeated half", one(goodKey[:32] + goodKey[:32]), "pattern"},
		{"few bytes", one("0102030a0b0105020a03010b0205030a010b02030a050b0103020a0b05030102"), "fewer than 12"},
		{"example", one(exampleMasterKey), "example key"},
		{"example in capitals", one(strings.ToUpper(exampleMasterKey)), "example key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(source(t.TempDir(), "SECRETS_MASTER_KEYS="+tt.text))
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), goodKey[:20])
		})
	}
	t.Run("good", func(t *testing.T) {
		c := mustLoad(t, `SECRETS_MASTER_KEYS=[{"kid":"k2","key":"`+goodKey+`","active":true},{"kid":"k1","key":"`+otherKey+`"}]`).Config
		require.Len(t, c.Core.MasterKeys, 2)
		require.Equal(t, goodKey, fmt.Sprintf("%x", c.Core.MasterKeys[0].Bytes()))
		require.Equal(t, "k1", c.Core.MasterKeys[1].KID)
		require.False(t, c.Core.MasterKeys[1].Active)
	})
}

func TestInternalKey(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"short", goodAPI[:31], "at least 32"},
		{"blank inside", goodAPI[:16] + " " + goodAPI[16:], "without blanks"},
		{"all equal", strings.Repeat("a", 40), "pattern"},
		{"counting", "ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdef", "pattern"},
		{"repeated", goodAPI[:16] + goodAPI[:16], "pattern"},
		{"hex that counts", "00112233445566778899aabbccddeeff", "pattern"},
		{"few characters", "xyzwxyuvzxwyvuzxwvyxuzwyvxuwzyxvu", "fewer than 12"},
		{"few hex digits", "abcabdaebacdbeacbdeabcdaecbadebc", "fewer than 12"},
		{"example", exampleAPIKey, "example key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(source(t.TempDir(), "INTERNAL_API_KEY="+tt.text))
			require.ErrorContains(t, err, tt.want)
		})
	}
	for _, good := range []string{goodAPI, goodKey, goodKey[:32], "correct-horse-battery-staple-41-zebra"} {
		require.Equal(t, good, mustLoad(t, "INTERNAL_API_KEY="+good).Config.Core.InternalAPIKey.Reveal())
	}
}
