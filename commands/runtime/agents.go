package runtime

import (
	"context"

	"svc/commands"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/value"
)

// Agents sends messages to the agents of a workspace. It is an agents.Module.
type Agents interface {
	Call(ctx context.Context, c AgentCall) (any, error)
}

// AgentCall is a call of the module agents.
type AgentCall struct {
	WorkspaceID string
	Function    string
	Params      *value.Object
	Caller      Caller // of the run
	Depth       int    // of the execution
	Meta        domain.Meta
}

// callAgents sends a message to an agent, with the rights of the workspace. An app has no agents.
func (t *performer) callAgents(r machine.Request, function string, params *value.Object) {
	if t.executions.program(r.Execution).Scope.Namespace.App != "" {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: automation.Raise(automation.ObjectNotFound, "an app has no agents", "module", "agents")})
		return
	}
	call := AgentCall{
		WorkspaceID: t.workspaceID(), Function: function, Params: params, Caller: t.start.Caller, Depth: r.Execution.Depth, Meta: t.events.meta(r.Execution),
	}
	call.Caller.Rights, call.Caller.SessionID = nil, t.world.sessionID
	as := t.commandRequest(r.Execution)
	t.answerLater(r, func(ctx context.Context) (any, error) {
		return t.rt.Effects.Agents.Call(commands.WithRequest(ctx, as), call)
	})
}
