// Package workspaces has the handlers of workspaces themselves: settings, config, blocks,
// secrets, security, shares, API keys and repositories.
package workspaces

import (
	"context"
	"time"

	"svc/commands"
	"svc/commands/content"
	"svc/commands/repositories"
	"svc/http/api/documents"
	"svc/http/api/handler"
)

// Handlers answer requests about workspaces.
type Handlers struct {
	ReadModel    handler.ReadModel
	Access       handler.Access
	Documents    *documents.Handlers
	Workspaces   Workspaces
	Content      *content.Content
	Library      content.Library
	Vault        commands.Vault
	APIKeys      Keys
	Repositories *repositories.Repositories
	LastUsed     func(ctx context.Context, id string) (time.Time, error) // of an API key
	Now          func() time.Time
}
