package api

import (
	"context"

	"svc/domain"
	"svc/projections"
)

// revisionAt returns a function that tells the content revision of a workspace at a
// sequence, for payloads.
func (d Deps) revisionAt(ctx context.Context) func(workspaceID string, seq uint64) (uint64, error) {
	return func(workspaceID string, seq uint64) (revision uint64, err error) {
		if err := d.ReadModel.Reach(ctx, domain.At(domain.State, seq)); err != nil {
			return 0, err
		}
		err = d.ReadModel.View(func(rd projections.Reader) (err error) {
			revision, err = projections.History{}.Revision(rd, workspaceID, seq)
			return err
		})
		return revision, err
	}
}
