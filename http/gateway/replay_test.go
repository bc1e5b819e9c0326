package gateway_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/http/gateway"
)

// An answer that cannot be kept is made again: its ids are those of the first.
func TestAnAnswerThatCannotBeKeptIsMadeAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		size, most int
	}{
		"too large for the gateway": {900 << 10, 1 << 20},
		"too large for the store":   {300 << 10, 1 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			store := newMemoryStore()
			store.most = tt.most
			w := onceOnly(t, store, func(r *http.Request) (any, error) {
				calls.Add(1)
				commands.RequestFrom(r.Context()).Saw(domain.Position{State: 1})
				return gateway.Created(commands.RequestFrom(r.Context()).Seed+strings.Repeat("x", tt.size), "/x/1"), nil
			})
			first := w.do("POST", "/x", `{}`, "Idempotency-Key", "k")
			require.Equal(t, 201, first.status)
			for n := range 2 {
				again := w.do("POST", "/x", `{}`, "Idempotency-Key", "k")
				require.Equal(t, 201, again.status)
				require.Equal(t, first.body, again.body, "the same answer")
				require.Equal(t, first.header.Get("X-Svc-Seq"), again.header.Get("X-Svc-Seq"))
				require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
				require.EqualValues(t, n+2, calls.Load())
			}
			f := w.do("POST", "/x", `{"a":1}`, "Idempotency-Key", "k").requireFailure(t, 409, domain.CodeConflict)
			require.Equal(t, "idempotency_key_reused", f.Details["reason"])
		})
	}
}

type large struct{ Secret, Text string }

// Replayable implements gateway.Replayable.
func (l large) Replayable() any { return large{Text: l.Text} }

func TestWhatIsShownOnceIsNotShownByASecondRun(t *testing.T) {
	w := onceOnly(t, newMemoryStore(), returns(large{"once", strings.Repeat("x", 600<<10)}, nil))
	require.Contains(t, w.do("POST", "/x", `{}`, "Idempotency-Key", "k").body, "once")
	again := w.do("POST", "/x", `{}`, "Idempotency-Key", "k")
	require.Equal(t, 200, again.status)
	require.NotContains(t, again.body, "once")
}

func TestAStoreThatKeepsNothingIsAskedAgain(t *testing.T) {
	var calls atomic.Int64
	store := newMemoryStore()
	store.most = 1
	w := onceOnly(t, store, counting(&calls))
	for range 2 {
		require.Equal(t, 201, w.do("POST", "/x", `{}`, "Idempotency-Key", "k").status)
		require.Zero(t, store.size(), "no claim is left behind")
	}
}
