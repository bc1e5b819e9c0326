package triggers

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/feed"
	"svc/streams"
	live "svc/streams/feed"
)

// quietShare is a share of all workspaces in which nothing has happened since a place.
func quietShare(at uint64) *share {
	s := newShare(&Triggers{Options: Options{Saved: func(context.Context) error { return nil }, Log: slog.New(slog.DiscardHandler)}, shares: 1}, 0)
	s.places, s.ledger.At = map[string]*place{}, domain.At(domain.Activity, at)
	return s
}

func eventAt(seq uint64) *feed.Event {
	return &feed.Event{ID: "e", Type: "order.paid", Log: domain.Activity, Seq: domain.At(domain.Activity, seq), Source: feed.Source{WorkspaceID: "w1"}}
}

func delivered(e *feed.Event) live.Delivery {
	return live.Delivery{Events: []*feed.Event{e}, Places: []domain.Position{e.Seq}, At: e.Seq}
}

func TestAShareThatIsGivenUpPassesNothingOver(t *testing.T) {
	t.Parallel()
	s := quietShare(10)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.receive(ctx, delivered(eventAt(11))), context.Canceled)
	at, _ := s.ledger.Unsaved(time.Now(), true)
	require.Equal(t, domain.At(domain.Activity, 10), at)
}

func TestAWorkspaceThatHasCaughtUpIsReadWithTheOthersAgain(t *testing.T) {
	t.Parallel()
	s := quietShare(10)
	l := &lag{mark: &streams.Mark{At: domain.At(domain.Activity, 11)}}
	s.ledger.Put(l.mark)
	p := s.place("w1")
	p.lag, p.busy = l, true // nobody looks at what waits here
	require.NoError(t, s.receive(t.Context(), delivered(eventAt(12))))
	require.NoError(t, s.rejoin(p, l, domain.At(domain.Activity, 11)), "the share has passed over more")

	one := &arrival{event: eventAt(12), lag: l}
	s.join(t.Context(), p, one)
	require.ErrorIs(t, s.rejoin(p, l, domain.At(domain.Activity, 13)), errCaughtUp)
	require.NoError(t, s.receive(t.Context(), delivered(eventAt(13))))
	require.Len(t, p.waiting, 1, "it was read already")
	require.NoError(t, s.receive(t.Context(), delivered(eventAt(14))))
	require.Len(t, p.waiting, 2)
	require.Equal(t, domain.At(domain.Activity, 10), s.ledger.At, "what it read by itself is not over")

	s.follow(t.Context(), p, one, nil)
	require.Equal(t, domain.At(domain.Activity, 13), s.ledger.At)
	s.follow(t.Context(), p, p.waiting[1], nil)
	require.Equal(t, domain.At(domain.Activity, 14), s.ledger.At)
	p.busy = false
	s.forget(p)
	require.Empty(t, s.places)
	require.Zero(t, s.open)
}

func TestAWorkspaceMayHaveLessUnderWayWhenAllHaveMuch(t *testing.T) {
	t.Parallel()
	s := quietShare(0)
	require.Equal(t, mostOfOne, s.most())
	s.count(s.place("w1"), mostOfShare)
	require.Equal(t, fewOfOne, s.most())
}

func TestAnEventThatIsNestedTooDeeplyIsUnreadable(t *testing.T) {
	t.Parallel()
	e := eventAt(1)
	e.Payload = json.RawMessage(strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000))
	_, err := inputOf(e)
	var bad *unreadable
	require.ErrorAs(t, err, &bad)
	e = eventAt(1)
	e.Payload = json.RawMessage(`{"a":1}`)
	in, err := inputOf(e)
	require.NoError(t, err)
	require.Equal(t, []string{"id", "type", "source", "payload", "createdAt"}, in.Keys())
}
