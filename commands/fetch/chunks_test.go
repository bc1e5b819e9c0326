package fetch_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/fetch"
	"svc/domain/automation"
	"svc/domain/value"
)

// emitting collects what a fetch emits and reports.
type emitting struct {
	payloads []string
	notices  []string
	result   fetch.Result
	err      error
}

func emit(t *testing.T, c *fetch.Client, text, at string) (e emitting) {
	t.Helper()
	e.result, e.err = c.Do(t.Context(), fetch.Call{
		Params: params(t, text, at),
		Chunk: func(_ context.Context, payload *value.Object) error {
			e.payloads = append(e.payloads, value.JSON(payload, ""))
			return nil
		},
		Notice: func(err *automation.Error) { e.notices = append(e.notices, err.Name) },
	})
	return e
}

// together joins the chunks of texts: where packets end is the network's affair.
func (e emitting) together(t *testing.T) (text string) {
	t.Helper()
	for _, payload := range e.payloads {
		v, err := value.ParseJSON(payload)
		require.NoError(t, err)
		text += value.Text(value.At(v, "chunk"))
	}
	return text
}

func TestAnAnswerIsEmittedItemByItem(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{})
	for _, n := range []int{1, 7, 1000} {
		at := pieces(t, http.StatusOK, n, "text/event-stream", events)
		e := emit(t, c, `{"url":"URL","stream":{"event":"chunk","payload":{"id":7},"endChunk":"[DONE]"}}`, at)
		require.NoError(t, e.err)
		require.Equal(t, []string{
			`{"index":0,"chunk":{"data":["a"]},"additionalPayload":{"id":7}}`,
			`{"index":1,"chunk":{"event":"e","data":[{"k":1},"{"]},"additionalPayload":{"id":7}}`,
			`{"index":2,"chunk":{"data":[],"comment":"ping"},"additionalPayload":{"id":7}}`,
			`{"index":3,"chunk":{"data":["last"]},"additionalPayload":{"id":7}}`,
			`{"index":4,"chunk":"[DONE]","additionalPayload":{"id":7}}`,
		}, e.payloads)
		require.Equal(t, []string{"FailedChunkParsing"}, e.notices)
		require.Equal(t, events, value.At(e.result.Value, "body"))
		require.Equal(t, false, value.At(e.result.Value, "stream"))
		require.Equal(t, 200.0, value.At(e.result.Value, "status"))
	}
}

func TestTextsAreGathered(t *testing.T) {
	t.Parallel()
	const stream = `data: {"delta":"Hel","l":[1]}` + "\n\n" + `data: {"n":1}` + "\n\n" + `data: {"delta":7}` + "\n\n" + `data: {"delta":"lo","l":[2,3]}` + "\n\n"
	c := newClient(t, fetch.Options{})
	at := pieces(t, http.StatusOK, 10, "text/event-stream", stream)
	e := emit(t, c, `{"url":"URL","stream":{"event":"e","concatenate":{"path":"chunk.data[0].delta"}}}`, at)
	require.NoError(t, e.err)
	require.Equal(t, "Hello", value.At(e.result.Value, "body"))
	require.Equal(t, []string{
		`{"index":0,"chunk":{"data":[{"delta":"Hel","l":[1]}]},"concatenated":{"value":"Hel"}}`,
		`{"index":1,"chunk":{"data":[{"n":1}]},"concatenated":{"value":"Hel"}}`,
		`{"index":2,"chunk":{"data":[{"delta":7}]},"concatenated":{"value":"Hel"}}`,
		`{"index":3,"chunk":{"data":[{"delta":"lo","l":[2,3]}]},"concatenated":{"value":"Hello"}}`,
	}, e.payloads)
	e = emit(t, c, `{"url":"URL","stream":{"event":"e","concatenate":{"path":"chunk.data[0].l"},"endChunk":null}}`, at)
	require.NoError(t, e.err)
	require.Equal(t, "[1,2,3]", value.JSON(value.At(e.result.Value, "body"), ""))
	require.Contains(t, e.payloads[2], `"concatenated":{"value":[1]}`)
	require.JSONEq(t, `{"index":4,"chunk":null,"concatenated":{"value":[1,2,3]}}`, e.payloads[4])
	e = emit(t, c, `{"url":"URL","stream":{"event":"e","concatenate":{"path":"chunk.nothing"}}}`, at)
	require.NoError(t, e.err)
	require.Empty(t, value.At(e.result.Value, "body"))
	require.NotContains(t, strings.Join(e.payloads, ""), "concatenated")
}

func TestTheLastItemIsAlwaysSent(t *testing.T) {
	t.Parallel()
	const stream = "data: a\n\ndata: b\n\ndata: c\n\n"
	at := pieces(t, http.StatusOK, 1000, "text/event-stream", stream)
	e := emit(t, newClient(t, fetch.Options{}), `{"url":"URL","stream":{"event":"e","endChunk":{"end":true},"concatenate":{"path":"chunk.data[0]","throttle":60000}}}`, at)
	require.NoError(t, e.err)
	require.Equal(t, []string{
		`{"index":0,"chunk":{"data":["a"]},"concatenated":{"value":"a"}}`,
		`{"index":2,"chunk":{"data":["c"]},"concatenated":{"value":"abc"}}`,
		`{"index":3,"chunk":{"end":true},"concatenated":{"value":"abc"}}`,
	}, e.payloads)
	now := time.Now()
	c := newClient(t, fetch.Options{Now: func() time.Time { now = now.Add(time.Second); return now }})
	e = emit(t, c, `{"url":"URL","stream":{"event":"e","concatenate":{"throttle":500}}}`, at)
	require.NoError(t, e.err)
	require.Len(t, e.payloads, 3, "they are far enough apart")
}

func TestAStreamWithoutAnEventIsNone(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{})
	for _, stream := range []string{`{}`, `{"event":"","payload":{"id":7},"concatenate":{"path":"","throttle":0}}`, `{"event":null,"endChunk":"x"}`} {
		e := emit(t, c, `{"url":"URL","stream":`+stream+`}`, answers(t, http.StatusOK, "application/json", `{"a":1}`))
		require.NoError(t, e.err)
		require.Empty(t, e.payloads)
		require.Equal(t, `{"a":1}`, value.JSON(e.result.Value, ""), "the body, as usual")
	}
}

func TestAnyAnswerCanBeEmitted(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{})
	const text = "héllo 😀 wörld"
	for _, n := range []int{1, 3, 1000} {
		e := emit(t, c, `{"url":"URL","stream":{"event":"e"}}`, pieces(t, http.StatusOK, n, "text/plain", text))
		require.NoError(t, e.err)
		require.Equal(t, text, e.together(t), "no character is cut in two")
		require.Equal(t, text, value.At(e.result.Value, "body"))
		require.Contains(t, e.payloads[0], `"index":0`)
	}
	e := emit(t, c, `{"url":"URL","stream":{"event":"e"}}`, answers(t, http.StatusOK, "application/json", `{"a":1}`))
	require.NoError(t, e.err)
	require.Equal(t, []string{`{"index":0,"chunk":{"a":1}}`}, e.payloads)
	require.Equal(t, `{"a":1}`, value.JSON(value.At(e.result.Value, "body"), ""))
	require.Empty(t, e.notices)
	e = emit(t, c, `{"url":"URL","stream":{"event":"e"}}`, answers(t, http.StatusOK, "text/plain", `{"a":`))
	require.NoError(t, e.err)
	require.Equal(t, []string{"FailedChunkParsing"}, e.notices)
	e = emit(t, c, `{"url":"URL","stream":{"event":"e","endChunk":1}}`, answers(t, http.StatusOK, "text/plain", ""))
	require.NoError(t, e.err)
	require.Equal(t, []string{`{"index":0,"chunk":1}`}, e.payloads)
	require.Empty(t, value.At(e.result.Value, "body"))
	e = emit(t, c, `{"url":"URL","stream":{"event":"e"}}`, answers(t, http.StatusForbidden, "text/plain", "no"))
	require.NoError(t, e.err)
	require.Equal(t, "no", e.result.Failed.ResponseBody)
	require.Equal(t, 403.0, value.At(e.result.Value, "status"))
	e = emit(t, c, `{"url":"URL","stream":{"event":"e"}}`, answers(t, http.StatusOK, "image/png", "a\xff"))
	require.NoError(t, e.err)
	require.Equal(t, value.Bytes("a\xff"), value.At(e.result.Value, "body"))
}

func TestBadChunksWithoutEndAreNotAllReported(t *testing.T) {
	t.Parallel()
	e := emit(t, newClient(t, fetch.Options{}), `{"url":"URL","stream":{"event":"e"}}`, pieces(t, http.StatusOK, 1000, "text/event-stream", strings.Repeat("data: {\n\n", 500)))
	require.NoError(t, e.err)
	require.Len(t, e.payloads, 500)
	require.Len(t, e.notices, 100)
}

func TestAnEmissionThatBreaksOff(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{})
	at := raw(t, func(_ int, conn net.Conn) {
		readHead(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000\r\n\r\ndata: a\n\ndata: b\n\n")
		_ = conn.Close()
	})
	e := emit(t, c, `{"url":"URL","stream":{"event":"e","endChunk":"end","concatenate":{"throttle":60000}}}`, at)
	requireReason(t, e.err, "reset")
	require.Len(t, e.payloads, 2, "what was held back is sent, and no end")
	require.Equal(t, "reset", e.result.Failed.Reason)
	require.Equal(t, 200, e.result.Failed.Status)

	silent, _ := ticking(t, time.Hour)
	e = emit(t, c, `{"url":"URL","timeout":5,"stream":{"event":"e"}}`, silent)
	requireReason(t, e.err, "timeout")
	require.Len(t, e.payloads, 1)

	refused := errors.New("the event is too large")
	_, err := c.Do(t.Context(), fetch.Call{
		Params: params(t, `{"url":"URL","stream":{"event":"e"}}`, silent),
		Chunk:  func(context.Context, *value.Object) error { return refused },
	})
	require.ErrorIs(t, err, refused)
}

func TestTheTimeThatEmittingTakesIsNotSilence(t *testing.T) {
	t.Parallel()
	at, _ := ticking(t, time.Millisecond)
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	_, err := newClient(t, fetch.Options{}).Do(ctx, fetch.Call{
		Params: params(t, `{"url":"URL","timeout":4,"stream":{"event":"e"}}`, at),
		Chunk: func(context.Context, *value.Object) error {
			if n++; n > 1 {
				cancel(errLeft)
			}
			timer := time.NewTimer(4100 * time.Millisecond)
			<-timer.C
			return nil
		},
	})
	require.ErrorIs(t, err, errLeft)
	require.GreaterOrEqual(t, n, 2)
}
