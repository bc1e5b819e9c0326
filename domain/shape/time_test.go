package shape_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/document"
	"svc/domain/domaintest"
	"svc/domain/shape"
)

// What fits into a document is judged soon, however it is made.
func TestGarbageIsJudgedInTime(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 500_000)
	deep := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	key := strings.Repeat("k", 190)
	var fields []string
	for i := range 50_000 {
		fields = append(fields, fmt.Sprintf(`"x%d":1`, i))
	}
	for name, text := range map[string]string{
		"many faults below a long key": `{"name":"a","blocks":{"` + long + `":{"blocks":[` + strings.Repeat(`{},`, 100_000) + `{}]}}}`,
		"many faults below deep keys":  `{"name":"a","config":{"schema":` + deep(`{"`+key+`":{"properties":`, `{"x":{"anyOf":[`+strings.Repeat(`1,`, 100_000)+`1]}}`, `}}`, 29) + `}}`,
		"many schemas below deep keys": `{"name":"a","config":{"schema":` + deep(`{"`+key+`":{"properties":`, `{"x":{"anyOf":[`+strings.Repeat(`{},`, 100_000)+`{}]}}`, `}}`, 29) + `}}`,
		"a long name in a schema":      `{"name":"a","config":{"schema":{"a":{"properties":{"` + long + `":{"anyOf":[` + strings.Repeat(`1,`, 100_000) + `1]}}}}}}`,
		"many unknown fields":          `{"config":{` + strings.Join(fields, ",") + `}}`,
		"many events":                  `{"name":"a","blocks":[` + strings.Repeat(`{"type":"event","value":"a"},`, 30_000) + `{}]}`,
		"deep lists":                   `{"name":"a","blocks":` + deep(`[`, `1`, `]`, 60) + `}`,
	} {
		doc := mapping(t, text)
		effort := domaintest.MeasureEffort(t, func() {
			for _, kind := range []*document.Kind{document.Index, document.Page} {
				require.LessOrEqual(t, len(shape.Check(kind, doc)), 201, name)
			}
			shape.PageEvents(doc)
		})
		require.Less(t, effort, 5*time.Second, name)
	}
}
