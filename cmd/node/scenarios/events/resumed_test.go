package events_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
)

// Nobody was given a position that the log has not reached. Who comes with one, since the
// log is another than it was or they made it up, gets what is new from now on, and is
// told so.
func TestAPositionAheadOfTheLogIsNow(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	before, _ := p.Emit(t, `{"type":"tick","payload":{"n":1}}`)
	const comment = ": the position is ahead of the log: events are sent from now on\n"
	for i, ahead := range []domain.Position{{State: 1 << 40, Activity: 1 << 40}, {State: 1, Activity: 1 << 40}, {State: 1 << 40, Activity: 1}, {Activity: ^uint64(0)}} {
		for _, path := range []string{p.Path + "/events/stream?types=tick", "/v2/events/stream?types=tick"} {
			byHeader, byQuery := p.Follow(t, path, "Last-Event-ID", ahead.Token()), p.Follow(t, path+"&fromSeq="+ahead.Token())
			made, _ := p.Emit(t, `{"type":"tick","payload":{"n":2}}`)
			frames, text := nodetest.ReadFrames(byHeader, 1)
			require.Len(t, frames, 1, "%d %s", i, path)
			require.Contains(t, frames[0].Data, made[0].ID, "%d %s", i, path)
			require.Regexp(t, "^retry: 2000\nid: [^\n]+\n\n"+comment, text)
			frames, text = nodetest.ReadFrames(byQuery, 1)
			require.Len(t, frames, 1, "%d %s", i, path)
			require.Contains(t, frames[0].Data, made[0].ID, "%d %s", i, path)
			require.Contains(t, text, comment)
		}
	}
	_, text := nodetest.ReadFrames(p.Follow(t, p.Path+"/events/stream?types=tick", "Last-Event-ID", before[0].Seq), 1)
	require.NotContains(t, text, comment, "it is behind")

	far := domain.Position{State: 1 << 40, Activity: 1 << 40}.Token()
	w := p.OpenWebSocket(t, "?types=tick&fromSeq="+far, p.Auth)
	require.NotEqual(t, far, nodetest.ObjectAt(w.Receive(), "ready")["seq"])
	made, _ := p.Emit(t, `{"type":"tick"}`)
	require.Equal(t, made[0].ID, nodetest.ObjectAt(w.Receive(), "event")["id"])
	w.Send(`{"filters":{"types":"tock","fromSeq":"` + far + `"}}`)
	w.Send(`{"nonsense":1}`) // once it is answered, the filters count
	require.NotEmpty(t, nodetest.ObjectAt(w.Receive(), "error"))
	made, _ = p.Emit(t, `{"type":"tock"}`)
	require.Equal(t, made[0].ID, nodetest.ObjectAt(w.Receive(), "event")["id"])
}
