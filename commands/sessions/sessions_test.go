package sessions_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/sessions"
	"svc/domain/session"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/livetest"
)

// fixture is what two nodes over one log share.
type fixture struct {
	store  *jetstream.Store
	models *projections.Models
	bucket *jetstream.Bucket
	now    time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	store, models := livetest.Open(t)
	bucket, err := store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "SESSIONS", TTL: time.Hour})
	require.NoError(t, err)
	return &fixture{store, models, bucket, time.Now()}
}

// node returns the sessions as one node has them.
func (h *fixture) node(t *testing.T) *sessions.Sessions {
	t.Helper()
	engine, err := commands.NewEngine(commands.EngineOptions{Store: h.store.Log})
	require.NoError(t, err)
	s, err := sessions.New(sessions.Options{
		Engine: engine, Bucket: h.bucket, Now: func() time.Time { return h.now },
		MaxAge: func() time.Duration { return time.Hour },
		Moment: func() uint64 { return uint64(h.models.MomentsOf(projections.Sessions{}).Now()) },
		Ended: func(id string) (ended bool, err error) {
			err = h.models.View(func(r projections.Reader) error {
				ended, err = projections.Sessions{}.Ended(r, id)
				return err
			})
			return ended, err
		},
	})
	require.NoError(t, err)
	return s
}

func TestASessionLivesForItsTimeOnly(t *testing.T) {
	h := newFixture(t)
	s := h.node(t)
	short, err := s.Open(t.Context(), sessions.Opening{UserID: "u1", Provider: "svc", Lifetime: time.Minute})
	require.NoError(t, err)
	long, err := s.Open(t.Context(), sessions.Opening{UserID: "u1", Provider: "svc", Lifetime: 48 * time.Hour})
	require.NoError(t, err)
	require.Equal(t, time.Hour, long.Expires.Sub(long.CreatedAt), "never longer than allowed")

	_, ok, err := s.Get(t.Context(), "u2", short.ID)
	require.NoError(t, err)
	require.False(t, ok, "of somebody else")
	h.now = h.now.Add(time.Minute)
	_, ok, err = s.Get(t.Context(), "u1", short.ID)
	require.NoError(t, err)
	require.False(t, ok, "over")
	_, ok, err = s.Get(t.Context(), "u1", long.ID)
	require.NoError(t, err)
	require.True(t, ok)
}

func TestAnEndedSessionIsOverOnEveryNode(t *testing.T) {
	h := newFixture(t)
	here, there := h.node(t), h.node(t)
	opened, err := here.Open(t.Context(), sessions.Opening{UserID: "u1", Provider: "svc"})
	require.NoError(t, err)
	_, ok, err := there.Get(t.Context(), "u1", opened.ID)
	require.NoError(t, err)
	require.True(t, ok, "and remembered there")

	ended, err := here.End(t.Context(), "u1", opened.ID, session.CauseLogout)
	require.NoError(t, err)
	require.True(t, ended)
	livetest.Fresh(t, h.models)
	for _, node := range []*sessions.Sessions{here, there, h.node(t)} {
		_, ok, err = node.Get(t.Context(), "u1", opened.ID)
		require.NoError(t, err)
		require.False(t, ok)
	}
	ended, err = there.End(t.Context(), "u1", opened.ID, session.CauseLogout)
	require.NoError(t, err)
	require.False(t, ended, "twice")

	events, err := h.store.Log.Load(t.Context(), session.Stream(opened.ID), 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, session.CauseLogout, events[0].Data.(session.Ended).Cause)
}

func TestAllSessionsButOneEnd(t *testing.T) {
	h := newFixture(t)
	s := h.node(t)
	var opened []sessions.Session
	for range 3 {
		one, err := s.Open(t.Context(), sessions.Opening{UserID: "u1", Provider: "svc"})
		require.NoError(t, err)
		opened = append(opened, one)
	}
	_, err := s.Open(t.Context(), sessions.Opening{UserID: "u2", Provider: "svc"})
	require.NoError(t, err)
	require.NoError(t, s.EndAll(t.Context(), "u1", opened[1].ID, session.CausePassword))
	livetest.Fresh(t, h.models)
	left, err := s.Of(t.Context(), "u1")
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, opened[1].ID, left[0].ID)
	others, err := s.Of(t.Context(), "u2")
	require.NoError(t, err)
	require.Len(t, others, 1)
}

func TestTheSecondFactorIsKnownOnEveryNode(t *testing.T) {
	h := newFixture(t)
	here, there := h.node(t), h.node(t)
	opened, err := here.Open(t.Context(), sessions.Opening{UserID: "u1", Provider: "svc", MFAPending: true})
	require.NoError(t, err)
	found, _, err := there.Get(t.Context(), "u1", opened.ID)
	require.NoError(t, err)
	require.True(t, found.MFAPending)
	require.NoError(t, here.Confirm(t.Context(), "u1", opened.ID))
	for _, node := range []*sessions.Sessions{here, there} {
		found, _, err = node.Get(t.Context(), "u1", opened.ID)
		require.NoError(t, err)
		require.True(t, found.MFA)
		require.False(t, found.MFAPending)
	}
}

func TestItIsWrittenDownWhenASessionWasSeen(t *testing.T) {
	h := newFixture(t)
	s := h.node(t)
	opened, err := s.Open(t.Context(), sessions.Opening{UserID: "u1", Provider: "svc"})
	require.NoError(t, err)
	h.now = h.now.Add(5 * time.Minute)
	_, _, err = s.Get(t.Context(), "u1", opened.ID)
	require.NoError(t, err)

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	require.Eventually(t, func() bool {
		live, err := s.Of(t.Context(), "u1")
		return err == nil && len(live) == 1 && live[0].LastSeenAt.Equal(h.now.UTC())
	}, time.Minute, 5*time.Millisecond)
	stop()
	running.Wait()
}
