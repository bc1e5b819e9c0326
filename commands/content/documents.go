package content

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"svc/commands"
	"svc/commands/archive"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// planImport finds out what an import changes of a workspace, or what a new one
// is made of.
func (c *Content) planImport(ctx context.Context, s workspace.State, r *archive.Reading, o ImportOptions) (plan, error) {
	p := plan{of: s, sources: map[string]string{}, errors: slices.Clone(r.Errors), warnings: slices.Clone(r.Warnings)}
	for place, file := range r.Sources {
		p.sources[place.String()] = file
	}
	p.failed = r.Failed
	if o.Held != nil {
		p.warnings = append(p.warnings, o.Held.Notes...)
	}
	if r.Content.Index != nil && !o.Excludes.Has("index") {
		if err := c.index(ctx, &p, r.Content.Index, o); err != nil {
			return p, err
		}
	}
	if r.Content.Security != nil && !o.Excludes.Has("security") {
		next, err := readSecurity(s.ID, r.Content.Security)
		if err != nil {
			return p, err
		}
		if err := next.Security.Validate(s.Shares); err != nil {
			p.refuse("security", err)
		} else {
			p.secure(next, o.Secure)
		}
	}
	if err := c.planDocuments(ctx, &p, r, o); err != nil {
		return p, err
	}
	if o.Prune {
		for _, path := range slices.Sorted(maps.Keys(s.Items)) {
			if !has(r, path) && !slices.Contains(r.Failed, path) && !o.Excludes.Has(path) {
				p.drop(path)
			}
		}
	}
	p.clashes()
	return p, p.fits()
}

// index settles what the index says. logo is another name of photo.
func (c *Content) index(ctx context.Context, p *plan, doc *document.Map, o ImportOptions) error {
	if logo, given := doc.Get("logo"); given {
		doc = doc.Copy()
		doc.Delete("logo")
		if _, both := doc.Get("photo"); !both {
			doc.Set("photo", logo)
		}
	}
	next, err := workspace.FromIndex(doc)
	if err != nil {
		return err
	}
	if p.of.Revision > 0 {
		if next, err = c.mergeSettings(ctx, p, next, o); err != nil {
			return err
		}
	}
	if next.AllowUnsecurePages && !p.of.Settings.AllowUnsecurePages && !o.Secure {
		next.AllowUnsecurePages = false
		p.warn("security_excluded", "index", "changing allowUnsecurePages takes manage_security: it was left as it is")
	}
	if left := workspace.WithoutSecrets(next.Config); next.Config != nil && !document.Equal(left, next.Config) {
		next.Config = left
		p.warn("secret_left_out", "index", "config values that are secret were left out: keep them in secrets and refer to them as {{secret.NAME}}")
	}
	p.settle(next)
	return nil
}

// mergeSettings is the index of an import merged into a workspace that exists. What
// a pull brings was merged already.
func (c *Content) mergeSettings(ctx context.Context, p *plan, next workspace.Settings, o ImportOptions) (workspace.Settings, error) {
	now := p.of.Settings
	next.CustomDomains, next.Repositories, next.Credentials = now.CustomDomains, now.Repositories, now.Credentials
	if o.Held.pulls() {
		var err error
		next.Slug, err = c.slug(ctx, p, next.Slug, o.Held)
		return next, err
	}
	next.Slug = now.Slug
	labels := append(slices.Clone(now.Labels), next.Labels...)
	slices.Sort(labels)
	next.Labels = slices.Compact(labels)
	return next, nil
}

func has(r *archive.Reading, path string) bool {
	place, ok := archive.Locate(path + ".yml")
	return ok && r.Content.Get(place) != nil
}

// planDocuments adds what is in folders.
func (c *Content) planDocuments(ctx context.Context, p *plan, r *archive.Reading, o ImportOptions) error {
	for _, place := range r.Content.Places() {
		path := place.String()
		if place.Kind.Folder == "" || o.Excludes.Has(path) {
			continue
		}
		kind := kinds[place.Kind.Folder]
		if kind == nil {
			p.warn("unsupported_kind", path, "there are no "+place.Kind.Folder+" here: it was left out")
			continue
		}
		doc := r.Content.Get(place).Copy()
		doc.Set("slug", place.Slug)
		if kind == document.Import {
			hidden, err := p.hidden(ctx, o.Judge, path, doc)
			if err != nil {
				return err
			}
			if hidden {
				continue
			}
		}
		if kind == document.Page {
			var err error
			if doc, err = p.unshared(o.Judge, path, path, doc); err != nil {
				return err
			}
		}
		e, err := c.importable(ctx, p, kind, path, doc)
		if err != nil {
			return err
		}
		p.put(e, doc)
	}
	return nil
}

// importable makes an entry of a document of an import.
func (c *Content) importable(ctx context.Context, p *plan, kind *document.Kind, path string, doc *document.Map) (workspace.Entry, error) {
	if kind == document.Automation {
		faults, _ := c.Check(kind, kind.Canonical(doc))
		for _, f := range faults {
			p.warn("invalid_automation", path, fmt.Sprintf("%s: %s", f.Field, f.Message))
		}
	}
	before, exists := p.of.Items[path]
	var sealed map[string][]byte
	if kind == document.Import {
		var err error
		if doc, sealed, err = c.instance(ctx, p, path, doc, before, exists); err != nil {
			return workspace.Entry{}, err
		}
	}
	e, err := c.entry(kind, doc)
	if kind == document.Page && !exists {
		e.ID = commands.NewID(ctx, 7)
	}
	e.Sealed = sealed
	return e, err
}

// instance is installable for an import: an app that is not there is a warning.
func (c *Content) instance(ctx context.Context, p *plan, path string, doc *document.Map, before workspace.Item, exists bool) (*document.Map, map[string][]byte, error) {
	app, found, err := c.Apps.App(ctx, doc.Text("appSlug"), doc.Text("appVersion"))
	if err != nil {
		return nil, nil, err
	}
	var was *workspace.Item
	if exists && before.App == doc.Text("appSlug") {
		was = &before
	}
	if !found {
		p.warn("app_missing", path, "the app "+doc.Text("appSlug")+" is not published here: the instance works once it is")
		if was == nil {
			return doc, nil, nil
		}
		return doc, was.Sealed, nil
	}
	if app.WorkspaceID == p.of.ID {
		p.warn("app_contains_itself", path, "an app cannot contain itself: the instance has no effect")
	}
	next, sealed, err := c.seal(ctx, p.of.ID, doc, app, was)
	if err != nil || was == nil {
		return next, sealed, err
	}
	for key, value := range was.Sealed { // files never have them
		if sealed == nil {
			sealed = map[string][]byte{}
		}
		if sealed[key] == nil {
			sealed[key] = value
		}
	}
	return next, sealed, nil
}

func (p plan) strict(o ImportOptions) error {
	if !o.Strict || len(p.errors) == 0 {
		return nil
	}
	return domain.Refuse(domain.CodeValidation, "%d files have errors, the first: %s: %s", len(p.errors), p.errors[0].Filepath, p.errors[0].Msg).
		Reason("invalid_files").With("errors", p.errors)
}

func (p plan) empty() bool {
	return p.to.Settings == nil && p.to.Security == nil && len(p.to.Entries) == 0 && len(p.to.Deleted) == 0
}
