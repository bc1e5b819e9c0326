package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/fetch"
	"svc/domain/automation"
	"svc/domain/value"
)

const events = "data: a\n\nevent: e\ndata: {\"k\":1}\ndata: {\n\n: ping\n\ndata: last"

// pieces sends text in packets of n bytes.
func pieces(t *testing.T, status, n int, contentType, text string) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		for at := 0; at < len(text); at += n {
			_, _ = io.WriteString(w, text[at:min(at+n, len(text))])
			_ = http.NewResponseController(w).Flush()
		}
	})
}

var eventItems = []string{
	`{"index":0,"chunk":{"data":["a"]}}`, `{"index":1,"chunk":{"event":"e","data":[{"k":1},"{"]}}`,
	`{"index":2,"chunk":{"data":[],"comment":"ping"}}`, `{"index":3,"chunk":{"data":["last"]}}`,
}

func TestServerSentEventsAreAStream(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{})
	for _, mode := range []string{"body", "detailed_response", "base64", "data_url"} {
		for _, n := range []int{1, 5, 1000} {
			result, err := fetched(t, c, `{"url":"URL","outputMode":"`+mode+`"}`, pieces(t, http.StatusOK, n, "text/event-stream; charset=utf-8", events))
			require.NoError(t, err)
			require.Equal(t, 200.0, value.At(result.Value, "status"))
			require.Equal(t, true, value.At(result.Value, "stream"))
			require.Equal(t, "text/event-stream; charset=utf-8", value.Walk(result.Value, "headers", "content-type"))
			require.NotContains(t, value.JSON(result.Value, ""), "body", "a stream has no JSON")
			s := streamOf(t, result.Value)
			items, err := all(t.Context(), s)
			require.NoError(t, err)
			require.Equal(t, eventItems, items)
			_, ok, err := s.Next(t.Context())
			require.NoError(t, err, "it stays at its end")
			require.False(t, ok)
			require.Nil(t, s.Failed())
			s.Close()
		}
	}
}

func TestAFailedStreamIsToldWithItsText(t *testing.T) {
	t.Parallel()
	at := pieces(t, http.StatusBadGateway, 3, "text/event-stream", events)
	result, err := fetched(t, newClient(t, fetch.Options{}), `{"url":"URL"}`, at)
	require.NoError(t, err)
	require.Equal(t, events, result.Failed.ResponseBody)
	require.Equal(t, true, value.At(result.Value, "stream"))
	items, err := all(t.Context(), streamOf(t, result.Value))
	require.NoError(t, err)
	require.Equal(t, eventItems, items)
	at = serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusBadGateway)
		drip(w, r)
	})
	_, err = fetched(t, newClient(t, fetch.Options{}), `{"url":"URL","timeout":0.1}`, at)
	requireReason(t, err, "timeout")
}

// ticking sends an event every few milliseconds, for ever, and tells when its
// reader is gone.
func ticking(t *testing.T, every time.Duration) (at string, gone chan struct{}) {
	t.Helper()
	handle, gone := ticker(every)
	return serve(t, handle), gone
}

func ticker(every time.Duration) (http.HandlerFunc, chan struct{}) {
	gone := make(chan struct{}, 10)
	return func(w http.ResponseWriter, r *http.Request) {
		defer func() { gone <- struct{}{} }()
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			if _, err := io.WriteString(w, "data: tick\n\n"); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
			}
		}
	}, gone
}

func next(t *testing.T, s *fetch.Stream) string {
	t.Helper()
	item, ok, err := s.Next(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	return value.JSON(item, "")
}

func TestAStreamOutlivesItsCallAndItsTimeout(t *testing.T) {
	t.Parallel()
	at, gone := ticking(t, 20*time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	result, err := newClient(t, fetch.Options{}).Do(ctx, fetch.Call{Params: params(t, `{"url":"URL","timeout":4}`, at)})
	require.NoError(t, err)
	cancel()
	s := streamOf(t, result.Value)
	began := time.Now()
	for n := 0; time.Since(began) < 4300*time.Millisecond; n++ {
		require.Equal(t, fmt.Sprintf(`{"index":%d,"chunk":{"data":["tick"]}}`, n), next(t, s))
	}
	s.Close()
	<-gone
	_, _, err = s.Next(t.Context())
	requireReason(t, err, "reset")
	s.Close()
	require.Nil(t, s.Failed(), "whoever closes it knows")
}

func TestAStreamOverHTTP2(t *testing.T) {
	t.Parallel()
	handle, gone := ticker(time.Hour)
	result, err := fetched(t, newClient(t, fetch.Options{}), `{"url":"URL","allowSelfSignedCert":true,"timeout":5}`, serveTLS(t, handle))
	require.NoError(t, err)
	s := streamOf(t, result.Value)
	next(t, s)
	_, _, err = s.Next(t.Context())
	requireReason(t, err, "timeout")
	<-gone
	broken := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: a\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	result, err = fetched(t, newClient(t, fetch.Options{}), `{"url":"URL","allowSelfSignedCert":true}`, broken)
	require.NoError(t, err)
	items, err := all(t.Context(), streamOf(t, result.Value))
	requireReason(t, err, "reset")
	require.Len(t, items, 1)
}

func TestSilenceEndsAStream(t *testing.T) {
	t.Parallel()
	at, gone := ticking(t, time.Hour)
	result, err := fetched(t, newClient(t, fetch.Options{}), `{"url":"URL","timeout":5}`, at)
	require.NoError(t, err)
	s := streamOf(t, result.Value)
	next(t, s)
	_, _, err = s.Next(t.Context())
	requireReason(t, err, "timeout")
	require.Equal(t, "timeout", s.Failed().Reason)
	<-gone
	_, _, err = s.Next(t.Context())
	requireReason(t, err, "timeout")
}

func TestAStreamThatNobodyReadsIsClosed(t *testing.T) {
	t.Parallel()
	at, gone := ticking(t, time.Millisecond)
	c := newClient(t, fetch.Options{Unread: 50 * time.Millisecond})
	result, err := fetched(t, c, `{"url":"URL"}`, at)
	require.NoError(t, err)
	<-gone
	_, _, err = streamOf(t, result.Value).Next(t.Context())
	requireReason(t, err, "reset")
	require.Contains(t, err.Error(), "nobody read it")

	result, err = fetched(t, c, `{"url":"URL"}`, answers(t, http.StatusOK, "text/event-stream", "data: 1\n\ndata: 2\n\n"))
	require.NoError(t, err)
	s := streamOf(t, result.Value)
	require.NotEmpty(t, next(t, s))
	require.Eventually(t, func() bool { return s.Failed() != nil }, time.Minute, time.Millisecond)
	_, _, err = s.Next(t.Context())
	requireReason(t, err, "reset")
}

func TestAStreamBreaksOff(t *testing.T) {
	t.Parallel()
	at := raw(t, func(_ int, conn net.Conn) {
		readHead(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000\r\n\r\ndata: a\n\ndata: b\n")
		_ = conn.Close()
	})
	result, err := fetched(t, newClient(t, fetch.Options{}), `{"url":"URL"}`, at)
	require.NoError(t, err)
	s := streamOf(t, result.Value)
	items, err := all(t.Context(), s)
	requireReason(t, err, "reset")
	require.Equal(t, []string{`{"index":0,"chunk":{"data":["a"]}}`}, items)
	require.Equal(t, "reset", s.Failed().Reason)
	require.Zero(t, s.Failed().Status)
}

func TestClosingAndLeavingInterruptAReader(t *testing.T) {
	t.Parallel()
	at, _ := ticking(t, time.Hour)
	c := newClient(t, fetch.Options{})
	for name, interrupt := range map[string]func(*fetch.Stream, context.CancelCauseFunc){
		"close": func(s *fetch.Stream, _ context.CancelCauseFunc) { s.Close() },
		"leave": func(_ *fetch.Stream, cancel context.CancelCauseFunc) { cancel(errLeft) },
	} {
		result, err := fetched(t, c, `{"url":"URL"}`, at)
		require.NoError(t, err)
		s := streamOf(t, result.Value)
		next(t, s)
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() {
			_, _, err := s.Next(ctx)
			ended <- err
		}()
		interrupt(s, cancel)
		err = <-ended
		if name == "leave" {
			require.ErrorIs(t, err, errLeft)
			s.Close()
			continue
		}
		requireReason(t, err, "reset")
		cancel(nil)
	}
}

var errLeft = errors.New("left")

// The heap that is measured is that of the whole process, so that it has no neighbours here.
func TestEndlessEventsAreReadInBoundedMemory(t *testing.T) { //nolint:paralleltest // see above
	block := strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n\n", 64)
	at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	})
	result, err := fetched(t, newClient(t, fetch.Options{MaxResponse: 1 << 20}), `{"url":"URL"}`, at)
	require.NoError(t, err)
	s := streamOf(t, result.Value)
	for range 16 << 10 { // 16 MB of a stream, although an answer may have one
		_, ok, err := s.Next(t.Context())
		require.NoError(t, err)
		require.True(t, ok)
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	require.Less(t, memory.HeapAlloc, uint64(256<<20))
	s.Close()

	large := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			if _, err := io.WriteString(w, "data: "+strings.Repeat("x", 1000)+"\n"); err != nil {
				return
			}
		}
	})
	result, err = fetched(t, newClient(t, fetch.Options{MaxResponse: 1 << 20}), `{"url":"URL"}`, large)
	require.NoError(t, err)
	_, _, err = streamOf(t, result.Value).Next(t.Context())
	requireReason(t, err, "too_large")
}

func TestAnEndlessStreamNamesItsErrorForAutomations(t *testing.T) {
	t.Parallel()
	at, _ := ticking(t, time.Hour)
	result, err := fetched(t, newClient(t, fetch.Options{}), `{"url":"URL","timeout":5,"emitErrors":false}`, at)
	require.NoError(t, err)
	s := streamOf(t, result.Value)
	_, err = all(t.Context(), s)
	requireRaised(t, err, automation.FetchFailed, "url", at)
	require.Nil(t, s.Failed())
}
