package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"svc/domain"
)

// Names of the streams that are not event logs.
const (
	streamData     = "DATA"
	streamPayloads = "PAYLOADS"
	streamRates    = "RATES"
	streamLimits   = "LIMITS"
	streamProbe    = "PROBE"
	bucketBlobs    = "BLOBS"
	streamBlobs    = "OBJ_" + bucketBlobs
)

// streamTable is every stream of the platform but the key-value buckets and the
// blobs, whose shapes belong to their drivers.
func streamTable(replicas int) []jetstream.StreamConfig {
	return []jetstream.StreamConfig{
		{
			Name: string(domain.State), Subjects: []string{stateRoot + ">"}, Replicas: replicas,
			Description: "facts that aggregates are folded from; kept for ever",
			DenyDelete:  true, DenyPurge: true, Discard: jetstream.DiscardNew,
			AllowDirect: true, AllowAtomicPublish: true,
		}, {
			Name: string(domain.Activity), Subjects: []string{activityRoot + ">"}, Replicas: replicas,
			Description: "what happened besides; purged by the cleanup job",
			Discard:     jetstream.DiscardNew, AllowDirect: true, AllowAtomicPublish: true,
		}, {
			Name: streamData, Subjects: []string{dataRoot + ">"}, Replicas: replicas,
			Description: "user data that changes often: operations since the last snapshot",
			Discard:     jetstream.DiscardNew, AllowDirect: true,
		}, {
			Name: streamPayloads, Subjects: []string{payloadsRoot + ">"}, Replicas: replicas,
			Description: "payload and output of executions; purged by the executions job",
			Discard:     jetstream.DiscardNew, AllowDirect: true, MaxMsgsPerSubject: 1,
		}, {
			Name: streamRates, Subjects: []string{ratesRoot + ">"}, Replicas: replicas,
			Description: "rate limit counters of the gateway", Storage: jetstream.MemoryStorage,
			AllowMsgCounter: true, MaxAge: 5 * time.Minute, MaxMsgsPerSubject: 1, AllowDirect: true,
		}, {
			Name: streamLimits, Subjects: []string{limitsRoot + ">"}, Replicas: replicas,
			Description:     "counters of the limits of automations; swept when their windows are over",
			AllowMsgCounter: true, MaxAge: keptAge, MaxMsgsPerSubject: 1, AllowDirect: true,
		}, {
			Name: streamProbe, Subjects: []string{"svc.probe.>"}, Replicas: replicas,
			Description: "readiness probes", MaxMsgs: 16, AllowDirect: true,
		},
	}
}

// ensureStreams creates what is missing and checks what exists: a stream with
// other subjects or another number of replicas is the operator's to settle.
func (s *Store) ensureStreams(ctx context.Context) error {
	for _, cfg := range streamTable(s.opts.Replicas) {
		err := s.insist(ctx, func(ctx context.Context) error { return s.ensureStream(ctx, cfg) })
		if err != nil {
			return fmt.Errorf("stream %s: %w", cfg.Name, err)
		}
	}
	if err := s.insist(ctx, s.ensureBlobs); err != nil {
		return fmt.Errorf("object store %s: %w", bucketBlobs, err)
	}
	return nil
}

func (s *Store) ensureBlobs(ctx context.Context) error {
	blobs, err := s.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: bucketBlobs, Replicas: s.opts.Replicas, Description: "contents named by their SHA-256",
	})
	if err == nil && s.blobs == nil {
		s.blobs = blobs
	}
	return err
}

func (s *Store) ensureStream(ctx context.Context, cfg jetstream.StreamConfig) error {
	stream, err := s.js.Stream(ctx, cfg.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = s.js.CreateStream(ctx, cfg)
		return err
	}
	if err != nil {
		return err
	}
	have := stream.CachedInfo().Config
	if len(have.Subjects) != 1 || have.Subjects[0] != cfg.Subjects[0] {
		return fmt.Errorf("it exists with subjects %v, expected %v: another application uses this broker account", have.Subjects, cfg.Subjects)
	}
	if have.Replicas != cfg.Replicas {
		return fmt.Errorf("it has %d replicas and STREAM_REPLICAS asks for %d: set STREAM_REPLICAS=%d, or change the stream first",
			have.Replicas, cfg.Replicas, have.Replicas)
	}
	_, err = s.js.UpdateStream(ctx, cfg)
	return err
}
