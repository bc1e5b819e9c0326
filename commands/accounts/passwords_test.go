package accounts

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/alexedwards/argon2id"
	"github.com/stretchr/testify/require"
)

func TestHashesCostWhatIsRecommended(t *testing.T) {
	h, err := newHasher(Hashing{})
	require.NoError(t, err)
	hash, err := h.hash(t.Context(), "", "geheim")
	require.NoError(t, err)
	params, salt, key, err := argon2id.DecodeHash(hash)
	require.NoError(t, err)
	require.EqualValues(t, 19*1024, params.Memory)
	require.EqualValues(t, 2, params.Iterations)
	require.EqualValues(t, 1, params.Parallelism)
	require.Len(t, salt, 16)
	require.Len(t, key, 32)
	for password, want := range map[string]bool{"geheim": true, "Geheim": false, "": false} {
		got, err := h.matches(t.Context(), "", password, hash)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// Comparing with nobody's password is the same work as with somebody's. It is
// not measured: a busy machine would tell lies.
func TestNobodysPasswordTakesAsLong(t *testing.T) {
	h, err := newHasher(Hashing{Memory: 64, Iterations: 1})
	require.NoError(t, err)
	hash, err := h.hash(t.Context(), "", "geheim")
	require.NoError(t, err)
	var costs []argon2id.Params
	h.compare = func(password, hash string) (bool, error) {
		params, _, _, err := argon2id.DecodeHash(hash)
		require.NoError(t, err)
		costs = append(costs, *params)
		return true, nil // even then nobody is not let in
	}
	for hash, want := range map[string]bool{hash: true, "": false} {
		right, err := h.matches(t.Context(), "", "geheim", hash)
		require.NoError(t, err)
		require.Equal(t, want, right)
	}
	require.Len(t, costs, 2)
	require.Equal(t, costs[0], costs[1])
}

func TestNoMorePasswordsAreHashedAtOnceThanThereAreProcessors(t *testing.T) {
	h, err := newHasher(Hashing{Memory: 64, Iterations: 1})
	require.NoError(t, err)
	for i := range runtime.GOMAXPROCS(0) {
		require.NoError(t, h.acquireSlot(t.Context(), strconv.Itoa(i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.hash(ctx, "", "geheim")
	require.ErrorIs(t, err, context.Canceled)
	_, err = h.matches(ctx, "", "geheim", "")
	require.ErrorIs(t, err, context.Canceled)
	h.slots.Release("0")
	_, err = h.hash(t.Context(), "", "geheim")
	require.NoError(t, err)
}

func TestABrokenHashIsTheOperatorsBusiness(t *testing.T) {
	h, err := newHasher(Hashing{Memory: 64, Iterations: 1})
	require.NoError(t, err)
	_, err = h.matches(t.Context(), "", "geheim", "$broken")
	require.Error(t, err)
}

// A flood of passwords from one client makes another wait for those that are being hashed,
// not for those that wait: the order is asserted, not a speed.
func TestAFloodOfPasswordsWaitsForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := newHasher(Hashing{Memory: 64, Iterations: 1})
		require.NoError(t, err)
		var mu sync.Mutex
		var order []string
		release := make(chan struct{})
		h.compare = func(password, _ string) (bool, error) {
			mu.Lock()
			order = append(order, password)
			mu.Unlock()
			<-release
			return false, nil
		}
		try := func(ip, password string) {
			go func() { _, _ = h.matches(t.Context(), Login{Client: Client{IP: ip}}.share(), password, "") }()
		}
		const flood = 150
		for range flood {
			try("203.0.113.7", "bad")
		}
		synctest.Wait()
		atOnce := max(1, runtime.GOMAXPROCS(0)/2)
		require.Len(t, order, atOnce, "one client has half of the places")
		try("198.51.100.9", "right")
		synctest.Wait()
		close(release)
		synctest.Wait()
		require.Len(t, order, flood+1)
		require.LessOrEqual(t, slices.Index(order, "right"), max(2, atOnce))
	})
}

// Who comes from the same IP as a flood, behind a proxy or from one office, does not wait
// for all of it either, whether they are known there or not.
func TestAFloodHoldsUpNobodyFromTheSameIP(t *testing.T) {
	for name, right := range map[string]Login{
		"a newcomer":            {Email: "ada@example.org", Client: Client{IP: "203.0.113.7"}},
		"known from before":     {Email: "Ada@example.org", Client: Client{IP: "203.0.113.7"}, Known: true},
		"known from the device": {Email: "ada@example.org", Known: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, err := newHasher(Hashing{Memory: 64, Iterations: 1})
				require.NoError(t, err)
				var mu sync.Mutex
				var order []string
				next := make(chan struct{})
				h.compare = func(password, _ string) (bool, error) {
					mu.Lock()
					order = append(order, password)
					mu.Unlock()
					<-next
					return false, nil
				}
				try := func(in Login, password string) {
					go func() { _, _ = h.matches(t.Context(), in.share(), password, "") }()
				}
				for range 150 {
					try(Login{Client: Client{IP: "203.0.113.7"}}, "bad")
				}
				synctest.Wait()
				began := len(order)
				try(right, "right")
				synctest.Wait()
				for range 2 {
					next <- struct{}{}
					synctest.Wait()
				}
				require.Contains(t, order, "right")
				require.LessOrEqual(t, slices.Index(order, "right"), began+1, "with a single place it waits for one of them")
				close(next)
			})
		})
	}
}

func TestWhoTakesTurns(t *testing.T) {
	for ip, want := range map[string]string{
		"": "", "203.0.113.7": "203.0.113.7", "2001:db8::1": "2001:db8::/64", "2001:db8::ffff:1": "2001:db8::/64", "2001:db8:0:1::1": "2001:db8:0:1::/64",
	} {
		require.Equal(t, want, shareOf(ip), ip)
	}
}
