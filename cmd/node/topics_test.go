package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands"
	"svc/commands/signing"
)

// topics are the user topics of a service, as automations reach them.
func topics(t *testing.T, s *nodetest.Service) commands.Topics {
	t.Helper()
	engine, err := commands.NewEngine(commands.EngineOptions{Store: s.Node.Store().Log})
	require.NoError(t, err)
	return commands.Topics{Engine: engine}
}

// news is an event for a topic.
func news(name, topic string) string {
	return fmt.Sprintf(`{"type":%q,"target":{"userTopic":%q}}`, name, topic)
}

func TestEventsForATopicReachItsMembers(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p, topics := nodetest.NewOwnedWorkspace(t, s), topics(t, s)
	ann, eve := p.As(s.NewUser(t, "ann")), p.As(s.NewUser(t, "eve"))
	other := nodetest.Workspace{Service: s, Path: "", ID: s.Must(t, "POST", "/v2/workspaces", p.Auth, `{"name":"Other"}`)["id"].(string), Auth: p.Auth}
	other.Path = "/v2/workspaces/" + other.ID
	require.NoError(t, topics.Create(t.Context(), p.ID, "sales", []string{ann.UserID(t)}))
	require.NoError(t, topics.Join(t.Context(), p.ID, "north", []string{eve.UserID(t), ann.UserID(t)}, true))

	p.Emit(t, news("a", "sales")+","+news("b", "north")+","+news("c", "south")+`,{"type":"d"}`)
	other.Emit(t, news("e", "sales"))
	read := func(who nodetest.Workspace, at nodetest.Workspace) []string {
		return nodetest.TypesOf(at.As(who.Auth).ListEvents(t, "sort=asc").Result.Events)
	}
	require.Equal(t, []string{"a", "b"}, read(ann, p))
	require.Equal(t, []string{"b"}, read(eve, p))
	require.Empty(t, read(ann, other), "a topic of another workspace is another topic")
	p.As(nil).RequireRefusal(t, http.StatusUnauthorized, "missing_token", "GET", p.Path+"/events", "")
	require.Equal(t,
		[]string{"events.userTopics.created", "events.userTopics.created", "events.userTopics.joined", "events.userTopics.joined"},
		nodetest.TypesOf(p.ListEvents(t, "sort=asc&types=events.userTopics.*").Result.Events), "the owner is told of both")

	// Those who join later see what was sent before: it is for the topic.
	require.NoError(t, topics.Join(t.Context(), p.ID, "sales", []string{eve.UserID(t)}, false))
	require.Equal(t, []string{"a", "b"}, read(eve, p))
	joined := p.ListEvents(t, "types=events.userTopics.joined").Result.Events[0]
	require.Equal(t, map[string]any{"topic": "sales", "user": map[string]any{"id": eve.UserID(t)}}, joined.Payload)

	stream, socket := ann.Follow(t, p.Path+"/events/stream"), eve.OpenWebSocket(t, "", eve.Auth)
	require.Contains(t, socket.Receive(), "ready")
	p.Emit(t, news("f", "south")+","+news("g", "sales"))
	frames, _ := nodetest.ReadFrames(stream, 1)
	var e nodetest.Event
	require.NoError(t, json.Unmarshal([]byte(frames[0].Data), &e))
	require.Equal(t, "g", e.Type)
	require.Equal(t, "sales", e.Target["userTopic"])
	require.Equal(t, "g", nodetest.ObjectAt(socket.Receive(), "event")["type"])
}

func TestWhoJoinsATopicReceivesTheVeryNextEvent(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p, topics := nodetest.NewOwnedWorkspace(t, s), topics(t, s)
	ann := p.As(s.NewUser(t, "ann"))
	socket := ann.OpenWebSocket(t, "", ann.Auth)
	require.Contains(t, socket.Receive(), "ready")
	for _, name := range []string{"one", "two", "three"} {
		stream := ann.Follow(t, p.Path+"/events/stream")
		require.NoError(t, topics.Join(t.Context(), p.ID, name, []string{ann.UserID(t)}, true))
		p.Emit(t, news(name, name))
		frames, _ := nodetest.ReadFrames(stream, 1)
		var e nodetest.Event
		require.NoError(t, json.Unmarshal([]byte(frames[0].Data), &e))
		require.Equal(t, name, e.Type)
		require.Equal(t, name, nodetest.ObjectAt(socket.Receive(), "event")["type"])
	}
}

func TestEventsForAVisitorReachTheTokenOfTheirSession(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	const drawn = "2b0e6f1c-8f0a-4a0e-9f62-0d5d7f6f0a11"
	as := func(a signing.Acting) nodetest.Workspace {
		a.WorkspaceID = p.ID
		token, err := s.Node.SessionToken(t.Context(), a, 10*time.Second)
		require.NoError(t, err)
		return p.As(nodetest.Bearer(token))
	}
	p.Emit(t, `{"type":"for.them","target":{"sessionId":"`+drawn+`"}},{"type":"for.others","target":{"sessionId":"x"}}`)
	visitor := as(signing.Acting{UserID: drawn, SessionID: drawn, Visitor: true})
	require.Equal(t, []string{"for.them"}, nodetest.TypesOf(visitor.ListEvents(t, "").Result.Events))
	made, _ := visitor.Emit(t, `{"type":"clicked"}`)
	require.Equal(t, drawn, made[0].Source["sessionId"])
	require.Equal(t, []string{"for.them", "clicked"}, nodetest.TypesOf(visitor.ListEvents(t, "sort=asc").Result.Events))
	visitor.RequireRefusal(t, http.StatusUnauthorized, "missing_token", "GET", p.Path, "")

	// Whoever chooses the correlation id of a run does not choose a session with it.
	chosen := as(signing.Acting{SessionID: drawn, CorrelationID: drawn, Visitor: true})
	require.Empty(t, chosen.ListEvents(t, "").Result.Events)
}
