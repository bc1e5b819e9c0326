package agents

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/value"
)

// Module is the module agents of automations: it sends messages with the rights of the workspace.
type Module struct {
	Agents func() *Agents
	// Fresh waits until the read models have what any node has written.
	Fresh func(context.Context) error
}

// Call performs a function of the module.
func (m Module) Call(ctx context.Context, of runtime.AgentCall) (any, error) {
	if of.Function != "send" {
		return value.Undefined, automation.Invalid("module agents has no function %s", of.Function)
	}
	if err := m.Fresh(ctx); err != nil {
		return value.Undefined, err
	}
	message, err := m.Agents().sendFor(ctx, of)
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		reason, _ := refusal.Details["reason"].(string)
		if reason == "" {
			reason = string(refusal.Code)
		}
		return value.Undefined, automation.Raise(automation.KnowledgeFailed, refusal.Message, "reason", reason)
	}
	if err != nil {
		return value.Undefined, err
	}
	body, err := json.Marshal(message)
	if err != nil {
		return value.Undefined, err
	}
	return value.ParseJSON(string(body))
}

// sendFor sends a message for an automation, and waits for the answer. It is cancelled with the automation.
func (a *Agents) sendFor(ctx context.Context, of runtime.AgentCall) (Message, error) {
	var in struct {
		Agent          string         `json:"agent"`
		Text           string         `json:"text"`
		ConversationID string         `json:"conversationId"`
		Context        map[string]any `json:"context"`
	}
	decoder := json.NewDecoder(strings.NewReader(value.JSON(of.Params, "")))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return Message{}, automation.Invalid("parameters: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if in.Agent == "" || in.Text == "" {
		return Message{}, automation.Invalid("agent and text are required")
	}
	caller := &Caller{Caller: of.Caller, Owner: OwnerOf(of.Caller.Actor), Depth: of.Depth, Meta: of.Meta}
	found, err := a.Send(ctx, of.WorkspaceID, in.Agent, Sending{Text: in.Text, ConversationID: in.ConversationID, Context: in.Context}, caller)
	if err != nil {
		return Message{}, err
	}
	ref, err := a.Find(of.WorkspaceID, in.Agent, "execute", caller)
	if err != nil {
		return Message{}, err
	}
	m, err := a.Wait(ctx, ref, found, caller)
	switch {
	case ctx.Err() != nil:
		return m, errors.Join(context.Cause(ctx), a.o.Cancel(of.WorkspaceID, found.message.ID))
	case err == nil && m.Status == Failed && m.Error != nil:
		err = m.Error.AsError()
	}
	return m, err
}
