package triggers

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/feed"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
	"svc/streams"
	live "svc/streams/feed"
)

func TestSharesGoOnWhereTheyWereLeftWhenANodeIsNoLongerAlone(t *testing.T) {
	t.Parallel()
	store := livetest.Store(t, jetstream.Options{})
	cursors, err := store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "TRIGGERS"})
	require.NoError(t, err)
	at := func(seq uint64) domain.Position { return domain.At(domain.Activity, seq) }
	// begin starts a node that divides workspaces so when the feed is at a place.
	begin := func(shares int, now uint64) *Triggers {
		triggers := &Triggers{shares: shares, Options: Options{
			Cursors: cursors, Position: func() domain.Position { return at(now) }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		}}
		require.NoError(t, triggers.InitCursors(t.Context()))
		return triggers
	}
	// moves moves shares on, and saves that.
	moves := func(node *Triggers, to uint64, numbers ...int) {
		for _, number := range numbers {
			s := newPartition(node, number)
			s.progress.Add(&streams.ProgressMark{At: at(to), Done: true, HasEffects: true})
			s.saveCursor(true)
		}
	}
	left := func(node *Triggers, number int) domain.Position {
		place, err := node.initCursor(t.Context(), number)
		require.NoError(t, err)
		return place
	}
	alone := begin(1, 10)
	require.Equal(t, at(10), left(alone, 0), "it was never looked after")
	moves(alone, 20, 0)

	many := begin(streams.Partitions, 100)
	require.Equal(t, at(20), left(many, 3))
	moves(many, 110, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
	require.Equal(t, at(110), left(many, 3))

	alone = begin(1, 200)
	require.Equal(t, at(20), left(alone, 0), "one of them stayed there")
	moves(alone, 250, 0)

	many = begin(streams.Partitions, 300)
	require.Equal(t, at(250), left(many, 3), "not what they had behind them before")
	moves(many, 310, 3)
	require.Equal(t, at(310), left(many, 3))
	require.Equal(t, at(250), left(many, 15))
}

// idlePartition is a share of all workspaces in which nothing has happened since a place.
func idlePartition(at uint64) *partition {
	s := newPartition(&Triggers{Options: Options{Saved: func(context.Context) error { return nil }, Log: slog.New(slog.DiscardHandler)}, shares: 1}, 0)
	s.workspaces, s.progress.At = map[string]*workspaceQueue{}, domain.At(domain.Activity, at)
	return s
}

func eventAt(seq uint64) *feed.Event {
	return &feed.Event{ID: "e", Type: "order.paid", Log: domain.Activity, Seq: domain.At(domain.Activity, seq), Source: feed.Source{WorkspaceID: "w1"}}
}

func delivered(e *feed.Event) live.Delivery {
	return live.Delivery{Events: []*feed.Event{e}, Positions: []domain.Position{e.Seq}, At: e.Seq}
}

func TestAShareThatIsGivenUpPassesNothingOver(t *testing.T) {
	t.Parallel()
	s := idlePartition(10)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.receive(ctx, delivered(eventAt(11))), context.Canceled)
	at, _ := s.progress.TakeUnsaved(time.Now(), true)
	require.Equal(t, domain.At(domain.Activity, 10), at)
}

func TestAWorkspaceThatHasCaughtUpIsReadWithTheOthersAgain(t *testing.T) {
	t.Parallel()
	s := idlePartition(10)
	l := &backlog{mark: &streams.ProgressMark{At: domain.At(domain.Activity, 11)}}
	s.progress.Add(l.mark)
	p := s.queueOf("w1")
	p.backlog, p.busy = l, true // nobody looks at what waits here
	require.NoError(t, s.receive(t.Context(), delivered(eventAt(12))))
	require.NoError(t, s.rejoin(p, l, domain.At(domain.Activity, 11)), "the share has passed over more")

	one := &queuedEvent{event: eventAt(12), backlog: l}
	s.addToQueue(t.Context(), p, one)
	require.ErrorIs(t, s.rejoin(p, l, domain.At(domain.Activity, 13)), errCaughtUp)
	require.NoError(t, s.receive(t.Context(), delivered(eventAt(13))))
	require.Len(t, p.waiting, 1, "it was read already")
	require.NoError(t, s.receive(t.Context(), delivered(eventAt(14))))
	require.Len(t, p.waiting, 2)
	require.Equal(t, domain.At(domain.Activity, 10), s.progress.At, "what it read by itself is not over")

	s.awaitTrees(t.Context(), p, one, nil)
	require.Equal(t, domain.At(domain.Activity, 13), s.progress.At)
	s.awaitTrees(t.Context(), p, p.waiting[1], nil)
	require.Equal(t, domain.At(domain.Activity, 14), s.progress.At)
	p.busy = false
	s.dropIfIdle(p)
	require.Empty(t, s.workspaces)
	require.Zero(t, s.open)
}

func TestAWorkspaceMayHaveLessUnderWayWhenAllHaveMuch(t *testing.T) {
	t.Parallel()
	s := idlePartition(0)
	require.Equal(t, maxOpenPerWorkspace, s.maxOpen())
	s.countOpen(s.queueOf("w1"), maxOpenPerPartition)
	require.Equal(t, maxOpenWhenBusy, s.maxOpen())
}

func TestAnEventThatIsNestedTooDeeplyIsUnreadable(t *testing.T) {
	t.Parallel()
	e := eventAt(1)
	e.Payload = json.RawMessage(strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000))
	_, err := eventInput(e)
	var bad *unreadableEventError
	require.ErrorAs(t, err, &bad)
	e = eventAt(1)
	e.Payload = json.RawMessage(`{"a":1}`)
	in, err := eventInput(e)
	require.NoError(t, err)
	require.Equal(t, []string{"id", "type", "source", "payload", "createdAt"}, in.Keys())
}

func TestEventsOfThePlatformAreQueuedOnlyForWorkspacesThatListenToThem(t *testing.T) {
	unknown := errors.New("the read models are closed")
	for _, tt := range []struct {
		name      string
		eventType string
		listens   bool
		fault     error
		queued    int
	}{
		{"of the platform, unheard", "runtime.webhooks.triggered", false, nil, 0},
		{"of the platform, heard", "runtime.webhooks.triggered", true, nil, 1},
		{"of the platform, not known", "runtime.webhooks.triggered", false, unknown, 1},
		{"of the workspace", "order.paid", false, nil, 1},
	} {
		s := idlePartition(10)
		s.MayListen = func(string) (bool, error) { return tt.listens, tt.fault }
		s.workspaces["w1"] = &workspaceQueue{id: "w1", busy: true, freed: make(chan struct{}, 1)} // nothing takes from it
		e := eventAt(11)
		e.Type = tt.eventType
		require.NoError(t, s.receive(t.Context(), delivered(e)))
		require.Len(t, s.workspaces["w1"].waiting, tt.queued, tt.name)
		if tt.queued == 0 {
			require.Equal(t, domain.At(domain.Activity, 11), s.progress.At, tt.name)
		}
	}
}
