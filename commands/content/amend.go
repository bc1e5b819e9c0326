package content

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"svc/commands"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// instances is the folder of app instances.
const instances = "imports"

// CheckInstall refuses what Create would refuse of a new app instance, and changes
// nothing.
func (c *Content) CheckInstall(ctx context.Context, workspaceID string, doc *document.Map) error {
	now, err := c.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return err
	}
	doc = doc.Copy()
	doc.Set("slug", chooseSlug(now.State, document.Import, doc))
	if err := c.roomFor(ctx, workspaceID, "", nil, doc); err != nil {
		return err
	}
	if err := c.checkConfig(ctx, nil, doc); err != nil {
		return err
	}
	return c.checkInstance(ctx, now.State, doc, workspace.Save{Create: true}, nil)
}

// checkInstance goes through everything that saving an instance does, but for
// sealing and saving.
func (c *Content) checkInstance(ctx context.Context, s workspace.State, doc *document.Map, save workspace.Save, before *workspace.Item) error {
	if err := checkSlug(document.Import, doc.Text("slug")); err != nil {
		return err
	}
	faults, _ := c.Check(document.Import, doc)
	if err := refusal(tolerant(document.Import, faults)); err != nil {
		return err
	}
	if _, _, err := c.installable(ctx, s.ID, doc, before); err != nil {
		return err
	}
	save.Entry.Path, save.Entry.Hash = instances+"/"+doc.Text("slug"), "not made"
	_, err := workspace.Decider.Decide(s, save)
	return err
}

// Amendment changes an app instance.
type Amendment struct {
	// Change returns what the instance is to become. It gets the document as it is
	// now, with a mask for every setting that is sealed, and may keep the mask.
	Change  func(*document.Map) (*document.Map, error)
	IfMatch string // the ETag the caller saw, if any
	DryRun  bool   // refuse what would be refused, and change nothing
	// Untold returns what of the config that it is to have is not to be told; nil: nothing
	// but what was not before.
	Untold func(config any) workspace.Untold
}

// Amend changes the app instance with this slug; with another slug it is renamed.
// What others change at the same time is never lost: the change is made of what
// they left.
func (c *Content) Amend(ctx context.Context, workspaceID, slug string, a Amendment) (Saved, error) {
	path := instances + "/" + slug
	for attempt := 1; ; attempt++ {
		now, err := c.Workspaces.Get(ctx, workspaceID)
		if err != nil {
			return Saved{}, err
		}
		item, exists := now.State.Items[path]
		if !exists {
			return Saved{}, domain.Refuse(domain.CodeNotFound, "there is no such appInstance").With("resource", "appInstance").With("id", slug)
		}
		next, untold, err := c.amended(ctx, now, workspaceID, path, a)
		if errors.Is(err, ErrMoved) && attempt < attempts*10 {
			continue
		}
		if err != nil {
			return Saved{}, err
		}
		if next.Text("slug") == "" {
			next.Set("slug", slug)
		}
		if a.DryRun {
			return Saved{}, c.checkInstance(ctx, now.State, next, workspace.Save{Entry: workspace.Entry{From: path}}, &item)
		}
		done, err := c.saveAmended(ctx, workspaceID, path, next, untold, item, a.IfMatch)
		if !errors.Is(err, ErrMoved) || attempt == attempts*10 {
			return done, named(err, workspaceID)
		}
	}
}

// amended returns what a change makes of the instance at a path, and what of its config is
// not told.
func (c *Content) amended(ctx context.Context, now commands.Workspace, workspaceID, path string, a Amendment) (*document.Map, workspace.Untold, error) {
	refs, err := c.Library.At(ctx, workspaceID, now.Seq)
	if err != nil {
		return nil, nil, err
	}
	if refs[path].Hash != now.State.Items[path].Hash {
		return nil, nil, ErrMoved // the library lags behind the log
	}
	before, err := c.Library.Document(ctx, workspaceID, refs[path])
	if err != nil {
		return nil, nil, err
	}
	masked := Masked(before, refs[path].Sealed, nil)
	next, err := a.Change(masked)
	if err == nil {
		err = c.checkConfig(ctx, masked, next)
	}
	if err != nil {
		return nil, nil, err
	}
	if version := next.Text("appVersion"); version != "" && version != before.Text("appVersion") {
		_, found, err := c.Apps.App(ctx, next.Text("appSlug"), version)
		if err != nil || !found {
			return nil, nil, cmp.Or(err, noApp(next.Text("appSlug")))
		}
	}
	_, slug := workspace.Folder(path)
	if err := c.roomFor(ctx, workspaceID, slug, before, next); err != nil {
		return nil, nil, err
	}
	next = unmasked(next, before, refs[path].Sealed)
	was, _ := before.Get("config")
	config, _ := next.Get("config")
	var more workspace.Untold
	if a.Untold != nil {
		more = a.Untold(config)
	}
	return next, now.State.Items[path].Untold.Still(was, config, more), nil
}

func (c *Content) saveAmended(ctx context.Context, workspaceID, path string, next *document.Map, untold workspace.Untold, before workspace.Item, ifMatch string) (Saved, error) {
	entry, err := c.prepare(ctx, workspaceID, document.Import, next, &before)
	if err != nil {
		return Saved{}, err
	}
	if entry.Untold = untold; entry.Path != path {
		entry.From = path
	}
	unmoved := func(s workspace.State) error {
		if s.Items[path].Revision != before.Revision {
			return ErrMoved
		}
		return nil
	}
	done, err := c.Workspaces.Write(ctx, workspaceID, workspace.Save{Entry: entry}, commands.Matches(ifMatch, commands.ItemRevision(path)), unmoved)
	return saved(done, entry.Path), err
}

// Masked returns an app instance with a mask for each setting that is sealed, and
// for those of secrets that are stored from a time when they were none.
func Masked(doc *document.Map, sealed map[string][]byte, secrets []string) *document.Map {
	value, _ := doc.Get("config")
	if _, passed := value.(string); passed { // a config of the workspace has its own
		return doc
	}
	config, _ := value.(*document.Map)
	masked := config.Copy()
	for _, key := range secrets {
		if v, ok := config.Get(key); ok && !IsReference(v) {
			masked.Set(key, workspace.Mask)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(sealed)) {
		masked.Set(key, workspace.Mask)
	}
	doc = doc.Copy()
	if config != nil || masked.Len() > 0 {
		doc.Set("config", masked)
	}
	return doc
}

// unmasked puts back what was stored in clear and came back as a mask. For another
// app a mask stands for nothing.
func unmasked(next, before *document.Map, sealed map[string][]byte) *document.Map {
	value, _ := before.Get("config")
	stored, _ := value.(*document.Map)
	value, _ = next.Get("config")
	config, ok := value.(*document.Map)
	if !ok {
		return next
	}
	config = config.Copy()
	for key := range sealed {
		if v, _ := config.Get(key); v == workspace.Mask && next.Text("appSlug") != before.Text("appSlug") {
			config.Delete(key)
		}
	}
	for key, v := range stored.All() {
		if sent, _ := config.Get(key); sent == workspace.Mask && sealed[key] == nil {
			config.Set(key, v)
		}
	}
	next = next.Copy()
	next.Set("config", config)
	return next
}
