package activity_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/activity"
)

func TestWhatWasCleanedHasTheShapeOfItsJob(t *testing.T) {
	before := "2026-01-01T00:00:00.000Z"
	indices := activity.Cleaned{
		Expired: &activity.Expired{}, Inactive: &activity.Inactive{Found: []activity.Idle{}}, Deleted: &activity.Deleted{Found: []activity.Gone{}},
		Errors: []activity.Fault{},
	}
	body, err := json.Marshal(indices)
	require.NoError(t, err)
	require.JSONEq(t, `{"dryRun":false,"startedAt":"","duration":0,"expiredEvents":{"before":null,"total":0},
		"inactiveWorkspaces":{"found":[],"deletedEvents":0},"deletedWorkspaces":{"found":[],"deletedEvents":0},"errors":[]}`, string(body))

	executions := activity.Cleaned{Job: activity.JobExecutions, DryRun: true, Stripped: &activity.Stripped{Before: &before, Count: 2, FreedBytes: 9}, Errors: []activity.Fault{}}
	body, err = json.Marshal(executions)
	require.NoError(t, err)
	require.JSONEq(t, `{"job":"executions","dryRun":true,"startedAt":"","duration":0,"before":"2026-01-01T00:00:00.000Z","stripped":2,"freedBytes":9,"errors":[]}`, string(body))
	var back activity.Cleaned
	require.NoError(t, json.Unmarshal(body, &back))
	require.Equal(t, executions, back)
}

func TestALongListOfWhatWasCleanedIsCut(t *testing.T) {
	c := activity.Cleaned{Job: activity.JobIndices, Inactive: &activity.Inactive{DeletedEvents: 7}, Errors: []activity.Fault{}}
	require.Equal(t, c, c.Within(1000), "what fits stays as it is")
	for i := range 500 {
		c.Inactive.Found = append(c.Inactive.Found, activity.Idle{WorkspaceID: fmt.Sprintf("w%d", i), InactivityDays: 40, EventsCount: 1})
	}
	cut, ok := c.Within(1000).(activity.Cleaned)
	require.True(t, ok)
	require.True(t, cut.Truncated)
	require.Equal(t, activity.JobIndices, cut.Job)
	require.NotEmpty(t, cut.Inactive.Found)
	require.EqualValues(t, 7, cut.Inactive.DeletedEvents)
	body, err := json.Marshal(cut)
	require.NoError(t, err)
	require.LessOrEqual(t, len(body), 1000)
}
