package subscription_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/catalog"
	"svc/domain/subscription"
)

// anyTime draws times with and without parts of a second, also in other zones, and the zero one.
func anyTime() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "zero") {
			return time.Time{}
		}
		at := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "seconds"), rapid.SampledFrom([]int64{0, 5e6, 123456789}).Draw(t, "nanoseconds"))
		return at.In(rapid.SampledFrom([]*time.Location{time.UTC, time.FixedZone("", 5400), time.FixedZone("", -7200)}).Draw(t, "zone"))
	})
}

func anyRecord() *rapid.Generator[subscription.Record] {
	text := rapid.OneOf(rapid.StringMatching(`[a-z]{0,8}`), rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	number := rapid.OneOf(rapid.IntRange(0, 5), rapid.Int())
	return rapid.Custom(func(t *rapid.T) subscription.Record {
		r := subscription.Record{Asked: rapid.Bool().Draw(t, "asked"), Delivery: subscription.Delivery{
			ID: text.Draw(t, "id"), SubscriptionID: text.Draw(t, "subscription"), EventID: text.Draw(t, "event"), EventType: text.Draw(t, "type"),
			Seq:    domain.Position{State: rapid.Uint64().Draw(t, "state"), Activity: rapid.Uint64().Draw(t, "activity")},
			Status: subscription.Status(text.Draw(t, "status")), Forgotten: number.Draw(t, "forgotten"), Round: number.Draw(t, "round"),
			NextAttemptAt: anyTime().Draw(t, "next"), CreatedAt: anyTime().Draw(t, "created"), SortKey: text.Draw(t, "place"),
			Replay: text.Draw(t, "replay"), Lane: text.Draw(t, "lane"),
		}}
		for range rapid.IntRange(0, 3).Draw(t, "attempts") {
			r.Delivery.Attempts = append(r.Delivery.Attempts, subscription.Attempt{
				At: anyTime().Draw(t, "at"), Status: number.Draw(t, "answer"), Duration: rapid.Int64().Draw(t, "duration"),
				Error: text.Draw(t, "error"), ResponseBody: text.Draw(t, "body"),
			})
		}
		if rapid.Bool().Draw(t, "tried") {
			r.Health = &subscription.Health{Failures: number.Draw(t, "failures"), FailingSince: anyTime().Draw(t, "since"), LastDeliveryAt: anyTime().Draw(t, "last")}
		}
		return r
	})
}

// Records of deliveries encode and decode themselves: the result is that of encoding/json.
func TestRecordsOfDeliveriesAreEncodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ev := subscription.Attempted{Records: rapid.SliceOfN(anyRecord(), 0, 3).Draw(t, "records")}
		if rapid.Bool().Draw(t, "none") {
			ev.Records = nil
		}
		want, err := json.Marshal(ev)
		require.NoError(t, err)
		got, err := ev.AppendJSON(nil)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		requireDecodedAlike(t, want)
	})
	_, err := subscription.Attempted{Records: []subscription.Record{{Delivery: subscription.Delivery{CreatedAt: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}}}}.AppendJSON(nil)
	require.Error(t, err, "JSON has no such year")
}

// A new field has to be encoded, too: this record has all of them.
func TestEveryFieldOfARecordIsEncoded(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 18, 10, 0, 0, 0, time.UTC)
	r := subscription.Record{
		Asked: true, Health: &subscription.Health{Failures: 1, FailingSince: at, LastDeliveryAt: at},
		Delivery: subscription.Delivery{
			ID: "a", SubscriptionID: "b", EventID: "c", EventType: "d", Seq: domain.Position{State: 1, Activity: 2}, Status: subscription.Failed,
			Attempts:  []subscription.Attempt{{At: at, Status: 500, Duration: 3, Error: "e", ResponseBody: "f"}},
			Forgotten: 4, NextAttemptAt: at, CreatedAt: at, SortKey: "g", Replay: "h", Lane: "i", Round: 5,
		},
	}
	for _, v := range []any{r, *r.Health, r.Delivery, r.Delivery.Attempts[0]} {
		for i := range reflect.TypeOf(v).NumField() {
			require.False(t, reflect.ValueOf(v).Field(i).IsZero(), "%T.%s", v, reflect.TypeOf(v).Field(i).Name)
		}
	}
	ev := subscription.Attempted{Records: []subscription.Record{r}}
	want, err := json.Marshal(ev)
	require.NoError(t, err)
	got, err := ev.AppendJSON(nil)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	var decoded subscription.Attempted
	require.True(t, decoded.DecodeJSON(got))
	require.Equal(t, ev, decoded)
}

func TestForeignRecordsOfDeliveriesAreDecodedByEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{}`, `null`, `[]`, `{"records":null}`, `{"records":{}}`, `{"records":[]}`, `{"records":[{}]}`, `{"records":[{},]}`, `{"records":[1]}`, `{"records":[{}{}]}`,
		`{"RECORDS":[{"asked":true}]}`, `{"records":[{"more":1}]}`, `{"records":[{"delivery":null,"health":null,"asked":null}]}`, `{"records":[{"asked":"yes"}]}`,
		`{"records":[{"delivery":{"seq":"?"}}]}`, `{"records":[{"delivery":{"seq":5}}]}`, `{"records":[{"delivery":{"createdAt":null}}]}`,
		`{"records":[{"delivery":{"createdAt":"yesterday"}}]}`, `{"records":[{"delivery":{"attempts":[]}}]}`, `{"records":[{"delivery":{"attempts":[{"status":"ok"}]}}]}`,
		`{"records":[{"delivery":{"attempts":[{},{"at":"2026-11-18T10:00:00Z"}],"Round":2}}]}`, `{"records":[{"health":{"failures":1.5}}]}`,
		` { "records" : [ { "health" : { "failures" : 3 } } , { } ] } `, `{"records":[{"asked":true}],"records":[{}]}`,
		`{"records":[{"health":{"failures":3},"health":{}}]}`,
	} {
		requireDecodedAlike(t, []byte(body))
	}
}

// requireDecodedAlike decodes an event as it is decoded from the log, and with encoding/json.
func requireDecodedAlike(t require.TestingT, body []byte) {
	var want subscription.Attempted
	wantErr := json.Unmarshal(body, &want)
	got, err := catalog.Events().Decode(want.EventType(), body)
	require.Equal(t, wantErr == nil, err == nil, "%s: %v", body, err)
	if err == nil {
		require.Equal(t, domain.Event(want), got, "%s", body)
	}
}
