package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore"
)

var errSeenEnough = errors.New("seen enough")

func isConflict(err error) bool { return errors.Is(err, eventstore.ErrConflict) }

// read subscribes from seq until enough says so, and returns what it saw.
func read(t *testing.T, s eventstore.Store, from uint64, enough func(ev domain.Recorded) bool) []domain.Recorded {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var seen []domain.Recorded
	err := s.Subscribe(ctx, domain.State, from, func(b eventstore.Batch) error {
		for _, ev := range b.Events {
			seen = append(seen, ev)
			if enough(ev) {
				return errSeenEnough
			}
		}
		return nil
	})
	require.ErrorIs(t, err, errSeenEnough)
	return seen
}

func subscribe(t *testing.T, s eventstore.Store) {
	start, err := s.Info(t.Context(), domain.State)
	require.NoError(t, err)
	const writers, each = 4, 50
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			id := newStream()
			for range each {
				if err := appendNext(t.Context(), s, id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	n := 0
	seen := read(t, s, start.Last+1, func(domain.Recorded) bool { n++; return n == writers*each })
	wg.Wait()
	for i, ev := range seen {
		require.Equal(t, start.Last+1+uint64(i), ev.Seq, "no gap, no repetition")
	}
}

func subscribeFrom(t *testing.T, s eventstore.Store) {
	id := newStream()
	r := mustAppend(t, s, commit(id, 0, created("a"), created("b"), created("c")))
	seen := read(t, s, r.Seqs[2], func(domain.Recorded) bool { return true })
	require.Equal(t, r.Seqs[2], seen[0].Seq)
}

func caughtUp(t *testing.T, s eventstore.Store) {
	r := mustAppend(t, s, commit(newStream(), 0, created("a")))
	for _, from := range []uint64{r.Seqs[0], r.Seqs[0] + 1} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := s.Subscribe(ctx, domain.State, from, func(b eventstore.Batch) error {
			if b.Pending == 0 {
				return errSeenEnough
			}
			return nil
		})
		cancel()
		require.ErrorIs(t, err, errSeenEnough)
	}
}
