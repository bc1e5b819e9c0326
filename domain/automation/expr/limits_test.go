package expr_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
	"svc/domain/domaintest"
)

func TestNestingHasALimit(t *testing.T) {
	t.Parallel()
	for _, pair := range []string{"()", "[]"} {
		nested := func(n int) string {
			return "{% " + strings.Repeat(pair[:1], n) + "1" + strings.Repeat(pair[1:], n) + " %}"
		}
		require.NotContains(t, outcome(nested(expr.MaxDepth), nil), "Invalid")
		require.Equal(t, expr.SyntaxError, outcome(nested(expr.MaxDepth+1), nil))
	}
	require.Equal(t, expr.SyntaxError, outcome("{% "+strings.Repeat("!", 200)+"1 %}", nil))
	require.Equal(t, expr.SyntaxError, outcome("{% "+strings.Repeat("not ", 200)+"1 %}", nil))
	require.Equal(t, expr.SyntaxError, outcome(strings.Repeat("{{", 200)+"a"+strings.Repeat("}}", 200), nil))
}

func TestLengthHasALimitForTemplatesOnly(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", expr.MaxLength)
	require.Equal(t, `"`+long+`x"`, outcome(long+"x", nil))
	require.Equal(t, expr.SyntaxError, outcome("{{a}}"+long, nil))
	_, err := expr.ParseCondition("'" + long + "'")
	require.Error(t, err)
}

func TestMatchingIsLinear(t *testing.T) {
	t.Parallel()
	vars := value.NewObject("s", strings.Repeat("a", 50_000)+"b")
	effort := domaintest.MeasureEffort(t, func() {
		require.Equal(t, "false", outcome(`{% {{s}} matches "(a+)+$" %}`, vars))
	})
	require.Less(t, effort, time.Second)
}

func TestMatchingAndTextsAreBudgeted(t *testing.T) {
	t.Parallel()
	vars := value.NewObject("s", strings.Repeat("a", 1_000_000), "p", "(a{1,900}b?){0,1}c")
	require.Equal(t, expr.SyntaxError, outcome(`{% {{s}} matches {{p}} %}`, vars))
	require.Equal(t, expr.SyntaxError, outcome(strings.Repeat("{{s}}", 60), vars))
	require.Equal(t, expr.SyntaxError, outcome("{% ''"+strings.Repeat("+{{s}}", 60)+" %}", vars))
	require.Equal(t, expr.SyntaxError, outcome(`{% unsafejson({{s}}) %}`, value.NewObject("s", strings.Repeat("[", 1_000_000))))
}

func TestFaultsSayWhere(t *testing.T) {
	t.Parallel()
	for text, offset := range map[string]int{"é{{a.}}": 5, "{% 1 + %}": 7, "a {% nosuch(1) %}": 5, `{{m["{{b.}}"]}}`: 9} {
		_, err := expr.ParseTemplate(text)
		fault, ok := errors.AsType[*expr.Error](err)
		require.True(t, ok, text)
		require.Equal(t, offset, fault.Offset, text)
		require.Equal(t, text, fault.Expression)
	}
	_, err := expr.ParseTemplate("{% nosuch(1) %}")
	fault, ok := errors.AsType[*expr.Error](err)
	require.True(t, ok)
	require.Equal(t, `{"expression":"{% nosuch(1) %}","function":"nosuch","reason":"unknown function nosuch"}`, value.JSON(fault.Details(), ""))
}

func TestConditions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"{{age}} > 80": true, "true": true, "{{nope}}": false, "5": true, "[]": true} {
		c, err := expr.ParseCondition(text)
		require.NoError(t, err)
		got, err := c.Eval(given(value.NewObject("age", 90.0)))
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	_, err := expr.ParseCondition("")
	require.Error(t, err)
	_, err = expr.ParseCondition("{{a}} >")
	require.Error(t, err)
}

func TestTargets(t *testing.T) {
	t.Parallel()
	vars := value.NewObject("item", "u.n", "i", 2.0, "o", &value.Object{}, "p", "x.y[0]")
	for text, want := range map[string][]expr.Step{
		"r":                  {{Key: "r"}},
		"r.a[0].b":           {{Key: "r"}, {Key: "a"}, {Key: "0", Index: true}, {Key: "b"}},
		"r.7":                {{Key: "r"}, {Key: "7"}},
		"r[{{item}}]":        {{Key: "r"}, {Key: "u.n"}},
		"r[{{i}}]":           {{Key: "r"}, {Key: "2"}},
		`r["k {{i}}"]`:       {{Key: "r"}, {Key: "k 2"}},
		"r{{i}}.{{p}}":       {{Key: "r2"}, {Key: "x"}, {Key: "y"}, {Key: "0", Index: true}},
		"$http.status":       {{Key: "$http"}, {Key: "status"}},
		"r[{% 1 + {{i}} %}]": {{Key: "r"}, {Key: "3"}},
	} {
		target, err := expr.ParseTarget(text, false)
		require.NoError(t, err, text)
		got, err := target.Resolve(given(vars))
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"r[{{o}}]", "r.{{nope}}", "r[{{nope}}]"} {
		target, err := expr.ParseTarget(text, false)
		require.NoError(t, err)
		_, err = target.Resolve(given(vars))
		require.ErrorContains(t, err, expr.VariableError)
	}
	for _, text := range []string{"", "a.", "a b", "[0]", "a[", "a[]", "{{a}}{% 1 %}"} {
		_, err := expr.ParseTarget(text, false)
		require.ErrorContains(t, err, expr.VariableError, text)
	}
	push, err := expr.ParseTarget("r[]", true)
	require.NoError(t, err)
	require.True(t, push.Push)
}

func TestWhatIsWrittenOutIsCheckedWhenParsed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{% jsonmatch({{o}}, {a: {$regex: "("}}) %}`, `{% jsonmatch({{o}}, {$or: [{a: {$near: 1}}]}) %}`, `{% jsonmatch({{o}}, 5) %}`,
		`{% {{o}} matches "(" %}`, `{% {{o}} matches regex(() %}`, `{% {{o}} matches [a, "["] %}`,
	} {
		_, err := expr.ParseTemplate(text)
		require.ErrorContains(t, err, expr.SyntaxError, text)
	}
	_, err := expr.ParseTemplate(`{% jsonmatch({{o}}, {a: {$regex: {{r}}}}) %}`)
	require.NoError(t, err)
}

func TestTrees(t *testing.T) {
	t.Parallel()
	written, err := value.ParseJSON(`{"b{{x}}": ["{{x}}", "a {{x}}", 5, null], "a": {"gone": "{{nope}}", "k": "{{x"}}`)
	require.NoError(t, err)
	report := func(path string, err error) { require.NoError(t, err, path) }
	got, err := expr.ParseTree(written, "p", report).Eval(given(value.NewObject("x", 1.0)))
	require.NoError(t, err)
	require.Equal(t, `{"b{{x}}":[1,"a 1",5,null],"a":{"k":"{{x"}}`, value.JSON(got, ""))
	var at []string
	expr.ParseTree(value.NewObject("a b", []any{"{{}}"}, "c", "{% %}"), "p", func(path string, _ error) { at = append(at, path) })
	require.Equal(t, []string{`p["a b"][0]`, "p.c"}, at)
	for _, fails := range []any{[]any{"{% json('{') %}"}, value.NewObject("k", "{% json('{') %}")} {
		_, err = expr.ParseTree(fails, "p", report).Eval(given(nil))
		require.ErrorContains(t, err, "not valid JSON")
	}
}

func TestPlainPaths(t *testing.T) {
	t.Parallel()
	steps, ok := expr.PlainPath(`a.b[0]["c.d"]`)
	require.True(t, ok)
	require.Equal(t, []expr.Step{{Key: "a"}, {Key: "b"}, {Key: "0", Index: true}, {Key: "c.d"}}, steps)
	for _, text := range []string{"", "secret.k", "a{{b}}", "a[", "a b", "a[\"b]", "."} {
		_, ok = expr.PlainPath(text)
		require.False(t, ok, text)
	}
}

func TestLooseMatcher(t *testing.T) {
	t.Parallel()
	event, err := value.ParseJSON(`{"payload": {"n": 2}}`)
	require.NoError(t, err)
	for loose, want := range map[bool]bool{true: true, false: false} {
		m, err := expr.CompileMatcher(value.NewObject("payload.n", "2"), loose)
		require.NoError(t, err)
		got, err := m.Match(event)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestTheWorldsRefusalEndsAnEvaluation(t *testing.T) {
	t.Parallel()
	world := &broken{}
	tmpl, err := expr.ParseTemplate("{{a}}{% rand() %}{% elapsed(0, day, 1) %}")
	require.NoError(t, err)
	_, err = tmpl.Eval(&expr.Env{World: world})
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, 1, world.asked, "nothing is asked after a refusal")
}

var errBroken = errors.New("broken")

type broken struct{ asked int }

func (b *broken) Read([]string) (any, error) { b.asked++; return nil, errBroken }
func (b *broken) Now() (time.Time, error)    { b.asked++; return time.Time{}, errBroken }
func (b *broken) Random(int) ([]byte, error) { b.asked++; return nil, errBroken }

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		"{{a}}", "{{a[{{b}}].c}}", "{% {{a}} + 1 %}", `{% "x" matches regex(/a(b)/i) %}`, "{{{{a}}}}", `{{a["{{b}}"]}}`,
		"{% json('{') or {a: [1, {{b}}]} %}", "{% date(0, 'LLLL') %}", "{% slice({{t}}, -1) %}", "{% round(1.5, 2) %}",
		"{% jsonmatch({{a}}, {x: {$in: [1]}}) %}", "{% unsafejson('[[{') %}", "{% URL('http://a?b=1').searchParams.b %}",
	} {
		f.Add(seed)
	}
	vars, err := value.ParseJSON(`{"a": {"x": [1, "b"], "k": null}, "b": "k", "t": "text😀", "n": -1.5}`)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 5000 {
			return
		}
		effort := domaintest.MeasureEffort(t, func() {
			if tmpl, err := expr.ParseTemplate(s); err == nil {
				v, err := tmpl.Eval(given(vars))
				if err == nil {
					_ = value.JSON(v, "")
				}
			}
			if c, err := expr.ParseCondition(s); err == nil {
				_, _ = c.Eval(given(vars))
			}
			if target, err := expr.ParseTarget(s, true); err == nil {
				_, _ = target.Resolve(given(vars))
			}
		})
		require.Less(t, effort, 5*time.Second)
	})
}
