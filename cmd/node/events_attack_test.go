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
	const batches, each = 70, 10
	for range batches {
		p.emits(t, strings.Repeat(large+",", each-1)+large)
	}
	reader := s.person(t, "eve")
	p.does(t, http.StatusOK, "POST", p.path+"/permissions", `{"target":{"id":"`+p.as(reader).userID(t)+`"},"permissions":{"role":"editor"}}`)
	stream := p.as(reader).follow(t, p.path+"/events/stream?types=large&fromSeq=AAD_")
	_, err := io.ReadFull(stream, make([]byte, 1000))
	require.NoError(t, err)
	s.must(t, "POST", "/v2/logout", reader, "")
	time.Sleep(4500 * time.Millisecond) // they read nothing for longer than a credential is believed
	rest, err := io.ReadAll(stream)
	require.NoError(t, err)
	require.Less(t, strings.Count(string(rest), "\nid: "), batches*each/2)
}

