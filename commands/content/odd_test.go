package content_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// found lists the items of a result as "code file:line", sorted.
func found(list any) []string {
	items, _ := list.([]any)
	all := []string{}
	for _, item := range items {
		m := item.(map[string]any)
		line, _ := m["line"].(float64)
		all = append(all, fmt.Sprintf("%s %s:%d", m["err"], m["filepath"], int(line)))
	}
	slices.Sort(all)
	return all
}

// Archives as other tools and people make them. What can be imported is; each file that is left out
// or changed on the way is named with its line, and the same archive is imported into a new workspace
// as into one that exists.
func TestOddArchives(t *testing.T) {
	h := startNode(t)
	const index = "name: Odd\n"
	const automation = "slug: a\nname: A\ndo: []\n"
	tests := map[string]struct {
		files    map[string]string
		imported []string // besides the index
		warnings []string
		errors   []string
		exported map[string]string // texts of the export that must be there
	}{
		"an index without slug, JSON and YAML extensions": {
			files:    map[string]string{"index.json": `{"name": "Odd"}`, "automations/a.yaml": automation, "pages/home.json": `{"name": "Home", "blocks": []}`},
			imported: []string{"automations/a", "pages/home"},
		},
		"numbers and booleans where a text is expected, and texts where they are": {
			files: map[string]string{
				"index.yml":     "name: 2024\nslug: 7\nlabels: [env, 2024]\nregisterWorkspace: \"true\"\n",
				"pages/404.yml": "slug: 404\nname: 404\nredirect:\n  url: /x\n  permanent: 'false'\n", "automations/7.yml": "slug: 7\nname: Seven\ndo: []\n",
				"imports/x.yml": "appSlug: 12\nappVersion: 3\ndisabled: 'true'\n",
			},
			imported: []string{"automations/7", "imports/x", "pages/404"},
			warnings: []string{
				"app_missing imports/x.yml:1", "value_converted automations/7.yml:1",
				"value_converted imports/x.yml:1", "value_converted imports/x.yml:2", "value_converted imports/x.yml:3",
				"value_converted index.yml:1", "value_converted index.yml:2", "value_converted index.yml:3", "value_converted index.yml:4",
				"value_converted pages/404.yml:1", "value_converted pages/404.yml:2", "value_converted pages/404.yml:5",
			},
			exported: map[string]string{
				"pages/404.yml": "slug: '404'\nname: '404'\nredirect:\n  url: /x\n  permanent: false\n",
				"imports/x.yml": "slug: x\nappSlug: '12'\nappVersion: '3'\ndisabled: true\n",
			},
		},
		"line ends of Windows and byte order marks": {
			files: map[string]string{
				"index.yml": "\ufeffname: Odd\r\n", "automations/a.yml": "\ufeff" + strings.ReplaceAll(automation, "\n", "\r\n"),
				"pages/home.json": "\ufeff{\r\n\"name\": \"Home\"\r\n}\r\n", "pages/bad.yml": "name: Bad\r\nblocks: [\r\n",
			},
			imported: []string{"automations/a", "pages/home"},
			errors:   []string{"invalid_document pages/bad.yml:2"},
		},
		"a top folder of another name, folders as entries, and what a Mac adds": {
			files: map[string]string{
				"my shop/": "", "my shop/automations/": "", "my shop/index.yml": index, "my shop/automations/a.yml": automation,
				"__MACOSX/my shop/._index.yml": "x", ".DS_Store": "x", "my shop/.DS_Store": "x", "my shop/automations/.DS_Store": "x",
			},
			imported: []string{"automations/a"},
		},
		"a README beside the top folder": {
			files:    map[string]string{"README.md": "# Odd", "shop/index.yml": index, "shop/automations/a.yml": automation, "docs/guide.yml": "a: b\n"},
			imported: []string{"automations/a"},
		},
		"what repositories hold besides": {
			files: map[string]string{
				"index.yml": index, "README.md": "# Odd", ".gitignore": "x", ".gitattributes": "* text", ".git/config": "[core]", ".git/hooks/pre-commit": "#!/bin/sh",
				".github/workflows/ci.yml": "on: push\n", "docker-compose.yml": "services: {}\n", "node_modules/x/package.json": "{", "src/index.js": "x",
				"runtime.yml": "x: 1\n", "automations/__index__.yml": "a: b\n", "automations/.hidden/a.yml": "[", "pages/.draft.yml": "[", "assets/logo.png": "\x89PNG", "LISEZ-MOI \x82t\x82.txt": "x",
				"automations/a.yml": automation,
			},
			imported: []string{"automations/a"},
		},
		"files among documents that are none": {
			files: map[string]string{
				"index.yml": index, "automations/a.yml": automation, "automations/notes.md": "x", "pages/style.css": "p {}", "Automations/b.yml": automation, "automations/c.YML": automation,
			},
			imported: []string{"automations/a"},
			warnings: []string{"not_imported Automations/b.yml:0", "not_imported automations/c.YML:0"},
		},
		"JSON below pages that is no page": {
			files: map[string]string{
				"index.yml": index, "pages/home.yml": "name: Home\n", "pages/data/cities.json": `["Paris", "Rome"]`, "pages/fr.json": `{"name": "Nom", "hello": "Bonjour"}`,
				"pages/package.json": `{"name": "x", "version": "1.0.0", "dependencies": {}}`, "pages/real.json": "{\"name\": \"Real\",\n \"blocks\": [],\n \"more\": 1}",
			},
			imported: []string{"pages/home", "pages/real"},
			warnings: []string{"not_a_page pages/data/cities.json:1", "not_a_page pages/fr.json:1", "not_a_page pages/package.json:1", "unknown_field pages/real.json:3"},
		},
		"pictures that no browser loads": {
			files: map[string]string{
				"index.yml":      "name: Odd\nphoto: data:image/png;base64,AAAA\nblocks:\n  Card:\n    name: Card\n    photo: ftp://x/y.png\n",
				"pages/home.yml": "name: Home\nfavicon: icon.png\n",
			},
			imported: []string{"pages/home"},
			warnings: []string{"address_dropped index.yml:2", "address_dropped index.yml:6", "address_dropped pages/home.yml:2"},
			exported: map[string]string{"pages/home.yml": "slug: home\nname: Home\n"},
		},
		"a logo that is no address": {
			files:    map[string]string{"index.yml": "name: Odd\nlogo: ./logo.png\n"},
			warnings: []string{"address_dropped index.yml:2"},
		},
		"blocks of an older form": {
			files: map[string]string{
				"index.yml": "name: Odd\nblocks:\n  Card:\n    blocks:\n      - name: RichText\n        config:\n          content: Hi\n",
				"pages/home.yml": "name: Home\nblocks:\n  - name: Header\n    config:\n      title: T\n      slug: lost\n  - slug: Charts\n    config:\n      legend: true\n" +
					"  - name: crm.List\n    appInstance: crm\n    onInit: outer\n    config:\n      onInit: inner\n      blocks:\n        - name: Form\n          config:\n            name: field\n      tabs:\n        - text: One\n          content:\n            name: RichText\n            config: {content: X}\n" +
					"  - name: Footer\n",
			},
			imported: []string{"pages/home"},
			warnings: []string{"old_block_form index.yml:5", "old_block_form pages/home.yml:3", "setting_dropped pages/home.yml:12", "setting_dropped pages/home.yml:6"},
			exported: map[string]string{
				"pages/home.yml": "slug: home\nname: Home\nblocks:\n  - slug: Header\n    title: T\n  - slug: Charts\n    config:\n      legend: true\n" +
					"  - slug: crm.List\n    appInstance: crm\n    onInit: inner\n    blocks:\n      - slug: Form\n        name: field\n    tabs:\n      - text: One\n        content:\n          slug: RichText\n          content: X\n" +
					"  - slug: Footer\n",
			},
		},
		"slugs that differ in case only": {
			files:    map[string]string{"index.yml": index, "pages/one.yml": "slug: Home\nname: One\n", "pages/two.yml": "slug: home\nname: Two\n", "pages/three.yml": "name: Three\n"},
			imported: []string{"pages/three"},
			errors:   []string{"duplicate_object pages/one.yml:1", "duplicate_object pages/two.yml:1"},
		},
		"unknown fields": {
			files: map[string]string{
				"index.yml": "name: Odd\ncolour: red\n", "automations/a.yml": "name: A\ndo: []\nteam: red\n", "pages/home.yml": "name: Home\nlayout: wide\nblocks: []\n",
			},
			imported: []string{"automations/a", "pages/home"},
			warnings: []string{"unknown_field automations/a.yml:3", "unknown_field index.yml:2", "unknown_field pages/home.yml:2"},
			exported: map[string]string{"automations/a.yml": "slug: a\nname: A\ndo: []\nteam: red\n", "pages/home.yml": "slug: home\nname: Home\nlayout: wide\n"},
		},
		"automations with faults": {
			files: map[string]string{
				"index.yml": index, "automations/deep/nested/a.yml": "name: A\ndo:\n  - set:\n      name: x\n      value: 1\n  - fetch:\n      url: 5\n", "automations/none.yml": "name: None\n",
			},
			imported: []string{"automations/deep/nested/a", "automations/none"},
			warnings: []string{"invalid_automation automations/deep/nested/a.yml:7", "invalid_automation automations/none.yml:1"},
		},
		"empty files": {
			files:    map[string]string{"index.yml": index, "automations/a.yml": automation, "automations/none.yml": "", "pages/comment.yml": "# later\n", "imports/none.json": "", "security.yml": ""},
			imported: []string{"automations/a"},
			errors:   []string{"invalid_document automations/none.yml:1", "invalid_document imports/none.json:1", "invalid_document pages/comment.yml:1", "invalid_document security.yml:1"},
		},
		"app instances of apps that are not there": {
			files: map[string]string{
				"index.yml": index, "imports/mail.yml": "appSlug: no-such-app\nconfig: {a: 1}\n", "imports/versioned.yml": "slug: versioned\nappSlug: none\nappVersion: '9'\nfoo: bar\n", "imports/bad.yml": "config: {}\n",
			},
			imported: []string{"imports/mail", "imports/versioned"},
			warnings: []string{"app_missing imports/mail.yml:1", "app_missing imports/versioned.yml:2", "unknown_field imports/versioned.yml:4"},
			errors:   []string{"invalid_document imports/bad.yml:1"},
		},
		"security with subjects that are not known here": {
			files: map[string]string{
				"index.yml": index,
				"security.yml": "authorizations:\n  roles:\n    chef: {}\n  rules:\n    - role: chef\n      action: read\n      subject: pages\n    - role: chef\n      action: cook\n      subject: meals\n" +
					"    - role: chef\n      action: [read, cook]\n      subject: [pages, kitchens]\n",
			},
			imported: []string{"security"},
			warnings: []string{"unknown_rule security.yml:12", "unknown_rule security.yml:13", "unknown_rule security.yml:8"},
			exported: map[string]string{
				"security.yml": "authorizations:\n  roles:\n    chef: {}\n  rules:\n    - role: chef\n      action: read\n      subject: pages\n    - role: chef\n      action:\n        - read\n      subject:\n        - pages\n",
			},
		},
		"faults of documents, with the line of each": {
			files: map[string]string{
				"index.yml": index, "pages/tabs.yml": "name: Tabs\nblocks:\n\t- x\n", "pages/type.yml": "name: Type\n\nblocks:\n  - slug: A\n  - 7\n", "pages/dup.yml": "name: A\nlabels: []\nname: B\n",
				"imports/x.json": "{\n  \"appSlug\": \"x\",\n  \"labels\": [\n}\n", "security.yml": "authorizations:\n  rules:\n    - action: read\n      subject: pages\n      role: nobody\n",
			},
			errors: []string{"invalid_document imports/x.json:4", "invalid_document pages/dup.yml:3", "invalid_document pages/tabs.yml:3", "invalid_document pages/type.yml:5", "invalid_document security.yml:5"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			id := h.create(t, `{"name":"Before"}`)
			for _, to := range []string{id, ""} {
				got := h.importing(t, to, "", files(t, tt.files))
				require.Less(t, got.status, 300, "%s", got.body)
				result := got.fields(t)
				imported := slices.DeleteFunc(texts(result["imported"]), func(path string) bool { return path == "index" })
				require.ElementsMatch(t, tt.imported, imported, "%s", got.body)
				require.ElementsMatch(t, tt.warnings, found(result["warnings"]), "%v", result["warnings"])
				require.ElementsMatch(t, tt.errors, found(result["errors"]), "%v", result["errors"])
				made := result["workspace"].(map[string]any)["id"].(string)
				exported := unpack(t, h.export(t, made))
				for path, text := range tt.exported {
					require.Equal(t, text, exported["current/"+path])
				}
				require.Equal(t, result["warnings"], h.lastImport(t, made)["warnings"], "the event tells the same")
				again := h.importing(t, made, "", h.export(t, made))
				require.Equal(t, http.StatusOK, again.status, "%s", again.body)
				require.Equal(t, []any{}, again.fields(t)["imported"], "what is exported is what is there")
			}
		})
	}
}

// texts is a list of texts.
func texts(list any) []string {
	items, _ := list.([]any)
	all := []string{}
	for _, item := range items {
		all = append(all, item.(string))
	}
	return all
}

// lastImport is the payload of the newest workspaces.imported of a workspace.
func (h *testNode) lastImport(t require.TestingT, id string) map[string]any {
	got := h.call(t, "GET", "/v2/workspaces/"+id+"/events?type=workspaces.imported&limit=1", "", "")
	require.Equal(t, http.StatusOK, got.status, "%s", got.body)
	events := got.fields(t)["result"].(map[string]any)["events"].([]any)
	require.NotEmpty(t, events)
	return events[0].(map[string]any)["payload"].(map[string]any)
}
