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
	"svc/domain/value"
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

// errMissing says that a variable must have a value.
type errMissing struct{}

func (errMissing) Error() string   { return "missing" }
func (errMissing) IsMissing() bool { return true }

// locked is a World whose variable must has no value.
type locked struct{ expr.Given }

// Read implements expr.World.
func (l locked) Read(keys []string) (any, error) {
	if keys[0] == "must" {
		return value.Undefined, errMissing{}
	}
	return l.Given.Read(keys)
}

// What has no value may be asked for, and cannot be used.
func TestAVariableThatMustHaveAValue(t *testing.T) {
	t.Parallel()
	env := func() *expr.Env { return &expr.Env{World: locked{expr.Given{Vars: &value.Object{}}}} }
	for condition, want := range map[string]bool{
		"{{must.a}}":                              false,
		"not {{must.a}}":                          true,
		"!{{must.a}}":                             true,
		"{{must.a}} exists":                       false,
		"{{must.a}} not exists":                   true,
		"isString({{must.a}})":                    false,
		"{{must.a}} == null":                      true,
		"undefined !== {{must.a}}":                false,
		"{{must.a}} or 1":                         true,
		"1 and {{must.a}}":                        false,
		"{{must.a}} and {{must.a}} == {{other}}":  false,
		"({{must.a}} or {{must.b}}) and 1":        false,
		"{% {{must.a}} %}":                        false,
		"{{other[{{must.a}}]}} exists":            false, // it is part of what is asked for
		"{{must.a}} exists and {{must.a}} == 'x'": false,
	} {
		c, err := expr.ParseCondition(condition)
		require.NoError(t, err, condition)
		got, err := c.Eval(env())
		require.NoError(t, err, condition)
		require.Equal(t, want, got, condition)
	}
	for template, want := range map[string]string{
		`{% {{must.a}} or "d" %}`:    `"d"`,
		`{% {{must.a}} exists %}`:    `false`,
		`{% isString({{must.a}}) %}`: `false`,
	} {
		parsed, err := expr.ParseTemplate(template)
		require.NoError(t, err)
		v, err := parsed.Eval(env())
		require.NoError(t, err, template)
		require.Equal(t, want, value.JSON(v, ""), template)
	}
	for _, template := range []string{
		"{{must.a}}", "Bearer {{must.a}}", `{% {{must.a}} == {{other}} %}`, `{% {{must.a}} == "" %}`, `{% "a" + {{must.a}} %}`, `{% lower({{must.a}}) %}`,
		`{% {{other}} or {{must.a}} %}`, `{% [{{must.a}}] %}`, `{{other[{{must.a}}]}}`, `{% {{must.a}} in [1] %}`,
	} {
		parsed, err := expr.ParseTemplate(template)
		require.NoError(t, err)
		_, err = parsed.Eval(env())
		require.ErrorIs(t, err, errMissing{}, template)
	}
}

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
	require.Same(t, tree.Source(), v)
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
