package shape_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/shape"
)

var (
	badEvents = []string{`""`, `"a/b"`, `"a*"`, `"évent"`, quoted(strings.Repeat("a", 201))}
	badNames  = []string{`""`, `" a"`, `"a "`, `"a\u0000"`, `"a\u202e"`, `"a\u200bb"`, `"p\u0430ge"`, `"\u0440\u0430\u0441\u0435"`, `"ＡＢ"`, `"a\u0301"`}
)

func TestPages(t *testing.T) {
	t.Parallel()
	prove(t, "page", []rule{
		{doc: `{}VALUE`, bad: []string{``}, want: "missing name: is required"},
		{doc: `{"name":VALUE}`, bad: noText, want: "400 name: expected string or object", good: []string{`"Home"`, `{"en":"Home","fr":"Accueil"}`, `"\u05d1\u05d9\u05ea"`}},
		{doc: `{"name":VALUE}`, bad: []string{`""`, `"  "`, `"a\nb"`, `{}`, quoted(strings.Repeat("a", 501))}, want: "422 name: "},
		{doc: `{"name":{"en":VALUE}}`, bad: []string{`""`, `"a\u0007"`, quoted(strings.Repeat("a", 501))}, want: "422 name.en: "},
		{doc: `{"name":{"en":VALUE}}`, bad: []string{`null`, `1`}, want: "400 name.en: expected string"},
		{doc: `{"name":{VALUE:"x"}}`, bad: []string{`"english language"`}, want: `422 name["english language"]: "english language" is not a valid language`},
		{doc: `{"name":"a","slug":VALUE}`, bad: []string{`""`, `"/a"`, `"a//b"`, `"_svc"`, `"_svc/x"`, `"é"`, `"a.b"`, quoted(strings.Repeat("a", 129)), `"раge"`}, want: "422 slug: ", good: []string{`"index"`, `"_401"`, `"A b/c-d_e"`, `null`}},
		{doc: `{"name":"a","slug":VALUE}`, bad: odd, want: "400 slug: expected string"},
		{doc: `{"name":"a","description":VALUE}`, bad: noText, want: "400 description: ", good: []string{`{"fr":"x"}`}},
		{doc: `{"name":"a","labels":VALUE}`, bad: badLabel, want: "422 labels[0]: ", good: []string{`["ab"]`}},
		{doc: `{"name":"a","public":VALUE}`, bad: noSwitch, want: "400 public: expected boolean", good: []string{`true`}},
		{doc: `{"name":"a","redirect":VALUE}`, bad: noObject, want: "400 redirect: expected object", good: []string{`{"url":"/a"}`, `{"url":"https://a.example","permanent":true}`, `{"url":"{{next}}"}`}},
		{doc: `{"name":"a","redirect":VALUE}`, bad: []string{`{}`, `{"url":null,"permanent":true}`}, want: "missing redirect.url: is required"},
		{doc: `{"name":"a","redirect":{"url":VALUE}}`, bad: []string{`""`, `"a\nb"`, quoted("/" + strings.Repeat("a", 2048))}, want: "422 redirect.url: "},
		{doc: `{"name":"a","redirect":{"url":"/","status":VALUE}}`, bad: []string{`301`}, want: "400 redirect.status: unknown field; known are url, permanent"},
		{doc: `{"name":"a","redirect":{"url":"/","permanent":VALUE}}`, bad: noSwitch, want: "400 redirect.permanent: expected boolean"},
		{doc: `{"name":"a","colorScheme":VALUE}`, bad: []string{`"Dark"`, `""`, `"blue"`}, want: "422 colorScheme: ", good: []string{`"auto"`, `"light"`, `"dark"`, `null`}},
		{doc: `{"name":"a","favicon":VALUE}`, bad: pictures, want: "422 favicon: ", good: []string{`"/f.ico"`}},
		{doc: `{"name":"a","styles":VALUE}`, bad: odd, want: "400 styles: expected string", good: []string{`"a{}\n/* } any { */"`}},
		{doc: `{"name":"a","title":VALUE}`, bad: []string{`"x"`}, want: "unknown title: unknown field; known are slug, name, description"},
	})
}

func TestEventsAndAutomationsOfPages(t *testing.T) {
	t.Parallel()
	var rules []rule
	for _, at := range []string{`{"name":"a",%s}`, `{"name":"a","blocks":[{"slug":"X",%s}]}`} {
		path := map[bool]string{true: "blocks[0].", false: ""}[strings.Contains(at, "blocks")]
		doc := func(field string) string { return fmt.Sprintf(at, field) }
		rules = append(rules,
			rule{doc: doc(`"onInit":VALUE`), bad: noText, want: "400 " + path + "onInit: expected string or object", good: []string{`"ready"`, `"{{event}}"`, `{"event":"ready"}`, `{"event":"ready","payload":{"a":1}}`, `null`}},
			rule{doc: doc(`"onInit":VALUE`), bad: append([]string{`"workspaces.deleted"`}, badEvents...), want: "422 " + path + "onInit: "},
			rule{doc: doc(`"onInit":{"event":VALUE}`), bad: append([]string{`"workspaces.deleted"`}, badEvents...), want: "422 " + path + "onInit.event: "},
			rule{doc: doc(`"onInit":VALUE`), bad: []string{`{}`, `{"payload":1}`}, want: "missing " + path + "onInit.event: is required"},
			rule{doc: doc(`"onInit":{"event":"a","value":VALUE}`), bad: []string{`1`}, want: "400 " + path + "onInit.value: unknown field"},
			rule{doc: doc(`"updateOn":VALUE`), bad: odd, want: "400 " + path + "updateOn: expected string", good: []string{`"crm.updated"`, `"workspaces.updated"`, `"{{event}}"`}},
			rule{doc: doc(`"updateOn":VALUE`), bad: badEvents, want: "422 " + path + "updateOn: "},
			rule{doc: doc(`"automation":VALUE`), bad: noText, want: "400 " + path + "automation: expected string or object", good: []string{`"load/home"`, `"crm.load"`, `{"slug":"load","payload":{"a":1}}`}},
			rule{doc: doc(`"automation":VALUE`), bad: []string{`""`, `"a\u0000"`}, want: "422 " + path + "automation: "},
			rule{doc: doc(`"automation":VALUE`), bad: []string{`{"payload":1}`}, want: "missing " + path + "automation.slug: is required"},
			rule{doc: doc(`"automation":{"slug":VALUE}`), bad: []string{`" "`}, want: "422 " + path + "automation.slug: "},
			rule{doc: doc(`"automation":{"slug":"a","arguments":VALUE}`), bad: []string{`{}`}, want: "400 " + path + "automation.arguments: unknown field"},
		)
	}
	prove(t, "page", append(rules,
		rule{doc: `{"name":"a","notifyOn":VALUE}`, bad: badEvents, want: "422 notifyOn: ", good: []string{`"news"`}},
	))
}

func TestBlocksOfPages(t *testing.T) {
	t.Parallel()
	prove(t, "page", []rule{
		{doc: `{"name":"a","blocks":VALUE}`, bad: noList, want: "400 blocks: expected array", good: []string{`[]`, `[{"slug":"Dialog Box","any":{"thing":[1]},"onSubmit":{"odd":1}}]`}},
		{doc: `{"name":"a","blocks":[VALUE]}`, bad: append([]string{`null`}, noObject...), want: "400 blocks[0]: expected object"},
		{doc: `{"name":"a","blocks":[{"slug":"A"},VALUE]}`, bad: []string{`{}`, `{"slug":null}`}, want: "missing blocks[1].slug: is required"},
		{doc: `{"name":"a","blocks":[{"slug":VALUE}]}`, bad: badNames, want: "422 blocks[0].slug: ", good: []string{`"RichText"`, `"crm.Contacts"`, `"Продукт"`, `"代理API"`}},
		{doc: `{"name":"a","blocks":[{"slug":"A","appInstance":VALUE}]}`, bad: []string{`""`, `"a\n"`}, want: "422 blocks[0].appInstance: ", good: []string{`"crm"`}},
		{doc: `{"name":"a","blocks":[{"slug":"A","className":VALUE}]}`, bad: odd, want: "400 blocks[0].className: ", good: []string{`"a b"`}},
		{doc: `{"name":"a","blocks":[{"slug":"A","css":VALUE}]}`, bad: odd, want: "400 blocks[0].css: ", good: []string{`":block{}"`}},
		{doc: `{"name":"a","blocks":[{"slug":"A","sectionId":VALUE}]}`, bad: odd, want: "400 blocks[0].sectionId: ", good: []string{`"top"`}},
		{doc: `{"name":"a","blocks":[{"slug":"A","repeat":VALUE}]}`, bad: []string{`1`, `true`}, want: "400 blocks[0].repeat: ", good: []string{`{"on":"{{list}}","as":"x"}`, `[1]`}},
		{doc: `{"name":"a","blocks":[{"slug":"A","if":VALUE}]}`, good: []string{`"{{x}}"`, `true`, `0`}},
		{doc: `{"name":"a","blocks":[{"slug":"A","hidden":VALUE}]}`, good: []string{`"!{{x}}"`, `false`}},
	})
}

// deep returns n blocks, one in the other, by a setting.
func deep(setting string, n int) string {
	text := `{"slug":"A"}`
	for range n - 1 {
		text = fmt.Sprintf(`{"slug":"A",%s}`, fmt.Sprintf(setting, text))
	}
	return text
}

func TestBlocksHaveLimits(t *testing.T) {
	t.Parallel()
	many := func(n int) string { return strings.TrimSuffix(strings.Repeat(`{"slug":"A"},`, n), ",") }
	const page = `{"name":"a","blocks":[VALUE]}`
	prove(t, "page", []rule{
		{doc: page, bad: []string{many(2001), `{"slug":"L","blocks":[` + many(2000) + `]}`, `{"slug":"T","tabs":[{"content":[` + many(2000) + `]}]}`}, want: "422 blocks: there are at most 2000 blocks", good: []string{many(2000)}},
		{doc: page, bad: []string{deep(`"blocks":[%s]`, 21), deep(`"tabs":[{"content":%s}]`, 21), deep(`"tabs":[{"content":[%s]}]`, 21), deep(`"x":{"blocks":[%s]}`, 40)}, want: "422 blocks: blocks are nested at most 20 deep", good: []string{deep(`"blocks":[%s]`, 20), deep(`"x":%s`, 30)}},
		{doc: page, good: []string{`{"slug":"DataTable","data":[` + many(3000) + `]}`, `{"slug":"RichText","content":"text"}`, `{"slug":"A","content":[1,"a"]}`}},
	})
	prove(t, "index", []rule{
		{doc: `{"name":"a","blocks":{"P":VALUE}}`, bad: []string{`{"blocks":[` + many(2001) + `]}`}, want: "422 blocks.P.blocks: ", good: []string{`{"blocks":[` + many(2000) + `]}`}},
	})
}

func TestBlocksOfWorkspaces(t *testing.T) {
	t.Parallel()
	prove(t, "block", []rule{
		{doc: `VALUE`, good: []string{`{}`, `{"slug":"x","updatedAt":1}`}},
		{doc: `{"name":VALUE}`, bad: noText, want: "400 name: expected string or object", good: []string{`"a"`, `{"en":"a"}`, `null`}},
		{doc: `{"name":VALUE}`, bad: []string{`""`, `{}`}, want: "422 name: "},
		{doc: `{"description":VALUE}`, bad: noText, want: "400 description: "},
		{doc: `{"photo":VALUE}`, bad: pictures, want: "422 photo: "},
		{doc: `{"url":VALUE}`, bad: []string{`"javascript:x"`, `"x.js"`}, want: "422 url: ", good: []string{`"https://a.example/b.js"`}},
		{doc: `{"schema":VALUE}`, bad: noText[:1], want: "400 schema: expected boolean or object", good: []string{`{"type":"anything","of":1}`, `true`}},
		{doc: `{"edit":VALUE}`, good: []string{`"https://x"`, `{"a":1}`, `true`}},
		{doc: `{"block":VALUE}`, bad: badNames, want: "422 block: ", good: []string{`"Form"`}},
		{doc: `{"config":VALUE}`, bad: noObject, want: "400 config: expected object", good: []string{`{"any":[{}]}`}},
		{doc: `{"automation":VALUE}`, bad: []string{`""`}, want: "422 automation: ", good: []string{`"load"`}},
		{doc: `{"blocks":[VALUE]}`, bad: []string{`{}`}, want: "missing blocks[0].slug: is required", good: []string{`{"slug":"RichText","content":"x"}`}},
		{doc: `{"blocks":[VALUE]}`, bad: []string{deep(`"blocks":[%s]`, 21)}, want: "422 blocks: blocks are nested"},
		{doc: `{"css":VALUE}`, bad: odd, want: "400 css: expected string", good: []string{`"any } { thing"`}},
		{doc: `{"title":VALUE}`, bad: []string{`1`}, want: "unknown title: unknown field; known are name, description"},
	})
	prove(t, "index", []rule{
		{doc: `{"name":"a","blocks":{VALUE:{}}}`, bad: append([]string{`"a.b"`, `"a/b"`, `"a%2F"`, quoted(strings.Repeat("a", 61))}, badNames...), want: "422 blocks", good: []string{`"Product Card"`, `"a_1-b"`, `"Карта"`, `"Größe"`}},
		{doc: `{"name":"a","blocks":{"P":VALUE}}`, bad: noObject, want: "400 blocks.P: expected object or null", good: []string{`null`}},
		{doc: `{"name":"a","blocks":{"P":{"title":VALUE}}}`, bad: []string{`1`}, want: "400 blocks.P.title: unknown field"},
	})
}

func TestAppInstances(t *testing.T) {
	t.Parallel()
	prove(t, "import", []rule{
		{doc: `{}VALUE`, bad: []string{``}, want: "missing appSlug: is required"},
		{doc: `{"appSlug":VALUE}`, bad: odd, want: "400 appSlug: expected string", good: []string{`"Mail Box"`}},
		{doc: `{"appSlug":VALUE}`, bad: []string{`""`, `"a/b"`, `"mаil"`, quoted(strings.Repeat("a", 61))}, want: "422 appSlug: "},
		{doc: `{"appSlug":"a","slug":VALUE}`, bad: []string{`""`, `"a/b"`, `"a.b"`, `"a\u200b"`}, want: "422 slug: ", good: []string{`"crm 2"`}},
		{doc: `{"appSlug":"a","appVersion":VALUE}`, bad: []string{`""`, `"a b"`, quoted(strings.Repeat("1", 64))}, want: "422 appVersion: ", good: []string{`"v2.5.0"`, `null`}},
		{doc: `{"appSlug":"a","disabled":VALUE}`, bad: noSwitch, want: "400 disabled: expected boolean", good: []string{`true`}},
		{doc: `{"appSlug":"a","labels":VALUE}`, bad: badLabel, want: "422 labels[0]: "},
		{doc: `{"appSlug":"a","config":VALUE}`, bad: []string{`1`, `true`, `[]`}, want: "400 config: expected string or object", good: []string{`{"any":{"thing":[null]}}`, `"{{config}}"`, `"{{ config.mail }}"`}},
		{doc: `{"appSlug":"a","config":VALUE}`, bad: []string{`"x"`, `"{{secret.k}}"`, `"{{config}} "`}, want: "422 config: expected an object"},
		{doc: `{"appSlug":"a","version":VALUE}`, bad: []string{`1`}, want: "unknown version: unknown field; known are slug, appSlug, appVersion, disabled, labels, config"},
	})
}

func TestSecurity(t *testing.T) {
	t.Parallel()
	rule1 := func(part string) string {
		return `{"authorizations":{"rules":[{"action":"read","subject":"pages",` + part + `}]}}`
	}
	const at = "authorizations.rules[0]."
	prove(t, "security", []rule{
		{doc: `VALUE`, good: []string{`{}`, `{"authorizations":null}`, `{"authorizations":{}}`}},
		{doc: `{"authorizations":VALUE}`, bad: noObject, want: "400 authorizations: expected object"},
		{doc: `{"rules":VALUE}`, bad: []string{`[]`}, want: "unknown rules: unknown field; known are authorizations"},
		{doc: `{"authorizations":{"users":VALUE}}`, bad: []string{`{}`}, want: "400 authorizations.users: unknown field; known are roles, rules"},
		{doc: `{"authorizations":{"roles":{VALUE:{}}}}`, bad: append([]string{quoted(strings.Repeat("a", 61))}, badNames...), want: "422 authorizations.roles", good: []string{`"agent"`, `"first-line support"`, `"équipe"`, `"代理"`, `"агент"`}},
		{doc: `{"authorizations":{"roles":{"a":VALUE}}}`, bad: noObject, want: "400 authorizations.roles.a: expected object or null", good: []string{`null`, `{}`, `{"auth":{"apiKey":{}}}`}},
		{doc: `{"authorizations":{"roles":{"a":{"rights":VALUE}}}}`, bad: []string{`{}`}, want: "400 authorizations.roles.a.rights: unknown field; known are description, auth"},
		{doc: `{"authorizations":{"roles":{"a":{"description":VALUE}}}}`, bad: []string{quoted(strings.Repeat("a", 1001))}, want: "422 authorizations.roles.a.description: "},
		{doc: `{"authorizations":{"roles":{"a":{"auth":{VALUE:{}}}}}}`, bad: badNames, want: "422 authorizations.roles.a.auth", good: []string{`"google"`}},
		{doc: `{"authorizations":{"roles":{"a":{"auth":{"svc":{"conditions":VALUE}}}}}}`, bad: noObject, want: "400 authorizations.roles.a.auth.svc.conditions: expected object", good: []string{`{"authData.email":{"$regex":"x"}}`}},
		{doc: `{"authorizations":{"rules":VALUE}}`, bad: noList, want: "400 authorizations.rules: expected array"},
		{doc: `{"authorizations":{"rules":[VALUE]}}`, bad: append([]string{`null`}, noObject...), want: "400 authorizations.rules[0]: expected object"},
		{doc: `{"authorizations":{"rules":[{"action":"read",VALUE}]}}`, bad: []string{`"reason":"x"`}, want: "missing " + at + "subject: is required"},
		{doc: `{"authorizations":{"rules":[{"subject":"pages","action":VALUE}]}}`, bad: []string{`null`, `1`, `{}`}, want: "400 " + at + "action: expected string or array", good: []string{`"read"`, `["read","update"]`}},
		{doc: rule1(`"role":VALUE`), bad: []string{`null`, `1`, `{}`}, want: "400 " + at + "role: expected string or array", good: []string{`"editor"`, `["editor"]`}},
		{doc: rule1(`"role":["a",VALUE]`), bad: []string{`null`, `1`}, want: "400 " + at + "role[1]: expected string"},
		{doc: rule1(`"inverted":VALUE`), bad: append([]string{`null`}, noSwitch...), want: "400 " + at + "inverted: expected boolean", good: []string{`true`}},
		{doc: rule1(`"conditions":VALUE`), bad: append([]string{`null`}, noObject...), want: "400 " + at + "conditions: expected object", good: []string{`{"any":{"$odd":1}}`}},
		{doc: rule1(`"fields":VALUE`), bad: append([]string{`null`}, noList...), want: "400 " + at + "fields: expected array", good: []string{`["name"]`}},
		{doc: rule1(`"reason":VALUE`), bad: odd, want: "400 " + at + "reason: expected string", good: []string{`"REMOVE_ON_DUPLICATE"`}},
		{doc: rule1(`"priority":VALUE`), bad: []string{`99`, `1000`, `100.5`, `-1`, `1e300`}, want: "422 " + at + "priority: must be a whole number from 100 to 999", good: []string{`100`, `999`, `null`}},
		{doc: rule1(`"effect":VALUE`), bad: []string{`"deny"`}, want: "400 " + at + "effect: unknown field; known are action, subject"},
	})
}

func TestPageEvents(t *testing.T) {
	t.Parallel()
	emit, listen := shape.PageEvents(mapping(t, `{"slug":"x.y","onInit":{"event":"opened"},"updateOn":"updated","notifyOn":"news","blocks":[
		{"slug":"Form","onSubmit":{"event":"save","payload":{"onInit":"no"}},"onChange":"changed","onInit":"opened","schema":{"onChange":"no"},"values":{"updateOn":"no"}},
		{"slug":"crm.Contacts","onInit":"open","updateOn":"opened","automation":{"slug":"load","onInit":"no"},"blocks":[{"slug":"Action","type":"event","value":"plain"}]},
		{"slug":"Contacts","appInstance":"erp","buttons":[{"type":"event","value":"click"},{"type":"internal","value":"home"},{"type":"upload","value":"sent"}]},
		{"slug":"DataTable","data":[{"onInit":"no"}],"pagination":{"event":"more"},"onSort":"sort","bulkActions":[{"label":"x","onSelect":"chosen"}],"updateRowOn":"row"},
		{"slug":"Modal","openOn":"open","closeOn":"close","onClose":{"event":"closed"},"blocks":[{"slug":"Toast","toastOn":"toast"}]},
		{"slug":"TabsView","onChange":"tab","tabs":[{"content":{"slug":"Header","updateOn":"{{dynamic}}","nav":[{"type":"event","value":"{{x}}"}]}}]},
		7, null, {"slug":1,"onInit":[],"updateOn":{}}
	]}`))
	require.Equal(t, []string{"opened", "save", "changed", "crm.open", "plain", "erp.click", "erp.sent", "more", "sort", "chosen", "closed", "tab"}, emit)
	require.Equal(t, []string{"updated", "news", "crm.opened", "row", "open", "close", "toast"}, listen)

	emit, listen = shape.PageEvents(nil)
	require.Equal(t, []string{}, emit)
	require.Equal(t, []string{}, listen)
}

func TestUsesOfPagesAndBlocksHavePlaces(t *testing.T) {
	t.Parallel()
	require.Equal(t, []automation.Use{
		{Kind: automation.Emission, Name: "opened", Field: "onInit.event"},
		{Kind: automation.Call, Name: "load", Field: "automation.slug"},
		{Kind: automation.Call, Name: "inner", Field: "blocks[0].tabs[1].content.automation"},
		{Kind: automation.Listening, Name: "crm.ready", Field: "blocks[1].updateOn"},
		{Kind: automation.Emission, Name: "crm.sent", Field: "blocks[1].button.value"},
	}, shape.Uses(document.Page, mapping(t, `{"onInit":{"event":"opened"},"automation":{"slug":"load"},"blocks":[
		{"slug":"TabsView","automation":"{{x}}","tabs":[{},{"content":{"slug":"Cards","automation":"inner","data":{"automation":"no"}}}]},
		{"slug":"crm.List","automation":"of the app","updateOn":"ready","button":{"type":"event","value":"sent"}}]}`)))
	require.Equal(t, []automation.Use{
		{Kind: automation.Call, Name: "price", Field: "blocks.Product.automation"},
		{Kind: automation.Call, Name: "stock", Field: "blocks.Product.blocks[0].automation"},
	}, shape.Uses(document.Index, mapping(t, `{"blocks":{"Empty":null,"Product":{"automation":"price","blocks":[{"slug":"KPI","automation":"stock"}]}}}`)))
	require.Equal(t, []automation.Use{{Kind: automation.Call, Name: "charge", Field: "automation"}}, shape.Uses(document.Test, mapping(t, `{"automation":"charge","cases":[{"name":"x"}]}`)))
	require.Equal(t, automation.Use{Kind: automation.Call, Name: "refund", Field: "cases[0].stubs.automations[1].automation"},
		shape.Uses(document.Test, mapping(t, `{"automation":"charge","cases":[{"name":"x","stubs":{"automations":[{"automation":"Mail.send"},{"automation":"refund"}]}}]}`))[1])
	require.Empty(t, shape.Uses(document.Security, mapping(t, `{"automation":"x"}`)))
}
