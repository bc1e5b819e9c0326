package api

import (
	"net/http"

	"svc/commands/archive"
	"svc/commands/versioning"
	"svc/domain/access"
	"svc/http/gateway"
	"svc/projections"
)

// statusAnswer is how a workspace stands with its repositories.
type statusAnswer struct {
	State           string                        `json:"state"`
	Dirty           bool                          `json:"dirty"`
	ContentRevision uint64                        `json:"contentRevision"`
	SyncedRevision  uint64                        `json:"syncedRevision"`
	WriteLock       *projections.WriteLock        `json:"writeLock"`
	Version         *statusVersion                `json:"version"`
	Repositories    []versioning.RepositoryStatus `json:"repositories"`
	Changes         []driftedObject               `json:"changes"`
	Errors          []archive.Item                `json:"errors"`
}

// statusVersion is what the workspace was last pushed as, or pulled.
type statusVersion struct {
	Name         string `json:"name"`
	RepositoryID string `json:"repositoryId,omitempty"`
	At           string `json:"at"`
}

type driftedObject struct {
	versioning.Drifted
	UpdatedAt string `json:"updatedAt,omitempty"`
	UpdatedBy string `json:"updatedBy,omitempty"`
}

// getStatus handles GET /v2/workspaces/{workspaceId}/status.
func getStatus(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		named, refresh := q.Text("repository"), q.Flag("refresh")
		if err := q.Err(); err != nil {
			return nil, err
		}
		id := workspaceID(r)
		before, err := recordOf(d, id)
		if err != nil {
			return nil, err
		}
		last := versioning.LastSync{RepositoryID: before.LastRepository}
		if sync := lastSync(before); sync != nil && sync.RepositoryID == "" {
			last.Native = sync.Version
		}
		stand, changes, err := d.Versioning.Status(r.Context(), id, named, last, refresh)
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel) // asking may have recorded a push
		return d.status(id, named, stand, changes, gateway.GrantFrom(r.Context()).Rights)
	}
}

func (d Deps) status(id, named string, stand []versioning.RepositoryStatus, changes []versioning.Drifted, rights *access.Rights) (any, error) {
	now, err := recordOf(d, id)
	if err != nil {
		return nil, err
	}
	answer := statusAnswer{
		Dirty: now.Dynamic.Dirty, ContentRevision: now.Dynamic.ContentRevision, SyncedRevision: min(now.Synced, now.Dynamic.ContentRevision),
		WriteLock: now.Dynamic.WriteLock, Repositories: append([]versioning.RepositoryStatus{}, stand...), Changes: []driftedObject{}, Errors: []archive.Item{},
		State: versioning.Clean,
	}
	if answer.Dirty {
		answer.State = versioning.LocalDirty
	}
	top := named
	if last := lastSync(now); last != nil {
		answer.Version = &statusVersion{last.Version, last.RepositoryID, last.CreatedAt}
	}
	if top == "" {
		top = now.LastRepository
	}
	for _, one := range stand {
		if one.ID == top {
			answer.State = one.State
		} else if one.State == versioning.InConflict && named == "" {
			answer.State = one.State
		}
	}
	err = d.ReadModel.View(func(rd projections.Reader) error {
		for _, c := range changes {
			if !mayReadAt(rd, rights, id, c.Path) {
				continue
			}
			at, by, err := lastTouch(rd, id, c.Path)
			if err != nil {
				return err
			}
			answer.Changes = append(answer.Changes, driftedObject{c, at, by})
		}
		return nil
	})
	return answer, err
}

func recordOf(d Deps, id string) (rec projections.Record, err error) {
	err = d.ReadModel.View(func(rd projections.Reader) error {
		var ok bool
		rec, ok, err = projections.Workspaces{}.Record(rd, id)
		if err == nil && (!ok || rec.Deleted != nil) {
			err = noWorkspace(id)
		}
		return err
	})
	return rec, err
}

// lastSync is the last push or pull, whichever came later.
func lastSync(rec projections.Record) *projections.Sync {
	push, pull := rec.Dynamic.LastPush, rec.Dynamic.LastPull
	if push == nil || pull != nil && pull.CreatedAt > push.CreatedAt {
		return pull
	}
	return push
}

// lastTouch returns when a document was last changed here, and by whom.
func lastTouch(rd projections.Reader, id, path string) (at, by string, err error) {
	seq, err := projections.History{}.Touched(rd, id, path)
	if err != nil || seq == 0 {
		return "", "", err
	}
	change, _, err := projections.History{}.Get(rd, id, seq)
	return change.At, change.By, err
}
