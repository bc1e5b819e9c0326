package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/gateway"
)

// minimalTimeouts waits next to nothing.
func minimalTimeouts() gateway.Settings {
	return gateway.Settings{RequestTimeout: 20 * time.Millisecond, WriteGrace: time.Minute, MaxConcurrent: 1}
}

func TestAReadPastItsTimeIsCancelled(t *testing.T) {
	ended := make(chan error, 2)
	w := start(t, gateway.Options{Settings: minimalTimeouts, Routes: []gateway.Route{{
		Method: "GET", Path: "/x", Permission: gateway.Public, Handler: gateway.HandlerFunc(func(r *http.Request) (any, error) {
			<-r.Context().Done()
			ended <- r.Context().Err()
			return nil, r.Context().Err()
		})}}})
	w.do("GET", "/x", "").requireFailure(t, 504, domain.CodeGatewayTimeout)
	require.ErrorIs(t, <-ended, context.Canceled)
	w.serveOnce("GET", "/x") // where no connection ends that could do it
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestAWritePastItsTimeGoesOn(t *testing.T) {
	release, ended := make(chan struct{}), make(chan error, 1)
	w := start(t, gateway.Options{Settings: minimalTimeouts, Routes: []gateway.Route{post("/x", func(r *http.Request) (any, error) {
		<-release
		ended <- r.Context().Err()
		return nil, errors.New("found out too late")
	})}})
	w.do("POST", "/x", "").requireFailure(t, 504, domain.CodeGatewayTimeout)
	w.do("POST", "/x", "").requireFailure(t, 429, domain.CodeConcurrency) // it still holds its place
	close(release)
	require.NoError(t, <-ended, "its context is alive")
	require.NoError(t, w.gateway.Close(context.Background()))
	require.Contains(t, w.log.String(), "found out too late")
}

// watcher shows the context of the connection.
type watcher struct{ seen chan context.Context }

// Authenticate implements gateway.Authenticator.
func (w watcher) Authenticate(ctx context.Context, _ gateway.Credentials) (gateway.Caller, error) {
	w.seen <- ctx
	return people["ann"], nil
}

func TestAWriteOutlivesItsClient(t *testing.T) {
	connection, ended := make(chan context.Context, 1), make(chan error, 1)
	ctx, leave := context.WithCancel(context.Background())
	w := start(t, gateway.Options{Authenticator: watcher{connection}, Routes: []gateway.Route{post("/x", func(r *http.Request) (any, error) {
		leave()
		<-(<-connection).Done()
		ended <- r.Context().Err()
		return 1, nil
	})}})
	_, err := w.server.Client().Do(w.request("POST", "/x", "", "Authorization", "Bearer ann").WithContext(ctx)) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, <-ended)
}

func TestTheGraceOfAWriteEnds(t *testing.T) {
	ended := make(chan error, 1)
	w := start(t, gateway.Options{
		Settings: func() gateway.Settings {
			return gateway.Settings{RequestTimeout: 10 * time.Millisecond, WriteGrace: 10 * time.Millisecond}
		},
		Routes: []gateway.Route{post("/x", func(r *http.Request) (any, error) {
			<-r.Context().Done()
			ended <- r.Context().Err()
			return nil, r.Context().Err()
		})}})
	w.do("POST", "/x", "").requireFailure(t, 504, domain.CodeGatewayTimeout)
	require.Error(t, <-ended)
}

func TestCloseGivesUpWithItsContext(t *testing.T) {
	ended := make(chan struct{})
	g, err := gateway.New(gateway.Options{Settings: minimalTimeouts, Routes: []gateway.Route{post("/x", func(r *http.Request) (any, error) {
		defer close(ended)
		<-r.Context().Done()
		return nil, nil
	})}})
	require.NoError(t, err)
	w := &world{t: t, gateway: g}
	w.serveOnce("POST", "/x")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, g.Close(ctx), context.Canceled)
	<-ended
	require.NoError(t, g.Close(context.Background()))
}

func TestStreamsHaveNoTimeout(t *testing.T) {
	release := make(chan struct{})
	late := time.AfterFunc(60*time.Millisecond, func() { close(release) })
	defer late.Stop()
	w := start(t, gateway.Options{Settings: minimalTimeouts, Routes: []gateway.Route{
		{Method: "GET", Path: "/raw", Permission: gateway.Public, Streaming: true,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-release:
				case <-r.Context().Done():
					w.WriteHeader(500)
				}
			})},
		get("/result", gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
			select {
			case <-release:
			case <-r.Context().Done():
				w.WriteHeader(500)
			}
			return nil, nil
		}}),
	}})
	require.Equal(t, 200, w.do("GET", "/result", "").status)
	require.Equal(t, 200, w.do("GET", "/raw", "").status)
}

func TestARawHandlerHasADeadline(t *testing.T) {
	w := start(t, gateway.Options{Settings: minimalTimeouts, Routes: []gateway.Route{{Method: "GET", Path: "/raw", Permission: gateway.Public,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			w.WriteHeader(504)
		})}}})
	require.Equal(t, 504, w.do("GET", "/raw", "").status)
}

// serveOnce sends one request to the gateway without a server.
func (w *world) serveOnce(method, path string) {
	w.t.Helper()
	w.gateway.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, nil))
}
