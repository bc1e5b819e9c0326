package runtime_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/contexts"
	"svc/commands/fetch"
	"svc/commands/runtime"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/value"
)

// confided makes p a secret of an automation.
const confided = `,"arguments":{"p":{"type":"string","secret":true}}`

// countSecretWrites counts how often secrets of runs are stored.
func (h *testRuntime) countSecretWrites() *atomic.Int64 {
	var times atomic.Int64
	h.memory.write = func(changes []contexts.Change) {
		if changes[0].Key.Kind == "hidden" {
			times.Add(1)
		}
	}
	return &times
}

// startWith returns a start of the automation a with the argument p.
func (h *testRuntime) startWith(p string) runtime.Start {
	s := h.start()
	s.Input.Set("p", p)
	return s
}

// Somebody who calls an endpoint over and over would fill the disk otherwise.
func TestSecretsOfARunAreKeptOnceSomebodyElseMayMeetThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do      string
		evented bool
		kept    int64
	}{
		"a tree that only answers":                {`[{"c":{"p":"hunter23"}},{"set":{"name":"x","value":"{{p}}"}}]`, false, 0},
		"one that writes":                         {`[{"set":{"name":"global.x","value":"{{p}}"}}]`, false, 1},
		"one that writes for an event":            {`[{"set":{"name":"global.x","value":"{{p}}"}}]`, true, 1},
		"one that starts another":                 {`[{"runWorkflow":{"workflow":"d","wait":false}}]`, false, 1},
		"one that emits, and what it learns then": {`[{"emit":{"event":"e"}},{"c":{"p":"hunter23"}}]`, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, documents{"a": test.do + confided, "c": `[]` + confided, "d": `[]`})
			kept, s := h.countSecretWrites(), h.start()
			if test.evented {
				s = h.eventStart()
			}
			s.Input.Set("p", "hunter22")
			h.mustRun(s)
			require.Equal(t, test.kept, kept.Load())
		})
	}
}

func TestASecretThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"emit":{"event":"e"}}]` + confided})
	kept := h.countSecretWrites()
	long := strings.Repeat("x", 64<<10+1)
	out, err := h.waitEnd(h.Launch(h.startWith(long)))
	require.NoError(t, err)
	require.Equal(t, automation.InvalidArguments, out.Err.Name)
	require.Equal(t, []string{"error"}, h.types())
	require.Zero(t, kept.Load())
	h.mustRun(h.startWith(long[1:]))
}

// Who cannot hide a secret any more does not get it: what it got so far stays hidden.
func TestATreeLearnsSoManySecrets(t *testing.T) {
	t.Parallel()
	h := open(t, documents{
		"a": `[{"repeat":{"until":1001,"do":[{"c":{"p":"secret number {{$index}}"}}]}}]`,
		"c": `[]` + confided,
	})
	out, err := h.waitEnd(h.Launch(h.start()))
	require.NoError(t, err)
	require.NotNil(t, out.Err)
	require.Equal(t, automation.InvalidInstruction, out.Err.Name)
	require.InDelta(t, 1000, out.Err.Details.At("limit"), 0)
	require.Equal(t, 1000, executed(h, "c"))
}

func TestTheSecretsOfATreeAreOfABoundedLengthTogether(t *testing.T) {
	t.Parallel()
	h := open(t, documents{
		"a": `[{"repeat":{"until":20,"do":[{"c":{"p":"{{p}}{{$index}}"}}]}}]`,
		"c": `[]` + confided,
	})
	out, err := h.waitEnd(h.Launch(h.startWith(strings.Repeat("x", 60_000))))
	require.NoError(t, err)
	require.NotNil(t, out.Err)
	require.InDelta(t, 1<<20, out.Err.Details.At("bytes"), 0)
	require.Equal(t, 18, executed(h, "c"))
}

// tokens are made up: so many of them.
type tokens struct{ left *atomic.Int64 }

// Token implements runtime.Tokens.
func (m tokens) Token(context.Context, fetch.TokenKind, runtime.Acting, bool) (string, error) {
	left := m.left.Add(-1)
	if left < 0 {
		return "", errNone
	}
	return fmt.Sprintf("token number %d", left), nil
}

// RoleKey implements runtime.Tokens.
func (tokens) RoleKey(context.Context, string, runtime.Acting) (string, error) { return "", errNone }

func TestATreeHasSoManyTokens(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		tokens, times int64
		want          string
	}{{2000, 1001, automation.InvalidInstruction}, {3, 4, automation.InternalFault}} {
		h := open(t, documents{"a": fmt.Sprintf(`[{"repeat":{"until":%d,"do":[{"auth":{"output":"j"}}]}}]`, test.times)}, func(_ *testRuntime, o *runtime.Options) {
			o.Effects.Tokens = tokens{left: &atomic.Int64{}}
			o.Effects.Tokens.(tokens).left.Store(test.tokens)
		})
		out, err := h.waitEnd(h.Launch(h.start()))
		require.NoError(t, err)
		require.NotNil(t, out.Err)
		require.Equal(t, test.want, out.Err.Name)
	}
}

// Also what did not begin tells what it was given.
func TestSecretsOfATreeThatDoesNotBeginAreHidden(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"hunter22", strings.Repeat("hunter22", 9000)} {
		h := open(t, documents{"a": `[]` + confided}, func(h *testRuntime, _ *runtime.Options) { h.settings.MaxExecuted = 1_000_000 })
		s, kept := h.eventStart(), h.countSecretWrites()
		s.Input, s.Attempt, s.Interrupted = value.NewObject("p", p), 4, true
		out, err := h.waitEnd(h.Launch(s))
		require.NoError(t, err)
		require.Equal(t, automation.ExecutionInterrupt, out.Err.Name)
		for i, ev := range h.events() {
			if _, is := ev.Event.(activity.Executed); is {
				body, there := h.apart(i)
				require.True(t, there)
				require.NotContains(t, string(body), "hunter22")
			}
		}
		require.Equal(t, 1, executed(h, "a"))
		require.Zero(t, kept.Load())
	}
}
