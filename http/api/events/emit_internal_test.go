package events

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A batch that decodes itself is what encoding/json makes of it; what has another shape is left to encoding/json.
func TestABatchIsDecodedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	for body, own := range map[string]bool{
		`{"events":[{"type":"paid","payload":{"a":[1,"\u00e9"]},"target":{"userIds":["ada"]},"options":{"persisted":false}},{"type":"\u0061","payload": 1 }]}`: true,
		`{"events":[]}`:                         true,
		`{"events":[{}]}`:                       true,
		` { "events" : [ { "type" : "a" } ] } `: true,
		`{}`:                                    true,
		`{"events":null}`:                       false,
		`{"events":[null]}`:                     false,
		`{"events":[{"type":null}]}`:            false,
		`{"events":[{"payload":null}]}`:         false,
		`{"events":[{"target":null}]}`:          false,
		`{"events":[{"type":5}]}`:               false,
		`{"events":[{"Type":"a"}]}`:             false,
		`{"\u0065vents":[{"type":"a"}]}`:        false,
		`{"events":{}}`:                         false,
		`{"events":[[]]}`:                       false,
		`[]`:                                    false,
	} {
		var got, want emitBatch
		err := got.DecodeBody([]byte(body))
		if !own {
			require.Error(t, err, body)
			require.Equal(t, want, got)
			continue
		}
		require.NoError(t, err, body)
		require.NoError(t, json.Unmarshal([]byte(body), &want))
		require.Equal(t, want, got, body)
	}
}
