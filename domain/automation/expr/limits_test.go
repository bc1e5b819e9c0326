package expr_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/expr"
	"svc/domain/domaintest"
	"svc/domain/value"
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

// nest puts an expression into so many calls of a function.
func nest(open, closing string, n int, inner string) string {
	return "{% " + strings.Repeat(open, n) + inner + strings.Repeat(closing, n) + " %}"
}

// What grows with each call is refused before it is large, whatever it is made of: not
// parallel, because it looks at what is allocated meanwhile.
func TestWhatGrowsIsRefusedBeforeItIsLarge(t *testing.T) {
	var deep any = make([]any, 40_000)
	for range 990 {
		deep = []any{deep}
	}
	long := strings.Repeat("&", 1_000_000)
	many := make([]any, 500_000)
	vars := value.NewObject("deep", deep, "long", long, "many", many, "letters", strings.Repeat("a,", 5_000_000))
	const most = 400 << 20
	for name, src := range map[string]string{
		"base64 of base64":          nest("base64(", ")", 90, `"aaaa"`),
		"JSON of JSON":              nest("json([", "])", 45, `'"'`),
		"escaped again and again":   nest("sanitize(", ")", 90, "{{long}}"),
		"merged with itself":        "{% deepmerge(deepmerge(deepmerge({{many}},{{many}}),deepmerge({{many}},{{many}})),deepmerge(deepmerge({{many}},{{many}}),deepmerge({{many}},{{many}}))) %}",
		"split into letters":        `{% split({{letters}}, "") %}`,
		"indented nearly for ever":  "x {{deep}}",
		"joined nearly for ever":    `{% "" + {{deep}} %}`,
		"a query within a query":    nest("URLSearchParams({a: ", "}).asString", 60, `"%%%%%%%%"`),
		"upper case, nested values": nest("json({a: upper(", ")})", 40, "{{deep}}"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		came := outcome(src, vars)
		require.Equal(t, expr.SyntaxError, came[:min(len(came), 200)], name)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(most), name)
	}
}

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
