package node

import (
	"context"
	"net/url"
	"strings"

	"svc/commands/versioning"
	"svc/domain"
	"svc/projections"
)

// openVersioning lets workspaces be saved to repositories and brought back.
func (n *Node) openVersioning(context.Context) error {
	p := n.places
	p.versioning = &versioning.Versioning{
		Workspaces: p.workspaces, Content: p.content, Repositories: p.repositories, Operations: n.operations, Blobs: n.store.Blobs, Log: n.store.Log,
		People: authors{n.models}, Revisions: p.library, Apps: p.library, Git: n.gitOptions,
		Committer: func() (name, email string) { return n.config().Git.CommitterName, n.config().Git.CommitterEmail },
		Host: func() string {
			if u, err := url.Parse(n.config().HTTP.APIURL); err == nil && u.Hostname() != "" {
				return u.Hostname()
			}
			return "localhost"
		},
	}
	for kind, settle := range p.versioning.Settlers() {
		n.operations.Settle(kind, settle)
	}
	return nil
}

// Revision implements versioning.Revisions.
func (l *library) Revision(ctx context.Context, workspaceID string, seq uint64) (revision uint64, err error) {
	if err := l.reach(ctx, seq); err != nil {
		return 0, err
	}
	err = l.models.View(func(r projections.Reader) (err error) {
		revision, err = projections.History{}.Revision(r, workspaceID, seq)
		return err
	})
	if err == nil && revision == 0 {
		err = domain.Refuse(domain.CodeNotFound, "the workspace did not exist at that time").With("resource", "workspace").With("id", workspaceID)
	}
	return revision, err
}

// RolledBack implements versioning.Revisions.
func (l *library) RolledBack(ctx context.Context, workspaceID string, seq uint64, paths []string) (back []string, err error) {
	if err := l.reach(ctx, seq); err != nil {
		return nil, err
	}
	err = l.models.View(func(r projections.Reader) error {
		for _, path := range paths {
			rolled, err := projections.History{}.RolledBack(r, workspaceID, path)
			if err != nil {
				return err
			}
			if rolled {
				back = append(back, path)
			}
		}
		return nil
	})
	return back, err
}

// AppOf implements versioning.Apps.
func (l *library) AppOf(ctx context.Context, workspaceID string) (slug, name string, err error) {
	if err := l.reach(ctx, l.log.Known().State); err != nil {
		return "", "", err
	}
	err = l.models.View(func(r projections.Reader) error {
		app, _, err := projections.Apps{}.Of(r, workspaceID)
		slug, name = app.Slug, app.Name.First()
		return err
	})
	return slug, name, err
}

// authors are the users whom commits are by. It implements versioning.People.
type authors struct{ models *projections.Models }

// Person implements versioning.People.
func (a authors) Person(_ context.Context, userID string) (name, email string, err error) {
	err = a.models.View(func(r projections.Reader) error {
		brief, ok, err := projections.Users{}.Brief(r, userID)
		if err == nil && ok {
			name, email = strings.TrimSpace(brief.FirstName+" "+brief.LastName), brief.Email
		}
		return err
	})
	return name, email, err
}
