package machine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

func (c testCase) input() *value.Object {
	made := c.Input()
	for _, key := range made.Keys() {
		if made.At(key) == "handle" {
			made.Set(key, machine.HTTP{})
		}
	}
	return made
}

func (c testCase) answers() *value.Object {
	o, _ := c.At("answers").(*value.Object)
	return o
}

func TestCases(t *testing.T) {
	t.Parallel()
	for _, c := range readCases(t) {
		t.Run(c.Name(), func(t *testing.T) {
			t.Parallel()
			programs := c.programs(t)
			whole := run(t, programs, c.input(), c.answers(), manner{budget: 1 << 20})
			c.check(t, whole)
			slowly := run(t, programs, c.input(), c.answers(), manner{budget: 1})
			require.Equal(t, same(whole), same(slowly), "how much is run at a time decides nothing")
			if !strings.Contains(value.JSON(c.Object, ""), "$stream") {
				saved := run(t, programs, c.input(), c.answers(), manner{budget: 1 << 20, saves: true})
				require.Equal(t, same(whole), same(saved), "a tree goes on from what was saved")
			}
		})
	}
}

// same is what of two runs must be the same.
func same(r ran) ran {
	r.Root = nil
	return r
}

// check compares what came with what the case expects.
func (c testCase) check(t *testing.T, got ran) {
	t.Helper()
	want := c.Expect(t)
	output, _ := value.ParseJSON(got.Output)
	if got.Root.Err != nil {
		require.Equal(t, want.At("error"), got.Error, "%s at %s", got.Root.Err, got.Root.Err.Instruction)
		require.NotEmpty(t, got.Root.Err.Document)
		require.NotEmpty(t, got.Root.Err.Instruction)
	}
	events := []any{}
	for _, key := range want.Keys() {
		v := want.At(key)
		switch key {
		case "r":
			require.Equal(t, value.JSON(v, ""), value.JSON(value.At(output, "r"), ""))
		case "absent":
			require.Equal(t, "{}", got.Output)
		case "output":
			require.Equal(t, value.JSON(v, ""), got.Output)
		case "error":
			require.Equal(t, v, got.Error)
		case "instruction":
			require.Equal(t, v, got.Root.Err.Instruction)
		case "details":
			require.Equal(t, value.JSON(v, ""), value.JSON(got.Root.Err.Details, ""))
		case "events":
			events, _ = v.([]any)
		case "emitted":
			require.Equal(t, v, append([]any{}, got.Emitted...))
		case "http":
			require.Equal(t, v, append([]any{}, got.HTTP...))
		case "executed":
			require.Len(t, got.Ended, int(value.Num(v)))
		case "broke":
			require.Equal(t, v, got.Root.Broke)
		case "anyOrder": // of what completes at the same time: the script has one
		case "seconds":
			require.InDelta(t, v, got.Seconds, 0.001)
		default:
			require.Fail(t, "unknown expectation", key)
		}
	}
	require.Equal(t, value.JSON(events, ""), value.JSON(append([]any{}, got.Events...), ""), "error events")
	if want.At("error") == value.Undefined {
		require.Empty(t, got.Error)
	}
}
