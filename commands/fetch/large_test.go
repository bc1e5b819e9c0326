package fetch_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/fetch"
	"svc/domain/automation/redact"
	"svc/domain/automation/value"
)

// A few megabytes come before the end of each answer, which waits for open.
func halfway(t *testing.T, open <-chan struct{}) (address string, begun *atomic.Int32) {
	t.Helper()
	begun = &atomic.Int32{}
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		begun.Add(1)
		_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
		if r.URL.Path != "/small" {
			_, _ = w.Write(bytes.Repeat([]byte("y"), 1<<20))
			_ = http.NewResponseController(w).Flush()
			<-open
		}
	}), begun
}

func TestAFewLargeAnswersOfAWorkspaceAreReadAtOnce(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	address, begun := halfway(t, open)
	c := newClient(t, fetch.Options{})
	get := func(workspaceID, path string) (fetch.Result, error) {
		return c.Do(t.Context(), fetch.Call{Params: value.NewObject("url", address+path, "timeout", 30.0), WorkspaceID: workspaceID})
	}
	ended := make(chan error, 6)
	for range 6 {
		go func() {
			result, err := get("busy", "/large")
			if text, _ := result.Value.(string); err == nil && len(text) != 2<<20 {
				err = io.ErrShortWrite
			}
			ended <- err
		}()
	}
	require.Eventually(t, func() bool { return begun.Load() == 6 }, time.Minute, time.Millisecond)
	result, err := get("busy", "/small")
	require.NoError(t, err, "what is small does not wait")
	require.Len(t, result.Value, 1<<20)
	short, err := c.Do(t.Context(), fetch.Call{Params: value.NewObject("url", address+"/large", "timeout", 0.3), WorkspaceID: "other"})
	requireReason(t, err, "timeout")
	require.Equal(t, value.Undefined, short.Value)
	require.Empty(t, ended)
	close(open)
	for range 6 {
		require.NoError(t, <-ended)
	}
}

func TestTheTimeThatALargeAnswerWaitsIsThatOfTheFetch(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	address, begun := halfway(t, open)
	c := newClient(t, fetch.Options{})
	ended := make(chan error, 4)
	for range 4 {
		go func() {
			_, err := c.Do(t.Context(), fetch.Call{Params: value.NewObject("url", address, "timeout", 30.0), WorkspaceID: "w1"})
			ended <- err
		}()
	}
	require.Eventually(t, func() bool { return begun.Load() == 4 }, time.Minute, time.Millisecond)
	_, err := fetched(t, c, `{"url":"URL","timeout":0.5}`, address)
	requireReason(t, err, "timeout")
	close(open)
	for range 4 {
		require.NoError(t, <-ended)
	}
}

// What is told of a body has no secret in it, and no part of one.
func TestSecretsAreTakenOutBeforeBodiesAreCut(t *testing.T) {
	t.Parallel()
	const secret = "hunter22-CANARY"
	set := redact.New(secret)
	hide := func(text string, cut bool) string {
		if cut {
			return set.RedactCut(text)
		}
		return set.Text(text)
	}
	for _, before := range []int{0, 9_000, 9_986, 9_990, 9_999, 10_000, 39_990} {
		for _, binary := range []string{"", "\xff\xfe"} {
			body := binary + strings.Repeat("é", before/2) + secret + strings.Repeat("z", 100)
			address := answers(t, http.StatusBadGateway, "text/plain", body)
			result, err := newClient(t, fetch.Options{}).Do(t.Context(), fetch.Call{
				Params: value.NewObject("url", address, "method", "post", "body", value.Bytes(body)), Redact: hide,
			})
			require.NoError(t, err)
			for _, told := range []string{result.Failed.Body, result.Failed.ResponseBody} {
				require.NotEmpty(t, told)
				require.NotContains(t, told, secret[:4])
				require.NotContains(t, told, "aHVudGVy", "as base64")
			}
		}
	}
}
