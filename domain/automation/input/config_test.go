package input_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/input"
	"svc/domain/domaintest"
	"svc/domain/value"
)

// Configs of app instances against the schema of the app: what is wrong with them as they
// are written, and once their templates are resolved.
func TestConfig(t *testing.T) {
	t.Parallel()
	const schema = `{limit: {type: number, required: true, minimum: 1}, text: {type: 'localized:string'}, key: {type: string, secret: true},
		all: {type: object, properties: {n: {type: integer}}, additionalProperties: false}, any: {}}`
	const open = `{limit: {type: number}, additionalProperties: true}`
	const named = `{additionalProperties: {type: boolean}}`
	for _, test := range []struct{ schema, config, written, resolved string }{
		{schema, `{limit: 5, text: {en: a}, all: {n: 1}, any: [x]}`, `[]`, `[]`},
		{schema, `{}`, `[]`, `[]`},
		{schema, `{limit: null, unknown: null}`, `[]`, `[]`},
		{schema, `{limit: lots}`, `[config.limit]`, `[config.limit]`},
		{schema, `{limit: 0}`, `[config.limit]`, `[config.limit]`},
		{schema, `{limit: '{{config.n}}', all: '{{config.all}}'}`, `[]`, `[config.limit config.all]`},
		{schema, `{all: {n: '{{config.n}}', m: 1}}`, `[config.all.m]`, `[config.all.n config.all.m]`},
		{schema, `{limit: '{{ x'}`, `[config.limit]`, `[config.limit]`},
		{schema, `{limits: 5, text: 5}`, `[config.limits config.text]`, `[config.text]`},
		{open, `{limits: 5, limit: 5}`, `[]`, `[]`},
		{open, `{limit: '5'}`, `[config.limit]`, `[config.limit]`},
		{named, `{additionalProperties: 1, b: 2}`, `[config.additionalProperties config.b]`, `[config.additionalProperties]`},
		{`{limit: {type: nonsense}}`, `{limit: 5, other: 1}`, `[]`, `[]`},
		{`{}`, `{other: 1}`, `[]`, `[]`},
	} {
		parsed, _ := domaintest.ParseYAML(t, test.schema).(*value.Object)
		config, _ := domaintest.ParseYAML(t, test.config).(*value.Object)
		c := input.CompileConfig(parsed)
		require.Equal(t, test.written, fields(c.CheckWritten(config, nil)), test.config)
		require.Equal(t, test.resolved, fields(c.CheckResolved(config)), test.config)
		require.Empty(t, c.CheckWritten(config, func(string) bool { return true }))
	}
}

func fields(faults []input.ConfigFault) string {
	all := []string{}
	for _, f := range faults {
		all = append(all, f.Field)
	}
	return fmt.Sprint(all)
}
