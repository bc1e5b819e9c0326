package subscription_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/domaintest"
	"svc/domain/feed"
	"svc/domain/subscription"
)

type scenario = domaintest.Scenario[subscription.State, subscription.Command]

var (
	noon  = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	terms = subscription.Terms{URL: "https://shop.example/hook", Types: []string{"orders.*"}}
	keys  = subscription.Keys{Sealed: []byte("sealed-1"), Last4: "abc="}
)

func summaryWith(change ...func(*subscription.Summary)) subscription.Summary {
	s := subscription.Summary{ID: "sub_1", Terms: terms, SecretLast4: "abc="}
	s.OrderKey, s.Filters = subscription.DefaultOrderKey, map[string]any{}
	for _, c := range change {
		c(&s)
	}
	return s
}

func disabled(reason string) func(*subscription.Summary) {
	return func(s *subscription.Summary) { s.Disabled, s.Reason = true, reason }
}

func to[T any](v T) *T { return &v }

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	made := subscription.Created{Subscription: summaryWith(), WorkspaceID: "w1", Keys: keys}
	stopped := subscription.Disabled{Subscription: summaryWith(disabled("5 days of failure")), Reason: "5 days of failure"}
	again := subscription.Updated{Subscription: summaryWith(), Keys: keys, Closes: true}
	gone := subscription.Deleted{Subscription: summaryWith()}
	for name, sc := range map[string]scenario{
		"a subscription is made, with the usual order": {
			When: subscription.Create{ID: "sub_1", WorkspaceID: "w1", Terms: terms, Keys: keys},
			Then: []domain.Event{made},
		},
		"an id is used once": {
			Given: []domain.Event{made, gone},
			When:  subscription.Create{ID: "sub_1", WorkspaceID: "w1", Terms: terms, Keys: keys},
		},
		"bad terms are refused": {
			When:   subscription.Create{ID: "sub_1", WorkspaceID: "w1", Terms: subscription.Terms{URL: "ftp://x"}, Keys: keys},
			Refuse: domain.CodeValidation,
		},
		"a patch merges": {
			Given: []domain.Event{made},
			When:  subscription.Change{Patch: subscription.Patch{Description: to("for the shop")}},
			Then: []domain.Event{subscription.Updated{
				Subscription: summaryWith(func(s *subscription.Summary) { s.Description = "for the shop" }), Keys: keys,
			}},
		},
		"a patch that changes nothing records nothing": {
			Given: []domain.Event{made},
			When:  subscription.Change{Patch: subscription.Patch{URL: to(terms.URL)}},
		},
		"a patch to something bad is refused": {
			Given:  []domain.Event{made},
			When:   subscription.Change{Patch: subscription.Patch{Types: to([]string{})}},
			Refuse: domain.CodeValidation,
		},
		"to say that it is not disabled closes the breaker, even when it was not": {
			Given: []domain.Event{made},
			When:  subscription.Change{Patch: subscription.Patch{Disabled: to(false)}},
			Then:  []domain.Event{subscription.Updated{Subscription: summaryWith(), Keys: keys, Closes: true}},
		},
		"the platform disables it with a reason": {
			Given: []domain.Event{made},
			When:  subscription.Disable{Reason: "5 days of failure"},
			Then:  []domain.Event{stopped},
		},
		"what is disabled is not disabled again": {
			Given: []domain.Event{made, stopped},
			When:  subscription.Disable{Reason: "5 days of failure"},
		},
		"failures from before it was enabled again do not disable it": {
			Given: []domain.Event{made, stopped, again},
			When:  subscription.Disable{Reason: "5 days of failure"},
		},
		"later failures disable it again": {
			Given: []domain.Event{made, stopped, again},
			When:  subscription.Disable{Reason: "5 days of failure", Closed: 1},
			Then:  []domain.Event{stopped},
		},
		"it goes on without the reason": {
			Given: []domain.Event{made, stopped},
			When:  subscription.Change{Patch: subscription.Patch{Disabled: to(false)}},
			Then:  []domain.Event{subscription.Updated{Subscription: summaryWith(), Keys: keys, Closes: true}},
		},
		"a rotation keeps the secret before it for a while": {
			Given: []domain.Event{made},
			When:  subscription.Rotate{Sealed: []byte("sealed-2"), Last4: "xyz=", Until: noon},
			Then: []domain.Event{subscription.Updated{
				Subscription: summaryWith(func(s *subscription.Summary) { s.SecretLast4 = "xyz=" }),
				Keys:         subscription.Keys{Sealed: []byte("sealed-2"), Last4: "xyz=", Previous: []byte("sealed-1"), PreviousUntil: noon},
			}},
		},
		"it is deleted": {
			Given: []domain.Event{made},
			When:  subscription.Delete{},
			Then:  []domain.Event{gone},
		},
		"what is deleted is not there": {
			Given:  []domain.Event{made, gone},
			When:   subscription.Change{},
			Refuse: domain.CodeNotFound,
		},
		"what was never made is not there": {
			When:   subscription.Disable{},
			Refuse: domain.CodeNotFound,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc.Check(t, subscription.Decider)
		})
	}
}

func TestPayloadsHaveNoSecretNotEvenSealed(t *testing.T) {
	t.Parallel()
	one := summaryWith()
	one.URL += "?token=of-the-receiver#here"
	for _, ev := range []domain.PayloadEvent{
		subscription.Created{Subscription: one, Keys: keys}, subscription.Updated{Subscription: one, Keys: keys}, subscription.Deleted{Subscription: one},
	} {
		body, err := json.Marshal(ev.Payload())
		require.NoError(t, err)
		require.JSONEq(t, `{"subscription":{"id":"sub_1","url":"https://shop.example/hook","types":["orders.*"],"filters":{},
			"orderKey":"source.correlationId","description":"","disabled":false,"secretLast4":"abc="}}`, string(body))
	}
}

func TestTermsThatNothingCouldBeDeliveredBy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*subscription.Terms)
		field  string
	}{
		"no address":         {func(t *subscription.Terms) { t.URL = "" }, "url"},
		"another scheme":     {func(t *subscription.Terms) { t.URL = "gopher://x/y" }, "url"},
		"no host":            {func(t *subscription.Terms) { t.URL = "https:///x" }, "url"},
		"no port":            {func(t *subscription.Terms) { t.URL = "https://shop.example:0/" }, "url"},
		"a port too high":    {func(t *subscription.Terms) { t.URL = "https://shop.example:65536/" }, "url"},
		"credentials":        {func(t *subscription.Terms) { t.URL = "https://me:pw@shop.example/" }, "url"},
		"too long":           {func(t *subscription.Terms) { t.URL = "https://x/" + strings.Repeat("a", 2048) }, "url"},
		"no types":           {func(t *subscription.Terms) { t.Types = nil }, "types"},
		"too many types":     {func(t *subscription.Terms) { t.Types = make([]string, 51) }, "types"},
		"a strange type":     {func(t *subscription.Terms) { t.Types = []string{"ok", "a>b"} }, "types.1"},
		"too many filters":   {func(t *subscription.Terms) { t.Filters = many(21) }, "filters"},
		"types as a filter":  {func(t *subscription.Terms) { t.Filters = map[string]any{"types": "x"} }, "filters.types"},
		"a strange filter":   {func(t *subscription.Terms) { t.Filters = map[string]any{"payload.x": map[string]any{}} }, "filters.payload.x"},
		"a filter of paging": {func(t *subscription.Terms) { t.Filters = map[string]any{"limit": 3.0} }, "filters.limit"},
		"no path":            {func(t *subscription.Terms) { t.OrderKey = "payload..x" }, "orderKey"},
		"a long description": {func(t *subscription.Terms) { t.Description = strings.Repeat("é", 501) }, "description"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := terms
			bad.OrderKey = subscription.DefaultOrderKey
			tt.change(&bad)
			var refusal *domain.Error
			require.ErrorAs(t, bad.Validate(), &refusal)
			require.Equal(t, domain.CodeValidation, refusal.Code)
			faults := refusal.Details["errors"].([]domain.FieldError)
			require.Equal(t, tt.field, faults[0].Field, faults[0].Message)
		})
	}
	good := subscription.Terms{
		URL: "http://127.0.0.1:8080/x?y=z", Types: []string{"*", "a b.c_d-e*"}, OrderKey: "payload.order.id", Description: "two\nlines",
		Filters: map[string]any{"payload.kind": []any{"a", "b*"}, "appInstanceDepth": -1.0, "source.userId": nil},
	}
	require.NoError(t, good.Validate())
}

func many(n int) map[string]any {
	all := map[string]any{}
	for i := range n {
		all["payload."+strings.Repeat("x", i+1)] = "y"
	}
	return all
}

func TestSecretsAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	require.NoError(t, subscription.CheckSecret(subscription.Secret(make([]byte, 24))))
	require.NoError(t, subscription.CheckSecret(subscription.Secret(make([]byte, 64))))
	for _, bad := range []string{"", "whsec_", "whsec_***", subscription.Secret(make([]byte, 24)) + "\n", subscription.Secret(make([]byte, 23)), subscription.Secret(make([]byte, 65)), strings.TrimPrefix(subscription.Secret(make([]byte, 32)), "whsec_")} {
		err := subscription.CheckSecret(bad)
		require.Equal(t, domain.CodeValidation, domain.CodeOf(err), bad)
		if len(bad) > 6 {
			require.NotContains(t, err.Error(), bad[6:])
		}
	}
}

func TestADeliveryIsTriedUntilItsScheduleIsOver(t *testing.T) {
	t.Parallel()
	schedule := []time.Duration{5 * time.Second, 5 * time.Minute}
	d := subscription.Delivery{ID: subscription.DeliveryID("sub_1", "e1", ""), Status: subscription.Pending, Lane: "l"}
	refused := subscription.Attempt{At: noon, Status: 500, Duration: 1000}
	d = d.Tried(refused, schedule)
	require.Equal(t, subscription.Failed, d.Status)
	require.Equal(t, noon.Add(6*time.Second), d.NextAttemptAt, "after the answer")
	d = d.Tried(refused, schedule)
	require.Equal(t, noon.Add(time.Second+5*time.Minute), d.NextAttemptAt)
	require.True(t, d.Open())
	d = d.Tried(subscription.Attempt{At: noon, Error: "no answer"}, schedule)
	require.Equal(t, subscription.Dead, d.Status)
	require.False(t, d.Open())

	d = d.Again(noon)
	require.Equal(t, subscription.Pending, d.Status)
	require.Empty(t, d.Lane, "those behind it have gone on")
	d = d.Tried(refused, schedule)
	require.Equal(t, subscription.Failed, d.Status, "the schedule begins anew")
	d = d.Tried(subscription.Attempt{At: noon, Status: 204}, schedule)
	require.Equal(t, subscription.Succeeded, d.Status)
	require.Len(t, d.Attempts, 5)
	require.True(t, d.NextAttemptAt.IsZero())
}

func TestADeliveryRemembersTheLastAttemptsAndCountsAll(t *testing.T) {
	t.Parallel()
	schedule := make([]time.Duration, 30)
	d := subscription.Delivery{Status: subscription.Pending}
	for i := range 30 {
		d = d.Tried(subscription.Attempt{At: noon, Status: 500, Duration: int64(i)}, schedule)
		require.Equal(t, subscription.Failed, d.Status)
	}
	require.Len(t, d.Attempts, 20)
	require.Equal(t, int64(10), d.Attempts[0].Duration, "the last ones")
	d = d.Tried(subscription.Attempt{At: noon, Status: 500}, schedule)
	require.Equal(t, subscription.Dead, d.Status)
	d = d.Again(noon).Tried(subscription.Attempt{At: noon, Status: 500}, schedule)
	require.Equal(t, subscription.Failed, d.Status, "the schedule begins anew")
	require.Equal(t, 12, d.Forgotten)
}

func TestARecordIsNeverLargerThanItsWeight(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", strings.Repeat("\x01", 1024), strings.Repeat("<&>", 300), strings.Repeat(`"\`, 500), strings.Repeat("\u2028é\uFFFD\n", 300)} {
		r := subscription.Record{Health: &subscription.Health{Failures: 9, FailingSince: noon, LastDeliveryAt: noon}, Asked: true, Delivery: subscription.Delivery{
			ID: subscription.DeliveryID("s", "e", ""), SubscriptionID: "sub_0123456789abcdef", EventID: strings.Repeat("0", 26), EventType: strings.Repeat("a", 200),
			SortKey: strings.Repeat("0", 33), Lane: strings.Repeat("l", 16), Replay: "op_0123456789abcdef", CreatedAt: noon, NextAttemptAt: noon, Status: subscription.Pending,
		}}
		for range 3 {
			r.Delivery.Attempts = append(r.Delivery.Attempts, subscription.Attempt{At: noon, Status: 500, Duration: 123456, Error: text, ResponseBody: text})
		}
		body, err := json.Marshal(r)
		require.NoError(t, err)
		require.LessOrEqual(t, len(body), r.Weight())
	}
}

func TestTenFailuresInARowOpenTheBreaker(t *testing.T) {
	t.Parallel()
	var h subscription.Health
	for i := range 10 {
		require.False(t, h.Broken())
		h = h.After(subscription.Attempt{At: noon.Add(time.Duration(i) * time.Minute), Status: 302})
	}
	require.True(t, h.Broken())
	require.Equal(t, noon, h.FailingSince)
	h = h.After(subscription.Attempt{At: noon.Add(time.Hour), Status: 200})
	require.Equal(t, subscription.Health{LastDeliveryAt: noon.Add(time.Hour)}, h)
}

func TestIDsOfDeliveriesAreOfTheirEventAndReplay(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, parts := range [][3]string{{"s", "e", ""}, {"s", "e", "op_1"}, {"s", "f", ""}, {"t", "e", ""}} {
		id := subscription.DeliveryID(parts[0], parts[1], parts[2])
		require.Equal(t, id, subscription.DeliveryID(parts[0], parts[1], parts[2]))
		require.Regexp(t, `^dlv_[a-z2-7]{24}$`, id)
		ids[id] = true
	}
	require.Len(t, ids, 4)
	require.Equal(t, "dlv_m35j4ohddytawrnwas67onrw", subscription.DeliveryID("sub_1", "e1", ""), "recorded ids never change")
	require.Equal(t, "siwg2dutkj24oiwg", subscription.Lane("sub_1", "", `["a"]`))
}

func TestPlacesSortAsTheFeedDoes(t *testing.T) {
	t.Parallel()
	at := func(ms int, log domain.Log, seq uint64) string {
		return subscription.SortKey(&feed.Event{At: noon.Add(time.Duration(ms) * time.Millisecond), Log: log, Seq: domain.At(log, seq)})
	}
	order := []string{at(0, domain.State, 9), at(0, domain.Activity, 2), at(0, domain.Activity, 10), at(1, domain.State, 10), at(1, domain.Activity, 11)}
	require.IsIncreasing(t, order)
	e := &feed.Event{At: time.Unix(0, 0x18e9769cd851adb8), Log: domain.Activity, Seq: domain.Position{State: 5, Activity: 17}}
	require.Equal(t, "18e9769cd851adb810000000000000011", subscription.SortKey(e), "recorded places never change")
}
