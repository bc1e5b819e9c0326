package api

import (
	"net/http"
	"strings"

	"svc/commands/content"
	"svc/domain"
	"svc/domain/access"
	"svc/http/gateway"
	"svc/projections"
)

// readableIn tells of the documents of a workspace whether somebody may read
// them.
func readableIn(d Deps, rights *access.Rights, id string) func(path string, ref content.Ref) bool {
	return func(path string, ref content.Ref) (may bool) {
		err := d.ReadModel.View(func(rd projections.Reader) error {
			may = mayReadRef(rd, rights, id, path, ref)
			return nil
		})
		return err == nil && may
	}
}

// duplicateWorkspace handles POST /v2/workspaces/{workspaceId}/versions/{name}/duplicate.
func duplicateWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in struct {
			Name *string `json:"name"`
			Slug *string `json:"slug"`
		}
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		o := content.Copy{May: readableIn(d, gateway.GrantFrom(r.Context()).Rights, workspaceID(r)), ForOwners: gateway.CallerFrom(r.Context()).Kind != gateway.KindUser}
		if in.Name != nil {
			if o.Name = *in.Name; o.Name == "" {
				return nil, domain.Invalid(domain.FieldError{Field: "name", Message: "must be 1 to 60 characters without control characters"})
			}
		}
		if in.Slug != nil {
			if o.Slug = *in.Slug; o.Slug == "" {
				return nil, domain.Invalid(domain.FieldError{Field: "slug", Message: "must not be empty: leave it out to get one"})
			}
		}
		if version := gateway.Var(r, "name"); version != current {
			seq, err := versionSeq(d, r, version)
			if err != nil {
				return nil, err
			}
			o.Seq = seq
		}
		made, err := d.Content.Duplicate(r.Context(), workspaceID(r), o)
		if err != nil {
			return nil, err
		}
		body, err := madeAnswer(d, r, made)
		before, _, _ := strings.Cut(r.URL.Path, "/workspaces/")
		return gateway.Created(body, before+"/workspaces/"+made.State.ID), err
	}
}
