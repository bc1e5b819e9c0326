// Package lsp is a language server for the files of workspaces: the Language Server Protocol 3.17 over two streams.
//
// What is wrong with a file, and what it refers to, is found with the rules of the service (commands/content); what
// can be typed, with the JSON Schemas that the service serves (domain/shape). No service is called.
package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
)

// Options configure a server. All fields are required.
type Options struct {
	In      io.Reader // messages of the client
	Out     io.Writer // messages to the client
	Log     io.Writer
	Version string
}

// Serve answers a client until it says exit, or ctx ends. It fails when the client ends without having asked for a
// shutdown.
func Serve(ctx context.Context, o Options) error {
	s := &server{
		Options: o, out: &messageWriter{out: o.Out}, queue: newQueue(),
		open: map[string]*openDocument{}, workspaces: map[string]*workspace{}, published: map[string]string{},
	}
	go s.queue.fill(o.In) // it ends with the input, which only its other end can close
	return s.loop(ctx)
}

// server is one connection.
type server struct {
	Options
	out   *messageWriter
	queue *queue

	started, shutdown bool // the client said initialize, shutdown
	canRenameFiles    bool
	canWatchFiles     bool

	open       map[string]*openDocument // by path of the file
	workspaces map[string]*workspace    // by directory
	published  map[string]string        // the diagnostics that the client has, by URI, as JSON
	changed    bool                     // since diagnostics were published
}

// queue is what the client sent and what has not been answered yet.
type queue struct {
	mu        sync.Mutex
	waiting   []message
	cancelled map[string]bool // ids
	current   string          // id of the request that is being answered
	cancel    context.CancelFunc
	err       error // why no more comes
	arrived   chan struct{}
}

func newQueue() *queue {
	return &queue{cancelled: map[string]bool{}, arrived: make(chan struct{}, 1)}
}

// fill reads messages until there are no more.
func (q *queue) fill(in io.Reader) {
	r := bufio.NewReader(in)
	for {
		m, err := readMessage(r)
		q.mu.Lock()
		switch {
		case errors.Is(err, errMalformed):
			q.waiting = append(q.waiting, message{Method: methodMalformed})
		case err != nil:
			q.err = err
		case m.Method == "$/cancelRequest":
			q.cancelRequest(m.Params)
		default:
			q.waiting = append(q.waiting, m)
		}
		ended := q.err != nil || m.Method == "exit"
		q.mu.Unlock()
		select {
		case q.arrived <- struct{}{}:
		default:
		}
		if ended {
			return
		}
	}
}

// methodMalformed stands for a message that could not be read.
const methodMalformed = "$/malformed"

// cancelRequest cancels a request that is answered or waits. One that was answered already is none of them.
func (q *queue) cancelRequest(params json.RawMessage) {
	var asked struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(params, &asked) != nil {
		return
	}
	id := string(asked.ID)
	if q.current == id && q.cancel != nil {
		q.cancel()
	} else if slices.ContainsFunc(q.waiting, func(m message) bool { return string(m.ID) == id }) {
		q.cancelled[id] = true
	}
}

// next returns the next message; ok is false when none waits.
func (q *queue) next() (m message, ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return m, false, q.err
	}
	m, q.waiting = q.waiting[0], q.waiting[1:]
	return m, true, nil
}

// begin notes which request is answered. It returns false for one that was cancelled.
func (q *queue) begin(id string, cancel context.CancelFunc) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.current, q.cancel = id, cancel
	wanted := !q.cancelled[id]
	delete(q.cancelled, id)
	return wanted
}

func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.current, q.cancel = "", nil
}

// errExit says that the client said exit.
var errExit = errors.New("exit")

func (s *server) loop(ctx context.Context) error {
	for {
		m, ok, err := s.queue.next()
		switch {
		case ok:
			err = s.handle(ctx, m)
		case err != nil:
			if s.shutdown && errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("the client is gone: %w", err)
		default:
			if err = s.publishChanged(); err == nil {
				select {
				case <-ctx.Done():
					return nil
				case <-s.queue.arrived:
				}
			}
		}
		switch {
		case errors.Is(err, errExit) && s.shutdown:
			return nil
		case errors.Is(err, errExit):
			return errors.New("the client said exit without shutdown")
		case err != nil:
			return err
		}
	}
}

// method answers a request, or takes a notification, whose result is left.
type method func(s *server, ctx context.Context, params json.RawMessage) (any, error)

// methods are what clients may send.
var methods = map[string]method{
	"initialize": decoded((*server).initialize),
	"initialized": func(s *server, _ context.Context, _ json.RawMessage) (any, error) {
		return nil, s.watchFiles()
	},
	"shutdown": func(s *server, _ context.Context, _ json.RawMessage) (any, error) {
		s.shutdown = true
		return nil, nil
	},
	"textDocument/didOpen":            decoded((*server).didOpen),
	"textDocument/didChange":          decoded((*server).didChange),
	"textDocument/didSave":            decoded((*server).didSave),
	"textDocument/didClose":           decoded((*server).didClose),
	"workspace/didChangeWatchedFiles": decoded((*server).didChangeFiles),
	"workspace/didRenameFiles":        decoded((*server).didChangeFiles),
	"workspace/willRenameFiles":       decoded((*server).willRenameFiles),
	"textDocument/completion":         decoded((*server).completion),
	"textDocument/hover":              decoded((*server).hover),
	"textDocument/definition":         decoded((*server).definition),
	"textDocument/references":         decoded((*server).references),
	"textDocument/prepareRename":      decoded((*server).prepareRename),
	"textDocument/rename":             decoded((*server).rename),
}

// decoded is a method with typed parameters.
func decoded[P any](do func(*server, context.Context, P) (any, error)) method {
	return func(s *server, ctx context.Context, params json.RawMessage) (any, error) {
		var p P
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, &rpcError{codeInvalidParams, err.Error()}
		}
		return do(s, ctx, p)
	}
}

// handle takes one message. An error ends the connection.
func (s *server) handle(ctx context.Context, m message) error {
	if m.Method == methodMalformed {
		return s.out.respond(nil, nil, &rpcError{codeParse, errMalformed.Error()})
	}
	if m.Method == "exit" {
		return errExit
	}
	if m.Method == "" {
		return nil // an answer of the client
	}
	if m.ID == nil {
		if _, err := s.call(ctx, m); err != nil && m.Method[0] != '$' {
			fmt.Fprintf(s.Log, "svc lsp: %s: %v\n", m.Method, err)
		}
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.queue.end()
	var result any
	err := error(&rpcError{codeRequestCancelled, "the request was cancelled"})
	if s.queue.begin(string(m.ID), cancel) {
		result, err = s.call(ctx, m)
		if errors.Is(err, context.Canceled) {
			err = &rpcError{codeRequestCancelled, "the request was cancelled"}
		}
	}
	return s.out.respond(m.ID, result, err)
}

// call calls the method of a message. What panics is an error of that message only.
func (s *server) call(ctx context.Context, m message) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(s.Log, "svc lsp: %s: %v\n%s", m.Method, p, debug.Stack())
			result, err = nil, &rpcError{codeInternal, fmt.Sprint(p)}
		}
	}()
	do, ok := methods[m.Method]
	switch {
	case !ok:
		return nil, &rpcError{codeMethodNotFound, "there is no method " + m.Method}
	case !s.started && m.Method != "initialize":
		return nil, &rpcError{codeNotInitialized, "initialize comes first"}
	case s.shutdown || s.started && m.Method == "initialize":
		return nil, &rpcError{codeInvalidRequest, m.Method + " is not possible any more"}
	}
	return do(s, ctx, m.Params)
}

// fileFilter is which files of a workspace others are told of.
var fileFilter = map[string]any{"pattern": map[string]any{"glob": "**/*.{yml,yaml,json}"}}

func (s *server) initialize(_ context.Context, p initializeParams) (any, error) {
	s.started = true
	edits := p.Capabilities.Workspace.WorkspaceEdit
	s.canRenameFiles = edits.DocumentChanges && slices.Contains(edits.ResourceOperations, "rename")
	s.canWatchFiles = p.Capabilities.Workspace.DidChangeWatchedFiles.DynamicRegistration
	for _, folder := range append(p.WorkspaceFolders, documentID{p.RootURI}) {
		if dir, ok := pathOf(folder.URI); ok && hasIndex(dir) {
			s.workspace(dir)
		}
	}
	return map[string]any{
		"serverInfo": map[string]any{"name": "svc lsp", "version": s.Version},
		"capabilities": map[string]any{
			"positionEncoding": "utf-16",
			"textDocumentSync": map[string]any{"openClose": true, "change": 2, "save": true},
			"completionProvider": map[string]any{
				"triggerCharacters": []string{":", " ", "-", ".", "{", "\"", "'"},
			},
			"hoverProvider":      true,
			"definitionProvider": true,
			"referencesProvider": true,
			"renameProvider":     map[string]any{"prepareProvider": true},
			"workspace": map[string]any{"fileOperations": map[string]any{
				"willRename": map[string]any{"filters": []any{fileFilter}},
				"didRename":  map[string]any{"filters": []any{fileFilter}},
			}},
		},
	}, nil
}

// watchFiles asks the client to tell of files that others change.
func (s *server) watchFiles() error {
	if !s.canWatchFiles {
		return nil
	}
	return s.out.request("watch", "client/registerCapability", map[string]any{"registrations": []any{map[string]any{
		"id": "files", "method": "workspace/didChangeWatchedFiles",
		"registerOptions": map[string]any{"watchers": []any{map[string]any{"globPattern": "**/*.{yml,yaml,json}"}}},
	}}})
}

// publishChanged sends the diagnostics that are not what the client has.
func (s *server) publishChanged() error {
	if !s.changed {
		return nil
	}
	s.changed = false
	now := map[string]publishParams{}
	for _, w := range s.workspaces {
		for path, found := range w.diagnostics() {
			p := publishParams{URI: s.uri(w.file(path)), Diagnostics: found}
			if doc := s.open[w.file(path)]; doc != nil {
				p.Version = &doc.version
			}
			now[p.URI] = p
		}
	}
	for uri := range s.published {
		if _, ok := now[uri]; !ok {
			now[uri] = publishParams{URI: uri, Diagnostics: []diagnostic{}}
		}
	}
	for uri, p := range now {
		b, err := json.Marshal(p.Diagnostics)
		if err != nil {
			return err
		}
		if s.published[uri] == string(b) {
			continue
		}
		if s.published[uri] = string(b); len(p.Diagnostics) == 0 {
			delete(s.published, uri)
		}
		if err := s.out.notify("textDocument/publishDiagnostics", p); err != nil {
			return err
		}
	}
	return nil
}
