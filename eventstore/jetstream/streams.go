package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
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

// streamTable lists every stream of the platform, except those of buckets and blobs, which the client
// library configures.
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
			AllowMsgCounter: true, MaxAge: durableMaxAge, MaxMsgsPerSubject: 1, AllowDirect: true,
		}, {
			Name: streamProbe, Subjects: []string{"svc.probe.>"}, Replicas: replicas,
			Description: "readiness probes", MaxMsgs: 16, AllowDirect: true,
		},
	}
}

// ensureStream creates a stream, or checks and updates the one that exists. A stream with
// other subjects or another number of replicas is left as it is: the operator must decide.
func (c *connection) ensureStream(ctx context.Context, cfg jetstream.StreamConfig) error {
	stream, err := c.js.Stream(ctx, cfg.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		cfg = c.withPackBase(cfg, nil)
		if _, err = c.js.CreateStream(ctx, cfg); err != nil {
			return err
		}
		return c.readPackBase(cfg)
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
	cfg = c.withPackBase(cfg, stream.CachedInfo())
	if _, err = c.js.UpdateStream(ctx, cfg); err != nil {
		return err
	}
	return c.readPackBase(cfg)
}

// Subjects:
//
//	svc.state.{workspace}.{aggregate}.{id}.{type…}
//	svc.activity.{workspace}.{type…}, or %pack for events of several types
//	svc.payloads.{workspace}.{eventId}
//	svc.data.{workspace}.{kind}.{id}
//	svc.rates.{key}.{window}
//	svc.limits.{hour in which the window ends}.{key}.{window}
//
// Every token is encoded by token. Readers take names from the envelope, not from the subject.
const (
	stateRoot    = "svc.state."
	activityRoot = "svc.activity."
	payloadsRoot = "svc.payloads."
	dataRoot     = "svc.data."
	ratesRoot    = "svc.rates."
	limitsRoot   = "svc.limits."
)

// Limits of encoded text, so that no user text makes a subject that the broker refuses.
const (
	maxToken = 256
	maxType  = 4 * maxToken // of all tokens of an event type
)

// subjectOf returns the subject of an event of this type on this stream.
func subjectOf(log domain.Log, id domain.StreamID, eventType string) string {
	if log == domain.Activity {
		return activityRoot + token(id.Scope) + "." + typeTokens(eventType)
	}
	return aggregateRoot(id) + typeTokens(eventType)
}

// rootOf returns the prefix shared by the subjects of a log.
func rootOf(log domain.Log) string {
	if log == domain.Activity {
		return activityRoot
	}
	return stateRoot
}

// aggregateRoot returns the prefix shared by the subjects of one aggregate.
func aggregateRoot(id domain.StreamID) string {
	return stateRoot + token(id.Scope) + "." + token(id.Kind) + "." + token(id.ID) + "."
}

// aggregateFilter matches every event of one aggregate.
func aggregateFilter(id domain.StreamID) string { return aggregateRoot(id) + ">" }

// typeTokens encodes an event type, token by token. A long type is truncated: no event is found by the
// type in its subject alone.
func typeTokens(eventType string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(eventType, ".") {
		encoded := token(part)
		if b.Len()+len(encoded) >= maxType {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(encoded)
	}
	return b.String()
}

// token percent-encodes every byte outside [A-Za-z0-9_-]. An empty token becomes "%". A long one
// becomes its beginning, "%%" and a hash, so that different texts have different tokens.
func token(s string) string {
	if s == "" {
		return "%"
	}
	if isPlainToken(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() <= maxToken; i++ {
		if isPlainByte(s[i]) {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	if b.Len() <= maxToken {
		return b.String()
	}
	sum := sha256.Sum256([]byte(s))
	digest := "%%" + hex.EncodeToString(sum[:16])
	return b.String()[:maxToken-len(digest)] + digest
}

func isPlainToken(s string) bool {
	for i := range len(s) {
		if !isPlainByte(s[i]) {
			return false
		}
	}
	return len(s) <= maxToken
}

func isPlainByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
