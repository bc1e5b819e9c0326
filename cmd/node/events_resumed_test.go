package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

// Nobody was given a position that the log has not reached. Who comes with one, since the
// log is another than it was or they made it up, gets what is new from now on, and is
// told so.
func TestAPositionAheadOfTheLogIsNow(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	before, _ := p.emits(t, `{"type":"tick","payload":{"n":1}}`)
	const comment = ": the position is ahead of the log: events are sent from now on\n"
	for i, ahead := range []domain.Position{{State: 1 << 40, Activity: 1 << 40}, {State: 1, Activity: 1 << 40}, {State: 1 << 40, Activity: 1}, {Activity: ^uint64(0)}} {
		for _, path := range []string{p.path + "/events/stream?types=tick", "/v2/events/stream?types=tick"} {
			byHeader, byQuery := p.follow(t, path, "Last-Event-ID", ahead.Token()), p.follow(t, path+"&fromSeq="+ahead.Token())
			made, _ := p.emits(t, `{"type":"tick","payload":{"n":2}}`)
			frames, text := listen(byHeader, 1)
			require.Len(t, frames, 1, "%d %s", i, path)
			require.Contains(t, frames[0].data, made[0].ID, "%d %s", i, path)
			require.Regexp(t, "^retry: 2000\n\n"+comment, text)
			frames, text = listen(byQuery, 1)
			require.Len(t, frames, 1, "%d %s", i, path)
			require.Contains(t, frames[0].data, made[0].ID, "%d %s", i, path)
			require.Contains(t, text, comment)
		}
	}
	_, text := listen(p.follow(t, p.path+"/events/stream?types=tick", "Last-Event-ID", before[0].Seq), 1)
	require.NotContains(t, text, comment, "it is behind")

	far := domain.Position{State: 1 << 40, Activity: 1 << 40}.Token()
	w := p.plug(t, "?types=tick&fromSeq="+far, p.me)
	require.NotEqual(t, far, inner(w.hears(), "ready")["seq"])
	made, _ := p.emits(t, `{"type":"tick"}`)
	require.Equal(t, made[0].ID, inner(w.hears(), "event")["id"])
	w.says(`{"filters":{"types":"tock","fromSeq":"` + far + `"}}`)
	w.says(`{"nonsense":1}`) // once it is answered, the filters count
	require.NotEmpty(t, inner(w.hears(), "error"))
	made, _ = p.emits(t, `{"type":"tock"}`)
	require.Equal(t, made[0].ID, inner(w.hears(), "event")["id"])
}
