package api

import (
	"maps"
	"net/http"
	"slices"

	"svc/domain"
	"svc/domain/access"
	"svc/http/gateway"
	"svc/projections"
)

// sharedPage is the page that a path names by its id.
type sharedPage struct {
	workspaceID string
	item        projections.Item
	object      access.Object
	shares      []access.Share
}

// pageToShare finds the page of a request whose shares the caller manages. The
// gateway has found its workspace; shares of the page count too.
func pageToShare(d Deps, r *http.Request) (p sharedPage, err error) {
	pageID, rights := gateway.Var(r, "pageId"), gateway.GrantFrom(r.Context()).Rights
	if err := reachLog(r.Context(), d, workspaceID(r)); err != nil {
		return p, err
	}
	err = d.ReadModel.View(func(rd projections.Reader) (err error) {
		var path string
		if p.workspaceID, path, err = (projections.Content{}).Page(rd, pageID); err != nil {
			return err
		}
		found := false
		if path != "" {
			p.item, found, err = projections.Content{}.Get(rd, p.workspaceID, path)
		}
		if err != nil || !found {
			return orElse(err, domain.Refuse(domain.CodeNotFound, "there is no such page").With("resource", "page").With("id", pageID))
		}
		p.object = objectAt(rd, p.workspaceID, "pages", p.item)
		if err := checkOn(rights, "manage_permissions", "pages", p.object); err != nil {
			return err
		}
		p.shares, err = pageShares(rd, p.workspaceID, p.item)
		return err
	})
	return p, err
}

func orElse(err error, refusal error) error {
	if err != nil {
		return err
	}
	return refusal
}

// listPageShares handles GET /v2/pages/{pageId}/permissions.
func listPageShares(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		page, err := pageToShare(d, r)
		if err != nil {
			return nil, err
		}
		return shownShares(d, page.shares)
	}
}

// sharePage handles POST /v2/pages/{pageId}/permissions.
func sharePage(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		page, err := pageToShare(d, r)
		if err != nil {
			return nil, err
		}
		entry, email, err := readShare(d, r)
		if err != nil {
			return nil, err
		}
		if err := page.mayShare(gateway.GrantFrom(r.Context()).Rights, entry); err != nil {
			return nil, err
		}
		if _, err := d.Content.SharePage(r.Context(), page.workspaceID, page.item.ID, entry); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return shownShare(d, entry, email)
	}
}

// unsharePage handles DELETE /v2/pages/{pageId}/permissions/{target}.
func unsharePage(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		page, err := pageToShare(d, r)
		if err != nil {
			return nil, err
		}
		target := gateway.Var(r, "target")
		if err := page.mayTouch(gateway.GrantFrom(r.Context()).Rights, target); err != nil {
			return nil, err
		}
		if _, err := d.Content.UnsharePage(r.Context(), page.workspaceID, page.item.ID, target); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return idOf(target), nil
	}
}

// mayShare refuses an entry that would share what the caller does not hold
// themselves: its policies on this page, and what its role comes with.
func (p sharedPage) mayShare(rights *access.Rights, entry access.Share) error {
	role := access.Share{Target: entry.Target, Permissions: access.Permissions{Role: entry.Permissions.Role}}
	if err := rights.CheckShare(role); err != nil {
		return err
	}
	for _, policy := range slices.Sorted(maps.Keys(entry.Permissions.Policies)) {
		action := policy
		if policy == "write" {
			action = "update"
		}
		known := slices.Contains(access.Actions("pages"), action) // what is not, the decision names
		if known && entry.Permissions.Policies[policy] {
			if err := checkOn(rights, action, "pages", p.object); err != nil {
				return err
			}
		}
	}
	return p.mayTouch(rights, entry.Target.String())
}

// mayTouch refuses to change the entry of an owner to anybody but an owner.
func (p sharedPage) mayTouch(rights *access.Rights, target string) error {
	for _, present := range p.shares {
		if present.Target.String() == target {
			return rights.CheckUnshare(present)
		}
	}
	return nil
}
