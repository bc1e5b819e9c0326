package schedules_test

import (
	"context"
	"fmt"

	"svc/commands/content"
	"svc/commands/programs"
	"svc/domain/automation/redact"
	"svc/domain/document"
	"svc/projections"
)

// contents finds documents in the read models.
type contents struct{ models *projections.Models }

func (c contents) Moment() uint64 { return c.models.Position().State }

func (c contents) Workspace(id string) (w programs.Workspace, ok bool, err error) {
	err = c.models.View(func(r projections.Reader) error {
		rec, found, err := projections.Workspaces{}.Record(r, id)
		ok = found && rec.Deleted == nil
		w = programs.Workspace{ID: id, Slug: rec.Meta.Slug, Name: rec.Meta.Name, Revision: rec.Dynamic.ContentRevision}
		return err
	})
	return w, ok, err
}

func (c contents) Edition(slug, version string) (workspaceID string, revision uint64, err error) {
	err = c.models.View(func(r projections.Reader) error {
		a, found, err := projections.Apps{}.Running(r, slug, version)
		workspaceID, revision = a.WorkspaceID, found
		return err
	})
	return workspaceID, revision, err
}

func (c contents) At(_ context.Context, workspaceID string, seq uint64) (refs map[string]content.Ref, err error) {
	err = c.models.View(func(r projections.Reader) error {
		manifest, err := projections.History{}.ManifestAt(r, workspaceID, seq)
		refs = map[string]content.Ref{}
		for path, ref := range manifest {
			refs[path] = content.Ref(ref)
		}
		return err
	})
	return refs, err
}

func (c contents) Document(_ context.Context, workspaceID string, ref content.Ref) (*document.Map, error) {
	doc := document.MapOf()
	return doc, c.models.View(func(r projections.Reader) error {
		body, ok, err := projections.Content{}.Body(r, workspaceID, ref.Hash)
		if err != nil || !ok {
			return fmt.Errorf("document %s: %w", ref.Hash, err)
		}
		return doc.UnmarshalJSON(body)
	})
}

// noSecrets are those of workspaces that have none, and know of no other.
type noSecrets struct{}

func (noSecrets) All(context.Context, string) (map[string]string, error) { return nil, nil }

func (noSecrets) Known(context.Context, string) ([]programs.Workspace, error) { return nil, nil }

func (noSecrets) Redactor(context.Context, string) (*redact.Set, error) { return redact.New(), nil }
