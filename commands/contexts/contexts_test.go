package contexts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/contexts"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
	"svc/eventstore/jetstream"
)

func TestWritesAreReadHereAndElsewhere(t *testing.T) {
	t.Parallel()
	one, two := pair(t)
	for _, n := range []*node{one, two, alone(t)} {
		key := contexts.Key{WorkspaceID: "w1", Kind: "session", ID: "s/1 é"}
		require.JSONEq(t, `{}`, n.shows(t, contexts.Key{WorkspaceID: "w1", Kind: "session", ID: "nobody"}))
		n.add(t, key, set(t, "z", `1`), set(t, "a.b", `{"y":1,"x":null}`))
		n.add(t, key, write(t, variable.Push, "l", `"é"`), write(t, variable.Merge, "a.b", `{"w":2}`))
		n.add(t, key, write(t, variable.Delete, "a.b.x", ``), set(t, "z", ``))
		require.Equal(t, `{"a":{"b":{"y":1,"w":2}},"l":["é"]}`, n.shows(t, key), "in the order of the writes")
		require.Equal(t, n.shows(t, key), join(t, n.store.Store, 0).shows(t, key), "on a node that knows nothing")
		n.add(t, key, set(t, "", `{"new":true}`))
		require.JSONEq(t, `{"new":true}`, n.shows(t, key))
		require.NoError(t, n.Contexts.Delete(t.Context(), key))
		require.JSONEq(t, `{}`, n.shows(t, key))
	}
	require.JSONEq(t, one.shows(t, global), two.shows(t, global))
}

func TestWhatOneNodeWritesTheOtherReads(t *testing.T) {
	t.Parallel()
	one, two := pair(t)
	for i := range 200 { // over several snapshots
		writer, reader := one, two
		if i%2 == 1 {
			writer, reader = two, one
		}
		writer.add(t, global, set(t, "n", fmt.Sprint(i)), write(t, variable.Push, "l", fmt.Sprint(i)))
		got, err := reader.Load(t.Context(), global)
		require.NoError(t, err)
		require.InDelta(t, i, got.At("n"), 0)
		require.Len(t, got.At("l"), i+1)
	}
	require.NoError(t, one.Contexts.Delete(t.Context(), global))
	require.JSONEq(t, `{}`, two.shows(t, global), "although it remembers")
	two.add(t, global, set(t, "a", `1`))
	require.JSONEq(t, `{"a":1}`, one.shows(t, global))
}

func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	one, two := pair(t)
	sole := alone(t)
	forgetful := join(t, openStore(t, jetstream.Options{Dir: t.TempDir()}), 1)
	for name, nodes := range map[string][2]*node{
		"on one node":           {sole, sole},
		"on two nodes":          {one, two},
		"on a node that evicts": {forgetful, forgetful},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := path(t, "l")
			var trees sync.WaitGroup
			for tree, n := range nodes {
				trees.Go(func() {
					for i := range 100 {
						w := contexts.Write{Op: variable.Op{Kind: variable.Push, Path: l, Value: fmt.Sprintf("%d-%d", tree, i)}}
						n.try(t, contexts.Change{Key: global, Writes: []contexts.Write{w}})
						if _, err := n.Load(t.Context(), global); err != nil {
							t.Error(err)
						}
					}
				})
			}
			trees.Wait()
			for _, n := range nodes {
				got, err := n.Load(t.Context(), global)
				require.NoError(t, err)
				list, _ := got.At("l").([]any)
				require.Len(t, list, 200)
				seen := map[any]bool{}
				for _, item := range list {
					seen[item] = true
				}
				require.Len(t, seen, 200)
			}
		})
	}
}

func TestARepeatedChangeCountsOnce(t *testing.T) {
	t.Parallel()
	one, two := pair(t)
	for _, nodes := range [][2]*node{{one, two}, {alone(t), nil}} {
		first, again := nodes[0], nodes[1]
		if again == nil {
			again = first
		}
		user := contexts.Key{WorkspaceID: "w1", Kind: "user", ID: "u1"}
		changes := []contexts.Change{
			{Key: global, Writes: []contexts.Write{write(t, variable.Push, "l", `1`)}},
			{Key: user, Writes: []contexts.Write{write(t, variable.Push, "l", `2`)}},
			{Key: global, Writes: []contexts.Write{write(t, variable.Push, "l", `3`)}},
		}
		require.JSONEq(t, `{}`, first.shows(t, global))
		id := newID()
		for range 3 {
			require.NoError(t, first.Append(t.Context(), id, changes))
			require.NoError(t, again.Append(t.Context(), id, changes))
		}
		require.JSONEq(t, `{"l":[1,3]}`, first.shows(t, global), "two changes of one context are one")
		require.JSONEq(t, `{"l":[2]}`, again.shows(t, user))
	}
}

func TestARememberedContextCostsNoExchange(t *testing.T) {
	t.Parallel()
	n := alone(t)
	n.add(t, global, set(t, "a", `1`))
	n.shows(t, global)
	before := n.store.reads.Load()
	for i := range 10 {
		n.add(t, global, set(t, "a", fmt.Sprint(i)))
		require.JSONEq(t, fmt.Sprintf(`{"a":%d}`, i), n.shows(t, global))
	}
	require.Equal(t, before, n.store.reads.Load())
}

func TestAWriteWhoseAnswerIsLostIsReadAllTheSame(t *testing.T) {
	t.Parallel()
	n := alone(t)
	n.add(t, global, set(t, "a", `1`))
	require.JSONEq(t, `{"a":1}`, n.shows(t, global))
	n.store.lose.Store(true)
	change := []contexts.Change{{Key: global, Writes: []contexts.Write{write(t, variable.Push, "l", `2`)}}}
	require.Error(t, n.Append(t.Context(), "lost", change))
	require.JSONEq(t, `{"a":1,"l":[2]}`, n.shows(t, global))
	require.NoError(t, n.Append(t.Context(), "lost", change))
	require.JSONEq(t, `{"a":1,"l":[2]}`, n.shows(t, global), "repeated it still counts once")
	n.pass(2 * time.Minute)
	n.shows(t, global)
	before := n.store.reads.Load()
	n.add(t, global, write(t, variable.Push, "l", `3`))
	require.JSONEq(t, `{"a":1,"l":[2,3]}`, n.shows(t, global))
	require.Equal(t, before, n.store.reads.Load(), "the doubt is over")
}

func TestContextsSurviveACrash(t *testing.T) {
	t.Parallel()
	dir, crashed := t.TempDir(), filepath.Join(t.TempDir(), "crashed")
	n := join(t, openStore(t, jetstream.Options{Dir: dir}), 0)
	want := ""
	for i := range 100 {
		n.add(t, global, write(t, variable.Push, "l", fmt.Sprint(i)))
	}
	want = n.shows(t, global)
	require.NoError(t, os.CopyFS(crashed, os.DirFS(dir)), "what is on disk while it runs")
	require.Equal(t, want, join(t, openStore(t, jetstream.Options{Dir: crashed}), 0).shows(t, global))
}

func TestContextsAreSealed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := join(t, openStore(t, jetstream.Options{Dir: dir}), 0)
	for i := range 70 { // operations and a snapshot
		n.add(t, global, set(t, "plainkey", fmt.Sprintf(`"plainvalue%d"`, i)))
	}
	n.add(t, global, set(t, "large", `"`+strings.Repeat("plainvalue", 60_000)+`"`))
	n.shows(t, global)
	require.NoError(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NotContains(t, string(content), "plainvalue", name)
		require.NotContains(t, string(content), "plainkey", name)
		return nil
	}))
}

func TestLargeContextsAreKept(t *testing.T) {
	t.Parallel()
	n := alone(t)
	want := value.NewObject()
	for i := range 12 { // in sum over the limit of a message, several times
		text := strings.Repeat(string(rune('a'+i)), 400_000)
		n.add(t, global, set(t, fmt.Sprint("k", i%3), `"`+text+`"`))
		want.Set(fmt.Sprint("k", i%3), text)
	}
	require.Equal(t, value.JSON(want, ""), n.shows(t, global))
	require.Equal(t, value.JSON(want, ""), join(t, n.store.Store, 0).shows(t, global))
	require.NoError(t, n.store.Drop(t.Context(), streamOf(global), 0))
	holds, err := n.store.Store.HasWorkspaceData(t.Context(), "w1")
	require.NoError(t, err)
	require.False(t, holds)
	n.Forget("w1")
	require.JSONEq(t, `{}`, n.shows(t, global))
}
