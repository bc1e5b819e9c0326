package content

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// Undo puts back what the change of the content at a sequence touched, as it was
// before. It refuses a change that later ones have touched again.
func (c *Content) Undo(ctx context.Context, workspaceID string, seq uint64, o RestoreOptions) (Result, error) {
	token := tokenOf(seq)
	return c.putBack(ctx, workspaceID, workspace.From{Undo: token}, o, func(s workspace.State) (plan, error) {
		change, err := c.undoable(ctx, workspaceID, seq)
		if err != nil {
			return plan{}, err
		}
		u := undoing{of: change, token: token}
		if u.was, err = c.Library.At(ctx, workspaceID, seq-1); err != nil {
			return plan{}, err
		}
		if u.made, err = c.Library.At(ctx, workspaceID, seq); err != nil {
			return plan{}, err
		}
		return c.planUndo(ctx, s, u, o)
	})
}

func tokenOf(seq uint64) string { return domain.At(domain.State, seq).Token() }

// undoing is a change, with the content before and after it.
type undoing struct {
	of        Change
	token     string
	was, made map[string]Ref
}

// undoable returns the change at a sequence, if it can be undone.
func (c *Content) undoable(ctx context.Context, workspaceID string, seq uint64) (Change, error) {
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

// planUndo says what puts the parts of a change back.
func (c *Content) planUndo(ctx context.Context, s workspace.State, u undoing, o RestoreOptions) (plan, error) {
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
			err = c.undoDocument(ctx, &p, part, u, o.Judge)
		}
		if err != nil {
			return p, err
		}
	}
	if err := c.undoIndex(ctx, &p, fields, u, o); err != nil {
		return p, err
	}
	p.settled()
	return p, nil
}

// undoDocument puts the document at a path back. It must be what the change made
// it.
func (c *Content) undoDocument(ctx context.Context, p *plan, path string, u undoing, judge Judge) error {
	made, was := u.made[path], u.was[path]
	now := p.of.Items[path] // the zero Item when there is none
	if now.Hash != made.Hash || !maps.EqualFunc(now.Sealed, made.Sealed, bytes.Equal) {
		return superseded(nil)
	}
	if was.Hash == "" {
		if now.Hash != "" {
			p.drop(path)
		}
		return nil
	}
	stays := func(other string) bool { return u.was[other].Hash != "" || u.made[other].Hash == "" }
	return c.revive(ctx, p, path, was, revival{stays: stays, judge: judge, from: u.renamedFrom(path)})
}

// renamedFrom returns where the document that was at a path is since the change,
// if all that the change did was to rename it.
func (u undoing) renamedFrom(path string) string {
	if len(u.of.Parts) != 2 || u.was[path].Hash == "" || u.made[path].Hash != "" {
		return ""
	}
	other := u.of.Parts[0]
	if other == path {
		other = u.of.Parts[1]
	}
	folder, _ := workspace.Folder(path)
	otherFolder, _ := workspace.Folder(other)
	if folder != otherFolder || u.was[other].Hash != "" || u.made[other].Hash == "" || u.made[other].ID != u.was[path].ID {
		return ""
	}
	return other
}

// undoSecurity puts the security document back.
func (c *Content) undoSecurity(ctx context.Context, p *plan, u undoing, o RestoreOptions) error {
	now, err := document.JSON(workspace.SecurityChange{Security: p.of.Security, Source: p.of.SecuritySource}.Document())
	if err != nil {
		return err
	}
	if workspace.HashOf(now) != u.made["security"].Hash {
		return superseded(nil)
	}
	return c.resecure(ctx, p, u.was["security"], o)
}

// undoIndex puts fields of the index back, one by one: the others may have
// changed since.
func (c *Content) undoIndex(ctx context.Context, p *plan, fields []string, u undoing, o RestoreOptions) error {
	if len(fields) == 0 {
		return nil
	}
	was, err := c.Library.Document(ctx, p.of.ID, u.was["index"])
	if err != nil {
		return err
	}
	made, err := c.Library.Document(ctx, p.of.ID, u.made["index"])
	if err != nil {
		return err
	}
	next := p.of.Settings.Index()
	for _, field := range fields {
		if !putBackField(next, made, was, field) {
			return superseded(nil)
		}
	}
	return p.resettle(next, u.was["index"].Untold, o)
}

// putBackField sets a field of an index, or one block of it, to what it was. It
// refuses when the field is not what was made of it.
func putBackField(index, made, was *document.Map, field string) bool {
	name, inBlocks := strings.CutPrefix(field, "blocks/")
	if !inBlocks {
		return setBack(index, made, was, field)
	}
	blocks := blocksOf(index).Copy()
	if !setBack(blocks, blocksOf(made), blocksOf(was), name) {
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

func setBack(doc, made, was *document.Map, key string) bool {
	now, there := doc.Get(key)
	after, given := made.Get(key)
	if there != given || !document.Equal(now, after) {
		return false
	}
	if before, had := was.Get(key); had {
		doc.Set(key, before)
	} else {
		doc.Delete(key)
	}
	return true
}
