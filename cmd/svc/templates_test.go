package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"svc/commands/archive"
	"svc/commands/yamltext"
	"svc/domain/document"
	"svc/domain/shape"
)

// Every template is a workspace without a warning, and does what it is for.
func TestTemplates(t *testing.T) {
	t.Parallel()
	d := newRemoteUser(t).signIn(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("news")) }))
	t.Cleanup(site.Close)
	endpoint := func(slug, automation string) string {
		return d.url() + "/v2/workspaces/slug:" + slug + "/webhooks/" + automation
	}
	uses := map[string]func(t *testing.T){
		"api": func(t *testing.T) {
			require.JSONEq(t, `{"message":"Hello Ada!"}`, ask(t, endpoint("api", "hello"), `{"name":"Ada"}`))
		},
		"approval": func(t *testing.T) {
			var made struct{ ID string }
			require.NoError(t, json.Unmarshal([]byte(ask(t, endpoint("approval", "ask"), `{"what":"a holiday"}`)), &made))
			require.Eventually(t, func() bool { return strings.Contains(d.must(t, "runs", "list", "approval"), "waiting") }, time.Minute, 20*time.Millisecond)
			ask(t, endpoint("approval", "answer"), `{"id":"`+made.ID+`","approve":true}`)
			require.Eventually(t, func() bool {
				return strings.Contains(d.must(t, "data", "query", "approval", "requests"), `"approved"`)
			}, time.Minute, 20*time.Millisecond)
		},
		"crawler": func(t *testing.T) {
			ask(t, endpoint("crawler", "crawl"), "")
			require.Contains(t, d.must(t, "data", "query", "crawler", "pages"), `"news"`)
		},
		"page": func(t *testing.T) {
			resp, err := plainHTTP.Get(d.url() + "/pages/page")
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusOK, resp.StatusCode)
		},
	}
	require.Len(t, templateNames(), len(uses))
	for _, name := range templateNames() {
		dir := filepath.Join(t.TempDir(), name)
		require.Contains(t, d.must(t, "init", dir, "--template", name), "next: svc dev "+dir)
		index := readFile(t, filepath.Join(dir, "index.yml"))
		require.Contains(t, index, "$schema="+d.url()+"/v2/schemas/index\n")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "index.yml"), []byte(strings.Replace(index, "https://example.com", site.URL, 1)), 0o600))
		applied := d.must(t, "apply", dir)
		require.NotContains(t, applied, "warning", name)
		uses[name](t)
		require.Contains(t, d.requireFailure(t, 1, "init", dir, "--template", name), "is there already: choose an empty directory")
	}
	require.Contains(t, d.requireFailure(t, 2, "init", t.TempDir(), "--template", "blog"), "there are api, approval, crawler, page")
	dir := filepath.Join(t.TempDir(), "ü")
	require.Contains(t, d.must(t, "init", dir, "--json", "--name", `The "best" shop`), `"index.yml"`)
	require.Contains(t, readFile(t, filepath.Join(dir, "index.yml")), "name: \"The \\\"best\\\" shop\"\nslug: the--best--shop\n")
}

// Every kind of files that the service checks has a schema that editors can use, and what svc init writes fits it.
func TestSchemasFitTheTemplates(t *testing.T) {
	t.Parallel()
	compiled := map[*document.Kind]*jsonschema.Schema{}
	for _, kind := range document.Kinds {
		if kind == document.Agent {
			continue // there are none here yet
		}
		schema, ok := shape.Schema(kind.Name)
		require.True(t, ok, kind.Name)
		text, err := document.JSON(schema)
		require.NoError(t, err)
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		c := jsonschema.NewCompiler()
		require.NoError(t, c.AddResource("http://localhost/v2/schemas/"+kind.Name, parsed))
		compiled[kind], err = c.Compile("http://localhost/v2/schemas/" + kind.Name)
		require.NoError(t, err, kind.Name)
	}
	for _, name := range templateNames() {
		tree, err := template(name, "W", "http://localhost")
		require.NoError(t, err)
		for path, text := range tree {
			location, ok := archive.Locate(path)
			require.True(t, ok, path)
			require.Contains(t, string(text), "# yaml-language-server: $schema=http://localhost/v2/schemas/"+location.Kind.Name+"\n", path)
			doc, err := yamltext.ReadMap(text, archive.Usual.Document)
			require.NoError(t, err)
			require.NoError(t, compiled[location.Kind].Validate(document.Plain(doc)), path)
		}
	}
	require.Error(t, compiled[document.Automation].Validate(map[string]any{"name": "A", "do": []any{map[string]any{"emit": map[string]any{}}}}))
}
