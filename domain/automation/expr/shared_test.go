package expr_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

func parsedTree(t *testing.T, text string) *expr.Tree {
	t.Helper()
	v, err := value.ParseJSON(text)
	require.NoError(t, err)
	return expr.ParseTree(v, "v", func(path string, err error) { require.NoError(t, err, path) })
}

func TestAValueWithoutTemplatesIsItself(t *testing.T) {
	t.Parallel()
	tree := parsedTree(t, `{"a": [1, "b"], "c": {"d": "{{ e"}}`)
	require.True(t, tree.Static())
	v, err := tree.Eval(given(nil))
	require.NoError(t, err)
	require.Same(t, tree.Written(), v)
	for _, text := range []string{`{"a": ["{{b}}"]}`, `["{% 1 %}"]`, `"{{a}}"`} {
		require.False(t, parsedTree(t, text).Static(), text)
	}
	var none *expr.Tree
	require.True(t, none.Static())
}

func TestMembersOfATree(t *testing.T) {
	t.Parallel()
	tree := parsedTree(t, `{"a": "{{x}}", "b": 2}`)
	v, err := tree.Member("a").Eval(given(value.NewObject("x", 1.0)))
	require.NoError(t, err)
	require.Equal(t, 1.0, v)
	require.Nil(t, tree.Member("c"))
	require.Nil(t, tree.Member("b").Member("c"))
	var none *expr.Tree
	require.Nil(t, none.Member("a"))
}

func TestAValueThatIsPutTogetherHasALimit(t *testing.T) {
	t.Parallel()
	many := []any{"x"}
	for range 60 {
		many = []any{many, many}
	}
	vars := value.NewObject("m", many)
	for _, text := range []string{"{% [{{m}}] %}", "{% {a: {{m}}} %}", `{% [{{m}}] + "" %}`, "{% [{{m}}] === [{{m}}] %}"} {
		template, err := expr.ParseTemplate(text)
		require.NoError(t, err)
		_, err = template.Eval(given(vars))
		fault, ok := errors.AsType[*expr.Error](err)
		require.True(t, ok, text)
		require.Equal(t, "the value becomes too large", fault.Message)
	}
}
