package node_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// interacts records that something made an automation run.
func (p place) interacts(t *testing.T, trigger, correlation, session, user string) {
	t.Helper()
	_, err := p.s.node.Store().Append(t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: p.id},
		Meta:   domain.Meta{CorrelationID: correlation, SessionID: session, UserID: user},
		Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: activity.Interaction{
			WorkspaceID: p.id, Automation: "charge", Trigger: activity.Trigger{Type: trigger, Value: "pay"},
		}}},
	})
	require.NoError(t, err)
}

// used asks for the usage of today, and of the days around.
func (p place) used(t *testing.T, more string) map[string]any {
	t.Helper()
	today := time.Now().UTC()
	query := fmt.Sprintf("/usage?afterDate=%s&beforeDate=%s%s", today.AddDate(0, 0, -1).Format(time.DateOnly), today.AddDate(0, 0, 2).Format(time.DateOnly), more)
	return p.does(t, http.StatusOK, "GET", p.path+query, "").json(t)
}

func totals(all, byHTTP, byEvent, bySchedule, sessions, users float64) map[string]any {
	return map[string]any{
		"transactions": all, "httpTransactions": byHTTP, "eventTransactions": byEvent, "scheduleTransactions": bySchedule,
		"sessions": sessions, "users": users,
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	none := p.used(t, "&interval=month")
	require.Equal(t, totals(0, 0, 0, 0, 0, 0), none["total"])
	require.Equal(t, []any{}, none["apps"])
	require.NotEmpty(t, none["timeseries"])

	p.interacts(t, activity.ByEndpoint, "c1", "s1", "u1")
	p.interacts(t, activity.ByEvent, "c1", "s1", "u1")
	p.interacts(t, activity.BySchedule, "c2", "", "")
	p.interacts(t, activity.ByPage, "c3", "s2", "u1")
	p.emits(t, `{"type":"pay.usage","payload":{"metrics":{"calls":{"value":2,"action":"increment"},"seats":{"value":9,"action":"set"}}}},
		{"type":"pay.usage","payload":{"metrics":{"calls":{"value":3,"action":"increment"},"seats":{"value":4,"action":"set"}}}}`)
	custom := map[string]any{"custom": map[string]any{"calls": 5.0, "seats": 4.0}}

	t.Run("is told of a time", func(t *testing.T) {
		got := p.used(t, "")
		require.Equal(t, p.id, got["workspaceId"])
		require.Equal(t, totals(3, 1, 1, 1, 2, 1), got["total"])
		require.Equal(t, []any{map[string]any{"slug": "pay", "total": custom}}, got["apps"])
		require.NotContains(t, got, "timeseries")
		require.NotContains(t, got, "interval")
		require.Regexp(t, `T00:00:00\.000Z$`, got["afterDate"])
	})
	t.Run("day by day, with details", func(t *testing.T) {
		got := p.used(t, "&interval=day&details=true")
		app := map[string]any{"slug": "pay", "total": custom, "appInstances": []any{map[string]any{"slug": "pay", "total": custom}}}
		require.Equal(t, []any{app}, got["apps"])
		days := got["timeseries"].([]any)
		require.Len(t, days, 3)
		require.Equal(t, got["afterDate"], days[0].(map[string]any)["date"])
		require.NotContains(t, days[0], "apps")
		var sum float64
		for _, day := range days { // midnight may have passed meanwhile
			sum += day.(map[string]any)["total"].(map[string]any)["transactions"].(float64)
		}
		require.InDelta(t, 3, sum, 1)
	})
	t.Run("of a moment that is over", func(t *testing.T) {
		got := p.does(t, http.StatusOK, "GET", p.path+"/usage?afterDate=2020-01-01&beforeDate=2020-03-01T12:00:00Z&interval=month", "").json(t)
		require.Equal(t, totals(0, 0, 0, 0, 0, 0), got["total"])
		require.Equal(t, []any{"2020-01-01T00:00:00.000Z", "2020-02-01T00:00:00.000Z", "2020-03-01T00:00:00.000Z"}, fields(asMaps(got["timeseries"]), "date"))
	})
	t.Run("to those who may know", func(t *testing.T) {
		path := p.path + "/usage?afterDate=2020-01-01&beforeDate=2021-01-01"
		reader := p.as(s.person(t, "reader"))
		reader.refuses(t, http.StatusForbidden, "workspace_access_denied", "GET", path, "")
		p.does(t, http.StatusOK, "POST", p.path+"/permissions", `{"target":{"email":"reader@example.org"},"permissions":{"policies":{"read":true}}}`)
		details := reader.refuses(t, http.StatusForbidden, "permission_denied", "GET", path, "")
		require.Equal(t, map[string]any{"action": "get_usage", "subject": "workspaces"}, details)
		p.does(t, http.StatusOK, "POST", p.path+"/permissions", `{"target":{"email":"reader@example.org"},"permissions":{"role":"editor"}}`)
		reader.does(t, http.StatusOK, "GET", path, "")
	})
	t.Run("not of a time that is none", func(t *testing.T) {
		for query, code := range map[string]string{
			"":                                  "missing_parameter",
			"afterDate=2020-01-01":              "missing_parameter",
			"beforeDate=2020-01-01":             "missing_parameter",
			"afterDate=x&beforeDate=2020-01-01": "invalid_parameter",
			"afterDate=2020-01-02&beforeDate=2020-01-01":                 "invalid_parameter",
			"afterDate=2020-01-01&beforeDate=2020-01-01":                 "invalid_parameter",
			"afterDate=2020-01-01&beforeDate=2020-01-02&interval=week":   "invalid_parameter",
			"afterDate=2020-01-01&beforeDate=2020-01-02&details=perhaps": "invalid_parameter",
			"afterDate=0001-01-01&beforeDate=2020-01-02&interval=day":    "invalid_parameter",
		} {
			p.refuses(t, http.StatusBadRequest, code, "GET", p.path+"/usage?"+query, "")
		}
	})
}

func asMaps(v any) (maps []map[string]any) {
	for _, item := range v.([]any) {
		maps = append(maps, item.(map[string]any))
	}
	return maps
}
