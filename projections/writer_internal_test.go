package projections

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a bulk has written and keeps in memory, its readers see the last value of every key, and in the end the
// store has them. Its sizes are those of what it holds.
func TestABulkIsAsWhatWasWrittenToIt(t *testing.T) {
	t.Parallel()
	db, err := OpenDB(DBOptions{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			gen := newGeneration(uint32(seed)<<8, []Projection{Runs{}})
			random := rand.New(rand.NewPCG(seed, 1))
			area := gen.areas[Runs{}.Name()]
			b, want := newBulk(db.store(), rewriting{Runs{}}, area), map[string]string{}
			for range 2000 {
				key := join(area, fmt.Appendf(nil, "%c%d", 'a'+random.IntN(2), random.IntN(40)))
				switch random.IntN(20) {
				case 0:
					require.NoError(t, b.write(false))
				case 1:
					require.NoError(t, b.flush())
				case 2:
					require.Equal(t, under(want, string(area)+"a"), iterated(t, b, area, "a"))
				case 3:
					require.NoError(t, b.makeRoom(true))
				case 4, 5, 6:
					require.NoError(t, b.delete(key))
					delete(want, string(key))
				case 7, 8, 9, 10, 11:
					value, ok, err := b.get(key)
					require.NoError(t, err)
					expected, there := want[string(key)]
					require.Equal(t, there, ok)
					require.Equal(t, expected, string(value))
				default:
					value := strings.Repeat("v", random.IntN(50))
					require.NoError(t, b.set(key, []byte(value)))
					want[string(key)] = value
				}
				size, kept := b.sum()
				require.Equal(t, []int{size, kept}, []int{b.size, b.keptSize})
			}
			require.NoError(t, b.flush())
			require.Zero(t, b.size)
			txn := db.store().NewTransaction(false)
			defer txn.Discard()
			found := map[string]string{}
			require.NoError(t, iterate(txn, area, Span{}, func(key, value []byte) (bool, error) {
				found[string(area)+string(key)] = string(value)
				return true, nil
			}))
			require.Equal(t, want, found)
		})
	}
}

// Whatever is remembered of the keys of a transaction, they are as the transaction has them.
func TestRecentKeysAreThoseOfTheTransaction(t *testing.T) {
	t.Parallel()
	db, err := OpenDB(DBOptions{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 1))
		recent := newRecentValues(40 * (bulkEntry + 30)) // less than there is
		for range 50 {
			txn := db.store().NewTransaction(true)
			k := recentKeys{txnKeys{txn: txn}, recent}
			for range 50 {
				key := fmt.Appendf(nil, "k%d-%d", seed, random.IntN(60))
				switch random.IntN(4) {
				case 0:
					require.NoError(t, k.set(key, []byte(strings.Repeat("v", random.IntN(40)))))
				case 1:
					require.NoError(t, k.delete(key))
				default:
					value, ok, err := k.get(key)
					require.NoError(t, err)
					want, there, err := txnKeys{txn: txn}.get(key)
					require.NoError(t, err)
					require.Equal(t, there, ok)
					require.Equal(t, string(want), string(value))
					clear(value) // it belongs to who asked
				}
			}
			size, before := 0, 0
			for key, v := range recent.values {
				if v.turn == recent.turn {
					size += len(key) + len(v.value) + bulkEntry
				} else {
					require.Equal(t, recent.turn-1, v.turn)
					before += len(key) + len(v.value) + bulkEntry
				}
			}
			require.Equal(t, size, recent.size)
			require.LessOrEqual(t, size, recent.bound)
			require.LessOrEqual(t, before, recent.bound+bulkEntry+100, "with the one that did not fit")
			if random.IntN(5) == 0 { // it fails
				txn.Discard()
				recent.clear()
				continue
			}
			require.NoError(t, db.store().commit(txn))
		}
	}
}

// under returns the entries whose key begins with a prefix.
func under(all map[string]string, prefix string) map[string]string {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(key, _ string) bool { return !strings.HasPrefix(key, prefix) })
	return some
}

// iterated returns what an iteration visits, which is in order.
func iterated(t *testing.T, b *bulk, area []byte, prefix string) map[string]string {
	t.Helper()
	found, keys := map[string]string{}, [][]byte{}
	require.NoError(t, b.iterate(area, Span{Prefix: []byte(prefix)}, func(key, value []byte) (bool, error) {
		found[string(area)+string(key)] = string(value)
		keys = append(keys, bytes.Clone(key))
		return true, nil
	}))
	require.True(t, slices.IsSortedFunc(keys, bytes.Compare))
	return found
}

// sum returns the sizes of what a bulk holds.
func (b *bulk) sum() (size, kept int) {
	for key, v := range b.fresh {
		size += len(key) + len(v.value) + bulkEntry
	}
	for key, v := range b.kept {
		kept += len(key) + len(v.value) + bulkEntry
	}
	return size, kept
}

// rewriting is a projection that rewrites the keys that begin with b.
type rewriting struct{ Projection }

func (rewriting) Rewritten() string { return "b" }
