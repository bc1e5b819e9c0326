package content

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"svc/commands"
	"svc/commands/archive"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/slug"
	"svc/domain/workspace"
)

// CreateFrom creates a workspace from a tree, in one step. id is its id, "" for the id in the
// tree; it gets another one when that was ever used. The caller owns it. With o.Held, the id and
// the slug are fixed, and it is refused when they are in use.
func (c *Content) CreateFrom(ctx context.Context, id string, tree archive.Tree, o ImportOptions) (Result, error) {
	reading, err := c.read(tree, "", o)
	if err != nil {
		return Result{}, err
	}
	if reading.Content.Index == nil { // its checksum is wrong
		return Result{}, domain.Refuse(domain.CodeValidation, "%s: %s", reading.Errors[0].Filepath, reading.Errors[0].Msg).
			Reason("invalid_index").With("errors", reading.Errors)
	}
	o.Secure, o.Publish, o.Prune, o.Excludes = true, true, false, nil // the owner may change everything
	if o.Authorizer != nil {
		o.Authorizer = ownerAuthorizer{o.Authorizer}
	}
	if id == "" {
		id = exportedID(reading)
	}
	operation := o.Operation.operation(ctx)
	for try := 1; ; try++ {
		result, err := c.createWithID(ctx, id, operation, reading, o)
		if errors.Is(err, errUsed) && try < maxTries {
			id = ""
			continue
		}
		if errors.Is(err, ErrMoved) && try < maxTries {
			continue
		}
		if err != nil || o.DryRun {
			return result, err
		}
		c.publishApp(ctx, &result, o)
		return result, nil
	}
}

// wellFormed matches ids in the form of the service.
var wellFormed = regexp.MustCompile(`^[0-9A-Za-z_-]{7}$`)

// IsID reports whether an id has the form of the ids of the service.
func IsID(id string) bool { return wellFormed.MatchString(id) }

// exportedID returns the id that a tree was exported with, if it has one.
func exportedID(r *archive.Reading) string {
	if r.Import != nil && r.Import.WorkspaceID != "" {
		return r.Import.WorkspaceID
	}
	return r.Content.Index.Text("id")
}

// errUsed says that an id belongs to another workspace, or did.
var errUsed = errors.New("content: the id was used before")

// createWithID creates the workspace with an id, or with a new one when that is "".
func (c *Content) createWithID(ctx context.Context, id, operation string, r *archive.Reading, o ImportOptions) (Result, error) {
	if !IsID(id) {
		id = commands.NewID(ctx, 7)
	}
	now, err := c.Workspaces.Get(ctx, id)
	if err != nil {
		return Result{}, err
	}
	p, err := c.planImport(ctx, workspace.State{ID: id, Security: access.Default(id)}, r, o)
	if err != nil {
		return Result{}, err
	}
	c.importRepositories(&p, r.Content.Index)
	if o.Operation != nil {
		p.to.Settings.Slug = o.Operation.Slug
	} else if err := c.chooseSlug(ctx, &p); err != nil {
		return Result{}, err
	}
	result := p.result(id, operation, r)
	if now.State.ID != "" && o.Operation == nil {
		return c.findRepeated(ctx, p, result)
	}
	if err := p.strict(o); err != nil || o.DryRun {
		return result, err
	}
	if err := c.stageEntries(ctx, &p); err != nil {
		return Result{}, err
	}
	create, err := c.createCommand(p, result, o.Operation)
	if err != nil {
		return Result{}, err
	}
	done, err := c.Workspaces.Make(ctx, create)
	if refusal, ok := errors.AsType[*domain.Error](err); ok && refusal.Code == domain.CodeAlreadyExists && o.Operation == nil {
		if refusal.Details["field"] == "id" {
			return Result{}, errUsed
		}
		return Result{}, ErrMoved // the slug was claimed meanwhile
	}
	result.Seq, result.Changed = done.Seq, true
	return result, asMoved(err)
}

// createCommand returns the command that creates the planned workspace.
func (c *Content) createCommand(p plan, result Result, op *ImportOperation) (create workspace.Create, err error) {
	event := importEvent(workspace.Named{}, result) // the decision names the workspace
	create = workspace.Create{
		ID: p.of.ID, Settings: *p.to.Settings, Security: p.to.Security, Entries: p.to.Entries, Stage: p.to.Stage, Import: &event,
		MaxBases: c.maxBases(),
	}
	if op != nil {
		event.Version = op.Version
		create.Sync, err = op.integrate(p)
	}
	return create, err
}

// findRepeated returns the result of this request when it created the workspace before and is
// repeated; else errUsed.
func (c *Content) findRepeated(ctx context.Context, p plan, result Result) (Result, error) {
	p.to.Entries = nil
	create, err := c.createCommand(p, result, nil)
	if err != nil {
		return Result{}, err
	}
	done, err := c.Workspaces.Make(ctx, create)
	if domain.CodeOf(err) == domain.CodeAlreadyExists {
		err = errUsed
	}
	result.Seq, result.Changed = done.Seq, true
	return result, err
}

// chooseSlug selects the slug of a new workspace: that of the index, or a new one when it is
// not free.
func (c *Content) chooseSlug(ctx context.Context, p *plan) error {
	wanted := p.to.Settings.Slug
	if wanted != "" {
		why := slug.CheckWorkspace(wanted)
		if why == "" {
			holder, err := commands.NameOwner(ctx, c.Workspaces.Engine, commands.Name{Kind: "slug", Value: wanted})
			if err != nil || holder == "" || holder == workspace.Stream(p.of.ID).String() {
				return err
			}
			why = "is used by another workspace"
		}
		p.warnAt("slug_in_use", "index", "slug", "the slug "+wanted+" "+why+": the workspace has got another")
	}
	p.to.Settings.Slug = "" // it gets one
	return nil
}

// Copy is how a workspace is duplicated.
type Copy struct {
	Name string // "": that of the original, and copy
	Slug string // "": a new one
	Seq  uint64 // the moment whose content is copied; 0: now
	// May reports whether the caller may read a document: others are not copied.
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
	entries, err := c.copyDocuments(ctx, workspaceID, refs, o.May)
	if err != nil {
		return commands.Workspace{}, err
	}
	p := plan{of: workspace.State{ID: id}, to: workspace.Switch{Settings: &settings, Security: security, Entries: entries}}
	if err := c.stageEntries(ctx, &p); err != nil {
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
	settings.HiddenPaths = refs["index"].HiddenPaths
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
	return next.WithHiddenOf(now, nil), nil
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
	remaining := slices.DeleteFunc(slices.Clone(rules), func(v any) bool {
		rule, ok := v.(*document.Map)
		return ok && rule.Text("reason") == reason
	})
	if len(remaining) == len(rules) {
		return doc
	}
	doc, authorizations = doc.Copy(), authorizations.Copy()
	authorizations.Set("rules", remaining)
	doc.Set("authorizations", authorizations)
	return doc
}

// copyDocuments are the documents of a workspace as those of another: with ids of their
// own, and without what only the first can open.
func (c *Content) copyDocuments(ctx context.Context, workspaceID string, refs map[string]Ref, may func(string, Ref) bool) (entries []workspace.Entry, err error) {
	for _, path := range slices.Sorted(maps.Keys(refs)) {
		folder, _ := workspace.Folder(path)
		if kinds[folder] == nil || !may(path, refs[path]) {
			continue
		}
		doc, err := c.Library.Document(ctx, workspaceID, refs[path])
		if err != nil {
			return nil, err
		}
		e, err := c.newEntry(kinds[folder], doc, nil)
		if err != nil {
			return nil, err
		}
		e.HiddenPaths, e.ID = refs[path].HiddenPaths, newDocumentID(ctx, folder)
		entries = append(entries, e)
	}
	return entries, nil
}
