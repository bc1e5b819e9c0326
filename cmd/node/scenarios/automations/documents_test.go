package automations_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
)

// The answer to a save is, byte for byte, what a read shows.
func TestAnswersToSavesAreAsReadsShowThem(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	all := p.Path + "/automations"
	one := all + "/odd"
	requireSame := func(saved nodetest.Answer) {
		t.Helper()
		got := p.Do(t, 200, "GET", one, "")
		require.Equal(t, string(got.Body), string(saved.Body))
		require.Equal(t, got.Header.Get("ETag"), saved.Header.Get("ETag"))
	}
	requireSame(p.Do(t, 201, "POST", all, `{"do":[{"set":{"name":"x","value":{"z":-0,"a":1e21,"n":null,"l":[],"o":{},"s":"<é\u2028&\"\\ \u0000\ud83d\ude00>","f":0.1}}}],
		"private":false,"disabled":false,"labels":["b1","a1","b1"],"description":"","slug":"odd","name":{"fr":"É","en":"<E>"}}`))
	requireSame(p.Do(t, 200, "PATCH", one, `{"name":"Other","labels":null,"do":[{"emit":{"event":"a-b","autocomplete":{"type":"<x>"}}}]}`))
	requireSame(p.Do(t, 200, "PUT", one, "name: 'Lines\n\n of text '\nlabels: [b1, a1]\ndo:\n  - set: {name: y, value: [1.0, 0x10, ~, 'yes', 2026-11-19]}\n", "Content-Type", nodetest.YAMLType, "Accept", "application/json"))
	requireSame(p.Do(t, 200, "PATCH", one, `{"name":"Lines\n\n of text "}`))
}

func TestAutomations(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	all := p.Path + "/automations"
	made := p.Do(t, 201, "POST", all, `{"name":{"en":"Chärge it"},"do":[{"emit":{"event":"paid","payload":{"a":1}}}],"when":{"events":["order"],"endpoint":"pay/:id"},"labels":["b1","a1"],"checksum":"x","events":{}}`)
	slug := made.JSON(t)["slug"].(string)
	require.Equal(t, "Charge it", slug)
	one := all + "/Charge%20it"
	require.Equal(t, one, made.Header.Get("Location"))

	t.Run("is read as it was written", func(t *testing.T) {
		got := p.Do(t, 200, "GET", one, "")
		saved := made.JSON(t)
		require.Len(t, saved["warnings"], 1, "nobody emits order")
		delete(saved, "warnings")
		require.Equal(t, saved, got.JSON(t))
		require.Equal(t, made.Header.Get("ETag"), got.Header.Get("ETag"))
		doc := got.JSON(t)
		require.Equal(t, true, doc["validateArguments"], "set on create")
		require.Equal(t, []any{"a1", "b1"}, doc["labels"])
		require.Equal(t, []any{"paid"}, doc["events"].(map[string]any)["emit"])
		require.NotEmpty(t, doc["createdBy"])
		require.Contains(t, doc["checksum"], "sha256:")
		p.Do(t, 304, "GET", one, "", "If-None-Match", got.Header.Get("ETag"))
		p.Do(t, 304, "GET", one, "", "If-None-Match", got.Header.Get("ETag"), "Accept", nodetest.YAMLType)
		p.RequireRefusal(t, 404, "resource_not_found", "GET", all+"/nope", "")
	})
	t.Run("is YAML too, under the same tag", func(t *testing.T) {
		got := p.Do(t, 200, "GET", one, "", "Accept", nodetest.YAMLType)
		require.Equal(t, made.Header.Get("ETag"), got.Header.Get("ETag"))
		require.True(t, strings.HasPrefix(string(got.Body), "slug: Charge it\n"), "%s", got.Body)
		same := p.Do(t, 200, "PUT", one, string(got.Body), "Content-Type", nodetest.YAMLType, "If-Match", got.Header.Get("ETag"))
		require.Equal(t, made.Header.Get("ETag"), same.Header.Get("ETag"), "nothing has changed")
	})
	t.Run("faults have lines", func(t *testing.T) {
		bad := "slug: bad\nname: Bad\nwhen:\n  schedules: ['61 0 * * *']\ndo:\n  - fetch: {url: 'https://a.example'}\n  - fetch: {}\n"
		found := nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", all, bad, "Content-Type", nodetest.YAMLType))
		require.Contains(t, found, `"line":4`)
		require.Contains(t, found, `"line":7`)
		found = nodetest.Faults(p.RequireRefusal(t, 400, "invalid_request", "POST", all, "name: x\n\tdo: []\n", "Content-Type", nodetest.YAMLType))
		require.Contains(t, found, `"line":2`)
		require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 400, "invalid_request", "POST", all, `{"name":"x","do":[],"nmae":1}`)), "nmae")
		require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 400, "missing_parameter", "POST", all, `{"name":"x"}`)), `"do"`)
		p.RequireRefusal(t, 400, "invalid_request", "POST", all, `{"name":`)
		p.RequireRefusal(t, 415, "invalid_request", "POST", all, `x`, "Content-Type", "text/plain")
		p.RequireRefusal(t, 422, "validation_failed", "POST", all, `{"name":"x","slug":"a//b","do":[]}`)
		for _, misfit := range []string{
			`{"name":5,"do":[]}`, `{"name":"x","do":{}}`, `{"name":"x","do":[],"private":"yes"}`, `{"name":"x","do":[],"labels":[5]}`,
			`{"name":"x","do":[],"when":{"events":5}}`, `{"name":"x","do":[],"when":{"event":["a"]}}`, `{"name":"x","do":[],"arguments":{"a":5}}`,
		} {
			p.RequireRefusal(t, 400, "invalid_request", "POST", all, misfit)
		}
		p.RequireRefusal(t, 400, "invalid_request", "POST", p.Path+"/pages", `{"name":"x","blocks":"none"}`)
		p.RequireRefusal(t, 400, "invalid_request", "PATCH", p.Path, `{"labels":"none"}`)
		p.RequireRefusal(t, 400, "invalid_request", "PUT", p.Path+"/security", `{"authorizations":{"rules":{}}}`)
		p.RequireRefusal(t, 422, "validation_failed", "POST", all, `{"name":"x","do":[{"emit":{"event":5}}]}`)
	})
	t.Run("a dry run tells and does nothing", func(t *testing.T) {
		got := p.Do(t, 200, "POST", all+"?dryRun=true", "name: Dry\nslug: Dry\nwhen:\n  schedules: ['0 9 * * *', '99 * * * *']\ndo: []\n", "Content-Type", nodetest.YAMLType).JSON(t)
		require.Contains(t, fmt.Sprint(got["errors"]), "line:4")
		require.Len(t, got["schedules"], 1)
		require.Len(t, got["schedules"].([]any)[0].(map[string]any)["next"], 5)
		taken := p.Do(t, 200, "POST", all+"?dryRun=true", `{"name":"x","slug":"other","when":{"endpoint":"pay/:id"},"do":[]}`).JSON(t)
		require.Contains(t, fmt.Sprint(taken["errors"]), "when.endpoint")
		taken = p.Do(t, 200, "POST", all+"?dryRun=true", `{"name":"x","slug":"charge IT","do":[]}`).JSON(t)
		require.Contains(t, fmt.Sprint(taken["errors"]), "slug")
		fine := p.Do(t, 200, "PUT", one+"?dryRun=true", `{"name":"x","do":[]}`)
		require.JSONEq(t, `{"errors":[],"warnings":[]}`, string(fine.Body))
		p.RequireRefusal(t, 404, "resource_not_found", "PATCH", all+"/nope?dryRun=true", `{"name":"x","do":[]}`)
		p.RequireRefusal(t, 400, "invalid_request", "POST", all+"?dryRun=true", "a: [", "Content-Type", nodetest.YAMLType)
	})
	t.Run("a stale change is refused, another slug renames", func(t *testing.T) {
		changed := p.Do(t, 200, "PUT", one, `{"name":"Charge","slug":"pay/charge","do":[],"when":{"endpoint":true}}`, "If-Match", made.Header.Get("ETag"))
		require.Equal(t, "pay/charge", changed.JSON(t)["slug"])
		require.NotContains(t, changed.JSON(t), "labels", "the body is the whole document")
		require.NotContains(t, changed.JSON(t), "validateArguments")
		require.Equal(t, made.JSON(t)["createdAt"], changed.JSON(t)["createdAt"])
		p.RequireRefusal(t, 404, "resource_not_found", "GET", one, "")
		renamed := all + "/pay/charge"
		require.JSONEq(t, string(changed.Body), string(p.Do(t, 200, "GET", all+"/pay%2Fcharge", "").Body))
		require.Equal(t, "stale", p.RequireRefusal(t, 409, "resource_conflict", "PATCH", renamed, `{"name":"Z","do":[]}`, "If-Match", made.Header.Get("ETag"))["reason"])
		require.Equal(t, "stale", p.RequireRefusal(t, 409, "resource_conflict", "DELETE", renamed, "", "If-Match", `"zz"`)["reason"])
		p.Do(t, 201, "POST", all, `{"name":"Two","slug":"two","do":[]}`)
		require.Equal(t, "slug", p.RequireRefusal(t, 409, "resource_already_exists", "PATCH", all+"/two", `{"name":"Two","slug":"pay/charge","do":[]}`)["field"])
		require.Equal(t, "when.endpoint", p.RequireRefusal(t, 409, "resource_already_exists", "PATCH", all+"/two", `{"name":"Two","do":[],"when":{"endpoint":"pay/charge"}}`)["field"])
		require.JSONEq(t, `{"slug":"two"}`, string(p.Do(t, 200, "DELETE", all+"/two", "").Body))
		p.RequireRefusal(t, 404, "resource_not_found", "DELETE", all+"/two", "")
	})
	t.Run("a past moment is read", func(t *testing.T) {
		seq := made.Header.Get("X-Svc-Seq")
		then := p.Do(t, 200, "GET", one+"?atSeq="+seq, "")
		require.Equal(t, made.JSON(t)["name"], then.JSON(t)["name"])
		require.NotEqual(t, made.Header.Get("ETag"), then.Header.Get("ETag"), "nobody changes the past")
		text := p.Do(t, 200, "GET", one+"?atSeq="+seq, "", "Accept", nodetest.YAMLType)
		require.Contains(t, string(text.Body), "slug: Charge it\n")
		p.RequireRefusal(t, 404, "resource_not_found", "GET", all+"/pay/charge?atSeq="+seq, "")
		p.RequireRefusal(t, 404, "resource_not_found", "GET", one+"?at=2001-01-01T00:00:00Z", "")
		p.RequireRefusal(t, 400, "invalid_parameter", "GET", one+"?atSeq=x!", "")
	})
	t.Run("a large one is kept apart", func(t *testing.T) {
		payload := strings.Repeat("x", 600<<10)
		big := p.Do(t, 201, "POST", all, `{"name":"Big","slug":"big","do":[{"emit":{"event":"big","payload":{"a":"`+payload+`"}}}]}`)
		require.Greater(t, len(p.Do(t, 200, "GET", all+"/big", "").Body), 600<<10)
		require.Greater(t, len(p.Do(t, 200, "GET", all+"/big", "", "Accept", nodetest.YAMLType).Body), 600<<10)
		p.Do(t, 200, "PATCH", all+"/big", `{"name":"Small","do":[]}`)
		require.Greater(t, len(p.Do(t, 200, "GET", all+"/big?atSeq="+big.Header.Get("X-Svc-Seq"), "").Body), 600<<10)
		p.RequireRefusal(t, 413, "invalid_request", "POST", all, `{"name":"Huge","do":[],"description":"`+payload+payload+`"}`)
	})
	t.Run("lists are searched and paged", func(t *testing.T) {
		for i := range 3 {
			p.Do(t, 201, "POST", all, fmt.Sprintf(`{"name":{"fr":"Été %d"},"slug":"list/%d","do":[],"labels":["l%d","x1"],"output":1}`, i, i, i))
		}
		slugs := func(query string, total string) (found []string) {
			got := p.Do(t, 200, "GET", all+query, "")
			require.Equal(t, total, got.Header.Get("X-Total-Count"))
			var list []map[string]any
			require.NoError(t, json.Unmarshal(got.Body, &list))
			for _, item := range list {
				require.NotContains(t, item, "do")
				require.NotContains(t, item, "output")
				require.Contains(t, item, "checksum")
				found = append(found, item["slug"].(string))
			}
			return found
		}
		require.Equal(t, []string{"list/2", "list/1", "list/0", "big", "pay/charge"}, slugs("", "5"), "the last updated first")
		require.Equal(t, []string{"list/2", "list/1", "list/0"}, slugs("?search=ÉTÉ", "3"))
		require.Equal(t, []string{"list/1", "list/0"}, slugs("?labels=l0,l1", "2"))
		require.Equal(t, []string{"list/0"}, slugs("?labels=x1&page=2&limit=1", "3"))
		require.Equal(t, []string{"big", "list/0"}, slugs("?sort=slug&limit=2", "5"))
		p.RequireRefusal(t, 400, "invalid_parameter", "GET", all+"?limit=0", "")
	})
	s.Stop(t)
	var types []string
	for _, ev := range nodetest.StoredEvents(t, s.Dir, domain.State) {
		if name, ok := strings.CutPrefix(ev.Data.EventType(), "workspaces.automations."); ok {
			types = append(types, name)
		}
	}
	require.Equal(t, []string{"created", "updated", "created", "deleted", "created", "updated", "created", "created", "created"}, types)
}
