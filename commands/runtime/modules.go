package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"svc/commands"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/value"
)

// WorkspaceModule performs the functions of a module that acts on objects of the workspace: knowledge, which is a
// *knowledge.Module of the API, and agents, which is an agents.Module.
type WorkspaceModule interface {
	Call(ctx context.Context, c ModuleCall) (any, error)
}

// ModuleCall is a call of a WorkspaceModule.
type ModuleCall struct {
	WorkspaceID string
	Function    string
	Params      *value.Object // without secrets
	// Caller is whom the run acts for. Rights are nil, and so those of the workspace, unless the call asks for those of the
	// session.
	Caller Caller
	Depth  int // of the execution
	Meta   domain.Meta
	// Named are the slugs of the objects that an app instance may use; nil: it is no app, and uses all of the workspace.
	Named *[]string
	// Emit emits a piece of what a model says; nil: nobody asked for that.
	Emit func(ctx context.Context, text string) error
}

// Read reads the parameters as the API reads a body: an unknown one is refused. Those that the runtime reads itself are
// left out.
func (c ModuleCall) Read(into any) error {
	params := c.Params.Copy()
	params.Delete("as")
	params.Delete("stream")
	decoder := json.NewDecoder(strings.NewReader(value.JSON(params, "")))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return automation.Invalid("parameters: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// CheckNamed refuses an object that the config of an app instance does not name.
func (c ModuleCall) CheckNamed(slug string) error {
	if c.Named == nil || slices.Contains(*c.Named, slug) {
		return nil
	}
	return automation.Raise(automation.ObjectNotFound, "the config of the app instance does not name "+slug, "slug", slug)
}

// Result returns what a function answered as automations see it. What the platform refuses is a KnowledgeError, or a
// ModelError when a language model is the reason.
func (ModuleCall) Result(result any, err error) (any, error) {
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		return value.Undefined, moduleError(refusal)
	}
	if err != nil || result == nil {
		return value.Undefined, err
	}
	body, err := json.Marshal(result)
	if err != nil {
		return value.Undefined, err
	}
	return value.ParseJSON(string(body))
}

func moduleError(refusal *domain.Error) *automation.Error {
	reason, _ := refusal.Details["reason"].(string)
	switch {
	case reason != "":
	case refusal.Code == domain.CodeWorkspaceDenied || refusal.Code == domain.CodeMissingToken:
		reason = string(domain.CodePermissionDenied)
	default:
		reason = string(refusal.Code)
	}
	provider, byModel := refusal.Details["provider"]
	if !byModel && reason != "no_model" && refusal.Code != domain.CodeQuota {
		return automation.Raise(automation.KnowledgeFailed, refusal.Message, "reason", reason)
	}
	raised := automation.Raise(automation.ModelFailed, refusal.Message, "reason", reason)
	if byModel {
		raised.Details.Set("provider", value.From(provider))
	}
	if status, told := refusal.Details["status"]; told {
		raised.Details.Set("status", value.From(status))
	}
	return raised
}

// callWorkspaceModule calls a function of a module that acts on objects of the workspace. An app instance uses those that
// its config lists under a key.
func (t *performer) callWorkspaceModule(r machine.Request, module WorkspaceModule, key, function string, params *value.Object) {
	var published error // of the last piece
	call, err := t.newModuleCall(r, key, function, params, &published)
	if err != nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	as := t.commandRequest(r.Execution)
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		if params.At("as") == "session" {
			if err := t.rt.identifySession(ctx, &call); err != nil {
				return call.Result(nil, err)
			}
		}
		return module.Call(commands.WithRequest(ctx, as), call)
	}, func(a machine.Answer) machine.Answer {
		t.lifetime.breakOffIfInDoubt(machine.Answer{Err: published})
		return a
	})
}

// identifySession gives a call the rights of the session that its run acts for. A run that a recorded event started has
// those of the workspace until then; one that a schedule started has no session. In tests nobody has rights.
func (r *Runtime) identifySession(ctx context.Context, call *ModuleCall) error {
	caller := &call.Caller
	if caller.Rights != nil || r.Simulation != nil {
		return nil
	}
	if caller.WorkspaceID != "" || caller.UserID == "" && caller.SessionID == "" {
		return domain.Refuse(domain.CodePermissionDenied, "the run has no session: nobody's request caused it")
	}
	who, err := r.Effects.Identify(ctx, call.WorkspaceID, caller.Actor)
	if err != nil {
		return err
	}
	caller.Rights, caller.Role = who.Rights, who.Role
	return nil
}

func (t *performer) newModuleCall(r machine.Request, key, function string, params *value.Object, published *error) (ModuleCall, error) {
	safe, _ := t.secrets.set.Value(params).(*value.Object)
	call := ModuleCall{
		WorkspaceID: t.workspaceID(), Function: function, Params: safe, Caller: t.start.Caller, Depth: r.Execution.Depth, Meta: t.events.meta(r.Execution),
	}
	switch as := params.At("as"); {
	case value.IsNothing(as) || as == "workspace":
		call.Caller.Rights, call.Caller.SessionID = nil, t.world.sessionID
	case as != "session":
		return call, automation.Invalid("as is session or workspace")
	}
	if scope := t.executions.program(r.Execution).Scope; scope.Namespace.App != "" {
		named, err := t.world.readConfig(scope, []string{key})
		if err != nil {
			return call, err
		}
		list, _ := named.([]any)
		slugs := []string{}
		for _, slug := range list {
			slugs = append(slugs, value.Text(slug))
		}
		call.Named = &slugs
	}
	given := params.At("stream")
	if value.IsNothing(given) {
		return call, nil
	}
	stream, ok := given.(*value.Object)
	if !ok || value.Text(stream.At("event")) == "" {
		return call, automation.Invalid("stream is an object with an event")
	}
	emit, index := t.newEmitter(r, stream, published), 0
	call.Emit = func(ctx context.Context, text string) error {
		payload := value.NewObject("index", float64(index), "text", text)
		index++
		return emit(ctx, payload)
	}
	return call, nil
}
