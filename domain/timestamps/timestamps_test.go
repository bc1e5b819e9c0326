package timestamps_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/timestamps"
)

type inner struct {
	At time.Time `json:"at"`
}

type outer struct {
	inner
	Name  string               `json:"name"`
	Until *time.Time           `json:"until"`
	List  []inner              `json:"list"`
	Map   map[string]time.Time `json:"map"`
	Any   any                  `json:"any"`
	Self  *outer               `json:"self,omitempty"`
	Made  time.Time
}

func TestTimesHaveOneForm(t *testing.T) {
	paris := time.FixedZone("", 3600)
	at := time.Date(2026, 1, 1, 1, 2, 3, 4_567_891, paris)
	whole := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	v := outer{inner{at}, "2026-01-01T00:00:00Z", &whole, []inner{{whole}, {at}}, map[string]time.Time{"k": at}, "2026-01-01T00:00:00Z", nil, whole}
	text, err := json.Marshal(v)
	require.NoError(t, err)
	require.Equal(t, `{"at":"2026-01-01T00:02:03.004Z","name":"2026-01-01T00:00:00Z","until":"2026-01-01T00:00:00.000Z",`+
		`"list":[{"at":"2026-01-01T00:00:00.000Z"},{"at":"2026-01-01T00:02:03.004Z"}],"map":{"k":"2026-01-01T00:02:03.004Z"},`+
		`"any":"2026-01-01T00:00:00Z","Made":"2026-01-01T00:00:00.000Z"}`, string(timestamps.Normalize(reflect.TypeOf(v), text)), "and texts stay")

	none, err := json.Marshal(outer{})
	require.NoError(t, err)
	require.Contains(t, string(timestamps.Normalize(reflect.TypeOf(&v), none)), `"until":null,"list":null,"map":null`)
	for _, other := range []string{`[]`, `7`, `"x"`, `{"at":"never"}`, ``} {
		require.Equal(t, other, string(timestamps.Normalize(reflect.TypeOf(v), []byte(other))), "what is not of the type stays")
	}
	require.Equal(t, `{"a":1}`, string(timestamps.Normalize(reflect.TypeOf(map[string]int{}), []byte(`{"a":1}`))))
	require.Equal(t, `1`, string(timestamps.Normalize(nil, []byte(`1`))))
}
