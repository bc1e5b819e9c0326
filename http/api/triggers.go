package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"svc/commands"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/activity"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/http/gateway"
)

// Runtime runs automations. It is a *runtime.Runtime.
type Runtime interface {
	Launch(s runtime.Start) *runtime.Handle
}

// Programs finds what can run. It is a *programs.Library.
type Programs interface {
	ProgramSet(ctx context.Context, workspaceID string) (*programs.ProgramSet, error)
}

// mayExecute is asked again about the automation itself, when that is known.
var (
	mayExecute = gateway.Action{Action: "execute", Subject: "automations", Anyone: true}
	mayTest    = gateway.Action{Action: "test", Subject: "automations"}
)

// callEndpoint handles any method of …/webhooks/{endpoint}: it runs the automation
// that answers there.
func callEndpoint(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		path := escapedAfter(r, "/webhooks/")
		unknown := domain.Refuse(domain.CodeNotFound, "there is no such endpoint").With("workspaceId", gateway.Var(r, "workspaceId")).With("endpoint", path)
		programSet, err := d.Programs.ProgramSet(r.Context(), workspaceID(r))
		if err != nil {
			return nil, err
		}
		if programSet == nil { // no such workspace, which is nobody's business
			return nil, unknown
		}
		program, params := programSet.MatchEndpoint(path)
		if program == nil {
			return nil, unknown
		}
		in, err := endpointInput(r, programSet, program, params)
		if err != nil {
			return nil, err
		}
		s := d.start(r, programSet, program, activity.ByEndpoint, path)
		s.Input = in
		s.Facts = append(s.Facts, activity.EndpointCalled{AutomationSlug: program.Name, Method: r.Method, Endpoint: path})
		return d.answer(r, s, false)
	}
}

// program set returns what can run in the workspace of a request.
func (d Deps) programSet(r *http.Request) (*programs.ProgramSet, error) {
	programSet, err := d.Programs.ProgramSet(r.Context(), workspaceID(r))
	if err == nil && programSet == nil {
		err = noWorkspace(workspaceID(r))
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
		return nil, badParameter("query", "is not well-formed")
	}
	body, raw, err := triggerBody(r)
	if err != nil {
		return nil, err
	}
	in := value.NewObject("method", r.Method, "headers", triggerHeaders(r.Header), "query", query)
	in.Set("pathParams", value.From(asValues(params)))
	in.Set("body", body)
	in.Set("rawBody", raw)
	in.Set("workspaceId", programSet.Workspace.ID)
	in.Set("automationSlug", p.Slug)
	in.Set("$http", machine.HTTP{})
	return in, nil
}

func asValues(texts map[string]string) map[string]any {
	all := make(map[string]any, len(texts))
	for key, text := range texts {
		all[key] = text
	}
	return all
}

// testAutomation handles POST …/test/{slug}: it runs an automation with a payload.
func testAutomation(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		programSet, err := d.programSet(r)
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
		s := d.start(r, programSet, program, activity.ByTest, slug)
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
			return d.begun(r, s)
		}
		return d.answer(r, s, true)
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

// begun launches a tree and answers as soon as what triggered it is on disk.
func (d Deps) begun(r *http.Request, s runtime.Start) (any, error) {
	s.Announce = true
	run := d.Runtime.Launch(s)
	select {
	case <-run.Started():
	case <-run.Done():
		if out, err := run.Outcome(); err != nil {
			return nil, broken(run, err)
		} else if out.ExecutionID == "" { // it was refused before it began
			return nil, refuseRun(out, &s.Caller, tester)
		}
	case <-r.Context().Done():
		return nil, goesOn(context.Cause(r.Context()))
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
func (d Deps) start(r *http.Request, programSet *programs.ProgramSet, p *programs.Program, kind, named string) runtime.Start {
	request := commands.RequestFrom(r.Context())
	c, meta := gateway.CallerFrom(r.Context()), request.Meta
	who := c.Identity()
	caller := runtime.Caller{
		Actor: actorOf(c), Address: request.Address, Email: who.Email, Role: c.Role, Rights: gateway.GrantFrom(r.Context()).Rights,
		Credential: c.UserID != "" || c.KeyID != "" || c.WorkspaceID != "", AuthData: runtime.AuthDataOf(who.AuthData),
	}
	if caller.Role == "" && caller.Rights != nil {
		caller.Role = caller.Rights.Role()
	}
	if caller.Visitor = c.Kind == gateway.KindNone || caller.SessionID == ""; caller.Visitor { // nobody signed in
		caller.SessionID = cmp.Or(caller.SessionID, uuid.NewString()) // made for this call, unless an automation passed its own on
		caller.UserID = cmp.Or(caller.UserID, caller.SessionID)
	}
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
		Automation: p.Name, Trigger: s.Trigger, StartedAt: stampOf(d.Now()),
	}}
	return s
}

// actorOf is whom automations act for that a caller starts: with what their credential
// gave them, and nothing more.
func actorOf(c gateway.Caller) domain.Actor {
	a := domain.Actor{UserID: c.UserID, SessionID: c.SessionID, WorkspaceID: c.WorkspaceID, Scopes: c.Scopes, Lent: c.Lent, LentTo: c.LentTo}
	role, taken := strings.CutPrefix(c.KeyID, "role:")
	switch {
	case taken:
		a.KeyRole = role
	case c.WorkspaceID != "": // whose token names it in the place of a key
		a.Lent = c.Identity().Workspace == ""
	default:
		a.KeyID = c.KeyID
	}
	return a
}
