package sandbox_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/confined"
	"svc/commands/sandbox"
	"svc/domain/automation"
	"svc/domain/automation/redact"
	"svc/domain/value"
)

func TestEndlessCodeEndsInTime(t *testing.T) {
	tests := map[string]string{
		"a loop":               "console.log('on'); for (;;) {}",
		"a loop that catches":  "console.log('on'); for (;;) { try { for (;;) {} } catch (e) {} finally { continue } }",
		"promises for ever":    "console.log('on'); const f = () => { Promise.resolve().then(f) }; f(); return new Promise(() => {})", // a chain would also fill the memory
		"a regular expression": `console.log('on'); return /^(([a-z])+.)+[A-Z]([a-z])+$(?=x)/.test('a'.repeat(60))`,
		"native work":          "console.log('on'); const a = Array.from({length: 3000}, (_, i) => i); for (;;) a.sort(() => 1).reverse()",
		"a getter":             "console.log('on'); return {get a() { for (;;) {} }}",
		"a text of an error":   "console.log('on'); throw {toString() { for (;;) {} }, toJSON() { for (;;) {} }}",
	}
	s := open(t, sandbox.Options{})
	for name, code := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := job(t, code, "")
			j.Timeout = time.Second // enough to begin on a busy machine
			_, err := s.Run(t.Context(), j)
			details, message := failure(t, err)
			require.Equal(t, `{"reason":"timeout","logs":["on"]}`, details)
			require.Equal(t, "the code ran longer than 1000 ms", message)
		})
	}
	result, err := s.Run(t.Context(), job(t, "return 1", ""))
	require.NoError(t, err, "the next call is served")
	require.InDelta(t, 1, result.Value, 0)
}

func TestGreedyCodeEndsAlone(t *testing.T) {
	memory, either := []string{"memory"}, []string{"memory", "exception"}
	tests := map[string]struct {
		code    string
		reasons []string
	}{
		"an array that grows":     {"const a = []; for (;;) a.push({a: 1})", memory},
		"a text that doubles":     {"let s = 'abcdefgh'; for (;;) s += s", either},
		"a wide text":             {"return 'é'.repeat(1e9)", either},
		"typed arrays":            {"const a = []; for (;;) a.push(new Uint8Array(1e7).fill(1))", memory},
		"one large typed array":   {"return new Uint8Array(4e9).length", either},
		"an array of that length": {"return new Array(3e7).fill(1)", either},
		"a map":                   {"const m = new Map(); for (let i = 0;; i++) m.set(i, 'x' + i)", memory},
		"calls through natives":   {"const f = () => [1].map(f); f()", either},
		"deep text of a value":    {"let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a", []string{"memory", "exception", "output"}},
		"deep code":               {"return eval('['.repeat(1e6))", either},
		"joined":                  {"const a = []; a.length = 2e7; return a.join('abcdefgh')", either},
		"promises":                {"const a = []; const f = () => { a.push(new Promise(() => {})); return Promise.resolve().then(f) }; return f()", memory},
		"a large integer":         {"let n = 2n; for (;;) n = n * n", either},
	}
	s := open(t, sandbox.Options{MemoryMB: 32, Timeout: 60 * time.Second})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := s.Run(t.Context(), job(t, tt.code, ""))
			details, message := failure(t, err)
			v, err := value.ParseJSON(details)
			require.NoError(t, err)
			require.Contains(t, tt.reasons, value.At(v, "reason"), message)
		})
	}
}

func TestAResultThatIsTooLargeIsRefused(t *testing.T) {
	s := open(t, sandbox.Options{MaxOutput: 100})
	result, err := s.Run(t.Context(), job(t, "return 'x'.repeat(98)", ""))
	require.NoError(t, err)
	require.Len(t, result.Value, 98)
	_, err = s.Run(t.Context(), job(t, "return 'x'.repeat(99)", ""))
	details, _ := failure(t, err)
	require.Equal(t, `{"reason":"output","logs":[]}`, details)
}

func TestArgumentsThatAreTooLargeAreNotTheService(t *testing.T) {
	s := open(t, sandbox.Options{MemoryMB: 8})
	for _, size := range []int{1 << 10, 7 << 20, 9 << 20} {
		_, err := s.Run(t.Context(), sandbox.Job{Code: "return a.length", Arguments: value.NewObject("a", strings.Repeat("é", size/2))})
		if size < 1<<20 {
			require.NoError(t, err)
			continue
		}
		details, _ := failure(t, err)
		require.Equal(t, `{"reason":"memory","logs":[]}`, details)
	}
}

func TestManyCallsTakeTurns(t *testing.T) {
	s := open(t, sandbox.Options{Most: 2, Warm: 2})
	var calls sync.WaitGroup
	for i := range 12 {
		calls.Go(func() {
			result, err := s.Run(t.Context(), sandbox.Job{Code: "return globalThis.seen = (globalThis.seen || 0) + a", Arguments: value.NewObject("a", float64(i))})
			if err != nil || result.Value != float64(i) {
				t.Errorf("call %d: %v, %v", i, result.Value, err)
			}
		})
	}
	calls.Wait()
}

func BenchmarkRun(b *testing.B) {
	for name, warm := range map[string]int{"cold": -1, "warm": 1} {
		b.Run(name, func(b *testing.B) {
			s := open(b, sandbox.Options{Warm: warm})
			for b.Loop() {
				if _, err := s.Run(b.Context(), sandbox.Job{Code: "return 1"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestOneWorkspaceLeavesPlacesToTheOthers(t *testing.T) {
	s := open(t, sandbox.Options{Most: 4})
	ctx, cancel := context.WithCancel(t.Context())
	burning := make(chan error, 4)
	for range cap(burning) {
		go func() {
			_, err := s.Run(ctx, sandbox.Job{WorkspaceID: "busy", Code: "for (;;) {}"})
			burning <- err
		}()
	}
	for range 3 {
		result, err := s.Run(t.Context(), sandbox.Job{WorkspaceID: "calm", Code: "return 1"})
		require.NoError(t, err)
		require.InDelta(t, 1, result.Value, 0)
	}
	require.Empty(t, burning, "they still burn: nobody waited for the end of one")
	cancel()
	for range cap(burning) {
		require.ErrorIs(t, <-burning, context.Canceled)
	}
}

func TestTheKernelConfinesCodeHere(t *testing.T) {
	require.NoError(t, confined.Unconfined())
}

// What was cut off in the middle of a secret is not told.
func TestOfWhatCodeSaidTheBeginningOfASecretIsNotTold(t *testing.T) {
	const secret = "hunter22-CANARY"
	s := open(t, sandbox.Options{})
	for _, before := range []int{0, 1_980, 1_990, 1_999, 9_980, 9_990, 9_999} {
		_, err := s.Run(t.Context(), job(t, "console.log(pad + k); throw pad + k + pad", `{"k":"`+secret+`","pad":"`+strings.Repeat("x", before)+`"}`))
		raised := automation.ErrorOf(err)
		require.Equal(t, automation.CustomCodeFailed, raised.Name)
		set := redact.New(secret)
		told := sandbox.Redacted(raised, set)
		text := set.Text(told.Message) + value.JSON(set.Value(told.Details), "")
		require.NotContains(t, text, "hunter2", "%d", before)
		require.Contains(t, text, strings.Repeat("x", min(before, 1_900)))
	}
	other := automation.Raise(automation.FetchFailed, "hun…")
	require.Same(t, other, sandbox.Redacted(other, redact.New("hunter22")))
}

func TestWhoWaitsForAPlaceLeavesWhenItsRunEnds(t *testing.T) {
	s := open(t, sandbox.Options{Most: 1})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for range cap(ended) {
		go func() {
			_, err := s.Run(ctx, sandbox.Job{WorkspaceID: "w1", Code: "for (;;) {}"})
			ended <- err
		}()
	}
	time.AfterFunc(50*time.Millisecond, cancel)
	for range cap(ended) {
		require.ErrorIs(t, <-ended, context.Canceled)
	}
}
