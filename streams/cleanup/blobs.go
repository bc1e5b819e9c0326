package cleanup

import (
	"context"
	"errors"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
	"svc/projections"
)

type (
	// Blobs keeps contents by their SHA-256. It is a *jetstream.Blobs.
	Blobs interface {
		List(ctx context.Context, visit func(eventstore.Blob) error) error
		// Delete erases a blob. It fails with eventstore.ErrConflict when it was put again since
		// it was listed.
		Delete(ctx context.Context, name string, revision uint64) error
		// Sweep erases what interrupted writes left behind before a time.
		Sweep(ctx context.Context, before time.Time) (count uint64, err error)
	}
	// BlobOwners knows the references to blobs that are in no read model.
	BlobOwners interface {
		// WorkspaceBlobs calls visit with the names of the blobs that the state of a workspace
		// refers to, such as the files of its last pull.
		WorkspaceBlobs(ctx context.Context, workspaceID string, visit func(name string)) error
	}
)

// blobGrace is how long a blob without references is kept. A command puts a blob before it appends the event that
// names it: the time in between is far shorter.
const blobGrace = 24 * time.Hour

// unreferencedBlob is a blob that no reference was found for yet.
type unreferencedBlob struct{ revision, size uint64 }

// eraseBlobs deletes the contents that nothing refers to: uploads that were never recorded, contents of files
// that were deleted or replaced, and everything of erased workspaces.
//
// The order makes it safe. A blob is a candidate when it was last put before the grace period; whoever puts
// it again changes its revision, and it is not deleted. So the events of everybody who relies on a candidate
// are on the log when the candidates are known, and the references are read after that.
func (r *run) eraseBlobs(ctx context.Context) error {
	r.out.Blobs = &activity.Blobs{}
	if len(r.terms.WorkspaceIDs) > 0 {
		return nil // a content may belong to several workspaces
	}
	before, candidates := r.now.Add(-blobGrace), map[projections.BlobID]unreferencedBlob{}
	err := r.Blobs.List(ctx, func(b eventstore.Blob) error {
		if id, ok := projections.ParseBlobID(b.Name); ok && b.PutAt.Before(before) {
			candidates[id] = unreferencedBlob{b.Revision, b.Size}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.dropReferenced(ctx, candidates); err != nil {
		return err
	}
	for id, b := range candidates {
		if !r.terms.DryRun {
			err := r.Blobs.Delete(ctx, id.String(), b.revision)
			if errors.Is(err, eventstore.ErrConflict) {
				continue // it was put again
			}
			if err != nil {
				return err
			}
		}
		r.out.Blobs.Deleted, r.out.Blobs.FreedBytes = r.out.Blobs.Deleted+1, r.out.Blobs.FreedBytes+b.size
	}
	if r.terms.DryRun {
		return nil
	}
	_, err = r.Blobs.Sweep(ctx, before)
	return err
}

// dropReferenced removes the candidates that something refers to.
func (r *run) dropReferenced(ctx context.Context, candidates map[projections.BlobID]unreferencedBlob) error {
	end, err := r.Log.Since(ctx, domain.State, farFuture)
	if err != nil || len(candidates) == 0 {
		return err
	}
	if err := r.awaitModels(ctx, domain.At(domain.State, end-1)); err != nil {
		return err
	}
	gone, err := r.deletedWorkspaces()
	if err != nil {
		return err
	}
	erased := map[string]bool{}
	for _, rec := range gone {
		erased[rec.ID] = true
	}
	referenced := func(name string) {
		if id, ok := projections.ParseBlobID(name); ok {
			delete(candidates, id)
		}
	}
	ids, err := r.visitReferences(erased, referenced)
	for _, id := range ids {
		if err != nil || len(candidates) == 0 {
			return err
		}
		err = r.BlobOwners.WorkspaceBlobs(ctx, id, referenced)
	}
	return err
}

// visitReferences visits the blobs that the read models refer to, and returns the workspaces that are not erased.
func (r *run) visitReferences(erased map[string]bool, visit func(name string)) (ids []string, err error) {
	rd := r.Models.Reader()
	defer rd.Close()
	for _, deleted := range []bool{false, true} {
		err := projections.Workspaces{}.List(rd, deleted, func(rec projections.Record) bool {
			if !erased[rec.ID] {
				ids = append(ids, rec.ID)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, projections.BlobReferences{
		IsErased: func(id string) bool { return erased[id] }, OperationsSince: r.now.Add(-r.terms.Operations),
	}.Visit(rd, visit)
}
