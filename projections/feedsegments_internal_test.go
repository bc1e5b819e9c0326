package projections

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
)

// The index is the same whether the events of a message are applied together or in parts, and whether what was erased
// was ever there.
func TestSegmentsDependOnTheEventsOnly(t *testing.T) {
	t.Parallel()
	db, err := badger.Open(badger.DefaultOptions("").WithInMemory(true).WithLogger(nil).WithMemTableSize(8 << 20))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	index := FeedOf(domain.Activity)
	generations := uint32(0)
	fresh := func() *generation {
		generations++
		return newGeneration(generations, []Projection{index})
	}
	apply := func(gen *generation, events []domain.Recorded) {
		for len(events) > 0 {
			n := groupLength(events)
			require.NoError(t, db.Update(func(txn *badger.Txn) error {
				return index.ApplyGroup(Tx{keys: txnKeys{txn: txn}, area: gen.areas[index.Name()]}, events[:n])
			}))
			events = events[n:]
		}
	}
	sum := func(gen *generation) (keys uint64, hash string) {
		txn := db.NewTransaction(false)
		defer txn.Discard()
		keys, hash, err := keyArea{txn, gen.areas[index.Name()]}.hash()
		require.NoError(t, err)
		return keys, hash
	}

	rng := rand.New(rand.NewPCG(3, 4))
	var events []domain.Recorded
	for seq := uint64(0); len(events) < 9000; {
		group := seq + 1 + uint64(rng.IntN(40))
		for ; seq < group; seq++ {
			events = append(events, domain.Recorded{
				Log: domain.Activity, Seq: seq + 1, Group: group, ID: fmt.Sprint("event", seq), At: begins, Stream: domain.StreamID{Scope: "w1"},
				Meta: domain.Meta{CorrelationID: fmt.Sprint("run", seq/3), UserID: fmt.Sprint("user", rng.IntN(9))}, Data: domain.Unknown{Name: "a", Body: []byte(`{}`)},
			})
		}
	}
	whole := fresh()
	apply(whole, events)
	parts := fresh()
	for left := events; len(left) > 0; {
		n := 1 + rng.IntN(groupLength(left))
		apply(parts, left[:n])
		left = left[n:]
	}
	wantKeys, want := sum(whole)
	keys, got := sum(parts)
	require.Equal(t, wantKeys, keys)
	require.Equal(t, want, got)

	for _, below := range []int{1, 50, 2100, 6000, len(events) - 1, len(events)} {
		dropped := domain.Recorded{
			Log: domain.Activity, Seq: 100_000, Group: 100_000, Stream: domain.StreamID{Scope: "w1"}, Data: activity.Dropped{WorkspaceID: "w1", To: events[below-1].Seq},
		}
		apply(whole, []domain.Recorded{dropped})
		never := fresh()
		apply(never, events[below:])
		wantKeys, want = sum(never)
		keys, got = sum(whole)
		require.Equal(t, wantKeys, keys, "without %d", below)
		require.Equal(t, want, got, "without %d", below)
	}
}
