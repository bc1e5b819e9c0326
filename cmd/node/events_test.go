package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
)

// shownEvent is an event as the API shows it.
type shownEvent struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	CreatedAt string         `json:"createdAt"`
	Seq       string         `json:"seq"`
	Size      int            `json:"size"`
	Payload   map[string]any `json:"payload"`
	Source    map[string]any `json:"source"`
	Target    map[string]any `json:"target"`
	Options   map[string]any `json:"options"`
}

// emits sends events and returns them as they were answered.
func (p place) emits(t *testing.T, events string, headers ...string) (made []shownEvent, got answer) {
	t.Helper()
	got = p.does(t, http.StatusCreated, "POST", p.path+"/events", `{"events":[`+events+`]}`, headers...)
	require.NoError(t, json.Unmarshal(got.body, &made), "%s", got.body)
	return made, got
}

// activityOf returns what the log has of a workspace that is no state.
func (s *service) activityOf(t *testing.T, workspaceID string) (events []domain.Recorded) {
	t.Helper()
	info, err := s.node.Store().Info(t.Context(), domain.Activity)
	require.NoError(t, err)
	for seq := info.First; seq <= info.Last; seq++ {
		ev, ok, err := s.node.Store().Read(t.Context(), domain.Activity, seq)
		require.NoError(t, err)
		if ok && ev.Stream.Scope == workspaceID {
			events = append(events, ev)
		}
	}
	return events
}

// emitted lists the types of what users emitted in a workspace.
func (s *service) emitted(t *testing.T, workspaceID string) (types []string) {
	t.Helper()
	for _, ev := range s.activityOf(t, workspaceID) {
		if ev.Meta.ServiceTopic == "topic:runtime:emit" {
			types = append(types, ev.Data.EventType())
		}
	}
	return types
}

func TestEventsAreEmitted(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	made, got := p.emits(t, `{"type":"order.paid","payload":{"id":7,"note":"<é>"}},
		{"type":"order.shipped","target":{"userId":"u2","currentSocket":true},"options":{"aggPayload":true}}`)

	require.Len(t, made, 2)
	first, second := made[0], made[1]
	require.Equal(t, "order.paid", first.Type)
	require.Equal(t, map[string]any{"id": 7.0, "note": "<é>"}, first.Payload)
	require.Equal(t, map[string]any{}, second.Payload)
	require.Equal(t, map[string]any{"userId": "u2", "currentSocket": true}, second.Target)
	require.Equal(t, true, second.Options["aggPayload"])
	require.Equal(t, p.path+"/events/"+first.ID, got.Header.Get("Location"))
	require.Equal(t, p.id, first.Source["workspaceId"])
	require.Equal(t, p.userID(t), first.Source["userId"])
	require.Equal(t, got.Header.Get("X-Svc-Session-Id"), first.Source["sessionId"])
	require.Equal(t, got.Header.Get("X-Correlation-Id"), first.Source["correlationId"])
	require.Equal(t, "topic:runtime:emit", first.Source["serviceTopic"])
	require.Equal(t, "POST", first.Source["http"].(map[string]any)["method"])
	require.Positive(t, first.Size)

	kept := s.activityOf(t, p.id)
	require.Len(t, kept, 2)
	require.Equal(t, kept[0].Seq+1, kept[1].Seq, "one append")
	for i, ev := range kept {
		require.Equal(t, made[i].ID, ev.ID)
		require.Equal(t, made[i].CreatedAt, ev.At.UTC().Format(domain.Timestamp), "the time of the log")
		at, err := domain.ParsePosition(made[i].Seq)
		require.NoError(t, err)
		require.Equal(t, ev.Seq, at.Activity)
		require.NotZero(t, at.State, "the workspace was made before")
	}
	written, err := domain.ParsePosition(got.Header.Get("X-Svc-Seq"))
	require.NoError(t, err)
	require.Equal(t, kept[1].Seq, written.Activity)

	var answered []json.RawMessage
	require.NoError(t, json.Unmarshal(got.body, &answered))
	for i, ev := range made {
		require.Equal(t, strings.TrimSpace(string(p.does(t, 200, "GET", p.path+"/events/"+ev.ID, "").body)), string(answered[i]), "what was answered is what is read")
	}

	token := strings.TrimPrefix(p.me.Get("Authorization"), "Bearer ")
	require.NotContains(t, string(got.body), token)
	require.NotContains(t, s.log.String(), token)
}

// Whatever is wrong is told by its place, and nothing of the batch is recorded.
func TestWhatIsNoEventIsNotEmitted(t *testing.T) {
	t.Parallel()
	s := identified(t, "BROKER_EMIT_MAXLEN=1000").start(t)
	p := ownedPlace(t, s)
	with := func(event string) string { return `{"events":[{"type":"fine"},` + event + `]}` }
	deep := strings.Repeat(`{"a":`, 62) + `1` + strings.Repeat(`}`, 62)
	for name, test := range map[string]struct {
		body   string
		status int
		code   string
		field  string
	}{
		"nothing":                   {`{}`, 400, "missing_parameter", "events"},
		"no events":                 {`{"events":[]}`, 422, "validation_failed", "events"},
		"null events":               {`{"events":null}`, 400, "missing_parameter", "events"},
		"too many":                  {`{"events":[` + strings.TrimSuffix(strings.Repeat(`{"type":"a"},`, 101), ",") + `]}`, 422, "validation_failed", "events"},
		"no list":                   {`{"events":{"type":"a"}}`, 400, "invalid_request", "events"},
		"no type":                   {with(`{"payload":{}}`), 400, "missing_parameter", "events[1].type"},
		"a type of another kind":    {with(`{"type":5}`), 400, "invalid_request", ""},
		"wildcards":                 {with(`{"type":"a.*"}`), 422, "validation_failed", "events[1].type"},
		"an empty type":             {with(`{"type":""}`), 422, "validation_failed", "events[1].type"},
		"a type of 10 KB":           {with(`{"type":"` + strings.Repeat("n", 10<<10) + `"}`), 422, "validation_failed", "events[1].type"},
		"a list for a payload":      {with(`{"type":"a","payload":[1]}`), 422, "validation_failed", "events[1].payload"},
		"a text for a payload":      {with(`{"type":"a","payload":"x"}`), 422, "validation_failed", "events[1].payload"},
		"a number beyond all":       {with(`{"type":"a","payload":{"n":1e999}}`), 422, "validation_failed", "events[1].payload"},
		"usage of nothing":          {with(`{"type":"shop.usage","payload":{}}`), 422, "validation_failed", "events[1].payload.metrics"},
		"an error that is none":     {with(`{"type":"error","payload":{"error":1,"message":"m"}}`), 422, "validation_failed", "events[1].payload.error"},
		"an unknown field":          {with(`{"type":"a","source":{"userId":"root"}}`), 400, "invalid_request", "events[1].source"},
		"an unknown target":         {with(`{"type":"a","target":{"userIds":[]}}`), 400, "invalid_request", "events[1].target.userIds"},
		"an unknown option":         {with(`{"type":"a","options":{"presist":false}}`), 400, "invalid_request", "events[1].options.presist"},
		"a key given twice":         {with(`{"type":"a","payload":{"b":1,"b":2}}`), 400, "invalid_request", "events[1].payload.b"},
		"a target of two lines":     {with(`{"type":"a","target":{"userTopic":"a\nb"}}`), 422, "validation_failed", "events[1].target.userTopic"},
		"too deep":                  {with(`{"type":"a","payload":` + deep + `}`), 400, "invalid_request", "events[1].payload" + strings.Repeat(".a", 41) + ".…"},
		"no JSON":                   {`{"events":[{"type":"a"`, 400, "invalid_request", ""},
		"half a surrogate":          {with(`{"type":"a","payload":{"x":"\ud800"}}`), 400, "invalid_request", "events[1].payload.x"},
		"larger than a body may be": {with(`{"type":"a","payload":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`), 413, "invalid_request", ""},
	} {
		details := p.refuses(t, test.status, test.code, "POST", p.path+"/events", test.body)
		if test.field != "" {
			require.Contains(t, faults(details), `"`+test.field+`"`, name)
		}
	}
	for _, native := range []string{"workspaces.created", "runtime.automations.executed", "runtime.contexts.updated", "gateway.login.succeeded", "log.sealed", "workspaces.operations.ended"} {
		details := p.refuses(t, 422, "validation_failed", "POST", p.path+"/events", with(`{"type":"`+native+`"}`))
		require.Equal(t, "native_type", details["reason"], native)
		require.Contains(t, faults(details), `"events[1].type"`)
	}
	large := p.refuses(t, 413, "invalid_request", "POST", p.path+"/events", with(`{"type":"big","payload":{"a":"`+strings.Repeat("é", 993)+`"}}`))
	require.Equal(t, map[string]any{"reason": "event_too_large", "eventType": "big", "length": 1001.0, "limit": 1000.0}, large)
	p.does(t, 415, "POST", p.path+"/events", `events: []`, "Content-Type", yamlType)
	require.Empty(t, s.emitted(t, p.id))

	p.emits(t, `{"type":"big","payload":{ "a" : "`+strings.Repeat("é", 992)+`"}}`)
	require.Equal(t, []string{"big"}, s.emitted(t, p.id))
}

// The error that a refusal is recorded as is no larger than an event may be.
func TestTheRecordOfALongRefusalIsCut(t *testing.T) {
	t.Parallel()
	s := identified(t, "BROKER_EMIT_MAXLEN=1000").start(t)
	p := ownedPlace(t, s)
	p.refuses(t, 422, "validation_failed", "POST", p.path+"/events", `{"events":[`+strings.TrimSuffix(strings.Repeat(`{"type":"*"},`, 100), ",")+`]}`)
	var failure activity.Failure
	require.Eventually(t, func() bool {
		for _, ev := range s.activityOf(t, p.id) {
			failure, _ = ev.Data.(activity.Failure)
		}
		return failure.Error != ""
	}, 20*time.Second, 10*time.Millisecond)
	require.True(t, failure.Truncated)
	require.Equal(t, "validation_failed", failure.Error)
	require.NotEmpty(t, failure.Details["errors"])
	body, err := json.Marshal(failure)
	require.NoError(t, err)
	require.LessOrEqual(t, len(body), 1000)
}

func TestARepeatedEmissionIsOne(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	first, _ := p.emits(t, `{"type":"a"},{"type":"b"}`, "Idempotency-Key", "once")
	again, got := p.emits(t, `{"type":"a"},{"type":"b"}`, "Idempotency-Key", "once")
	require.Equal(t, first, again)
	require.Equal(t, "true", got.Header.Get("Idempotency-Replayed"))
	require.Equal(t, []string{"a", "b"}, s.emitted(t, p.id))
	require.Equal(t, "idempotency_key_reused", p.refuses(t, 409, "resource_conflict", "POST", p.path+"/events", `{"events":[{"type":"c"}]}`, "Idempotency-Key", "once")["reason"])
}

func TestWhatIsNotPersistedIsNotKept(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	kept, _ := p.emits(t, `{"type":"kept"}`)
	made, got := p.emits(t, `{"type":"typing","options":{"persist":false}},{"type":"kept"},{"type":"typing","options":{"persist":false}}`)
	require.Equal(t, false, made[0].Options["persist"])
	require.Equal(t, p.path+"/events/"+made[1].ID, got.Header.Get("Location"))
	for _, ev := range made {
		at, err := domain.ParsePosition(ev.Seq)
		require.NoError(t, err)
		require.NotZero(t, at.State)
		require.NotZero(t, at.Activity)
	}
	require.NotEqual(t, kept[0].Seq, made[1].Seq)
	_, got = p.emits(t, `{"type":"typing","options":{"persist":false}}`)
	require.Empty(t, got.Header.Get("Location"))
	require.Equal(t, []string{"kept", "kept"}, s.emitted(t, p.id))
}

// Whatever may be emitted, the read models go on: what they cannot open they would stop
// at.
func TestTheReadModelsSurviveWhatIsEmitted(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	types := []string{"a..b", ".a", "a.", " a ", "...", strings.Repeat("n", 200), strings.Repeat(".", 200), "names.mine"}
	var events []string
	for _, name := range types {
		events = append(events, fmt.Sprintf(`{"type":%q,"payload":{"":{"\u0000":[null]}}}`, name))
	}
	events = append(events,
		`{"type":"error","payload":{"error":"E","message":"m","details":{"x":1},"level":"fatal"}}`,
		`{"type":"shop.error","payload":{"error":1}}`,
		`{"type":"usage","payload":{"metrics":{"n":{"value":1e300,"action":"set"}}}}`)
	p.emits(t, strings.Join(events, ","))
	require.Equal(t, append(types, "error", "shop.error", "usage"), s.emitted(t, p.id))
	p.does(t, 200, "GET", p.path, "")
	s.await(t, "/readyz", http.StatusOK)
	require.True(t, s.node.Models().Health().OK())
}
