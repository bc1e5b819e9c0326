package jetstream

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/catalog"
	"svc/domain/workspace"
	"svc/eventstore"
)

// Whatever an event holds, it comes back as it was.
func TestEveryEnvelopeOpensAsItWasWritten(t *testing.T) {
	l := newLog(&connection{opts: Options{Events: catalog.Events()}})
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.String()
		meta := domain.Meta{
			UserID: word.Draw(t, "user"), SessionID: word.Draw(t, "session"), CorrelationID: word.Draw(t, "correlation"),
			TraceID: word.Draw(t, "trace"), IP: word.Draw(t, "ip"), SocketID: word.Draw(t, "socket"),
			AutomationSlug: word.Draw(t, "automation"), AutomationDepth: rapid.Int().Draw(t, "depth"), ExecutionID: word.Draw(t, "execution"),
			AppSlug: word.Draw(t, "app"), AppInstance: word.Draw(t, "instance"), AppDepth: rapid.Int().Draw(t, "appDepth"),
			ServiceTopic: word.Draw(t, "topic"), Host: domain.Host{Service: word.Draw(t, "service"), Replica: word.Draw(t, "replica")},
		}
		if rapid.Bool().Draw(t, "http") {
			meta.HTTP = &domain.HTTPCause{Method: word.Draw(t, "method"), Path: word.Draw(t, "path"), Hostname: word.Draw(t, "hostname")}
		}
		c := eventstore.Commit{Stream: domain.StreamID{Scope: word.Draw(t, "scope"), Kind: "workspace", ID: word.Draw(t, "id")}, Meta: meta}
		f := eventstore.Fact{ID: word.Draw(t, "eventId"), Event: workspace.Created{Workspace: workspace.Snapshot{
			ID: word.Draw(t, "w"), Settings: workspace.Settings{Name: word.Draw(t, "name"), Labels: rapid.SliceOfN(word, 1, 3).Draw(t, "labels")},
		}}}
		m, err := l.encode(c, f, time.Now())
		require.NoError(t, err)
		got, err := l.decode(domain.State, storedMessage{seq: 7, data: m.Data})
		require.NoError(t, err)
		shown, _, err := encodeBodies(f.Event)
		require.NoError(t, err)
		require.Equal(t, domain.Recorded{ID: f.ID, Log: domain.State, Stream: c.Stream, Seq: 7, Meta: meta, Data: f.Event, Body: shown, Size: len(m.Data)}, got)
	})
}

func TestDataStandsInForThePayload(t *testing.T) {
	l := newLog(&connection{opts: Options{Events: catalog.Events()}})
	for _, body := range []string{
		`{"type":"custom","payload":{"shown":1},"data":{"kept":2}}`,
		`{"data":{"kept":2},"type":"custom","payload":{"shown":1}}`,
	} {
		got, err := l.decode(domain.State, storedMessage{data: []byte(body)})
		require.NoError(t, err)
		require.JSONEq(t, `{"kept":2}`, string(got.Data.(domain.Unknown).Body))
	}
}

// members agrees with encoding/json on what an object is made of, and never
// reads past its end.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{"a":{"b":[1,"]}"]},"c":null }`, `{"a":"\""}`, `{"a"`, `{"a":}`, `[`, `{"a":1,}`, ` { "a" : true , "b" : "x" } `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := map[string]json.RawMessage{}
		err := visitMembers(data, func(key, value []byte) error {
			got[string(key)] = value
			return nil
		})
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) != nil || want == nil {
			return // what is inside a member is not members' to judge
		}
		require.NoError(t, err)
		for key, value := range want {
			if isPlainString([]byte(key)) {
				require.JSONEq(t, string(value), string(got[key]))
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	l := newLog(&connection{opts: Options{Events: catalog.Events()}})
	meta := domain.Meta{
		UserID: "507f1f77bcf86cd799439011", SessionID: "0b6f3d0e-9d1c-4c39-9a53-b2f6b7f5b8b1", CorrelationID: "0b6f3d0e-9d1c-4c39-9a53-b2f6b7f5b8b1",
		Host: domain.Host{Service: "workspaces", Replica: "n1"}, HTTP: &domain.HTTPCause{Method: "POST", Path: "/v2/workspaces", Hostname: "localhost"},
	}
	event := workspace.Created{Workspace: workspace.Snapshot{ID: "abcdefg", Settings: workspace.Settings{Name: "Some workspace", Labels: []string{"core", "shop"}}}}
	m, err := l.encode(eventstore.Commit{Stream: workspace.Stream("abcdefg"), Meta: meta}, eventstore.Fact{ID: "01M7EGMX05AW3VTJRWE8MAFA4H", Event: event}, time.Now())
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.decode(domain.State, storedMessage{seq: 1, data: m.Data}); err != nil {
			b.Fatal(err)
		}
	}
}

// What people record under one of our names is theirs, whatever it holds: nobody stops at it.
func TestActivityOfAnotherShapeIsSomebodysOwn(t *testing.T) {
	l := newLog(&connection{opts: Options{Events: catalog.Events()}})
	body := `{"type":"error","payload":{"error":5,"details":"text"}}`
	got, err := l.decode(domain.Activity, storedMessage{data: []byte(body)})
	require.NoError(t, err)
	require.Equal(t, "error", got.Data.EventType())
	require.JSONEq(t, `{"error":5,"details":"text"}`, string(got.Data.(domain.Unknown).Body))

	_, err = l.decode(domain.State, storedMessage{data: []byte(`{"type":"workspaces.created","payload":{"workspace":5}}`)})
	require.Error(t, err, "a fact that does not open is a fault")
}
