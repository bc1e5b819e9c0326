package content

import (
	"context"
	"errors"

	"svc/commands"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
)

// SharePage shares a page with a target. With everyone that changes the page, as
// any other change of content does; with others it changes nothing of it.
func (c *Content) SharePage(ctx context.Context, workspaceID, pageID string, share access.Share) (commands.Workspace, error) {
	if !share.Target.Public {
		done, err := c.Workspaces.Execute(ctx, workspaceID, workspace.SharePage{PageID: pageID, Share: share})
		return done, named(err, workspaceID)
	}
	return c.openPage(ctx, workspaceID, pageID, true, func(e *workspace.Entry) workspace.Command {
		return workspace.SharePage{PageID: pageID, Share: share, Entry: e}
	})
}

// UnsharePage stops sharing a page with a target, named as paths name it.
func (c *Content) UnsharePage(ctx context.Context, workspaceID, pageID, target string) (commands.Workspace, error) {
	if target != (access.Target{Public: true}).String() {
		done, err := c.Workspaces.Execute(ctx, workspaceID, workspace.UnsharePage{PageID: pageID, Target: target})
		return done, named(err, workspaceID)
	}
	return c.openPage(ctx, workspaceID, pageID, false, func(e *workspace.Entry) workspace.Command {
		return workspace.UnsharePage{PageID: pageID, Target: target, Entry: e}
	})
}

// openPage makes a page public, or not public any more. The entry that says so is
// made of the page as it is; when the page moves meanwhile, it is made again.
func (c *Content) openPage(ctx context.Context, workspaceID, pageID string, public bool, with func(*workspace.Entry) workspace.Command) (commands.Workspace, error) {
	for attempt := 1; ; attempt++ {
		now, err := c.Workspaces.Get(ctx, workspaceID)
		if err != nil {
			return commands.Workspace{}, err
		}
		path := now.State.PageOf(pageID)
		item := now.State.Items[path]
		var entry *workspace.Entry
		if path != "" && item.Public != public {
			if entry, err = c.published(ctx, workspaceID, now.Seq, path, public); err != nil {
				return commands.Workspace{}, err
			}
			entry.ID = item.ID
		}
		done, err := c.Workspaces.Write(ctx, workspaceID, with(entry), func(s workspace.State) error {
			if at := s.PageOf(pageID); at != path || s.Items[at].Hash != item.Hash {
				return ErrMoved
			}
			return nil
		})
		if errors.Is(err, ErrMoved) && attempt < attempts*10 {
			continue
		}
		return done, named(err, workspaceID)
	}
}

// published is the page at a path with, or without, public in it.
func (c *Content) published(ctx context.Context, workspaceID string, seq uint64, path string, public bool) (*workspace.Entry, error) {
	refs, err := c.Library.At(ctx, workspaceID, seq)
	if err != nil {
		return nil, err
	}
	doc, err := c.Library.Document(ctx, workspaceID, refs[path])
	if err != nil {
		return nil, err
	}
	if doc.Delete("public"); public {
		doc.Set("public", true)
	}
	e, err := c.entry(document.Page, doc, nil)
	if err == nil {
		err = c.setApart(ctx, &e)
	}
	return &e, err
}
