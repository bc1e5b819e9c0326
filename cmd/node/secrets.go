package node

import (
	"context"

	"svc/commands/secrets"
	"svc/projections"
)

// secrets resolves references to secrets of workspaces.
func (n *Node) secrets() secrets.Secrets {
	return secrets.Secrets{Finder: secretFinder{n.models}, Vault: n.places.vault}
}

// secretFinder finds sealed secrets in the read models.
type secretFinder struct{ models *projections.Models }

// Secrets implements secrets.Finder.
func (f secretFinder) Secrets(_ context.Context, workspaceID string, names []string) (map[string][]byte, error) {
	sealed := make(map[string][]byte, len(names))
	err := f.models.View(func(r projections.Reader) error {
		for _, name := range names {
			rec, ok, err := projections.Secrets{}.Get(r, workspaceID, name)
			if err != nil {
				return err
			}
			if ok {
				sealed[name] = rec.Sealed
			}
		}
		return nil
	})
	return sealed, err
}
