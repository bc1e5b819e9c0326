package content

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"svc/commands"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// RestoreOptions say how earlier content is restored.
type RestoreOptions struct {
	DryRun     bool       // change nothing
	Secure     bool       // the caller may change the security document
	Authorizer Authorizer // nil: the caller may do everything to documents
}

// Restore switches the content of a workspace back to what it was after the
// change at, or before, a sequence; from is how the event names that moment. Where
// the workspace runs stays: its slug, hosts and repositories.
func (c *Content) Restore(ctx context.Context, workspaceID string, seq uint64, from workspace.From, o RestoreOptions) (Result, error) {
	return c.restoreTo(ctx, workspaceID, from, o, func(now commands.Workspace) (plan, error) {
		was, err := c.changedSince(ctx, now, seq)
		if err != nil {
			return plan{}, err
		}
		if index, changed := was["index"]; changed && index.Hash == "" {
			return plan{}, domain.Refuse(domain.CodeNotFound, "the workspace did not exist at that time").With("resource", "workspace").With("id", workspaceID)
		}
		return c.planRestore(ctx, now.State, was, o)
	})
}

// changedSince returns at least those documents of the current content that were different after the change at, or
// before, a sequence, as they were then.
func (c *Content) changedSince(ctx context.Context, now commands.Workspace, seq uint64) (map[string]Ref, error) {
	was, known, err := c.Library.ChangedAfter(ctx, now.State.ID, seq, now.Seq)
	if err != nil || known {
		return was, err
	}
	if was, err = c.Library.At(ctx, now.State.ID, seq); err != nil {
		return nil, err
	}
	addMissing := func(path string) {
		if _, had := was[path]; !had {
			was[path] = Ref{}
		}
	}
	addMissing("index")
	for path := range now.State.Items.Paths() {
		addMissing(path)
	}
	return was, nil
}

// restoreTo plans on the current content and applies the plan in one step, again when the
// content changed meanwhile.
func (c *Content) restoreTo(ctx context.Context, workspaceID string, from workspace.From, o RestoreOptions, planOn func(commands.Workspace) (plan, error)) (Result, error) {
	if !o.DryRun {
		done, err := c.turns.Acquire(ctx, workspaceID)
		if err != nil {
			return Result{}, err
		}
		defer done()
	}
	for try := 1; ; try++ {
		now, err := c.Workspaces.Get(ctx, workspaceID)
		if err != nil {
			return Result{}, err
		}
		if err := c.checkWritable(now.State, workspaceID); err != nil {
			return Result{}, err
		}
		p, err := planOn(now)
		if err == nil {
			err = c.checkPlan(ctx, p, o.Authorizer)
		}
		if err != nil {
			return Result{}, err
		}
		result := p.result(workspaceID, "", nil)
		if o.DryRun || p.empty() {
			return result, nil
		}
		done, err := c.switchRestored(ctx, p, from, result)
		if errors.Is(err, ErrMoved) {
			if try < maxTries {
				continue
			}
			err = domain.Refuse(domain.CodeConflict, "the workspace is being changed by others, try again").Reason("stale")
		}
		result.Seq, result.Changed = done.Seq, done.Changed
		return result, withWorkspace(err, workspaceID)
	}
}

// checkWritable refuses content writes on a workspace that is locked or deleted.
func (c *Content) checkWritable(s workspace.State, id string) error {
	if s.ID == "" || s.Deleted != nil {
		return domain.Refuse(domain.CodeNotFound, "there is no such workspace").With("resource", "workspace").With("id", id)
	}
	return workspace.CheckContent(s, c.now())
}

// switchRestored applies a plan.
func (c *Content) switchRestored(ctx context.Context, p plan, from workspace.From, result Result) (commands.Workspace, error) {
	if err := c.stageEntries(ctx, &p); err != nil {
		return commands.Workspace{}, err
	}
	event := workspace.Restore{From: from}
	var cut [2]bool
	event.Files, cut[0] = truncateList(result.Imported, func(path string) int { return len(path) + 3 })
	event.Deleted, cut[1] = truncateList(result.Deleted, func(path string) int { return len(path) + 3 })
	if cut[0] || cut[1] {
		event.Truncated, event.FilesCount, event.DeletedCount = true, len(result.Imported), len(result.Deleted)
	}
	done, err := c.Workspaces.Write(ctx, p.of.ID, workspace.Replace{Switch: p.to, Restore: &event}, p.checkUnmoved)
	return done, asMoved(err)
}

// planRestore plans the way back to earlier content: was has the documents that may have changed since.
func (c *Content) planRestore(ctx context.Context, s workspace.State, was map[string]Ref, o RestoreOptions) (plan, error) {
	p := plan{of: s}
	if ref, changed := was["index"]; changed {
		index, err := c.Library.Document(ctx, s.ID, ref)
		if err != nil {
			return p, err
		}
		if slug := index.Text("slug"); slug != s.Settings.Slug {
			p.warn("slug_kept", "index", "the slug was "+slug+" then: it stays "+s.Settings.Slug)
			index.Set("slug", s.Settings.Slug)
		}
		if err := p.restoreSettings(index, ref.HiddenPaths, o); err != nil {
			return p, err
		}
	}
	if ref, changed := was["security"]; changed {
		if err := c.restoreSecurity(ctx, &p, ref, o); err != nil {
			return p, err
		}
	}
	stays := func(path string) bool {
		if ref, changed := was[path]; changed {
			return ref.Hash != ""
		}
		return s.Items.Has(path)
	}
	paths := slices.Sorted(maps.Keys(was))
	for _, path := range paths {
		if folder, _ := workspace.Folder(path); kinds[folder] == nil || !stays(path) {
			continue
		}
		if err := c.restoreDocument(ctx, &p, path, was[path], restoreContext{stays: stays, authorizer: o.Authorizer}); err != nil {
			return p, err
		}
	}
	for _, path := range paths {
		if s.Items.Has(path) && !stays(path) {
			p.drop(path)
		}
	}
	p.dropImpossible()
	return p, nil
}

// dropImpossible drops conflicting entries. A document that moves is not deleted at its old
// path; one that cannot move stays there.
func (p *plan) dropImpossible() {
	moving := map[string]string{}
	for _, e := range p.to.Entries {
		if e.From != "" {
			moving[e.From] = e.Path
		}
	}
	p.dropConflicting()
	p.to.Deleted = slices.DeleteFunc(p.to.Deleted, func(path string) bool { return moving[path] != "" })
	for _, e := range p.to.Entries {
		delete(moving, e.From)
	}
	p.deleted = slices.DeleteFunc(p.deleted, func(path string) bool { return moving[path] != "" })
}

// restoreSettings changes the settings to those of an index document; untold are the paths that
// events did not contain. Without the permission manage_security, allowUnsecurePages and models stay.
func (p *plan) restoreSettings(index *document.Map, untold workspace.HiddenPaths, o RestoreOptions) error {
	next, err := workspace.FromIndex(index)
	if err != nil {
		return err
	}
	now := p.of.Settings
	next.CustomDomains, next.Repositories, next.Credentials = now.CustomDomains, now.Repositories, now.Credentials
	if next.AllowUnsecurePages != now.AllowUnsecurePages && !o.Secure {
		next.AllowUnsecurePages = now.AllowUnsecurePages
		p.warn("security_excluded", "index", "allowUnsecurePages was not changed: that needs the permission manage_security")
	}
	if !document.Equal(next.Models, now.Models) && !o.Secure {
		next.Models = now.Models
		p.warn("security_excluded", "index", "models was not changed: that needs the permission manage_security")
	}
	if !document.Equal(next.Index(), now.Index()) {
		p.setSettings(next, untold)
	}
	return nil
}

// restoreSecurity changes the security document to an earlier one. One that is not valid any
// more, such as without a role that is in use, is an error of the plan.
func (c *Content) restoreSecurity(ctx context.Context, p *plan, ref Ref, o RestoreOptions) error {
	doc, err := c.Library.Document(ctx, p.of.ID, ref)
	if err != nil {
		return err
	}
	next, err := readSecurity(p.of.ID, doc)
	if err == nil {
		err = next.Security.Validate(p.of.Shares)
	}
	if refusal, ok := errors.AsType[*domain.Error](err); ok && o.Secure {
		p.fail("security_refused", "security", "", refusal.Message)
		return nil
	}
	if next == nil {
		return err
	}
	p.setSecurity(next, o.Secure)
	return nil
}

// restoreContext says how documents are restored.
type restoreContext struct {
	stays      func(path string) bool // which paths will have a document
	authorizer Authorizer
	from       string // where the document is now, if it is known to have been renamed
}

// restoreDocument restores a document, unless it is unchanged. Its body is stored already.
func (c *Content) restoreDocument(ctx context.Context, p *plan, path string, ref Ref, r restoreContext) error {
	before, exists := p.of.Items.Get(path)
	if exists && before.Hash == ref.Hash && maps.EqualFunc(before.Sealed, ref.Sealed, bytes.Equal) {
		return nil
	}
	doc, err := c.Library.Document(ctx, p.of.ID, ref)
	if err != nil {
		return err
	}
	folder, _ := workspace.Folder(path)
	id, from := "", r.from
	if folder == "pages" || folder == "knowledge" || folder == "agents" {
		id, from = p.restoredID(ctx, path, ref.ID, r.stays)
		from = cmp.Or(r.from, from)
	}
	switch folder {
	case "pages", "agents":
		if doc, err = p.preservePublic(r.authorizer, path, cmp.Or(from, path), doc); err == nil && folder == "agents" {
			doc = p.limitAccess(r.authorizer, path, doc)
		}
	case instances:
		var hidden bool
		if hidden, err = p.isHiddenApp(ctx, r.authorizer, path, doc); hidden {
			return nil
		}
		if app, found, missing := c.Apps.App(ctx, doc.Text("appSlug"), doc.Text("appVersion")); err == nil && found {
			p.warnOfConfig(path, app, doc)
		} else if err == nil {
			err = missing
		}
	}
	if err != nil {
		return err
	}
	e, err := c.newEntry(kinds[folder], doc, nil)
	if err != nil {
		return err
	}
	if e.Hash == ref.Hash {
		e.Body, e.About, e.Apart = nil, nil, ref.Apart
	}
	e.Sealed, e.HiddenPaths, e.ID, e.From = ref.Sealed, ref.HiddenPaths, id, from
	p.put(e, doc)
	return nil
}

// restoredID returns the id of a restored page or knowledge base: that of the one which is there now, else
// the one it had. When it is at another path now, it moves back from there, with its shares.
func (p *plan) restoredID(ctx context.Context, path, had string, stays func(string) bool) (id, from string) {
	if before, exists := p.of.Items.Get(path); exists {
		return before.ID, ""
	}
	now := p.of.PathOf(had)
	switch {
	case had == "" || now != "" && stays(now):
		folder, _ := workspace.Folder(path)
		return newDocumentID(ctx, folder), ""
	case now != "":
		return had, now
	}
	return had, ""
}

// Undo restores the parts that the change at a sequence touched. It refuses a change whose
// parts were changed again later.
func (c *Content) Undo(ctx context.Context, workspaceID string, seq uint64, o RestoreOptions) (Result, error) {
	token := tokenOf(seq)
	return c.restoreTo(ctx, workspaceID, workspace.From{Undo: token}, o, func(now commands.Workspace) (plan, error) {
		change, err := c.findUndoable(ctx, workspaceID, seq)
		if err != nil {
			return plan{}, err
		}
		u := undoState{of: change}
		if u.was, u.changed, err = c.Library.ChangedBy(ctx, workspaceID, seq); err != nil {
			return plan{}, err
		}
		return c.planUndo(ctx, now.State, u, o)
	})
}

func tokenOf(seq uint64) string { return domain.At(domain.State, seq).Token() }

// undoState is a change with the documents that it touched, before and after it.
type undoState struct {
	of           Change
	was, changed map[string]Ref
}

// findUndoable returns the change at a sequence, or why it cannot be undone.
func (c *Content) findUndoable(ctx context.Context, workspaceID string, seq uint64) (Change, error) {
	change, err := c.Library.Change(ctx, workspaceID, seq)
	switch {
	case err != nil:
		return change, err
	case !change.Found:
		return change, domain.Refuse(domain.CodeNotFound, "there is no such change").With("resource", "change").With("id", tokenOf(seq))
	case change.Creation:
		return change, domain.Invalid(domain.FieldError{Field: "seq", Message: "created the workspace and cannot be undone"})
	case !change.Content:
		return change, domain.Invalid(domain.FieldError{Field: "seq", Message: "is not a change of content and cannot be undone"})
	case len(change.Superseded) > 0:
		return change, superseded(change.Superseded)
	}
	return change, nil
}

// superseded is the refusal of a change that later ones built upon.
func superseded(by []uint64) error {
	slices.Sort(by)
	tokens := make([]string, len(by))
	for i, seq := range by {
		tokens[i] = tokenOf(seq)
	}
	return domain.Refuse(domain.CodeConflict, "later changes touched the same documents: undo them first, or restore an earlier state").
		Reason("superseded").With("by", tokens)
}

// planUndo plans to restore the parts of a change.
func (c *Content) planUndo(ctx context.Context, s workspace.State, u undoState, o RestoreOptions) (plan, error) {
	p := plan{of: s}
	var fields []string
	for _, part := range u.of.Parts {
		field, ofIndex := strings.CutPrefix(part, "index#")
		var err error
		switch {
		case ofIndex:
			fields = append(fields, field)
		case part == "security":
			err = c.undoSecurity(ctx, &p, u, o)
		default:
			err = c.undoDocument(ctx, &p, part, u, o.Authorizer)
		}
		if err != nil {
			return p, err
		}
	}
	if err := c.undoIndex(ctx, &p, fields, u, o); err != nil {
		return p, err
	}
	p.dropImpossible()
	return p, nil
}

// undoDocument restores the document at a path. It must not have changed since.
func (c *Content) undoDocument(ctx context.Context, p *plan, path string, u undoState, authorizer Authorizer) error {
	changed, was := u.changed[path], u.was[path]
	now := p.of.Items.At(path) // the zero Item when there is none
	if now.Hash != changed.Hash || !maps.EqualFunc(now.Sealed, changed.Sealed, bytes.Equal) {
		return superseded(nil)
	}
	if was.Hash == "" {
		if now.Hash != "" {
			p.drop(path)
		}
		return nil
	}
	stays := func(other string) bool { return u.was[other].Hash != "" || u.changed[other].Hash == "" } // what it did not touch stays
	return c.restoreDocument(ctx, p, path, was, restoreContext{stays: stays, authorizer: authorizer, from: u.renamedFrom(path)})
}

// renamedFrom returns where the document that was at a path is since the change,
// if all that the change did was to rename it.
func (u undoState) renamedFrom(path string) string {
	if len(u.of.Parts) != 2 || u.was[path].Hash == "" || u.changed[path].Hash != "" {
		return ""
	}
	other := u.of.Parts[0]
	if other == path {
		other = u.of.Parts[1]
	}
	folder, _ := workspace.Folder(path)
	otherFolder, _ := workspace.Folder(other)
	if folder != otherFolder || u.was[other].Hash != "" || u.changed[other].Hash == "" || u.changed[other].ID != u.was[path].ID {
		return ""
	}
	return other
}

// undoSecurity restores the security document.
func (c *Content) undoSecurity(ctx context.Context, p *plan, u undoState, o RestoreOptions) error {
	now, err := document.JSON(workspace.SecurityChange{Security: p.of.Security, Source: p.of.SecuritySource}.Document())
	if err != nil {
		return err
	}
	if workspace.HashOf(now) != u.changed["security"].Hash {
		return superseded(nil)
	}
	return c.restoreSecurity(ctx, p, u.was["security"], o)
}

// undoIndex restores single fields of the index: the others may have changed since.
func (c *Content) undoIndex(ctx context.Context, p *plan, fields []string, u undoState, o RestoreOptions) error {
	if len(fields) == 0 {
		return nil
	}
	was, err := c.Library.Document(ctx, p.of.ID, u.was["index"])
	if err != nil {
		return err
	}
	changed, err := c.Library.Document(ctx, p.of.ID, u.changed["index"])
	if err != nil {
		return err
	}
	next := p.of.Settings.Index()
	for _, field := range fields {
		if !revertField(next, changed, was, field) {
			return superseded(nil)
		}
	}
	return p.restoreSettings(next, u.was["index"].HiddenPaths, o)
}

// revertField restores a field of an index, or one block of it. It returns false when the field
// has changed since.
func revertField(index, changed, was *document.Map, field string) bool {
	name, inBlocks := strings.CutPrefix(field, "blocks/")
	if !inBlocks {
		return revertKey(index, changed, was, field)
	}
	blocks := blocksOf(index).Copy()
	if !revertKey(blocks, blocksOf(changed), blocksOf(was), name) {
		return false
	}
	index.Set("blocks", blocks)
	return true
}

func blocksOf(index *document.Map) *document.Map {
	v, _ := index.Get("blocks")
	blocks, ok := v.(*document.Map)
	if !ok {
		return document.MapOf()
	}
	return blocks
}

func revertKey(doc, changed, was *document.Map, key string) bool {
	now, exists := doc.Get(key)
	after, given := changed.Get(key)
	if exists != given || !document.Equal(now, after) {
		return false
	}
	if before, had := was.Get(key); had {
		doc.Set(key, before)
	} else {
		doc.Delete(key)
	}
	return true
}
