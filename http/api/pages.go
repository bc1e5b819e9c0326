package api

import (
	"context"
	"net/http"

	"svc/commands/content"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/projections"
)

// pageFolder holds the pages of a workspace.
var pageFolder = folder{
	name: "pages", noun: "page", kind: document.Page,
	readOnly: []string{"workspaceId", "workspaceSlug", "events", "public", "customDomains", "clientId", "appInstances"},
	required: []string{"name"},
	detail:   detailPage,
	gone:     func(item projections.Item) any { return idOf(item.ID) },
}

// detailPage adds to a page what showing it takes: who its visitors sign in to,
// and the blocks that it may use.
func detailPage(d Deps, r *http.Request, shown *shownDocument) error {
	kits, err := kitsOf(r.Context(), d, shown.workspaceID)
	if err != nil {
		return err
	}
	shown.doc.Set("clientId", workspace.ClientID(shown.workspaceID))
	shown.doc.Set("appInstances", kits)
	return d.ReadModel.View(func(rd projections.Reader) error {
		rec, _, err := projections.Workspaces{}.Record(rd, shown.workspaceID)
		if err != nil {
			return err
		}
		if len(rec.Meta.CustomDomains) > 0 {
			shown.doc.Set("customDomains", document.ValueOf(rec.Meta.CustomDomains))
		}
		if !shown.rights.Allows("manage_permissions", "pages", objectAt(rd, shown.workspaceID, "pages", shown.item)) {
			return nil
		}
		shares, err := pageShares(rd, shown.workspaceID, shown.item)
		if err == nil {
			shown.doc.Set("permissions", document.ValueOf(shares))
		}
		return err
	})
}

// pageShares returns with whom a page is shared, everyone first.
func pageShares(rd projections.Reader, workspaceID string, item projections.Item) ([]access.Share, error) {
	shares, err := projections.Content{}.Shares(rd, workspaceID, item.ID)
	if item.Public {
		shares = append([]access.Share{workspace.Everyone()}, shares...)
	}
	return append([]access.Share{}, shares...), err
}

// installed is an app instance of which pages may use the blocks.
type installed struct {
	slug, workspaceID string
	revision          uint64 // of the published content
}

// maxKits is how many bytes of blocks of app instances a page is shown with. What
// is more is left out: no answer is as large as all that somebody can install.
const maxKits = 4 << 20

// kitsOf returns the blocks of a workspace, under no name, and those of its app
// instances.
func kitsOf(ctx context.Context, d Deps, id string) ([]any, error) {
	var own any
	var instances []installed
	err := d.ReadModel.View(func(rd projections.Reader) error {
		settings, _, err := projections.Workspaces{}.Settings(rd, id)
		if err != nil {
			return err
		}
		own, _ = settings.Get("blocks")
		instances, err = instancesOf(rd, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	kits, room := []any{kit("", own)}, maxKits
	for _, in := range instances {
		app, err := d.Shelf.Read(ctx, in.workspaceID, in.revision)
		if err != nil {
			return nil, err
		}
		blocks, _ := app.Index.Get("blocks")
		if room -= app.BlockBytes; room < 0 {
			blocks = nil
		}
		kits = append(kits, kit(in.slug, blocks))
	}
	return kits, nil
}

func kit(slug string, blocks any) *document.Map {
	if blocks == nil {
		blocks = document.MapOf()
	}
	return document.MapOf(document.Pair{Key: "slug", Value: slug}, document.Pair{Key: "blocks", Value: blocks})
}

// instancesOf lists the app instances of a workspace that are in use, and whose
// app is published in the version they ask for.
func instancesOf(rd projections.Reader, id string) (found []installed, err error) {
	err = projections.Content{}.List(rd, id, "imports/", func(item projections.Item) (bool, error) {
		meta, err := projections.Content{}.Meta(rd, id, item.Hash)
		if err != nil {
			return false, err
		}
		if off, _ := meta.About.Get("disabled"); off == true {
			return true, nil
		}
		app, revision, err := projections.Apps{}.FindVersion(rd, meta.About.Text("appSlug"), meta.About.Text("appVersion"))
		if err != nil {
			return false, err
		}
		if revision != 0 {
			found = append(found, installed{item.Slug(), app.WorkspaceID, revision})
		}
		return true, nil
	})
	return found, err
}

// indexAt returns the index document that a workspace had, without secrets.
func indexAt(ctx context.Context, d Deps, id string, seq uint64) (*document.Map, error) {
	refs, err := d.Library.At(ctx, id, seq)
	if err != nil {
		return nil, err
	}
	ref, ok := refs["index"]
	if !ok {
		return document.MapOf(), nil
	}
	index, err := d.Library.Document(ctx, id, content.Ref{Hash: ref.Hash, Apart: ref.Apart})
	if err != nil {
		return nil, err
	}
	return withoutSecrets(index), nil
}

// withoutSecrets returns an index document as it may be shown.
func withoutSecrets(index *document.Map) *document.Map {
	config, _ := index.Get("config")
	if m, ok := config.(*document.Map); ok {
		index = index.Copy()
		index.Set("config", workspace.HideSecrets(m))
	}
	return index
}
