package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/signing"
)

// topics are the user topics of a service, as automations reach them.
func (s *service) topics(t *testing.T) commands.Topics {
	t.Helper()
	engine, err := commands.NewEngine(commands.EngineOptions{Store: s.node.Store()})
	require.NoError(t, err)
	return commands.Topics{Engine: engine}
}

// news is an event for a topic.
func news(name, topic string) string {
	return fmt.Sprintf(`{"type":%q,"target":{"userTopic":%q}}`, name, topic)
}

func TestEventsForATopicReachItsMembers(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p, topics := ownedPlace(t, s), s.topics(t)
	ann, eve := p.as(s.person(t, "ann")), p.as(s.person(t, "eve"))
	other := place{s, "", s.must(t, "POST", "/v2/workspaces", p.me, `{"name":"Other"}`)["id"].(string), p.me}
	other.path = "/v2/workspaces/" + other.id
	require.NoError(t, topics.Create(t.Context(), p.id, "sales", []string{ann.userID(t)}))
	require.NoError(t, topics.Join(t.Context(), p.id, "north", []string{eve.userID(t), ann.userID(t)}, true))

	p.emits(t, news("a", "sales")+","+news("b", "north")+","+news("c", "south")+`,{"type":"d"}`)
	other.emits(t, news("e", "sales"))
	read := func(who place, at place) []string { return typesOf(at.as(who.me).lists(t, "sort=asc").Result.Events) }
	require.Equal(t, []string{"a", "b"}, read(ann, p))
	require.Equal(t, []string{"b"}, read(eve, p))
	require.Empty(t, read(ann, other), "a topic of another workspace is another topic")
	p.as(nil).refuses(t, http.StatusUnauthorized, "missing_token", "GET", p.path+"/events", "")
	require.Equal(t,
		[]string{"events.userTopics.created", "events.userTopics.created", "events.userTopics.joined", "events.userTopics.joined"},
		typesOf(p.lists(t, "sort=asc&types=events.userTopics.*").Result.Events), "the owner is told of both")

	// Those who join later see what was sent before: it is for the topic.
	require.NoError(t, topics.Join(t.Context(), p.id, "sales", []string{eve.userID(t)}, false))
	require.Equal(t, []string{"a", "b"}, read(eve, p))
	joined := p.lists(t, "types=events.userTopics.joined").Result.Events[0]
	require.Equal(t, map[string]any{"topic": "sales", "user": map[string]any{"id": eve.userID(t)}}, joined.Payload)

	stream, socket := ann.follow(t, p.path+"/events/stream"), eve.plug(t, "", eve.me)
	require.Contains(t, socket.hears(), "ready")
	p.emits(t, news("f", "south")+","+news("g", "sales"))
	frames, _ := listen(stream, 1)
	var e shownEvent
	require.NoError(t, json.Unmarshal([]byte(frames[0].data), &e))
	require.Equal(t, "g", e.Type)
	require.Equal(t, "sales", e.Target["userTopic"])
	require.Equal(t, "g", inner(socket.hears(), "event")["type"])
}

func TestWhoJoinsATopicReceivesTheVeryNextEvent(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p, topics := ownedPlace(t, s), s.topics(t)
	ann := p.as(s.person(t, "ann"))
	socket := ann.plug(t, "", ann.me)
	require.Contains(t, socket.hears(), "ready")
	for _, name := range []string{"one", "two", "three"} {
		stream := ann.follow(t, p.path+"/events/stream")
		require.NoError(t, topics.Join(t.Context(), p.id, name, []string{ann.userID(t)}, true))
		p.emits(t, news(name, name))
		frames, _ := listen(stream, 1)
		var e shownEvent
		require.NoError(t, json.Unmarshal([]byte(frames[0].data), &e))
		require.Equal(t, name, e.Type)
		require.Equal(t, name, inner(socket.hears(), "event")["type"])
	}
}

func TestEventsForAVisitorReachTheTokenOfTheirSession(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	const drawn = "2b0e6f1c-8f0a-4a0e-9f62-0d5d7f6f0a11"
	as := func(a signing.Acting) place {
		a.WorkspaceID = p.id
		token, err := s.node.SessionToken(t.Context(), a, 10*time.Second)
		require.NoError(t, err)
		return p.as(bearer(token))
	}
	p.emits(t, `{"type":"for.them","target":{"sessionId":"`+drawn+`"}},{"type":"for.others","target":{"sessionId":"x"}}`)
	visitor := as(signing.Acting{UserID: drawn, SessionID: drawn, Visitor: true})
	require.Equal(t, []string{"for.them"}, typesOf(visitor.lists(t, "").Result.Events))
	made, _ := visitor.emits(t, `{"type":"clicked"}`)
	require.Equal(t, drawn, made[0].Source["sessionId"])
	require.Equal(t, []string{"for.them", "clicked"}, typesOf(visitor.lists(t, "sort=asc").Result.Events))
	visitor.refuses(t, http.StatusUnauthorized, "missing_token", "GET", p.path, "")

	// Whoever chooses the correlation id of a run does not choose a session with it.
	chosen := as(signing.Acting{SessionID: drawn, CorrelationID: drawn, Visitor: true})
	require.Empty(t, chosen.lists(t, "").Result.Events)
}
