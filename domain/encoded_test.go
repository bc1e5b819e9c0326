package domain_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

// What is taken as it is is what encoding/json makes of it.
func FuzzIsEncoded(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `{"a":1}`, `{"a":[1,-2.5e+3,true,false,null,"x"],"b":{"c":{}}}`, `{"a":"<"}`, `{"a": 1}`, `{"a":"\u0041"}`, `{"a":01}`, `{"a":1.}`,
		`{"a":-}`, `{"a":1e}`, `{"a":tru}`, `{"a":1,}`, `{"a"}`, `[1,]`, `[1 ]`, `"text"`, `12`, `{"a":"é"}`, "{\"a\":\"\u2028\"}", "{\"a\":\"\n\"}", `{"a":1}x`, `{"a`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if !domain.IsEncoded(payload) {
			return
		}
		want, err := json.Marshal(json.RawMessage(payload))
		require.NoError(t, err)
		require.Equal(t, string(want), string(payload))
	})
}

func TestMostPayloadsAreTakenAsTheyAre(t *testing.T) {
	for _, payload := range []string{
		`{}`, `[]`, `{"order":"o-1","n":-1.5e3,"list":[1,{"a":null},[]],"ok":true,"no":false}`, `"é"`, `0`, `0.5`, `1E-2`,
	} {
		require.True(t, domain.IsEncoded([]byte(payload)), payload)
	}
}
