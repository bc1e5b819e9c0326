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
		v, ok = w.ofRun(x, key)
	case "session":
		return w.key("session").ID, key == "id", nil
	case "user":
		v, ok = w.ofUser(key)
	case "global":
		return w.ofGlobal(key)
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

// stamp is a time as automations read it.
func stamp(t time.Time) string { return t.UTC().Format(domain.Timestamp) }

func (w *world) ofRun(x *machine.Execution, key string) (any, bool) {
	s, place := &w.t.start, w.t.program(x).Place
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
		return stamp(w.Now()), true
	case "trigger":
		t := w.t.executions[x.ID].trigger
		return value.NewObject("type", t.Type, "value", automation.LocalName(place.Instance, t.Value), "id", optional(t.ID)), true
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
		return optional(place.App), true
	case "appInstanceSlug":
		return optional(place.Slug), true
	case "appInstanceFullSlug":
		return optional(place.Instance), true
	case "parentAppSlug":
		return optional(place.ParentApp()), true
	}
	return value.Undefined, false
}

// ofUser tells about the user whose context is read. Of somebody whom an automation
// switched to nothing is known but the id.
func (w *world) ofUser(key string) (any, bool) {
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

func (w *world) ofGlobal(key string) (any, bool, error) {
	house, s := w.t.start.House, w.t.settings
	switch key {
	case "workspaceId":
		return house.Workspace.ID, true, nil
	case "workspaceName":
		return house.Workspace.Name, true, nil
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
			for path, p := range house.Endpoints() {
				w.endpoints.Set(p.Name, s.APIURL+"/workspaces/"+house.Workspace.ID+"/webhooks/"+path)
			}
		}
		return w.endpoints, true, nil
	case "workspacesRegistry":
		v, err := w.registry()
		return v, true, err
	}
	if v, ok := s.GlobalVars[key]; ok {
		return v, true, nil
	}
	return value.Undefined, false, nil
}

// registry returns the workspaces that this one may know of, as they are in this turn: all
// there are have to be looked at for it.
func (w *world) registry() (any, error) {
	if w.known != nil {
		return w.known, nil
	}
	var found []programs.Workspace
	err := w.t.aside(func() (err error) {
		found, err = w.t.rt.Registry.Known(w.t.ctx, w.t.workspaceID())
		return err
	})
	if err != nil {
		return value.Undefined, err
	}
	w.known = &value.Object{}
	for _, other := range found {
		w.known.Set(other.Slug, value.NewObject("id", other.ID, "name", other.Name))
	}
	return w.known, nil
}
