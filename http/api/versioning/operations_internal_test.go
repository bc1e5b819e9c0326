package versioning

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/operations"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections/livetest"
)

// singleNodeLeases holds every lease: there is one node only.
type singleNodeLeases struct{}

func (singleNodeLeases) Hold(ctx context.Context, _ string, work func(context.Context) error) error {
	return work(ctx)
}

func TestALongCallAnswersWithItsOperation(t *testing.T) {
	t.Parallel()
	store, models := livetest.Open(t)
	engine, err := commands.NewEngine(commands.EngineOptions{Store: store.Log, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ws := commands.Workspaces{Engine: engine}
	made, err := ws.Create(t.Context(), workspace.Settings{Name: "Shop"})
	require.NoError(t, err)
	runner := &operations.Runner{Engine: engine, Workspaces: ws, Leases: singleNodeLeases{}, Blobs: store.Blobs}
	t.Cleanup(func() { require.NoError(t, runner.Close(context.WithoutCancel(t.Context()))) })
	d := &Handlers{ReadModel: models, Blobs: store.Blobs}

	var last string // id of the last operation
	call := func(query string, work operations.Work, answer func(operation.State) (any, error)) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/push"+query, nil)
		gateway.HandlerFunc(func(r *http.Request) (any, error) {
			h, err := runner.Start(r.Context(), operations.Spec{Kind: operation.Push, WorkspaceID: made.State.ID, Reason: workspace.PushInProgress}, work)
			if err != nil {
				return nil, err
			}
			last = h.ID()
			return d.operationResponse(r, h, answer)
		}).ServeHTTP(w, r)
		return w
	}
	plain := func(op operation.State) (any, error) { return op.Result, nil }
	returns := func(result any, err error) operations.Work {
		return func(context.Context, *operations.Run) (any, error) { return result, err }
	}

	got := call("", returns(map[string]string{"name": "v1"}, nil), plain)
	require.Equal(t, http.StatusOK, got.Code)
	require.JSONEq(t, `{"name":"v1"}`, got.Body.String())
	require.Equal(t, last, got.Header().Get("X-Svc-Operation-Id"))

	got = call("?timeout=2m", returns("v1", nil), func(op operation.State) (any, error) { return gateway.Created(op.Result, "/here"), nil })
	require.Equal(t, http.StatusCreated, got.Code)
	require.Equal(t, last, got.Header().Get("X-Svc-Operation-Id"))

	large := strings.Repeat("x", 300<<10)
	require.Equal(t, `"`+large+`"`, call("?timeout=30", returns(large, nil), plain).Body.String(), "also one that is kept apart")

	got = call("", returns(nil, domain.Refuse(domain.CodeConflict, "pull first").Reason("not_up_to_date").With("behind", 2)), plain)
	require.Equal(t, http.StatusConflict, got.Code, "as the call itself would have failed")
	var body map[string]any
	require.NoError(t, json.Unmarshal(got.Body.Bytes(), &body))
	require.Equal(t, map[string]any{"reason": "not_up_to_date", "behind": 2.0}, body["details"])

	ready := make(chan struct{})
	got = call("?timeout=0", func(context.Context, *operations.Run) (any, error) { <-ready; return "v1", nil }, plain)
	require.Equal(t, http.StatusAccepted, got.Code)
	require.NoError(t, json.Unmarshal(got.Body.Bytes(), &body))
	require.Equal(t, true, body["processing"])
	require.Equal(t, last, body["operationId"])
	require.Equal(t, last, got.Header().Get("X-Svc-Operation-Id"))
	close(ready)
}

func TestForHowLongACallerWaits(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]time.Duration{
		"": 15 * time.Second, "?timeout=0": 0, "?timeout=20": 20 * time.Second, "?timeout=1500ms": 1500 * time.Millisecond,
		"?timeout=10m": 55 * time.Second, // the request ends after 60
	} {
		wait, err := readOperationWait(httptest.NewRequest(http.MethodPost, "/push"+query, nil))
		require.NoError(t, err)
		require.Equal(t, want, wait, query)
	}
	for _, bad := range []string{"?timeout=", "?timeout=-1", "?timeout=soon", "?timeout=1&timeout=2"} {
		_, err := readOperationWait(httptest.NewRequest(http.MethodPost, "/push"+bad, nil))
		require.Equal(t, domain.CodeInvalidParameter, domain.CodeOf(err), bad)
	}
}
