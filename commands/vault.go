package commands

import "context"

// Vault seals what belongs to a workspace and must not be read, with the key of that
// workspace, and proves that a message was made with that key. It is a *vault.Vault.
type Vault interface {
	Seal(ctx context.Context, workspaceID string, plain []byte, purpose string) ([]byte, error)
	Open(ctx context.Context, workspaceID string, sealed []byte, purpose string) ([]byte, error)
	MAC(ctx context.Context, workspaceID, purpose string, message []byte) ([]byte, error)
}
