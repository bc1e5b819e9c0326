package agents

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/commands/llm"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/activity"
)

// process is the node that works on a message.
type process string

func (process) Launch(runtime.Start) *runtime.Handle { return nil }
func (p process) CurrentProcess() string             { return string(p) }
func (process) Cancel(string, string) int            { return 0 }

// beginAnswer stores a conversation whose message is answered by a process.
func (a *Agents) beginAnswer(t *testing.T, process string) *Conversation {
	t.Helper()
	c := a.beginForTest(t, "agt_1", "user:me", "the first title", true)
	c.Messages = []Message{{ID: "msg_1", Role: "assistant", Status: Running, Usage: llm.Usage{PromptTokens: 3}}}
	c.Work = &work{MessageID: "msg_1", Process: process}
	require.NoError(t, a.store.save(t.Context(), testWorkspace, c))
	return c
}

// runOf is the work of this node on the message of a conversation, as it is stored.
func (a *Agents) runOf(t *testing.T, c *Conversation) *run {
	t.Helper()
	loaded, err := a.store.load(t.Context(), testWorkspace, c.address())
	require.NoError(t, err)
	return &run{Agents: a, ref: Ref{WorkspaceID: testWorkspace, Slug: "helper"}, c: loaded, story: newStory(0), process: loaded.Work.Process}
}

// A node that was paused while another took its message over changes nothing when it wakes; the other may be itself, which
// is known under another id since.
func TestALateResultIsDropped(t *testing.T) {
	t.Parallel()
	a, _, _ := newTestAgents(t)
	c := a.beginAnswer(t, "one")
	paused := a.runOf(t, c)
	_, err := a.store.change(t.Context(), testWorkspace, c.address(), func(c *Conversation) error {
		c.Title = "another title"
		return nil
	})
	require.NoError(t, err)
	paused.message().Text = "of the first step"
	require.NoError(t, paused.save(t.Context()), "a new title is no reason to stop")

	_, err = a.store.change(t.Context(), testWorkspace, c.address(), func(c *Conversation) error {
		c.Work.Process = "two"
		return nil
	})
	require.NoError(t, err)
	other := a.runOf(t, c)
	a.o.Runtime = process("two")
	paused.message().Text = "told too late"
	require.ErrorIs(t, paused.save(t.Context()), errLost)
	other.message().Text = "the answer"
	other.end(Completed, "stop", nil)
	require.NoError(t, other.save(t.Context()))
	paused.end(Failed, "", nil)
	require.ErrorIs(t, paused.save(t.Context()), errLost)

	stored, err := a.store.load(t.Context(), testWorkspace, c.address())
	require.NoError(t, err)
	require.Equal(t, []any{"another title", "the answer", Completed}, []any{stored.Title, stored.Messages[0].Text, stored.Messages[0].Status})
}

// What began before the other nodes took this one for lost is left: it would call functions beside those who go on with it.
func TestWorkOfAFormerProcessIsLeft(t *testing.T) {
	t.Parallel()
	a, _, _ := newTestAgents(t)
	before := a.runOf(t, a.beginAnswer(t, "one"))
	later := a.runOf(t, a.beginAnswer(t, "two"))
	ends := map[*run]context.Context{}
	for name, r := range map[string]*run{"before": before, "later": later} {
		ends[r], r.cancel = context.WithCancelCause(t.Context())
		a.running[name] = r
	}
	a.o.Runtime = process("two")
	a.leaveLost()
	require.ErrorIs(t, context.Cause(ends[before]), errLeft)
	require.NoError(t, ends[later].Err())
}

// Who reads along on a node that leaves a message to another one is told of its end, too.
func TestAMessageIsFollowedToItsEndOnAnotherNode(t *testing.T) {
	t.Parallel()
	a, _, _ := newTestAgents(t)
	c := a.beginAnswer(t, "one")
	left := a.runOf(t, c)
	left.story.add(frameMessage, started{"msg_1", c.ID})
	a.running["msg_1"] = left
	frames, followed := make(chan Frame), make(chan error, 1)
	go func() {
		followed <- a.Follow(t.Context(), testWorkspace, Found{address: c.address(), message: Message{ID: "msg_1"}}, 0, func(f Frame) error {
			frames <- f
			return nil
		})
	}()
	next := func() (f Frame) {
		select {
		case f = <-frames:
		case err := <-followed:
			require.Fail(t, "the story ended too early", "%v", err)
		}
		return f
	}
	require.Equal(t, frameMessage, next().Event)
	a.mu.Lock()
	delete(a.running, "msg_1")
	a.mu.Unlock()
	left.story.end()
	other := a.runOf(t, c)
	other.message().Text = "the answer"
	other.end(Completed, "stop", nil)
	require.NoError(t, other.save(t.Context()))
	require.Equal(t, Frame{2, frameDelta, json.RawMessage(`{"text":"the answer"}`)}, next())
	require.Equal(t, frameDone, next().Event)
	require.NoError(t, <-followed)
}

// A message of a conversation that is deleted meanwhile is told of, once, and nothing of it is stored.
func TestWhatAMessageOfADeletedConversationUsedIsCounted(t *testing.T) {
	t.Parallel()
	a, _, _ := newTestAgents(t)
	var recorded []domain.Event
	var used []activity.Usage
	a.o.Record = func(_ context.Context, _ string, ev domain.Event) error {
		recorded = append(recorded, ev)
		return nil
	}
	a.o.Used = func(_ context.Context, _ string, u activity.Usage) { used = append(used, u) }
	c := a.beginAnswer(t, "one")
	ref := Ref{WorkspaceID: testWorkspace, ID: "agt_1", Slug: "helper"}
	require.NoError(t, a.note(t.Context(), ref, c))
	r := a.runOf(t, c)
	require.NoError(t, a.store.data.Drop(t.Context(), conversationStream(testWorkspace, c.address()), 0))
	r.end(Cancelled, "", nil)
	require.ErrorIs(t, r.save(t.Context()), errDeleted)
	r.deleted(t.Context())
	r.deleted(t.Context())
	require.Len(t, recorded, 1)
	require.Equal(t, "cancelled", recorded[0].(activity.MessageCompleted).Status)
	require.Len(t, used, 1)
	require.Equal(t, activity.Increments(map[string]int{"agents.messages": 1, "tokens.prompt": 3}), used[0].Metrics)
	_, frames, _, err := a.store.entries(t.Context(), testWorkspace, "msg_1", 0)
	require.NoError(t, err)
	require.Empty(t, frames)
}

// A message is found as long as its conversation lives, also when the entry that leads there has expired.
func TestAnOldMessageOfALivingConversationIsFound(t *testing.T) {
	t.Parallel()
	const retention = 90 * 24 * time.Hour
	a, data, now := newTestAgents(t)
	a.o.Settings = func() Settings { return Settings{Retention: retention} }
	ref, mine := Ref{WorkspaceID: testWorkspace, ID: "agt_1", Slug: "helper"}, &Caller{Owner: "user:me"}
	c := a.beginForTest(t, "agt_1", "user:me", "long", true)
	c.Messages = []Message{{ID: "msg_" + a.store.newID(), Role: "user"}, {ID: "msg_" + a.store.newID(), Role: "assistant", Status: Completed, Text: "the answer"}}
	question, answer := c.Messages[0].ID, c.Messages[1].ID
	require.NoError(t, a.store.addEntry(t.Context(), testWorkspace, answer, a.pointerExpiry(), entry{Address: c.address()}))
	*now = now.Add(retention - time.Hour)
	a.beginForTest(t, "agt_1", "user:me", "began later", true)
	c.UpdatedAt = *now
	require.NoError(t, a.store.save(t.Context(), testWorkspace, c))
	*now = now.Add(2 * time.Hour)
	require.NoError(t, a.Sweep(t.Context()))
	for range 2 { // the second time its entry is there again
		found, err := a.Message(t.Context(), ref, answer, mine)
		require.NoError(t, err)
		require.Equal(t, "the answer", found.Message().Text)
	}
	for _, id := range []string{question, "msg_" + ulid.MustNew(ulid.Timestamp(now.Add(-retention)), nil).String(), "nonsense"} {
		_, err := a.Message(t.Context(), ref, id, mine)
		require.Equal(t, domain.CodeNotFound, domain.CodeOf(err), id)
	}
	_, err := a.Message(t.Context(), ref, answer, &Caller{Owner: "user:other"})
	require.Equal(t, domain.CodeNotFound, domain.CodeOf(err))
	data.opened.Store(0)
	_, err = a.Message(t.Context(), ref, "msg_"+a.store.newID(), mine)
	require.Equal(t, domain.CodeNotFound, domain.CodeOf(err))
	require.Zero(t, data.opened.Load(), "no conversation is opened for a message that would have its entry")
}

// Frames can be read again for an hour; after that the text comes as one delta.
func TestFramesOfAnHourAgoAreOneDelta(t *testing.T) {
	t.Parallel()
	a, _, now := newTestAgents(t)
	c := a.beginForTest(t, "agt_1", "user:me", "x", true)
	m := Message{ID: "msg_1", ConversationID: c.ID, Role: "assistant", Status: Completed, Text: "one two"}
	c.Messages = []Message{m}
	require.NoError(t, a.store.save(t.Context(), testWorkspace, c))
	s := newStory(0)
	s.add(frameMessage, started{m.ID, c.ID})
	s.add(frameDelta, delta{"one "})
	s.add(frameDelta, delta{"two"})
	s.addEnd(m)
	require.NoError(t, a.store.addEntry(t.Context(), testWorkspace, m.ID, now.Add(framesKept), entry{Frames: s.take()}))
	follow := func(after int) (events []string, text string) {
		t.Helper()
		require.NoError(t, a.Follow(t.Context(), testWorkspace, Found{c.address(), m}, after, func(f Frame) error {
			var piece delta
			require.NoError(t, json.Unmarshal(f.Data, &piece))
			if f.Event == frameDelta {
				text += piece.Text
			}
			events = append(events, f.Event)
			return nil
		}))
		return events, text
	}
	events, _ := follow(0)
	require.Equal(t, []string{frameMessage, frameDelta, frameDelta, frameDone}, events)
	*now = now.Add(framesKept + time.Second)
	require.NoError(t, a.Sweep(t.Context()))
	events, text := follow(0)
	require.Equal(t, []string{frameMessage, frameDelta, frameDone}, events)
	require.Equal(t, m.Text, text)
}
