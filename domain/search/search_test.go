package search_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/feed"
	"svc/domain/search"
)

// now is a Wednesday.
var now = time.Date(2026, 11, 18, 12, 30, 0, 0, time.UTC)

// shop are events of a workspace, the newest first.
var shop = []*feed.Event{
	event("8", "workspaces.updated", "2026-11-18T12:00:00Z", `{"workspace":{"name":"Shop"}}`, domain.Meta{UserID: "ada"}),
	event("7", "order.paid", "2026-11-18T11:30:00Z", `{"amount":42.5,"currency":"EUR","items":[{"name":"Pen","n":2},{"name":"Ink"}],"rush":true}`, domain.Meta{UserID: "bob", SessionID: "s1", CorrelationID: "c2"}),
	event("6", "order.paid", "2026-11-18T10:15:00Z", `{"amount":7,"currency":"USD","note":"Thank you very much"}`, domain.Meta{UserID: "ada", CorrelationID: "c1"}),
	event("5", "order.placed", "2026-11-18T10:00:00Z", `{"amount":7,"note":"very quick, thank you","due":"2026-12-01T00:00:00Z"}`, domain.Meta{UserID: "ada", CorrelationID: "c1"}),
	event("4", "runtime.automations.executed", "2026-11-17T23:59:59.999Z", `{"slug":"charge","duration":120,"error":{"error":"TimeoutError","message":"took too long"}}`, domain.Meta{AutomationSlug: "charge"}),
	event("3", "runtime.automations.executed", "2026-11-10T08:00:00Z", `{"slug":"charge","duration":80}`, domain.Meta{AutomationSlug: "charge"}),
	event("2", "error", "2026-10-31T22:30:00Z", `{"error":"validation_failed","message":"name: Is Too Long"}`, domain.Meta{HTTP: &domain.HTTPCause{Method: "POST", Path: "/v2/workspaces"}}),
	event("1", "workspaces.created", "2025-12-31T23:30:00Z", `{"workspace":{"name":"Shop"},"empty":{},"none":null,"zero":0,"text":"7","no":false}`, domain.Meta{UserID: "ada"}),
}

func event(id, kind, at, payload string, meta domain.Meta) *feed.Event {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		panic(err)
	}
	stored := domain.Recorded{
		ID: id, Log: domain.Activity, Stream: domain.StreamID{Scope: "w1"}, Seq: uint64(id[0] - '0'), At: t, Meta: meta,
		Data: domain.Unknown{Name: kind, Body: json.RawMessage(payload)}, Body: json.RawMessage(payload),
	}
	return feed.Of(stored, domain.At(domain.Activity, stored.Seq), stored.Body)
}

// types are the declared ones of the shop.
func types(t testing.TB) search.Types {
	t.Helper()
	events := document.MapOf()
	require.NoError(t, json.Unmarshal([]byte(`{"types":{
		"order.paid":{"schema":{"amount":{"type":"number"},"currency":{"type":"string"},"rush":{"type":["null","boolean"]},"items":{"type":"array","items":{"type":"object","properties":{"n":{"type":"string"}}}}}},
		"order.placed":{"schema":{"type":"object","properties":{"amount":{"type":"string"},"due":{"type":"string","format":"date-time"},"note":{"type":"number"}}}},
		"workspaces.created":{"schema":{"text":{"type":"integer"},"no":{"type":"string"},"none":{"type":"number"},"zero":{"type":"string","format":"date"},"workspace":{"type":"object","properties":{"name":{"type":"boolean"}}}}}
	}}`), events))
	return search.TypesOf(events)
}

func terms() search.Terms { return search.Terms{Now: now, Zones: time.LoadLocation} }

// parse reads a body of JSON.
func parse(t testing.TB, body string) (*search.Request, error) {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &m), body)
	return search.Parse(m, terms())
}

// run searches events, and holds the filter of the request to its word.
func run(t testing.TB, body string, events ...*feed.Event) search.Result {
	t.Helper()
	r, err := parse(t, body)
	require.NoError(t, err, body)
	result, err := collect(t, r, events)
	require.NoError(t, err, body)
	return result
}

func collect(t testing.TB, r *search.Request, events []*feed.Event) (search.Result, error) {
	t.Helper()
	if r.OldestFirst() {
		events = slices.Clone(events)
		slices.Reverse(events)
	}
	c, filter, known := search.NewCollector(r, nil), r.Filter(), types(t)
	for _, e := range events {
		doc := known.Doc(e)
		if !r.Match(doc) {
			continue
		}
		require.True(t, filter.Match(e), "the filter leaves out %s, which matches: %+v", e.ID, filter)
		more, err := c.Add(doc)
		if err != nil {
			return search.Result{}, err
		}
		if !more {
			break
		}
	}
	return c.Result()
}

// ids are those of the documents of an answer.
func ids(t testing.TB, r search.Result) (all string) {
	t.Helper()
	for _, body := range r.Documents {
		var doc struct{ ID string }
		require.NoError(t, json.Unmarshal(body, &doc))
		all += doc.ID
	}
	return all
}

// find returns the ids of what matches a query, in order.
func find(t testing.TB, query string) string {
	t.Helper()
	return ids(t, run(t, `{"query":`+query+`}`, shop...))
}

// faults are the fields that a refusal names.
func faults(t testing.TB, err error) (fields []string) {
	t.Helper()
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	for _, fault := range refusal.Details["errors"].([]domain.FieldError) {
		fields = append(fields, fault.Field)
	}
	return fields
}
