package activity_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/catalog"
)

func terms() activity.Terms { return activity.Terms{Limit: 100} }

// emit is an emission that comes as JSON does.
func emit(eventType, payload string) activity.Emission {
	return activity.Emission{Type: eventType, Payload: json.RawMessage(payload)}
}

func TestWhatMayBeEmitted(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]activity.Emission{
		"a name":                       emit("order.paid", `{"id":1}`),
		"empty tokens, dots and blank": emit(" a..b. ", `{}`),
		"all the characters":           emit("aZ09 ._-", `{}`),
		"the longest name":             emit(strings.Repeat("n", 200), `{}`),
		"a name below a native one":    emit("workspaces.created.again", `{}`),
		"a name beside a native one":   emit("runtime.mine", `{}`),
		"an error":                     emit("error", `{"error":"Oops","message":"it failed","details":{"at":1},"more":true}`),
		"an error without details":     emit("error", `{"error":"Oops","message":"it failed","details":null}`),
		"an error of an app":           emit("shop.error", `{"error":"Oops","message":"it failed"}`),
		"one's own kind of error":      emit("payment.error", `{"order":7}`),
		"usage":                        emit("usage", `{"metrics":{"calls":{"value":1.5,"action":"increment"},"size":{"value":0,"action":"set"}}}`),
		"usage of an app":              emit("shop.usage", `{"metrics":{}}`),
		"as long as may be":            emit("a", `{"a":"`+strings.Repeat("é", 92)+`"}`),
	} {
		t.Run(name, func(t *testing.T) {
			settled, err := terms().Normalise([]activity.Emission{e})
			require.NoError(t, err)
			require.Equal(t, []activity.Emission{e}, settled)
		})
	}
}

func TestWhatMayNotBeEmitted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		emission activity.Emission
		field    string
	}{
		"no name":                  {emit("", `{}`), "type"},
		"a name that is too long":  {emit(strings.Repeat("n", 201), `{}`), "type"},
		"wildcards":                {emit("a.*", `{}`), "type"},
		"the other wildcard":       {emit("a.>", `{}`), "type"},
		"two lines":                {emit("a\n", `{}`), "type"},
		"letters with accents":     {emit("é", `{}`), "type"},
		"a list":                   {emit("a", `[1]`), "payload"},
		"a text":                   {emit("a", `"x"`), "payload"},
		"a number out of range":    {emit("a", `{"n":1e999}`), "payload"},
		"an error that is none":    {emit("error", `{}`), "payload.error"},
		"an error of a number":     {emit("error", `{"error":1,"message":"m"}`), "payload.error"},
		"an error without message": {emit("error", `{"error":"e"}`), "payload.message"},
		"an error with odd detail": {emit("error", `{"error":"e","message":"m","details":[1]}`), "payload"},
		"one that does not open":   {emit("error", `{"error":"e","message":"m","Details":"text"}`), "payload"},
		"usage without metrics":    {emit("usage", `{}`), "payload.metrics"},
		"usage of nothing":         {emit("shop.usage", `{"metrics":{"a":1}}`), "payload.metrics"},
		"usage without a number":   {emit("shop.usage", `{"metrics":{"a":{"value":"1","action":"set"}}}`), "payload.metrics"},
		"usage of another action":  {emit("a.b.usage", `{"metrics":{"a":{"value":1,"action":"add"}}}`), "payload.metrics"},
		"a user of two lines":      {activity.Emission{Type: "a", Target: &domain.Target{UserID: "a\nb"}}, "target.userId"},
		"a session without end":    {activity.Emission{Type: "a", Target: &domain.Target{SessionID: strings.Repeat("s", 257)}}, "target.sessionId"},
		"a topic of bytes":         {activity.Emission{Type: "a", Target: &domain.Target{UserTopic: "\xff"}}, "target.userTopic"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := terms().Normalise([]activity.Emission{emit("fine", `{}`), test.emission})
			refusal := &domain.Error{}
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, domain.CodeValidation, refusal.Code)
			require.NotContains(t, refusal.Details, "reason")
			faults := refusal.Details["errors"].([]domain.FieldError)
			require.Len(t, faults, 1)
			require.Equal(t, "events[1]."+test.field, faults[0].Field)
			require.Less(t, len(err.Error()), 200, "what was sent is not sent back")
		})
	}
}

// Whatever the platform writes nobody else writes, whether the catalogue of the
// contract names it or this version alone.
func TestNativeTypesAreNotEmitted(t *testing.T) {
	t.Parallel()
	types := []string{"runtime.automations.executed", "runtime.contexts.updated", "events.cleaned", "workspaces.subscriptions.disabled", "webhooks.test"}
	for _, f := range catalog.Table() {
		if f.Name != "error" && f.Name != "usage" {
			types = append(types, f.Name)
		}
	}
	for _, name := range types {
		_, err := terms().Normalise([]activity.Emission{emit("fine", `{}`), emit(name, `{}`)})
		refusal := &domain.Error{}
		require.ErrorAs(t, err, &refusal, name)
		require.Equal(t, domain.CodeValidation, refusal.Code)
		require.Equal(t, "native_type", refusal.Details["reason"])
		require.Equal(t, "events[1].type", refusal.Details["errors"].([]domain.FieldError)[0].Field)
	}
}

func TestEveryFaultOfABatchIsNamed(t *testing.T) {
	t.Parallel()
	_, err := terms().Normalise([]activity.Emission{emit("*", `1`), emit("ok", `{}`), emit("apps.deleted", `2`)})
	refusal := &domain.Error{}
	require.ErrorAs(t, err, &refusal)
	var fields []string
	for _, fault := range refusal.Details["errors"].([]domain.FieldError) {
		fields = append(fields, fault.Field)
	}
	require.Equal(t, []string{"events[0].type", "events[0].payload", "events[2].type", "events[2].payload"}, fields)
}

func TestABatchHasItsSize(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, activity.MaxEmissions + 1} {
		_, err := terms().Normalise(make([]activity.Emission, n))
		require.Equal(t, domain.CodeValidation, domain.CodeOf(err), n)
	}
}

func TestTheSizeIsThatOfTheCompactPayload(t *testing.T) {
	t.Parallel()
	blanks := strings.Repeat(" ", 200)
	settled, err := terms().Normalise([]activity.Emission{emit("a", `{`+blanks+`"a": "b c"`+blanks+`}`), emit("b", ""), emit("c", " null\n")})
	require.NoError(t, err)
	require.Equal(t, []activity.Emission{emit("a", `{"a":"b c"}`), emit("b", `{}`), emit("c", `{}`)}, settled)

	_, err = terms().Normalise([]activity.Emission{emit("a", `{}`), emit("big", `{"a":"`+strings.Repeat("é", 93)+`"}`)})
	require.Equal(t, domain.Refuse(domain.CodeInvalidRequest, "the payload of big has more than 100 characters").
		Reason("event_too_large").With("eventType", "big").With("length", 101).With("limit", 100), err)
}
