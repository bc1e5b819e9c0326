package api

import (
	"net/http"
	"slices"

	"svc/commands"
	"svc/domain/access"
	"svc/http/gateway"
	"svc/projections"
)

// deleteWorkspace handles DELETE /v2/workspaces/{workspaceId}.
func deleteWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id := workspaceID(r)
		if _, err := d.Workspaces.Delete(r.Context(), id, ifMatch(r)); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return idOf(id), nil
	}
}

// undeleteWorkspace handles POST /v2/workspaces/{workspaceId}/undelete.
func undeleteWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in struct {
			Slug string `json:"slug"`
		}
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		id, may := gateway.Var(r, "workspaceId"), false
		err := d.ReadModel.View(func(rd projections.Reader) error {
			rec, ok, err := projections.Workspaces{}.Record(rd, id)
			if err == nil && ok {
				may, err = mayUndelete(d, r, rd, rec)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if !may {
			return nil, access.OutsideRights(access.Principal{}).Refusal("update", "workspaces")
		}
		if _, err := d.Workspaces.Undelete(r.Context(), id, in.Slug); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return shownTo(d, r, id)
	}
}

// madeAnswer is a workspace that was just made: as a read shows it, if the read
// model comes along in time.
func madeAnswer(d Deps, r *http.Request, made commands.Workspace) (any, error) {
	if !settle(r.Context(), d.ReadModel) {
		return fromState(made)
	}
	return shownTo(d, r, made.State.ID)
}

// shownTo is a workspace for a caller who had no grant in it when the request
// came.
func shownTo(d Deps, r *http.Request, id string) (any, error) {
	rights, _, err := d.Access.RightsOf(gateway.CallerFrom(r.Context()).Identity(), id)
	if err != nil {
		return nil, err
	}
	return workspaceAnswer(d, r, id, rights)
}

// mayUndelete reports whether the caller may bring a workspace back: super
// admins, and whoever owned it.
func mayUndelete(d Deps, r *http.Request, rd projections.Reader, rec projections.Record) (bool, error) {
	caller := gateway.CallerFrom(r.Context())
	if rec.Deleted != nil && !d.Now().Before(rec.Deleted.Until) {
		return false, nil
	}
	if caller.Super {
		return true, nil
	}
	doc, ok, err := projections.Access{}.Former(rd, rec.ID)
	if err == nil && !ok {
		doc, _, _, err = projections.Access{}.Get(rd, rec.ID, 0) // it was not deleted, as they are told
	}
	return caller.UserID != "" && slices.Contains(access.Owners(doc.Shares), caller.UserID), err
}

// lockWorkspace handles POST /v2/workspaces/{workspaceId}/writeLock.
func lockWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		in := struct {
			Reason *string `json:"reason"`
		}{}
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		reason := "manual"
		if in.Reason != nil {
			reason = *in.Reason
		}
		done, err := d.Workspaces.Lock(r.Context(), workspaceID(r), reason)
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return map[string]any{"writeLock": projections.LockOf(done.State.Lock)}, nil
	}
}

// unlockWorkspace handles DELETE /v2/workspaces/{workspaceId}/writeLock.
func unlockWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id := workspaceID(r)
		if _, err := d.Workspaces.Unlock(r.Context(), id); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return idOf(id), nil
	}
}
