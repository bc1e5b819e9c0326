package events_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// What somebody makes up harms the others no more than themselves: a node that fell
// over a filter would be gone for all.
func TestForgedFiltersOfASocketHarmNobody(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	made, _ := p.Emit(t, `{"type":"tick"}`)
	correlation := made[0].Source["correlationId"].(string)
	w := p.OpenWebSocket(t, "", p.Auth)
	start := nodetest.ObjectAt(w.Receive(), "ready")["seq"].(string)
	for _, forged := range []string{correlation + `\u0000`, correlation + `\u0000\u0000\u0000\u0000`, `\u0000`, strings.Repeat("x", 600)} {
		w.Send(`{"filters":{"source.correlationId":"` + forged + `","fromSeq":"AAD_"}}`)
	}
	w.Send(`{"filters":{"types":"tick","fromSeq":"` + start + `"}}`)
	p.Emit(t, `{"type":"tick","payload":{"after":true}}`)
	require.Equal(t, map[string]any{"after": true}, nodetest.ObjectAt(w.Receive(), "event")["payload"])
}

// Whoever changes their mind faster than the feed begins again gets what they asked
// for last.
func TestTheLastFiltersOfASocketCount(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	for range 3 {
		p.Emit(t, strings.Repeat(`{"type":"many"},`, 99)+`{"type":"many"}`)
	}
	p.Emit(t, `{"type":"last"}`)
	for range 5 {
		w := p.OpenWebSocket(t, "", p.Auth)
		require.Contains(t, w.Receive(), "ready")
		for range 10 {
			w.Send(`{"filters":{"types":"many","fromSeq":"AAD_"}}`)
		}
		w.Send(`{"filters":{"types":"last","fromSeq":"AAD_"}}`)
		for last := ""; last != "last"; {
			last = nodetest.ObjectAt(w.Receive(), "event")["type"].(string)
		}
		require.NoError(t, w.Conn.CloseNow())
	}
}

// Stored events are no longer sent to somebody who signs out while they come, however
// slowly they read.
func TestStoredEventsAreSentToWhoMayReadThemOnly(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	large := fmt.Sprintf(`{"type":"large","payload":{"text":%q}}`, strings.Repeat("x", 90_000))
	const batches, each = 40, 10
	for range batches {
		p.Emit(t, strings.Repeat(large+",", each-1)+large)
	}
	reader := s.NewUser(t, "eve")
	p.Do(t, http.StatusOK, "POST", p.Path+"/permissions", `{"target":{"id":"`+p.As(reader).UserID(t)+`"},"permissions":{"role":"editor"}}`)
	stream := p.As(reader).Follow(t, p.Path+"/events/stream?types=large&fromSeq=AAD_")
	_, err := io.ReadFull(stream, make([]byte, 1000))
	require.NoError(t, err)
	s.Must(t, "POST", "/v2/logout", reader, "")
	select { // they read nothing for longer than a credential is believed
	case <-t.Context().Done():
	case <-time.After(4500 * time.Millisecond):
	}
	rest, err := io.ReadAll(stream)
	require.NoError(t, err)
	require.Less(t, strings.Count(string(rest), "\nid: "), batches*each/2)
}

// A frame is a request like any other: who floods a socket is told so.
func TestFramesOfASocketAreCounted(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "DISABLE_RATE_LIMIT=no", "RATE_LIMIT_REQUESTS=40").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	w := p.OpenWebSocket(t, "?types=none", p.Auth)
	require.Contains(t, w.Receive(), "ready")
	for range 100 { // more than two minutes have room for
		w.Send(`{"emit":{"type":"flood"}}`)
	}
	refused := 0
	for range 100 {
		if nodetest.ObjectAt(w.Receive(), "error")["code"] == "rate_limit_exceeded" {
			refused++
		}
	}
	require.GreaterOrEqual(t, refused, 20)
	require.Len(t, s.EmittedTypes(t, p.ID), 100-refused)
}

// Who watches all workspaces hears at once that one was shared with them, and that it
// is gone.
func TestWhoWatchesAllHearsOfSharesAndDeletions(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	eve, mallory := p.As(s.NewUser(t, "eve")), p.As(s.NewUser(t, "mallory"))
	hers, theirs := eve.Follow(t, "/v2/events/stream"), mallory.Follow(t, "/v2/events/stream")
	p.Emit(t, `{"type":"tick"}`) // she may not read it, and that is known of her once the next event is there
	eve.Do(t, http.StatusCreated, "POST", "/v2/workspaces", `{"name":"own"}`)
	for text := ""; !strings.Contains(text, `"type":"workspaces.created"`) || !strings.HasSuffix(text, "\n\n"); {
		chunk := make([]byte, 4096)
		n, err := hers.Read(chunk)
		require.NoError(t, err)
		text += string(chunk[:n])
	}
	p.Do(t, http.StatusOK, "POST", p.Path+"/permissions", `{"target":{"id":"`+eve.UserID(t)+`"},"permissions":{"role":"editor"}}`)
	frames, _ := nodetest.ReadFrames(hers, 1)
	require.Contains(t, frames[0].Data, `"type":"workspaces.permissions.shared"`)
	hers = eve.Follow(t, "/v2/events/stream?fromSeq="+frames[0].ID)
	p.Do(t, http.StatusOK, "DELETE", p.Path, "")
	mallory.Do(t, http.StatusCreated, "POST", "/v2/workspaces", `{"name":"hers"}`)
	frames, _ = nodetest.ReadFrames(hers, 1)
	require.Contains(t, frames[0].Data, `"type":"workspaces.deleted"`)
	frames, _ = nodetest.ReadFrames(theirs, 1)
	require.Contains(t, frames[0].Data, `"type":"workspaces.created"`, "to others it never was")
}

func TestASocketIsNotForPlainHTTP(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	require.Equal(t, "upgrade_required", p.RequireRefusal(t, http.StatusUpgradeRequired, "invalid_request", "GET", p.Path+"/events/ws", "")["reason"])
}
