package programs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/programs"
	"svc/domain/automation"
	"svc/domain/value"
)

// A model is shown neither secret nor fixed arguments, also not as required ones: it could only invent them.
func TestFunctionsHideSecretAndFixedArguments(t *testing.T) {
	payload, err := value.ParseJSON(`{"type":"object","properties":{"id":{"type":"string"},"token":{"type":"string","secret":true},"currency":{"type":"string"}},"required":["id","token","currency"]}`)
	require.NoError(t, err)
	p := &programs.Program{Automation: &automation.Automation{Schemas: []automation.Schema{{Payload: payload.(*value.Object)}}}}
	require.JSONEq(t, `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`, string(p.FunctionParameters(map[string]any{"currency": "EUR"})))
}
