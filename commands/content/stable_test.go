package content_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/commands/archive"
	"svc/domain/document"
)

// hard are texts that are hard to write in a file.
var hard = rapid.OneOf(rapid.SampledFrom([]string{
	"", " ", "\n", "a\n", "a\n\n", "a \nb", "\na", " a\nb", "a: b", "a #b", "- a", "---", "null", "~", "yes", "1", "1e3", "2001-01-01", "<<",
	"{{body.amount}} > 100", "it's", `"`, `\`, "[a]", "*a", "&a", "|", "a\tb", "\u0085", "a\u2028b", "é", "日本", "😀", "a\r\nb", strings.Repeat("k", 1001),
}), rapid.StringOf(rapid.RuneFrom([]rune("ab: -#'\"\n\\{}[]|>,é0"))))

// anything is a value nested at most so deep.
func anything(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 5
		if depth == 0 {
			kinds = 3
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]any{nil, true, false, 0.0, 1.5, -3.0, 1e300}).Draw(t, "word")
		case 3:
			return rapid.SliceOfN(anything(depth-1), 0, 3).Draw(t, "list")
		case 4:
			return mapping(depth).Draw(t, "mapping")
		}
		return hard.Draw(t, "text")
	})
}

func mapping(depth int) *rapid.Generator[*document.Map] {
	return rapid.Custom(func(t *rapid.T) *document.Map {
		m := document.MapOf()
		for range rapid.IntRange(0, 4).Draw(t, "keys") {
			m.Set(hard.Draw(t, "key"), anything(max(depth-1, 0)).Draw(t, "value"))
		}
		return m
	})
}

func doc(pairs ...any) *document.Map {
	m := document.MapOf()
	for i := 0; i < len(pairs); i += 2 {
		m.Set(pairs[i].(string), pairs[i+1])
	}
	return m
}

var slugs = rapid.StringMatching(`[a-zA-Z0-9][a-zA-Z0-9 _-]{0,6}[a-z0-9](/[a-z][a-z0-9_-]{0,6})?`)

// workspaces are contents of every kind, with what is open filled with anything.
var workspaces = rapid.Custom(func(t *rapid.T) *archive.Content {
	c := &archive.Content{Index: doc(
		"name", rapid.StringMatching(`[A-Za-zé][A-Za-z é:#'-]{0,20}[a-z]`).Draw(t, "name"), "slug", "the-same",
		"description", rapid.SampledFrom([]any{nil, "One\nTwo", doc("fr", "x", "en", "y")}).Draw(t, "description"),
		"labels", []any{"zz", "aa", rapid.StringMatching(`[0-9A-Za-z._:-]{2,9}`).Draw(t, "label")},
		"config", doc("value", mapping(3).Draw(t, "config"), "schema", doc("color", doc("type", "string"))),
		"blocks", doc("Hero", doc("url", "https://example.org/x.js", "config", mapping(2).Draw(t, "block"))),
		"unknown", anything(2).Draw(t, "unknown"),
	)}
	if rapid.Bool().Draw(t, "secured") {
		c.Security = doc("authorizations", doc("roles", doc("zed", doc(), "editor", doc(), "amy", doc("description", "x")), "rules", []any{
			doc("role", "zed", "action", []any{"update", "read"}, "subject", "workspaces"),
			doc("action", "read", "subject", "events", "conditions", doc("type", hard.Draw(t, "condition"), "payload.a", 1.0)),
		}))
	}
	taken := map[string]bool{}
	for range rapid.IntRange(0, 5).Draw(t, "documents") {
		slug := slugs.Draw(t, "slug")
		if taken[strings.ToLower(slug)] {
			continue
		}
		taken[strings.ToLower(slug)] = true
		switch rapid.IntRange(0, 2).Draw(t, "folder") {
		case 0:
			c.Put(archive.Location{Kind: document.Automation, Slug: slug}, doc("name", hard.Draw(t, "name"), "do", anything(3).Draw(t, "do"),
				"when", doc("events", []any{"a", "b"}), "output", anything(2).Draw(t, "output"), "zeta", anything(1).Draw(t, "zeta")))
		case 1:
			c.Put(archive.Location{Kind: document.Page, Slug: slug}, doc("name", "Page", "public", rapid.Bool().Draw(t, "public"), "labels", []any{"bb", "aa"},
				"blocks", []any{doc("slug", "RichText", "content", anything(2).Draw(t, "content"), "data", mapping(2).Draw(t, "data"))}))
		default:
			slug, _, _ := strings.Cut(slug, "/")
			c.Put(archive.Location{Kind: document.Import, Slug: slug}, doc("appSlug", "Nowhere", "config", mapping(2).Draw(t, "settings")))
		}
	}
	return c
})

// What was exported and is imported into a new workspace, which gets the same
// slug, is exported with the same bytes. Importing it where it came from changes
// nothing.
func TestAnExportIsTheSameAfterAnImport(t *testing.T) {
	t.Parallel()
	h := startNode(t)
	rapid.Check(t, func(t *rapid.T) {
		tree, err := workspaces.Draw(t, "workspace").Files(archive.Usual)
		require.NoError(t, err)
		var first bytes.Buffer
		require.NoError(t, tree.WriteZip(&first))

		id, exported := h.again(t, first.Bytes())
		for path, text := range unpack(t, first.Bytes()) {
			require.Equal(t, text, unpack(t, exported)[path], "canonical files stay as they are")
		}
		same := h.importing(t, id, "?prune=true", exported)
		require.Equal(t, http.StatusOK, same.status, "%s", same.body)
		require.Equal(t, []any{}, same.fields(t)["imported"], "%s", same.body)
		require.Equal(t, []any{}, same.fields(t)["deleted"])
		require.Equal(t, exported, h.export(t, id))
		h.remove(t, id)

		id, next := h.again(t, exported)
		require.Equal(t, exported, next)
		h.remove(t, id)
	})
}

// again imports an archive into a new workspace and returns what that exports.
func (h *testNode) again(t require.TestingT, data []byte) (id string, exported []byte) {
	made := h.importing(t, "", "", data)
	require.Equal(t, http.StatusCreated, made.status, "%s", made.body)
	result := made.fields(t)
	require.Equal(t, []any{}, result["errors"], "%s", made.body)
	require.NotContains(t, words(result["warnings"], "err"), "slug_in_use")
	id = result["workspace"].(map[string]any)["id"].(string)
	return id, h.export(t, id)
}

func (h *testNode) remove(t require.TestingT, id string) {
	got := h.call(t, "DELETE", "/v2/workspaces/"+id, "", "")
	require.Equal(t, http.StatusOK, got.status, "%s", got.body)
}

// handwritten are files as people write them.
var handwritten = map[string]string{
	"index.yml":                  "# Our shop\nslug:   the-shop\nname: \"Shop\"   # the name\nlabels: [zz, aa, zz]\nid: notours\ncreatedAt: 2020-01-01\nrepositories: {}\nregisterWorkspace: false\nfuture: {b: 1, a: 2}\n",
	"security.yml":               "authorizations:\n    rules:\n      - {role: editor, action: read, subject: workspaces}\n    roles: {editor: {}}\n",
	"automations/charge.yml":     "name: Charge\r\nwhen:\r\n  endpoint: true\r\ndo:\r\n- conditions:\r\n    '{{b}} > 1':\r\n    - &step {emit: {event: big}}\r\n    \"{{a}} > 1\":\r\n    - *step\r\n    default: []\r\n",
	"automations/merge.yaml":     "defaults: &d\n  x: 1\n  y: 2\ndo:\n  - set:\n      name: a\n      value:\n        <<: *d\n        y: 3\n",
	"automations/deep/json.json": "{\n\t\"do\": [ {\"emit\": {\"event\": \"x\", \"payload\": {\"z\": 1.0, \"a\": 1e2}}} ],\n\t\"name\": {\"fr\": \"é\", \"en\": \"e\"}\n}",
	"pages/Home page.yml":        "---\nblocks:\n- slug: RichText\n  content: >-\n    folded\n    text\n\n    here\n- {slug: Form, 'onInit': \"go\"}\nname: !!str Home\npublic: true\nstyles: |2\n    body {}\n",
	"imports/Mail.yml":           "appSlug: Mail\nconfig:\n  url: 'https://example.org'\n  n: 0x10\n",
	"README.md":                  "not ours", "runtime.yml": "not: ours", "pages/__index__.yml": "a: b", ".github/ci.yml": "x: y", "automations/.hidden.yml": "do: []",
}

func TestHandwrittenFilesAreStableFromTheSecondTimeOn(t *testing.T) {
	h := startNode(t)
	under := map[string]string{}
	for path, text := range handwritten {
		under["my-shop-main/"+path] = text
	}
	id, first := h.again(t, files(t, under))
	require.Equal(t, "slug: charge\nname: Charge\nwhen:\n  endpoint: true\ndo:\n  - conditions:\n      '{{b}} > 1':\n        - emit:\n            event: big\n      '{{a}} > 1':\n"+
		"        - emit:\n            event: big\n      default: []\n", unpack(t, first)["current/automations/charge.yml"])
	require.Len(t, unpack(t, first), 7, "nothing of what is not ours")
	for path, text := range unpack(t, first) {
		require.False(t, strings.HasPrefix(text, "---") || strings.Contains(text, "\r") || strings.Contains(text, "&step"), path)
	}
	require.Equal(t, "name: Shop\nslug: the-shop\nlabels:\n  - aa\n  - zz\nfuture:\n  b: 1\n  a: 2\n", unpack(t, first)["current/index.yml"])

	repeated := h.importing(t, id, "?prune=true", files(t, under)).fields(t)
	require.Equal(t, []any{}, repeated["imported"], "the same files change nothing")
	require.Equal(t, first, h.export(t, id))
	h.remove(t, id)
	id, second := h.again(t, first)
	require.Equal(t, first, second)
	h.remove(t, id)
	_, third := h.again(t, second)
	require.Equal(t, second, third)
}
