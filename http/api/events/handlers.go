// Package events has the handlers of the feed: reading, following, searching and
// emitting events, usage, and subscriptions with their deliveries.
package events

import (
	"log/slog"
	"time"

	"svc/commands/subscriptions"
	"svc/http/api/handler"
	"svc/streams/feed"
)

// Handlers answer requests about events.
type Handlers struct {
	ReadModel     handler.ReadModel
	Access        handler.Access
	Feed          *feed.Feed
	Emitter       Emitter
	Subscriptions *subscriptions.Subscriptions
	Webhooks      Webhooks
	CSRFToken     func(sessionID string) string // proves that a socket id is one of the session
	Heartbeat     time.Duration                 // between signs of life of a stream
	SearchTime    time.Duration                 // that a search may take; default 10 s
	Now           func() time.Time
	Log           *slog.Logger
}
