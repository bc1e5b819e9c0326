package projections

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/subscription"
)

// What is stored of a delivery is what encoding/json makes of it.
func TestRecordsOfDeliveriesAreStoredAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 18, 10, 0, 0, 5e6, time.UTC)
	full := DeliveryRecord{
		Delivery:    subscription.Delivery{ID: "a", SubscriptionID: "b", Seq: domain.Position{State: 1}, Attempts: []subscription.Attempt{{At: at, Error: "<e>"}}, CreatedAt: at},
		WorkspaceID: "w", Last: 1 << 40, Asked: true,
	}
	for i := range reflect.TypeOf(full).NumField() {
		require.False(t, reflect.ValueOf(full).Field(i).IsZero(), reflect.TypeOf(full).Field(i).Name)
	}
	for _, d := range []DeliveryRecord{full, {}} {
		want, err := json.Marshal(d)
		require.NoError(t, err)
		got, err := d.encoded()
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
}
