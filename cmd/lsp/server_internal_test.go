package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// answers runs a server on messages that have all arrived, and returns its answers by id.
func answers(t *testing.T, bodies ...string) (map[string]rpcError, error) {
	t.Helper()
	var in, out bytes.Buffer
	for _, body := range bodies {
		fmt.Fprintf(&in, "Content-Type: x\r\ncontent-length: %d\r\n\r\n%s", len(body), body)
	}
	s := &server{
		Options: Options{Log: t.Output()}, out: &messageWriter{out: &out}, queue: newQueue(),
		open: map[string]*openDocument{}, workspaces: map[string]*workspace{}, published: map[string]string{},
	}
	s.queue.fill(&in)
	err := s.loop(t.Context())
	found := map[string]rpcError{}
	for part := range strings.SplitSeq(out.String(), "Content-Length: ") {
		if _, body, ok := strings.Cut(part, "\r\n\r\n"); ok {
			var answer struct {
				ID    json.RawMessage
				Error rpcError
			}
			require.NoError(t, json.Unmarshal([]byte(body), &answer), body)
			found[string(answer.ID)] = answer.Error
		}
	}
	return found, err
}

func TestRequestsAreCancelledAndNothingElseIs(t *testing.T) {
	t.Parallel()
	hover := `"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///x"}}}`
	got, err := answers(t,
		`{"id":0,`+hover,
		`{"id":1,"method":"initialize","params":{}}`,
		`{"id":2,`+hover,
		`{"id":"three",`+hover,
		`{"method":"$/cancelRequest","params":{"id":"three"}}`,
		`{"method":"$/cancelRequest","params":{"id":99}}`,
		`{"method":"$/setTrace","params":{}}`,
		`{"id":"watch","result":null}`,
		`no JSON`,
		`{"id":99,`+hover,
		`{"id":4,"method":"shutdown"}`,
		`{"method":"exit"}`,
	)
	require.NoError(t, err)
	codes := map[string]int{}
	for id, answer := range got {
		codes[id] = answer.Code
	}
	require.Equal(t, map[string]int{"0": codeNotInitialized, "1": 0, "2": 0, `"three"`: codeRequestCancelled, "null": codeParse, "99": 0, "4": 0}, codes)
}

func TestConnectionEndsWithAnErrorWhenTheClientDisappears(t *testing.T) {
	t.Parallel()
	_, err := answers(t, `{"id":1,"method":"initialize","params":{}}`)
	require.ErrorContains(t, err, "gone")
	_, err = answers(t, `{"method":"exit"}`)
	require.ErrorContains(t, err, "without shutdown")
	_, err = answers(t, `{"id":1,"method":"initialize","params":{}}`, `{"id":2,"method":"shutdown"}`)
	require.NoError(t, err)
}

// fileServer is a server of the files of a directory.
func fileServer(t *testing.T, files map[string]string) (*server, *workspace) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	s := &server{Options: Options{Log: t.Output()}, open: map[string]*openDocument{}, workspaces: map[string]*workspace{}, published: map[string]string{}}
	return s, s.workspace(dir)
}

func TestRenameChangesEveryFormOfACallOrNothing(t *testing.T) {
	t.Parallel()
	_, w := fileServer(t, map[string]string{
		"index.yml":           "name: W\nblocks:\n  B:\n    automation: é-😀\n    blocks:\n      - slug: RichText\n        automation: old\n",
		"automations/old.yml": "name: Without a slug\ndo: []\n",
		"tests/t.yml":         "automation: old\ncases: []\n",
		"automations/a.json":  `{"slug":"a","name":"ü","do":[{"all":[{"old":{}},{"runWorkflow":{"workflow":"old"}}]}]}`,
		"automations/b.yml":   "slug: b\nname: B\ndo:\n  - \"old\": {}\n  - 'old' : {}\n  - conditions: {'{{x}}': [{old: {}}]}\n  - runWorkflow: {workflow: old, parameters: {old: old}}\n  - instance.old: {}\n",
	})
	changes, err := w.renameAutomation("old", "true")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, change := range changes {
		edit := change.(textDocumentEdit)
		file, _ := pathOf(edit.TextDocument.URI)
		name, err := filepath.Rel(w.dir, file)
		require.NoError(t, err)
		text := w.files[filepath.ToSlash(name)].text
		body := text.body
		for i := len(edit.Edits) - 1; i >= 0; i-- { // they are in the order of the text here
			e := edit.Edits[i]
			body = body[:text.offset(e.Range.Start)] + e.NewText + body[text.offset(e.Range.End):]
		}
		texts[name] = body
	}
	require.Equal(t, map[string]string{
		"index.yml":          "name: W\nblocks:\n  B:\n    automation: é-😀\n    blocks:\n      - slug: RichText\n        automation: 'true'\n",
		"tests/t.yml":        "automation: 'true'\ncases: []\n",
		"automations/a.json": `{"slug":"a","name":"ü","do":[{"all":[{"true":{}},{"runWorkflow":{"workflow":"true"}}]}]}`,
		"automations/b.yml":  "slug: b\nname: B\ndo:\n  - \"true\": {}\n  - 'true' : {}\n  - conditions: {'{{x}}': [{'true': {}}]}\n  - runWorkflow: {workflow: 'true', parameters: {old: old}}\n  - instance.old: {}\n",
	}, texts)

	_, w = fileServer(t, map[string]string{
		"automations/old.yml": "slug: old\ndo: []\n",
		"automations/c.yml":   "slug: c\nlabels: [&name old]\ndo:\n  - runWorkflow:\n      workflow: *name\n",
	})
	_, err = w.renameAutomation("old", "new")
	require.ErrorContains(t, err, "automations/c.yml:5 calls it in a form that cannot be changed here")
}

func TestFilesBelongToTheDirectoryOfTheirIndex(t *testing.T) {
	t.Parallel()
	s, w := fileServer(t, map[string]string{
		"index.yml": "name: W\n", "pages/index.yml": "name: P\nblocks: []\n", "sub/index.yml": "name: S\n", "sub/automations/x.yml": "do: []\n",
	})
	for name, want := range map[string][2]string{
		"pages/index.yml":       {"", "pages/index.yml"},
		"index.yml":             {"", "index.yml"},
		"automations/a/b.yml":   {"", "automations/a/b.yml"},
		"sub/automations/x.yml": {"sub", "automations/x.yml"},
		"sub/index.yml":         {"sub", "index.yml"},
	} {
		found, path := s.locate(filepath.Join(w.dir, name))
		require.Equal(t, filepath.Join(w.dir, want[0]), found.dir, name)
		require.Equal(t, want[1], path, name)
	}
	found, _ := s.locate(filepath.Join(w.dir, "other/thing.yml"))
	require.Nil(t, found)
}

func TestURIsAreReadAsEditorsWriteThem(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"file:///a/b%20c/%C3%A9.yml": "/a/b c/é.yml",
		"file:///a/%5Bx%5D.yml":      "/a/[x].yml",
	} {
		got, ok := pathOf(uri)
		require.True(t, ok)
		require.Equal(t, want, got)
		again, _ := pathOf(fileURI(got))
		require.Equal(t, want, again)
	}
	_, ok := pathOf("untitled:Untitled-1")
	require.False(t, ok)
}
