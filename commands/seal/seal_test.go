package seal_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/seal"
)

// key is a master key that differs by name and number.
func key(kid string, number byte, active bool) seal.MasterKey {
	return seal.MasterKey{KID: kid, Key: bytes.Repeat([]byte{number, 0x5a}, 16), Active: active}
}

func box(t testing.TB, keys ...seal.MasterKey) *seal.Box {
	t.Helper()
	b, err := seal.New(keys)
	require.NoError(t, err)
	return b
}

func sealed(t testing.TB, b *seal.Box, text, purpose string) []byte {
	t.Helper()
	s, err := b.Seal([]byte(text), purpose)
	require.NoError(t, err)
	return s
}

func TestWhatIsSealedOpensForItsPurposeOnly(t *testing.T) {
	t.Parallel()
	b := box(t, key("k1", 1, true))
	s := sealed(t, b, "hunter2", "totp/u1")
	require.NotContains(t, string(s), "hunter2")
	require.NotEqual(t, s, sealed(t, b, "hunter2", "totp/u1"), "sealed twice is sealed differently")

	plain, err := b.Open(s, "totp/u1")
	require.NoError(t, err)
	require.Equal(t, "hunter2", string(plain))
	_, err = b.Open(s, "totp/u2")
	require.ErrorIs(t, err, seal.ErrDamaged)
}

func TestAnOldKeyStillOpens(t *testing.T) {
	t.Parallel()
	s := sealed(t, box(t, key("k1", 1, true)), "a", "p")
	both := box(t, key("k2", 2, true), key("k1", 1, false))
	plain, err := both.Open(s, "p")
	require.NoError(t, err)
	require.Equal(t, "a", string(plain))
	require.False(t, both.Current(s))

	again := sealed(t, both, "a", "p")
	require.True(t, both.Current(again))
	_, err = box(t, key("k2", 2, true)).Open(again, "p")
	require.NoError(t, err)
	_, err = box(t, key("k2", 2, true)).Open(s, "p")
	require.ErrorIs(t, err, seal.ErrUnknownKey)
	require.ErrorContains(t, err, `"k1"`)
}

func TestAnotherKeyOfTheSameNameDoesNotOpen(t *testing.T) {
	t.Parallel()
	s := sealed(t, box(t, key("k1", 1, true)), "a", "p")
	_, err := box(t, key("k1", 2, true)).Open(s, "p")
	require.ErrorIs(t, err, seal.ErrDamaged)
}

func TestEveryBitOfASealedTextCounts(t *testing.T) {
	t.Parallel()
	b := box(t, key("k1", 1, true), key("k3", 1, false)) // k3 is one bit from k1, and the same key
	s := sealed(t, b, "secret", "p")
	for i := range len(s) * 8 {
		bad := bytes.Clone(s)
		bad[i/8] ^= 1 << (i % 8)
		_, err := b.Open(bad, "p")
		require.Error(t, err, "bit %d", i)
	}
	for i := range s {
		_, err := b.Open(s[:i], "p")
		require.Error(t, err, "cut at %d", i)
	}
}

func TestBadMasterKeysAreRefused(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]seal.MasterKey{
		"none":          nil,
		"none active":   {key("k1", 1, false)},
		"two active":    {key("k1", 1, true), key("k2", 2, true)},
		"given twice":   {key("k1", 1, true), key("k1", 2, false)},
		"without name":  {key("", 1, true)},
		"too long name": {key(strings.Repeat("k", 256), 1, true)},
		"too short":     {{KID: "k1", Key: make([]byte, 31), Active: true}},
	} {
		_, err := seal.New(keys)
		require.Error(t, err, name)
	}
}

func TestDerivedKeysDifferByPurposeAndKey(t *testing.T) {
	t.Parallel()
	one, two := box(t, key("k1", 1, true)), box(t, key("k1", 2, true))
	require.Len(t, one.Derive("csrf"), 32)
	require.Equal(t, one.Derive("csrf"), box(t, key("other", 1, true)).Derive("csrf"))
	require.NotEqual(t, one.Derive("csrf"), one.Derive("cursor"))
	require.NotEqual(t, one.Derive("csrf"), two.Derive("csrf"))
	require.NotEqual(t, one.CheckValue("k1"), two.CheckValue("k1"))
	require.Empty(t, one.CheckValue("k9"))
}

func TestAKeyIsNeverPrinted(t *testing.T) {
	t.Parallel()
	k := key("k1", 1, true)
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "key", k, "keys", []seal.MasterKey{k}, "box", box(t, k))
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "key", k, "keys", []seal.MasterKey{k}, "box", box(t, k))
	fmt.Fprintf(&out, "%v %+v %#v %s %x %d", k, k, k, k, k, []any{k, &k})
	require.Contains(t, out.String(), "master key k1")
	for _, form := range []string{string(k.Key), "015a015a", "[1 90", "1, 90", "0x1, 0x5a", base64.StdEncoding.EncodeToString(k.Key), `\u0001Z`} {
		require.NotContains(t, out.String(), form)
	}
}

func FuzzOpen(f *testing.F) {
	b := box(f, key("k1", 1, true))
	f.Add(sealed(f, b, "a", "p"))
	f.Add([]byte{1, 255})
	f.Fuzz(func(t *testing.T, text []byte) {
		if plain, err := b.Open(text, "fuzz"); err == nil {
			t.Fatalf("opened %q", plain)
		}
		b.Current(text)
	})
}
