package mcp_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/mcp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for body, code := range map[string]int{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:    0,
		`{"jsonrpc":"2.0","id":-1,"method":"ping"}`:   0,
		`{"jsonrpc":"2.0","id":"a","method":"ping"}`:  0,
		`{"jsonrpc":"2.0","method":"ping"}`:           0,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:        0,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`: 0,
		`{"id":1,"method":"ping"}`:                    mcp.InvalidRequest,
		`{"jsonrpc":2,"id":1,"method":"ping"}`:        mcp.InvalidRequest,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`: mcp.InvalidRequest,
		`{"jsonrpc":"2.0","id":[],"method":"ping"}`:   mcp.InvalidRequest,
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`: mcp.InvalidRequest,
		`{"jsonrpc":"2.0","id":1}`:                    mcp.InvalidRequest,
		`[]`:                                          mcp.InvalidRequest,
		`7`:                                           mcp.InvalidRequest,
	} {
		m, fault := mcp.Parse([]byte(body))
		if code == 0 {
			require.Nil(t, fault, body)
			again, err := json.Marshal(m)
			require.NoError(t, err)
			require.Contains(t, string(again), `"2.0"`)
			continue
		}
		require.NotNil(t, fault, body)
		require.Equal(t, code, fault.Code, body)
	}
}
