package runs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/commands"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/activity"
	"svc/domain/automation/machine"
	"svc/domain/value"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// Runtime runs automations. It is a *runtime.Runtime.
type Runtime interface {
	Launch(s runtime.Start) *runtime.Handle
}

// CallEndpoint handles any method of …/webhooks/{endpoint}: it runs the automation
// that answers there.
func (h *Handlers) CallEndpoint(r *http.Request) (any, error) {
	path := escapedAfter(r, "/webhooks/")
	programSet, err := h.Programs.ProgramSet(r.Context(), handler.WorkspaceID(r))
	if err != nil {
		return nil, err
	}
	if programSet == nil { // no such workspace, which is nobody's business
		return nil, unknownEndpoint(r, path)
	}
	program, params := programSet.MatchEndpoint(path)
	if program == nil {
		return nil, unknownEndpoint(r, path)
	}
	in, err := endpointInput(r, programSet, program, params)
	if err != nil {
		return nil, err
	}
	s := h.start(r, programSet, program, activity.ByEndpoint, path)
	s.Input = in
	s.Facts = append(s.Facts, activity.EndpointCalled{AutomationSlug: program.Name, Method: r.Method, Endpoint: path})
	return h.respond(r, s, false)
}

// unknownEndpoint refuses a path that no automation answers.
func unknownEndpoint(r *http.Request, path string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such endpoint").With("workspaceId", gateway.Var(r, "workspaceId")).With("endpoint", path)
}

// programSet returns what can run in the workspace of a request.
func (h *Handlers) programSet(r *http.Request) (*programs.ProgramSet, error) {
	programSet, err := h.Programs.ProgramSet(r.Context(), handler.WorkspaceID(r))
	if err == nil && programSet == nil {
		err = handler.NoWorkspace(handler.WorkspaceID(r))
	}
	return programSet, err
}

// escapedAfter returns what follows a part of the path, as it was sent.
func escapedAfter(r *http.Request, part string) string {
	_, rest, _ := strings.Cut(r.URL.EscapedPath(), part)
	return rest
}

// endpointInput is what an automation is given that a request started.
func endpointInput(r *http.Request, programSet *programs.ProgramSet, p *programs.Program, params map[string]string) (*value.Object, error) {
	query, err := parsedForm(r.URL.RawQuery)
	if err != nil {
		return nil, handler.RefuseParameter("query", "is not well-formed")
	}
	body, raw, err := triggerBody(r)
	if err != nil {
		return nil, err
	}
	return value.NewObject(
		"method", r.Method, "headers", triggerHeaders(r.Header), "query", query, "pathParams", value.From(asValues(params)), "body", body, "rawBody", raw,
		"workspaceId", programSet.Workspace.ID, "automationSlug", p.Slug, "$http", machine.HTTP{},
	), nil
}

func asValues(texts map[string]string) map[string]any {
	all := make(map[string]any, len(texts))
	for key, text := range texts {
		all[key] = text
	}
	return all
}

// TestAutomation handles POST …/test/{slug}: it runs an automation with a payload.
func (h *Handlers) TestAutomation(r *http.Request) (any, error) {
	programSet, err := h.programSet(r)
	if err != nil {
		return nil, err
	}
	query := gateway.NewQuery(r)
	record, async := query.Flag("record"), query.Flag("async")
	if err := query.Err(); err != nil {
		return nil, err
	}
	slug := gateway.Var(r, "slug")
	program := programSet.Program(slug)
	if program == nil {
		return nil, unknownAutomation(programSet, gateway.GrantFrom(r.Context()).Rights, slug)
	}
	s := h.start(r, programSet, program, activity.ByTest, slug)
	s.Record = record
	if err := s.Caller.Rights.Check("test", "automations", runtime.Subject(program)); err != nil {
		return nil, err
	}
	if s.Input, err = testInput(r); err != nil {
		return nil, err
	}
	s.Input.Set("$http", machine.HTTP{})
	s.HTTP.Send = func(context.Context, []byte) {} // its record has the chunks
	if async {
		return h.launch(r, s)
	}
	return h.respond(r, s, true)
}

// CallTool runs an automation that an MCP client calls, and returns its output. The run goes on when the client leaves.
func (h *Handlers) CallTool(r *http.Request, p *programs.Program, input *value.Object) (any, error) {
	s := h.start(r, p.Scope.ProgramSet, p, activity.ByMCP, p.Slug)
	s.Input, s.HTTP = input, nil // there is no answer that it could send piece by piece
	t := chunkedResponse{start: s, run: h.Runtime.Launch(s)}
	select {
	case <-t.run.Done():
		return t.outcome()
	case <-r.Context().Done():
		return nil, stillRunningError(context.Cause(r.Context()))
	}
}

// unknownAutomation refuses a slug that no automation has. It names the nearest one that
// the caller may read.
func unknownAutomation(programSet *programs.ProgramSet, rights *access.Rights, slug string) error {
	e := domain.Refuse(domain.CodeNotFound, "Automation %q not found", slug).With("resource", "automation").With("id", slug)
	if near := programSet.NearestProgram(slug); near != nil && rights.Allows("read", "automations", runtime.Subject(near)) {
		e.Message += fmt.Sprintf("; did you mean %q?", near.Slug)
	}
	return e
}

// launch launches a tree and answers as soon as what triggered it is on disk.
func (h *Handlers) launch(r *http.Request, s runtime.Start) (any, error) {
	s.Announce = true
	run := h.Runtime.Launch(s)
	select {
	case <-run.Started():
	case <-run.Done():
		if out, err := run.Outcome(); err != nil {
			return nil, interruptedError(run, err)
		} else if out.ExecutionID == "" { // it was refused before it began
			return nil, refuseRun(out, &s.Caller, tester)
		}
	case <-r.Context().Done():
		return nil, stillRunningError(context.Cause(r.Context()))
	}
	return gateway.Accepted(map[string]string{"correlationId": s.CorrelationID}), nil
}

// maxTestFile bounds the one file that a test may be given.
const maxTestFile = 500 << 10

// testInput is what a test gives to an automation.
func testInput(r *http.Request) (*value.Object, error) {
	if strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "multipart/") {
		return triggerParts(r, partLimits{size: maxTestFile, files: 1})
	}
	var in struct {
		Payload json.RawMessage `json:"payload"`
	}
	if err := gateway.Decode(r, &in); err != nil || len(in.Payload) == 0 {
		return &value.Object{}, err
	}
	payload, err := value.ParseJSON(string(in.Payload)) // its keys keep their order
	if err != nil {
		return nil, domain.Refuse(domain.CodeInvalidRequest, "the body is not valid JSON")
	}
	switch payload := payload.(type) {
	case nil:
		return &value.Object{}, nil
	case *value.Object:
		return payload, nil
	}
	return nil, domain.Refuse(domain.CodeInvalidRequest, "payload: must be an object").
		With("errors", []domain.FieldError{{Field: "payload", Message: "must be an object"}})
}

// start is a tree that the caller of a request starts.
func (h *Handlers) start(r *http.Request, programSet *programs.ProgramSet, p *programs.Program, kind, named string) runtime.Start {
	c, meta, caller := gateway.CallerFrom(r.Context()), commands.RequestFrom(r.Context()).Meta, handler.RunCaller(r)
	s := runtime.Start{
		ProgramSet: programSet, Program: p, Caller: caller, CorrelationID: meta.CorrelationID, Depth: c.Depth + 1, Attempt: 1, Meta: meta,
		Trigger: activity.Trigger{Type: kind, Value: named, AppInstanceSlug: p.Scope.Instance},
		HTTP:    &runtime.HTTP{},
	}
	if source := cmp.Or(c.SourceWorkspaceID, c.WorkspaceID); source != programSet.Workspace.ID {
		s.SourceWorkspaceID = source
	}
	s.Facts = []domain.Event{activity.Interaction{
		WorkspaceID: programSet.Workspace.ID, SourceWorkspaceID: s.SourceWorkspaceID, AuthenticatedWorkspaceID: caller.WorkspaceID,
		Automation: p.Name, Trigger: s.Trigger, StartedAt: handler.FormatTime(h.Now()),
	}}
	return s
}

// hiddenHeaders are headers that automations do not get: those of the way to here. Others
// that begin with x- stay, signatures are checked with them.
var hiddenHeaders = map[string]bool{"cookie": true, "host": true, "x-real-ip": true, "x-correlation-id": true}

// triggerHeaders returns the headers of a request as automations get them.
func triggerHeaders(h http.Header) *value.Object {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	o := value.NewObjectSize(len(names))
	for _, name := range names {
		lower := strings.ToLower(name)
		hidden := hiddenHeaders[lower] || strings.HasPrefix(lower, "x-forwarded-") ||
			strings.HasPrefix(lower, "x-svc-") && lower != "x-svc-workspace-id"
		if !hidden {
			o.Set(lower, strings.Join(h[name], ", "))
		}
	}
	return o
}

// formValues returns the values of a query or a form: a repeated key is a list.
func formValues(values url.Values, order []string) *value.Object {
	o := &value.Object{}
	for _, key := range order {
		list := values[key]
		if len(list) == 1 {
			o.Set(key, list[0])
			continue
		}
		all := make([]any, len(list))
		for i, item := range list {
			all[i] = item
		}
		o.Set(key, all)
	}
	return o
}

// parsedForm reads a query or a form, its keys in the order in which they came.
func parsedForm(raw string) (*value.Object, error) {
	if raw == "" {
		return &value.Object{}, nil
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, err
	}
	order, met := []string(nil), map[string]bool{}
	for part := range strings.SplitSeq(raw, "&") {
		key, _, _ := strings.Cut(part, "=")
		if key, err = url.QueryUnescape(key); err == nil && values[key] != nil && !met[key] {
			met[key] = true
			order = append(order, key)
		}
	}
	return formValues(values, order), nil
}

// triggerBody reads the body of a request as automations get it, and its text as it
// was received; raw is Undefined for multipart.
func triggerBody(r *http.Request) (body, raw any, err error) {
	kind := r.Header.Get("Content-Type")
	if kind != "application/json" { // which is how most say it
		kind, _, _ = mime.ParseMediaType(kind)
	}
	if strings.HasPrefix(kind, "multipart/") {
		body, err = triggerParts(r, partLimits{})
		return body, value.Undefined, err
	}
	content, err := gateway.ReadBody(r)
	if err != nil {
		return nil, nil, err
	}
	text := string(content)
	if !utf8.Valid(content) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	switch {
	case len(content) == 0:
		return &value.Object{}, "", nil
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		body, err := parseJSONBody(content, text)
		return body, text, err
	case kind == "application/x-www-form-urlencoded":
		form, err := parsedForm(string(content))
		if err != nil {
			return nil, nil, domain.Refuse(domain.CodeInvalidRequest, "the body is not a valid form")
		}
		return form, text, nil
	case strings.HasPrefix(kind, "text/"):
		return text, text, nil
	}
	return value.Bytes(content), text, nil
}

// parseJSONBody reads a body of JSON, and refuses what gateway.CheckAnyJSON does.
func parseJSONBody(content []byte, text string) (any, error) {
	if body, ok := parsePlainJSON(content, text); ok {
		return body, nil
	}
	if err := gateway.CheckAnyJSON(content); err != nil {
		return nil, err
	}
	body, err := value.ParseJSON(text) // which is the content: JSON is UTF-8
	if err != nil {
		return nil, domain.Refuse(domain.CodeInvalidRequest, "the body is not valid JSON")
	}
	return body, nil
}

// plainJSON are the rules of bodies that are as most are: they are stricter than the others, so that what fits them needs
// no other check. What does not is not wrong yet.
var plainJSON = value.ReadOptions{Strict: true, MaxDepth: 16, MaxNodes: 1000}

// parsePlainJSON reads a body that fits plainJSON and escapes nothing.
func parsePlainJSON(content []byte, text string) (body any, ok bool) {
	if bytes.IndexByte(content, '\\') >= 0 || !utf8.Valid(content) {
		return nil, false
	}
	body, end, err := value.ReadJSON(text, plainJSON)
	return body, err == nil && strings.Trim(text[end:], " \t\r\n") == ""
}

// partLimits bound the files of a multipart body.
type partLimits struct {
	size  int64 // of each; 0: as settings say
	files int   // 0: as many as there may be parts
}

// triggerParts reads a multipart body: fields, and files under their field. A field
// that is repeated is a list.
func triggerParts(r *http.Request, most partLimits) (*value.Object, error) {
	o, files := &value.Object{}, 0
	err := gateway.Parts(r, most.size, func(p gateway.Part) error {
		var v any = strings.ToValidUTF8(p.Text, "\uFFFD")
		name := p.Name
		if p.File != nil {
			if files++; most.files > 0 && files > most.files {
				return domain.Refuse(domain.CodeInvalidRequest, "there are more files than one").With("field", name)
			}
			file, err := triggerFile(p)
			if err != nil {
				return err
			}
			v = file
			if name == "" {
				name = "file"
			}
		}
		switch before, ok := o.Get(name); {
		case !ok:
			o.Set(name, v)
		default:
			list, several := before.([]any)
			if !several {
				list = []any{before}
			}
			o.Set(name, append(slices.Clip(list), v))
		}
		return nil
	})
	return o, err
}

// triggerFile is a file as automations get it.
func triggerFile(p gateway.Part) (*value.Object, error) {
	content, err := io.ReadAll(p.File)
	if err != nil {
		return nil, err
	}
	kind := p.Type
	if kind == "" {
		kind = "application/octet-stream"
	}
	return value.NewObject(
		"originalname", p.Filename, "encoding", "7bit", "mimetype", kind, "size", float64(len(content)),
		"base64", base64.StdEncoding.EncodeToString(content),
	), nil
}
