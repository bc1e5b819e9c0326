package api

import (
	"cmp"
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
	"svc/http/gateway"
	"svc/projections"
)

// getSecurity handles GET /v2/workspaces/{workspaceId}/security.
func getSecurity(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		doc, err := accessOf(d, workspaceID(r))
		if err != nil {
			return nil, err
		}
		return securityAnswer(d, r, doc.Security, doc.Revision)
	}
}

// putSecurity handles PUT /v2/workspaces/{workspaceId}/security.
func putSecurity(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		in, err := readDocument(r)
		if err != nil {
			return nil, err
		}
		security, err := readSecurity(in.doc)
		if err != nil {
			return nil, in.withLines(err)
		}
		dry, err := dryRun(r)
		if err != nil {
			return nil, err
		}
		if dry {
			return in.judged(trySecurity(r.Context(), d, workspaceID(r), security))
		}
		source := document.Security.Canonical(in.doc)
		done, err := d.Workspaces.Secure(r.Context(), workspaceID(r), security, source, ifMatch(r))
		if err != nil {
			return nil, in.withLines(err)
		}
		settle(r.Context(), d.ReadModel)
		return securityAnswer(d, r, done.State.Security, done.State.SecurityRevision)
	}
}

// readSecurity turns a document into what rules read. It refuses one with fields
// that security documents do not have.
func readSecurity(doc *document.Map) (s access.Security, err error) {
	if err := shape.Refusal(shape.Check(document.Security, doc)); err != nil {
		return s, err
	}
	return workspace.ReadSecurity(doc)
}

// securityAnswer is the security document as it was written, or as its file has
// it.
func securityAnswer(d Deps, r *http.Request, s access.Security, revision uint64) (answer any, err error) {
	id := workspaceID(r)
	err = d.ReadModel.View(func(rd projections.Reader) error {
		item, ok, err := projections.Content{}.Get(rd, id, "security")
		if err != nil || !ok {
			return cmp.Or(err, noWorkspace(id))
		}
		doc, err := inlineDocument(rd, id, item)
		if err != nil {
			return err
		}
		if wantsYAML(r) {
			text, err := archive.Text(archive.Place{Kind: document.Security}, doc)
			answer = inYAML(text, tagOf(revision))
			return err
		}
		doc.Set("authentication", document.MapOf(document.Pair{Key: "clientId", Value: s.Authentication.ClientID}))
		answer, err = jsonOf(doc, tagOf(revision))
		return err
	})
	return answer, err
}

// ifMatch is what the caller bases a change on.
func ifMatch(r *http.Request) string { return strings.Join(r.Header.Values("If-Match"), ",") }

// accessOf returns who may do what in a workspace, as the read model has it.
func accessOf(d Deps, id string) (doc projections.AccessDocument, err error) {
	var ok bool
	err = d.ReadModel.View(func(r projections.Reader) (err error) {
		doc, _, ok, err = projections.Access{}.Get(r, id, 0)
		return err
	})
	if err == nil && !ok {
		err = noWorkspace(id)
	}
	return doc, err
}

// roleMeta is an item of the list of roles.
type roleMeta struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	BuiltIn     bool   `json:"builtIn"`
}

// listRoles handles GET /v2/workspaces/{workspaceId}/security/roles.
func listRoles(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id := workspaceID(r)
		doc, err := accessOf(d, id)
		if err != nil {
			return nil, err
		}
		policy, err := access.Compile(id, doc.Security)
		if err != nil {
			return nil, err
		}
		var roles []roleMeta
		for i, name := range policy.RoleNames() {
			roles = append(roles, roleMeta{name, doc.Security.Authorizations.Roles[name].Description, i < 2})
		}
		return wholeList(r, roles, nil)
	}
}

// explain handles GET /v2/workspaces/{workspaceId}/security/explain.
func explain(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		action, subject, user, object := q.Required("action"), q.Required("subject"), q.Text("user"), q.Text("id")
		if err := q.Err(); err != nil {
			return nil, err
		}
		if err := knownWords(action, subject); err != nil {
			return nil, err
		}
		id, rights := workspaceID(r), gateway.GrantFrom(r.Context()).Rights
		if user != "" {
			who, err := explained(d, r, user, id)
			if err != nil {
				return nil, err
			}
			if rights, _, err = d.Access.RightsOf(who, id); err != nil {
				return nil, err
			}
		}
		return rights.May(action, subject, objectOf(subject, object, id)), nil
	}
}

// explained returns whose rights are explained. Who is no super admin is told of
// those with whom the workspace is shared, and nothing that rules could find out
// about them besides: rules are theirs to write.
func explained(d Deps, r *http.Request, user, workspaceID string) (access.Principal, error) {
	caller := gateway.CallerFrom(r.Context())
	who, ok, err := d.Access.PrincipalOf(user)
	if err != nil {
		return who, err
	}
	if ok && !caller.Super && user != caller.UserID {
		doc, err := accessOf(d, workspaceID)
		if err != nil {
			return who, err
		}
		ok = slices.ContainsFunc(doc.Shares, func(s access.Share) bool { return s.Target.ID == user })
		who = access.Principal{UserID: who.UserID}
	}
	if !ok {
		return who, noUser(user)
	}
	return who, nil
}

// knownWords refuses an action or a subject that no rule can speak of.
func knownWords(action, subject string) error {
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

// maxEchoed bounds what an answer repeats of a request, in characters.
const maxEchoed = 100

func noUser(id string) error {
	if r := []rune(id); len(r) > maxEchoed {
		id = string(r[:maxEchoed]) + "…"
	}
	return domain.Refuse(domain.CodeNotFound, "there is no such user").With("resource", "user").With("id", id)
}
