package jsontype_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/jsontype"
)

func TestASetKnowsItsTypes(t *testing.T) {
	t.Parallel()
	either := jsontype.Text | jsontype.Null
	require.Equal(t, []string{"string", "null"}, either.Names())
	require.True(t, either.Has("null"))
	for _, other := range []string{"array", "undefined", ""} {
		require.False(t, either.Has(other), other)
	}
	require.Equal(t, []string{"string", "number", "boolean", "array", "object", "null"}, jsontype.Anything.Names())
}

func TestOneTypeIsCalledByItsName(t *testing.T) {
	t.Parallel()
	require.Equal(t, "array", jsontype.List.String())
	for _, other := range []jsontype.Set{0, jsontype.List | jsontype.Text, 1 << 7} {
		require.Equal(t, "something else", other.String())
	}
}
