package triggers

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
	"svc/streams"
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
		require.NoError(t, triggers.Begin(t.Context()))
		return triggers
	}
	// moves moves shares on, and saves that.
	moves := func(node *Triggers, to uint64, numbers ...int) {
		for _, number := range numbers {
			s := newShare(node, number)
			s.ledger.Put(&streams.Mark{At: at(to), Settled: true, Counts: true})
			s.saveNow(true)
		}
	}
	left := func(node *Triggers, number int) domain.Position {
		place, err := node.cursor(t.Context(), number)
		require.NoError(t, err)
		return place
	}
	alone := begin(1, 10)
	require.Equal(t, at(10), left(alone, 0), "it was never looked after")
	moves(alone, 20, 0)

	many := begin(streams.Shares, 100)
	require.Equal(t, at(20), left(many, 3))
	moves(many, 110, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
	require.Equal(t, at(110), left(many, 3))

	alone = begin(1, 200)
	require.Equal(t, at(20), left(alone, 0), "one of them stayed there")
	moves(alone, 250, 0)

	many = begin(streams.Shares, 300)
	require.Equal(t, at(250), left(many, 3), "not what they had behind them before")
	moves(many, 310, 3)
	require.Equal(t, at(310), left(many, 3))
	require.Equal(t, at(250), left(many, 15))
}
