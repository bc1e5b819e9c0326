// Package documents has the handlers of the documents of workspaces: automations, pages,
// apps and their instances, and the problems that they have. It decides who may read and
// change a document, now and at a past moment.
package documents

import (
	"context"
	"time"

	"svc/commands/apps"
	"svc/commands/content"
	"svc/domain/operation"
	"svc/http/api/handler"
)

// Handlers answer requests about documents.
type Handlers struct {
	ReadModel handler.ReadModel
	Access    handler.Access
	Content   *content.Content
	Library   content.Library // documents of workspaces, at any time
	Apps      Apps            // published workspaces
	Shelf     *apps.Shelf     // what they consist of
	// SecretDefaults returns the names of the secrets that the settings give the workspace of
	// a slug.
	SecretDefaults func(workspaceSlug string) map[string]bool
	Previews       Previews                      // of pages that are not saved
	CSRFToken      func(sessionID string) string // what a form of a page must show
	Zone           func() *time.Location         // of schedules
	Reindexes      Reindexes
	Now            func() time.Time
}

// Reindexes has documents of knowledge bases processed again. It is a knowledge.Reindexes.
type Reindexes interface {
	// Update processes those again that were processed with other settings, and returns the id of the operation.
	Update(ctx context.Context, workspaceID string, about operation.ReindexAbout) (id string, err error)
}
