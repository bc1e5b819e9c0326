package jetstream

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"svc/eventstore"
)

// Broadcast sends messages to all nodes that listen. No stream keeps them.
type Broadcast struct {
	conn    *connection
	subject string
}

// Broadcast returns the broadcast of a name. Those of other names are separate.
func (s *Store) Broadcast(name string) Broadcast {
	return Broadcast{s.conn, "svc.air." + token(name)}
}

// Send sends body to every node that listens, this one too. It waits for nobody.
func (b Broadcast) Send(body []byte) error {
	if err := b.conn.nc.Publish(b.subject, body); err != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return nil
}

// Listen calls receive with what any node sends, until stop is called.
func (b Broadcast) Listen(receive func(body []byte)) (stop func(), err error) {
	sub, err := b.conn.nc.Subscribe(b.subject, func(m *nats.Msg) { receive(m.Data) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // a connection that is gone has no subscription
}
