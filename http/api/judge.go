package api

import (
	"context"
	"errors"
	"math"
	"net/http"

	"svc/commands/content"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// judge lets who changes many documents at once do to each what they may do to it
// by itself. It implements content.Judge.
type judge struct {
	d      Deps
	caller gateway.Caller
	id     string // of the workspace
	rights *access.Rights
}

// judgeOf is the judge of the caller in the workspace that the path names.
func judgeOf(d Deps, r *http.Request) judge {
	return judge{d: d, caller: gateway.CallerFrom(r.Context()), id: workspaceID(r), rights: gateway.GrantFrom(r.Context()).Rights}
}

// folders are those whose documents rules speak of one by one.
var folders = map[string]folder{automationFolder.name: automationFolder, pageFolder.name: pageFolder}

// May implements content.Judge.
func (j judge) May(t content.Touch) error {
	return j.d.ReadModel.View(func(rd projections.Reader) error {
		err := j.may(rd, t)
		refusal, ok := errors.AsType[*domain.Error](err)
		if !ok {
			return err
		}
		in, _ := workspace.Folder(t.Path)
		if t.Sent || mayReadDocument(rd, j.rights, j.id, in, itemOf(t)) {
			refusal.With("document", t.Path).Message += ": " + t.Path
		}
		return refusal
	})
}

func (j judge) may(rd projections.Reader, t content.Touch) error {
	name, slug := workspace.Folder(t.Path)
	if slug == "" {
		return mayChangeFields(j.rights, differing(t.Before, t.After))
	}
	f, single := folders[name]
	if !single {
		return mayChangeInstances(j.rights)
	}
	return f.mayTouch(rd, j.rights, j.id, itemOf(t), t.Before, t.After)
}

// itemOf is a touched document as read models have it.
func itemOf(t content.Touch) projections.Item {
	return projections.Item{Path: t.Path, Hash: t.Item.Hash, ID: t.Item.ID, Public: t.Item.Public}
}

// MayShare implements content.Judge.
func (j judge) MayShare(t content.Touch) (may bool, err error) {
	err = j.d.ReadModel.View(func(rd projections.Reader) error {
		object := pageFolder.after(rd, j.id, itemOf(t), t.After)
		if t.Item.Hash != "" {
			object = objectAt(rd, j.id, pageFolder.name, itemOf(t))
		}
		page := sharedPage{workspaceID: j.id, object: object}
		may = j.rights.Allows("manage_permissions", pageFolder.name, object) && page.mayShare(j.rights, workspace.Everyone()) == nil
		return nil
	})
	return may, err
}

// MayInstall implements content.Judge. An app that is not there can be waited for.
func (j judge) MayInstall(ctx context.Context, appSlug string) (may bool, err error) {
	if _, err := j.d.Library.At(ctx, j.id, math.MaxUint64); err != nil { // it may have been published a moment ago
		return false, err
	}
	err = j.d.ReadModel.View(func(rd projections.Reader) error {
		app, published, err := projections.Apps{}.Get(rd, appSlug)
		if may = !published; err == nil && published {
			may, err = appReader(j.d, j.caller, rd)(app)
		}
		return err
	})
	return may && err == nil, err
}
