package expr_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// TestJSONIsPaidForByWhatBecomesOfIt reads few bytes that become many values.
func TestJSONIsPaidForByWhatBecomesOfIt(t *testing.T) {
	t.Parallel()
	vars := value.NewObject("s", "x ["+strings.Repeat("{},", 100_000)+"{}]", "all", "["+strings.Repeat("0,", 2_000_000)+"0]")
	template, err := expr.ParseTemplate(`{% unsafejson({{s}}) %}`)
	require.NoError(t, err)
	env := expr.Env{World: expr.Given{Vars: vars}}
	v, err := template.Eval(&env)
	require.NoError(t, err)
	require.Len(t, v, 100_001)
	require.Greater(t, env.Spent, 8_000_000)
	for _, function := range []string{"json", "unsafejson"} {
		template, err = expr.ParseTemplate("{% " + function + "({{all}}) %}")
		require.NoError(t, err)
		_, err = template.Eval(&expr.Env{World: expr.Given{Vars: vars}})
		require.ErrorContains(t, err, "more than 2000000 values")
		require.ErrorContains(t, err, expr.SyntaxError)
	}
}
