package content

import (
	"context"

	"svc/commands"
	"svc/commands/archive"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/slug"
	"svc/domain/workspace"
)

// Held is the operation that imports under a lock which it holds already.
type Held struct {
	OperationID string
	Epoch       uint64
	Version     *workspace.ImportedVersion // what the event says was imported; nil: nothing of that kind
	// Own says that the tree is of the workspace's own repository, where it has
	// the slug that the workspace takes, if nobody else has it.
	Own bool
	// Pull says that the tree was merged already, and commit ids guard its bytes. An
	// archive is verified, and merged into what is there.
	Pull bool
	// Verify says that the bytes are as they stand, and checked against the checksums
	// that are told of them.
	Verify bool
	// Slug is what a workspace that the import makes is called.
	Slug string
	// Integrate returns what the event says about the repository; nil: nothing.
	Integrate func(Outcome) (*workspace.Integration, error)
	Notes     []archive.Item // warnings that were found before
}

// Outcome is what a plan comes to, before it is carried out.
type Outcome struct {
	Errors     int
	Held       map[string]uint64 // what could not be used, and the revision of what stays instead
	RemoteSlug string            // the slug that the source has, when it is taken here
	Kept       bool              // the caller may not take all of it over
}

// pulls reports whether the tree comes from a repository.
func (h *Held) pulls() bool { return h != nil && h.Pull }

// verifies reports whether the tree is checked against checksums.
func (h *Held) verifies() bool { return h == nil || !h.Pull || h.Verify }

func (h *Held) operation(ctx context.Context) string {
	if h == nil {
		return "op_" + commands.NewID(ctx, 20)
	}
	return h.OperationID
}

// fill adds to what is recorded what the operation has to say.
func (h *Held) fill(r *workspace.Replace, p plan) (err error) {
	r.Epoch = h.Epoch
	if h.Version != nil {
		r.Import.Version = h.Version
	}
	r.Sync, err = h.integrate(p)
	return err
}

func (h *Held) integrate(p plan) (*workspace.Integration, error) {
	if h.Integrate == nil {
		return nil, nil
	}
	return h.Integrate(p.outcome())
}

// CheckFile refuses a document that an import would refuse.
func (c *Content) CheckFile(workspaceID string, p archive.Place, doc *document.Map) error {
	return validate(workspaceID, p, doc)
}

func (p plan) outcome() Outcome {
	o := Outcome{Errors: len(p.errors), RemoteSlug: p.foreign, Kept: p.kept}
	for _, path := range p.failed {
		if o.Held == nil {
			o.Held = map[string]uint64{}
		}
		o.Held[path] = p.of.RevisionOf(path)
	}
	return o
}

// slug returns the slug that a workspace has after a pull.
func (c *Content) slug(ctx context.Context, p *plan, incoming string, h *Held) (string, error) {
	own := p.of.Settings.Slug
	if !h.Own || incoming == "" || incoming == own || p.of.ID == domain.Platform {
		return own, nil
	}
	if wrong := slug.CheckWorkspace(incoming); wrong != "" {
		p.foreign = incoming
		p.warnAt("invalid_slug", "index", "slug", "the slug "+incoming+" cannot be one here ("+wrong+"): it stays "+own)
		return own, nil
	}
	holder, err := c.Workspaces.HolderOf(ctx, incoming)
	if err != nil || holder == "" {
		return incoming, err
	}
	p.foreign = incoming
	p.warnAt("slug_in_use", "index", "slug", "the slug "+incoming+" is that of another workspace: it stays "+own)
	p.warnings[len(p.warnings)-1].Details = map[string]any{"slug": incoming, "conflictingWorkspaceId": holder}
	return own, nil
}
