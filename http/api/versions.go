package api

import (
	"cmp"
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
		page, err := pageIfAsked(r)
		if err != nil {
			return nil, err
		}
		var found []projections.VersionRecord
		total := 0
		err = d.ReadModel.View(func(rd projections.Reader) (err error) {
			found, total, err = projections.Versions{}.Page(rd, workspaceID(r), page.Offset(), page.Limit)
			return err
		})
		if err != nil {
			return nil, err
		}
		shown := make([]versioning.VersionResponse, len(found))
		for i, rec := range found {
			shown[i] = versioning.NewVersionResponse(rec.Version, rec.Changes)
		}
		return gateway.List(r, shown, total, page), nil
	}
}

// pushBody is the body of a push.
type pushBody struct {
	Name        string             `json:"name"`
	Description document.Localized `json:"description"`
	Repository  repositoryField    `json:"repository"`
	CreatedAt   any                `json:"createdAt"` // of exports; the platform knows better
}

func (b pushBody) check() error {
	if utf8.RuneCountInString(strings.Join(b.Description.Texts(), "")) > maxDescription {
		return domain.Invalid(domain.FieldError{Field: "description", Message: "must be at most 10000 characters in all languages together"})
	}
	return nil
}

// pushWorkspace handles POST /v2/workspaces/{workspaceId}/versions, and /push.
func pushWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		if _, err := longWait(r); err != nil {
			return nil, err
		}
		if workspaceID(r) == domain.Platform {
			return d.pushPlatform(r)
		}
		var in pushBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if err := in.check(); err != nil {
			return nil, err
		}
		return d.push(r, in, nil)
	}
}

// push saves one workspace. more is what has to be said besides.
func (d Deps) push(r *http.Request, in pushBody, more []archive.Item) (any, error) {
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
		result, err := warned(end.Result, more)
		base, _ := strings.CutSuffix(strings.TrimRight(r.URL.Path, "/"), "/push")
		base, _ = strings.CutSuffix(base, "/versions")
		return gateway.Created(result, base+"/versions/"+version.Name), err
	})
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
		if workspaceID(r) == domain.Platform {
			return d.pullPlatform(r)
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
		return d.pull(r, in, dry, nil)
	}
}

// pull brings one workspace, or finds out what that would do. more is what has to be
// said besides.
func (d Deps) pull(r *http.Request, in pullBody, dry bool, more []archive.Item) (any, error) {
	version, err := versionAsked(r, in)
	if err != nil {
		return nil, err
	}
	request := versioning.PullRequest{Version: version, RepositoryID: in.Repository.id, Discard: in.Discard, Strict: in.Strict}
	may := withRights(d, gateway.CallerFrom(r.Context()), content.ImportOptions{}, workspaceID(r), gateway.GrantFrom(r.Context()).Rights)
	if dry {
		return d.planned(r, request, may)
	}
	started, err := d.Versioning.Pull(r.Context(), workspaceID(r), request, may)
	if err != nil {
		return nil, err
	}
	return d.answerLong(r, started, func(end operation.State) (any, error) { return warned(end.Result, more) })
}

// versionAsked is the version that a pull is about: the path or the body names it.
func versionAsked(r *http.Request, in pullBody) (string, error) {
	version := gateway.Var(r, "name")
	switch {
	case version != "" && in.Version != nil && *in.Version != version:
		return "", refuseField("version", "the path names another version")
	case version == "" && in.Version != nil:
		version = *in.Version
	}
	if len(version) > maxVersion {
		return "", workspace.NoVersion(version[:maxVersion] + "…")
	}
	return cmp.Or(version, versioning.Latest), nil
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
