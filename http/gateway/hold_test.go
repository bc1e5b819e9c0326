package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/http/gateway"
)

// shortTimeouts gives handlers next to no time, also after their request.
func shortTimeouts() gateway.Settings {
	return gateway.Settings{RequestTimeout: 10 * time.Millisecond, WriteGrace: 10 * time.Millisecond}
}

// running is a route whose answer comes when it is released, whoever waits for it. With
// pieces it is a stream by then.
type running struct {
	calls   atomic.Int64
	release chan struct{}
	ended   chan struct{} // told when nobody is served any more
	pieces  bool
	answer  any
}

func newRunning(answer any) *running {
	return &running{release: make(chan struct{}), ended: make(chan struct{}, 100), answer: answer}
}

func (x *running) route() gateway.Route {
	rt := post("/run", x.start)
	rt.Runs = true
	return rt
}

func (x *running) start(r *http.Request) (any, error) {
	x.calls.Add(1)
	context.AfterFunc(r.Context(), func() { x.ended <- struct{}{} })
	if !x.pieces {
		<-r.Context().Done()
	}
	return gateway.Stream{Serve: x.serve, Later: x.later}, nil
}

func (x *running) serve(w http.ResponseWriter, r *http.Request) (any, error) {
	_, _ = w.Write([]byte("data: 1\n\n"))
	return nil, errors.New("the caller left")
}

func (x *running) later(r *http.Request) (any, error) {
	select {
	case <-x.release:
		return x.answer, nil
	case <-r.Context().Done():
		return nil, gateway.ErrGoesOn
	}
}

// repeated sends the request again until it is answered.
func (w *world) repeated(key string) (got answer) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		got = w.do("POST", "/run", "", "Idempotency-Key", key)
		return got.status != http.StatusGatewayTimeout
	}, time.Minute, time.Millisecond)
	return got
}

func TestWhatOutlivesItsCallerIsNotBegunAgain(t *testing.T) {
	for name, pieces := range map[string]bool{"past its time": false, "broken off": true} {
		t.Run(name, func(t *testing.T) {
			x := newRunning(gateway.Content{Type: "text/plain", Body: []byte("done"), Status: 201})
			x.pieces = pieces
			w := start(t, gateway.Options{Idempotency: newMemoryStore(), Settings: shortTimeouts, Routes: []gateway.Route{x.route()}})
			w.do("POST", "/run", "", "Idempotency-Key", "k")
			<-x.ended
			for range 2 {
				w.do("POST", "/run", "", "Idempotency-Key", "k").requireFailure(t, 504, domain.CodeGatewayTimeout)
			}
			close(x.release)
			again := w.repeated("k")
			require.Equal(t, 201, again.status, again.body)
			require.Equal(t, "done", again.body)
			require.Equal(t, "text/plain", again.header.Get("Content-Type"))
			require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
			require.EqualValues(t, 1, x.calls.Load())
		})
	}
}

func TestWhatFailsLaterKeepsNothing(t *testing.T) {
	x := newRunning(gateway.Status(http.StatusBadRequest, "no"))
	store := newMemoryStore()
	w := start(t, gateway.Options{Idempotency: store, Settings: shortTimeouts, Routes: []gateway.Route{x.route()}})
	w.do("POST", "/run", "", "Idempotency-Key", "k").requireFailure(t, 504, domain.CodeGatewayTimeout)
	close(x.release)
	require.Eventually(t, func() bool { return store.size() == 0 }, time.Minute, time.Millisecond)
}

// A handler learns that nobody takes what it sends, also when nobody ever did.
func TestAStreamThatIsNotServedEnds(t *testing.T) {
	x := newRunning(1)
	x.pieces = true
	live := make(chan struct{})
	held := gateway.Route{Method: "GET", Path: "/live", Permission: gateway.Public, Streaming: true,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { close(live); <-r.Context().Done() })}
	w := start(t, gateway.Options{Settings: func() gateway.Settings { return gateway.Settings{MaxLive: 1} }, Routes: []gateway.Route{x.route(), held}})
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		resp, err := w.server.Client().Do(w.request("GET", "/live", "").WithContext(ctx))
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-live
	w.do("POST", "/run", "").requireFailure(t, 429, domain.CodeConcurrency)
	<-x.ended
	leave()
	<-gone
}

// A claim lasts for as long as what it is for, on other nodes too.
func TestAClaimIsHeldWhileItsWorkGoesOn(t *testing.T) {
	x, store := newRunning(1), newMemoryStore()
	w := start(t, gateway.Options{Idempotency: store, Settings: shortTimeouts, Routes: []gateway.Route{x.route()}})
	w.do("POST", "/run", "", "Idempotency-Key", "k").requireFailure(t, 504, domain.CodeGatewayTimeout)
	<-x.ended
	for range 2 {
		store.forget()
		require.Eventually(t, func() bool { return store.size() == 1 }, time.Minute, time.Millisecond)
	}
	close(x.release)
	require.Equal(t, "1", w.repeated("k").body)
	require.EqualValues(t, 1, x.calls.Load())
}

// What was run is not run again because its answer is not there.
func TestARunWhoseAnswerIsNotKeptIsRefused(t *testing.T) {
	refused := func(t *testing.T, w *world, first answer) {
		t.Helper()
		f := w.repeated("k").requireFailure(t, 409, domain.CodeConflict)
		require.Equal(t, "not_recorded", f.Details["reason"])
		require.Equal(t, first.header.Get("X-Correlation-Id"), f.Details["correlationId"])
	}
	t.Run("it is too large", func(t *testing.T) {
		var calls atomic.Int64
		large := post("/run", func(*http.Request) (any, error) {
			calls.Add(1)
			return strings.Repeat("x", 600<<10), nil
		})
		large.Runs = true
		w := start(t, gateway.Options{Idempotency: newMemoryStore(), Routes: []gateway.Route{large}})
		first := w.do("POST", "/run", "", "Idempotency-Key", "k")
		require.Equal(t, 200, first.status)
		for range 2 {
			refused(t, w, first)
		}
		require.EqualValues(t, 1, calls.Load())
	})
	t.Run("the node stopped", func(t *testing.T) {
		x := newRunning(1)
		w := start(t, gateway.Options{Idempotency: newMemoryStore(), Settings: shortTimeouts, Routes: []gateway.Route{x.route()}})
		first := w.do("POST", "/run", "", "Idempotency-Key", "k")
		first.requireFailure(t, 504, domain.CodeGatewayTimeout)
		<-x.ended
		w.gateway.EndStreams()
		refused(t, w, first)
		require.EqualValues(t, 1, x.calls.Load())
	})
}

// seedRecorder is an ErrorRecorder that shows what its ids would be drawn from.
type seedRecorder struct{ seeds chan string }

// RecordFailure implements gateway.ErrorRecorder.
func (d seedRecorder) RecordFailure(ctx context.Context, _ string, _ *domain.Error) {
	d.seeds <- commands.RequestFrom(ctx).Seed
}

// A handler that goes on draws the ids that its repetition draws, and nobody else does.
func TestAnErrorDrawsNoIDsOfItsRequest(t *testing.T) {
	d := seedRecorder{make(chan string, 1)}
	w := start(t, gateway.Options{Failures: d, Routes: []gateway.Route{{Method: "POST", Path: "/workspaces/{workspaceId}",
		Permission: gateway.Action{Action: "create", Subject: "pages"}, Handler: returns(nil, domain.Refuse(domain.CodeValidation, "no"))}}})
	w.do("POST", "/workspaces/w1", "", "Authorization", "Bearer ann", "Idempotency-Key", "k").requireFailure(t, 422, domain.CodeValidation)
	require.Empty(t, <-d.seeds)
}
