package expr_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

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
