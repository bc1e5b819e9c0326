package contexts_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/contexts"
	"svc/commands/vault"
	"svc/domain"
	"svc/domain/automation/variable"
	"svc/domain/value"
	"svc/eventstore/jetstream"
)

func streamOf(k contexts.Key) domain.StreamID {
	return domain.StreamID{Scope: k.WorkspaceID, Kind: "contexts", ID: k.Kind + "." + k.ID}
}

// anyWrite draws an operation on a few variables, which often get in each other's
// way.
func anyWrite(t *testing.T, r *rand.Rand) contexts.Write {
	t.Helper()
	paths := []string{"a", "b", "a.x", "a.y", "l", "l[0]", "l[3]", "b.c.d", "l[1].x"}
	values := []string{`1`, `"t"`, `null`, `[1]`, `{"x":1,"y":[2]}`, ``}
	kinds := []variable.Kind{variable.Replace, variable.Merge, variable.Push, variable.Push, variable.Delete}
	return write(t, kinds[r.IntN(len(kinds))], paths[r.IntN(len(paths))], values[r.IntN(len(values))])
}

// TestTheOrderOfTheLogDecides writes from several trees at once, over many
// snapshots, and compares with the same operations one after the other.
func TestTheOrderOfTheLogDecides(t *testing.T) {
	t.Parallel()
	one, two := pair(t)
	sole := openSingleNode(t)
	for name, nodes := range map[string][]*node{"on one node": {sole}, "on two nodes": {one, two}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writes := map[string][]contexts.Write{}
			var mu sync.Mutex
			var trees sync.WaitGroup
			for tree := range 6 {
				n, r := nodes[tree%len(nodes)], rand.New(rand.NewPCG(7, uint64(tree)))
				trees.Go(func() {
					for range 120 {
						id, ws := newID(), []contexts.Write{anyWrite(t, r), anyWrite(t, r)}
						mu.Lock()
						writes[id] = ws
						mu.Unlock()
						if err := n.Append(t.Context(), id, []contexts.Change{{Key: global, Writes: ws}}); err != nil {
							t.Error(err)
						}
						if _, err := n.Load(t.Context(), global); err != nil {
							t.Error(err)
						}
					}
				})
			}
			trees.Wait()
			all := &spy{places: map[uint64]string{}}
			for _, n := range nodes {
				for seq, id := range n.store.places {
					all.places[seq] = id
				}
			}
			require.Len(t, all.places, 720)
			want := any(&value.Object{})
			for _, id := range all.inOrder() {
				for _, w := range writes[id] {
					want, _ = variable.Apply(want, w.Op) // an impossible one changes nothing
				}
			}
			for _, n := range append(nodes, join(t, nodes[0].store.Store, 0)) {
				require.Equal(t, value.JSON(want, ""), n.readJSON(t, global))
			}
			left := 0
			require.NoError(t, nodes[0].store.Since(t.Context(), streamOf(global), 0, func(uint64, bool, string, []byte) error {
				left++
				return nil
			}))
			require.Less(t, left, 300, "snapshots take the place of operations")
		})
	}
}

func TestAContextThatCannotBeReadIsAFault(t *testing.T) {
	t.Parallel()
	n := openSingleNode(t)
	n.add(t, global, set(t, "a", `1`))
	n.readJSON(t, global)
	sealed, err := n.vault.Seal(t.Context(), "w1", []byte("nonsense"), "contexts/global/")
	require.NoError(t, err)
	for name, body := range map[string][]byte{"not sealed": []byte("x"), "no operation": sealed} {
		require.NoError(t, n.store.Store.Data.Put(t.Context(), streamOf(global), name, body, func(uint64, string) {}))
		_, err := join(t, n.store.Store, 0).Load(t.Context(), global)
		require.ErrorContains(t, err, "load the context global of workspace w1")
	}
	require.JSONEq(t, `{"a":1}`, n.readJSON(t, global), "who knew it before still does")
	require.NoError(t, n.vault.Destroy(t.Context(), "w1"))
	n.Forget("w1")
	_, err = n.Load(t.Context(), global)
	require.ErrorIs(t, err, vault.ErrNoKey)
}

func TestWritesThatFailAreToldAndCount(t *testing.T) {
	t.Parallel()
	store := openStore(t, jetstream.Options{Dir: t.TempDir()})
	n := join(t, store, 0)
	n.add(t, global, set(t, "a", `1`))
	n.readJSON(t, global)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	change := []contexts.Change{{Key: global, Writes: []contexts.Write{set(t, "a", `2`)}}}
	require.ErrorIs(t, n.Append(ended, newID(), change), context.Canceled)
	_, err := n.Load(ended, contexts.Key{WorkspaceID: "w1", Kind: "run", ID: "unknown"})
	require.Error(t, err)
	got := n.readJSON(t, global)
	require.Contains(t, []string{`{"a":1}`, `{"a":2}`}, got)
	require.Equal(t, got, join(t, store, 0).readJSON(t, global), "the log has the last word")
}

func TestWhatIsBeingWrittenIsNotForgotten(t *testing.T) {
	t.Parallel()
	n := join(t, openStore(t, jetstream.Options{Dir: t.TempDir()}), 5000) // a few contexts
	change := contexts.Change{Key: global, Writes: []contexts.Write{set(t, "a", `1`)}}
	n.store.hold = make(chan chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() { n.try(t, change) })
	held := make(chan struct{})
	n.store.hold <- held
	for i := range 20 {
		n.readJSON(t, contexts.Key{WorkspaceID: "w1", Kind: "user", ID: fmt.Sprint(i)})
	}
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := n.Load(soon, global)
	require.ErrorIs(t, err, context.DeadlineExceeded, "it waits for who writes")
	close(held)
	writing.Wait()
	require.JSONEq(t, `{"a":1}`, n.readJSON(t, global))
}

func BenchmarkLoad(b *testing.B) {
	n := openSingleNode(b)
	for i := range 50 {
		n.add(b, global, set(b, fmt.Sprint("k", i), `{"a":[1,2,3],"b":"text"}`))
	}
	b.Run("remembered", func(b *testing.B) {
		for b.Loop() {
			if _, err := n.Load(b.Context(), global); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("forgotten", func(b *testing.B) {
		for b.Loop() {
			n.Forget("w1")
			if _, err := n.Load(b.Context(), global); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		for _, shared := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d writers, one context %v", writers, shared), func(b *testing.B) {
				n := openSingleNode(b)
				w := set(b, "a.b", `{"x":1,"y":"some text"}`)
				var left atomic.Int64
				left.Store(int64(b.N))
				var writing sync.WaitGroup
				for i := range writers {
					key := global
					if !shared {
						key.ID = fmt.Sprint(i)
					}
					writing.Go(func() {
						for left.Add(-1) >= 0 {
							_, loaded := n.Load(b.Context(), key)
							err := n.Append(b.Context(), newID(), []contexts.Change{{Key: key, Writes: []contexts.Write{w}}})
							if err = errors.Join(loaded, err); err != nil {
								b.Error(err)
							}
						}
					})
				}
				writing.Wait()
			})
		}
	}
}
