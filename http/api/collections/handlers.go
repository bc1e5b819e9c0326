// Package collections has the handlers of collections and their rows.
package collections

import (
	"time"

	"svc/http/api/handler"
)

// Handlers answer requests about collections.
type Handlers struct {
	ReadModel   handler.ReadModel
	Collections Collections
	Programs    handler.Programs // with the app instances whose collections they are
	Now         func() time.Time
}
