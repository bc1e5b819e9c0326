package api

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
	"svc/http/gateway"
)

// shownOnly are the fields of a workspace that the service sets.
var shownOnly = []string{
	"dirty", "lastPush", "lastPull", "contentRevision", "syncedRevision", "writeLock", "automations", "pages", "imports",
	"platformRepositories", "can", "clientId", "role",
}

// readWorkspace reads the body of a workspace, or of a change of one, and lets
// logo stand for photo.
func readWorkspace(r *http.Request, whole bool) (sent, error) {
	in, err := readDocument(r)
	if err != nil {
		return in, err
	}
	in.doc = withoutReadOnly(in.doc, shownOnly...)
	if logo, given := in.doc.Get("logo"); given {
		if photo, both := in.doc.Get("photo"); both && !document.Equal(photo, logo) {
			return in, domain.Invalid(domain.FieldError{Field: "logo", Message: "is another name of photo: they must not differ"})
		}
		in.doc.Delete("logo")
		in.doc.Set("photo", logo)
	}
	return in, in.withLines(shape.Refusal(workspaceFaults(in.doc, whole)))
}

// workspaceFaults returns what is wrong with a workspace; of a change, only what
// it names, and null removes an optional field.
func workspaceFaults(doc *document.Map, whole bool) []shape.Fault {
	if whole {
		return shape.Check(document.Index, doc)
	}
	checked := document.MapOf()
	for key, v := range doc.All() {
		if v != nil || key == "name" || key == "slug" {
			checked.Set(key, v)
		}
	}
	if _, given := doc.Get("name"); !given {
		checked.Set("name", "unchanged")
	}
	return shape.Check(document.Index, checked)
}

// createWorkspace handles POST /v2/workspaces.
func createWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		in, err := readWorkspace(r, true)
		if err != nil {
			return nil, err
		}
		dry, err := dryRun(r)
		if err != nil {
			return nil, err
		}
		settings, err := newSettings(in.doc)
		if dry && err == nil {
			err = d.Content.Workspaces.TryCreate(r.Context(), settings)
		}
		if dry {
			return in.judged(err)
		}
		if err != nil {
			return nil, err
		}
		made, err := d.Workspaces.Create(r.Context(), settings)
		if err != nil {
			return nil, in.withLines(err)
		}
		location := strings.TrimRight(r.URL.Path, "/") + "/" + made.State.ID
		body, err := madeAnswer(d, r, made)
		return gateway.Created(body, location), err
	}
}

// newSettings are those of a new workspace.
func newSettings(doc *document.Map) (workspace.Settings, error) {
	settings, err := workspace.FromIndex(doc)
	if domains, given := doc.Get("customDomains"); given && err == nil {
		settings.CustomDomains, err = hosts(domains)
	}
	if _, given := doc.Get("repositories"); given && err == nil {
		err = refuseField("repositories", "are added to a workspace once it is there")
	}
	return settings, err
}

// hosts reads a list of domains.
func hosts(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, refuseField("customDomains", "must be a list")
	}
	var names []string
	for _, item := range list {
		name, ok := item.(string)
		if !ok {
			return nil, refuseField("customDomains", "must be a list of texts")
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// getWorkspace handles GET /v2/workspaces/{workspaceId}.
func getWorkspace(d Deps) gateway.Prompt {
	shown := newShownWorkspaces(d)
	return gateway.Prompt{AtHand: shown.atHand, HandlerFunc: func(r *http.Request) (any, error) {
		moment, past, err := momentOf(d, r)
		if err != nil {
			return nil, err
		}
		if past {
			return workspaceAt(d, r, moment)
		}
		return shown.answer(r)
	}}
}

// updateWorkspace handles PATCH /v2/workspaces/{workspaceId}.
func updateWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		in, err := readWorkspace(r, false)
		if err != nil {
			return nil, err
		}
		id := workspaceID(r)
		if err := mayChange(d, r, id, in.doc); err != nil {
			return nil, err
		}
		dry, err := dryRun(r)
		if err != nil {
			return nil, err
		}
		if dry {
			return in.judged(cmp.Or(trySettings(r.Context(), d, id, in.doc), d.Repositories.Check(r.Context(), id, in.doc)))
		}
		changed, err := d.update(r.Context(), id, in.doc, ifMatch(r))
		if domain.CodeOf(err) == domain.CodeNotFound {
			return nil, noWorkspace(id)
		}
		if err != nil {
			return nil, in.withLines(err)
		}
		if !settle(r.Context(), d.ReadModel) {
			return fromState(changed)
		}
		return workspaceAnswer(d, r, id, gateway.GrantFrom(r.Context()).Rights)
	}
}

// takesMore are fields that take more than update.
var takesMore = map[string]string{"repositories": "manage_repositories", "customDomains": "manage_security", "allowUnsecurePages": "manage_security"}

// workspaceID is the id in the path, resolved when the path has a slug.
func workspaceID(r *http.Request) string {
	return cmp.Or(gateway.GrantFrom(r.Context()).WorkspaceID, gateway.Var(r, "workspaceId"))
}

func noWorkspace(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such workspace").With("resource", "workspace").With("id", id)
}

// writtenWait bounds how long the answer to a write waits for the read model.
const writtenWait = 2 * time.Second
