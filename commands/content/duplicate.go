package content

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"svc/commands"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/slug"
	"svc/domain/workspace"
)

// Copy is how a workspace is duplicated.
type Copy struct {
	Name string // "": that of the original, and copy
	Slug string // "": a new one
	Seq  uint64 // the moment whose content is copied; 0: now
	// May tells whether the caller may read a document: others are not copied.
	May func(path string, ref Ref) bool
	// ForOwners gives the copy to the owners of the original, for a caller that is no user and
	// cannot own it: an API key.
	ForOwners bool
}

// removeOnDuplicate is the reason of rules that stay behind.
const removeOnDuplicate = "REMOVE_ON_DUPLICATE"

// Duplicate makes a workspace with the content of another. Whoever asks owns it, or the
// owners of the original do.
// What belongs to where the original runs stays behind: hosts, repositories,
// secrets, shares and some labels and rules. The copy is there whole or not at
// all.
func (c *Content) Duplicate(ctx context.Context, workspaceID string, o Copy) (commands.Workspace, error) {
	now, err := c.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return commands.Workspace{}, err
	}
	if now.State.ID == "" || now.State.Deleted != nil {
		return commands.Workspace{}, domain.Refuse(domain.CodeNotFound, "there is no such workspace").With("resource", "workspace").With("id", workspaceID)
	}
	refs, err := c.Library.At(ctx, workspaceID, cmp.Or(o.Seq, now.Seq))
	if err != nil {
		return commands.Workspace{}, err
	}
	original, err := c.settingsAt(ctx, now.State, refs, o.Seq)
	if err != nil {
		return commands.Workspace{}, err
	}
	settings, err := copySettings(original, o)
	if err != nil {
		return commands.Workspace{}, err
	}
	id := commands.NewID(ctx, 7)
	doc, err := c.Library.Document(ctx, workspaceID, refs["security"])
	if err != nil {
		return commands.Workspace{}, err
	}
	security, err := readSecurity(id, withoutRules(doc, removeOnDuplicate))
	if err != nil {
		return commands.Workspace{}, err
	}
	entries, err := c.copies(ctx, workspaceID, refs, o.May)
	if err != nil {
		return commands.Workspace{}, err
	}
	p := plan{of: workspace.State{ID: id}, to: workspace.Switch{Settings: &settings, Security: security, Entries: entries}}
	if err := c.putDown(ctx, &p); err != nil {
		return commands.Workspace{}, err
	}
	create := workspace.Create{
		ID: id, Settings: settings, Security: security, Entries: p.to.Entries, Stage: p.to.Stage,
		From: &workspace.Named{ID: workspaceID, Slug: now.State.Settings.Slug, Name: now.State.Settings.Name},
	}
	if o.ForOwners {
		create.Owners = append([]string{}, access.Owners(now.State.Shares)...)
	}
	return c.Workspaces.Make(ctx, create)
}

// settingsAt are the settings of a workspace as they were at a sequence; 0: now.
func (c *Content) settingsAt(ctx context.Context, s workspace.State, refs map[string]Ref, seq uint64) (workspace.Settings, error) {
	if seq == 0 {
		return s.Settings, nil
	}
	index, err := c.Library.Document(ctx, s.ID, refs["index"])
	if err != nil {
		return workspace.Settings{}, err
	}
	settings, err := workspace.FromIndex(index)
	settings.Untold = refs["index"].Untold
	return settings, err
}

// copySettings are the settings of a copy.
func copySettings(now workspace.Settings, o Copy) (workspace.Settings, error) {
	next, err := workspace.FromIndex(now.Index())
	if err != nil {
		return next, err
	}
	if next.Slug = o.Slug; o.Slug != "" {
		if wrong := slug.CheckWorkspace(o.Slug); wrong != "" {
			return next, domain.Invalid(domain.FieldError{Field: "slug", Message: wrong})
		}
	}
	if next.Name = o.Name; o.Name == "" {
		next.Name = copyName(now.Name)
	}
	if !domain.IsLine(next.Name, maxName) {
		return next, domain.Invalid(domain.FieldError{Field: "name", Message: "must be 1 to 60 characters without control characters"})
	}
	next.Config = workspace.WithoutSecrets(next.Config)
	next.Labels = slices.DeleteFunc(slices.Clone(next.Labels), func(l string) bool {
		return l == "suggestions" || strings.HasPrefix(l, "production:")
	})
	return next.Follow(now, nil), nil
}

// maxName is how long the name of a workspace may be, in characters.
const maxName = 60

// copyName is the name of a copy, cut so that it says what it is.
func copyName(name string) string {
	const suffix = " copy"
	if r := []rune(name); len(r) > maxName-len(suffix) {
		name = strings.TrimRight(string(r[:maxName-len(suffix)]), " ")
	}
	return name + suffix
}

// withoutRules returns a security document without the rules that have a reason.
func withoutRules(doc *document.Map, reason string) *document.Map {
	value, _ := doc.Get("authorizations")
	authorizations, ok := value.(*document.Map)
	if !ok {
		return doc
	}
	value, _ = authorizations.Get("rules")
	rules, _ := value.([]any)
	kept := slices.DeleteFunc(slices.Clone(rules), func(v any) bool {
		rule, ok := v.(*document.Map)
		return ok && rule.Text("reason") == reason
	})
	if len(kept) == len(rules) {
		return doc
	}
	doc, authorizations = doc.Copy(), authorizations.Copy()
	authorizations.Set("rules", kept)
	doc.Set("authorizations", authorizations)
	return doc
}

// copies are the documents of a workspace as those of another: with ids of their
// own, and without what only the first can open.
func (c *Content) copies(ctx context.Context, workspaceID string, refs map[string]Ref, may func(string, Ref) bool) (entries []workspace.Entry, err error) {
	for _, path := range slices.Sorted(maps.Keys(refs)) {
		folder, _ := workspace.Folder(path)
		if kinds[folder] == nil || !may(path, refs[path]) {
			continue
		}
		doc, err := c.Library.Document(ctx, workspaceID, refs[path])
		if err != nil {
			return nil, err
		}
		e, err := c.entry(kinds[folder], doc, nil)
		if err != nil {
			return nil, err
		}
		if e.Untold = refs[path].Untold; folder == "pages" {
			e.ID = commands.NewID(ctx, 7)
		}
		entries = append(entries, e)
	}
	return entries, nil
}
