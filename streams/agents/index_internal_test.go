package agents

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/commands/runtime"
	"svc/commands/seal"
	"svc/commands/vault"
	"svc/domain"
	"svc/domain/catalog"
	"svc/eventstore/jetstream"
)

// spy counts the conversations that are read.
type spy struct {
	*jetstream.Data
	opened, listed atomic.Int64
}

func (s *spy) Since(ctx context.Context, id domain.StreamID, after uint64, visit func(uint64, bool, string, []byte) error) error {
	if id.Kind == conversationKind {
		s.opened.Add(1)
	}
	return s.Data.Since(ctx, id, after, visit)
}

func (s *spy) IDs(ctx context.Context, workspaceID, kind string) ([]string, error) {
	ids, err := s.Data.IDs(ctx, workspaceID, kind)
	s.listed.Add(int64(len(ids)))
	return ids, err
}

const testWorkspace = "w1"

// newTestAgents returns agents that have conversations only.
func newTestAgents(t *testing.T) (*Agents, *spy, *time.Time) {
	t.Helper()
	opened, err := jetstream.Open(t.Context(), jetstream.Options{Dir: t.TempDir(), Events: catalog.Events(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, opened.Close(ctx))
	})
	bucket, err := opened.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(t, err)
	working, err := opened.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "AGENT_MESSAGES"})
	require.NoError(t, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte{7, 0x5a}, 16), Active: true}})
	require.NoError(t, err)
	now, data := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), &spy{Data: opened.Data}
	newID := func() string { return ulid.MustNew(ulid.Timestamp(now), ulid.DefaultEntropy()).String() }
	clock := func() time.Time { return now }
	return &Agents{
		o:     Options{Runtime: process("one"), Working: working, Now: clock, Settings: func() Settings { return Settings{} }, Log: slog.New(slog.DiscardHandler)},
		store: &store{data, vault.New(box, bucket), clock, newID}, running: map[string]*run{},
	}, data, &now
}

// beginForTest stores a conversation; one of earlier days is not in the index.
func (a *Agents) beginForTest(t *testing.T, agentID, owner, title string, indexed bool) *Conversation {
	t.Helper()
	c := &Conversation{ID: "cnv_" + a.store.newID(), AgentID: agentID, Owner: owner, Title: title, CreatedAt: a.store.now(), UpdatedAt: a.store.now()}
	if indexed {
		require.NoError(t, a.store.addToIndex(t.Context(), testWorkspace, c.address()))
	}
	require.NoError(t, a.store.save(t.Context(), testWorkspace, c))
	return c
}

func titlesOf(list []Listed) (titles []string) {
	for _, c := range list {
		titles = append(titles, c.Title)
	}
	return titles
}

// A page of conversations opens those that it shows, however many others there are.
func TestAPageOpensWhatItShows(t *testing.T) {
	t.Parallel()
	a, data, now := newTestAgents(t)
	ref, mine := Ref{WorkspaceID: testWorkspace, ID: "agt_1", Slug: "helper"}, &Caller{Caller: runtime.Caller{}, Owner: "user:me"}
	list := func(q ConversationQuery) ([]string, int) {
		t.Helper()
		data.opened.Store(0)
		data.listed.Store(0)
		page, total, err := a.Conversations(t.Context(), ref, q, mine)
		require.NoError(t, err)
		return titlesOf(page), total
	}
	old := a.beginForTest(t, "agt_1", "user:me", "from earlier days", false)
	for i := range 6 {
		*now = now.Add(time.Second)
		a.beginForTest(t, "agt_1", "user:me", fmt.Sprintf("mine %d", i), true)
		a.beginForTest(t, "agt_1", "user:other", fmt.Sprintf("theirs %d", i), true)
		a.beginForTest(t, "agt_2", "user:me", "with another agent", true)
	}
	page, total := list(ConversationQuery{Limit: 2})
	require.Equal(t, []string{"mine 5", "mine 4"}, page)
	require.Equal(t, []int{7, 2}, []int{total, int(data.opened.Load())}, "that from earlier days counts")
	page, _ = list(ConversationQuery{Offset: 5, Limit: 5})
	require.Equal(t, []string{"mine 0", "from earlier days"}, page)
	require.Equal(t, []int64{2, 7}, []int64{data.opened.Load(), data.listed.Load()}, "no names of others are read")
	page, total = list(ConversationQuery{Search: "mine", Offset: 1, Limit: 1})
	require.Equal(t, []string{"mine 4"}, page)
	require.Equal(t, 6, total)
	page, total = list(ConversationQuery{All: true, Offset: 1, Limit: 2})
	require.Len(t, page, 2)
	require.Equal(t, []int{13, 2}, []int{total, int(data.opened.Load())})

	t.Log("who manages the agent finds those of others by their ids alone")
	theirs := a.beginForTest(t, "agt_1", "user:other", "one more", true)
	data.listed.Store(0)
	at, err := a.find(t.Context(), ref, theirs.ID, mine)
	require.NoError(t, err)
	require.Equal(t, theirs.address(), at)
	at, err = a.find(t.Context(), ref, old.ID, mine)
	require.NoError(t, err)
	require.Equal(t, old.address(), at)
	require.Zero(t, data.listed.Load())

	t.Log("what is erased leaves the index")
	require.NoError(t, a.Delete(t.Context(), ref, old.ID, mine))
	_, total = list(ConversationQuery{Limit: 1})
	require.Equal(t, 6, total)
	*now = now.Add(24 * time.Hour)
	a.beginForTest(t, "agt_1", "user:me", "the newest", true)
	*now = now.Add(time.Hour)
	require.NoError(t, a.store.sweep(t.Context(), 12*time.Hour))
	page, total = list(ConversationQuery{Limit: 10})
	require.Equal(t, []string{"the newest"}, page)
	require.Equal(t, 1, total)

	t.Log("an entry whose conversation was never stored is removed once it is old")
	lost := &Conversation{ID: "cnv_" + a.store.newID(), AgentID: "agt_1", Owner: "user:me"}
	require.NoError(t, a.store.addToIndex(t.Context(), testWorkspace, lost.address()))
	for _, listed := range []int{2, 2, 1} {
		page, _ = list(ConversationQuery{Limit: 10})
		require.Equal(t, []string{"the newest"}, page)
		require.EqualValues(t, listed, data.listed.Load())
		*now = now.Add(2 * time.Hour)
	}
}
