package jetstream

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/oklog/ulid/v2"
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
		require.Equal(t, domain.Recorded{ID: f.ID, Log: domain.State, Stream: c.Stream, Seq: 7, Group: 7, Meta: meta, Data: f.Event, Body: shown, Size: len(m.Data)}, got[0])
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
		require.JSONEq(t, `{"kept":2}`, string(got[0].Data.(domain.Unknown).Body))
	}
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
	require.Equal(t, "error", got[0].Data.EventType())
	require.JSONEq(t, `{"error":5,"details":"text"}`, string(got[0].Data.(domain.Unknown).Body))

	_, err = l.decode(domain.State, storedMessage{data: []byte(`{"type":"workspaces.created","payload":{"workspace":5}}`)})
	require.Error(t, err, "a fact that does not open is a fault")
}

func TestTokensKeepPlainTextAndEncodeTheRest(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"plain text stays":         {"Workspace_1-b", "Workspace_1-b"},
		"nothing is a token":       {"", "%"},
		"separators and wildcards": {"a.b*c>d e", "a%2Eb%2Ac%3Ed%20e"},
		"control characters":       {"\x00\r\n\t\x7f", "%00%0D%0A%09%7F"},
		"the escape itself":        {"%", "%25"},
		"bytes, not letters":       {"é", "%C3%A9"},
		"what is not UTF-8":        {"\xff", "%FF"},
		"the longest plain text":   {strings.Repeat("a", maxToken), strings.Repeat("a", maxToken)},
		"the longest odd text":     {strings.Repeat(" ", 85) + "a", strings.Repeat("%20", 85) + "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, token(test.text)) })
	}
}

func TestALongTextKeepsItsBeginningAndAHash(t *testing.T) {
	form := regexp.MustCompile(`^a{222}%%[0-9a-f]{32}$`)
	one, other := token(strings.Repeat("a", 300)), token(strings.Repeat("a", 300)+"b")
	require.Regexp(t, form, one)
	require.Regexp(t, form, other)
	require.NotEqual(t, one, other)
	require.Len(t, token(strings.Repeat("\n", 1<<20)), maxToken)
}

// anyText draws texts of every kind, long ones and those that differ little.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.StringMatching(`[a-b.%*> ]{0,4}`),
		rapid.StringMatching(`%[0-9A-F]{2}`),
		rapid.Map(rapid.IntRange(250, 260), func(n int) string { return strings.Repeat("x", n) }),
		rapid.Map(rapid.IntRange(84, 88), func(n int) string { return strings.Repeat("é ", n/2) }),
	)
}

// readBack undoes the encoding of a token that was not cut.
func readBack(t *rapid.T, tok string) string {
	if tok == "%" {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(tok); i++ {
		if tok[i] != '%' {
			b.WriteByte(tok[i])
			continue
		}
		if i+2 >= len(tok) {
			t.Fatalf("%q ends in the middle of a byte", tok)
		}
		const digits = "0123456789ABCDEF"
		b.WriteByte(byte(strings.IndexByte(digits, tok[i+1])<<4 | strings.IndexByte(digits, tok[i+2])))
		i += 2
	}
	return b.String()
}

func TestDifferentTextsHaveDifferentTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, other := anyText().Draw(t, "text"), anyText().Draw(t, "other")
		tok := token(text)
		if (tok == token(other)) != (text == other) {
			t.Fatalf("%q and %q are both %q", text, other, tok)
		}
		if !strings.Contains(tok, "%%") && readBack(t, tok) != text {
			t.Fatalf("%q became %q, which reads %q", text, tok, readBack(t, tok))
		}
	})
}

func TestDifferentAggregatesShareNoSubject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) domain.StreamID {
			return domain.StreamID{Scope: anyText().Draw(t, name), Kind: anyText().Draw(t, name), ID: anyText().Draw(t, name)}
		}
		one, other := draw("one"), draw("other")
		if rapid.Bool().Draw(t, "alike") {
			other.Scope, other.Kind = one.Scope, one.Kind
		}
		root := aggregateRoot(other)
		if one != other && strings.HasPrefix(subjectOf(domain.State, one, anyText().Draw(t, "type")), root) {
			t.Fatalf("an event of %q is below %q", one, root)
		}
	})
}

func TestEverySubjectIsOneForTheBroker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := domain.StreamID{Scope: anyText().Draw(t, "scope"), Kind: anyText().Draw(t, "kind"), ID: anyText().Draw(t, "id")}
		checkSubjects(t, id, strings.Repeat(anyText().Draw(t, "type"), rapid.IntRange(1, 50).Draw(t, "times")))
	})
}

// fatal is what a test and a property have in common.
type fatal interface {
	Fatalf(format string, args ...any)
}

// checkSubjects asks the broker's own judgement of every subject that texts of
// users become part of, and that it fits a broker with default settings.
func checkSubjects(t fatal, id domain.StreamID, eventType string) {
	const maxLine = 4096 - 256 // less the reply subject and the sizes
	subjects := []string{
		subjectOf(domain.State, id, eventType), subjectOf(domain.Activity, id, eventType),
		dataSubject(id), payloadSubject(id.Scope, id.ID),
	}
	for _, subject := range subjects {
		if !server.IsValidLiteralSubject(subject) || strings.ContainsAny(subject, " \t\r\n\x00") || len(subject) > maxLine {
			t.Fatalf("%q is no subject", subject)
		}
	}
	if filter := aggregateFilter(id); !server.IsValidSubject(filter) || !server.SubjectMatchesFilter(subjects[0], filter) {
		t.Fatalf("%q does not find %q", filter, subjects[0])
	}
	if !server.SubjectMatchesFilter(subjects[1], activityRoot+">") {
		t.Fatalf("%q is outside its stream", subjects[1])
	}
	if key := bucketKey(eventType); !regexp.MustCompile(`^[-/_=.a-zA-Z0-9]+$`).MatchString(key) {
		t.Fatalf("%q is no key of a bucket", key)
	}
}

func FuzzSubjects(f *testing.F) {
	f.Add("w1", "workspace", "w1", "workspaces.created")
	f.Add("", "", "", "")
	f.Add("*", ">", "$JS.API", "a..b. .*.>")
	f.Add(strings.Repeat("a", 256), strings.Repeat("a", 257), "\xff\x00\n", strings.Repeat(".", 9000))
	f.Fuzz(func(t *testing.T, scope, kind, id, eventType string) {
		checkSubjects(t, domain.StreamID{Scope: scope, Kind: kind, ID: id}, eventType)
		if token(scope) == token(kind) && scope != kind {
			t.Fatalf("%q and %q are both %q", scope, kind, token(scope))
		}
	})
}

// What users call their events becomes a subject only token by token, encoded.
func TestTheNamesOfEmittedEventsReachNoSubjectAsTheyAre(t *testing.T) {
	t.Parallel()
	s := openHere(t, Options{})
	for name, want := range map[string]string{
		"order.paid":                "order.paid",
		"a..b":                      "a.%.b",
		".a":                        "%.a",
		"a.":                        "a.%",
		"a b":                       "a%20b",
		"a.*":                       "a.%2A",
		"a.>":                       "a.%3E",
		"$JS.API.x":                 "%24JS.API.x",
		"a\r\nb":                    "a%0D%0Ab",
		strings.Repeat("n", 200):    strings.Repeat("n", 200),
		strings.Repeat(" ", 200):    token(strings.Repeat(" ", 200)),
		strings.Repeat("n", 10<<10): token(strings.Repeat("n", 10<<10)),
		strings.Repeat("*.", 5<<10): typeTokens(strings.Repeat("*.", 5<<10)),
	} {
		receipt, err := s.Log.Append(t.Context(), eventstore.Commit{
			Stream: domain.StreamID{Scope: "w1"},
			Facts:  []eventstore.Fact{{ID: ulid.Make().String(), Event: domain.Unknown{Name: name, Body: json.RawMessage(`{}`)}}},
		})
		require.NoError(t, err, "%q", name)
		stream, err := s.conn.js.Stream(t.Context(), string(domain.Activity))
		require.NoError(t, err)
		stored, err := stream.GetMsg(t.Context(), s.Log.numbering(domain.Activity).message(receipt.Seqs[0]))
		require.NoError(t, err)
		require.Equal(t, "svc.activity.w1."+want, stored.Subject)
		ev, _, err := s.Log.Read(t.Context(), domain.Activity, receipt.Seqs[0])
		require.NoError(t, err)
		require.Equal(t, name, ev.Data.EventType(), "the envelope has the truth")
	}
}
