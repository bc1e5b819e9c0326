package runs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/activity"
	"svc/eventstore"
	"svc/http/api/handler"
	"svc/projections"
	"svc/projections/livetest"
)

// ranAt records runs r0, r1, … of workspace w1, that began so many milliseconds after noon.
// Every third is of the automation pay.
func ranAt(t *testing.T, store eventstore.Store, millis ...int) {
	t.Helper()
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var commits []eventstore.Commit
	for i, at := range millis {
		slug := "other"
		if i%3 == 0 {
			slug = "pay"
		}
		commits = append(commits, eventstore.Commit{
			Stream: domain.StreamID{Scope: "w1"}, Meta: domain.Meta{CorrelationID: fmt.Sprintf("r%d", i)},
			Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: activity.Executed{
				Slug: slug, ExecutionID: fmt.Sprintf("x%d", i), Trigger: json.RawMessage(`{"type":"endpoint","value":"e"}`),
				StartedAt: handler.FormatTime(noon.Add(time.Duration(at) * time.Millisecond)),
			}}},
		})
	}
	_, err := store.Append(t.Context(), commits...)
	require.NoError(t, err)
}

// mayReadOf are the rights of somebody who may read the events of an automation.
func mayReadOf(t *testing.T, slug string) *access.Rights {
	t.Helper()
	var doc access.Security
	require.NoError(t, json.Unmarshal([]byte(`{"authorizations":{"rules":[{"action":"read","subject":"events","conditions":{"payload.slug":"`+slug+`"}}]}}`), &doc))
	policy, err := access.Compile("w1", doc)
	require.NoError(t, err)
	return (&access.Workspace{Policy: policy}).For(access.Principal{UserID: "u1"})
}

// Who may read some runs is shown all of them, page by page, although no page takes a look
// at more runs than it may.
func TestPagesOfRunsThatHaveToBeJudged(t *testing.T) {
	store, models := livetest.Open(t)
	ranAt(t, store.Log, 0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 12, 13, 14, 15, 16, 17, 18, 19)
	livetest.Fresh(t, models)
	d, rights := &Handlers{ReadModel: models, Now: time.Now}, mayReadOf(t, "pay")
	page := func(address string, most int) (ids []string, total, next string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, address, nil)
		q, err := readRunsQuery(r)
		require.NoError(t, err)
		q.most = most
		var list foundRuns
		require.NoError(t, models.View(func(rd projections.Reader) (err error) {
			list, err = q.find(t.Context(), rd, "w1", rights)
			return err
		}))
		for _, run := range list.runs {
			ids = append(ids, run.CorrelationID)
		}
		told := d.runsResponse(r, list, q.page).Header
		next, _, _ = strings.Cut(strings.TrimPrefix(told.Get("Link"), "<"), ">")
		return ids, told.Get("X-Total-Count"), next
	}
	all := []string{"r18", "r15", "r12", "r9", "r6", "r3", "r0"}
	for _, most := range []int{1, 2, 3, 5, 19, 20} {
		for _, limit := range []int{1, 2, 3, 20} {
			var ids []string
			counted := false
			for next, pages := fmt.Sprintf("/runs?limit=%d&from=2026-03-01", limit), 0; next != ""; pages++ {
				var more []string
				var total string
				more, total, next = page(next, most)
				ids, counted = append(ids, more...), counted || pages == 0 && total == "7"
				require.Less(t, pages, 50)
			}
			require.Equal(t, all, ids, "%d at a time, %d looked at", limit, most)
			require.Equal(t, most >= 20, counted, "only what was counted is told")
		}
	}
}

// Who may read all runs, or none, needs no look at any: the right is told by their type.
func TestRunsAreJudgedByTheirType(t *testing.T) {
	store, models := livetest.Open(t)
	ranAt(t, store.Log, 0, 1, 2)
	livetest.Fresh(t, models)
	policy, err := access.Compile("w1", access.Default("w1"))
	require.NoError(t, err)
	w := &access.Workspace{Policy: policy, Shares: []access.Share{{Target: access.Target{ID: "eve"}, Permissions: access.Permissions{Role: "editor"}}}}
	for who, want := range map[string]foundRuns{"eve": {total: 3}, "sam": {}, "": {}} {
		q := runsQuery{most: 0} // nothing may be judged
		q.page.Limit = 1
		require.NoError(t, models.View(func(rd projections.Reader) error {
			got, err := q.find(t.Context(), rd, "w1", w.For(access.Principal{UserID: who, SessionID: "s1"}))
			require.Equal(t, want.total, got.total, who)
			require.Len(t, got.runs, min(1, want.total), who)
			require.Zero(t, got.cut, who)
			return err
		}))
	}
}
