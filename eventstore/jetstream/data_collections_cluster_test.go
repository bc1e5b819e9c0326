package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/collection"
	"svc/eventstore"
	"svc/eventstore/jetstream"
)

func TestNodesOfAClusterShareOneLogOfCollections(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	var nodes []*jetstream.Store
	for i := range 3 {
		nodes = append(nodes, open(t, jetstream.Options{URL: []string{c.urls[i]}, Replicas: 3, MaxWait: 10 * time.Second}))
	}
	id, last := collection.Stream("w1", "workspace"), uint64(0)
	const rounds = 15
	for round := range rounds {
		var racing sync.WaitGroup
		seqs, errs := make([]uint64, len(nodes)), make([]error, len(nodes))
		for i, node := range nodes {
			racing.Go(func() {
				seqs[i], errs[i] = node.Collections.Append(t.Context(), id, fmt.Sprint(round, "-", i), last, false, []byte{1, byte(i)})
			})
		}
		racing.Wait()
		won := 0
		for i, err := range errs {
			if err == nil {
				last = seqs[i]
				won++
			} else {
				require.ErrorIs(t, err, eventstore.ErrConflict)
			}
		}
		require.Equal(t, 1, won, "round %d", round)
		for _, node := range nodes {
			seen, err := node.Collections.Last(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, last, seen, "what one was acknowledged all know of")
		}
	}
	done := errors.New("done")
	for _, node := range nodes {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		previous, seen := uint64(0), 0
		require.ErrorIs(t, node.Collections.Follow(ctx, 0, func(entries []collection.Logged, _ uint64) error {
			for _, e := range entries {
				require.Equal(t, previous, e.Previous)
				previous = e.Seq
				seen++
			}
			if seen == rounds {
				return done
			}
			return nil
		}), done)
		cancel()
	}
}
