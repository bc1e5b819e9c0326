package expr_test

import (
	"bufio"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

func given(vars any) *expr.Env {
	return &expr.Env{
		World: expr.Given{Vars: vars, At: time.Date(2024, 3, 31, 12, 0, 0, 0, time.UTC)},
		Zones: time.LoadLocation,
	}
}

// outcome evaluates a template to JSON, "absent", or the name of its fault.
func outcome(template string, vars any) string {
	t, err := expr.ParseTemplate(template)
	var v any
	if err == nil {
		v, err = t.Eval(given(vars))
	}
	if fault, ok := errors.AsType[*expr.Error](err); ok {
		return fault.Name
	}
	if value.IsUndefined(v) {
		return "absent"
	}
	return value.JSON(v, "")
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/expressions.txt")
	require.NoError(t, err)
	defer file.Close()
	var vars any
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		switch kind {
		case "vars":
			vars, err = value.ParseJSON(rest)
			require.NoError(t, err, "line %d", n)
		case "T", "E":
			cut := strings.LastIndex(rest, " => ")
			require.Positive(t, cut, "line %d", n)
			template, want := rest[:cut], rest[cut+4:]
			if kind == "E" {
				template = "{% " + template + " %}"
			}
			if v, err := value.ParseJSON(want); err == nil {
				want = value.JSON(v, "")
			}
			require.Equal(t, want, outcome(template, vars), "line %d: %s", n, template)
		}
	}
	require.NoError(t, lines.Err())
}
