package runtime

import (
	"cmp"
	"time"

	"svc/commands/programs"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

// computedKeys are the keys of contexts that the platform says, in the order in which
// they are shown.
var computedKeys = map[string][]string{
	"run": {
		"depth", "correlationId", "executionId", "attempt", "socketId", "automationSlug", "date", "trigger", "ip", "sourceWorkspaceId",
		"authenticatedWorkspaceId", "permissions", "scopes", "appSlug", "appInstanceSlug", "appInstanceFullSlug", "parentAppSlug",
	},
	"session": {"id"},
	"user":    {"id", "email", "authData", "role"},
	"global":  {"workspaceId", "workspaceName", "apiUrl", "studioUrl", "pagesUrl", "pagesHost", "endpoints", "workspacesRegistry"},
}

// computed returns a key of a context that the platform says; ok is false for all
// others.
func (w *world) computed(x *machine.Execution, root, key string) (v any, ok bool, err error) {
	switch root {
	case "run":
		v, ok = w.runValue(x, key)
	case "session":
		return w.key("session").ID, key == "id", nil
	case "user":
		v, ok = w.userValue(key)
	case "global":
		return w.globalValue(key)
	}
	return v, ok, nil
}

// optional is a text that is absent when it is empty.
func optional(s string) any {
	if s == "" {
		return value.Undefined
	}
	return s
}

func texts(list []string) any {
	if list == nil {
		return value.Undefined
	}
	return value.From(list)
}

// formatTime is a time as automations read it.
func formatTime(t time.Time) string { return t.UTC().Format(domain.Timestamp) }

func (w *world) runValue(x *machine.Execution, key string) (any, bool) {
	s, scope := &w.t.start, w.t.program(x).Scope
	switch key {
	case "depth":
		return float64(x.Depth), true
	case "correlationId":
		return s.CorrelationID, true
	case "executionId":
		return x.ID, true
	case "attempt":
		return float64(s.Attempt), true
	case "socketId":
		return optional(s.Meta.SocketID), true
	case "automationSlug":
		return w.t.program(x).Slug, true
	case "date":
		return formatTime(w.Now()), true
	case "trigger":
		t := w.t.executions[x.ID].trigger
		return value.NewObject("type", t.Type, "value", automation.LocalName(scope.Instance, t.Value), "id", optional(t.ID)), true
	case "ip":
		return optional(cmp.Or(s.Caller.Address, s.Meta.IP)), true
	case "sourceWorkspaceId":
		return optional(s.SourceWorkspaceID), true
	case "authenticatedWorkspaceId":
		return optional(s.Caller.WorkspaceID), true
	case "permissions":
		if s.Caller.Rights == nil {
			return value.Undefined, true
		}
		return texts(s.Caller.Rights.Can("workspaces")), true
	case "scopes":
		return texts(s.Caller.Scopes), true
	case "appSlug":
		return optional(scope.App), true
	case "appInstanceSlug":
		return optional(scope.Slug), true
	case "appInstanceFullSlug":
		return optional(scope.Instance), true
	case "parentAppSlug":
		return optional(scope.ParentApp()), true
	}
	return value.Undefined, false
}

// userValue tells about the user whose context is read. Of somebody whom an automation
// switched to nothing is known but the id.
func (w *world) userValue(key string) (any, bool) {
	c, own := &w.t.start.Caller, w.userID == w.t.start.Caller.UserID
	switch key {
	case "id":
		return optional(w.userID), true
	case "email":
		return known(own, optional(c.Email)), true
	case "role":
		return known(own, optional(c.Role)), true
	case "authData":
		if c.AuthData == nil {
			return value.Undefined, true
		}
		return known(own, c.AuthData), true
	}
	return value.Undefined, false
}

func known(own bool, v any) any {
	if own {
		return v
	}
	return value.Undefined
}

func (w *world) globalValue(key string) (any, bool, error) {
	programSet, s := w.t.start.ProgramSet, w.t.settings
	switch key {
	case "workspaceId":
		return programSet.Workspace.ID, true, nil
	case "workspaceName":
		return programSet.Workspace.Name, true, nil
	case "apiUrl":
		return optional(s.APIURL), true, nil
	case "studioUrl":
		return optional(s.StudioURL), true, nil
	case "pagesUrl":
		return optional(s.PagesURL), true, nil
	case "pagesHost":
		return optional(s.PagesHost), true, nil
	case "endpoints":
		if w.endpoints == nil {
			w.endpoints = &value.Object{}
			for path, p := range programSet.Endpoints() {
				w.endpoints.Set(p.Name, s.APIURL+"/workspaces/"+programSet.Workspace.ID+"/webhooks/"+path)
			}
		}
		return w.endpoints, true, nil
	case "workspacesRegistry":
		v, err := w.workspaceRegistry()
		return v, true, err
	}
	if v, ok := s.GlobalVars[key]; ok {
		return v, true, nil
	}
	return value.Undefined, false, nil
}

// workspaceRegistry returns the workspaces that this one may know of, as they are in this turn: all
// there are have to be looked at for it.
func (w *world) workspaceRegistry() (any, error) {
	if w.registryObject != nil {
		return w.registryObject, nil
	}
	var found []programs.Workspace
	err := w.t.withoutTurnSlot(func() (err error) {
		found, err = w.t.rt.Registry.Known(w.t.ctx, w.t.workspaceID())
		return err
	})
	if err != nil {
		return value.Undefined, err
	}
	w.registryObject = &value.Object{}
	for _, other := range found {
		w.registryObject.Set(other.Slug, value.NewObject("id", other.ID, "name", other.Name))
	}
	return w.registryObject, nil
}
