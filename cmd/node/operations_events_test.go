package node_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/operation"
)

// tune opens the stream of an operation. It is closed with the test, if not before.
func (s *shop) tune(t *testing.T, path string, h http.Header) io.ReadCloser {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Base+path, nil)
	require.NoError(t, err)
	req.Header = h.Clone()
	res, err := s.Client.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	return res.Body
}

// later reads the frames of a stream until it ends, meanwhile.
func later(stream io.ReadCloser) <-chan []nodetest.Frame {
	all := make(chan []nodetest.Frame, 1)
	go func() {
		frames, _ := nodetest.ReadFrames(stream, 0)
		all <- frames
	}()
	return all
}

// types lists the types of frames.
func types(frames []nodetest.Frame) (all []string) {
	for _, f := range frames {
		all = append(all, f.Event)
	}
	return all
}

func TestAnOperationIsFollowed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	begun, ready := make(chan struct{}), make(chan struct{})
	h := s.begin(t, "ada", operation.Pull, held(begun, ready))
	<-begun
	at := s.path + "/operations/" + h.ID() + "/events"

	first, text := nodetest.ReadFrames(s.tune(t, at, s.who["rita"]), 2)
	require.True(t, strings.HasPrefix(text, "retry: 2000\n\n"), text)
	require.Equal(t, []string{"workspaces.operations.started", "workspaces.versions.progress"}, types(first))
	require.Contains(t, first[0].Data, `"kind":"pull"`)
	require.NotContains(t, first[0].Data, `"about"`, "the payload of the catalogue")
	at2, err := domain.ParsePosition(first[1].ID)
	require.NoError(t, err)
	require.NotZero(t, at2.State)

	live := later(s.tune(t, at[3:], s.who["rita"]))
	again := s.who["rita"].Clone()
	again.Set("Last-Event-ID", first[1].ID)
	resumed := later(s.tune(t, at, again))
	close(ready)
	rest := []string{"workspaces.versions.progress", "workspaces.operations.ended"}
	whole := <-live
	require.Equal(t, append(types(first), rest...), types(whole), "from the start to the end, which closes it")
	require.Equal(t, first, whole[:2])
	require.Equal(t, whole[2:], <-resumed, "neither a gap nor a repetition")

	wait(t, h)
	replayed, _ := nodetest.ReadFrames(s.tune(t, at, s.who["rita"]), 0)
	require.Equal(t, whole, replayed, "also when it has ended")
	again.Set("Last-Event-ID", whole[len(whole)-1].ID)
	nothing, _ := nodetest.ReadFrames(s.tune(t, at, again), 0)
	require.Empty(t, nothing)

	again.Set("Last-Event-ID", "soon")
	require.Equal(t, "invalid_parameter", s.Get(t, at, again).Code(t))
	require.Equal(t, "workspace_access_denied", s.Get(t, at, s.who["stranger"]).Code(t))
	require.Equal(t, "resource_not_found", s.Get(t, s.path+"/operations/op_unknown/events", s.who["rita"]).Code(t))
	head, err := s.Request(t.Context(), http.MethodHead, at, s.who["rita"], "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, head.StatusCode)
}

// A reader who is shown the door hears nothing more.
func TestAStreamEndsWithTheRightToReadIt(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endsStream(t, func() { s.Must(t, "DELETE", s.path+"/permissions/"+s.ids["rita"], s.who["ada"], "") })
}

// Who signs out hears nothing more, also on a connection that is open.
func TestAStreamEndsWithTheSession(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endsStream(t, func() { s.Must(t, "POST", "/v2/logout", s.who["rita"], "") })
}

// endsStream has rita follow an operation, which must end before that does when
// something is done.
func (s *shop) endsStream(t *testing.T, do func()) {
	t.Helper()
	begun, ready := make(chan struct{}), make(chan struct{})
	h := s.begin(t, "ada", operation.Pull, held(begun, ready))
	<-begun
	over := later(s.tune(t, s.path+"/operations/"+h.ID()+"/events", s.who["rita"]))
	do()
	select {
	case frames := <-over:
		require.NotContains(t, types(frames), "workspaces.operations.ended")
	case <-time.After(time.Minute):
		t.Error("the stream goes on")
	}
	close(ready)
	wait(t, h)
}
