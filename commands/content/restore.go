package content

import (
	"bytes"
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

// RestoreOptions are how earlier content is put back.
type RestoreOptions struct {
	DryRun bool  // change nothing
	Secure bool  // the caller may change the security document
	Judge  Judge // nil: the caller may do everything to documents
}

// Restore switches the content of a workspace back to what it was after the
// change at, or before, a sequence; from is how the event names that moment. Where
// the workspace runs stays: its slug, hosts and repositories.
func (c *Content) Restore(ctx context.Context, workspaceID string, seq uint64, from workspace.From, o RestoreOptions) (Result, error) {
	then, err := c.Library.At(ctx, workspaceID, seq)
	if err != nil {
		return Result{}, err
	}
	if len(then) == 0 {
		return Result{}, domain.Refuse(domain.CodeNotFound, "the workspace did not exist at that time").With("resource", "workspace").With("id", workspaceID)
	}
	return c.putBack(ctx, workspaceID, from, o, func(s workspace.State) (plan, error) {
		return c.planRestore(ctx, s, then, o)
	})
}

// putBack plans on the present content and carries it out in one step, until
// nothing comes in between.
func (c *Content) putBack(ctx context.Context, workspaceID string, from workspace.From, o RestoreOptions, planOn func(workspace.State) (plan, error)) (Result, error) {
	if !o.DryRun {
		done, err := c.turns.Take(ctx, workspaceID)
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
		if err := c.writable(now.State, workspaceID); err != nil {
			return Result{}, err
		}
		p, err := planOn(now.State)
		if err == nil {
			err = c.judged(ctx, p, o.Judge)
		}
		if err != nil {
			return Result{}, err
		}
		result := p.result(workspaceID, "", nil)
		if o.DryRun || p.empty() {
			return result, nil
		}
		done, err := c.switchBack(ctx, p, from, result)
		if errors.Is(err, ErrMoved) {
			if try < maxTries {
				continue
			}
			err = domain.Refuse(domain.CodeConflict, "the workspace is being changed by others, try again").Reason("stale")
		}
		result.Seq, result.Changed = done.Seq, done.Changed
		return result, named(err, workspaceID)
	}
}

// writable refuses content writes on a workspace that is locked or gone.
func (c *Content) writable(s workspace.State, id string) error {
	if s.ID == "" || s.Deleted != nil {
		return domain.Refuse(domain.CodeNotFound, "there is no such workspace").With("resource", "workspace").With("id", id)
	}
	return workspace.CheckContent(s, c.now())
}

// switchBack carries a plan out.
func (c *Content) switchBack(ctx context.Context, p plan, from workspace.From, result Result) (commands.Workspace, error) {
	if err := c.putDown(ctx, &p); err != nil {
		return commands.Workspace{}, err
	}
	told := workspace.Restore{From: from}
	var cut [2]bool
	told.Files, cut[0] = fitting(result.Imported, func(path string) int { return len(path) + 3 })
	told.Deleted, cut[1] = fitting(result.Deleted, func(path string) int { return len(path) + 3 })
	if cut[0] || cut[1] {
		told.Truncated, told.FilesCount, told.DeletedCount = true, len(result.Imported), len(result.Deleted)
	}
	done, err := c.Workspaces.Write(ctx, p.of.ID, workspace.Replace{Switch: p.to, Restore: &told}, p.unmoved)
	return done, again(err)
}

// planRestore says what makes the content what it was then.
func (c *Content) planRestore(ctx context.Context, s workspace.State, then map[string]Ref, o RestoreOptions) (plan, error) {
	p := plan{of: s}
	index, err := c.Library.Document(ctx, s.ID, then["index"])
	if err != nil {
		return p, err
	}
	if was := index.Text("slug"); was != s.Settings.Slug {
		p.warn("slug_kept", "index", "the slug was "+was+" then: it stays "+s.Settings.Slug)
		index.Set("slug", s.Settings.Slug)
	}
	if err := p.resettle(index, then["index"].Untold, o); err != nil {
		return p, err
	}
	if err := c.resecure(ctx, &p, then["security"], o); err != nil {
		return p, err
	}
	stays := func(path string) bool { return then[path].Hash != "" }
	for _, path := range slices.Sorted(maps.Keys(then)) {
		if folder, _ := workspace.Folder(path); kinds[folder] == nil {
			continue
		}
		if err := c.revive(ctx, &p, path, then[path], revival{stays: stays, judge: o.Judge}); err != nil {
			return p, err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.Items)) {
		if !stays(path) {
			p.drop(path)
		}
	}
	p.settled()
	return p, nil
}

// settled leaves out what cannot be. A document that moves is not deleted where
// it was; one that cannot move stays there.
func (p *plan) settled() {
	moving := map[string]string{}
	for _, e := range p.to.Entries {
		if e.From != "" {
			moving[e.From] = e.Path
		}
	}
	p.clashes()
	p.to.Deleted = slices.DeleteFunc(p.to.Deleted, func(path string) bool { return moving[path] != "" })
	for _, e := range p.to.Entries {
		delete(moving, e.From)
	}
	p.deleted = slices.DeleteFunc(p.deleted, func(path string) bool { return moving[path] != "" })
}

// resettle changes the settings to those of an index document, of which events did not
// tell all. Whoever may not manage the security does not let pages run scripts by going
// back in time.
func (p *plan) resettle(index *document.Map, untold workspace.Untold, o RestoreOptions) error {
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
	if !document.Equal(next.Index(), now.Index()) {
		p.settle(next, untold)
	}
	return nil
}

// resecure changes the security document to an earlier one. One that is not
// acceptable any more, such as without a role that somebody has, is told of and
// left out.
func (c *Content) resecure(ctx context.Context, p *plan, ref Ref, o RestoreOptions) error {
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
	p.secure(next, o.Secure)
	return nil
}

// revival is how documents are put back.
type revival struct {
	stays func(path string) bool // which paths will have a document
	judge Judge
	from  string // where the document is now, if it is known to have been renamed
}

// revive puts a document back as it was, unless it is so now. Its body is in the
// content store already.
func (c *Content) revive(ctx context.Context, p *plan, path string, ref Ref, r revival) error {
	before, exists := p.of.Items[path]
	if exists && before.Hash == ref.Hash && maps.EqualFunc(before.Sealed, ref.Sealed, bytes.Equal) {
		return nil
	}
	doc, err := c.Library.Document(ctx, p.of.ID, ref)
	if err != nil {
		return err
	}
	folder, _ := workspace.Folder(path)
	id, from := "", r.from
	switch folder {
	case "pages":
		id, from = p.pageID(ctx, path, ref.ID, r.stays)
		from = cmp.Or(r.from, from)
		doc, err = p.unshared(r.judge, path, cmp.Or(from, path), doc)
	case instances:
		var hidden bool
		if hidden, err = p.hidden(ctx, r.judge, path, doc); hidden {
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
	e, err := c.entry(kinds[folder], doc, nil)
	if err != nil {
		return err
	}
	if e.Hash == ref.Hash {
		e.Body, e.About, e.Apart = nil, nil, ref.Apart
	}
	e.Sealed, e.Untold, e.ID, e.From = ref.Sealed, ref.Untold, id, from
	p.put(e, doc)
	return nil
}

// pageID returns the id of a page that is put back: that of the page which is
// there now, else the one it had. When the page is under another path now, it
// moves back from there, with whom it is shared.
func (p *plan) pageID(ctx context.Context, path, had string, stays func(string) bool) (id, from string) {
	if before, exists := p.of.Items[path]; exists {
		return before.ID, ""
	}
	now := p.of.PageOf(had)
	switch {
	case had == "" || now != "" && stays(now):
		return commands.NewID(ctx, 7), ""
	case now != "":
		return had, now
	}
	return had, ""
}
