package events_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/activity"
)

func TestEventsAreEmitted(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	made, got := p.Emit(t, `{"type":"order.paid","payload":{"id":7,"note":"<é>"}},
		{"type":"order.shipped","target":{"userId":"u2","currentSocket":true},"options":{"aggPayload":true}}`)

	require.Len(t, made, 2)
	first, second := made[0], made[1]
	require.Equal(t, "order.paid", first.Type)
	require.Equal(t, map[string]any{"id": 7.0, "note": "<é>"}, first.Payload)
	require.Equal(t, map[string]any{}, second.Payload)
	require.Equal(t, map[string]any{"userId": "u2", "currentSocket": true}, second.Target)
	require.Equal(t, true, second.Options["aggPayload"])
	require.Equal(t, p.Path+"/events/"+first.ID, got.Header.Get("Location"))
	require.Equal(t, p.ID, first.Source["workspaceId"])
	require.Equal(t, p.UserID(t), first.Source["userId"])
	require.Equal(t, got.Header.Get("X-Svc-Session-Id"), first.Source["sessionId"])
	require.Equal(t, got.Header.Get("X-Correlation-Id"), first.Source["correlationId"])
	require.Equal(t, "topic:runtime:emit", first.Source["serviceTopic"])
	require.Equal(t, "POST", first.Source["http"].(map[string]any)["method"])
	require.Positive(t, first.Size)

	kept := s.Activity(t, p.ID)
	require.Len(t, kept, 2)
	require.Equal(t, kept[0].Seq+1, kept[1].Seq, "one append")
	for i, ev := range kept {
		require.Equal(t, made[i].ID, ev.ID)
		require.Equal(t, made[i].CreatedAt, domain.FormatTime(ev.At), "the time of the log")
		at, err := domain.ParsePosition(made[i].Seq)
		require.NoError(t, err)
		require.Equal(t, ev.Seq, at.Activity)
		require.NotZero(t, at.State, "the workspace was made before")
	}
	written, err := domain.ParsePosition(got.Header.Get("X-Svc-Seq"))
	require.NoError(t, err)
	require.Equal(t, kept[1].Seq, written.Activity)

	var answered []json.RawMessage
	require.NoError(t, json.Unmarshal(got.Body, &answered))
	for i, ev := range made {
		require.Equal(t, strings.TrimSpace(string(p.Do(t, 200, "GET", p.Path+"/events/"+ev.ID, "").Body)), string(answered[i]), "what was answered is what is read")
	}

	token := strings.TrimPrefix(p.Auth.Get("Authorization"), "Bearer ")
	require.NotContains(t, string(got.Body), token)
	require.NotContains(t, s.Log.String(), token)
}

// Whatever is wrong is told by its place, and nothing of the batch is recorded.
func TestWhatIsNoEventIsNotEmitted(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "BROKER_EMIT_MAXLEN=1000").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
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
		details := p.RequireRefusal(t, test.status, test.code, "POST", p.Path+"/events", test.body)
		if test.field != "" {
			require.Contains(t, nodetest.Faults(details), `"`+test.field+`"`, name)
		}
	}
	for _, native := range []string{"workspaces.created", "runtime.automations.executed", "runtime.contexts.updated", "gateway.login.succeeded", "log.sealed", "workspaces.operations.ended"} {
		details := p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/events", with(`{"type":"`+native+`"}`))
		require.Equal(t, "native_type", details["reason"], native)
		require.Contains(t, nodetest.Faults(details), `"events[1].type"`)
	}
	large := p.RequireRefusal(t, 413, "invalid_request", "POST", p.Path+"/events", with(`{"type":"big","payload":{"a":"`+strings.Repeat("é", 993)+`"}}`))
	require.Equal(t, map[string]any{"reason": "event_too_large", "eventType": "big", "length": 1001.0, "limit": 1000.0}, large)
	p.Do(t, 415, "POST", p.Path+"/events", `events: []`, "Content-Type", nodetest.YAMLType)
	require.Empty(t, s.EmittedTypes(t, p.ID))

	p.Emit(t, `{"type":"big","payload":{ "a" : "`+strings.Repeat("é", 992)+`"}}`)
	require.Equal(t, []string{"big"}, s.EmittedTypes(t, p.ID))
}

// The error that a refusal is recorded as is no larger than an event may be.
func TestTheRecordOfALongRefusalIsCut(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "BROKER_EMIT_MAXLEN=1000").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/events", `{"events":[`+strings.TrimSuffix(strings.Repeat(`{"type":"*"},`, 100), ",")+`]}`)
	var failure activity.Failure
	require.Eventually(t, func() bool {
		for _, ev := range s.Activity(t, p.ID) {
			failure, _ = ev.Data.(activity.Failure)
		}
		return failure.Error != ""
	}, time.Minute, 10*time.Millisecond)
	require.True(t, failure.Truncated)
	require.Equal(t, "validation_failed", failure.Error)
	require.NotEmpty(t, failure.Details["errors"])
	body, err := json.Marshal(failure)
	require.NoError(t, err)
	require.LessOrEqual(t, len(body), 1000)
}

func TestARepeatedEmissionIsOne(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	first, _ := p.Emit(t, `{"type":"a"},{"type":"b"}`, "Idempotency-Key", "once")
	again, got := p.Emit(t, `{"type":"a"},{"type":"b"}`, "Idempotency-Key", "once")
	require.Equal(t, first, again)
	require.Equal(t, "true", got.Header.Get("Idempotency-Replayed"))
	require.Equal(t, []string{"a", "b"}, s.EmittedTypes(t, p.ID))
	require.Equal(t, "idempotency_key_reused", p.RequireRefusal(t, 409, "resource_conflict", "POST", p.Path+"/events", `{"events":[{"type":"c"}]}`, "Idempotency-Key", "once")["reason"])
}

func TestWhatIsNotPersistedIsNotKept(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	kept, _ := p.Emit(t, `{"type":"kept"}`)
	made, got := p.Emit(t, `{"type":"typing","options":{"persist":false}},{"type":"kept"},{"type":"typing","options":{"persist":false}}`)
	require.Equal(t, false, made[0].Options["persist"])
	require.Equal(t, p.Path+"/events/"+made[1].ID, got.Header.Get("Location"))
	for _, ev := range made {
		at, err := domain.ParsePosition(ev.Seq)
		require.NoError(t, err)
		require.NotZero(t, at.State)
		require.NotZero(t, at.Activity)
	}
	require.NotEqual(t, kept[0].Seq, made[1].Seq)
	_, got = p.Emit(t, `{"type":"typing","options":{"persist":false}}`)
	require.Empty(t, got.Header.Get("Location"))
	require.Equal(t, []string{"kept", "kept"}, s.EmittedTypes(t, p.ID))
}

// Whatever may be emitted, the read models go on: what they cannot open they would stop
// at.
func TestTheReadModelsSurviveWhatIsEmitted(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	types := []string{"a..b", ".a", "a.", " a ", "...", strings.Repeat("n", 200), strings.Repeat(".", 200), "names.mine"}
	var events []string
	for _, name := range types {
		events = append(events, fmt.Sprintf(`{"type":%q,"payload":{"":{"\u0000":[null]}}}`, name))
	}
	events = append(events,
		`{"type":"error","payload":{"error":"E","message":"m","details":{"x":1},"level":"fatal"}}`,
		`{"type":"shop.error","payload":{"error":1}}`,
		`{"type":"usage","payload":{"metrics":{"n":{"value":1e300,"action":"set"}}}}`)
	p.Emit(t, strings.Join(events, ","))
	require.Equal(t, append(types, "error", "shop.error", "usage"), s.EmittedTypes(t, p.ID))
	p.Do(t, 200, "GET", p.Path, "")
	s.Await(t, "/readyz", http.StatusOK)
	require.True(t, s.Node.Models().Health().OK())
}
