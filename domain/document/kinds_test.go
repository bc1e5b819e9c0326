package document_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/document"
)

func TestEachKindHasItsOrder(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind       *document.Kind
		from, want string
	}{
		"the example of the contract": {
			document.Automation,
			`{"do":[{"conditions":{"{{body.amount}} > 100":[{"emit":{"event":"big-charge"}}],"default":[]}}],"when":{"endpoint":true},"name":"Charge card","slug":"charge"}`,
			`slug: charge
name: Charge card
when:
  endpoint: true
do:
  - conditions:
      '{{body.amount}} > 100':
        - emit:
            event: big-charge
      default: []
`,
		},
		"what is empty is left out, but do": {document.Automation, `{"do":[],"name":"A","output":null,"labels":[],"arguments":{},"private":false,"x":""}`, "name: A\ndo: []\nprivate: false\nx: ''\n"},
		"labels are a set":                  {document.Page, `{"labels":["b","a","b"],"slug":"p"}`, "slug: p\nlabels:\n  - a\n  - b\n"},
		"odd labels stay":                   {document.Page, `{"labels":["b",1,"a"]}`, "labels:\n  - b\n  - 1\n  - a\n"},
		"what the service says stays out": {
			document.Index,
			`{"id":"k3","zeta":1,"createdAt":"x","repositories":{"a":1},"customDomains":["d"],"config":{"value":{"b":1,"a":2},"more":1,"schema":{}},"alpha":2,"name":"Nix","dirty":true}`,
			"name: Nix\nconfig:\n  schema: {}\n  value:\n    b: 1\n    a: 2\n  more: 1\nzeta: 1\nalpha: 2\n",
		},
		"security": {document.Security, `{"authentication":{"clientId":"x"},"authorizations":{"rules":[{"role":"editor"}],"roles":{"editor":{}}}}`, "authorizations:\n  roles:\n    editor: {}\n  rules:\n    - role: editor\n"},
		"nothing":  {document.Import, `{"checksum":"x"}`, "{}\n"},
	} {
		doc := mapping(t, tt.from)
		text, err := tt.kind.Text(doc)
		require.NoError(t, err, name)
		require.Equal(t, tt.want, string(text), name)
		require.True(t, document.Equal(mapping(t, tt.from), doc), "%s: it stays as it was", name)
	}
}

func TestUnknownKeysAreNamed(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"tags", "blocks"}, document.Automation.Unknown(mapping(t, `{"tags":1,"id":"x","do":[],"blocks":1,"events":{}}`)))
	require.Empty(t, document.Page.Unknown(mapping(t, `{"blocks":[]}`)))
}

func TestEachKindHasItsSlugs(t *testing.T) {
	t.Parallel()
	for slug, kinds := range map[string][]*document.Kind{
		"a":                      {document.Agent, document.Automation, document.Import, document.Knowledge, document.Page, document.Test},
		"Charge Card_2/x-y":      {document.Automation, document.Page, document.Test},
		"Mail Box":               {document.Automation, document.Import, document.Page, document.Test},
		"_svc/x":                 {document.Automation, document.Test},
		"-a":                     {document.Automation, document.Import, document.Page, document.Test},
		strings.Repeat("a", 61):  {document.Automation, document.Page, document.Test},
		strings.Repeat("a", 129): nil,
		"":                       nil, "a//b": nil, "/a": nil, "a/": nil, "..": nil, "a/../b": nil, " a": nil, "a /b": nil, "a.b": nil, "é": nil, "__index__": nil, "a/__index__": nil, "a\\b": nil,
	} {
		var has []*document.Kind
		for _, k := range document.Kinds {
			if k.HasSlug(slug) {
				has = append(has, k)
			}
		}
		require.Equal(t, kinds, has, slug)
	}
}
