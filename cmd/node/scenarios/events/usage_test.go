package events_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain/activity"
)

func TestUsage(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	none := p.Usage(t, "&interval=month")
	require.Equal(t, nodetest.UsageTotals(0, 0, 0, 0, 0, 0), none["total"])
	require.Equal(t, []any{}, none["apps"])
	require.NotEmpty(t, none["timeseries"])

	p.RecordInteraction(t, activity.ByEndpoint, "c1", "s1", "u1")
	p.RecordInteraction(t, activity.ByEvent, "c1", "s1", "u1")
	p.RecordInteraction(t, activity.BySchedule, "c2", "", "")
	p.RecordInteraction(t, activity.ByPage, "c3", "s2", "u1")
	p.RecordUsage(t, "pay", `{"calls":{"value":2,"action":"increment"},"seats":{"value":9,"action":"set"}}`)
	p.RecordUsage(t, "pay", `{"calls":{"value":3,"action":"increment"},"seats":{"value":4,"action":"set"}}`)
	p.Emit(t, `{"type":"pay.usage","payload":{"metrics":{"calls":{"value":99,"action":"increment"}}}}`) // which the app did not say
	custom := map[string]any{"custom": map[string]any{"calls": 5.0, "seats": 4.0}}

	t.Run("is told of a time", func(t *testing.T) {
		got := p.Usage(t, "")
		require.Equal(t, p.ID, got["workspaceId"])
		require.Equal(t, nodetest.UsageTotals(3, 1, 1, 1, 2, 1), got["total"])
		require.Equal(t, []any{map[string]any{"slug": "pay", "total": custom}}, got["apps"])
		require.NotContains(t, got, "timeseries")
		require.NotContains(t, got, "interval")
		require.Regexp(t, `T00:00:00\.000Z$`, got["afterDate"])
	})
	t.Run("day by day, with details", func(t *testing.T) {
		got := p.Usage(t, "&interval=day&details=true")
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
		got := p.Do(t, http.StatusOK, "GET", p.Path+"/usage?afterDate=2020-01-01&beforeDate=2020-03-01T12:00:00Z&interval=month", "").JSON(t)
		require.Equal(t, nodetest.UsageTotals(0, 0, 0, 0, 0, 0), got["total"])
		require.Equal(t, []any{"2020-01-01T00:00:00.000Z", "2020-02-01T00:00:00.000Z", "2020-03-01T00:00:00.000Z"}, nodetest.Fields(nodetest.AsMaps(got["timeseries"]), "date"))
	})
	t.Run("to those who may know", func(t *testing.T) {
		path := p.Path + "/usage?afterDate=2020-01-01&beforeDate=2021-01-01"
		reader := p.As(s.NewUser(t, "reader"))
		reader.RequireRefusal(t, http.StatusForbidden, "workspace_access_denied", "GET", path, "")
		p.Do(t, http.StatusOK, "POST", p.Path+"/permissions", `{"target":{"email":"reader@example.org"},"permissions":{"policies":{"read":true}}}`)
		details := reader.RequireRefusal(t, http.StatusForbidden, "permission_denied", "GET", path, "")
		require.Equal(t, map[string]any{"action": "get_usage", "subject": "workspaces"}, details)
		p.Do(t, http.StatusOK, "POST", p.Path+"/permissions", `{"target":{"email":"reader@example.org"},"permissions":{"role":"editor"}}`)
		reader.Do(t, http.StatusOK, "GET", path, "")
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
			p.RequireRefusal(t, http.StatusBadRequest, code, "GET", p.Path+"/usage?"+query, "")
		}
	})
}
