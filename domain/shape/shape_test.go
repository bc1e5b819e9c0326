package shape_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/domaintest"
	"svc/domain/shape"
)

func read(t *testing.T, text string) any {
	t.Helper()
	v, err := document.ReadJSON([]byte(text), document.Limits{})
	require.NoError(t, err, text)
	return v
}

func mapping(t *testing.T, text string) *document.Map {
	t.Helper()
	m, ok := read(t, text).(*document.Map)
	require.True(t, ok, text)
	return m
}

// written is a fault on one line: the code by its status, the field, the message.
func written(f shape.Fault) string {
	status := map[domain.Code]string{
		domain.CodeInvalidRequest: "400", domain.CodeMissingParameter: "missing", domain.CodeValidation: "422",
	}[f.Code]
	if f.Unknown {
		status = "unknown"
	}
	return fmt.Sprintf("%s %s: %s", status, f.Field, f.Message)
}

// rule is a rule of the contract: values that are refused, with what is said of
// them, and values that are not.
type rule struct {
	doc  string   // with VALUE where the value goes
	bad  []string // values
	want string   // the beginning of the only fault of each bad value
	good []string
}

// check checks a document of a sort, by the name of its schema.
func check(t *testing.T, name, text string) []shape.Fault {
	t.Helper()
	switch name {
	case "block":
		return shape.CheckBlock(mapping(t, text))
	case "config":
		return shape.CheckConfig(read(t, text))
	}
	i := slices.IndexFunc(document.Kinds, func(k *document.Kind) bool { return k.Name == name })
	return shape.Check(document.Kinds[i], mapping(t, text))
}

// prove checks rules, and that the schema knows those about the shape too.
func prove(t *testing.T, name string, rules []rule) {
	t.Helper()
	schema, hasSchema := shape.Schema(name)
	for _, r := range rules {
		for _, value := range r.bad {
			doc := strings.Replace(r.doc, "VALUE", value, 1)
			faults := check(t, name, doc)
			require.Len(t, faults, 1, "%.200s: %v", doc, faults)
			require.True(t, strings.HasPrefix(written(faults[0]), r.want), "%.200s: %s", doc, written(faults[0]))
			if hasSchema && faults[0].Code != domain.CodeValidation {
				require.False(t, accepts(t, schema, schema, read(t, doc)), "the schema of %s with %.200s", name, doc)
			}
		}
		for _, value := range r.good {
			doc := strings.Replace(r.doc, "VALUE", value, 1)
			require.Empty(t, check(t, name, doc), "%.200s", doc)
			require.True(t, !hasSchema || accepts(t, schema, schema, read(t, doc)), "the schema of %s with %.200s", name, doc)
		}
	}
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

var (
	odd      = []string{`1`, `true`, `[]`, `{}`}   // no string
	noObject = []string{`1`, `true`, `[]`, `"a"`}  // no object
	noSwitch = []string{`1`, `"true"`, `[]`, `{}`} // no boolean
	noList   = []string{`1`, `true`, `"a"`, `{}`}  // no list
	noText   = []string{`1`, `true`, `[]`}         // neither text nor object
	pictures = []string{`"javascript:x"`, `"//host/a.png"`, `"a.png"`, `"/a\\b"`, `"https://"`, quoted("/" + strings.Repeat("a", 2048))}
	badLabel = []string{`["a"]`, `["a b"]`, `["é!"]`, `["` + strings.Repeat("a", 61) + `"]`, `["а-cyrillic"]`, `[""]`}
)

func TestTheIndex(t *testing.T) {
	t.Parallel()
	prove(t, "index", []rule{
		{doc: `{}VALUE`, bad: []string{``}, want: "missing name: is required"},
		{doc: `{"name":VALUE}`, bad: []string{`null`}, want: "missing name: is required"},
		{doc: `{"name":VALUE}`, bad: odd, want: "400 name: expected string, got "},
		{doc: `{"name":VALUE}`, bad: []string{`""`, `"a\nb"`, `"a\u0000"`, quoted(strings.Repeat("é", 61))}, want: "422 name: ", good: []string{`"a"`, quoted(strings.Repeat("é", 60)), `"\u0416 & Co"`}},
		{doc: `{"name":"a","slug":VALUE}`, bad: []string{`""`, `"A"`, `"a b"`, `"a//b"`, `"/a"`, `"a/"`, `"а"`, `"a.b"`, quoted(strings.Repeat("a", 61))}, want: "422 slug: ", good: []string{`"a"`, `"a-1/b"`, `null`, `"platform"`}},
		{doc: `{"name":"a","description":VALUE}`, bad: noText, want: "400 description: expected string or object", good: []string{`"x\ny"`, `{"en":"a","pt-BR":"b"}`, `{}`}},
		{doc: `{"name":"a","description":{"en":VALUE}}`, bad: []string{`1`, `null`, `{}`}, want: "400 description.en: expected string"},
		{doc: `{"name":"a","description":VALUE}`, bad: []string{quoted(strings.Repeat("a", 10001))}, want: "422 description: must have at most 10000 characters"},
		{doc: `{"name":"a","description":{"en":VALUE}}`, bad: []string{quoted(strings.Repeat("a", 10001))}, want: "422 description.en: must have at most 10000 characters"},
		{doc: `{"name":"a","description":{VALUE:"x"}}`, bad: []string{`"e"`, `"en gb"`, `"\u202een"`, `"анг"`, `""`}, want: "422 description", good: []string{`"en"`, `"fr_FR"`, `"zh-Hant-TW"`}},
		{doc: `{"name":"a","photo":VALUE}`, bad: pictures, want: "422 photo: ", good: []string{`"/a.png"`, `"https://a.example/x.png"`, `null`, `""`}},
		{doc: `{"name":"a","logo":VALUE}`, bad: pictures, want: "422 logo: ", good: []string{`"/a.png"`}},
		{doc: `{"name":"a","labels":VALUE}`, bad: noList, want: "400 labels: expected array", good: []string{`[]`, `["ab","A.1_:-"]`, `null`}},
		{doc: `{"name":"a","labels":VALUE}`, bad: badLabel, want: "422 labels[0]: "},
		{doc: `{"name":"a","labels":["ab",VALUE]}`, bad: []string{`null`, `1`}, want: "400 labels[1]: expected string"},
		{doc: `{"name":"a","registerWorkspace":VALUE}`, bad: noSwitch, want: "400 registerWorkspace: expected boolean", good: []string{`true`, `null`}},
		{doc: `{"name":"a","allowUnsecurePages":VALUE}`, bad: noSwitch, want: "400 allowUnsecurePages: expected boolean", good: []string{`false`}},
		{doc: `{"name":"a","customDomains":[VALUE]}`, bad: []string{`"Shop.example.com"`, `"localhost"`, `"a.example:80"`, `"127.0.0.1"`, `"https://a.example"`, `"-a.example"`, `"а.example"`}, want: "422 customDomains[0]: ", good: []string{`"shop.example.com"`, `"xn--bcher-kva.example"`}},
		{doc: `{"name":"a","tags":VALUE}`, bad: []string{`1`, `null`}, want: "unknown tags: unknown field; known are name, slug"},
	})
}

func TestConfigSecretsAndEvents(t *testing.T) {
	t.Parallel()
	prove(t, "index", []rule{
		{doc: `{"name":"a","config":VALUE}`, bad: noObject, want: "400 config: expected object", good: []string{`{}`, `null`, `{"value":{"any":[1,{"thing":null}]}}`, `{"block":"Form"}`}},
		{doc: `{"name":"a","config":{"more":VALUE}}`, bad: []string{`1`}, want: "400 config.more: unknown field; known are schema, block, value"},
		{doc: `{"name":"a","config":{"value":VALUE}}`, bad: noObject, want: "400 config.value: expected object"},
		{doc: `{"name":"a","config":{"block":VALUE}}`, bad: noText, want: "400 config.block: expected string or object"},
		{doc: `{"name":"a","config":{"schema":VALUE}}`, bad: noObject, want: "400 config.schema: expected object", good: []string{`{"a":{"type":"string","required":true},"b":{"type":"localized:string","ui:widget":"textarea"}}`}},
		{doc: `{"name":"a","config":{"schema":{"a":VALUE}}}`, bad: append([]string{`null`}, noObject...), want: "400 config.schema.a: a typed field is an object"},
		{doc: `{"name":"a","config":{"schema":{"a":{"type":VALUE}}}}`, bad: []string{`"text"`, `1`, `["string","x"]`}, want: "422 config.schema.a.type: ", good: []string{`"integer"`, `["string","null"]`}},
		{doc: `{"name":"a","config":{"schema":{"a b":{"properties":{"c":{"pattern":VALUE}}}}}}`, bad: []string{`"("`, `1`}, want: `422 config.schema["a b"].properties.c.pattern: `, good: []string{`"^a$"`}},
		{doc: `{"name":"a","config":{"schema":{"a":{"type":"number","secret":VALUE}}}}`, bad: []string{`true`}, want: "422 config.schema.a.secret: only strings can be secret", good: []string{`false`}},
		{doc: `{"name":"a","config":{"schema":{VALUE:{}}}}`, bad: []string{`""`, `" a"`, `"a\u200b"`, `"p\u0430y"`, quoted(strings.Repeat("a", 101))}, want: "422 config.schema", good: []string{`"a.b"`, `"équipe"`}},
		{doc: `{"name":"a","config":{"schema":{"a":{"properties":{VALUE:{}}}}}}`, bad: []string{quoted(strings.Repeat("a", 201))}, want: "422 config.schema: a name has at most 200 characters", good: []string{quoted(strings.Repeat("a", 200))}},
		{doc: `{"name":"a","config":{"schema":{"a":{"anyOf":[{"properties":{VALUE:{}}}]}}}}`, bad: []string{quoted(strings.Repeat("a", 201))}, want: "422 config.schema: a name has at most 200 characters"},
		{doc: `{"name":"a","secrets":VALUE}`, bad: noObject, want: "400 secrets: expected object", good: []string{`{}`, `{"schema":{"key.A_1-b":{"type":"string","secret":true}}}`}},
		{doc: `{"name":"a","secrets":{"values":VALUE}}`, bad: []string{`{"k":"v"}`}, want: "400 secrets.values: unknown field"},
		{doc: `{"name":"a","secrets":{"schema":{VALUE:{}}}}`, bad: []string{`""`, `"a b"`, `"a/b"`, `"clé"`, quoted(strings.Repeat("a", 101))}, want: "422 secrets.schema", good: []string{`"a"`}},
		{doc: `{"name":"a","events":VALUE}`, bad: noObject, want: "400 events: expected object", good: []string{`{}`, `{"mapping":{"any":{"thing":1}}}`}},
		{doc: `{"name":"a","events":{"types":{VALUE:{}}}}`, bad: []string{`""`, `"a*"`, `"a/b"`, `"ordеr"`}, want: "422 events.types", good: []string{`"order.paid"`, `"An event_1-2"`}},
		{doc: `{"name":"a","events":{"types":{"x":VALUE}}}`, bad: noObject, want: "400 events.types.x: expected object or null", good: []string{`null`, `{}`, `{"schema":{"type":"object","properties":{"a":{"type":"number"}}}}`, `{"schema":{"type":{"type":"string"},"amount":{"type":"number"}}}`}},
		{doc: `{"name":"a","events":{"types":{"x":{"fields":VALUE}}}}`, bad: []string{`{}`}, want: "400 events.types.x.fields: unknown field; known are schema"},
		{doc: `{"name":"a","events":{"types":{"x":{"schema":{"amount":{"type":VALUE}}}}}}`, bad: []string{`"money"`}, want: "422 events.types.x.schema.amount.type: "},
		{doc: `{"name":"a","events":{"types":{"x":{"schema":{"type":VALUE}}}}}`, bad: []string{`"money"`}, want: "422 events.types.x.schema.type: "},
		{doc: `{"name":"a","events":{"mapping":VALUE}}`, bad: noObject, want: "400 events.mapping: expected object"},
	})
}

func TestRepositoriesAndModels(t *testing.T) {
	t.Parallel()
	const git = `{"name":"a","repositories":{"main":{"name":"Main","type":"git","mode":"read-only","config":{"url":"https://git.example/a.git","branch":"main","dirpath":"a/b",` +
		`"auth":{"user":"u","password":"{{secret.git}}"},"redirectHosts":["b.example"]},"pull":{"exclude":[{"path":"security"}]},"groups":[1]}}}`
	require.Empty(t, shape.Check(document.Index, mapping(t, git)))
	prove(t, "index", []rule{
		{doc: `{"name":"a","repositories":{VALUE:{"name":"a"}}}`, bad: []string{`""`, `"-a"`, `"a.b"`, `"é"`, quoted(strings.Repeat("a", 41))}, want: "422 repositories", good: []string{`"Main_1-a"`}},
		{doc: `{"name":"a","repositories":{"m":VALUE}}`, bad: append([]string{`null`}, noObject...), want: "400 repositories.m: expected object"},
		{doc: `{"name":"a","repositories":{"m":VALUE}}`, bad: []string{`{}`}, want: "missing repositories.m.name: is required"},
		{doc: `{"name":"a","repositories":{"m":{"name":"a","type":VALUE}}}`, bad: []string{`"filesystem"`, `"svn"`}, want: "422 repositories.m.type: ", good: []string{`"archive"`, `null`}},
		{doc: `{"name":"a","repositories":{"m":{"name":"a","mode":VALUE}}}`, bad: []string{`"rw"`}, want: `422 repositories.m.mode: must be one of: read-write, read-only, write-only`},
		{doc: `{"name":"a","repositories":{"m":{"name":"a","config":{"token":VALUE}}}}`, bad: []string{`"x"`}, want: "400 repositories.m.config.token: unknown field"},
		{doc: `{"name":"a","repositories":{"m":{"name":"a","pull":{"exclude":[VALUE]}}}}`, bad: []string{`{}`}, want: "missing repositories.m.pull.exclude[0].path: is required"},
		{doc: `{"name":"a","models":{"providers":{"own":VALUE}}}`, bad: []string{`{}`}, want: "missing models.providers.own.baseUrl: is required", good: []string{`{"baseUrl":"https://llm.example/v1","apiKey":"{{secret.llm}}","models":[{"id":"m","kind":"chat","context":8192}]}`}},
		{doc: `{"name":"a","models":{"providers":{"own":{"baseUrl":"https://a.example","type":VALUE}}}}`, bad: []string{`"x"`}, want: "422 models.providers.own.type: ", good: []string{`"anthropic"`, `"ollama"`}},
		{doc: `{"name":"a","models":{"providers":{VALUE:{"baseUrl":"https://a.example"}}}}`, bad: []string{`"a/b"`, `""`}, want: "422 models.providers", good: []string{`"open-ai"`}},
		{doc: `{"name":"a","models":{"providers":{"own":{"baseUrl":"https://a.example","headers":{"X-Api-Key":VALUE}}}}}`, bad: []string{`"sk-canary"`}, want: "422 models.providers.own.headers.X-Api-Key: must be a secret", good: []string{`"{{secret.llm}}"`}},
		{doc: `{"name":"a","models":{"providers":{"own":{"baseUrl":VALUE}}}}`, bad: []string{`""`, `"/v1"`, `"ftp://x"`}, want: "422 models.providers.own.baseUrl: "},
		{
			doc: `{"name":"a","models":{"providers":{"own":{"baseUrl":VALUE}}}}`, bad: []string{`"https://user:sk-canary@a.example/v1"`, `"https://sk-canary@a.example"`, `"http://@a.example"`},
			want: "422 models.providers.own.baseUrl: must be an http or https URL without credentials", good: []string{`"https://a.example/v1?user=a@b.example"`},
		},
		{doc: `{"name":"a","models":{"providers":{"own":{"baseUrl":"https://a.example","apiKey":VALUE}}}}`, bad: []string{`"sk-canary"`, `"{{config.x}}"`, `"a {{secret.b}}"`}, want: "422 models.providers.own.apiKey: must be a secret of the workspace"},
		{doc: `{"name":"a","models":{"providers":{"own":{"baseUrl":"https://a.example","models":[{"id":"m","context":VALUE}]}}}}`, bad: []string{`0`, `1.5`, `1e10`, `-1`}, want: "422 models.providers.own.models[0].context: must be a whole number from 1 to 1e+09", good: []string{`1`}},
	})
}

func TestWhatTheServiceSetsIsNotLookedAt(t *testing.T) {
	t.Parallel()
	for kind, doc := range map[*document.Kind]string{
		document.Index: `{"name":"a","id":1,"platformRepositories":1,"dirty":"x","lastPush":1,"lastPull":1,"contentRevision":{},"syncedRevision":1,"writeLock":1,"versions":1,
			"automations":1,"pages":{},"imports":[],"authentication":1,"permissions":1,"checksum":1,"createdAt":1,"createdBy":1,"updatedAt":1,"updatedBy":1,"role":1,"can":[],"clientId":1}`,
		document.Page: `{"name":"a","id":1,"workspaceId":1,"workspaceSlug":1,"events":1,"customDomains":1,"permissions":1,"clientId":1,"appInstances":1,"checksum":1,
			"createdAt":1,"createdBy":1,"updatedAt":1,"updatedBy":1,"public":true}`,
		document.Import:   `{"appSlug":"a","appName":1,"checksum":1,"photo":1,"automations":1,"events":1,"blocks":1,"missing":1,"updatedAt":1}`,
		document.Security: `{"authentication":{"clientId":1},"checksum":1}`,
	} {
		require.Empty(t, shape.Check(kind, mapping(t, doc)), kind.Name)
	}
}

func TestARefusalSaysAll(t *testing.T) {
	t.Parallel()
	bad := shape.Fault{Field: "slug", Message: "bad", Code: domain.CodeValidation}
	absent := shape.Fault{Field: "name", Message: "required", Code: domain.CodeMissingParameter}
	strange := shape.Fault{Field: "x", Message: "unknown field", Code: domain.CodeInvalidRequest, Unknown: true}
	for want, faults := range map[domain.Code][]shape.Fault{
		domain.CodeNone: nil, domain.CodeValidation: {bad, bad}, domain.CodeMissingParameter: {bad, absent}, domain.CodeInvalidRequest: {bad, strange, absent},
	} {
		require.Equal(t, want, domain.CodeOf(shape.Refusal(faults)))
	}
	require.NoError(t, shape.Refusal(nil))
	refusal := &domain.Error{}
	require.ErrorAs(t, shape.Refusal([]shape.Fault{bad, absent}), &refusal)
	require.Equal(t, []domain.FieldError{{Field: "slug", Message: "bad"}, {Field: "name", Message: "required"}}, refusal.Details["errors"])
	require.Equal(t, "2 fields are not acceptable, the first: slug: bad", refusal.Message)

	require.EqualError(t, shape.Refusal(shape.CheckConfig(nil)), "invalid_request: expected object, got null")
	require.Equal(t, domain.CodeInternal, domain.CodeOf(shape.Refusal(shape.Check(nil, nil))))
}

func TestConfigAlone(t *testing.T) {
	t.Parallel()
	prove(t, "config", []rule{
		{doc: `VALUE`, bad: append([]string{`null`}, noObject...), want: "400 : expected object", good: []string{`{}`, `{"schema":{},"block":"x","value":{"a":1}}`}},
		{doc: `{"x":VALUE}`, bad: []string{`1`}, want: "unknown x: unknown field"},
		{doc: `{"schema":{"a":{"type":VALUE}}}`, bad: []string{`"x"`}, want: "422 schema.a.type: "},
	})
}

func TestManyFaultsDoNotHideOneAnother(t *testing.T) {
	t.Parallel()
	doc := document.MapOf(document.Pair{Key: "slug", Value: "B A D"})
	for i := range 5000 {
		doc.Set(fmt.Sprintf("x%d", i), 1.0)
	}
	faults := shape.Check(document.Index, doc)
	require.Len(t, faults, 102)
	require.Equal(t, "slug", faults[100].Field)
	require.Equal(t, "name", faults[101].Field)

	labels := make([]any, 5000)
	schema := document.MapOf()
	for i := range labels {
		labels[i] = "!"
		schema.Set(fmt.Sprintf("f%d", i), document.MapOf(document.Pair{Key: "type", Value: "x"}))
	}
	config := document.MapOf(document.Pair{Key: "schema", Value: schema})
	doc = document.MapOf(document.Pair{Key: "config", Value: config}, document.Pair{Key: "labels", Value: labels})
	require.Len(t, shape.Check(document.Index, doc), 100)
}

func TestPaths(t *testing.T) {
	t.Parallel()
	require.Equal(t, `do[2].fetch["a b"].é["say \"x\""][0]`, shape.Path("do", 2, "fetch", "a b", "é", `say "x"`, 0))
	require.Empty(t, shape.Path())
	long := shape.Check(document.Index, document.MapOf(document.Pair{Key: "name", Value: "a"}, document.Pair{Key: strings.Repeat("a b", 1000), Value: nil}))
	require.Len(t, []rune(long[0].Field), 401, "a path is cut")
}

// Corrections are made once: a document that was corrected is left as it is, and the one that was
// given is not changed.
func TestACorrectedDocumentStaysAsItIs(t *testing.T) {
	for text, kind := range map[string]*document.Kind{
		`{"name":7,"photo":"data:x","labels":[1,true],"blocks":{"A":{"blocks":[{"name":"B","config":{"blocks":[{"name":"C"}]}}]}}}`:                                   document.Index,
		`{"slug":404,"name":{"en":1},"favicon":"x.png","blocks":[{"name":"A","config":{"content":[{"name":"B","config":{}}]}},{"slug":"C","blocks":[{"name":"D"}]}]}`: document.Page,
		`{"appSlug":1,"disabled":"false","config":{"a":1}}`: document.Import,
		`{"slug":1,"do":[{"set":{"name":1}}]}`:              document.Automation,
		`{"authorizations":{"rules":[{"action":["read","fly"],"subject":["pages","moons"]},{"action":"fly","subject":"moons"}]}}`: document.Security,
	} {
		doc := document.MapOf()
		require.NoError(t, doc.UnmarshalJSON([]byte(text)))
		corrected, changes := shape.Correct(kind, doc)
		require.NotEmpty(t, changes, text)
		same, err := document.JSON(doc)
		require.NoError(t, err)
		require.JSONEq(t, text, string(same))
		again, changes := shape.Correct(kind, corrected)
		require.Empty(t, changes, text)
		require.Same(t, corrected, again, text)
	}
	for name, text := range map[string]string{
		"a rule that denies":         `{"authorizations":{"rules":[{"action":"fly","subject":"moons","inverted":true}]}}`,
		"priorities":                 `{"authorizations":{"rules":[{"action":"fly","subject":"moons"},{"action":"read","subject":"pages","priority":200}]}}`,
		"settings that look like it": `{"name":"P","blocks":[{"slug":"A","content":{"name":"x","config":{}},"blocks":[{"name":"y","config":{}}]}]}`,
	} {
		doc, kind := document.MapOf(), document.Security
		if strings.Contains(text, "blocks") {
			kind = document.Page
		}
		require.NoError(t, doc.UnmarshalJSON([]byte(text)))
		same, changes := shape.Correct(kind, doc)
		require.Empty(t, changes, name)
		require.Same(t, doc, same, name)
	}
}

// The work follows the size of the document, whatever it holds.
func TestCorrectionsOfALargeDocument(t *testing.T) {
	config := document.MapOf()
	for i := range 30_000 {
		config.Set(fmt.Sprint("k", i), document.MapOf(document.Pair{Key: "blocks", Value: []any{document.MapOf(document.Pair{Key: "name", Value: "B"})}}))
	}
	old := document.MapOf(document.Pair{Key: "name", Value: "A"}, document.Pair{Key: "config", Value: config})
	doc, changes := shape.Correct(document.Page, document.MapOf(document.Pair{Key: "name", Value: "P"}, document.Pair{Key: "blocks", Value: []any{old}}))
	require.Len(t, changes, 1)
	require.Contains(t, changes[0].Message, "30001 blocks")
	blocks, _ := doc.Get("blocks")
	inner, _ := blocks.([]any)[0].(*document.Map).Get("k29999")
	list, _ := inner.(*document.Map).Get("blocks")
	require.Equal(t, "B", list.([]any)[0].(*document.Map).Text("slug"))
}

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

// Names that others refer to show what they are: by the names of roles, which
// the evaluator of rules judges a second time.
func TestNamesShowWhatTheyAre(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"agent": true, "Agent 2": true, "first-line support": true, "équipe": true, "代理": true, "代理 API": true, "サポート": true, "서비스": true,
		"агент": true, "Μηχανή": true, "նախագահ": true, "वकील": true, "ผู้ดูแล": true, "مدير": true, "מנהל": true, "Đội trưởng": true, "a@b.c/d#e": true, "12": true,
		"": false, " ": false, " agent": false, "agent\u00a0": false,
		"age\u200bnt": false, "\u202eagent": false, "agent\u2066": false, "agent\ufeff": false, "age\u3164nt": false, "a\u0000": false, "a\nb": false, "a\u0085": false,
		"editоr":       false, // a Cyrillic o
		"Εditor":       false, // a Greek E
		"агентa":       false, // a Latin a
		"сосо":         false, // all Cyrillic, all like Latin
		"ΑΒΕ":          false, // all Greek
		"ոսօ":          false, // all Armenian
		"ᎪᎢᎬ":          false, // Cherokee
		"ａｇｅｎｔ":        false, // full width
		"\U0001d41a":   false, // mathematical
		"agent\u0301":  false, // a mark on its own
		"\u212a":       false, // the sign of Kelvin
		"ownerı":       false, // an i without its dot
		"ﬁx":           false, // two letters in one
		"\uf900":       false, // a second form of a Han character
		"\U0002f800":   false,
		"a☺":           false,
		"٣":            false, // a digit of another script
		"a\ufe0f":      false,
		"\xff":         false,
		"مدير agent":   false,
		"\ue000":       false,
		"\u2028":       false,
		"a\u00adb":     false,
		"１":            false,
		"agent\u2003b": false,
	} {
		roles := document.MapOf(document.Pair{Key: name, Value: document.MapOf()})
		doc := document.MapOf(document.Pair{Key: "authorizations", Value: document.MapOf(document.Pair{Key: "roles", Value: roles})})
		require.Equal(t, ok, len(shape.Check(document.Security, doc)) == 0, "%q", name)
	}
}

// everything calls all that judges a document.
func everything(v any) {
	doc, _ := v.(*document.Map)
	for _, kind := range []*document.Kind{document.Index, document.Security, document.Page, document.Import} {
		_ = shape.Refusal(shape.Check(kind, doc))
	}
	shape.CheckBlock(doc)
	shape.CheckConfig(v)
	shape.PageEvents(doc)
}

// Whatever a document is, it is judged without a panic.
func FuzzAnyDocumentIsJudged(f *testing.F) {
	for _, name := range sorts {
		schema, _ := shape.Schema(name)
		text, err := document.JSON(schema)
		require.NoError(f, err)
		f.Add(text)
		examples, _ := schema.Get("examples")
		for _, example := range examples.([]any) {
			text, err = document.JSON(example)
			require.NoError(f, err)
			f.Add(text)
		}
	}
	for _, text := range []string{
		`null`, `[]`, `{"blocks":[[[]]],"name":[{}]}`, `{"blocks":{"":{"blocks":{}}}}`, `{"config":{"schema":{"":{"$ref":"#/a~1b/0"}}}}`,
		`{"config":{"schema":{"a":{"$ref":"#"}}}}`, `{"events":{"types":{"":{"schema":{"type":[]}}}}}`, `{"authorizations":{"rules":[{"priority":1e308}]}}`,
		`{"name":{"":"\u0000"},"slug":"\ud800","blocks":[{"slug":".","content":[],"onInit":{}}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := document.ReadJSON(text, document.FileLimits)
		if err != nil {
			return // what is no document is not judged
		}
		everything(v)
	})
}

// Values that no reader makes are judged without a panic too, and documents stay
// as they are.
func TestAnyValueIsJudged(t *testing.T) {
	t.Parallel()
	everything(1)
	everything((*document.Map)(nil))
	everything(document.MapOf(document.Pair{Key: "name", Value: map[string]any{}}, document.Pair{Key: "blocks", Value: []any{1, (*document.Map)(nil)}}, document.Pair{Key: "slug", Value: "\xff"}))
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(4).Draw(t, "document")
		before, err := document.JSON(v)
		if err != nil {
			t.Fatal(err)
		}
		everything(v)
		after, err := document.JSON(v)
		if err != nil || string(before) != string(after) {
			t.Fatalf("%s became %s", before, after)
		}
	})
}

// anyValue draws documents whose keys are often those of the tables.
func anyValue(depth int) *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), anyOf), rapid.Map(rapid.Float64Range(-1e6, 1e6), anyOf),
		rapid.Map(rapid.SampledFrom([]string{"", "a", "{{x}}", "a.b", "event", "git", "#/a", "("}), anyOf), rapid.Map(rapid.String(), anyOf),
	)
	if depth == 0 {
		return scalar
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth - 1) })
	key := rapid.OneOf(rapid.SampledFrom([]string{
		"name", "slug", "blocks", "config", "schema", "value", "type", "properties", "authorizations", "roles", "rules", "role", "action", "events", "types",
		"onInit", "updateOn", "automation", "redirect", "labels", "secrets", "content", "repositories", "models", "providers", "auth", "$ref", "anyOf", "pagination",
	}), rapid.String())
	mapping := rapid.Custom(func(t *rapid.T) any {
		m := document.MapOf()
		for _, k := range rapid.SliceOfN(key, 0, 5).Draw(t, "keys") {
			m.Set(k, inner.Draw(t, k))
		}
		return m
	})
	return rapid.OneOf(mapping, scalar, rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []any) any { return l }))
}

func anyOf[T any](v T) any { return v }
