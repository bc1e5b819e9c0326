package streams

import (
	"context"
	"errors"
	"strings"
	"time"

	"svc/eventstore"
)

// CancelRetention is how long a cancelled run is remembered: until every tree of it that no node
// ran at that moment is taken over.
const CancelRetention = 24 * time.Hour

// Broadcast sends messages to all nodes. It is a jetstream.Broadcast.
type Broadcast interface {
	Send(body []byte) error
	Listen(receive func(body []byte)) (stop func(), err error)
}

// Cancels ends runs on all nodes. All fields are required.
type Cancels struct {
	// Bucket remembers cancelled runs for trees whose node is gone and that no node has taken
	// over yet. It drops them after CancelRetention.
	Bucket    eventstore.Bucket
	Broadcast Broadcast
	Timeout   func() time.Duration // of a write to Bucket
}

// Cancel ends a run, on whichever nodes it is.
func (c Cancels) Cancel(workspaceID, correlationID string) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout())
	defer cancel()
	now := []byte(time.Now().UTC().Format(time.RFC3339Nano))
	if _, err := c.Bucket.Put(ctx, workspaceID+"/"+correlationID, now); err != nil {
		return err
	}
	return c.Broadcast.Send([]byte(workspaceID + "\x00" + correlationID))
}

// Listen calls cancel for each run that is cancelled on any node, until stop is called.
func (c Cancels) Listen(cancel func(workspaceID, correlationID string)) (stop func(), err error) {
	return c.Broadcast.Listen(func(body []byte) {
		workspaceID, correlationID, _ := strings.Cut(string(body), "\x00")
		cancel(workspaceID, correlationID)
	})
}

// WasCancelled reports whether a run was cancelled after a time.
func (c Cancels) WasCancelled(ctx context.Context, workspaceID, correlationID string, after time.Time) (bool, error) {
	value, _, err := c.Bucket.Get(ctx, workspaceID+"/"+correlationID)
	if errors.Is(err, eventstore.ErrNoKey) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	at, err := time.Parse(time.RFC3339Nano, string(value))
	return at.After(after), err
}
