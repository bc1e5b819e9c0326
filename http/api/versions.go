package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// maxDescription is how long the description of a version may be.
const maxDescription = 10_000

// repositoryField names a repository in a body: {id}, or the bare id.
type repositoryField struct{ id string }

// UnmarshalJSON implements json.Unmarshaler.
func (f *repositoryField) UnmarshalJSON(b []byte) error {
	if string(b) == "null" || json.Unmarshal(b, &f.id) == nil {
		return nil
	}
	var named struct {
		ID *string `json:"id"`
	}
	if err := json.Unmarshal(b, &named); err != nil || named.ID == nil {
		return refuseField("repository", "must be the id of a repository, or an object with its id")
	}
	f.id = *named.ID
	return nil
}

// listVersions handles GET /v2/workspaces/{workspaceId}/versions.
func listVersions(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		list := []versioning.ShownVersion{}
		err := d.ReadModel.View(func(rd projections.Reader) error {
			return projections.Versions{}.List(rd, workspaceID(r), func(rec projections.VersionRecord) bool {
				list = append(list, versioning.Show(rec.Version, rec.Changes))
				return true
			})
		})
		return list, err
	}
}

// pushWorkspace handles POST /v2/workspaces/{workspaceId}/versions, and /push.
func pushWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		if _, err := longWait(r); err != nil {
			return nil, err
		}
		var in struct {
			Name        string             `json:"name"`
			Description document.Localized `json:"description"`
			Repository  repositoryField    `json:"repository"`
			CreatedAt   any                `json:"createdAt"` // of exports; the platform knows better
		}
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if utf8.RuneCountInString(strings.Join(in.Description.Texts(), "")) > maxDescription {
			return nil, domain.Invalid(domain.FieldError{Field: "description", Message: "must be at most 10000 characters in all languages together"})
		}
		started, err := d.Versioning.Push(r.Context(), workspaceID(r), versioning.PushRequest{Name: in.Name, Description: in.Description, RepositoryID: in.Repository.id})
		if err != nil {
			return nil, err
		}
		return d.answerLong(r, started, func(end operation.State) (any, error) {
			var version struct {
				Name string `json:"name"`
			}
			if err := json.Unmarshal(end.Result, &version); err != nil {
				return nil, err
			}
			base, _ := strings.CutSuffix(strings.TrimRight(r.URL.Path, "/"), "/push")
			base, _ = strings.CutSuffix(base, "/versions")
			return gateway.Created(end.Result, base+"/versions/"+version.Name), nil
		})
	}
}

// deleteVersion handles DELETE /v2/workspaces/{workspaceId}/versions/{name}.
func deleteVersion(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		name := gateway.Var(r, "name")
		if name == current || name == versioning.Latest {
			return nil, domain.Refuse(domain.CodeInvalidParameter, "%s is no version of its own", name).With("parameter", "name")
		}
		if err := d.Versioning.DeleteVersion(r.Context(), workspaceID(r), name); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return idOf(name), nil
	}
}

// maxVersion is longer than any name of a version, a tag or a commit.
const maxVersion = 250

// pullBody is the body of a pull.
type pullBody struct {
	Version    *string         `json:"version"`
	Repository repositoryField `json:"repository"`
	Discard    bool            `json:"discardLocalChanges"`
	Strict     bool            `json:"strict"`
}

// pullVersion handles POST /v2/workspaces/{workspaceId}/versions/{name}/pull, and
// /pull, where the body may name the version.
func pullVersion(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		if _, err := longWait(r); err != nil {
			return nil, err
		}
		var in pullBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		q := gateway.NewQuery(r)
		dry := q.Flag("dryRun")
		if err := q.Err(); err != nil {
			return nil, err
		}
		request := versioning.PullRequest{Version: gateway.Var(r, "name"), RepositoryID: in.Repository.id, Discard: in.Discard, Strict: in.Strict}
		switch {
		case request.Version != "" && in.Version != nil && *in.Version != request.Version:
			return nil, refuseField("version", "the path names another version")
		case request.Version == "" && in.Version != nil:
			request.Version = *in.Version
		}
		if request.Version == "" {
			request.Version = versioning.Latest
		}
		if len(request.Version) > maxVersion {
			return nil, workspace.NoVersion(request.Version[:maxVersion] + "…")
		}
		may := withRights(d, r, content.ImportOptions{}, workspaceID(r), gateway.GrantFrom(r.Context()).Rights)
		if dry {
			return d.planned(r, request, may)
		}
		started, err := d.Versioning.Pull(r.Context(), workspaceID(r), request, may)
		if err != nil {
			return nil, err
		}
		return d.answerLong(r, started, itsResult)
	}
}

// planned is what a pull would do. Of documents that the caller may not read it does
// not tell what is in conflict in them.
func (d Deps) planned(r *http.Request, request versioning.PullRequest, may content.ImportOptions) (any, error) {
	plan, err := d.Versioning.PlanPull(r.Context(), workspaceID(r), request, may)
	if err != nil {
		return nil, err
	}
	err = d.ReadModel.View(func(rd projections.Reader) error {
		for i, c := range plan.Conflicts {
			place, ok := archive.Locate(c.Path)
			if !ok || !mayReadAt(rd, gateway.GrantFrom(r.Context()).Rights, workspaceID(r), place.String()) {
				plan.Conflicts[i].Keys = nil
			}
		}
		return nil
	})
	return plan, err
}

// itsResult answers with the result of an operation.
func itsResult(end operation.State) (any, error) { return end.Result, nil }

// versionSeq returns the sequence of the content that a version holds.
func versionSeq(d Deps, r *http.Request, name string) (seq uint64, err error) {
	err = d.ReadModel.View(func(rd projections.Reader) error {
		rec, ok, err := projections.Versions{}.Get(rd, workspaceID(r), name)
		if err == nil && !ok {
			err = workspace.NoVersion(name)
		}
		seq = rec.ContentRevision
		return err
	})
	return seq, err
}
