// Package knowledge_test asks services over HTTP for knowledge bases and what is in them.
package knowledge_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }

func TestKnowledgeBases(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "KNOWLEDGE_MAX_BASES=3").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	nobody, stranger := p.As(nil), p.As(s.NewUser(t, "stranger"))
	all := p.Path + "/knowledgeBases"
	one := all + "/faq"

	made := p.Do(t, 201, "POST", all, `{"name":{"en":"FAQ","fr":"Questions"},"slug":"faq","labels":["support"],"chunking":{"size":800},"synonyms":[["car","auto"]]}`)
	base := made.JSON(t)
	t.Run("one is shown with its defaults", func(t *testing.T) {
		require.Regexp(t, `^kb_[0-9A-Z]{26}$`, base["id"])
		require.Equal(t, "auto", base["language"])
		require.Equal(t, map[string]any{"strategy": "structure", "size": 800.0, "overlap": 150.0}, base["chunking"])
		require.Equal(t, map[string]any{
			"mode": "auto", "limit": 10.0, "weights": map[string]any{"text": 1.0, "vector": 1.0}, "minSimilarity": 0.0, "boosts": map[string]any{"title": 2.0, "headings": 1.5},
		}, base["search"])
		require.Equal(t, strings.TrimPrefix(one, s.Base), made.Header.Get("Location"))
		got := p.Do(t, 200, "GET", one, "")
		require.JSONEq(t, string(made.Body), string(got.Body))
		p.Do(t, 304, "GET", one, "", "If-None-Match", got.Header.Get("ETag"))
		text := p.Do(t, 200, "GET", one, "", "Accept", nodetest.YAMLType)
		require.Equal(t, "slug: faq\nname:\n  en: FAQ\n  fr: Questions\nlabels:\n  - support\nchunking:\n  size: 800\nsynonyms:\n  - - car\n    - auto\n", string(text.Body))
		back := p.Do(t, 200, "PATCH", one, string(got.Body), "If-Match", got.Header.Get("ETag"))
		require.Equal(t, got.Header.Get("ETag"), back.Header.Get("ETag"), "what was read can be written back")
	})
	t.Run("faults are told with their fields", func(t *testing.T) {
		p.RequireRefusal(t, 400, "missing_parameter", "POST", all, `{"slug":"x"}`)
		p.RequireRefusal(t, 400, "invalid_request", "POST", all, `{"name":"x","nope":1}`)
		for field, body := range map[string]string{
			"chunking.size":    `{"name":"x","chunking":{"size":100}}`,
			"chunking.overlap": `{"name":"x","chunking":{"size":400,"overlap":201}}`,
			"language":         `{"name":"x","language":"tlh"}`,
			"search.limit":     `{"name":"x","search":{"limit":101}}`,
			"search.mode":      `{"name":"x","search":{"mode":"magic"}}`,
			"synonyms[0]":      `{"name":"x","synonyms":[["alone"]]}`,
			"slug":             `{"name":"x","slug":"search"}`,
		} {
			require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", all, body)), `"`+field+`"`, body)
		}
		for field, source := range map[string]string{
			`sources.site.urls`:                  `{"urls":[]}`,
			`sources.site.urls[0]`:               `{"urls":["ftp://example.com/"]}`,
			`sources.site.robots`:                `{"urls":["https://example.com/"],"robots":false}`,
			`sources.site.schedule`:              `{"urls":["https://example.com/"],"schedule":"* * * * *"}`,
			`sources.site.selector.xpath`:        `{"urls":["https://example.com/"],"selector":{"xpath":"//a["}}`,
			`sources.site.selector.css`:          `{"urls":["https://example.com/"],"selector":{"css":"a["}}`,
			`sources.site.headers.authorization`: `{"urls":["https://example.com/"],"headers":{"authorization":"Bearer x"}}`,
			`sources.site.include[0]`:            `{"urls":["https://example.com/"],"include":["regex:("]}`,
			`sources.site.maxPages`:              `{"urls":["https://example.com/"],"maxPages":30001}`,
			`sources.site.types[0]`:              `{"urls":["https://example.com/"],"types":["png"]}`,
			`sources.site.metadata`:              `{"urls":["https://example.com/"],"metadata":{"a":{"b":{"c":{"d":{}}}}}}`,
			`sources.site.tags`:                  `{"urls":["https://example.com/"],"tags":["` + strings.Repeat(`a","`, 50) + `b"]}`,
			`sources.site.tags[1]`:               `{"urls":["https://example.com/"],"tags":["a","` + strings.Repeat("b", 61) + `"]}`,
			`sources.site.language`:              `{"urls":["https://example.com/"],"language":"tlh"}`,
		} {
			faults := nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "PATCH", one, `{"sources":{"site":`+source+`}}`))
			require.Contains(t, faults, `"`+field+`"`, source)
		}
		require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "PATCH", one, `{"sources":{"site":{"urls":["https://example.com/"],"schedule":"soon"}}}`)), "5 fields")
		p.RequireRefusal(t, 400, "missing_parameter", "PATCH", one, `{"sources":{"site":{}}}`)
		p.RequireRefusal(t, 422, "validation_failed", "POST", all, `{"name":"x","slug":"A b"}`)
		p.RequireRefusal(t, 409, "resource_already_exists", "POST", all, `{"name":"x","slug":"faq"}`)
		require.Equal(t, "no_model", p.RequireRefusal(t, 409, "resource_conflict", "POST", all, `{"name":"x","embedding":{"model":"default/embed"}}`)["reason"])
		require.Equal(t, "no_model", p.RequireRefusal(t, 409, "resource_conflict", "PATCH", one, `{"embedding":{"model":"default/embed"}}`)["reason"])
		p.RequireRefusal(t, 404, "resource_not_found", "GET", all+"/nope", "")
		require.Equal(t, "knowledgeBase", p.RequireRefusal(t, 404, "resource_not_found", "DELETE", all+"/nope", "")["resource"])
		require.Len(t, p.DryRun(t, "POST", all, `{"name":"x","slug":"ask","language":"tlh","embedding":{"model":"m"}}`)["errors"], 3)
	})
	t.Run("is not for everybody", func(t *testing.T) {
		for _, path := range []string{all, one} {
			nobody.RequireRefusal(t, 401, "missing_token", "GET", path, "")
			stranger.RequireRefusal(t, 403, "workspace_access_denied", "GET", path, "")
		}
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "POST", all, `{"name":"x"}`)
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "PATCH", one, `{"name":"x"}`)
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "DELETE", one, "")
		require.Empty(t, stranger.Send(t, "GET", p.Path, "").JSON(t)["knowledgeBases"])

		security := `{"authorizations":{"roles":{"support":{},"editor":{}},"rules":[{"role":"support","action":"read","subject":"workspaces"},` +
			`{"role":"support","action":"read","subject":"knowledgeBases","conditions":{"labels":"support"}},` +
			`{"role":"support","action":["read","update"],"subject":"knowledgeBases","inverted":true,"conditions":{"slug":"hidden"}}]}}`
		p.Do(t, 200, "PUT", p.Path+"/security", security)
		p.Do(t, 200, "POST", p.Path+"/permissions", `{"target":{"email":"stranger@example.org"},"permissions":{"role":"support"}}`)
		p.Do(t, 201, "POST", all, `{"name":"Hidden"}`)
		require.Equal(t, "faq", stranger.Do(t, 200, "GET", one, "").JSON(t)["slug"])
		stranger.RequireRefusal(t, 403, "permission_denied", "PATCH", one, `{"name":"x"}`)
		require.Equal(t, []any{"faq"}, nodetest.Fields(stranger.Do(t, 200, "GET", all, "").List(t), "slug"))
		require.Len(t, stranger.Do(t, 200, "GET", p.Path, "").JSON(t)["knowledgeBases"], 1)
		stranger.RequireRefusal(t, 403, "permission_denied", "GET", all+"/hidden", "")
		p.Do(t, 200, "DELETE", all+"/hidden", "")
	})
	t.Run("lists are searched", func(t *testing.T) {
		other := p.Do(t, 201, "POST", all, `{"name":"Été à la Plage!","description":"By the sea"}`).JSON(t)
		require.Equal(t, "ete-a-la-plage", other["slug"])
		require.Equal(t, []any{"ete-a-la-plage"}, nodetest.Fields(p.Do(t, 200, "GET", all+"?search=sea", "").List(t), "slug"))
		require.Equal(t, []any{"faq"}, nodetest.Fields(p.Do(t, 200, "GET", all+"?labels=support,none", "").List(t), "slug"))
		require.Equal(t, "2", p.Do(t, 200, "GET", all+"?limit=1", "").Header.Get("X-Total-Count"))
		shown := p.Do(t, 200, "GET", p.Path, "").JSON(t)["knowledgeBases"].(map[string]any)
		require.Len(t, shown, 2)
		require.NotContains(t, shown["faq"], "synonyms")
		require.Equal(t, base["id"], shown["faq"].(map[string]any)["id"])
		p.Do(t, 200, "DELETE", all+"/ete-a-la-plage", "")
	})
	t.Run("is content", func(t *testing.T) {
		before := p.Do(t, 200, "GET", p.Path, "").JSON(t)["contentRevision"].(float64)
		changed := p.Do(t, 200, "PATCH", one, `{"language":"fr","labels":null}`)
		require.Equal(t, "fr", changed.JSON(t)["language"])
		require.NotContains(t, changed.JSON(t), "labels")
		require.Equal(t, true, p.Do(t, 200, "GET", p.Path, "").JSON(t)["dirty"])
		require.Greater(t, p.Do(t, 200, "GET", p.Path, "").JSON(t)["contentRevision"].(float64), before)
		history := p.Do(t, 200, "GET", p.Path+"/history?limit=1", "").List(t)[0]
		require.Equal(t, "workspaces.knowledgeBases.updated", history["type"])
		p.Do(t, 200, "POST", p.Path+"/undo", nodetest.UndoBody(history["seq"].(string)))
		require.Equal(t, "auto", p.Do(t, 200, "GET", one, "").JSON(t)["language"])
		renamed := p.Do(t, 200, "PATCH", one, `{"slug":"help"}`).JSON(t)
		require.Equal(t, base["id"], renamed["id"])
		p.RequireRefusal(t, 404, "resource_not_found", "GET", one, "")
		p.Do(t, 200, "PATCH", all+"/help", `{"slug":"faq"}`)

		p.Do(t, 200, "POST", p.Path+"/writeLock", `{"reason":"by hand"}`)
		p.RequireRefusal(t, 423, "resource_locked", "PATCH", one, `{"name":"x"}`)
		p.Do(t, 200, "GET", one, "")
		p.Do(t, 200, "DELETE", p.Path+"/writeLock", "")
	})
	t.Run("are limited", func(t *testing.T) {
		p.Do(t, 201, "POST", all, `{"name":"Two"}`)
		p.Do(t, 201, "POST", all, `{"name":"Two"}`)
		require.Equal(t, "limit_exceeded", p.RequireRefusal(t, 422, "validation_failed", "POST", all, `{"name":"Four"}`)["reason"])
		p.Do(t, 200, "PATCH", all+"/two", `{"name":"Still allowed"}`)
		require.Equal(t, map[string]any{"slug": "two-1"}, p.Do(t, 200, "DELETE", all+"/two-1", "").JSON(t))
		p.Do(t, 200, "DELETE", all+"/two", "")
	})
	t.Run("events tell of each change", func(t *testing.T) {
		told := p.ListEvents(t, "types=workspaces.knowledgeBases.*&limit=100").Result.Events
		slices.Reverse(told)
		types := strings.ReplaceAll(strings.Join(nodetest.TypesOf(told), " "), "workspaces.knowledgeBases.", "")
		require.Equal(t, "created created deleted created deleted updated updated updated created created updated deleted deleted", types)
		require.Equal(t, "faq", told[0].Payload["slug"])
		require.Equal(t, []any{[]any{"car", "auto"}}, told[0].Payload["knowledgeBase"].(map[string]any)["synonyms"])
		require.Equal(t, map[string]any{"slug": "hidden", "documents": 0.0}, told[2].Payload)
		require.Equal(t, "faq", told[6].Payload["oldSlug"])
	})
}

// A base goes through archives byte for byte, with settings that have no effect here, and without secrets.
func TestKnowledgeBasesInArchives(t *testing.T) {
	t.Parallel()
	s := nodetest.SharedService(t)
	create := func(name string) nodetest.Workspace {
		id := s.Must(t, "POST", "/v2/workspaces", s.Owner, `{"name":"`+name+`"}`)["id"].(string)
		return nodetest.Workspace{Service: s.Service, Path: "/v2/workspaces/" + id, ID: id, Auth: s.Owner}
	}
	const faq = "slug: faq\nname: FAQ\nlanguage: fr\nembedding:\n  model: default/embed-small\nanswer:\n  instructions: Be brief.\n  topK: 5\n  noAnswer:\n    en: Ask a colleague.\nsources:\n  site:\n    urls:\n      - https://docs.example.com/\n" +
		"    headers:\n      authorization: '{{secret.DOCS}}'\n    schedule: '30 3 * * *'\n"
	const password = "Bearer 9f2b6c1e-do-not-tell"
	from, to := create("From"), create("To")
	got := s.Upload(t, from.Path+"/import", s.Owner, nodetest.ZipOf(t, map[string]string{
		"index.yml":           "name: From\nslug: from\n",
		"knowledge/faq.yml":   faq,
		"knowledge/leaky.yml": "slug: leaky\nname: Leaky\nsources:\n  site:\n    urls: [https://example.com/]\n    headers: {Authorization: " + password + "}\n",
		"knowledge/wrong.yml": "slug: wrong\nname: Wrong\nchunking: {size: 7}\n",
		"knowledge/robot.yml": "slug: robot\nname: Robot\nsources:\n  site:\n    urls: [https://example.com/]\n    robots: false\n",
	}), false)
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
	result := string(got.Body)
	require.Contains(t, result, "model_missing")
	require.NotContains(t, result, "unsupported_setting")
	require.Contains(t, result, "knowledge/leaky.yml")
	require.Contains(t, result, "knowledge/wrong.yml")
	require.Contains(t, result, "knowledge/robot.yml")
	require.Equal(t, []any{"faq"}, nodetest.Fields(from.Do(t, 200, "GET", from.Path+"/knowledgeBases", "").List(t), "slug"))

	files := unzip(t, from.Do(t, 200, "GET", from.Path+"/export", "").Body)
	require.Equal(t, faq, files["knowledge/faq.yml"])
	require.Equal(t, http.StatusOK, s.Upload(t, to.Path+"/import", s.Owner, string(from.Do(t, 200, "GET", from.Path+"/export", "").Body), false).StatusCode)
	require.Equal(t, faq, unzip(t, to.Do(t, 200, "GET", to.Path+"/export", "").Body)["knowledge/faq.yml"])
	ids := map[any]bool{}
	for _, w := range []nodetest.Workspace{from, to} {
		ids[w.Do(t, 200, "GET", w.Path+"/knowledgeBases/faq", "").JSON(t)["id"]] = true
	}
	require.Len(t, ids, 2, "each has an id of its own")

	changed := from.Do(t, 200, "PATCH", from.Path+"/knowledgeBases/faq", `{"name":"Questions"}`).JSON(t)
	require.Equal(t, map[string]any{"instructions": "Be brief.", "topK": 5.0, "noAnswer": map[string]any{"en": "Ask a colleague."}, "temperature": 0.2, "maxTokens": 1000.0}, changed["answer"])
	site := changed["sources"].(map[string]any)["site"].(map[string]any)
	require.Equal(t, []any{3.0, 1000.0, "auto", []any{"html"}, true}, []any{site["depth"], site["maxPages"], site["sitemap"], site["types"], site["robots"]}, "defaults are shown")
	from.Do(t, 200, "PATCH", from.Path+"/knowledgeBases/faq", `{"sources":null,"embedding":null,"answer":null}`)
	require.Equal(t, "slug: faq\nname: Questions\nlanguage: fr\n", unzip(t, from.Do(t, 200, "GET", from.Path+"/export", "").Body)["knowledge/faq.yml"])

	events, err := json.Marshal(from.ListEvents(t, "limit=100"))
	require.NoError(t, err)
	nodetest.RequireNoSecretIn(t, "the feed", string(events), password)
	nodetest.RequireNoSecretIn(t, "the answer", result, password)
	nodetest.RequireNoSecretIn(t, "the log", s.Log.String(), password)

	copied := s.Must(t, "POST", from.Path+"/versions/current/duplicate", s.Owner, `{}`)["id"].(string)
	require.NotEqual(t, from.Do(t, 200, "GET", from.Path+"/knowledgeBases/faq", "").JSON(t)["id"],
		s.Must(t, "GET", "/v2/workspaces/"+copied+"/knowledgeBases/faq", s.Owner, "")["id"])
}

// unzip returns the files of an archive of one workspace by path.
func unzip(t *testing.T, data []byte) map[string]string {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		require.NoError(t, err)
		body, err := io.ReadAll(r)
		require.NoError(t, err)
		_, name, _ := strings.Cut(f.Name, "/") // below the directory of the workspace
		files[name] = string(body)
	}
	return files
}
