package content

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/spread"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/workspace"
)

// planImport finds out what an import changes of a workspace, or what a new one
// is made of.
func (c *Content) planImport(ctx context.Context, s workspace.State, r *archive.Reading, o ImportOptions) (plan, error) {
	p := plan{of: s, sources: map[string]string{}, lineOf: r.Line, errors: slices.Clone(r.Errors), warnings: slices.Clone(r.Warnings)}
	for place, file := range r.Sources {
		p.sources[place.String()] = file
	}
	p.failed = slices.Clone(r.Failed)
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
	list, err := c.planDocuments(ctx, &p, r, o)
	if err != nil {
		return p, err
	}
	if o.Prune {
		for _, path := range slices.Sorted(maps.Keys(s.Items)) {
			if !has(r, path) && !slices.Contains(r.Failed, path) && !o.Excludes.Has(path) {
				p.drop(path)
			}
		}
	}
	c.warnOfNames(&p, list, r)
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
		p.kept = true
		p.warnAt("security_excluded", "index", "allowUnsecurePages", "allowUnsecurePages was not changed: that needs the permission manage_security")
	}
	if left := workspace.WithoutSecrets(next.Config); next.Config != nil && !document.Equal(left, next.Config) {
		next.Config = left
		p.warnAt("secret_left_out", "index", "config.value", "config values that are secret were left out: keep them in secrets and refer to them as {{secret.NAME}}")
	}
	p.settle(next, nil)
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

// brought is a document of an import on its way into a plan.
type brought struct {
	path   string
	kind   *document.Kind
	doc    *document.Map
	sealed map[string][]byte
	app    *App // of an instance; nil: it is not there

	faults []Fault
	review automation.Review
	entry  workspace.Entry
	err    error
}

// planDocuments adds what is in folders.
func (c *Content) planDocuments(ctx context.Context, p *plan, r *archive.Reading, o ImportOptions) ([]*brought, error) {
	list, err := c.collect(ctx, p, r, o)
	if err != nil {
		return nil, err
	}
	spread.Over(len(list), func(i int) {
		b := list[i]
		b.err = c.importable(b)
	})
	for _, b := range list {
		if b.err != nil {
			return nil, b.err
		}
		unknown := b.kind.Unknown(b.doc)
		for _, f := range b.faults {
			if slices.Contains(unknown, f.Field) {
				continue // there is a warning about it already
			}
			p.warnAt("invalid_automation", b.path, f.Field, fmt.Sprintf("%s: %s", f.Field, f.Message))
		}
		if _, exists := p.of.Items[b.path]; b.kind == document.Page && !exists {
			b.entry.ID = commands.NewID(ctx, 7)
		}
		b.entry.Sealed = b.sealed
		p.put(b.entry, b.doc)
	}
	return list, nil
}

// collect returns the documents in folders as the caller may bring them.
func (c *Content) collect(ctx context.Context, p *plan, r *archive.Reading, o ImportOptions) (list []*brought, err error) {
	for _, place := range r.Content.Places() {
		path := place.String()
		if place.Kind.Folder == "" || o.Excludes.Has(path) {
			continue
		}
		kind := kinds[place.Kind.Folder]
		if kind == nil {
			p.hold(path)
			p.warn("unsupported_kind", path, "there are no "+place.Kind.Folder+" here: it was left out")
			continue
		}
		doc := r.Content.Get(place).Copy()
		doc.Set("slug", place.Slug)
		if kind == document.Import {
			hidden, err := p.hidden(ctx, o.Judge, path, doc)
			if err != nil {
				return nil, err
			}
			if hidden {
				continue
			}
		}
		if kind == document.Page {
			if doc, err = p.unshared(o.Judge, path, path, doc); err != nil {
				return nil, err
			}
		}
		b := &brought{path: path, kind: kind, doc: doc}
		if kind == document.Import {
			if err := c.instance(ctx, p, b); err != nil {
				return nil, err
			}
		}
		list = append(list, b)
	}
	return list, nil
}

// importable makes an entry of a document of an import, finds what is wrong with an
// automation, and which names it uses.
func (c *Content) importable(b *brought) (err error) {
	var parsed *automation.Automation
	if b.kind == document.Automation {
		b.faults, parsed = c.Check(b.kind, b.kind.Canonical(b.doc))
	}
	b.review = reviewOf(b.kind, b.doc, parsed)
	b.entry, err = c.entry(b.kind, b.doc, parsed)
	return err
}

// instance is installable for an import: an app that is not there is a warning.
func (c *Content) instance(ctx context.Context, p *plan, b *brought) error {
	path, doc := b.path, b.doc
	before, exists := p.of.Items[path]
	app, found, err := c.Apps.App(ctx, doc.Text("appSlug"), doc.Text("appVersion"))
	if err != nil {
		return err
	}
	var was *workspace.Item
	if exists && before.App == doc.Text("appSlug") {
		was = &before
	}
	if !found {
		p.warnAt("app_missing", path, "appSlug", "the app "+doc.Text("appSlug")+" is not published here: the instance works once it is")
		if was != nil {
			b.sealed = was.Sealed
		}
		return nil
	}
	b.app = &app
	if app.WorkspaceID == p.of.ID {
		p.warnAt("app_contains_itself", path, "appSlug", "an app cannot contain itself: the instance has no effect")
	}
	p.warnOfConfig(path, app, doc)
	if b.doc, b.sealed, err = c.seal(ctx, p.of.ID, doc, app, was); err != nil || was == nil {
		return err
	}
	for key, value := range was.Sealed { // files never have them
		if b.sealed == nil {
			b.sealed = map[string][]byte{}
		}
		if b.sealed[key] == nil && len(b.sealed) < maxSecrets {
			b.sealed[key] = value
		}
	}
	return nil
}

// warnOfConfig tells which settings of an app instance do not fit the schema of its app.
// They are kept as they are: reading them raises.
func (p *plan) warnOfConfig(path string, app App, doc *document.Map) {
	for _, f := range ConfigFaults(app, doc) {
		p.warnAt("invalid_config", path, f.Field, f.Field+": "+f.Message)
	}
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
