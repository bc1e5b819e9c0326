// Package versioning has the handlers of versions and repositories, archives, the history
// of workspaces, and operations.
package versioning

import (
	"context"
	"time"

	"svc/commands/bulk"
	"svc/commands/content"
	"svc/commands/versioning"
	"svc/http/api/documents"
	"svc/http/api/handler"
	"svc/http/api/workspaces"
)

// Handlers answer requests about versions, archives, history and operations.
type Handlers struct {
	ReadModel  handler.ReadModel
	Access     handler.Access
	Documents  *documents.Handlers
	Workspaces *workspaces.Handlers
	Content    *content.Content
	Library    content.Library
	Versioning *versioning.Versioning
	Bulk       *bulk.Runs

	Operations         OperationRunner
	OperationEvents    OperationEvents
	OperationRetention func() time.Duration // OPERATIONS_RETENTION_DAYS; nil: for ever
	Blobs              Blobs                // results of operations that are stored apart
	Now                func() time.Time
}

// Blobs reads contents by their name. It is a *jetstream.Blobs.
type Blobs interface {
	Get(ctx context.Context, name string) (content []byte, err error)
}
