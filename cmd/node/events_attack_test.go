package node_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What somebody makes up harms the others no more than themselves: a node that fell
// over a filter would be gone for all.
func TestForgedFiltersOfASocketHarmNobody(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	made, _ := p.emits(t, `{"type":"tick"}`)
	correlation := made[0].Source["correlationId"].(string)
	w := p.plug(t, "", p.me)
	start := inner(w.hears(), "ready")["seq"].(string)
	for _, forged := range []string{correlation + `\u0000`, correlation + `\u0000\u0000\u0000\u0000`, `\u0000`, strings.Repeat("x", 600)} {
		w.says(`{"filters":{"source.correlationId":"` + forged + `","fromSeq":"AAD_"}}`)
	}
	w.says(`{"filters":{"types":"tick","fromSeq":"` + start + `"}}`)
	p.emits(t, `{"type":"tick","payload":{"after":true}}`)
	require.Equal(t, map[string]any{"after": true}, inner(w.hears(), "event")["payload"])
}

// Whoever changes their mind faster than the feed begins again gets what they asked
// for last.
func TestTheLastFiltersOfASocketCount(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	for range 3 {
		p.emits(t, strings.Repeat(`{"type":"many"},`, 99)+`{"type":"many"}`)
	}
	p.emits(t, `{"type":"last"}`)
	for range 5 {
		w := p.plug(t, "", p.me)
		require.Contains(t, w.hears(), "ready")
		for range 10 {
			w.says(`{"filters":{"types":"many","fromSeq":"AAD_"}}`)
		}
		w.says(`{"filters":{"types":"last","fromSeq":"AAD_"}}`)
		for last := ""; last != "last"; {
			last = inner(w.hears(), "event")["type"].(string)
		}
		require.NoError(t, w.conn.CloseNow())
	}
}

// Stored events are no longer sent to somebody who signs out while they come, however
// slowly they read.
func TestStoredEventsAreSentToWhoMayReadThemOnly(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	large := fmt.Sprintf(`{"type":"large","payload":{"text":%q}}`, strings.Repeat("x", 90_000))
	const batches, each = 40, 10
	for range batches {
		p.emits(t, strings.Repeat(large+",", each-1)+large)
	}
	reader := s.person(t, "eve")
	p.does(t, http.StatusOK, "POST", p.path+"/permissions", `{"target":{"id":"`+p.as(reader).userID(t)+`"},"permissions":{"role":"editor"}}`)
	stream := p.as(reader).follow(t, p.path+"/events/stream?types=large&fromSeq=AAD_")
	_, err := io.ReadFull(stream, make([]byte, 1000))
	require.NoError(t, err)
	s.must(t, "POST", "/v2/logout", reader, "")
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
	s := identified(t, "DISABLE_RATE_LIMIT=no", "RATE_LIMIT_REQUESTS=40").start(t)
	p := ownedPlace(t, s)
	w := p.plug(t, "?types=none", p.me)
	require.Contains(t, w.hears(), "ready")
	for range 100 { // more than two minutes have room for
		w.says(`{"emit":{"type":"flood"}}`)
	}
	refused := 0
	for range 100 {
		if inner(w.hears(), "error")["code"] == "rate_limit_exceeded" {
			refused++
		}
	}
	require.GreaterOrEqual(t, refused, 20)
	require.Len(t, s.emitted(t, p.id), 100-refused)
}

// Who watches all workspaces hears at once that one was shared with them, and that it
// is gone.
func TestWhoWatchesAllHearsOfSharesAndDeletions(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	eve, mallory := p.as(s.person(t, "eve")), p.as(s.person(t, "mallory"))
	hers, theirs := eve.follow(t, "/v2/events/stream"), mallory.follow(t, "/v2/events/stream")
	p.emits(t, `{"type":"tick"}`) // she may not read it, and that is known of her then
	p.does(t, http.StatusOK, "POST", p.path+"/permissions", `{"target":{"id":"`+eve.userID(t)+`"},"permissions":{"role":"editor"}}`)
	frames, _ := listen(hers, 1)
	require.Contains(t, frames[0].data, `"type":"workspaces.permissions.shared"`)
	hers = eve.follow(t, "/v2/events/stream?fromSeq="+frames[0].id)
	p.does(t, http.StatusOK, "DELETE", p.path, "")
	mallory.does(t, http.StatusCreated, "POST", "/v2/workspaces", `{"name":"hers"}`)
	frames, _ = listen(hers, 1)
	require.Contains(t, frames[0].data, `"type":"workspaces.deleted"`)
	frames, _ = listen(theirs, 1)
	require.Contains(t, frames[0].data, `"type":"workspaces.created"`, "to others it never was")
}

func TestASocketIsNotForPlainHTTP(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	require.Equal(t, "upgrade_required", p.refuses(t, http.StatusUpgradeRequired, "invalid_request", "GET", p.path+"/events/ws", "")["reason"])
}
