package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// preview asks for the preview of a page, and returns its path.
func (s shop) preview(t *testing.T, body string) string {
	t.Helper()
	got := s.Do(t, http.StatusCreated, "POST", s.Path+"/pages/preview", body)
	made := got.JSON(t)
	path := made["url"].(string)
	require.Equal(t, path, got.Header.Get("Location"))
	require.Regexp(t, `^/pages/shop/_svc/preview/[\w-]{43}$`, path)
	expires, err := time.Parse(time.RFC3339, made["expiresAt"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(10*time.Minute), expires, time.Minute)
	return path
}

// allEvents are the types of all events of the workspace, oldest first.
func (s shop) allEvents(t *testing.T) (types []string) {
	t.Helper()
	for _, e := range s.ListEvents(t, "sort=asc&limit=1000").Result.Events {
		types = append(types, e.Type)
	}
	return types
}

func TestPreview(t *testing.T) {
	t.Parallel()
	s := newShop(t, "PAGES_HOST=.pages.test") // it is read on the host of the API also then
	s.Do(t, http.StatusOK, "PATCH", s.Path+"/security/secrets", `{"apiKey":{"value":"hush-4711"}}`)
	s.Do(t, http.StatusOK, "PATCH", s.Path, `{"allowUnsecurePages":true,"config":{"value":{"key":"{{secret.apiKey}}"}}}`)
	s.automation(t, `{"slug":"load","name":"load","do":[],"output":{"title":"Loaded {{config.key}}"}}`)
	s.automation(t, `{"slug":"fails","name":"fails","do":[{"nosuch":{}}]}`)
	s.page(t, false, `{"slug":"about","name":"About","blocks":[{"slug":"Header","title":"Saved"}]}`)
	before := s.allEvents(t)
	draft := `{"slug":"about","name":{"en":"About","fr":"À propos"},"redirect":{"url":"/elsewhere"},"automation":"load","styles":"p{color:red}","onInit":"ready","blocks":[
		{"slug":"Header","title":"{{title}}"},{"slug":"RichText","content":{"en":"English text","fr":"Texte français"}},
		{"slug":"RichText","content":"[{{config.key}}{{secret.apiKey}}]"},
		{"slug":"RichText","allowUnsecure":true,"content":"<b>bold</b><script>evil()</script>"},
		{"slug":"Button","type":"script","text":"Run","value":"evil()"},
		{"slug":"Button","type":"event","text":"Buy","value":"bought"},
		{"slug":"Form","onSubmit":"sent","schema":{"type":"object","properties":{"a":{"type":"string"}}}},
		{"slug":"NoSuch"}]}`
	author := s.visitor(t, "")
	author = author.as("Authorization", s.Auth.Get("Authorization"))

	path := s.preview(t, `{"page":`+draft+`}`)
	got := author.send("GET", path, nil, "")
	require.Equal(t, http.StatusOK, got.StatusCode, got.html)
	require.Contains(t, got.html, "English text")
	require.Contains(t, got.html, "<b>bold</b>")
	require.Contains(t, got.html, "<p>[]</p>", "neither config nor secrets can be read by templates")
	require.Contains(t, got.html, `role="alert"`)
	require.NotContains(t, got.html, "Saved")
	require.NotContains(t, got.html, "Loaded")
	require.NotContains(t, got.html, "<script")
	require.NotContains(t, got.html, "evil()")
	require.NotContains(t, got.html, "data-view")
	require.NotContains(t, got.html, "canonical")
	require.Contains(t, got.html, "/_svc/assets/style-")
	policy := got.Header.Get("Content-Security-Policy")
	require.NotContains(t, policy, "script-src")
	require.Contains(t, policy, "default-src 'none'")
	require.Contains(t, policy, "frame-ancestors 'self'")
	require.Equal(t, "private, no-store", got.Header.Get("Cache-Control"))
	require.Equal(t, "noindex", got.Header.Get("X-Robots-Tag"))
	require.Empty(t, got.Cookies())

	require.Contains(t, author.send("GET", s.preview(t, `{"page":`+draft+`,"language":"fr"}`), nil, "").html, "Texte français")
	require.Contains(t, author.as("Accept-Language", "fr").send("GET", path, nil, "").html, "Texte français")
	require.Contains(t, author.send("GET", s.preview(t, `{"page":{"name":"New","blocks":[{"slug":"Header","title":"Fresh"}]}}`), nil, "").html, "<h1>Fresh</h1>", "a page without a slug")

	refusal := func(v *visitor, path string) (int, string) {
		got := v.as("Accept", "application/json").send("GET", path, nil, "")
		code, _, _ := strings.Cut(strings.TrimPrefix(got.html, `{"error":"`), `"`)
		return got.StatusCode, code
	}
	anyone := s.visitor(t, "")
	status, code := refusal(anyone, path)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, "missing_token", code)
	eve := anyone.as("Authorization", s.Service.NewUser(t, "eve").Get("Authorization"))
	status, code = refusal(eve, path)
	require.Equal(t, http.StatusForbidden, status)
	require.Equal(t, "permission_denied", code)
	require.NotContains(t, eve.send("GET", path, nil, "").html, "English text")
	status, code = refusal(author, path[:len(path)-1]+"-")
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, "resource_not_found", code)
	require.Contains(t, author.send("GET", "/pages/shop/_svc/preview/x", nil, "").html, "Page not found")
	require.Equal(t, http.StatusNotFound, s.visitor(t, "shop.pages.test").as("Authorization", s.Auth.Get("Authorization")).send("GET", strings.TrimPrefix(path, "/pages/shop"), nil, "").StatusCode,
		"scripts of authors may run on hosts of pages: no draft is there")
	require.Equal(t, before, s.allEvents(t), "a draft is recorded nowhere, nor what is wrong with it")

	live := author.send("GET", s.preview(t, `{"page":`+draft+`,"automations":true}`), nil, "")
	require.Contains(t, live.html, "<h1>Loaded hush-4711</h1>", "what an automation gives is shown, as on the page")
	require.NotContains(t, live.html, "<script")
	failing := author.send("GET", s.preview(t, `{"page":{"name":"F","blocks":[{"slug":"RichText","content":"stored","automation":"fails"}]},"automations":true}`), nil, "")
	require.Contains(t, failing.html, "stored")
	after := s.allEvents(t)[len(before):]
	require.Subset(t, []string{"runtime.interactions.triggered", "runtime.automations.executed", "error"}, after, "runs are recorded as runs of any page")
	require.Len(t, s.events(t, "error"), 1, "that of the run")
	require.Contains(t, s.visitor(t, "shop.pages.test").as("Authorization", s.Auth.Get("Authorization")).loadPage("/about").html, "<h1>Saved</h1>", "the page is as it was")
	nodetest.RequireSecretsHidden(t, s.Workspace, "hush-4711")

	s.page(t, false, `{"slug":"preview","name":"A page may be called so"}`)
	s.Do(t, http.StatusOK, "PATCH", s.Path+"/pages/preview", `{"name":"Still"}`)
	s.Do(t, http.StatusOK, "GET", s.Path+"/pages/preview", "")
}

func TestBadPreviews(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.page(t, false, `{"slug":"about","name":"About"}`)
	before := s.allEvents(t)
	blocks := func(n int) string { return strings.TrimSuffix(strings.Repeat(`{"slug":"Loading"},`, n), ",") }
	deep := strings.Repeat(`{"slug":"BlocksList","blocks":[`, 21) + strings.Repeat("]}", 21)
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
		fields string
	}{
		"nothing":            {``, 400, "missing_parameter", `[{"field":"page","message":"is required"}]`},
		"no page":            {`{"language":"fr"}`, 400, "missing_parameter", `[{"field":"page","message":"is required"}]`},
		"no object":          {`{"page":"x"}`, 400, "invalid_request", `[{"field":"page","message":"must be an object"}]`},
		"no JSON":            {`{"page":`, 400, "invalid_request", "null"},
		"an unknown field":   {`{"page":{"name":"A"},"pages":1}`, 400, "invalid_request", `[{"field":"pages","message":"unknown field"}]`},
		"no language":        {`{"page":{"name":"A"},"language":"french"}`, 400, "invalid_request", `[{"field":"language","message":"must be a language such as fr or fr-CA"}]`},
		"a number":           {`{"page":{"name":"A"},"language":7}`, 400, "invalid_request", `[{"field":"language","message":"must be a language such as fr or fr-CA"}]`},
		"no boolean":         {`{"page":{"name":"A"},"automations":"yes"}`, 400, "invalid_request", `[{"field":"automations","message":"must be true or false"}]`},
		"no name":            {`{"page":{}}`, 400, "missing_parameter", `[{"field":"page.name","message":"is required"}]`},
		"a field of no page": {`{"page":{"name":"A","nmae":"B"}}`, 400, "invalid_request", ""},
		"a bad slug":         {`{"page":{"name":"A","slug":"_svc/x"}}`, 422, "validation_failed", ""},
		"too many blocks":    {`{"page":{"name":"A","blocks":[` + blocks(2001) + `]}}`, 422, "validation_failed", ""},
		"too deep":           {`{"page":{"name":"A","blocks":[` + deep + `]}}`, 422, "validation_failed", ""},
	} {
		details := s.RequireRefusal(t, c.status, c.code, "POST", s.Path+"/pages/preview", c.body)
		if c.fields != "" {
			require.JSONEq(t, c.fields, nodetest.Faults(details), name)
		}
	}
	s.RequireRefusal(t, http.StatusRequestEntityTooLarge, "invalid_request", "POST", s.Path+"/pages/preview", `{"page":{"name":"`+strings.Repeat("x", 2<<20)+`"}}`)
	s.RequireRefusal(t, http.StatusUnsupportedMediaType, "invalid_request", "POST", s.Path+"/pages/preview", "page=1", "Content-Type", "application/x-www-form-urlencoded")
	details := s.RequireRefusal(t, http.StatusBadRequest, "invalid_request", "POST", s.Path+"/pages/preview", "page:\n  name: A\n  nmae: B\n", "Content-Type", nodetest.YAMLType)
	require.Contains(t, nodetest.Faults(details), `"field":"page.nmae","line":3,"message":"unknown field; known are slug,`)

	s.Anonymous().RequireRefusal(t, http.StatusUnauthorized, "missing_token", "POST", s.Path+"/pages/preview", `{"page":{"name":"A"}}`)
	reader := s.Service.NewUser(t, "reader")
	s.As(reader).RequireRefusal(t, http.StatusForbidden, "workspace_access_denied", "POST", s.Path+"/pages/preview", `{"page":{"name":"A","slug":"about"}}`)
	for _, recorded := range s.allEvents(t)[len(before):] {
		require.Equal(t, "error", recorded, "a refused request of a member is, as any other")
	}

	large := s.preview(t, `{"page":{"name":"Large","blocks":[{"slug":"RichText","content":"`+strings.Repeat("a line of text with "+url.QueryEscape("ünïcödé")+" in it ", 16_000)+`"}]}}`)
	require.Equal(t, http.StatusOK, s.visitor(t, "").as("Authorization", s.Auth.Get("Authorization")).send("GET", large, nil, "").StatusCode, "a page of almost 1 MB")
}
