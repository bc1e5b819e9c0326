package node_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/streams"
)

func infoOf(t *testing.T, s *nodetest.Service, log domain.Log) eventstore.Info {
	t.Helper()
	info, err := s.Node.Store().Log.Info(t.Context(), log)
	require.NoError(t, err)
	return info
}

func TestOldEventsAreErased(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	other := nodetest.Workspace{Service: s, Path: "", ID: s.Must(t, "POST", "/v2/workspaces", p.Auth, `{"name":"Other"}`)["id"].(string), Auth: p.Auth}
	other.Path = "/v2/workspaces/" + other.ID
	p.EmitMany(t, "order.paid", 119)
	p.RecordInteraction(t, activity.ByEndpoint, "c1", "s1", "u1")
	other.EmitMany(t, "order.paid", 3)
	before := p.ListEvents(t, "limit=100")
	require.Len(t, before.Result.Events, 100)
	root := p.As(nodetest.Bearer(s.Login(t, "admin@localhost", nodetest.AdminPassword)["token"].(string)))
	state, recorded := infoOf(t, s, domain.State), infoOf(t, s, domain.Activity)

	body := `{"retention":0,"workspaceMaxEvents":-1,"workspaceIds":["` + p.ID + `"]}`
	would := root.Do(t, 200, "POST", "/sys/cleanup/indices?dryRun=true", body).JSON(t)
	require.Equal(t, true, would["dryRun"])
	require.EqualValues(t, 120, would["expiredEvents"].(map[string]any)["total"])
	require.Equal(t, map[string]any{"found": []any{}, "deletedEvents": 0.0}, would["inactiveWorkspaces"])
	require.Len(t, p.ListEvents(t, "limit=100").Result.Events, 100)
	require.Equal(t, recorded, infoOf(t, s, domain.Activity), "a dry run writes nothing")
	require.Equal(t, 1.0, p.Usage(t, "")["total"].(map[string]any)["transactions"])

	got := root.As(nodetest.AsInternal).Do(t, 200, "POST", "/sys/cleanup/indices", body)
	require.NotEmpty(t, got.Header.Get("X-Svc-Seq"), "it has written")
	require.EqualValues(t, 120, got.JSON(t)["expiredEvents"].(map[string]any)["total"])
	left := p.ListEvents(t, "limit=100&types=order.*")
	require.Empty(t, left.Result.Events)
	require.Contains(t, nodetest.TypesOf(p.ListEvents(t, "limit=100").Result.Events), "workspaces.created", "what the workspace consists of stays")
	require.Empty(t, p.ListEvents(t, "limit=100&types=order.*&cursor="+before.Result.Cursor).Result.Events, "a page that is gone")
	require.Len(t, other.ListEvents(t, "types=order.*").Result.Events, 3)
	require.Zero(t, p.Search(t, `{"query":{"prefix":{"type":"order."}}}`).Size)
	require.Equal(t, nodetest.UsageTotals(0, 0, 0, 0, 0, 0), p.Usage(t, "")["total"])
	require.Equal(t, state, infoOf(t, s, domain.State))
	report, err := s.Node.Models().Verify(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, report.OK, "%+v", report)

	root.Auth.Set("X-Svc-Min-Seq", got.Header.Get("X-Svc-Seq"))
	told := root.Do(t, 200, "GET", "/v2/workspaces/platform/events?types=events.cleaned", "").Body
	var page nodetest.EventPage
	require.NoError(t, json.Unmarshal(told, &page))
	require.Len(t, page.Result.Events, 1)
	require.Equal(t, "indices", page.Result.Events[0].Payload["job"])
	require.EqualValues(t, 120, page.Result.Events[0].Payload["expiredEvents"].(map[string]any)["total"])

	p.EmitMany(t, "order.paid", 2)
	require.Len(t, p.ListEvents(t, "types=order.*").Result.Events, 2, "life goes on")
}

func TestWhoMayCleanUp(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	root := p.As(nodetest.Bearer(s.Login(t, "admin@localhost", nodetest.AdminPassword)["token"].(string)))
	internal, nobody := p.As(nodetest.AsInternal), p.As(nil)
	for _, job := range []string{"/sys/cleanup/indices", "/sys/cleanup/executions"} {
		nobody.RequireRefusal(t, 401, "missing_token", "POST", job, "")
		p.As(http.Header{"X-Svc-Api-Key": {"wrong"}}).RequireRefusal(t, 401, "invalid_credentials", "POST", job, "")
		p.RequireRefusal(t, 403, "permission_denied", "POST", job+"?dryRun=true", "")
		require.Equal(t, "dry_run_only", root.RequireRefusal(t, 403, "permission_denied", "POST", job, "")["reason"])
		root.Do(t, 200, "POST", job+"?dryRun=true", "")
		internal.RequireRefusal(t, 400, "invalid_parameter", "POST", job+"?dryRun=perhaps", "")
		internal.RequireRefusal(t, 400, "invalid_request", "POST", job, `{"unknown":1}`)
		internal.RequireRefusal(t, 400, "invalid_request", "POST", job, `{"workspaceIds":"w1"}`)
		require.Contains(t, nodetest.Faults(internal.RequireRefusal(t, 422, "validation_failed", "POST", job, `{"workspaceIds":["w1",""]}`)), `"workspaceIds[1]"`)
		many := `{"workspaceIds":[` + strings.TrimSuffix(strings.Repeat(`"w",`, 1001), ",") + `]}`
		internal.RequireRefusal(t, 422, "validation_failed", "POST", job, many)
	}
	for field, value := range map[string]string{"retention": "-2", "workspaceMaxEvents": "-2", "workspaceInactivityDays": "-1"} {
		details := internal.RequireRefusal(t, 422, "validation_failed", "POST", "/sys/cleanup/indices", `{"`+field+`":`+value+`}`)
		require.Contains(t, nodetest.Faults(details), `"`+field+`"`)
	}
	internal.RequireRefusal(t, 400, "invalid_request", "POST", "/sys/cleanup/indices", `{"retention":"1d"}`)
	for _, value := range []string{`-2`, `"14"`, `"soon"`, `""`, `true`, `"-3d"`, `1e9`} {
		internal.RequireRefusal(t, 422, "validation_failed", "POST", "/sys/cleanup/executions", `{"automationExecutedExpiration":`+value+`}`)
	}
	for _, value := range []string{`-1`, `"-1"`, `"36h"`, `14`, `0.5`} {
		s.RunCleanup(t, "executions", `{"automationExecutedExpiration":`+value+`}`)
	}
}

func TestACleanupIsRefusedWhileOneRuns(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	bucket, err := s.Node.Store().Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "CLEANUP_RUNS", TTL: time.Minute})
	require.NoError(t, err)
	elsewhere := streams.Lease{Bucket: bucket, Name: "cleanup", TTL: time.Minute}
	internal := nodetest.Workspace{Service: s, Auth: nodetest.AsInternal}
	require.NoError(t, elsewhere.Attempt(t.Context(), func(context.Context) error {
		internal.RequireRefusal(t, 423, "resource_locked", "POST", "/sys/cleanup/indices", "")
		internal.RequireRefusal(t, 423, "resource_locked", "POST", "/sys/cleanup/executions?dryRun=true", "")
		return nil
	}))
	s.RunCleanup(t, "indices", "")
}

func TestPayloadsOfExecutionsAreStripped(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	id, store := ulid.Make().String(), s.Node.Store()
	apart := `{"payload":{"card":"4242"},"output":{"ok":true}}`
	_, err := store.Log.Append(t.Context(), eventstore.Commit{Stream: domain.StreamID{Scope: p.ID}, Facts: []eventstore.Fact{{
		ID: id, Event: activity.Executed{Slug: "pay", ExecutionID: "x1", Apart: true}, Apart: []byte(apart),
	}}})
	require.NoError(t, err)
	shown := func() map[string]any { return p.Do(t, 200, "GET", p.Path+"/events/"+id, "").JSON(t) }
	require.Eventually(t, func() bool { return p.Send(t, "GET", p.Path+"/events/"+id, "").StatusCode == 200 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, map[string]any{"card": "4242"}, shown()["payload"].(map[string]any)["payload"])

	card := `{"query":{"term":{"payload.payload.card":"4242"}},"limit":0}`
	slugs := `{"query":{"match_all":{}},"limit":0,"aggs":{"a":{"terms":{"field":"payload.slug"}}}}`
	require.Equal(t, 1, p.Search(t, card).Size, "what is kept apart is found")
	require.Contains(t, string(p.Search(t, slugs).Aggs["a"]), `"key":"pay"`, "and not needed for the rest")

	require.Zero(t, s.RunCleanup(t, "executions", "").Count, "it is not old")
	done := s.RunCleanup(t, "executions", `{"automationExecutedExpiration":"0s"}`)
	require.EqualValues(t, 1, done.Count)
	require.EqualValues(t, len(id)+len(" ")+len(apart)+len("\n"), done.FreedBytes)
	after := shown()
	require.Equal(t, true, after["stripped"])
	require.Equal(t, "pay", after["payload"].(map[string]any)["slug"])
	require.Zero(t, p.Search(t, card).Size)
	require.NotContains(t, string(p.Do(t, 200, "GET", p.Path+"/events", "").Body), "4242")
}

// The key of a workspace that cannot come back is destroyed, with its events.
func TestADeletedWorkspaceIsErasedWithItsKey(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "EVENTS_SCHEDULED_DELETION_DAYS=0").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"TOKEN":{"value":"s3cret-value"}}`)
	value, err := s.Node.Resolve(t.Context(), p.ID, "{{secret.TOKEN}}")
	require.NoError(t, err)
	require.Equal(t, "s3cret-value", value)
	p.EmitMany(t, "order.paid", 3)
	p.Do(t, 200, "DELETE", p.Path, "")
	state := infoOf(t, s, domain.State)

	done := s.RunCleanup(t, "indices", `{"retention":-1,"workspaceMaxEvents":-1}`)
	require.Len(t, done.Deleted.Found, 1)
	require.Equal(t, p.ID, done.Deleted.Found[0].WorkspaceID)
	require.EqualValues(t, 3, done.Deleted.DeletedEvents)
	require.Empty(t, s.EmittedTypes(t, p.ID))
	_, err = s.Node.Resolve(t.Context(), p.ID, "{{secret.TOKEN}}")
	require.Error(t, err)
	require.Equal(t, state, infoOf(t, s, domain.State))
	require.Empty(t, s.RunCleanup(t, "indices", "").Deleted.Found, "it is done once")
}

// Documents of a deleted knowledge base are kept as long as a deleted workspace is. Then they go from the read models and the search
// index, and their contents from the store, as do those of a workspace that cannot come back.
func TestDocumentsOfDeletedBasesAreErased(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "EVENTS_SCHEDULED_DELETION_DAYS=2").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	other := nodetest.Workspace{Service: s, ID: s.Must(t, "POST", "/v2/workspaces", p.Auth, `{"name":"Other"}`)["id"].(string), Auth: p.Auth}
	other.Path = "/v2/workspaces/" + other.ID
	add := func(w nodetest.Workspace, base, text string) (id, name string) {
		w.Do(t, 201, "POST", w.Path+"/knowledgeBases", `{"name":"`+base+`","slug":"`+base+`"}`)
		doc := w.Do(t, 201, "POST", w.Path+"/knowledgeBases/"+base+"/documents?wait=30", `{"text":"`+text+`"}`).JSON(t)
		return doc["id"].(string), doc["hash"].(string)
	}
	goneID, goneName := add(p, "gone", "a text that goes")
	_, keptName := add(p, "kept", "a text that stays")
	erasedID, erasedName := add(other, "erased", "a text of a deleted workspace")
	p.Do(t, 200, "DELETE", p.Path+"/knowledgeBases/gone", "")
	other.Do(t, 200, "DELETE", other.Path, "")
	stored := func() []string { return storedBlobs(t, s) }
	known := func(workspaceID, id string) bool {
		rd := s.Node.Models().Reader()
		defer rd.Close()
		_, ok, err := projections.KBDocuments{}.ByID(rd, workspaceID, id)
		require.NoError(t, err)
		return ok
	}
	const job = `{"retention":-1,"workspaceMaxEvents":-1}`
	s.Node.SetCleanupClock(func() time.Time { return time.Now().Add(47 * time.Hour) })
	s.RunCleanup(t, "indices", job)
	require.True(t, known(p.ID, goneID), "it may come back")
	require.Subset(t, stored(), []string{goneName, keptName, erasedName})

	s.Node.SetCleanupClock(func() time.Time { return time.Now().Add(49 * time.Hour) })
	s.RunCleanup(t, "indices", job)
	require.False(t, known(p.ID, goneID))
	require.False(t, known(other.ID, erasedID))
	left := stored()
	require.Contains(t, left, keptName)
	require.NotContains(t, left, goneName)
	require.NotContains(t, left, erasedName)
	told := p.ListEvents(t, "types=knowledge.documents.deleted").Result.Events
	require.Len(t, told, 1)
	require.Equal(t, []any{"gone", goneID, "removed"}, []any{told[0].Payload["knowledgeBase"], told[0].Payload["id"], told[0].Payload["cause"]})
	require.Len(t, p.Do(t, 200, "GET", p.Path+"/knowledgeBases/kept/documents", "").List(t), 1)
}

// storedBlobs returns the names of all blobs.
func storedBlobs(t *testing.T, s *nodetest.Service) (names []string) {
	t.Helper()
	require.NoError(t, s.Node.Store().Blobs.List(t.Context(), func(b eventstore.Blob) error {
		names = append(names, b.Name)
		return nil
	}))
	return names
}

// uploads stores a file and returns its id and the name of its content.
func uploads(t *testing.T, p nodetest.Workspace, content string) (id, name string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "note.txt")
	require.NoError(t, err)
	_, err = part.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, form.Close())
	got := p.Send(t, "POST", p.Path+"/files", body.String(), "Content-Type", form.FormDataContentType())
	require.Equal(t, 201, got.StatusCode, "%s", got.Body)
	var made []struct{ ID, Checksum string }
	require.NoError(t, json.Unmarshal(got.Body, &made))
	sum := sha256.Sum256([]byte(content))
	return made[0].ID, hex.EncodeToString(sum[:])
}

// What nothing refers to frees its bytes: contents of deleted files, and of workspaces that cannot come back.
// What is in use stays: files, large documents, and the files of the last pull or push of a repository.
func TestContentsThatNothingRefersToAreDeleted(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "EVENTS_SCHEDULED_DELETION_DAYS=0").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	other := nodetest.Workspace{Service: s, ID: s.Must(t, "POST", "/v2/workspaces", p.Auth, `{"name":"Other"}`)["id"].(string), Auth: p.Auth}
	other.Path = "/v2/workspaces/" + other.ID
	text := func(word string) string { return strings.Repeat(word+" ", 100_000) }

	deleted, deletedName := uploads(t, p, text("deleted"))
	kept, keptName := uploads(t, p, text("kept"))
	_, sharedName := uploads(t, p, text("shared"))
	_, _ = uploads(t, other, text("shared"))
	_, erasedName := uploads(t, other, text("erased"))
	p.Do(t, 200, "DELETE", p.Path+"/files/"+deleted, "")
	p.Do(t, 201, "POST", p.Path+"/automations", `{"name":"Large","slug":"large","do":[{"set":{"name":"a","value":"`+text("large")+`"}}]}`)
	other.Do(t, 200, "DELETE", other.Path, "")
	stored := func() []string { return storedBlobs(t, s) }
	require.GreaterOrEqual(t, len(stored()), 5)
	require.NotNil(t, s.RunCleanup(t, "indices", "").Blobs)
	require.Subset(t, stored(), []string{deletedName, erasedName}, "they were uploaded just now")

	s.Node.SetCleanupClock(func() time.Time { return time.Now().Add(25 * time.Hour) })
	done := s.RunCleanup(t, "indices", `{"retention":-1,"workspaceMaxEvents":-1}`)
	require.Empty(t, done.Errors)
	require.GreaterOrEqual(t, done.Blobs.Deleted, uint64(2))
	require.GreaterOrEqual(t, done.Blobs.FreedBytes, uint64(len(text("deleted"))+len(text("erased"))))
	left := stored()
	require.Subset(t, left, []string{keptName, sharedName})
	require.NotContains(t, left, deletedName)
	require.NotContains(t, left, erasedName)
	p.Do(t, 200, "GET", p.Path+"/files/"+kept, "")
	require.Contains(t, string(p.Do(t, 200, "GET", p.Path+"/automations/large", "").Body), "large large")
}
