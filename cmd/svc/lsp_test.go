package main

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"go.uber.org/zap"
)

// editor is a client of a language server that runs as a process. The protocol is that of go.lsp.dev, an
// implementation of others: it needs no editor and no Node.
type editor struct {
	protocol.Client // what is not asked of it
	protocol.Server
	conn    jsonrpc2.Conn
	process *childProcess
	dir     string

	mu          sync.Mutex
	diagnostics map[uri.URI][]protocol.Diagnostic
	registered  bool
}

// duplex is both streams of a process.
type duplex struct {
	io.Reader
	io.WriteCloser
}

// editWorkspace starts svc lsp with the files of a directory.
func editWorkspace(t *testing.T, files map[string]string) *editor {
	t.Helper()
	e := &editor{dir: t.TempDir(), diagnostics: map[uri.URI][]protocol.Diagnostic{}}
	for name, text := range files {
		file := filepath.Join(e.dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	e.process = (&cliEnv{dir: t.TempDir()}).program("lsp", "--stdio")
	in, err := e.process.cmd.StdinPipe()
	require.NoError(t, err)
	e.process.cmd.Stdout = nil
	out, err := e.process.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, e.process.cmd.Start())
	t.Cleanup(func() {
		_ = e.process.cmd.Process.Kill() // it has ended long before
		if t.Failed() {
			t.Logf("log of the server:\n%s", e.process.log)
		}
	})
	_, e.conn, e.Server = protocol.NewClient(context.Background(), e, jsonrpc2.NewStream(duplex{out, in}), zap.NewNop())
	got, err := e.Initialize(t.Context(), &protocol.InitializeParams{
		WorkspaceFolders: []protocol.WorkspaceFolder{{URI: string(e.uri("")), Name: "shop"}},
		Capabilities: protocol.ClientCapabilities{Workspace: &protocol.WorkspaceClientCapabilities{
			WorkspaceEdit:         &protocol.WorkspaceClientCapabilitiesWorkspaceEdit{DocumentChanges: true, ResourceOperations: []string{"create", "rename"}},
			DidChangeWatchedFiles: &protocol.DidChangeWatchedFilesWorkspaceClientCapabilities{DynamicRegistration: true},
		}},
	})
	require.NoError(t, err)
	require.Equal(t, "svc lsp", got.ServerInfo.Name)
	require.NoError(t, e.Initialized(t.Context(), &protocol.InitializedParams{}))
	return e
}

// PublishDiagnostics takes what the server found.
func (e *editor) PublishDiagnostics(_ context.Context, p *protocol.PublishDiagnosticsParams) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.diagnostics[p.URI] = p.Diagnostics
	return nil
}

// RegisterCapability takes what the server wants to be told of.
func (e *editor) RegisterCapability(context.Context, *protocol.RegistrationParams) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.registered = true
	return nil
}

func (e *editor) uri(name string) uri.URI {
	return uri.URI((&url.URL{Scheme: "file", Path: filepath.Join(e.dir, name)}).String())
}

// open opens a document with a text in which | is the cursor, if there is one.
func (e *editor) open(t *testing.T, name, text string) (at protocol.TextDocumentPositionParams) {
	t.Helper()
	text, at = e.cursor(name, text)
	require.NoError(t, e.DidOpen(t.Context(), &protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{
		URI: e.uri(name), LanguageID: "yaml", Version: 1, Text: text,
	}}))
	return at
}

// cursor takes the | out of a text.
func (e *editor) cursor(name, text string) (string, protocol.TextDocumentPositionParams) {
	before, after, _ := strings.Cut(text, "|")
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return before + after, protocol.TextDocumentPositionParams{
		TextDocument: protocol.TextDocumentIdentifier{URI: e.uri(name)},
		Position:     protocol.Position{Line: uint32(strings.Count(before, "\n")), Character: uint32(len(utf16.Encode([]rune(line))))},
	}
}

// replace makes the text of an open document another one.
func (e *editor) replace(t *testing.T, name, text string, version int32) (at protocol.TextDocumentPositionParams) {
	t.Helper()
	text, at = e.cursor(name, text)
	require.NoError(t, e.conn.Notify(t.Context(), protocol.MethodTextDocumentDidChange, map[string]any{
		"textDocument":   map[string]any{"uri": e.uri(name), "version": version},
		"contentChanges": []any{map[string]any{"text": text}},
	}))
	return at
}

// awaitProblems waits until a file has exactly these problems: each text is part of a message, in this order.
func (e *editor) awaitProblems(t *testing.T, name string, wanted ...string) []protocol.Diagnostic {
	t.Helper()
	var found []protocol.Diagnostic
	require.Eventually(t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		found = e.diagnostics[e.uri(name)]
		if len(found) != len(wanted) {
			return false
		}
		for i, d := range found {
			if !strings.Contains(d.Message, wanted[i]) {
				return false
			}
		}
		return true
	}, time.Minute, 2*time.Millisecond, "%s: %v", name, &found)
	return found
}

// labels are what is offered at a place.
func (e *editor) labels(t *testing.T, at protocol.TextDocumentPositionParams) (labels []string) {
	t.Helper()
	list, err := e.Completion(t.Context(), &protocol.CompletionParams{TextDocumentPositionParams: at})
	require.NoError(t, err)
	for _, item := range list.Items {
		labels = append(labels, item.Label)
	}
	return labels
}

// end ends the server as an editor does.
func (e *editor) end(t *testing.T) {
	t.Helper()
	require.NoError(t, e.Shutdown(t.Context()))
	require.NoError(t, e.Exit(t.Context()))
	<-e.conn.Done()
	require.NoError(t, e.process.cmd.Wait())
}

const indexText = "name: Shop\nslug: shop\nsecrets:\n  schema:\n    mailKey:\n      type: string\nevents:\n  types:\n    order.paid: {}\n"

func shopFiles() map[string]string {
	return map[string]string{
		"index.yml":             indexText,
		"automations/greet.yml": "slug: greet\nname: Greet\ndescription: Says hello\narguments:\n  who:\n    type: string\ndo:\n  - emit:\n      event: greeted\noutput: Hello {{who}}\n",
		"automations/visit.yml": "slug: visit\nname: Visit\nwhen:\n  events:\n    - greeted\ndo:\n  - greet:\n      who: Ada\n  - runWorkflow:\n      workflow: \"greet\"\n",
		"pages/index.yml":       "slug: index\nname: Home\nautomation: greet\nblocks:\n  - slug: TabsView\n    tabs:\n      - blocks:\n          - slug: RichText\n            automation: {slug: greet}\n",
		"README.md":             "not content",
	}
}

func TestLanguageServerShowsWhatIsWrongWithTextThatIsNotSaved(t *testing.T) {
	e := editWorkspace(t, shopFiles())
	at := e.open(t, "automations/visit.yml", "slug: visit\nname: Visit\ndesciption: x\ndo:\n  - greeet:\n      who: Ada\n  - set:\n      value: \"😀é\"\n")
	found := e.awaitProblems(t, "automations/visit.yml", `did you mean "description"`, "set.name: is required", `did you mean "greet"`)
	require.Equal(t, protocol.Range{Start: protocol.Position{Line: 2}, End: protocol.Position{Line: 2, Character: 10}}, found[0].Range)
	require.Equal(t, protocol.DiagnosticSeverityError, found[0].Severity)
	require.Equal(t, protocol.Range{Start: protocol.Position{Line: 4, Character: 4}, End: protocol.Position{Line: 4, Character: 10}}, found[2].Range)
	require.Equal(t, protocol.DiagnosticSeverityWarning, found[2].Severity)

	// Malformed while somebody types, then well again: by changes of parts, behind characters of two units.
	change := func(version int32, line, from, to uint32, text string) {
		require.NoError(t, e.DidChange(t.Context(), &protocol.DidChangeTextDocumentParams{
			TextDocument: protocol.VersionedTextDocumentIdentifier{TextDocumentIdentifier: at.TextDocument, Version: version},
			ContentChanges: []protocol.TextDocumentContentChangeEvent{{
				Range: protocol.Range{Start: protocol.Position{Line: line, Character: from}, End: protocol.Position{Line: line, Character: to}}, Text: text,
			}},
		}))
	}
	change(2, 7, 18, 18, "\n      name: [1")
	e.awaitProblems(t, "automations/visit.yml", "not closed")
	change(3, 8, 12, 14, "n")
	change(4, 7, 14, 17, "x")
	change(5, 4, 4, 10, "greet")
	change(6, 2, 0, 10, "description")
	e.awaitProblems(t, "automations/visit.yml")

	// What others change on disk: a file is gone that is called.
	require.NoError(t, os.Remove(filepath.Join(e.dir, "automations/greet.yml")))
	require.Eventually(t, func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.registered }, time.Minute, time.Millisecond)
	require.NoError(t, e.DidChangeWatchedFiles(t.Context(), &protocol.DidChangeWatchedFilesParams{Changes: []*protocol.FileEvent{{URI: e.uri("automations/greet.yml"), Type: protocol.FileChangeTypeDeleted}}}))
	e.awaitProblems(t, "automations/visit.yml", `no automation "greet"`)
	e.awaitProblems(t, "pages/index.yml", `no automation "greet"`, `no automation "greet"`)

	// Closed without being saved: the file counts again.
	require.NoError(t, e.DidClose(t.Context(), &protocol.DidCloseTextDocumentParams{TextDocument: at.TextDocument}))
	e.awaitProblems(t, "automations/visit.yml", `no automation "greet"`, `no automation "greet"`, `emits "greeted"`)
	e.end(t)
}

func TestLanguageServerCompletes(t *testing.T) {
	e := editWorkspace(t, shopFiles())
	e.open(t, "automations/new.yml", "")
	version := int32(1)
	for _, c := range []struct {
		text string
		has  []string
		not  []string
	}{
		{"slug: new\n|", []string{"name", "when", "do", "output"}, []string{"slug", "emit", "id"}},
		{"do:\n  - |", []string{"emit", "fetch", "greet", "visit"}, []string{"slug"}},
		{"do:\n- em|", []string{"emit", "greet"}, []string{"slug"}},
		{"do:\n  - emit:\n      event: x\n      |", []string{"payload", "output"}, []string{"event", "emit"}},
		{"do:\n  - emit:\n      event: |", []string{"greeted", "order.paid"}, []string{"workspaces.imported"}},
		{"when:\n  events:\n    - |", []string{"greeted", "order.paid", "workspaces.imported"}, []string{"emit"}},
		{"do:\n  - runWorkflow:\n      workflow: gr|", []string{"greet", "visit"}, []string{"emit"}},
		{"do:\n  - set:\n      type: |", []string{"replace", "merge", "push"}, nil},
		{"do:\n  - emit: {event: x, |}", []string{"payload"}, []string{"event"}},
		{"do:\n  - fetch:\n      url: 'https://{{secret.|'", []string{"mailKey"}, []string{"emit"}},
		{"arguments:\n  who:\n    type: string\ndo:\n  - set:\n      name: n\n      value: '{{|}}'", []string{"who", "payload", "run"}, []string{"emit"}},
		{"do:\n  - conditions:\n      default:\n        - |", []string{"emit", "greet"}, nil},
		{"do:\n  - run:\n      module: |", []string{"collections", "code"}, nil},
		{"validateArguments: |", []string{"true", "false"}, nil},
		{"do:\n  - repeat:\n      on: [\n      |", nil, nil},
	} {
		version++
		labels := e.labels(t, e.replace(t, "automations/new.yml", c.text, version))
		require.Subset(t, labels, c.has, c.text)
		for _, label := range c.not {
			require.NotContains(t, labels, label, c.text)
		}
	}
	at := e.open(t, "pages/more.yml", "name: More\nautomation: |")
	require.Equal(t, []string{"greet", "new", "visit"}, e.labels(t, at))
	at = e.replace(t, "pages/more.yml", "name: More\nblocks:\n  - slug: |", 2)
	require.Contains(t, e.labels(t, at), "RichText")
	at = e.replace(t, "pages/more.yml", "name: More\nupdateOn: |", 3)
	require.Equal(t, []string{"greeted", "order.paid"}, e.labels(t, at))
	at = e.open(t, "tests/new.yml", "automation: |")
	require.Equal(t, []string{"greet", "new", "visit"}, e.labels(t, at))
	at = e.open(t, "imports/data.yml", "appSlug: |")
	require.Equal(t, []string{"Collection", "Custom Code"}, e.labels(t, at))
	at = e.open(t, "knowledge/faq.yml", "name: Faq\nsearch:\n  mode: |")
	require.Equal(t, []string{"auto", "text", "vector", "hybrid"}, e.labels(t, at))
	e.end(t)
}

func TestLanguageServerExplainsAndFinds(t *testing.T) {
	e := editWorkspace(t, shopFiles())
	hover := func(at protocol.TextDocumentPositionParams) string {
		t.Helper()
		got, err := e.Hover(t.Context(), &protocol.HoverParams{TextDocumentPositionParams: at})
		require.NoError(t, err)
		require.NotNil(t, got)
		return got.Contents.Value
	}
	at := e.open(t, "automations/visit.yml", shopFiles()["automations/visit.yml"])
	place := func(line, character uint32) protocol.TextDocumentPositionParams {
		at.Position = protocol.Position{Line: line, Character: character}
		return at
	}
	require.Contains(t, hover(place(8, 7)), "Calls the automation of a slug.")
	require.Contains(t, hover(place(6, 6)), "Says hello")
	require.Contains(t, hover(place(4, 8)), "Emitted by automations/greet.yml")
	require.Contains(t, hover(place(2, 1)), "**when**")

	found, err := e.Definition(t.Context(), &protocol.DefinitionParams{TextDocumentPositionParams: place(6, 5)})
	require.NoError(t, err)
	require.Equal(t, []protocol.Location{{URI: e.uri("automations/greet.yml"), Range: protocol.Range{Start: protocol.Position{Character: 6}, End: protocol.Position{Character: 11}}}}, found)
	found, err = e.Definition(t.Context(), &protocol.DefinitionParams{TextDocumentPositionParams: place(4, 8)})
	require.NoError(t, err)
	require.Equal(t, e.uri("automations/greet.yml"), found[0].URI)
	require.Equal(t, protocol.Position{Line: 8, Character: 13}, found[0].Range.Start)
	found, err = e.References(t.Context(), &protocol.ReferenceParams{TextDocumentPositionParams: place(9, 18), Context: protocol.ReferenceContext{IncludeDeclaration: true}})
	require.NoError(t, err)
	var places []string
	for _, l := range found {
		places = append(places, strings.TrimPrefix(string(l.URI), string(e.uri(""))+"/"))
	}
	require.Equal(t, []string{"automations/greet.yml", "automations/visit.yml", "automations/visit.yml", "pages/index.yml", "pages/index.yml"}, places)
	found, err = e.References(t.Context(), &protocol.ReferenceParams{TextDocumentPositionParams: place(4, 8)})
	require.NoError(t, err)
	require.Len(t, found, 2)
	e.end(t)
}

func TestLanguageServerRenamesAnAutomation(t *testing.T) {
	e := editWorkspace(t, shopFiles())
	at := e.open(t, "automations/visit.yml", strings.Replace(shopFiles()["automations/visit.yml"], "greet:", "gr|eet:", 1))
	var prepared struct {
		Range       protocol.Range
		Placeholder string
	}
	_, err := e.conn.Call(t.Context(), protocol.MethodTextDocumentPrepareRename, at, &prepared)
	require.NoError(t, err)
	require.Equal(t, protocol.Range{Start: protocol.Position{Line: 6, Character: 4}, End: protocol.Position{Line: 6, Character: 9}}, prepared.Range)
	require.Equal(t, "greet", prepared.Placeholder)
	rename := func(name string) (edit struct {
		DocumentChanges []struct {
			protocol.TextDocumentEdit
			Kind           string
			OldURI, NewURI uri.URI
		}
	}, err error,
	) {
		var raw json.RawMessage // the library knows no changes of files
		_, err = e.conn.Call(t.Context(), protocol.MethodTextDocumentRename, &protocol.RenameParams{TextDocumentPositionParams: at, NewName: name}, &raw)
		if err == nil {
			require.NoError(t, json.Unmarshal(raw, &edit))
		}
		return edit, err
	}
	for name, why := range map[string]string{"visit": "already", "emit": "is an instruction", "a//b": "slug", "é": "slug"} {
		_, err := rename(name)
		require.ErrorContains(t, err, why)
	}
	edit, err := rename("welcome/guests 2")
	require.NoError(t, err)
	texts := shopFiles()
	for _, change := range edit.DocumentChanges {
		if change.Kind == "rename" {
			require.Equal(t, e.uri("automations/greet.yml"), change.OldURI)
			require.Equal(t, e.uri("automations/welcome/guests 2.yml"), change.NewURI)
			continue
		}
		name := strings.TrimPrefix(string(change.TextDocument.URI), string(e.uri(""))+"/")
		if name == "automations/visit.yml" {
			require.EqualValues(t, 1, *change.TextDocument.Version)
		}
		for _, one := range change.Edits {
			rows := strings.Split(texts[name], "\n")
			row := rows[one.Range.Start.Line]
			rows[one.Range.Start.Line] = row[:one.Range.Start.Character] + one.NewText + row[one.Range.End.Character:]
			texts[name] = strings.Join(rows, "\n")
		}
	}
	require.Len(t, edit.DocumentChanges, 4)
	for name, text := range texts {
		want := strings.NewReplacer("greet:", "welcome/guests 2:", `"greet"`, `"welcome/guests 2"`, ": greet\n", ": welcome/guests 2\n", "slug: greet}", "slug: welcome/guests 2}").Replace(shopFiles()[name])
		require.Equal(t, want, text, name)
	}
	// A file that cannot be read may call it, too.
	e.open(t, "automations/broken.yml", "do: [\n")
	_, err = rename("hello")
	require.ErrorContains(t, err, "automations/broken.yml cannot be read")
	e.end(t)
}

func TestLanguageServerKeepsTheRulesOfTheProtocol(t *testing.T) {
	e := editWorkspace(t, shopFiles())
	_, err := e.conn.Call(t.Context(), "textDocument/unknown", nil, nil)
	require.ErrorContains(t, err, "no method")
	_, err = e.conn.Call(t.Context(), "textDocument/hover", []int{1}, nil)
	require.Error(t, err)
	got, err := e.Hover(t.Context(), &protocol.HoverParams{TextDocumentPositionParams: protocol.TextDocumentPositionParams{TextDocument: protocol.TextDocumentIdentifier{URI: "file:///nowhere/x.txt"}}})
	require.NoError(t, err)
	require.Nil(t, got)
	require.NoError(t, e.Shutdown(t.Context()))
	_, err = e.Hover(t.Context(), &protocol.HoverParams{})
	require.ErrorContains(t, err, "not possible any more")
	require.NoError(t, e.Exit(t.Context()))
	require.NoError(t, e.process.cmd.Wait())

	e = editWorkspace(t, nil)
	require.NoError(t, e.Exit(t.Context()))
	require.Error(t, e.process.cmd.Wait(), "exit without shutdown")
}
