package node_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/streams"
)

// cleans runs a cleanup job as the platform itself does.
func (s *service) cleans(t *testing.T, job, body string) activity.Cleaned {
	t.Helper()
	got := place{s: s, me: asInternal}.does(t, 200, "POST", "/sys/cleanup/"+job, body)
	var done activity.Cleaned
	require.NoError(t, json.Unmarshal(got.body, &done))
	require.Empty(t, done.Errors, "%s", got.body)
	return done
}

func (s *service) infoOf(t *testing.T, log domain.Log) eventstore.Info {
	t.Helper()
	info, err := s.node.Store().Info(t.Context(), log)
	require.NoError(t, err)
	return info
}

func TestOldEventsAreErased(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	other := place{s, "", s.must(t, "POST", "/v2/workspaces", p.me, `{"name":"Other"}`)["id"].(string), p.me}
	other.path = "/v2/workspaces/" + other.id
	p.emitsMany(t, "order.paid", 119)
	p.interacts(t, activity.ByEndpoint, "c1", "s1", "u1")
	other.emitsMany(t, "order.paid", 3)
	before := p.lists(t, "limit=100")
	require.Len(t, before.Result.Events, 100)
	root := p.as(bearer(s.login(t, "admin@localhost", adminPassword)["token"].(string)))
	state, recorded := s.infoOf(t, domain.State), s.infoOf(t, domain.Activity)

	body := `{"retention":0,"workspaceMaxEvents":-1,"workspaceIds":["` + p.id + `"]}`
	would := root.does(t, 200, "POST", "/sys/cleanup/indices?dryRun=true", body).json(t)
	require.Equal(t, true, would["dryRun"])
	require.EqualValues(t, 120, would["expiredEvents"].(map[string]any)["total"])
	require.Equal(t, map[string]any{"found": []any{}, "deletedEvents": 0.0}, would["inactiveWorkspaces"])
	require.Len(t, p.lists(t, "limit=100").Result.Events, 100)
	require.Equal(t, recorded, s.infoOf(t, domain.Activity), "a dry run writes nothing")
	require.Equal(t, 1.0, p.used(t, "")["total"].(map[string]any)["transactions"])

	got := root.as(asInternal).does(t, 200, "POST", "/sys/cleanup/indices", body)
	require.NotEmpty(t, got.Header.Get("X-Svc-Seq"), "it has written")
	require.EqualValues(t, 120, got.json(t)["expiredEvents"].(map[string]any)["total"])
	left := p.lists(t, "limit=100&types=order.*")
	require.Empty(t, left.Result.Events)
	require.Contains(t, typesOf(p.lists(t, "limit=100").Result.Events), "workspaces.created", "what the workspace consists of stays")
	require.Empty(t, p.lists(t, "limit=100&types=order.*&cursor="+before.Result.Cursor).Result.Events, "a page that is gone")
	require.Len(t, other.lists(t, "types=order.*").Result.Events, 3)
	require.Zero(t, p.searches(t, `{"query":{"prefix":{"type":"order."}}}`).Size)
	require.Equal(t, totals(0, 0, 0, 0, 0, 0), p.used(t, "")["total"])
	require.Equal(t, state, s.infoOf(t, domain.State))
	report, err := s.node.Models().Verify(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, report.OK, "%+v", report)

	root.me.Set("X-Svc-Min-Seq", got.Header.Get("X-Svc-Seq"))
	told := root.does(t, 200, "GET", "/v2/workspaces/platform/events?types=events.cleaned", "").body
	var page listed
	require.NoError(t, json.Unmarshal(told, &page))
	require.Len(t, page.Result.Events, 1)
	require.Equal(t, "indices", page.Result.Events[0].Payload["job"])
	require.EqualValues(t, 120, page.Result.Events[0].Payload["expiredEvents"].(map[string]any)["total"])

	p.emitsMany(t, "order.paid", 2)
	require.Len(t, p.lists(t, "types=order.*").Result.Events, 2, "life goes on")
}

func TestWhoMayCleanUp(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	root := p.as(bearer(s.login(t, "admin@localhost", adminPassword)["token"].(string)))
	internal, nobody := p.as(asInternal), p.as(nil)
	for _, job := range []string{"/sys/cleanup/indices", "/sys/cleanup/executions"} {
		nobody.refuses(t, 401, "missing_token", "POST", job, "")
		p.as(http.Header{"X-Svc-Api-Key": {"wrong"}}).refuses(t, 401, "invalid_credentials", "POST", job, "")
		p.refuses(t, 403, "permission_denied", "POST", job+"?dryRun=true", "")
		require.Equal(t, "dry_run_only", root.refuses(t, 403, "permission_denied", "POST", job, "")["reason"])
		root.does(t, 200, "POST", job+"?dryRun=true", "")
		internal.refuses(t, 400, "invalid_parameter", "POST", job+"?dryRun=perhaps", "")
		internal.refuses(t, 400, "invalid_request", "POST", job, `{"unknown":1}`)
		internal.refuses(t, 400, "invalid_request", "POST", job, `{"workspaceIds":"w1"}`)
		require.Contains(t, faults(internal.refuses(t, 422, "validation_failed", "POST", job, `{"workspaceIds":["w1",""]}`)), `"workspaceIds[1]"`)
		many := `{"workspaceIds":[` + strings.TrimSuffix(strings.Repeat(`"w",`, 1001), ",") + `]}`
		internal.refuses(t, 422, "validation_failed", "POST", job, many)
	}
	for field, value := range map[string]string{"retention": "-2", "workspaceMaxEvents": "-2", "workspaceInactivityDays": "-1"} {
		details := internal.refuses(t, 422, "validation_failed", "POST", "/sys/cleanup/indices", `{"`+field+`":`+value+`}`)
		require.Contains(t, faults(details), `"`+field+`"`)
	}
	internal.refuses(t, 400, "invalid_request", "POST", "/sys/cleanup/indices", `{"retention":"1d"}`)
	for _, value := range []string{`-2`, `"14"`, `"soon"`, `""`, `true`, `"-3d"`, `1e9`} {
		internal.refuses(t, 422, "validation_failed", "POST", "/sys/cleanup/executions", `{"automationExecutedExpiration":`+value+`}`)
	}
	for _, value := range []string{`-1`, `"-1"`, `"36h"`, `14`, `0.5`} {
		s.cleans(t, "executions", `{"automationExecutedExpiration":`+value+`}`)
	}
}

func TestACleanupIsRefusedWhileOneRuns(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	bucket, err := s.node.Store().Bucket(t.Context(), jetstream.BucketConfig{Name: "CLEANUP_RUNS", TTL: time.Minute})
	require.NoError(t, err)
	elsewhere := streams.Lease{Bucket: bucket, Name: "cleanup", TTL: time.Minute}
	internal := place{s: s, me: asInternal}
	require.NoError(t, elsewhere.Attempt(t.Context(), func(context.Context) error {
		internal.refuses(t, 423, "resource_locked", "POST", "/sys/cleanup/indices", "")
		internal.refuses(t, 423, "resource_locked", "POST", "/sys/cleanup/executions?dryRun=true", "")
		return nil
	}))
	s.cleans(t, "indices", "")
}

func TestPayloadsOfExecutionsAreStripped(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	id, store := ulid.Make().String(), s.node.Store()
	apart := `{"payload":{"card":"4242"},"output":{"ok":true}}`
	require.NoError(t, store.PutPayload(t.Context(), p.id, id, []byte(apart)))
	_, err := store.Append(t.Context(), eventstore.Commit{Stream: domain.StreamID{Scope: p.id}, Facts: []eventstore.Fact{{
		ID: id, Event: activity.Executed{Slug: "pay", ExecutionID: "x1", Apart: true},
	}}})
	require.NoError(t, err)
	shown := func() map[string]any { return p.does(t, 200, "GET", p.path+"/events/"+id, "").json(t) }
	require.Eventually(t, func() bool { return p.ask(t, "GET", p.path+"/events/"+id, "").StatusCode == 200 }, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, map[string]any{"card": "4242"}, shown()["payload"].(map[string]any)["payload"])

	card := `{"query":{"term":{"payload.payload.card":"4242"}},"limit":0}`
	slugs := `{"query":{"match_all":{}},"limit":0,"aggs":{"a":{"terms":{"field":"payload.slug"}}}}`
	require.Equal(t, 1, p.searches(t, card).Size, "what is kept apart is found")
	require.Contains(t, string(p.searches(t, slugs).Aggs["a"]), `"key":"pay"`, "and not needed for the rest")

	require.Zero(t, s.cleans(t, "executions", "").Count, "it is not old")
	done := s.cleans(t, "executions", `{"automationExecutedExpiration":"0s"}`)
	require.EqualValues(t, 1, done.Count)
	require.EqualValues(t, len(apart), done.FreedBytes)
	after := shown()
	require.Equal(t, true, after["stripped"])
	require.Equal(t, "pay", after["payload"].(map[string]any)["slug"])
	require.Zero(t, p.searches(t, card).Size)
	require.NotContains(t, string(p.does(t, 200, "GET", p.path+"/events", "").body), "4242")
}

// The key of a workspace that cannot come back is destroyed, with its events.
func TestADeletedWorkspaceIsErasedWithItsKey(t *testing.T) {
	t.Parallel()
	s := identified(t, "EVENTS_SCHEDULED_DELETION_DAYS=0").start(t)
	p := ownedPlace(t, s)
	p.does(t, 200, "PATCH", p.path+"/security/secrets", `{"TOKEN":{"value":"s3cret-value"}}`)
	value, err := s.node.Resolve(t.Context(), p.id, "{{secret.TOKEN}}")
	require.NoError(t, err)
	require.Equal(t, "s3cret-value", value)
	p.emitsMany(t, "order.paid", 3)
	p.does(t, 200, "DELETE", p.path, "")
	state := s.infoOf(t, domain.State)

	done := s.cleans(t, "indices", `{"retention":-1,"workspaceMaxEvents":-1}`)
	require.Len(t, done.Deleted.Found, 1)
	require.Equal(t, p.id, done.Deleted.Found[0].WorkspaceID)
	require.EqualValues(t, 3, done.Deleted.DeletedEvents)
	require.Empty(t, s.emitted(t, p.id))
	_, err = s.node.Resolve(t.Context(), p.id, "{{secret.TOKEN}}")
	require.Error(t, err)
	require.Equal(t, state, s.infoOf(t, domain.State))
	require.Empty(t, s.cleans(t, "indices", "").Deleted.Found, "it is done once")
}
