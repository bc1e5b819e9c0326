package jetstream

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"svc/domain"
)

// Probe publishes one message to the probe stream and waits for its
// acknowledgement, and asks whether the replicas of STATE are in quorum.
func (s *Store) Probe(ctx context.Context) error {
	if err := s.Writable(); err != nil {
		return err
	}
	if _, err := s.sendOne(ctx, &nats.Msg{Subject: "svc.probe." + token(s.opts.Name), Data: []byte("probe")}); err != nil {
		return err
	}
	stream, err := s.js.Stream(ctx, string(domain.State))
	if err != nil {
		return err
	}
	cluster := stream.CachedInfo().Cluster
	if cluster == nil || s.opts.Replicas == 1 {
		return nil
	}
	current := 1 // the leader
	for _, peer := range cluster.Replicas {
		if peer.Current && !peer.Offline {
			current++
		}
	}
	if cluster.Leader == "" || current <= s.opts.Replicas/2 {
		return fmt.Errorf("%d of %d replicas are current", current, s.opts.Replicas)
	}
	return nil
}
