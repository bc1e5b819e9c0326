package expr_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// large are values that take a while to go through: each has so many parts.
func large() (vars *value.Object, parts int) {
	const n = 100_000
	list, numbers, patterns := make([]any, n), make([]any, n), make([]any, n)
	object, cond := &value.Object{}, &value.Object{}
	for i := range n {
		list[i], numbers[i] = []any{}, float64(i)
		object.Set(value.Text(float64(i)), "x")
	}
	for i := range 100 {
		cond.Set(value.Text(float64(i)), value.NewObject("$regex", "(a{1,100}b?){0,1}c"))
	}
	return value.NewObject(
		"s", strings.Repeat("x,", n/2), "same", strings.Repeat("x,", n/2), "digits", strings.Repeat("1", n), "spaces", strings.Repeat(" ", n),
		"wide", strings.Repeat("é", n), "list", list, "alike", append([]any{}, list...), "numbers", numbers, "object", object,
		"deep", []any{list}, "patterns", patterns, "cond", cond, "empty", &value.Object{},
	), n
}

func TestWhatGoesThroughALargeValueIsPaidFor(t *testing.T) {
	t.Parallel()
	vars, parts := large()
	for _, src := range []string{
		"{{s}} == {{same}}", "{{s}} === {{same}}", "{{s}} != {{same}}", "{{s}} !== {{same}}", "{{s}} < {{same}}", "{{s}} >= {{same}}",
		"{{list}} === {{alike}}", "{{list}} == {{alike}}", "{{deep}} in [{{deep}}]", "{{object}} === {{object}}",
		"{{digits}} == 1", "{{digits}} < 1", "{{digits}} * 2", "-{{digits}}", "number({{digits}})", "{{spaces}} - 1",
		"1 in {{s}}", "-1 in {{numbers}}", "{{s}} in {{object}}", "{{s}} in {{s}}",
		"({{s}} or 1).length", "({{wide}} or 1)[99999]", "({{s}} or 1)[99999]",
		"slice({{s}}, -1)", "slice({{wide}}, 1, 2)", "min({{numbers}})", "max({{numbers}})",
		"split({{s}}, ';')", "join({{list}}, '')", "date({{spaces}})", "date({{spaces}}).hour", "date(0, {{spaces}})", "elapsed({{spaces}}, day, 1)",
		"URL({{s}})", "json('0') or {{list}}", "{{list}} or 1", "{{deep}} or 1", "slice({{deep}}, 0)", "deepmerge({{empty}}, {{list}})",
		"x matches {{patterns}}", "jsonmatch({{empty}}, {{cond}})",
	} {
		template, err := expr.ParseTemplate("{% " + src + " %}")
		require.NoError(t, err, src)
		env := given(vars)
		_, err = template.Eval(env)
		require.NoError(t, err, src)
		require.GreaterOrEqual(t, env.Spent, parts, src)
	}
}

func TestWhatTakesNoTimeCostsNextToNothing(t *testing.T) {
	t.Parallel()
	vars, _ := large()
	for _, src := range []string{
		"{{s}}", "{{list}}", "{% {{list}} %}", "{{list.length}}", "{{list[99999]}}", "{{s.nope}}", "{% {{s}} == 'x' %}", "{% {{s}} === {{list}} %}",
		"{% {{list}} === 1 %}", "{% 0 in {{numbers}} %}", "{% '1' in {{object}} %}", "{% isString({{s}}) and !{{list}} %}", "{% 1 + 2 < 4 %}",
	} {
		template, err := expr.ParseTemplate(src)
		require.NoError(t, err, src)
		env := given(vars)
		_, err = template.Eval(env)
		require.NoError(t, err, src)
		require.Less(t, env.Spent, 100, src)
	}
}

func TestEvaluationsShareABudget(t *testing.T) {
	t.Parallel()
	vars, parts := large()
	template, err := expr.ParseTemplate("{% 1 in {{s}} %}")
	require.NoError(t, err)
	env := given(vars)
	env.Spent = expr.MaxSpent - parts/2
	_, err = template.Eval(env)
	fault, ok := errors.AsType[*expr.Error](err)
	require.True(t, ok)
	require.Equal(t, expr.SyntaxError, fault.Name)
	require.Equal(t, "the expression takes too long to evaluate", fault.Message)
	require.Equal(t, "{% 1 in {{s}} %}", fault.Expression)

	env.Spent = 0
	_, err = template.Eval(env)
	require.NoError(t, err)
}

// What the World did for an evaluation may cost, too.
func TestAWorldThatWorkedTooMuchEndsTheEvaluation(t *testing.T) {
	t.Parallel()
	template, err := expr.ParseTemplate("{{a}}")
	require.NoError(t, err)
	env := &expr.Env{}
	env.World = busy{env}
	_, err = template.Eval(env)
	require.ErrorContains(t, err, "the expression takes too long to evaluate")
}

type busy struct{ *expr.Env }

func (b busy) Read([]string) (any, error)   { b.Spent += expr.MaxSpent + 1; return 1.0, nil }
func (b busy) Now() (_ time.Time, _ error)  { return }
func (b busy) Random(n int) ([]byte, error) { return make([]byte, n), nil }

// A thousand texts of ten megabytes, each of which may be made, are not made at once.
func TestATreeOfManyTextsIsRefusedBeforeItIsLarge(t *testing.T) {
	t.Parallel()
	tree := parsedTree(t, `["{{s}}!"`+strings.Repeat(`, "{{s}}!"`, 999)+`]`)
	world := &counted{Given: expr.Given{Vars: value.NewObject("s", strings.Repeat("x", 10_000_000))}}
	_, err := tree.Eval(&expr.Env{World: world})
	require.ErrorContains(t, err, "the expression takes too long to evaluate")
	require.Less(t, world.reads, 20)
}

type counted struct {
	expr.Given
	reads int
}

func (c *counted) Read(keys []string) (any, error) { c.reads++; return c.Given.Read(keys) }
