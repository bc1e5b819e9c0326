package cleanup

import (
	"context"

	"svc/domain/kbdocument"
	"svc/projections"
)

// removedAtOnce is how many documents are read before they are deleted.
const removedAtOnce = 2000

// eraseKnowledge deletes the documents of knowledge bases that were deleted too long ago to come back with them, and of
// workspaces that cannot come back. The search index follows; their blobs go when nothing else names them.
func (r *run) eraseKnowledge(ctx context.Context) error {
	if r.terms.DryRun {
		return nil
	}
	bases, err := r.deletedBases()
	if err != nil {
		return err
	}
	for ref, base := range bases {
		for {
			ids, err := r.documentsOf(ref)
			if err == nil && len(ids) > 0 {
				err = r.RemoveDocuments(ctx, ref.WorkspaceID, base, ids)
			}
			if ctx.Err() != nil {
				return err
			}
			if err != nil {
				_ = r.addError(ctx, "knowledge", ref.WorkspaceID, err) // the next run retries it
			}
			if err != nil || len(ids) < removedAtOnce {
				break
			}
			if err := r.Models.Latest(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// deletedBases finds the knowledge bases whose documents are not kept any longer.
func (r *run) deletedBases() (map[projections.KBRef]kbdocument.Base, error) {
	gone, err := r.deletedWorkspaces()
	if err != nil {
		return nil, err
	}
	erased := map[string]bool{}
	for _, rec := range gone {
		erased[rec.ID] = true
	}
	rd := r.Models.Reader()
	defer rd.Close()
	bases := map[projections.KBRef]kbdocument.Base{}
	var failed error
	err = projections.KBDocuments{}.Bases(rd, func(workspaceID, baseID string) bool {
		if !r.isSelected(workspaceID) {
			return true
		}
		deleted, ok, err := projections.Content{}.DeletedBase(rd, workspaceID, baseID)
		if err != nil {
			failed = err
			return false
		}
		if erased[workspaceID] || ok && r.now.Sub(deleted.At) >= r.terms.DeletionDelay {
			bases[projections.KBRef{WorkspaceID: workspaceID, ID: baseID}] = kbdocument.Base{ID: baseID, Slug: deleted.Slug}
		}
		return true
	})
	if failed != nil {
		return nil, failed
	}
	return bases, err
}

// documentsOf returns the first documents of a knowledge base, in the order of their ids.
func (r *run) documentsOf(ref projections.KBRef) (ids []string, err error) {
	rd := r.Models.Reader()
	defer rd.Close()
	err = projections.KBDocuments{}.ListFrom(rd, ref.WorkspaceID, ref.ID, "", func(d projections.KBDocument) bool {
		if !d.GoneAt(r.now) { // those that have expired are swept
			ids = append(ids, d.ID)
		}
		return len(ids) < removedAtOnce
	})
	return ids, err
}
