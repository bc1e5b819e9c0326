package accounts

import (
	"context"
	"testing"

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

// Comparing with nobody's password is the same work as with somebody's. It is
// not measured: a busy machine would tell lies.
func TestNobodysPasswordTakesAsLong(t *testing.T) {
	h, err := newHasher(Hashing{Memory: 64, Iterations: 1})
	require.NoError(t, err)
	hash, err := h.hash(t.Context(), "geheim")
	require.NoError(t, err)
	var costs []argon2id.Params
	h.compare = func(password, hash string) (bool, error) {
		params, _, _, err := argon2id.DecodeHash(hash)
		require.NoError(t, err)
		costs = append(costs, *params)
		return true, nil // even then nobody is not let in
	}
	for hash, want := range map[string]bool{hash: true, "": false} {
		right, err := h.matches(t.Context(), "geheim", hash)
		require.NoError(t, err)
		require.Equal(t, want, right)
	}
	require.Len(t, costs, 2)
	require.Equal(t, costs[0], costs[1])
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
