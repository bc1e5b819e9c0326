package domain

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// VisitMembers agrees with encoding/json on what an object is made of, and never
// reads past its end.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{"a":{"b":[1,"]}"]},"c":null }`, `{"a":"\""}`, `{"a"`, `{"a":}`, `[`, `{"a":1,}`, ` { "a" : true , "b" : "x" } `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := map[string]json.RawMessage{}
		err := VisitMembers(data, func(key, value []byte) error {
			got[string(key)] = value
			return nil
		})
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) != nil || want == nil {
			return // what is inside a member is not its to judge
		}
		require.NoError(t, err)
		for key, value := range want {
			if isPlainString([]byte(key)) {
				require.JSONEq(t, string(value), string(got[key]))
			}
		}
	})
}
