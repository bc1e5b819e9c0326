package contexts_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/contexts"
	"svc/domain"
	"svc/domain/automation/variable"
	"svc/domain/value"
	"svc/eventstore/jetstream"
)

func TestWritesAreReadHereAndElsewhere(t *testing.T) {
	t.Parallel()
	one, two := pair(t)
	for _, n := range []*node{one, two, openSingleNode(t)} {
		key := contexts.Key{WorkspaceID: "w1", Kind: "session", ID: "s/1 é"}
		require.JSONEq(t, `{}`, n.readJSON(t, contexts.Key{WorkspaceID: "w1", Kind: "session", ID: "nobody"}))
		n.add(t, key, set(t, "z", `1`), set(t, "a.b", `{"y":1,"x":null}`))
		n.add(t, key, write(t, variable.Push, "l", `"é"`), write(t, variable.Merge, "a.b", `{"w":2}`))
		n.add(t, key, write(t, variable.Delete, "a.b.x", ``), set(t, "z", ``))
		require.Equal(t, `{"a":{"b":{"y":1,"w":2}},"l":["é"]}`, n.readJSON(t, key), "in the order of the writes")
		require.Equal(t, n.readJSON(t, key), join(t, n.store.Store, 0).readJSON(t, key), "on a node that knows nothing")
		n.add(t, key, set(t, "", `{"new":true}`))
		require.JSONEq(t, `{"new":true}`, n.readJSON(t, key))
		n.add(t, key, set(t, "", `{}`))
		require.JSONEq(t, `{}`, n.readJSON(t, key))
	}
	require.JSONEq(t, one.readJSON(t, global), two.readJSON(t, global))
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
	one.add(t, global, set(t, "", `{}`))
	require.JSONEq(t, `{}`, two.readJSON(t, global), "although it remembers")
	two.add(t, global, set(t, "a", `1`))
	require.JSONEq(t, `{"a":1}`, one.readJSON(t, global))
}

func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	one, two := pair(t)
	sole := openSingleNode(t)
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
	for _, nodes := range [][2]*node{{one, two}, {openSingleNode(t), nil}} {
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
		require.JSONEq(t, `{}`, first.readJSON(t, global))
		id := newID()
		for range 3 {
			require.NoError(t, first.Append(t.Context(), id, changes))
			require.NoError(t, again.Append(t.Context(), id, changes))
		}
		require.JSONEq(t, `{"l":[1,3]}`, first.readJSON(t, global), "two changes of one context are one")
		require.JSONEq(t, `{"l":[2]}`, again.readJSON(t, user))
	}
}

func TestARememberedContextCostsNoExchange(t *testing.T) {
	t.Parallel()
	n := openSingleNode(t)
	n.add(t, global, set(t, "a", `1`))
	n.readJSON(t, global)
	before := n.store.reads.Load()
	for i := range 10 {
		n.add(t, global, set(t, "a", fmt.Sprint(i)))
		require.JSONEq(t, fmt.Sprintf(`{"a":%d}`, i), n.readJSON(t, global))
	}
	require.Equal(t, before, n.store.reads.Load())
}

func TestAWriteWhoseAnswerIsLostIsReadAllTheSame(t *testing.T) {
	t.Parallel()
	n := openSingleNode(t)
	n.add(t, global, set(t, "a", `1`))
	require.JSONEq(t, `{"a":1}`, n.readJSON(t, global))
	n.store.lose.Store(true)
	change := []contexts.Change{{Key: global, Writes: []contexts.Write{write(t, variable.Push, "l", `2`)}}}
	require.Error(t, n.Append(t.Context(), "lost", change))
	require.JSONEq(t, `{"a":1,"l":[2]}`, n.readJSON(t, global))
	require.NoError(t, n.Append(t.Context(), "lost", change))
	require.JSONEq(t, `{"a":1,"l":[2]}`, n.readJSON(t, global), "repeated it still counts once")
	n.pass(2 * time.Minute)
	n.readJSON(t, global)
	before := n.store.reads.Load()
	n.add(t, global, write(t, variable.Push, "l", `3`))
	require.JSONEq(t, `{"a":1,"l":[2,3]}`, n.readJSON(t, global))
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
	want = n.readJSON(t, global)
	require.NoError(t, os.CopyFS(crashed, os.DirFS(dir)), "what is on disk while it runs")
	require.Equal(t, want, join(t, openStore(t, jetstream.Options{Dir: crashed}), 0).readJSON(t, global))
}

func TestContextsAreSealed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := join(t, openStore(t, jetstream.Options{Dir: dir}), 0)
	for i := range 70 { // operations and a snapshot
		n.add(t, global, set(t, "plainkey", fmt.Sprintf(`"plainvalue%d"`, i)))
	}
	n.add(t, global, set(t, "large", `"`+strings.Repeat("plainvalue", 60_000)+`"`))
	n.readJSON(t, global)
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
	n := openSingleNode(t)
	want := value.NewObject()
	for i := range 12 { // in sum over the limit of a message, several times
		text := strings.Repeat(string(rune('a'+i)), 400_000)
		n.add(t, global, set(t, fmt.Sprint("k", i%3), `"`+text+`"`))
		want.Set(fmt.Sprint("k", i%3), text)
	}
	require.Equal(t, value.JSON(want, ""), n.readJSON(t, global))
	require.Equal(t, value.JSON(want, ""), join(t, n.store.Store, 0).readJSON(t, global))
	require.NoError(t, n.store.Drop(t.Context(), streamOf(global), 0))
	holds, err := n.store.Store.HasWorkspaceData(t.Context(), "w1")
	require.NoError(t, err)
	require.False(t, holds)
	n.Forget("w1")
	require.JSONEq(t, `{}`, n.readJSON(t, global))
}

// lasting is a write whose variable goes after some seconds.
func (n *node) lasting(w contexts.Write, seconds int) contexts.Write {
	w.Until = n.now().Add(time.Duration(seconds) * time.Second)
	return w
}

func TestVariablesGoWhenTheirTimeIsOver(t *testing.T) {
	t.Parallel()
	const r, m, p, d = variable.Replace, variable.Merge, variable.Push, variable.Delete
	type op struct {
		kind    variable.Kind
		path    string
		value   string
		seconds int // 0: it stays
	}
	n := openSingleNode(t)
	for name, test := range map[string]struct {
		ops          []op
		before, then string // one second before 10, and at 10
	}{
		"a variable":                         {[]op{{r, "x", `1`, 10}, {r, "y", `2`, 0}}, `{"x":1,"y":2}`, `{"y":2}`},
		"one inside another":                 {[]op{{r, "a.x", `1`, 10}, {r, "a.y", `2`, 0}}, `{"a":{"x":1,"y":2}}`, `{"a":{"y":2}}`},
		"a whole context":                    {[]op{{r, "", `{"x":1}`, 10}}, `{"x":1}`, `{}`},
		"a list that is pushed to":           {[]op{{p, "l", `1`, 10}}, `{"l":[1]}`, `{}`},
		"a later set cancels":                {[]op{{r, "x", `1`, 10}, {r, "x", `2`, 0}}, `{"x":2}`, `{"x":2}`},
		"a later set with another time":      {[]op{{r, "x", `1`, 10}, {r, "x", `2`, 20}}, `{"x":2}`, `{"x":2}`},
		"a later push cancels":               {[]op{{p, "l", `1`, 10}, {p, "l", `2`, 0}}, `{"l":[1,2]}`, `{"l":[1,2]}`},
		"a push of nothing does not":         {[]op{{p, "l", `1`, 10}, {p, "l", ``, 0}}, `{"l":[1]}`, `{}`},
		"a set of the parent cancels":        {[]op{{r, "a.x", `1`, 10}, {r, "a", `{"x":2}`, 0}}, `{"a":{"x":2}}`, `{"a":{"x":2}}`},
		"a set inside does not":              {[]op{{r, "a", `{}`, 10}, {r, "a.x", `1`, 0}}, `{"a":{"x":1}}`, `{}`},
		"a merge of that key cancels":        {[]op{{r, "a.x", `1`, 10}, {m, "a", `{"x":2}`, 0}}, `{"a":{"x":2}}`, `{"a":{"x":2}}`},
		"a merge of another key does not":    {[]op{{r, "a.x", `1`, 10}, {m, "a", `{"y":2}`, 0}}, `{"a":{"x":1,"y":2}}`, `{"a":{"y":2}}`},
		"a delete and a set anew":            {[]op{{r, "x", `1`, 10}, {d, "x", ``, 0}, {r, "x", `2`, 0}}, `{"x":2}`, `{"x":2}`},
		"an item closes the gap":             {[]op{{r, "l", `[1,2,3]`, 0}, {r, "l[1]", `9`, 10}}, `{"l":[1,9,3]}`, `{"l":[1,3]}`},
		"an item that moves up":              {[]op{{r, "l", `[1,2,3]`, 0}, {r, "l[2]", `9`, 10}, {d, "l[0]", ``, 0}}, `{"l":[2,9]}`, `{"l":[2]}`},
		"an item before a deleted one":       {[]op{{r, "l", `[1,2,3]`, 0}, {r, "l[0]", `9`, 10}, {d, "l[1]", ``, 0}}, `{"l":[9,3]}`, `{"l":[3]}`},
		"a deleted item":                     {[]op{{r, "l", `[1,2]`, 0}, {r, "l[0]", `9`, 10}, {d, "l[0]", ``, 0}}, `{"l":[2]}`, `{"l":[2]}`},
		"two items":                          {[]op{{r, "l", `[1,2,3]`, 0}, {r, "l[0]", `8`, 10}, {r, "l[2]", `9`, 10}}, `{"l":[8,2,9]}`, `{"l":[2]}`},
		"digits of an object stay":           {[]op{{r, "o.0", `1`, 0}, {r, "o.1", `2`, 10}, {d, "o.0", ``, 0}}, `{"o":{"1":2}}`, `{"o":{}}`},
		"a delete of what is not there":      {[]op{{r, "l", `[1]`, 0}, {r, "l[0]", `9`, 10}, {d, "l[5]", ``, 0}}, `{"l":[9]}`, `{"l":[]}`},
		"an impossible write has no time":    {[]op{{r, "x", `1`, 0}, {p, "x", `2`, 10}}, `{"x":1}`, `{"x":1}`},
		"a set to nothing has no time":       {[]op{{r, "x", ``, 10}, {r, "x.y", `1`, 0}}, `{"x":{"y":1}}`, `{"x":{"y":1}}`},
		"a context that would be no object":  {[]op{{r, "x", `1`, 0}, {r, "", `[1]`, 10}}, `{"x":1}`, `{"x":1}`},
		"a whole context that is then unset": {[]op{{r, "x", `1`, 10}, {r, "", ``, 0}, {r, "x", `2`, 0}}, `{"x":2}`, `{"x":2}`},
	} {
		key := contexts.Key{WorkspaceID: "w1", Kind: "user", ID: name}
		n.readJSON(t, key)
		for _, o := range test.ops {
			w := write(t, o.kind, o.path, o.value)
			if o.seconds > 0 {
				w = n.lasting(w, o.seconds)
			}
			n.add(t, key, w)
		}
		later := join(t, n.store.Store, 0)
		later.at.Store(n.at.Load() + 9_999)
		require.Equal(t, test.before, later.readJSON(t, key), name)
		later.pass(time.Millisecond)
		require.Equal(t, test.then, later.readJSON(t, key), name)
		require.Equal(t, test.before, n.readJSON(t, key), name)
	}
}

func TestATimeIsKeptBySnapshots(t *testing.T) {
	t.Parallel()
	n := openSingleNode(t)
	n.readJSON(t, global)
	n.add(t, global, n.lasting(set(t, "x", `1`), 10), n.lasting(set(t, "l[2].y", `1`), 20))
	for i := range 130 {
		n.add(t, global, set(t, "n", fmt.Sprint(i)))
	}
	fresh := join(t, n.store.Store, 0)
	require.JSONEq(t, `{"x":1,"l":[null,null,{"y":1}],"n":129}`, fresh.readJSON(t, global))
	fresh.pass(10 * time.Second)
	require.JSONEq(t, `{"l":[null,null,{"y":1}],"n":129}`, fresh.readJSON(t, global))
	for i := range 130 { // a snapshot without it
		fresh.add(t, global, set(t, "n", fmt.Sprint(i)))
	}
	fresh.pass(10 * time.Second)
	require.JSONEq(t, `{"l":[null,null,{}],"n":129}`, fresh.readJSON(t, global))
}

// extend writes to a context that expires after some seconds.
func (n *node) extend(t *testing.T, key contexts.Key, seconds int, writes ...contexts.Write) {
	t.Helper()
	expires := n.now().Add(time.Duration(seconds) * time.Second)
	require.NoError(t, n.Append(t.Context(), newID(), []contexts.Change{{Key: key, Writes: writes, Expires: expires}}))
}

func TestAContextIsEmptyWhenItHasExpired(t *testing.T) {
	t.Parallel()
	one, two := pair(t)
	two.clock = one.clock
	run := contexts.Key{WorkspaceID: "w1", Kind: "run", ID: "c1"}
	for _, n := range []*node{openSingleNode(t), one} {
		n.extend(t, run, 60, set(t, "a", `1`))
		n.pass(59 * time.Second)
		require.JSONEq(t, `{"a":1}`, n.readJSON(t, run))
		n.extend(t, run, 60, set(t, "b", `2`))
		n.pass(59 * time.Second)
		require.JSONEq(t, `{"a":1,"b":2}`, n.readJSON(t, run), "each write moves it")
		n.extend(t, run, 600)
		n.pass(599 * time.Second)
		require.JSONEq(t, `{"a":1,"b":2}`, n.readJSON(t, run), "also one of nothing")
		n.pass(time.Second)
		require.JSONEq(t, `{}`, n.readJSON(t, run))
		n.extend(t, run, 60, set(t, "c", `3`))
		require.JSONEq(t, `{"c":3}`, n.readJSON(t, run), "what follows begins anew")
		require.JSONEq(t, `{"c":3}`, joinAt(t, n).readJSON(t, run))
	}
}

// joinAt returns another node at the same store and time.
func joinAt(t *testing.T, n *node) *node {
	t.Helper()
	other := join(t, n.store.Store, 0)
	other.at.Store(n.at.Load())
	return other
}

func (n *node) sweepOnce(t *testing.T) int {
	t.Helper()
	swept, err := n.Sweep(t.Context(), n.now())
	require.NoError(t, err)
	return swept
}

// left counts what the log has of a context.
func (n *node) left(t *testing.T, key contexts.Key) (count int) {
	t.Helper()
	require.NoError(t, n.store.Store.Data.Since(t.Context(), streamOf(key), 0, func(uint64, bool, string, []byte) error {
		count++
		return nil
	}))
	return count
}

func TestExpiredContextsAreSwept(t *testing.T) {
	t.Parallel()
	n := openSingleNode(t)
	key := func(kind, id string) contexts.Key { return contexts.Key{WorkspaceID: "w1", Kind: kind, ID: id} }
	run, session, moved, stays, shortest := key("run", "1"), key("session", "1"), key("session", "2"), key("user", "1"), key("user", "2")
	n.extend(t, run, 60, set(t, "a", `1`))
	n.extend(t, session, 3600, set(t, "a", `1`))
	n.extend(t, moved, 60, set(t, "a", `1`))
	n.add(t, stays, set(t, "a", `1`))
	n.extend(t, shortest, 1, set(t, "a", `1`))
	require.Zero(t, n.sweepOnce(t))
	n.pass(50 * time.Second)
	n.extend(t, moved, 2*3600, set(t, "b", `2`))

	n.pass(40 * time.Minute)
	require.Equal(t, 2, n.sweepOnce(t), "the run and the shortest")
	require.Zero(t, n.left(t, run)+n.left(t, shortest))
	require.Zero(t, n.sweepOnce(t))
	require.JSONEq(t, `{}`, n.readJSON(t, run))
	n.extend(t, run, 60, set(t, "again", `1`))
	require.JSONEq(t, `{"again":1}`, n.readJSON(t, run))

	n.pass(time.Hour)
	require.Equal(t, 2, joinAt(t, n).sweepOnce(t), "by any node")
	require.Zero(t, n.left(t, session)+n.left(t, run))
	require.JSONEq(t, `{"a":1,"b":2}`, n.readJSON(t, moved))
	n.pass(2 * time.Hour)
	require.Equal(t, 1, n.sweepOnce(t))
	require.JSONEq(t, `{"a":1}`, n.readJSON(t, stays))
	lists, err := n.store.IDs(t.Context(), domain.Platform, "context-expiry")
	require.NoError(t, err)
	require.Empty(t, lists, "nothing is left to look at")
}

func TestSweepingNeverTakesWhatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	one, two := pair(t)
	run := contexts.Key{WorkspaceID: "w1", Kind: "run", ID: "c1"}
	one.extend(t, run, 60, set(t, "old", `1`))
	one.pass(time.Hour)
	two.at.Store(one.at.Load())
	var once sync.Once
	one.store.drop = func() { once.Do(func() { two.extend(t, run, 6000, set(t, "new", `2`)) }) }
	require.Equal(t, 1, one.sweepOnce(t))
	require.JSONEq(t, `{"new":2}`, one.readJSON(t, run))
	require.JSONEq(t, `{"new":2}`, two.readJSON(t, run))
	require.Equal(t, 1, one.left(t, run))
}

func TestWhoHasNotLookedForLongDoesNotTrustItsMemory(t *testing.T) {
	t.Parallel()
	one, two := pair(t)
	run := contexts.Key{WorkspaceID: "w1", Kind: "run", ID: "c1"}
	one.extend(t, run, 30*24*3600, set(t, "a", `1`))
	require.JSONEq(t, `{"a":1}`, two.readJSON(t, run))
	one.extend(t, run, 60)
	one.pass(time.Hour)
	two.pass(time.Hour)
	require.Equal(t, 1, one.sweepOnce(t))
	require.JSONEq(t, `{}`, two.readJSON(t, run), "it has not seen the expiry, and now there is nothing to see")
}

func TestWhatAnotherNodeHasSweptIsWrittenAgain(t *testing.T) {
	t.Parallel()
	one, two := pair(t)
	run := contexts.Key{WorkspaceID: "w1", Kind: "run", ID: "c1"}
	one.extend(t, run, 60, set(t, "a", `1`))
	require.JSONEq(t, `{"a":1}`, two.readJSON(t, run))
	one.pass(time.Hour)
	require.Equal(t, 1, one.sweepOnce(t))
	two.pass(2 * time.Hour)
	require.JSONEq(t, `{}`, two.readJSON(t, run))
	two.extend(t, run, 60, set(t, "b", `2`))
	require.JSONEq(t, `{"b":2}`, two.readJSON(t, run), "also for who does not trust what it remembers any more")
}

func TestWhatIsLeftOfAnErasedWorkspaceIsSwept(t *testing.T) {
	t.Parallel()
	n := openSingleNode(t)
	run := contexts.Key{WorkspaceID: "w1", Kind: "run", ID: "c1"}
	n.extend(t, run, 60, set(t, "a", `1`))
	require.NoError(t, n.vault.Destroy(t.Context(), "w1"))
	n.pass(time.Hour)
	require.Equal(t, 1, n.sweepOnce(t))
	require.Zero(t, n.left(t, run))
}

// What is written later makes a new key, which does not open what is left of before: that
// is let go and told once. What the new key opens stays.
func TestWhatIsLeftFromBeforeAnotherKeyIsSwept(t *testing.T) {
	t.Parallel()
	n := openSingleNode(t)
	run, session := contexts.Key{WorkspaceID: "w1", Kind: "run", ID: "c1"}, contexts.Key{WorkspaceID: "w1", Kind: "session", ID: "s1"}
	n.extend(t, run, 60, set(t, "a", `1`))
	n.extend(t, session, 60, set(t, "a", `1`))
	require.NoError(t, n.vault.Destroy(t.Context(), "w1"))
	later := joinAt(t, n)
	var told bytes.Buffer
	later.Contexts = contexts.New(contexts.Options{Store: later.store, Vault: later.vault, Now: later.now, Log: slog.New(slog.NewTextHandler(&told, nil))})
	later.extend(t, session, 6000, set(t, "b", `2`))
	later.pass(time.Hour)
	require.Equal(t, 2, later.sweepOnce(t))
	require.Zero(t, later.sweepOnce(t))
	require.Zero(t, later.left(t, run))
	require.JSONEq(t, `{"b":2}`, later.readJSON(t, session))
	require.Equal(t, 2, strings.Count(told.String(), "level=WARN"), told.String())
	require.Contains(t, told.String(), "workspace=w1 context=run")
}
