package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// workspaceBody is the body of POST /v2/workspaces and PATCH
// /v2/workspaces/{workspaceId}.
type workspaceBody struct {
	Name        change[string]   `json:"name"`
	Description change[string]   `json:"description"`
	Photo       change[string]   `json:"photo"`
	Logo        change[string]   `json:"logo"` // the same as photo
	Labels      change[[]string] `json:"labels"`
	readOnly
}

// readOnly are the fields that the service sets. They may be sent back, and
// change nothing.
type readOnly struct {
	ID        json.RawMessage `json:"id"`
	CreatedAt json.RawMessage `json:"createdAt"`
	CreatedBy json.RawMessage `json:"createdBy"`
	UpdatedAt json.RawMessage `json:"updatedAt"`
	UpdatedBy json.RawMessage `json:"updatedBy"`
}

// createWorkspace handles POST /v2/workspaces.
func createWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		in, err := readWorkspaceBody(r)
		if err != nil {
			return nil, err
		}
		if in.Name.value == nil {
			return nil, missing("name")
		}
		made, err := d.Workspaces.Create(r.Context(), workspace.Settings{
			Name: *in.Name.value, Description: in.Description.orZero(), Photo: in.Photo.orZero(), Labels: in.Labels.orZero(),
		})
		if err != nil {
			return nil, err
		}
		body, err := afterwards(r.Context(), d.ReadModel, made)
		return gateway.Created(body, strings.TrimRight(r.URL.Path, "/")+"/"+made.State.ID), err
	}
}

// getWorkspace handles GET /v2/workspaces/{workspaceId}.
func getWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		q.Unsupported("version", "at", "atSeq")
		if err := q.Err(); err != nil {
			return nil, err
		}
		id := workspaceID(r)
		found, ok, err := findWorkspace(d.ReadModel, id)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, noWorkspace(id)
		}
		return found, nil
	}
}

// updateWorkspace handles PATCH /v2/workspaces/{workspaceId}.
func updateWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		in, err := readWorkspaceBody(r)
		if err != nil {
			return nil, err
		}
		if in.Name.given && in.Name.value == nil {
			return nil, refuseField("name", "must be a text: it cannot be removed")
		}
		id := workspaceID(r)
		changed, err := d.Workspaces.Update(r.Context(), id, workspace.Update{
			Name: in.Name.value, Description: in.Description.orNil(), Photo: in.Photo.orNil(), Labels: in.Labels.orNil(),
		}, strings.Join(r.Header.Values("If-Match"), ","))
		if domain.CodeOf(err) == domain.CodeNotFound {
			return nil, noWorkspace(id)
		}
		if err != nil {
			return nil, err
		}
		return afterwards(r.Context(), d.ReadModel, changed)
	}
}

// readWorkspaceBody decodes a body and lets logo stand for photo.
func readWorkspaceBody(r *http.Request) (workspaceBody, error) {
	var in workspaceBody
	if err := gateway.Decode(r, &in); err != nil {
		return in, err
	}
	if !in.Logo.given {
		return in, nil
	}
	if in.Photo.given && in.Photo.orZero() != in.Logo.orZero() {
		return in, domain.Invalid(domain.FieldError{Field: "logo", Message: "is another name of photo: they must not differ"})
	}
	in.Photo = in.Logo
	return in, nil
}

// workspaceID is the id in the path, resolved when the path has a slug.
func workspaceID(r *http.Request) string {
	return cmp.Or(gateway.GrantFrom(r.Context()).WorkspaceID, gateway.Var(r, "workspaceId"))
}

func noWorkspace(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such workspace").With("resource", "workspace").With("id", id)
}

// tagged is a stored body with the tag of the state it shows.
type tagged struct {
	json     []byte
	revision uint64
}

// Encoded implements gateway.Encoded.
func (t tagged) Encoded() []byte { return t.json }

// ETag implements gateway.Tagged.
func (t tagged) ETag() string { return strings.Trim(commands.ETag(t.revision), `"`) }

// findWorkspace returns a workspace as the read model keeps it.
func findWorkspace(m ReadModel, id string) (found tagged, ok bool, err error) {
	err = m.View(func(r projections.Reader) error {
		doc, there, err := projections.Workspaces{}.Get(r, id)
		found, ok = tagged{doc.JSON, doc.Revision}, there
		return err
	})
	return found, ok, err
}

// writtenWait bounds how long the answer to a write waits for the read model.
const writtenWait = 2 * time.Second

// afterwards is the answer to a write: the workspace as a read would show it
// now. The write has happened; when the read model does not come along in time,
// the answer has to do without the times and names of the last changes.
func afterwards(ctx context.Context, m ReadModel, w commands.Workspace) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, writtenWait)
	defer cancel()
	if m.Reach(ctx, domain.At(domain.State, w.Seq)) == nil {
		if found, ok, err := findWorkspace(m, w.State.ID); err == nil && ok {
			return found, nil
		}
	}
	body, err := json.Marshal(struct {
		ID string `json:"id"`
		workspace.Settings
		Logo string `json:"logo,omitempty"`
	}{w.State.ID, w.State.Settings, w.State.Settings.Photo})
	return tagged{body, w.State.Revision}, err
}
