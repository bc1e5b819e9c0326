package runtime

import (
	"fmt"

	"svc/commands/programs"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/automation"
	"svc/domain/automation/value"
)

// Caller is whom a run acts for. What it may do is decided once: that somebody else's
// session is written to the contexts changes nothing of it.
type Caller struct {
	domain.Actor

	Email    string
	Role     string
	AuthData *value.Object // nil: none
	// Visitor says that nobody signed in: the session was made for this call.
	Visitor bool
	// Address is where they called from; "": they did not, or nobody may know.
	Address string
	// Credential says that the caller showed one, of whatever kind.
	Credential bool
	// Rights are what the caller may do in the workspace; nil: the workspace itself
	// acts, and may execute everything.
	Rights *access.Rights
}

// causedActor returns whom others act for that the run causes, in its workspace. A workspace
// that acts by itself is not whoever caused that, whose contexts it has.
func (c *Caller) causedActor(workspaceID string) domain.Actor {
	actor := c.Actor
	if c.Rights == nil {
		actor.WorkspaceID = workspaceID
	}
	return actor
}

// responsible names who caused what the run causes: a user, key:{id} for an API key, which
// is nobody, or the session of a visitor.
func (c *Caller) responsible() string {
	if c.KeyID != "" && c.UserID == c.SessionID {
		return "key:" + c.KeyID
	}
	return c.UserID
}

// AuthDataOf is what providers know of a caller, as automations read it; nil when none
// knows anything.
func AuthDataOf(data map[string]map[string]any) *value.Object {
	if len(data) == 0 {
		return nil
	}
	all := make(map[string]any, len(data))
	for provider, known := range data {
		all[provider] = known
	}
	read, _ := value.From(all).(*value.Object)
	return read
}

// Subject is an automation as rules see it.
func Subject(p *programs.Program) access.Fields {
	id := p.Scope.ProgramSet.Workspace.ID
	authorizations := map[string]any{}
	if p.Action != "" {
		authorizations["action"] = p.Action
	}
	return access.Fields{
		"id": p.Name, "slug": p.Name, "workspaceId": id, "runningWorkspaceId": id, "authorizations": authorizations, "labels": anyOf(p.Labels),
	}
}

func anyOf(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// checkExecute refuses what the caller may not execute.
func (c *Caller) checkExecute(p *programs.Program) error {
	if c.Rights == nil || c.Rights.Allows("execute", "automations", Subject(p)) {
		return nil
	}
	return automation.Raise(automation.Forbidden, fmt.Sprintf("you lack permission to run `%s`", p.Name), "action", "execute", "subject", "automations")
}

// checkCall checks that a program may be executed with an input.
func (t *run) checkCall(p *programs.Program, in *value.Object) error {
	if err := t.start.Caller.checkExecute(p); err != nil {
		return err
	}
	if err := t.addInputSecrets(p, in); err != nil {
		return err
	}
	if p.ValidateArguments {
		return p.Shape.Check(in)
	}
	return nil
}
