package runs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/value"
	"svc/http/gateway"
)

// What is read as a plain body is one that the other checks accept, and reads the same.
func FuzzPlainBodies(f *testing.F) {
	for _, body := range []string{
		`{"order":"o-1","price":19.99,"lines":[{"n":1},{"n":2}],"paid":true,"note":null}`, ` [1, -0.5e3, "ä"] `, `"text"`, `7`, `{}`, `[]`,
		`{"a":1,"a":2}`, `{"a":1e999}`, `{"a":"\u0041"}`, `{"a":"\ud800"}`, `{"a":1} x`, `{"a":01}`, `{"a":1,}`, `[1 2]`, `{"a`, ``, ` `, "\"\x01\"", "\"\xff\"",
		`[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]`, `nul`, `-`, `1.`, `{"a":+1}`, `{a:1}`, "\ufeff{}", "{\"a\":\"\u2028\"}", "\"\x7f\"",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		plain, ok := parsePlainJSON([]byte(body), body)
		if !ok {
			return
		}
		require.NoError(t, gateway.CheckAnyJSON([]byte(body)))
		parsed, err := value.ParseJSON(body)
		require.NoError(t, err)
		require.Equal(t, parsed, plain)
	})
}

func TestMostBodiesArePlain(t *testing.T) {
	for body, isPlain := range map[string]bool{
		`{"order":"o-1","price":19.99,"lines":[{"n":1}],"paid":true}` + "\n": true, `[]`: true, `7`: true,
		`{"a":"\n"}`: false, `{"a":1,"a":2}`: false, `{"a":1e999}`: false, `{"a":1}{}`: false, "\"\xff\"": false, ``: false,
	} {
		_, ok := parsePlainJSON([]byte(body), body)
		require.Equal(t, isPlain, ok, body)
	}
}
