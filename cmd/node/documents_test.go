package node_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/api/apitest"
)

// place is a workspace as one of its people sees it.
type place struct {
	s    *service
	path string // /v2/workspaces/{id}
	id   string
	me   http.Header
}

// people of the tests of documents: an owner with a workspace, and others.
func ownedPlace(t *testing.T, s *service) place {
	t.Helper()
	me := s.person(t, "owner")
	id := s.must(t, "POST", "/v2/workspaces", me, `{"name":"Shop","slug":"shop"}`)["id"].(string)
	return place{s, "/v2/workspaces/" + id, id, me}
}

// person signs somebody up and in.
func (s *service) person(t *testing.T, name string) http.Header {
	t.Helper()
	s.must(t, "POST", "/v2/signup", nil, fmt.Sprintf(`{"email":"%s@example.org","password":"long enough","firstName":"F","lastName":"L"}`, name))
	return bearer(s.login(t, name+"@example.org", "long enough")["token"].(string))
}

// ask sends a request, with headers in pairs, and holds the answer to the
// document once that knows the operation.
func (p place) ask(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	h := p.me.Clone()
	if h == nil {
		h = http.Header{}
	}
	media := "application/json"
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Content-Type" {
			media = headers[i+1]
			continue
		}
		h.Set(headers[i], headers[i+1])
	}
	got := p.s.sendAs(t, method, path, media, h, body)
	if err := apitest.Check(got.Response, got.body); err != nil && !strings.Contains(err.Error(), "does not know this operation") {
		t.Errorf("%s %s answered %d against the document: %v\n%.500s", method, path, got.StatusCode, err, got.body)
	}
	return got
}

// sendAs sends a body of any type.
func (s *service) sendAs(t *testing.T, method, path, media string, h http.Header, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
	require.NoError(t, err)
	for name, values := range h {
		req.Header[name] = values
	}
	if body != "" {
		req.Header.Set("Content-Type", media)
	}
	res, err := s.client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return answer{res, got}
}

// does is ask with the status that is expected.
func (p place) does(t *testing.T, status int, method, path, body string, headers ...string) answer {
	t.Helper()
	got := p.ask(t, method, path, body, headers...)
	require.Equal(t, status, got.StatusCode, "%s %s: %s", method, path, got.body)
	return got
}

// refuses is ask with a refusal: its status, code and reason.
func (p place) refuses(t *testing.T, status int, code, method, path, body string, headers ...string) map[string]any {
	t.Helper()
	got := p.does(t, status, method, path, body, headers...)
	require.Equal(t, code, got.code(t), "%s", got.body)
	details, _ := got.json(t)["details"].(map[string]any)
	return details
}

func faults(details map[string]any) string {
	body, _ := json.Marshal(details["errors"])
	return string(body)
}

const yamlType = "application/yaml"

func TestAutomations(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	all := p.path + "/automations"
	made := p.does(t, 201, "POST", all, `{"name":{"en":"Chärge it"},"do":[{"emit":{"event":"paid","payload":{"a":1}}}],"when":{"events":["order"],"endpoint":"pay/:id"},"labels":["b1","a1"],"checksum":"x","events":{}}`)
	slug := made.json(t)["slug"].(string)
	require.Equal(t, "Charge it", slug)
	one := all + "/Charge%20it"
	require.Equal(t, one, made.Header.Get("Location"))

	t.Run("is read as it was written", func(t *testing.T) {
		got := p.does(t, 200, "GET", one, "")
		require.JSONEq(t, string(made.body), string(got.body))
		require.Equal(t, made.Header.Get("ETag"), got.Header.Get("ETag"))
		doc := got.json(t)
		require.Equal(t, true, doc["validateArguments"], "set on create")
		require.Equal(t, []any{"a1", "b1"}, doc["labels"])
		require.Equal(t, []any{"paid"}, doc["events"].(map[string]any)["emit"])
		require.NotEmpty(t, doc["createdBy"])
		require.Contains(t, doc["checksum"], "sha256:")
		p.does(t, 304, "GET", one, "", "If-None-Match", got.Header.Get("ETag"))
		p.does(t, 304, "GET", one, "", "If-None-Match", got.Header.Get("ETag"), "Accept", yamlType)
		p.refuses(t, 404, "resource_not_found", "GET", all+"/nope", "")
	})
	t.Run("is YAML too, under the same tag", func(t *testing.T) {
		got := p.does(t, 200, "GET", one, "", "Accept", yamlType)
		require.Equal(t, made.Header.Get("ETag"), got.Header.Get("ETag"))
		require.True(t, strings.HasPrefix(string(got.body), "slug: Charge it\n"), "%s", got.body)
		same := p.does(t, 200, "PUT", one, string(got.body), "Content-Type", yamlType, "If-Match", got.Header.Get("ETag"))
		require.Equal(t, made.Header.Get("ETag"), same.Header.Get("ETag"), "nothing has changed")
	})
	t.Run("faults have lines", func(t *testing.T) {
		bad := "slug: bad\nname: Bad\nwhen:\n  schedules: ['61 0 * * *']\ndo:\n  - fetch: {url: 'https://a.example'}\n  - fetch: {}\n"
		found := faults(p.refuses(t, 422, "validation_failed", "POST", all, bad, "Content-Type", yamlType))
		require.Contains(t, found, `"line":4`)
		require.Contains(t, found, `"line":7`)
		found = faults(p.refuses(t, 400, "invalid_request", "POST", all, "name: x\n\tdo: []\n", "Content-Type", yamlType))
		require.Contains(t, found, `"line":2`)
		require.Contains(t, faults(p.refuses(t, 400, "invalid_request", "POST", all, `{"name":"x","do":[],"nmae":1}`)), "nmae")
		require.Contains(t, faults(p.refuses(t, 400, "missing_parameter", "POST", all, `{"name":"x"}`)), `"do"`)
		p.refuses(t, 400, "invalid_request", "POST", all, `{"name":`)
		p.refuses(t, 415, "invalid_request", "POST", all, `x`, "Content-Type", "text/plain")
		p.refuses(t, 422, "validation_failed", "POST", all, `{"name":"x","slug":"a//b","do":[]}`)
		for _, misfit := range []string{
			`{"name":5,"do":[]}`, `{"name":"x","do":{}}`, `{"name":"x","do":[],"private":"yes"}`, `{"name":"x","do":[],"labels":[5]}`,
			`{"name":"x","do":[],"when":{"events":5}}`, `{"name":"x","do":[],"when":{"event":["a"]}}`, `{"name":"x","do":[],"arguments":{"a":5}}`,
		} {
			p.refuses(t, 400, "invalid_request", "POST", all, misfit)
		}
		p.refuses(t, 400, "invalid_request", "POST", p.path+"/pages", `{"name":"x","blocks":"none"}`)
		p.refuses(t, 400, "invalid_request", "PATCH", p.path, `{"labels":"none"}`)
		p.refuses(t, 400, "invalid_request", "PUT", p.path+"/security", `{"authorizations":{"rules":{}}}`)
		p.refuses(t, 422, "validation_failed", "POST", all, `{"name":"x","do":[{"emit":{"event":5}}]}`)
	})
	t.Run("a dry run tells and does nothing", func(t *testing.T) {
		got := p.does(t, 200, "POST", all+"?dryRun=true", "name: Dry\nslug: Dry\nwhen:\n  schedules: ['0 9 * * *', '99 * * * *']\ndo: []\n", "Content-Type", yamlType).json(t)
		require.Contains(t, fmt.Sprint(got["errors"]), "line:4")
		require.Len(t, got["schedules"], 1)
		require.Len(t, got["schedules"].([]any)[0].(map[string]any)["next"], 5)
		taken := p.does(t, 200, "POST", all+"?dryRun=true", `{"name":"x","slug":"other","when":{"endpoint":"pay/:id"},"do":[]}`).json(t)
		require.Contains(t, fmt.Sprint(taken["errors"]), "when.endpoint")
		taken = p.does(t, 200, "POST", all+"?dryRun=true", `{"name":"x","slug":"charge IT","do":[]}`).json(t)
		require.Contains(t, fmt.Sprint(taken["errors"]), "slug")
		fine := p.does(t, 200, "PATCH", one+"?dryRun=true", `{"name":"x","do":[]}`)
		require.JSONEq(t, `{"errors":[],"warnings":[]}`, string(fine.body))
		p.refuses(t, 404, "resource_not_found", "PATCH", all+"/nope?dryRun=true", `{"name":"x","do":[]}`)
		p.refuses(t, 400, "invalid_request", "POST", all+"?dryRun=true", "a: [", "Content-Type", yamlType)
	})
	t.Run("a stale change is refused, another slug renames", func(t *testing.T) {
		changed := p.does(t, 200, "PUT", one, `{"name":"Charge","slug":"pay/charge","do":[],"when":{"endpoint":true}}`, "If-Match", made.Header.Get("ETag"))
		require.Equal(t, "pay/charge", changed.json(t)["slug"])
		require.NotContains(t, changed.json(t), "labels", "the body is the whole document")
		require.NotContains(t, changed.json(t), "validateArguments")
		require.Equal(t, made.json(t)["createdAt"], changed.json(t)["createdAt"])
		p.refuses(t, 404, "resource_not_found", "GET", one, "")
		renamed := all + "/pay/charge"
		require.JSONEq(t, string(changed.body), string(p.does(t, 200, "GET", all+"/pay%2Fcharge", "").body))
		require.Equal(t, "stale", p.refuses(t, 409, "resource_conflict", "PATCH", renamed, `{"name":"Z","do":[]}`, "If-Match", made.Header.Get("ETag"))["reason"])
		require.Equal(t, "stale", p.refuses(t, 409, "resource_conflict", "DELETE", renamed, "", "If-Match", `"zz"`)["reason"])
		p.does(t, 201, "POST", all, `{"name":"Two","slug":"two","do":[]}`)
		require.Equal(t, "slug", p.refuses(t, 409, "resource_already_exists", "PATCH", all+"/two", `{"name":"Two","slug":"pay/charge","do":[]}`)["field"])
		require.Equal(t, "when.endpoint", p.refuses(t, 409, "resource_already_exists", "PATCH", all+"/two", `{"name":"Two","do":[],"when":{"endpoint":"pay/charge"}}`)["field"])
		require.JSONEq(t, `{"slug":"two"}`, string(p.does(t, 200, "DELETE", all+"/two", "").body))
		p.refuses(t, 404, "resource_not_found", "DELETE", all+"/two", "")
	})
	t.Run("a past moment is read", func(t *testing.T) {
		seq := made.Header.Get("X-Svc-Seq")
		then := p.does(t, 200, "GET", one+"?atSeq="+seq, "")
		require.Equal(t, made.json(t)["name"], then.json(t)["name"])
		require.NotEqual(t, made.Header.Get("ETag"), then.Header.Get("ETag"), "nobody changes the past")
		text := p.does(t, 200, "GET", one+"?atSeq="+seq, "", "Accept", yamlType)
		require.Contains(t, string(text.body), "slug: Charge it\n")
		p.refuses(t, 404, "resource_not_found", "GET", all+"/pay/charge?atSeq="+seq, "")
		p.refuses(t, 404, "resource_not_found", "GET", one+"?at=2001-01-01T00:00:00Z", "")
		p.refuses(t, 400, "invalid_parameter", "GET", one+"?atSeq=x!", "")
	})
	t.Run("a large one is kept apart", func(t *testing.T) {
		payload := strings.Repeat("x", 600<<10)
		big := p.does(t, 201, "POST", all, `{"name":"Big","slug":"big","do":[{"emit":{"event":"big","payload":{"a":"`+payload+`"}}}]}`)
		require.Greater(t, len(p.does(t, 200, "GET", all+"/big", "").body), 600<<10)
		require.Greater(t, len(p.does(t, 200, "GET", all+"/big", "", "Accept", yamlType).body), 600<<10)
		p.does(t, 200, "PATCH", all+"/big", `{"name":"Small","do":[]}`)
		require.Greater(t, len(p.does(t, 200, "GET", all+"/big?atSeq="+big.Header.Get("X-Svc-Seq"), "").body), 600<<10)
		p.refuses(t, 413, "invalid_request", "POST", all, `{"name":"Huge","do":[],"description":"`+payload+payload+`"}`)
	})
	t.Run("lists are searched and paged", func(t *testing.T) {
		for i := range 3 {
			p.does(t, 201, "POST", all, fmt.Sprintf(`{"name":{"fr":"Été %d"},"slug":"list/%d","do":[],"labels":["l%d","x1"],"output":1}`, i, i, i))
		}
		slugs := func(query string, total string) (found []string) {
			got := p.does(t, 200, "GET", all+query, "")
			require.Equal(t, total, got.Header.Get("X-Total-Count"))
			var list []map[string]any
			require.NoError(t, json.Unmarshal(got.body, &list))
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
		p.refuses(t, 400, "invalid_parameter", "GET", all+"?limit=0", "")
	})
	s.stop(t)
	var types []string
	for _, ev := range stored(t, s.dir, domain.State) {
		if name, ok := strings.CutPrefix(ev.Data.EventType(), "workspaces.automations."); ok {
			types = append(types, name)
		}
	}
	require.Equal(t, []string{"created", "updated", "created", "deleted", "created", "updated", "created", "created", "created"}, types)
}
