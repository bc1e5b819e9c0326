package sandbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/sandbox"
	"svc/domain/automation"
	"svc/domain/automation/redact"
	"svc/domain/automation/value"
)

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
	require.NoError(t, sandbox.Unconfined())
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
