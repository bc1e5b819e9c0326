package runtime_test

import (
	"context"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/contexts"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// storedChanges are the changes that a runtime wrote.
type storedChanges struct {
	mu  sync.Mutex
	all []contexts.Change
}

// notes lets the changes of a fixture be looked at.
func (k *storedChanges) notes(h *testRuntime, _ *runtime.Options) {
	h.memory.write = func(changes []contexts.Change) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.all = append(k.all, changes...)
	}
}

// of returns the changes of one kind of contexts.
func (k *storedChanges) of(kind string) (of []contexts.Change) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.all {
		if c.Key.Kind == kind {
			of = append(of, c)
		}
	}
	return of
}

// bytes returns how much was written, roughly.
func (k *storedChanges) bytes() (n int) {
	for _, c := range k.of("global") {
		for _, w := range c.Writes {
			n += variable.Size(w.Op.Value)
		}
	}
	return n
}

func TestOfManySetsOfOneVariableTheLastIsKept(t *testing.T) {
	t.Parallel()
	var k storedChanges
	h := open(t, documents{"a": `[{"repeat":{"until":400,"do":[{"set":{"name":"global.x","value":"{{big}}"}},{"set":{"name":"global.i","value":"{{$index}}"}}]}}]`}, k.notes)
	s := h.start()
	s.Input.Set("big", strings.Repeat("x", 450_000))
	h.mustRun(s)
	require.Less(t, k.bytes(), 10_000_000, "it wrote 180 MB")
	require.Contains(t, h.contextJSON("global"), `"i":399`)
}

func TestWritesThatDependOnEachOtherAreAllKept(t *testing.T) {
	t.Parallel()
	set := func(name, v string) string { return `{"set":{"name":"global.` + name + `","value":` + v + `}}` }
	for name, c := range map[string]struct{ do, want string }{
		"the last set wins":              {set("x", "1") + "," + set("y", "2") + "," + set("x", "3"), `{"x":3,"y":2}`},
		"below it":                       {set("x", `{"a":1}`) + "," + set("x.a", "2") + "," + set("x", `{"b":3}`), `{"x":{"b":3}}`},
		"above it":                       {set("x.a", "1") + "," + set("x", `{"b":2}`) + "," + set("x.a", "3"), `{"x":{"b":2,"a":3}}`},
		"pushes":                         {set("l[]", "1") + "," + set("l[]", "2") + "," + set("l[]", "2"), `{"l":[1,2,2]}`},
		"an item, a deletion, the item":  {set("l", "[0,1,2]") + "," + set("l[1]", `"a"`) + `,{"delete":{"name":"global.l[0]"}},` + set("l[1]", `"b"`), `{"l":["a","b"]}`},
		"a deletion, and set again":      {set("x", "1") + `,{"delete":{"name":"global.x"}},` + set("y", "1") + "," + set("x", "2"), `{"y":1,"x":2}`},
		"a merge in between":             {set("x", `{"a":1}`) + `,{"set":{"name":"global.x","value":{"b":2},"type":"merge"}},` + set("x.a", "3"), `{"x":{"a":3,"b":2}}`},
		"a list that an object was made": {set("x[0]", "1") + "," + set("x", `{"0":2}`) + "," + set("x[0]", "3"), `{"x":{"0":3}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, documents{"a": "[" + c.do + "]"})
			h.mustRun(h.start())
			require.JSONEq(t, c.want, h.contextJSON("global"))
		})
	}
}

func TestMuchThatIsWrittenIsKeptAtOnce(t *testing.T) {
	t.Parallel()
	var k storedChanges
	h := open(t, documents{"a": `[{"repeat":{"until":20,"do":[{"set":{"name":"global.l[]","value":"{{big}}"}},{"delete":{"name":"global.l"}}]}}]`}, k.notes)
	s := h.start()
	s.Input.Set("big", strings.Repeat("x", 300_000))
	h.mustRun(s)
	require.Greater(t, len(k.of("global")), 4, "6 MB, not more than 1 MB at a time")
	require.Contains(t, h.types(), activity.TreeStarted{}.EventType(), "and that it began is told before")
}

func TestTheContextOfTheRunOutlivesAWait(t *testing.T) {
	t.Parallel()
	var k storedChanges
	h := open(t, documents{"a": `[{"set":{"name":"run.x","value":1}},{"wait":{"timeout":600}}]`}, k.notes)
	run := h.Launch(h.eventStart())
	<-run.Parked()
	changes := k.of("run")
	require.Len(t, changes, 1)
	require.WithinRange(t, changes[0].Expires, time.Now().Add(10*time.Minute), time.Now().Add(11*time.Minute))
	require.Equal(t, contexts.Extends, changes[0].Lifetime, "nor does a tree beside it shorten that")
}

// Others of the run may write to it meanwhile, and who waited reads that afterwards.
func TestTheContextOfTheRunOutlivesAWaitAlthoughItHoldsNothing(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[string]int{"600": 1, "60": 0} { // so long it lasts by itself
		t.Run(timeout, func(t *testing.T) {
			t.Parallel()
			var k storedChanges
			h := open(t, documents{"a": `[{"wait":{"timeout":` + timeout + `}}]`}, k.notes)
			<-h.Launch(h.eventStart()).Parked()
			changes := k.of("run")
			require.Len(t, changes, want)
			for _, c := range changes {
				require.WithinRange(t, c.Expires, time.Now().Add(10*time.Minute), time.Now().Add(11*time.Minute))
			}
		})
	}
}

func TestASessionLastsAsThatWhichIsWrittenTo(t *testing.T) {
	t.Parallel()
	signed, visitor := domain.Actor{UserID: "u1", SessionID: "s1"}, domain.Actor{UserID: "v1", SessionID: "v1"}
	for name, c := range map[string]struct {
		caller runtime.Caller
		do     string
		want   time.Duration
	}{
		"of who signed in":                {runtime.Caller{Actor: signed}, "", 24 * time.Hour},
		"of a visitor":                    {runtime.Caller{Actor: visitor, Visitor: true}, "", time.Hour},
		"of a visitor, by an event":       {runtime.Caller{Actor: visitor}, "", time.Hour},
		"of nobody, by a schedule":        {runtime.Caller{}, "", time.Hour},
		"a visitor switched to":           {runtime.Caller{Actor: visitor, Visitor: true}, `{"set":{"name":"session.id","value":"s1"}},`, time.Hour},
		"who signed in switched to":       {runtime.Caller{Actor: signed}, `{"set":{"name":"session.id","value":"v1"}},`, time.Hour},
		"of who switched there and back":  {runtime.Caller{Actor: signed}, `{"set":{"name":"session.id","value":"v1"}},{"set":{"name":"session.id","value":"s1"}},`, 24 * time.Hour},
		"of a token without a session":    {runtime.Caller{Actor: domain.Actor{UserID: "u1"}}, "", 24 * time.Hour},
		"that is made for a single call":  {runtime.Caller{Actor: signed, Visitor: true}, "", time.Hour},
		"of a workspace that acts itself": {runtime.Caller{Actor: domain.Actor{WorkspaceID: "w2"}}, "", time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var k storedChanges
			h := open(t, documents{"a": "[" + c.do + `{"set":{"name":"session.x","value":1}}]`}, k.notes)
			s := h.eventStart()
			s.Caller = c.caller
			h.mustRun(s)
			require.Equal(t, contexts.Extends, k.of("session")[0].Lifetime, "nor does anybody else shorten it")
			require.WithinRange(t, k.of("session")[0].Expires, time.Now().Add(c.want-time.Minute), time.Now().Add(c.want))
		})
	}
}

func TestTreesThatWriteAtOnceKeepAContextWithinItsSize(t *testing.T) {
	t.Parallel()
	var here atomic.Int64
	both := make(chan struct{})
	h := open(t, documents{"a": `[{"set":{"name":"global.l[]","value":"{{big}}"}}]`}, func(h *testRuntime, _ *runtime.Options) {
		h.memory.write = func([]contexts.Change) {
			if here.Add(1) == 2 {
				close(both)
			}
			<-both
		}
	})
	s := h.start()
	s.Input.Set("big", strings.Repeat("x", 300_000))
	one, other := h.Launch(s), h.Launch(s)
	for _, run := range []*runtime.Handle{one, other} {
		_, err := h.waitEnd(run)
		require.NoError(t, err)
	}
	require.Less(t, len(h.contextJSON("global")), 500_000)
}

func TestWhatATreeWroteIsThereWhenItIsToldThatItEnded(t *testing.T) {
	t.Parallel()
	var told []string
	h := open(t, documents{"a": `[{"set":{"name":"global.x","value":1}}]`}, func(h *testRuntime, _ *runtime.Options) {
		h.memory.write = func([]contexts.Change) { told = h.types() }
	})
	h.mustRun(h.eventStart())
	require.Empty(t, told)
}

func TestATreeThatTakesLongIsToldToHaveBegun(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]string{
		"it writes":                  `[{"set":{"name":"global.x","value":1}},{"repeat":{"until":100000000,"do":[{"set":{"name":"global.n","value":"{{$index}}"}}]}}]`,
		"it does not reach anything": `[{"repeat":{"until":100000000,"do":[{"set":{"name":"n","value":"{{$index}}"}}]}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, documents{"a": do})
			run := h.Launch(h.eventStart())
			require.Eventually(t, func() bool { return strings.Contains(strings.Join(h.types(), " "), activity.TreeStarted{}.EventType()) }, patience, tick)
			require.Equal(t, 1, h.Cancel("w1", "run1"))
			_, err := h.waitEnd(run)
			require.NoError(t, err)
		})
	}
}

func TestOneContextThatTakesLongStopsNoOtherTree(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	var stuck atomic.Int64
	h := open(t, documents{"a": `[{"set":{"name":"y","value":"{{global.x}}"}}]`, "c": `[{"set":{"name":"y","value":1}}]`}, func(h *testRuntime, _ *runtime.Options) {
		h.memory.load = func(_ context.Context, key contexts.Key) {
			if key.Kind == "global" {
				stuck.Add(1)
				<-gate
			}
		}
	})
	many := int64(8 * goruntime.GOMAXPROCS(0)) // more than there are lanes
	var runs []*runtime.Handle
	for range many {
		runs = append(runs, h.Launch(h.eventStart()))
	}
	require.Eventually(t, func() bool { return stuck.Load() == many }, patience, tick)
	s := h.eventStart()
	s.Program, s.Input = h.programSet.Program("c"), &value.Object{}
	h.mustRun(s)
	close(gate)
	for _, run := range runs {
		_, err := h.waitEnd(run)
		require.NoError(t, err)
	}
}

func TestATreeLooksAtNoMoreContextsThanItNeeds(t *testing.T) {
	t.Parallel()
	var loads atomic.Int64
	h := open(t, documents{"a": `[{"repeat":{"until":200,"do":[{"set":{"name":"user.id","value":"u{{$index}}"}},{"set":{"name":"y","value":"{{user.x}}"}}]}},{"wait":{"timeout":0.01}},{"set":{"name":"user.id","value":"u1"}},{"set":{"name":"y","value":"{{user.x}}"}}]`}, func(h *testRuntime, _ *runtime.Options) {
		h.memory.load = func(context.Context, contexts.Key) { loads.Add(1) }
	})
	h.mustRun(h.eventStart())
	require.GreaterOrEqual(t, loads.Load(), int64(201), "what it looked at is forgotten, and read again")
}
