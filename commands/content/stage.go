package content

import (
	"context"
	"encoding/json"
	"errors"

	"svc/commands"
	"svc/domain"
	"svc/domain/workspace"
)

// How many bytes one event carries: of documents in folders, and of the index
// with the security document. When these are more than lightRoots, the others
// are put down before.
const (
	maxEvent   = 400 << 10
	maxRoots   = 560 << 10
	lightRoots = 100 << 10
)

// putDown puts down what is too much for the event of a plan.
func (c *Content) putDown(ctx context.Context, p *plan) (err error) {
	for i := range p.to.Entries {
		if err := c.setApart(ctx, &p.to.Entries[i]); err != nil {
			return err
		}
	}
	roots, err := p.roots()
	if err != nil {
		return err
	}
	p.to.Entries, p.to.Stage, err = c.lay(ctx, p.of.ID, p.to.Entries, roots > lightRoots)
	return err
}

// roots returns how much the event of a plan carries of the index and the
// security document.
func (p *plan) roots() (int, error) {
	body, err := json.Marshal(workspace.Switch{Settings: p.to.Settings, Security: p.to.Security})
	return len(body), err
}

// fits refuses an index and a security document that no event could carry.
func (p *plan) fits() error {
	size, err := p.roots()
	if err != nil || size <= maxRoots {
		return err
	}
	return domain.Refuse(domain.CodeValidation, "the index and the security document are larger than %d bytes together", maxRoots).
		Reason("limit_exceeded").With("limit", "rootBytes").With("value", maxRoots)
}

// lay puts entries down that are too many for one event, or always, and returns
// what the event is to carry instead.
func (c *Content) lay(ctx context.Context, workspaceID string, entries []workspace.Entry, always bool) (inline []workspace.Entry, stage string, err error) {
	parts, err := split(entries)
	if err != nil || len(parts) == 0 || len(parts) == 1 && !always {
		return entries, "", err
	}
	// Each attempt puts down under a name and with ids of its own, also that of a
	// repeated request: what an earlier one left cannot be counted on.
	ctx = commands.WithRequest(ctx, &commands.Request{Meta: commands.RequestFrom(ctx).Meta})
	stage = commands.NewID(ctx, 16)
	for i, part := range parts {
		_, err := c.Workspaces.Execute(ctx, workspaceID, workspace.Stage{Name: stage, More: i > 0, Entries: part})
		if err != nil {
			return nil, "", again(err)
		}
	}
	return nil, stage, nil
}

// split shares entries out among events.
func split(entries []workspace.Entry) (parts [][]workspace.Entry, err error) {
	size := maxEvent + 1
	for _, e := range entries {
		rest := e
		rest.Body = nil // it is JSON already
		about, err := json.Marshal(rest)
		if err != nil {
			return nil, err
		}
		weighs := len(about) + len(`,"body":`) + len(e.Body)
		if size += weighs; size > maxEvent {
			parts, size = append(parts, nil), weighs
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], e)
	}
	return parts, nil
}

// again turns the refusal of what was put down into the word that it is to be
// planned anew.
func again(err error) error {
	if refusal, ok := errors.AsType[*domain.Error](err); ok && refusal.Details["reason"] == workspace.Superseded {
		return ErrMoved
	}
	return err
}
