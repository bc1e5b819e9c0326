package agents

import (
	"context"
	"encoding/json"
	"errors"

	"svc/commands/runtime"
	"svc/domain/automation"
	"svc/domain/value"
)

// Module is the module agents of automations: it sends messages with the rights of the workspace, or of the session that
// a run acts for.
type Module struct {
	Agents func() *Agents
	// Fresh waits until the read models have what any node has written.
	Fresh func(context.Context) error
}

// Call performs a function of the module.
func (m Module) Call(ctx context.Context, c runtime.ModuleCall) (any, error) {
	if c.Function != "send" {
		return value.Undefined, automation.Invalid("module agents has no function %s", c.Function)
	}
	if err := m.Fresh(ctx); err != nil {
		return value.Undefined, err
	}
	return c.Result(m.Agents().sendFor(ctx, c))
}

// sendFor sends a message for an automation, and waits for the answer. It is cancelled with the automation.
func (a *Agents) sendFor(ctx context.Context, c runtime.ModuleCall) (any, error) {
	var in struct {
		Agent          string         `json:"agent"`
		Text           string         `json:"text"`
		ConversationID string         `json:"conversationId"`
		Context        map[string]any `json:"context"`
	}
	if err := c.Read(&in); err != nil {
		return nil, err
	}
	if in.Agent == "" || in.Text == "" {
		return nil, automation.Invalid("agent and text are required")
	}
	if err := c.CheckNamed(in.Agent); err != nil {
		return nil, err
	}
	caller := &Caller{Caller: c.Caller, Owner: OwnerOf(c.Caller.Actor), Depth: c.Depth, Meta: c.Meta}
	found, err := a.Send(ctx, c.WorkspaceID, in.Agent, Sending{Text: in.Text, ConversationID: in.ConversationID, Context: in.Context}, caller)
	if err != nil {
		return nil, err
	}
	ref, err := a.Find(c.WorkspaceID, in.Agent, "execute", caller)
	if err != nil {
		return nil, err
	}
	m, err := a.waitWith(ctx, ref, found, caller, emitDeltas(ctx, c.Emit))
	switch {
	case ctx.Err() != nil:
		return nil, errors.Join(context.Cause(ctx), a.o.Cancel(c.WorkspaceID, found.message.ID))
	case err != nil:
		return nil, errors.Join(err, a.o.Cancel(c.WorkspaceID, found.message.ID))
	case m.Status == Failed && m.Error != nil:
		return nil, m.Error.AsError()
	}
	return m, nil
}

// emitDeltas returns what passes the pieces of a text on; nil: nobody wants them.
func emitDeltas(ctx context.Context, emit func(context.Context, string) error) func(Frame) error {
	return func(f Frame) error {
		if f.Event != frameDelta || emit == nil {
			return nil
		}
		var piece delta
		if err := json.Unmarshal(f.Data, &piece); err != nil {
			return err
		}
		return emit(ctx, piece.Text)
	}
}
