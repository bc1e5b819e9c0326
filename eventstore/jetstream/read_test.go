package jetstream

import (
	"context"
	"runtime"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore"
)

// What a reader that ends does not want any more is the end of what it gets: a message
// that came through behind one that did not would look like a gap in the log.
func TestAReaderThatEndsMeetsNoGap(t *testing.T) {
	h := newStoreFixture(t)
	var facts []eventstore.Fact
	for range 800 {
		facts = append(facts, eventstore.Fact{ID: ulid.Make().String(), Event: domain.Unknown{Name: "orders.paid", Body: []byte("{}")}})
	}
	_, err := h.store.Log.Append(t.Context(), eventstore.Commit{Stream: domain.StreamID{Scope: "w1"}, Facts: facts})
	require.NoError(t, err)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		r, consumer, err := h.store.conn.newOrderedReader(ctx, string(domain.Activity), 1)
		require.NoError(t, err)
		require.NoError(t, r.start(consumer, 2_000))
		next := uint64(1)
		expect := func(m jetstream.Msg) {
			meta, err := m.Metadata()
			require.NoError(t, err)
			require.Equal(t, next, meta.Sequence.Stream)
			next++
		}
		err = r.forward(func(m jetstream.Msg, more <-chan jetstream.Msg) error {
			expect(m)
			cancel()
			for range 10_000 { // while the others come
				select {
				case m := <-more:
					expect(m)
				default:
					runtime.Gosched()
				}
			}
			return errConsumerGone
		})
		require.ErrorIs(t, err, errConsumerGone)
		r.stop()
	}
}
