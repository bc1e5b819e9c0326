package node_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands"
	"svc/commands/operations"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
	"svc/eventstore"
)

// shop is a workspace with operations that the test carries out.
type shop struct {
	*nodetest.Service
	id, path string
	who      map[string]http.Header
	ids      map[string]string
}

func newShop(t *testing.T, env ...string) *shop {
	t.Helper()
	s := &shop{Service: nodetest.NewServiceWithAccounts(t, env...).Start(t)}
	s.who, s.ids = s.NewUsers(t, "ada", "eve", "rita", "stranger")
	s.id = s.Must(t, "POST", "/v2/workspaces", s.who["ada"], `{"name":"Shop"}`)["id"].(string)
	s.path = "/v2/workspaces/" + s.id
	s.Must(t, "POST", s.path+"/permissions", s.who["ada"], fmt.Sprintf(`{"target":{"id":%q},"permissions":{"role":"editor"}}`, s.ids["eve"]))
	s.Must(t, "POST", s.path+"/permissions", s.who["ada"], fmt.Sprintf(`{"target":{"id":%q},"permissions":{"policies":{"read":true}}}`, s.ids["rita"]))
	return s
}

// begin starts an operation in the name of a user.
func (s *shop) begin(t *testing.T, user, kind string, work operations.Work) *operations.Handle {
	t.Helper()
	ctx := commands.WithRequest(t.Context(), &commands.Request{Meta: domain.Meta{UserID: s.ids[user], CorrelationID: "c1"}})
	h, err := s.Node.Operations().Start(ctx, operations.Spec{
		Kind: kind, WorkspaceID: s.id, RepositoryID: "origin", Branch: "main", Reason: workspace.PullInProgress, Steps: 2, Request: map[string]bool{"strict": true},
	}, work)
	require.NoError(t, err)
	return h
}

// wait waits for the end of an operation.
func wait(t *testing.T, h *operations.Handle) {
	t.Helper()
	_, ended := h.Wait(t.Context(), 30*time.Second)
	require.True(t, ended)
}

// unsettled is a kind of operations that nobody knows how to settle.
const unsettled = "bake"

// held is a work that waits in its first step until it may go on.
func held(begun chan<- struct{}, ready <-chan struct{}) operations.Work {
	return func(ctx context.Context, run *operations.Run) (any, error) {
		return map[string]string{"version": "v1"}, run.Step(ctx, operation.Checkout, "Checking out", func(ctx context.Context) error {
			close(begun)
			select {
			case <-ready:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}
}

func TestOperationsAreListedReadAndCancelled(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	all := s.path + "/operations"
	require.Empty(t, s.Get(t, all, s.who["rita"]).List(t))

	wait(t, s.begin(t, "ada", operation.Push, func(ctx context.Context, run *operations.Run) (any, error) {
		return nil, run.Step(ctx, operation.Write, "Writing", func(context.Context) error {
			return domain.Refuse(domain.CodeConflict, "pull first").Reason("not_up_to_date")
		})
	}))
	wait(t, s.begin(t, "ada", operation.Import, func(context.Context, *operations.Run) (any, error) { return strings.Repeat("x", 300<<10), nil }))
	begun, ready := make(chan struct{}), make(chan struct{})
	h := s.begin(t, "eve", operation.Pull, held(begun, ready))
	<-begun

	t.Run("what runs", func(t *testing.T) {
		got := s.Must(t, "GET", all+"/"+h.ID(), s.who["rita"], "")
		at := got["createdAt"].(string)
		require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, at)
		step := got["steps"].([]any)[0].(map[string]any)
		require.Equal(t, map[string]any{
			"id": h.ID(), "kind": "pull", "workspaceId": s.id, "repositoryId": "origin", "branch": "main", "status": "running", "epoch": 3.0,
			"createdBy": s.ids["eve"], "createdAt": at, "startedAt": at, "endedAt": nil, "correlationId": "c1", "resumed": 0.0,
			"request": map[string]any{"strict": true}, "progress": map[string]any{"current": 0.0, "total": 1.0, "percentage": 0.0},
			"steps":  []any{map[string]any{"step": "checkout", "state": "started", "startedAt": step["startedAt"]}},
			"result": nil, "error": nil,
		}, got)
		lock := s.Must(t, "GET", s.path, s.who["rita"], "")["writeLock"].(map[string]any)
		require.Equal(t, map[string]any{"id": h.ID(), "kind": "pull"}, lock["operation"])
	})

	t.Run("lists", func(t *testing.T) {
		kinds := func(query string) (found []any) {
			for _, at := range []string{all, all[3:]} {
				found = nil
				for _, op := range s.Get(t, at+query, s.who["rita"]).List(t) {
					found = append(found, op["kind"])
				}
			}
			return found
		}
		require.Equal(t, []any{"pull", "import", "push"}, kinds(""), "the newest first")
		require.Equal(t, []any{"push"}, kinds("?kind=push"))
		require.Equal(t, []any{"pull"}, kinds("?status=running"))
		require.Empty(t, kinds("?status=queued"))
		require.Equal(t, []any{"import"}, kinds("?limit=1&page=1"))
		got := s.Get(t, all+"?limit=1", s.who["rita"])
		require.Equal(t, "3", got.Header.Get("X-Total-Count"))
		require.Contains(t, got.Header.Get("Link"), "page=1")
		for _, bad := range []string{"?kind=bake", "?status=done", "?limit=0", "?limit=101", "?page=-1"} {
			require.Equal(t, "invalid_parameter", s.Get(t, all+bad, s.who["rita"]).Code(t), bad)
		}
	})

	t.Run("what has ended", func(t *testing.T) {
		failed := s.Get(t, all+"?kind=push", s.who["rita"]).List(t)[0]
		require.Equal(t, "failed", failed["status"])
		require.Equal(t, map[string]any{"code": "resource_conflict", "message": "pull first", "details": map[string]any{"reason": "not_up_to_date"}}, failed["error"])
		require.NotNil(t, failed["endedAt"])
		large := s.Get(t, all+"?kind=import", s.who["rita"]).List(t)[0]["id"].(string)
		whole := s.Must(t, "GET", all[3:]+"/"+large, s.who["rita"], "")
		require.Len(t, whole["result"], 300<<10)
		require.Equal(t, map[string]any{"current": 1.0, "total": 1.0, "percentage": 100.0}, whole["progress"])
	})

	t.Run("who may", func(t *testing.T) {
		require.Equal(t, "workspace_access_denied", s.Get(t, all, s.who["stranger"]).Code(t))
		require.Equal(t, "resource_not_found", s.Get(t, all+"/op_unknown", s.who["rita"]).Code(t))
		mine := "/v2/workspaces/" + s.Must(t, "POST", "/v2/workspaces", s.who["stranger"], `{"name":"Mine"}`)["id"].(string)
		require.Equal(t, "resource_not_found", s.Get(t, mine+"/operations/"+h.ID(), s.who["stranger"]).Code(t), "not by way of another workspace")
		require.Equal(t, "resource_not_found", s.Call(t, "POST", mine+"/operations/"+h.ID()+"/cancel", s.who["stranger"], "").Code(t))
		require.Equal(t, "permission_denied", s.Call(t, "POST", all+"/"+h.ID()+"/cancel", s.who["rita"], "").Code(t))
		require.Equal(t, "resource_not_found", s.Call(t, "POST", all+"/"+strings.Repeat("x", 2000)+"/cancel", s.who["ada"], "").Code(t))
	})

	t.Run("cancel", func(t *testing.T) {
		for _, who := range []string{"eve", "ada"} { // the starter, and who manages the security
			at := all + "/" + h.ID() + "/cancel"
			require.Equal(t, true, s.Must(t, "POST", at, s.who[who], "")["cancelRequested"])
			wait(t, h)
			got := s.Must(t, "GET", all+"/"+h.ID(), s.who["rita"], "")
			require.Equal(t, "cancelled", got["status"])
			require.Equal(t, true, got["cancelRequested"])
			require.Equal(t, "already_ended", s.Call(t, "POST", at, s.who[who], "").Reason(t))
			begun = make(chan struct{})
			h = s.begin(t, "eve", operation.Pull, held(begun, ready))
			<-begun
		}
		close(ready)
		wait(t, h)
		require.Nil(t, s.Must(t, "GET", s.path, s.who["rita"], "")["writeLock"])
	})

	t.Run("they are forgotten", func(t *testing.T) {
		ended := time.Now().AddDate(0, 0, -91)
		_, err := s.Node.Store().Log.Append(t.Context(), eventstore.Commit{Stream: operation.Stream(s.id, "op_old"), Facts: []eventstore.Fact{
			{ID: ulid.Make().String(), Event: operation.Started{About: operation.About{ID: "op_old", Kind: operation.Resolve, WorkspaceID: s.id, CreatedBy: s.ids["ada"], CreatedAt: ended}}},
			{ID: ulid.Make().String(), Event: operation.Ended{ID: "op_old", Status: operation.Succeeded, EndedAt: ended}},
		}})
		require.NoError(t, err)
		require.Empty(t, s.Get(t, all+"?kind=resolve", s.who["ada"]).List(t))
		for _, at := range []string{"", "/events"} {
			require.Equal(t, "resource_not_found", s.Get(t, all+"/op_old"+at, s.who["ada"]).Code(t))
		}
		require.Equal(t, "resource_not_found", s.Call(t, "POST", all+"/op_old/cancel", s.who["ada"], "").Code(t))
	})
}

// A node that stops breaks its operations off; one that was killed leaves them,
// and their lock, to the next.
func TestWhatANodeLeavesBehindIsSettledByTheNext(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SHUTDOWN_GRACE_SECONDS=1")
	begun := make(chan struct{})
	h := s.begin(t, "ada", operation.Pull, held(begun, nil))
	<-begun
	s.Stop(t)
	s.Start(t)
	got := s.Must(t, "GET", s.path+"/operations/"+h.ID(), s.who["ada"], "")
	require.Equal(t, "interrupted", got["error"].(map[string]any)["details"].(map[string]any)["reason"])
	require.Equal(t, []string{"workspaces.locked", "workspaces.unlocked"}, s.EventTypes(t, s.id)[3:])

	begun = make(chan struct{})
	h = s.begin(t, "ada", unsettled, func(ctx context.Context, _ *operations.Run) (any, error) {
		close(begun)
		<-ctx.Done()
		return nil, operations.ErrUnsettled
	})
	<-begun
	s.Stop(t)
	require.NoError(t, s.Open(t))
	require.Eventually(t, func() bool {
		facts := s.EventTypes(t, s.id)
		return facts[len(facts)-1] == "workspaces.unlocked"
	}, time.Minute, 20*time.Millisecond)
	op, err := s.Node.Operations().Get(t.Context(), s.id, h.ID())
	require.NoError(t, err)
	require.Equal(t, operation.Failed, op.Status)
	require.Equal(t, 1, op.Resumed)
	require.NoError(t, s.Node.Close(t.Context()))
}

// A node that was killed left its lease behind: it runs out, and the lock with it.
func TestTheLockOfAKilledNodeIsGoneSoon(t *testing.T) {
	t.Parallel()
	keys := "SECRETS_MASTER_KEYS=" + nodetest.MasterKeys // outside of what is copied
	s := newShop(t, keys)
	begun, ready := make(chan struct{}), make(chan struct{})
	h := s.begin(t, "ada", unsettled, held(begun, ready))
	<-begun
	heir := nodetest.NewServiceWithAccounts(t, keys)
	require.NoError(t, os.CopyFS(heir.Dir, os.DirFS(s.Dir)), "what a crash would leave")
	heir.Start(t)
	require.Eventually(t, func() bool {
		facts := heir.EventTypes(t, s.id)
		return facts[len(facts)-1] == "workspaces.unlocked"
	}, time.Minute, 50*time.Millisecond)
	op, err := heir.Node.Operations().Get(t.Context(), s.id, h.ID())
	require.NoError(t, err)
	require.Equal(t, "interrupted", op.Failure.Details["reason"])
	close(ready)
	wait(t, h)
}
