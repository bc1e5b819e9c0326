package automations_test

import (
	"fmt"
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/workspace"
)

// problems lists the problems of a workspace as "severity object field: message".
func problems(t *testing.T, p nodetest.Workspace, query string) (all []string) {
	t.Helper()
	all = []string{}
	for _, item := range p.Do(t, 200, "GET", p.Path+"/problems?"+query, "").List(t) {
		all = append(all, fmt.Sprintf("%s %s %s: %s", item["severity"], item["object"], item["field"], item["message"]))
	}
	return all
}

// warnings are those of an answer, as "field line: message".
func warnings(t *testing.T, a nodetest.Answer) (all []string) {
	t.Helper()
	list, _ := a.JSON(t)["warnings"].([]any)
	for _, item := range list {
		w := item.(map[string]any)
		all = append(all, fmt.Sprintf("%v %v: %v", w["field"], w["line"], w["message"]))
	}
	return all
}

// importWarnings are those of an import, as "code file line: message".
func importWarnings(t *testing.T, a nodetest.Answer) (all []string) {
	t.Helper()
	list, _ := a.JSON(t)["warnings"].([]any)
	for _, item := range list {
		w := item.(map[string]any)
		all = append(all, fmt.Sprintf("%v %v %v: %v", w["err"], w["filepath"], w["line"], w["msg"]))
	}
	return all
}

// Names that do not exist are told by an import, too, and before it is carried out: real
// workspaces come with calls of apps that are not there, and without their secrets.
func TestAnImportTellsWhichNamesDoNotExist(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "WORKSPACE_SECRET_shop_given=CANARY-given").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.Do(t, 201, "POST", p.Path+"/automations", `{"name":"Take","slug":"take","do":[]}`)
	p.Do(t, 201, "POST", p.Path+"/automations", `{"name":"Inner","slug":"inner","private":true,"do":[]}`)
	p.Do(t, 200, "PATCH", p.Path, `{"slug":"orders"}`)
	p.PublishApp(t, "orders")
	zip := nodetest.ZipOf(t, map[string]string{
		"index.yml":      "name: Shop\nslug: shop\nsecrets: {schema: {declared: {type: string}}}\n",
		"imports/od.yml": "slug: od\nappSlug: orders\nconfig: {k: '{{secret.conf}}', functions: {own: {code: return 1}}}\n",
		"pages/home.yml": "slug: home\nname: Home\nautomation: loda\nblocks: []\n",
		"automations/a.yml": `name: A
when: {events: [heard, od.done, never]}
do:
  - od.take: {}
  - od.own: {}
  - od.inner: {}
  - od.taek: {}
  - b: {}
  - bb: {}
  - ax.y: {}
  - fetch: {url: 'https://e.org/{{secret.k}}{{secret.given}}{{paylod}}'}
`,
		"automations/b.yml":    "name: B\ndo: [{emit: {event: heard}}, {fetch: {url: 'https://e.org/{{secret.k}}'}}, {bb: {}}]\n",
		"automations/load.yml": "name: Load\ndo: []\n",
	})
	want := []string{
		`missing_name automations/a.yml 10: do[6]["ax.y"]: there is no instruction and no automation "ax.y"`,
		`missing_name automations/a.yml 11: do[7].fetch.url: the secret "k" has no value`,
		`missing_name automations/a.yml 2: when.events[2]: no automation, page or app of this workspace emits "never"; if it is sent from outside, declare it in events.types`,
		`missing_name automations/a.yml 6: do[2]["od.inner"]: the app instance "od" has no automation "inner" that can be called from here`,
		`missing_name automations/a.yml 7: do[3]["od.taek"]: the app instance "od" has no automation "taek" that can be called from here; did you mean "take"?`,
		`missing_name automations/a.yml 9: do[5].bb: there is no instruction and no automation "bb"; did you mean "b"?`,
		`missing_name imports/od.yml 3: config.k: the secret "conf" has no value`,
		`missing_name index.yml 3: secrets.schema.declared: the secret "declared" has no value`,
		`missing_name pages/home.yml 3: automation: there is no instruction and no automation "loda"; did you mean "load"?`,
		`unset_variable automations/a.yml 11: do[7].fetch.url: nothing sets the variable "paylod"; did you mean "payload"?`,
	}
	told := func(path string) nodetest.Answer {
		got := s.Upload(t, path, p.Auth, zip, false)
		require.Less(t, got.StatusCode, 300, "%s", got.Body)
		require.Equal(t, want, slices.Sorted(slices.Values(importWarnings(t, got))))
		return got
	}
	told("/v2/workspaces/import?dryRun=true")
	made := told("/v2/workspaces/import").JSON(t)["workspace"].(map[string]any)["id"].(string)

	t.Log("and they are listed until they are mended")
	shop := nodetest.Workspace{Service: s, Path: "/v2/workspaces/" + made, ID: made, Auth: p.Auth}
	require.Len(t, problems(t, shop, ""), len(want)+2, "a secret and a call are used twice")
	shop.Do(t, 200, "PATCH", shop.Path+"/apps/od", `{"disabled":true}`)
	require.Contains(t, problems(t, shop, "object=automations/a"), `warning automations/a do[0]["od.take"]: the app instance "od" is disabled: nothing of it can be called`)
	shop.Do(t, 200, "PATCH", shop.Path+"/apps/od", `{"disabled":false}`)
	require.NotContains(t, fmt.Sprint(problems(t, shop, "")), "od.take")

	t.Log("saving tells the same of calls of apps, built-in ones too")
	shop.Do(t, 201, "POST", shop.Path+"/apps", `{"appSlug":"Collection","slug":"users"}`)
	saved := shop.Do(t, 201, "POST", shop.Path+"/automations", `{"name":"C","slug":"c","do":[{"users.find":{}},{"users.fnd":{}},{"od.take":{}},{"od.own":{}},{"od.other":{}}]}`)
	require.Equal(t, []string{
		`do[1]["users.fnd"] <nil>: the app instance "users" has no automation "fnd" that can be called from here; did you mean "find"?`,
		`do[4]["od.other"] <nil>: the app instance "od" has no automation "other" that can be called from here`,
	}, warnings(t, saved))
	s.Stop(t)
	nodetest.RequireNoSecret(t, s.Dir, "CANARY-given")
}

// What is likely wrong is told when it is saved, and listed until it is mended.
func TestProblems(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "WORKSPACE_SECRET_shop_given=CANARY-given").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	const order = `name: Order
slug: order
when:
  events: [order.creatd]
do:
  - chrage: {card: '{{payload.card}}'}
  - fetch:
      url: https://pay.example/{{paylod.id}}
      timout: 5
      headers: {k: '{{secret.pay}}', g: '{{secret.given}}'}
`
	p.Do(t, 201, "POST", p.Path+"/automations", `{"name":"Charge","slug":"charge","arguments":{"card":{"type":"string"}},"do":[{"emit":{"event":"charged"}}]}`)
	want := []string{
		`do[1].fetch.timout 9: unknown parameter, which is ignored; known are`,
		`do[1].fetch.url 8: nothing sets the variable "paylod"`,
		`do[0].chrage 6: there is no instruction and no automation "chrage"; did you mean "charge"?`,
		`do[1].fetch.headers.k 10: the secret "pay" has no value`,
		`when.events[0] 4: no automation, page or app of this workspace emits "order.creatd"; if it is sent from outside, declare it in events.types`,
	}
	same := func(t *testing.T, got []string) {
		t.Helper()
		require.Len(t, got, len(want), "%q", got)
		for i := range want {
			require.Contains(t, got[i], want[i])
		}
	}

	t.Run("a dry run tells what the save tells", func(t *testing.T) {
		same(t, warnings(t, p.Do(t, 200, "POST", p.Path+"/automations?dryRun=true", order, "Content-Type", nodetest.YAMLType)))
		require.Empty(t, problems(t, p, ""))
		made := p.Do(t, 201, "POST", p.Path+"/automations", order, "Content-Type", nodetest.YAMLType)
		same(t, warnings(t, made))
		same(t, warnings(t, p.Do(t, 200, "PUT", p.Path+"/automations/order", order, "Content-Type", nodetest.YAMLType)))
		require.Len(t, warnings(t, p.Do(t, 200, "PATCH", p.Path+"/automations/order", `{"description":"x"}`)), len(want))
		require.NotContains(t, p.Do(t, 200, "GET", p.Path+"/automations/order", "").JSON(t), "warnings")
		require.NotContains(t, p.Do(t, 200, "PATCH", p.Path+"/automations/charge", `{"description":"x"}`).JSON(t), "warnings")
	})
	t.Run("they are listed", func(t *testing.T) {
		all := p.Do(t, 200, "GET", p.Path+"/problems", "")
		require.Equal(t, "5", all.Header.Get("X-Total-Count"))
		first := all.List(t)[0]
		require.Equal(t, []any{"automations/order", "do[1].fetch.timout", "warning"}, []any{first["object"], first["field"], first["severity"]})
		require.NotZero(t, first["line"])
		require.Len(t, problems(t, p, "severity=warning&object=automations"), 5)
		require.Len(t, problems(t, p, "object="+url.QueryEscape("automations/order")+"&limit=2&page=1"), 2)
		require.Empty(t, problems(t, p, "severity=error"))
		require.Empty(t, problems(t, p, "object=automations/charge"))
		p.RequireRefusal(t, 400, "invalid_parameter", "GET", p.Path+"/problems?severity=loud", "")
		p.RequireRefusal(t, 400, "invalid_parameter", "GET", p.Path+"/problems?limit=0", "")
		p.As(s.NewUser(t, "stranger")).RequireRefusal(t, 403, "workspace_access_denied", "GET", p.Path+"/problems", "")
		p.Anonymous().RequireRefusal(t, 401, "missing_token", "GET", p.Path+"/problems", "")
	})
	t.Run("changes elsewhere mend and break", func(t *testing.T) {
		p.Do(t, 201, "POST", p.Path+"/automations", `{"name":"C","slug":"chrage","do":[{"emit":{"event":"order.creatd"}}]}`)
		p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"pay":{"value":"CANARY-pay"}}`)
		require.Len(t, problems(t, p, ""), 2)
		p.Do(t, 200, "PATCH", p.Path+"/automations/chrage", `{"slug":"charge2"}`)
		require.Len(t, problems(t, p, ""), 3)
		p.Do(t, 200, "DELETE", p.Path+"/automations/charge2", "")
		p.Do(t, 200, "DELETE", p.Path+"/security/secrets/pay", "")
		require.Len(t, problems(t, p, ""), 5)
		p.Do(t, 200, "DELETE", p.Path+"/automations/order", "")
		require.Empty(t, problems(t, p, ""))
	})
	t.Run("imports keep faults, which are listed", func(t *testing.T) {
		zip := nodetest.ZipOf(t, map[string]string{
			"index.yml":            "name: Shop\nslug: shop\nconfig: {value: {k: '{{secret.missing}}'}}\n",
			"automations/late.yml": "name: Late\nwhen: {schedules: ['99 * * * *']}\ndo:\n  - emit: {}\n",
		})
		got := s.Upload(t, p.Path+"/import", p.Auth, zip, false)
		require.Less(t, got.StatusCode, 300, "%s", got.Body)
		require.Equal(t, []string{
			`invalid_automation automations/late.yml 2: when.schedules[0]: minute "99": expected a value from 0 to 59`,
			`invalid_automation automations/late.yml 4: do[0].emit.event: is required`,
			`missing_name index.yml 3: config.value.k: the secret "missing" has no value`,
		}, slices.Sorted(slices.Values(importWarnings(t, got))))
		require.Equal(t, []string{
			`error automations/late when.schedules[0]: minute "99": expected a value from 0 to 59`,
			`error automations/late do[0].emit.event: is required`,
			`warning index config.value.k: the secret "missing" has no value`,
		}, problems(t, p, ""))
		require.Equal(t, "missing", p.Do(t, 200, "GET", p.Path+"/problems?object=index", "").List(t)[0]["secret"], "its name, for who sets it")
	})
	s.Stop(t)
	var created []string
	for _, ev := range nodetest.StoredEvents(t, s.Dir, domain.State) {
		if e, ok := ev.Data.(workspace.AutomationCreated); ok {
			created = append(created, e.Path)
		}
	}
	require.Equal(t, []string{"automations/charge", "automations/order", "automations/chrage"}, created, "a dry run records nothing")
	nodetest.RequireNoSecret(t, s.Dir, "CANARY-pay", "CANARY-given")
}
