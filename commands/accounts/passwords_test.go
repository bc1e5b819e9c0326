package accounts

import (
	"context"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/stretchr/testify/require"
)

func TestHashesCostWhatIsRecommended(t *testing.T) {
	h, err := newHasher(Hashing{})
	require.NoError(t, err)
	hash, err := h.hash(t.Context(), "geheim")
	require.NoError(t, err)
	params, salt, key, err := argon2id.DecodeHash(hash)
	require.NoError(t, err)
	require.EqualValues(t, 19*1024, params.Memory)
	require.EqualValues(t, 2, params.Iterations)
	require.EqualValues(t, 1, params.Parallelism)
	require.Len(t, salt, 16)
	require.Len(t, key, 32)
	for password, want := range map[string]bool{"geheim": true, "Geheim": false, "": false} {
		got, err := h.matches(t.Context(), password, hash)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// Comparing with nobody's password takes as long as with somebody's.
func TestNobodysPasswordTakesAsLong(t *testing.T) {
	h, err := newHasher(Hashing{})
	require.NoError(t, err)
	hash, err := h.hash(t.Context(), "geheim")
	require.NoError(t, err)
	shortest := func(hash string) time.Duration {
		least := time.Hour
		for range 5 {
			begin := time.Now()
			right, err := h.matches(t.Context(), "x", hash)
			require.NoError(t, err)
			require.False(t, right)
			least = min(least, time.Since(begin))
		}
		return least
	}
	known, unknown := shortest(hash), shortest("")
	require.Less(t, known, 3*unknown)
	require.Less(t, unknown, 3*known)
}

func TestNoMorePasswordsAreHashedAtOnceThanThereAreProcessors(t *testing.T) {
	h, err := newHasher(Hashing{Memory: 64, Iterations: 1})
	require.NoError(t, err)
	for range cap(h.slots) {
		require.NoError(t, h.acquire(t.Context()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.hash(ctx, "geheim")
	require.ErrorIs(t, err, context.Canceled)
	_, err = h.matches(ctx, "geheim", "")
	require.ErrorIs(t, err, context.Canceled)
	h.release()
	_, err = h.hash(t.Context(), "geheim")
	require.NoError(t, err)
}

func TestABrokenHashIsTheOperatorsBusiness(t *testing.T) {
	h, err := newHasher(Hashing{Memory: 64, Iterations: 1})
	require.NoError(t, err)
	_, err = h.matches(t.Context(), "geheim", "$broken")
	require.Error(t, err)
}
