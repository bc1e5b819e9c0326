package events_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// cloudEvent is an event in the JSON form of CloudEvents 1.0, with the attributes that
// we add.
type cloudEvent struct {
	SpecVersion     string         `json:"specversion"`
	ID              string         `json:"id"`
	Source          string         `json:"source"`
	Type            string         `json:"type"`
	Time            string         `json:"time"`
	DataContentType string         `json:"datacontenttype"`
	Seq             string         `json:"svcseq"`
	CorrelationID   string         `json:"svccorrelationid"`
	UserID          string         `json:"svcuserid"`
	Data            map[string]any `json:"data"`
}

// asCloud is what CloudEvents says of an event.
func asCloud(t *testing.T, p nodetest.Workspace, e nodetest.Event) cloudEvent {
	t.Helper()
	return cloudEvent{
		SpecVersion: "1.0", ID: e.ID, Source: "/v2/workspaces/" + p.ID, Type: e.Type, Time: e.CreatedAt, DataContentType: "application/json",
		Seq: e.Seq, CorrelationID: e.Source["correlationId"].(string), UserID: p.UserID(t), Data: e.Payload,
	}
}

func TestEventsAreReadAsCloudEvents(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	made, _ := p.Emit(t, `{"type":"order.paid","payload":{"id":7}},{"type":"order.shipped"}`)

	const batchType = "application/cloudevents-batch+json"
	for _, accept := range []string{batchType, batchType + ";charset=utf-8, */*;q=0.1"} {
		got := p.Do(t, http.StatusOK, "GET", p.Path+"/events?types=order.*", "", "Accept", accept)
		require.Equal(t, batchType+"; charset=utf-8", got.Header.Get("Content-Type"))
		var batch []cloudEvent
		require.NoError(t, json.Unmarshal(got.Body, &batch), "%s", got.Body)
		require.Equal(t, []cloudEvent{asCloud(t, p, made[1]), asCloud(t, p, made[0])}, batch, "the same page, newest first")
	}
	empty := p.Do(t, http.StatusOK, "GET", p.Path+"/events?types=none", "", "Accept", batchType)
	require.JSONEq(t, `[]`, string(empty.Body))

	one := p.Do(t, http.StatusOK, "GET", p.Path+"/events/"+made[0].ID, "", "Accept", "application/cloudevents+json")
	require.Equal(t, "application/cloudevents+json; charset=utf-8", one.Header.Get("Content-Type"))
	var single cloudEvent
	require.NoError(t, json.Unmarshal(one.Body, &single))
	require.Equal(t, asCloud(t, p, made[0]), single)
}
