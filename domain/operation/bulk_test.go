package operation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/operation"
)

func run(kind string) operation.Started {
	return operation.Started{About: operation.About{ID: "op_9", Kind: kind, WorkspaceID: domain.Platform, RepositoryID: "main", Epoch: 3, CreatedAt: at}}
}

var (
	imports = operation.Bulk{Groups: []string{"base"}, Commit: "c0ffee", Planned: []operation.Planned{{Slug: "mailer"}, {Slug: "billing", WorkspaceID: "w2"}}, Warnings: []any{}}
	pushes  = operation.Bulk{Groups: []string{"base"}, Version: "v1", Planned: []operation.Planned{
		{Slug: "a", WorkspaceID: "w1", Name: "A", Status: operation.Candidate}, {Slug: "b", WorkspaceID: "w2", Name: "B", Status: operation.InConflict},
		{Slug: "c", WorkspaceID: "w3", Name: "C", Status: operation.AlreadyPushed}, {Slug: "d", WorkspaceID: "w4", Name: "D", Status: operation.InProgress},
		{Slug: "e", WorkspaceID: "w5", Name: "E", Status: operation.Candidate},
	}}
)

// events returns what commands to an operation lead to.
func events(t *testing.T, begun domain.Event, cmds ...operation.Command) []domain.Event {
	t.Helper()
	all := []domain.Event{begun}
	for _, cmd := range cmds {
		more, err := operation.Decider.Decide(operation.Decider.Fold(operation.State{}, all...), cmd)
		require.NoError(t, err)
		all = append(all, more...)
	}
	return all
}

func payload(t *testing.T, ev domain.Event) string {
	t.Helper()
	var shown any = ev
	if s, ok := ev.(domain.PayloadEvent); ok {
		shown = s.Payload()
	}
	body, err := json.Marshal(shown)
	require.NoError(t, err)
	return string(body)
}

func TestAnImportOfManyWorkspacesIsTold(t *testing.T) {
	t.Parallel()
	end := operation.End{Epoch: 3, Now: at.Add(2 * time.Second), Status: operation.Succeeded}
	broken := map[string]any{"msg": "no index", "err": "missing_index"}
	all := events(t, run(operation.BulkImport),
		operation.Plan{Epoch: 3, Bulk: imports}, operation.Plan{Epoch: 3, Bulk: operation.Bulk{}},
		operation.Finish{Epoch: 3, Finished: operation.Finished{Slug: "mailer", WorkspaceID: "w1", Name: "Mailer", Version: "v1", Status: operation.Imported, Created: true, Imported: 3, App: "mailer", Duration: 12}},
		operation.Finish{Epoch: 3, Finished: operation.Finished{Slug: "mailer", Status: operation.Faulty}},
		operation.Finish{Epoch: 3, Finished: operation.Finished{Slug: "billing", WorkspaceID: "w2", Status: operation.Faulty, Reason: "missing_index", Errors: []any{broken}}},
		end)
	require.Len(t, all, 6, "each is told once")
	require.JSONEq(t, `{"operationId":"op_9","repositoryId":"main","groups":["base"],"total":2,"workspaces":[{"slug":"mailer"},{"slug":"billing"}],"warnings":[]}`, payload(t, all[1]))
	require.JSONEq(t, `{"operationId":"op_9","repositoryId":"main","workspaceSlug":"mailer","workspaceId":"w1","workspaceName":"Mailer","status":"imported",
		"current":1,"total":2,"percentage":50,"duration":12,"importedFilesCount":3,"deletedFilesCount":0,"errors":[],"warnings":[]}`, payload(t, all[2]))
	require.Equal(t, "workspaces.bulkImport.completed", all[4].EventType())
	require.JSONEq(t, `{"operationId":"op_9","repositoryId":"main","groups":["base"],"duration":2000,"created":1,"updated":0,"skipped":0,"errorsCount":1,
		"createdWorkspaceIds":["w1"],"updatedWorkspaceIds":[],"skippedWorkspaceIds":[],"importedFilesCount":3,"deletedFilesCount":0,
		"errors":[{"msg":"no index","err":"missing_index"}],"warnings":[],"workspaces":[
		{"slug":"mailer","workspaceId":"w1","name":"Mailer","version":"v1","status":"imported","errors":[],"importedFilesCount":3,"deletedFilesCount":0,"duration":12,"app":"mailer"},
		{"slug":"billing","workspaceId":"w2","name":"","version":"","status":"error","reason":"missing_index","errors":[{"msg":"no index","err":"missing_index"}],"importedFilesCount":0,"deletedFilesCount":0,"duration":0}]}`, payload(t, all[4]))
	s := operation.Decider.Fold(operation.State{}, all...)
	require.Equal(t, operation.Succeeded, s.Status)
	require.JSONEq(t, payload(t, all[4]), string(s.Result), "the result is what was told last")
}

func TestAPushOfManyWorkspacesIsTold(t *testing.T) {
	t.Parallel()
	all := events(t, run(operation.BulkPush),
		operation.Plan{Epoch: 3, Bulk: pushes},
		operation.Finish{Epoch: 3, Finished: operation.Finished{Slug: "a", WorkspaceID: "w1", Name: "A", Status: operation.Pushed, Duration: 9}},
		operation.Finish{Epoch: 3, Finished: operation.Finished{Slug: "e", WorkspaceID: "w5", Name: "E", Status: operation.Faulty, Reason: operation.CancelledReason, LeftOut: true}},
		operation.End{Epoch: 3, Now: at.Add(time.Second), Status: operation.Succeeded})
	require.JSONEq(t, `{"operationId":"op_9","repositoryId":"main","groups":["base"],"workspaces":[
		{"slug":"a","workspaceId":"w1","name":"A","status":"candidate"},{"slug":"b","workspaceId":"w2","name":"B","status":"mergeConflict"},
		{"slug":"c","workspaceId":"w3","name":"C","status":"alreadyPushed"},{"slug":"d","workspaceId":"w4","name":"D","status":"inProgress"},
		{"slug":"e","workspaceId":"w5","name":"E","status":"candidate"}]}`, payload(t, all[1]))
	require.JSONEq(t, `{"operationId":"op_9","repositoryId":"main","workspaceSlug":"a","workspaceId":"w1","workspaceName":"A","status":"pushed",
		"current":1,"total":2,"percentage":50,"duration":9,"errors":[],"warnings":[]}`, payload(t, all[2]))
	done := all[4].(operation.BulkPushCompleted)
	require.Equal(t, []int{1, 1, 1, 1, 1}, []int{done.Pushed, done.MergeConflicts, done.AlreadyPushed, done.InProgress, done.ErrorsCount})
	require.Equal(t, "v1", done.Name)
	require.True(t, done.WasCancelled)
	require.Len(t, done.Workspaces, 5)
	s := operation.Decider.Fold(operation.State{}, all...)
	require.Equal(t, operation.Cancelled, s.Status)
}

func TestABulkRunRefuses(t *testing.T) {
	t.Parallel()
	planned := events(t, run(operation.BulkPush), operation.Plan{Epoch: 3, Bulk: pushes})
	for name, sc := range map[string]scenario{
		"a workspace it is not about":      {Given: planned, When: operation.Finish{Epoch: 3, Finished: operation.Finished{Slug: "z"}}, Refuse: domain.CodeNotFound},
		"one that it leaves out":           {Given: planned, When: operation.Finish{Epoch: 3, Finished: operation.Finished{Slug: "b"}}, Refuse: domain.CodeNotFound},
		"who was taken over from":          {Given: append(planned, operation.Resumed{ID: "op_9", Epoch: 4}), When: operation.Finish{Epoch: 3, Finished: operation.Finished{Slug: "a"}}, Refuse: domain.CodeConflict},
		"a plan of who was taken over":     {Given: []domain.Event{run(operation.BulkPush), operation.Resumed{ID: "op_9", Epoch: 4}}, When: operation.Plan{Epoch: 3}, Refuse: domain.CodeConflict},
		"what comes after its end":         {Given: append(planned, operation.Ended{ID: "op_9", Status: operation.Succeeded, EndedAt: at}), When: operation.Finish{Epoch: 3, Finished: operation.Finished{Slug: "a"}}, Refuse: domain.CodeConflict},
		"a workspace before it is planned": {Given: []domain.Event{run(operation.BulkPush)}, When: operation.Finish{Epoch: 3, Finished: operation.Finished{Slug: "a"}}, Refuse: domain.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); sc.Check(t, operation.Decider) })
	}
	s := operation.Decider.Fold(operation.State{}, planned...)
	current, total := s.Progress()
	require.Equal(t, [2]int{0, 2}, [2]int{current, total})
	failed := operation.Failure{Code: domain.CodeUnavailable, Message: "gone"}
	broken, err := operation.Decider.Decide(s, operation.End{Epoch: 3, Now: at, Status: operation.Failed, Failure: &failed})
	require.NoError(t, err)
	require.Len(t, broken, 1, "a run that failed was not completed")
}

// However much goes wrong, the end of a run fits into one event.
func TestTheEndOfALargeRunFits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 400)
	bulk := operation.Bulk{Groups: []string{"base"}, Version: "v1"}
	for i := range 2000 {
		item := map[string]any{"msg": long, "err": "invalid_document", "filepath": "automations/charge.yml"}
		slug := fmt.Sprintf("%056d-%03d", i, i%1000)
		bulk.Planned = append(bulk.Planned, operation.Planned{Slug: slug, WorkspaceID: "aB3dE7x", Name: long[:120], Status: operation.Candidate})
		bulk.Done = append(bulk.Done, operation.Finished{
			Slug: slug, WorkspaceID: "aB3dE7x", Name: long[:120], Version: "v1", Status: operation.Faulty, Reason: "invalid_document", Errors: []any{item, item, item}, Warnings: []any{item},
		})
	}
	for _, kind := range []string{operation.BulkImport, operation.BulkPush} {
		s := operation.Decider.Fold(operation.State{}, run(kind))
		s.Bulk = &bulk
		events, err := operation.Decider.Decide(s, operation.End{Epoch: 3, Now: at, Status: operation.Succeeded})
		require.NoError(t, err)
		body, err := json.Marshal(events[0])
		require.NoError(t, err)
		require.Less(t, len(body), 900<<10)
		require.Contains(t, string(body), `"truncated":true`)
		require.Contains(t, string(body), `"errorsCount":2000`)
	}
}
