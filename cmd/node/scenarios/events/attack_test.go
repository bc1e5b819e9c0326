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
	s := nodetest.NewIdentified(t).Start(t)
	p := nodetest.OwnedPlace(t, s)
	made, _ := p.Emits(t, `{"type":"tick"}`)
	correlation := made[0].Source["correlationId"].(string)
	w := p.Plug(t, "", p.Me)
	start := nodetest.Inner(w.Hears(), "ready")["seq"].(string)
	for _, forged := range []string{correlation + `\u0000`, correlation + `\u0000\u0000\u0000\u0000`, `\u0000`, strings.Repeat("x", 600)} {
		w.Says(`{"filters":{"source.correlationId":"` + forged + `","fromSeq":"AAD_"}}`)
	}
	w.Says(`{"filters":{"types":"tick","fromSeq":"` + start + `"}}`)
	p.Emits(t, `{"type":"tick","payload":{"after":true}}`)
	require.Equal(t, map[string]any{"after": true}, nodetest.Inner(w.Hears(), "event")["payload"])
}

// Whoever changes their mind faster than the feed begins again gets what they asked
// for last.
func TestTheLastFiltersOfASocketCount(t *testing.T) {
	t.Parallel()
	s := nodetest.NewIdentified(t).Start(t)
	p := nodetest.OwnedPlace(t, s)
	for range 3 {
		p.Emits(t, strings.Repeat(`{"type":"many"},`, 99)+`{"type":"many"}`)
	}
	p.Emits(t, `{"type":"last"}`)
	for range 5 {
		w := p.Plug(t, "", p.Me)
		require.Contains(t, w.Hears(), "ready")
		for range 10 {
			w.Says(`{"filters":{"types":"many","fromSeq":"AAD_"}}`)
		}
		w.Says(`{"filters":{"types":"last","fromSeq":"AAD_"}}`)
		for last := ""; last != "last"; {
			last = nodetest.Inner(w.Hears(), "event")["type"].(string)
		}
		require.NoError(t, w.Conn.CloseNow())
	}
}

// Stored events are no longer sent to somebody who signs out while they come, however
// slowly they read.
func TestStoredEventsAreSentToWhoMayReadThemOnly(t *testing.T) {
	t.Parallel()
	s := nodetest.NewIdentified(t).Start(t)
	p := nodetest.OwnedPlace(t, s)
	large := fmt.Sprintf(`{"type":"large","payload":{"text":%q}}`, strings.Repeat("x", 90_000))
	const batches, each = 40, 10
	for range batches {
		p.Emits(t, strings.Repeat(large+",", each-1)+large)
	}
	reader := s.Person(t, "eve")
	p.Does(t, http.StatusOK, "POST", p.Path+"/permissions", `{"target":{"id":"`+p.As(reader).UserID(t)+`"},"permissions":{"role":"editor"}}`)
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
	s := nodetest.NewIdentified(t, "DISABLE_RATE_LIMIT=no", "RATE_LIMIT_REQUESTS=40").Start(t)
	p := nodetest.OwnedPlace(t, s)
	w := p.Plug(t, "?types=none", p.Me)
	require.Contains(t, w.Hears(), "ready")
	for range 100 { // more than two minutes have room for
		w.Says(`{"emit":{"type":"flood"}}`)
	}
	refused := 0
	for range 100 {
		if nodetest.Inner(w.Hears(), "error")["code"] == "rate_limit_exceeded" {
			refused++
		}
	}
	require.GreaterOrEqual(t, refused, 20)
	require.Len(t, s.Emitted(t, p.ID), 100-refused)
}

// Who watches all workspaces hears at once that one was shared with them, and that it
// is gone.
func TestWhoWatchesAllHearsOfSharesAndDeletions(t *testing.T) {
	t.Parallel()
	s := nodetest.NewIdentified(t).Start(t)
	p := nodetest.OwnedPlace(t, s)
	eve, mallory := p.As(s.Person(t, "eve")), p.As(s.Person(t, "mallory"))
	hers, theirs := eve.Follow(t, "/v2/events/stream"), mallory.Follow(t, "/v2/events/stream")
	p.Emits(t, `{"type":"tick"}`) // she may not read it, and that is known of her once the next event is there
	eve.Does(t, http.StatusCreated, "POST", "/v2/workspaces", `{"name":"own"}`)
	for text := ""; !strings.Contains(text, `"type":"workspaces.created"`) || !strings.HasSuffix(text, "\n\n"); {
		chunk := make([]byte, 4096)
		n, err := hers.Read(chunk)
		require.NoError(t, err)
		text += string(chunk[:n])
	}
	p.Does(t, http.StatusOK, "POST", p.Path+"/permissions", `{"target":{"id":"`+eve.UserID(t)+`"},"permissions":{"role":"editor"}}`)
	frames, _ := nodetest.Listen(hers, 1)
	require.Contains(t, frames[0].Data, `"type":"workspaces.permissions.shared"`)
	hers = eve.Follow(t, "/v2/events/stream?fromSeq="+frames[0].ID)
	p.Does(t, http.StatusOK, "DELETE", p.Path, "")
	mallory.Does(t, http.StatusCreated, "POST", "/v2/workspaces", `{"name":"hers"}`)
	frames, _ = nodetest.Listen(hers, 1)
	require.Contains(t, frames[0].Data, `"type":"workspaces.deleted"`)
	frames, _ = nodetest.Listen(theirs, 1)
	require.Contains(t, frames[0].Data, `"type":"workspaces.created"`, "to others it never was")
}

func TestASocketIsNotForPlainHTTP(t *testing.T) {
	t.Parallel()
	s := nodetest.NewIdentified(t).Start(t)
	p := nodetest.OwnedPlace(t, s)
	require.Equal(t, "upgrade_required", p.Refuses(t, http.StatusUpgradeRequired, "invalid_request", "GET", p.Path+"/events/ws", "")["reason"])
}
