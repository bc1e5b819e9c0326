package jetstream

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"svc/eventstore"
)

// Air carries what is for those who are there, between the nodes. No stream keeps it.
type Air struct {
	store   *Store
	subject string
}

// Air returns the air of a name: those of other names do not hear each other.
func (s *Store) Air(name string) Air { return Air{s, "svc.air." + token(name)} }

// Broadcast sends body to every node that listens, this one too. Nobody keeps it, and
// nobody is waited for.
func (a Air) Broadcast(body []byte) error {
	if err := a.store.nc.Publish(a.subject, body); err != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return nil
}

// Listen calls hear with what any node broadcasts, until stop is called.
func (a Air) Listen(hear func(body []byte)) (stop func(), err error) {
	sub, err := a.store.nc.Subscribe(a.subject, func(m *nats.Msg) { hear(m.Data) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // a connection that is gone has no subscription
}
