package jetstream

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"svc/eventstore"
)

// liveSubject carries what is for live readers only. No stream keeps it.
const liveSubject = "svc.live"

// Broadcast sends body to every node that listens. Nobody keeps it, and nobody is
// waited for.
func (s *Store) Broadcast(body []byte) error {
	if err := s.nc.Publish(liveSubject, body); err != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return nil
}

// Listen calls hear with what any node broadcasts, until stop is called.
func (s *Store) Listen(hear func(body []byte)) (stop func(), err error) {
	sub, err := s.nc.Subscribe(liveSubject, func(m *nats.Msg) { hear(m.Data) })
	if err != nil {
		return nil, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // a connection that is gone has no subscription
}
