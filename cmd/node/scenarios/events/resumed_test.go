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
	s := nodetest.NewIdentified(t).Start(t)
	p := nodetest.OwnedPlace(t, s)
	before, _ := p.Emits(t, `{"type":"tick","payload":{"n":1}}`)
	const comment = ": the position is ahead of the log: events are sent from now on\n"
	for i, ahead := range []domain.Position{{State: 1 << 40, Activity: 1 << 40}, {State: 1, Activity: 1 << 40}, {State: 1 << 40, Activity: 1}, {Activity: ^uint64(0)}} {
		for _, path := range []string{p.Path + "/events/stream?types=tick", "/v2/events/stream?types=tick"} {
			byHeader, byQuery := p.Follow(t, path, "Last-Event-ID", ahead.Token()), p.Follow(t, path+"&fromSeq="+ahead.Token())
			made, _ := p.Emits(t, `{"type":"tick","payload":{"n":2}}`)
			frames, text := nodetest.Listen(byHeader, 1)
			require.Len(t, frames, 1, "%d %s", i, path)
			require.Contains(t, frames[0].Data, made[0].ID, "%d %s", i, path)
			require.Regexp(t, "^retry: 2000\n\n"+comment, text)
			frames, text = nodetest.Listen(byQuery, 1)
			require.Len(t, frames, 1, "%d %s", i, path)
			require.Contains(t, frames[0].Data, made[0].ID, "%d %s", i, path)
			require.Contains(t, text, comment)
		}
	}
	_, text := nodetest.Listen(p.Follow(t, p.Path+"/events/stream?types=tick", "Last-Event-ID", before[0].Seq), 1)
	require.NotContains(t, text, comment, "it is behind")

	far := domain.Position{State: 1 << 40, Activity: 1 << 40}.Token()
	w := p.Plug(t, "?types=tick&fromSeq="+far, p.Me)
	require.NotEqual(t, far, nodetest.Inner(w.Hears(), "ready")["seq"])
	made, _ := p.Emits(t, `{"type":"tick"}`)
	require.Equal(t, made[0].ID, nodetest.Inner(w.Hears(), "event")["id"])
	w.Says(`{"filters":{"types":"tock","fromSeq":"` + far + `"}}`)
	w.Says(`{"nonsense":1}`) // once it is answered, the filters count
	require.NotEmpty(t, nodetest.Inner(w.Hears(), "error"))
	made, _ = p.Emits(t, `{"type":"tock"}`)
	require.Equal(t, made[0].ID, nodetest.Inner(w.Hears(), "event")["id"])
}
