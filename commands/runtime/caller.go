package runtime

import (
	"fmt"

	"svc/commands/programs"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/automation"
	"svc/domain/value"
)

// Caller is whom a run acts for. The rights are decided once: switching to the contexts of
// another user does not change them.
type Caller struct {
	domain.Actor

	Email    string
	Role     string
	AuthData *value.Object // nil: none
	// Visitor says that nobody signed in: the session was made for this call.
	Visitor bool
	// Address is where they called from; "": it is not known, or not shown.
	Address string
	// Credential says that the caller had one, of any kind.
	Credential bool
	// Rights are what the caller may do in the workspace; nil: the workspace itself
	// acts, and may execute everything.
	Rights *access.Rights
}

// causedActor returns whom the runs act for that this run causes in its workspace. A workspace
// that acts for itself has the contexts of the user who caused that, but is not this user.
func (c *Caller) causedActor(workspaceID string) domain.Actor {
	actor := c.Actor
	if c.Rights == nil {
		actor.WorkspaceID = workspaceID
	}
	return actor
}

// responsible returns who caused what the run causes: a user, key:{id} for an API key, or the
// session of a visitor.
func (c *Caller) responsible() string {
	if c.KeyID != "" && c.UserID == c.SessionID {
		return "key:" + c.KeyID
	}
	return c.UserID
}

// AuthDataOf returns the data of identity providers about a caller in the form that automations
// read; nil if there is none.
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

// Subject returns an automation as rules see it.
func Subject(p *programs.Program) access.Object { return subject{p} }

// subject is an automation as rules see it. Most rules look at none of its fields.
type subject struct{ program *programs.Program }

// Field implements access.Object.
func (s subject) Field(name string) (any, bool) {
	switch name {
	case "id", "slug":
		return s.program.Name, true
	case "workspaceId", "runningWorkspaceId":
		return s.program.Scope.ProgramSet.Workspace.ID, true
	case "labels":
		return anyOf(s.program.Labels), true
	case "authorizations":
		authorizations := map[string]any{}
		if s.program.Action != "" {
			authorizations["action"] = s.program.Action
		}
		return authorizations, true
	}
	return nil, false
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
func (t *performer) checkCall(p *programs.Program, in *value.Object) error {
	if err := t.start.Caller.checkExecute(p); err != nil {
		return err
	}
	if err := t.secrets.addInput(p, in); err != nil {
		return err
	}
	if p.ValidateArguments {
		return p.Shape.Check(in)
	}
	return nil
}
