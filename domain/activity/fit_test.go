package activity_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/activity"
)

func TestWhatFitsStaysAsItIs(t *testing.T) {
	t.Parallel()
	payload := map[string]any{"a": "b", "list": []string{"c"}}
	fitting, truncated := activity.Fit(payload, 24)
	require.False(t, truncated)
	require.Equal(t, payload, fitting)
}

func TestTheLargestFieldsAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	for name, test := range map[string]struct {
		limit         int
		payload, want string
	}{
		"a text": {
			60, `{"id":7,"kind":"pull","text":"` + long + `"}`,
			`{"id":7,"kind":"pull","text":"xxxxxxxxx…","truncated":true}`,
		},
		"the larger of two texts": {
			70, `{"a":"` + long + `","b":"0123456789"}`,
			`{"a":"` + strings.Repeat("x", 26) + `…","b":"0123456789","truncated":true}`,
		},
		"the beginning of a list": {
			50, `{"list":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17],"big":12345678901234567890}`,
			`{"big":null,"list":[1,2,3,4,5],"truncated":true}`,
		},
		"deep inside": {
			90, `{"error":{"response":{"body":"` + long + `","status":500}}}`,
			`{"error":{"response":{"body":"xxxxxxxxxxxxxxxxxxxxxx…","status":500}},"truncated":true}`,
		},
		"the first item of a list": {
			50, `{"list":["` + long + `",1]}`,
			`{"list":["xxxxxxxxxxxxxxxxx…"],"truncated":true}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var payload map[string]any
			d := json.NewDecoder(strings.NewReader(test.payload))
			d.UseNumber()
			require.NoError(t, d.Decode(&payload))
			fitting, truncated := activity.Fit(payload, test.limit)
			require.True(t, truncated)
			got, err := json.Marshal(fitting)
			require.NoError(t, err)
			require.JSONEq(t, test.want, string(got), "%s", got)
			require.LessOrEqual(t, utf8.RuneCount(got), test.limit)
		})
	}
}

// Whatever the payload is, it fits, says so, and has no field that was not there.
func TestEverythingFits(t *testing.T) {
	t.Parallel()
	value := rapid.Deferred(func() *rapid.Generator[any] {
		text := rapid.Map(rapid.StringN(0, 200, -1), func(s string) any { return s })
		number := rapid.Map(rapid.Float64Range(-1e300, 1e300), func(n float64) any { return n })
		list := rapid.Map(rapid.SliceOfN(text, 0, 30), func(l []any) any { return l })
		object := rapid.Map(rapid.MapOfN(rapid.StringN(0, 20, -1), rapid.OneOf(text, number, list), 0, 40), func(m map[string]any) any { return m })
		return rapid.OneOf(text, number, list, object, rapid.Just[any](nil), rapid.Just[any](true))
	})
	payloads := rapid.MapOfN(rapid.StringN(0, 20, -1), value, 0, 60)
	rapid.Check(t, func(t *rapid.T) {
		payload, limit := payloads.Draw(t, "payload"), rapid.IntRange(100, 3000).Draw(t, "limit")
		fitting, truncated := activity.Fit(payload, limit)
		if size := sizeOf(t, fitting); size > limit {
			t.Fatalf("%d characters where %d are allowed", size, limit)
		}
		if truncated != (sizeOf(t, payload) > limit) || truncated && fitting["truncated"] != true {
			t.Fatalf("whether it was cut is not told: %v", fitting)
		}
		for key := range fitting {
			if _, there := payload[key]; !there && key != "truncated" {
				t.Fatalf("%q was not there", key)
			}
		}
	})
}

// sizeOf is the number of characters of the compact JSON of v.
func sizeOf(t require.TestingT, v any) int {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(v))
	return utf8.RuneCountInString(b.String()) - 1
}

func TestAnExecutionLosesWhatWentInAndOut(t *testing.T) {
	t.Parallel()
	payload := map[string]any{"slug": "a", "payload": strings.Repeat("x", 200), "output": 1, "duration": 3}
	fitting, truncated := activity.FitExecuted(payload, 100)
	require.True(t, truncated)
	require.Equal(t, map[string]any{"slug": "a", "payload": nil, "output": nil, "duration": 3, "truncated": true}, fitting)

	payload["slug"] = strings.Repeat("s", 200)
	fitting, truncated = activity.FitExecuted(payload, 100)
	require.True(t, truncated)
	require.LessOrEqual(t, sizeOf(t, fitting), 100)
	require.Nil(t, fitting["output"])

	fitting, truncated = activity.FitExecuted(payload, 1000)
	require.False(t, truncated)
	require.Equal(t, payload, fitting)
}

func TestAFailureWithHugeDetailsIsCut(t *testing.T) {
	t.Parallel()
	small := activity.Failure{Error: "e", Message: "m", Details: map[string]any{"errors": []domain.FieldError{{Field: "f", Message: "m"}}}}
	require.Equal(t, small, small.Within(1000))

	huge := activity.Failure{Error: "validation_failed", Message: "m", Details: map[string]any{
		"reason": "r", "errors": []domain.FieldError{{Field: "f", Message: strings.Repeat("m", 5000)}},
	}}
	cut := huge.Within(1000).(activity.Failure)
	require.True(t, cut.Truncated)
	require.Equal(t, "validation_failed", cut.Error)
	require.Equal(t, "r", cut.Details["reason"])
	require.LessOrEqual(t, sizeOf(t, cut), 1000)
	require.Greater(t, sizeOf(t, cut), 900, "no more is cut than must be")
}
