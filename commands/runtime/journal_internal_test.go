package runtime

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/value"
)

func TestPayloadsOfExecutionsAreEncodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	values := []any{&value.Object{}, value.NewObject("a", "b<i>&é\u2028\n\xff", "n", 1e21), "text", []any{1.5, nil, true}, nil}
	for _, in := range values {
		for _, out := range values {
			for _, logs := range [][]string{nil, {"one"}} {
				p := executionPayload{json.RawMessage(value.JSON(in, "")), json.RawMessage(value.JSON(out, "")), logs}
				for _, p := range []executionPayload{p, {Payload: p.Payload}, {Output: p.Output}, {Logs: logs}} {
					want, err := json.Marshal(p)
					require.NoError(t, err)
					require.Equal(t, string(want), string(p.encode()))
				}
			}
		}
	}
}

func TestIDsOfARunFollowEachOther(t *testing.T) {
	t.Parallel()
	require.Equal(t, "01M7EGMX05AW3VTJRWE8MAFA4J", followingID("01M7EGMX05AW3VTJRWE8MAFA4H"))
	require.Equal(t, "01M7EGMX05AW3VTJRWE8MAFB00", followingID("01M7EGMX05AW3VTJRWE8MAFAZZ"))
	require.Empty(t, followingID("event 7"), "not an id of the platform")
}
