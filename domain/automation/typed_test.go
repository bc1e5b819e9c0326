package automation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/value"
)

func TestTypedFieldsOfOtherDocuments(t *testing.T) {
	t.Parallel()
	wrong := []any{}
	for range 500 {
		wrong = append(wrong, 1.0)
	}
	field := value.NewObject("type", "string", "required", true, "anyOf", wrong)
	require.Len(t, automation.TypedFields(value.NewObject("a b", field), "config.schema", 100), 100, "enough is enough")
	faults := automation.TypedField(field, "schema", 0)
	require.Len(t, faults, 500)
	require.Equal(t, "schema.anyOf[0]: a schema is an object, not number", faults[0].String())
	require.Equal(t, `config.schema["a b"]: a typed field is an object, not string`, automation.TypedFields(value.NewObject("a b", "x"), "config.schema", 1)[0].String())
	require.Empty(t, automation.TypedFields(nil, "x", 1))
}
