package workspaces

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"svc/commands/archive"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/collection"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
	"svc/http/api/documents"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// GetSecurity handles GET /v2/workspaces/{workspaceId}/security.
func (h *Handlers) GetSecurity(r *http.Request) (any, error) {
	doc, err := h.accessOf(handler.WorkspaceID(r))
	if err != nil {
		return nil, err
	}
	return h.securityResponse(r, doc.Security, doc.Revision)
}

// PutSecurity handles PUT /v2/workspaces/{workspaceId}/security.
func (h *Handlers) PutSecurity(r *http.Request) (any, error) {
	in, err := handler.ReadDocument(r)
	if err != nil {
		return nil, err
	}
	security, err := readSecurity(in.Doc)
	if err != nil {
		return nil, in.WithLines(err)
	}
	dry, err := handler.ReadDryRun(r)
	if err != nil {
		return nil, err
	}
	if dry {
		return in.DryRunError(h.checkSecurity(r.Context(), handler.WorkspaceID(r), security))
	}
	source := document.Security.Canonical(in.Doc)
	done, err := h.Workspaces.Secure(r.Context(), handler.WorkspaceID(r), security, source, handler.IfMatch(r))
	if err != nil {
		return nil, in.WithLines(err)
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return h.securityResponse(r, done.State.Security, done.State.SecurityRevision)
}

// readSecurity turns a document into what rules read. It refuses one with fields
// that security documents do not have.
func readSecurity(doc *document.Map) (s access.Security, err error) {
	if err := shape.Refusal(shape.Check(document.Security, doc)); err != nil {
		return s, err
	}
	return workspace.ReadSecurity(doc)
}

// securityResponse is the security document as it was written, or as its file has
// it.
func (h *Handlers) securityResponse(r *http.Request, s access.Security, revision uint64) (any, error) {
	id := handler.WorkspaceID(r)
	rd := h.ReadModel.Reader()
	defer rd.Close()
	item, ok, err := projections.Content{}.Get(rd, id, "security")
	if err != nil || !ok {
		return nil, cmp.Or(err, handler.NoWorkspace(id))
	}
	doc, err := documents.InlineDocument(rd, id, item)
	if err != nil {
		return nil, err
	}
	if handler.WantsYAML(r) {
		text, err := archive.Text(archive.Location{Kind: document.Security}, doc)
		return handler.YAMLResponse(text, handler.RevisionTag(revision)), err
	}
	doc.Set("authentication", document.MapOf(document.Pair{Key: "clientId", Value: s.Authentication.ClientID}))
	return handler.ToTaggedJSON(doc, handler.RevisionTag(revision))
}

// accessOf returns who may do what in a workspace, as the read model has it.
func (h *Handlers) accessOf(id string) (projections.AccessDocument, error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	doc, _, ok, err := projections.Access{}.Get(rd, id, 0)
	if err == nil && !ok {
		err = handler.NoWorkspace(id)
	}
	return doc, err
}

// roleResponse is an item of the list of roles.
type roleResponse struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	BuiltIn     bool   `json:"builtIn"`
}

// ListRoles handles GET /v2/workspaces/{workspaceId}/security/roles.
func (h *Handlers) ListRoles(r *http.Request) (any, error) {
	id := handler.WorkspaceID(r)
	doc, err := h.accessOf(id)
	if err != nil {
		return nil, err
	}
	policy, err := access.Compile(id, doc.Security)
	if err != nil {
		return nil, err
	}
	var roles []roleResponse
	for i, name := range policy.RoleNames() {
		roles = append(roles, roleResponse{name, doc.Security.Authorizations.Roles[name].Description, i < 2})
	}
	return handler.ListAll(r, roles, nil)
}

// ExplainAccess handles GET /v2/workspaces/{workspaceId}/security/explain.
func (h *Handlers) ExplainAccess(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	action, subject, user, object := q.Required("action"), q.Required("subject"), q.Text("user"), q.Text("id")
	if err := q.Err(); err != nil {
		return nil, err
	}
	if err := checkActionAndSubject(action, subject); err != nil {
		return nil, err
	}
	id, rights := handler.WorkspaceID(r), gateway.GrantFrom(r.Context()).Rights
	if user != "" {
		who, err := h.explainedPrincipal(r, user, id)
		if err != nil {
			return nil, err
		}
		if rights, _, err = h.Access.RightsOf(who, id); err != nil {
			return nil, err
		}
	}
	return rights.May(action, subject, objectOf(subject, object, id)), nil
}

// explainedPrincipal returns whose rights are explained. Who is no super admin is told of
// those with whom the workspace is shared, and nothing that rules could find out
// about them besides: rules are theirs to write.
func (h *Handlers) explainedPrincipal(r *http.Request, user, workspaceID string) (access.Principal, error) {
	caller := gateway.CallerFrom(r.Context())
	who, ok, err := h.Access.PrincipalOf(user)
	if err != nil {
		return who, err
	}
	if ok && !caller.Super && user != caller.UserID {
		doc, err := h.accessOf(workspaceID)
		if err != nil {
			return who, err
		}
		ok = slices.ContainsFunc(doc.Shares, func(s access.Share) bool { return s.Target.ID == user })
		who = access.Principal{UserID: who.UserID}
	}
	if !ok {
		return who, handler.NoUser(user)
	}
	return who, nil
}

// checkActionAndSubject refuses an action or a subject that no rule can speak of.
func checkActionAndSubject(action, subject string) error {
	actions := access.Actions(subject)
	if actions == nil {
		return domain.Refuse(domain.CodeInvalidParameter, "subject must be one of %s", strings.Join(access.Subjects(), ", ")).With("parameter", "subject")
	}
	for _, known := range actions {
		if action == known {
			return nil
		}
	}
	return domain.Refuse(domain.CodeInvalidParameter, "action must be one of %s", strings.Join(actions, ", ")).With("parameter", "action")
}

// objectOf is an object of a workspace of which the id is known and nothing
// else.
func objectOf(subject, id, workspaceID string) access.Object {
	switch subject {
	case "workspaces":
		return nil
	case "automations":
		return access.Fields{"id": id, "slug": id, "runningWorkspaceId": workspaceID}
	case "events":
		return access.Fields{"id": id, "source": map[string]any{"workspaceId": workspaceID, "serviceTopic": "topic:runtime:emit"}}
	case "secrets":
		return access.Fields{"name": id, "workspaceId": workspaceID}
	case "collections":
		return access.Fields{"name": id, "schema": collection.DefaultSchema, "workspaceId": workspaceID}
	}
	return access.Fields{"id": id, "slug": id, "workspaceId": workspaceID}
}

// checkSecurity refuses a security document that the workspace would refuse.
func (h *Handlers) checkSecurity(ctx context.Context, id string, security access.Security) error {
	now, err := h.Content.Workspaces.Get(ctx, id)
	if err != nil {
		return err
	}
	return checkCommand(now.State, workspace.Secure{Security: security})
}
