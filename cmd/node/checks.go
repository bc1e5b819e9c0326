package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/eventstore/jetstream"
	"svc/http/api"
)

// probes are the drivers behind the readiness report.
type probes struct {
	node    *Node
	bucket  *jetstream.Bucket
	content []byte // of the probe blob
}

func newProbes(ctx context.Context, n *Node) (*probes, error) {
	b, err := n.store.Bucket(ctx, jetstream.BucketConfig{Name: "PROBE", TTL: time.Minute, Volatile: true})
	return &probes{node: n, bucket: b, content: []byte("svc readiness probe\n")}, err
}

// table lists every check, in the order of the report.
func (p *probes) table() []api.Check {
	check := func(service, module, driver string, do func(context.Context) error) api.Check {
		return api.Check{Service: service, Module: module, Driver: driver, Check: do}
	}
	const gatewayPart, runtime, events, workspaces = "api-gateway", "runtime", "events", "workspaces"
	return []api.Check{
		check(gatewayPart, "database", "badger", p.readModels),
		check(gatewayPart, "sessionsRedis", "nats-kv", p.keyValue),
		check(gatewayPart, "rateLimitsRedis", "nats-kv", p.counter),
		check(gatewayPart, "broker", "nats-jetstream", p.broker),

		check(runtime, "cache", "nats-kv", p.keyValue),
		check(runtime, "broker", "nats-jetstream", p.broker),
		check(runtime, "dsulStorage", "nats-jetstream", p.blob),

		check(events, "cache", "nats-kv", p.keyValue),
		check(events, "broker", "nats-jetstream", p.broker),
		check(events, "eventsStorage", "badger", p.database),

		check(workspaces, "broker", "nats-jetstream", p.broker),
		check(workspaces, "dsulStorage", "nats-jetstream", p.blob),
	}
}

// maxLag is how far the read models may be behind.
const maxLag = 2 * time.Second

// readModels writes and reads, and asks that the logs are followed closely.
func (p *probes) readModels(ctx context.Context) error {
	if err := p.database(ctx); err != nil {
		return err
	}
	for _, log := range p.node.models.Health().Logs {
		if log.Fault != nil {
			return &api.Fault{Name: "Stopped", Err: log.Fault}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, maxLag)
	defer cancel()
	if err := (reads{p.node.models, p.node.store}).fresh(ctx); err != nil {
		return &api.Fault{Name: "Lagging", Err: fmt.Errorf("more than %s behind the log: %w", maxLag, err)}
	}
	return nil
}

func (p *probes) database(context.Context) error {
	if err := p.node.store.Writable(); err != nil {
		return &api.Fault{Name: "WriteFailed", Err: err}
	}
	if err := p.node.db.Probe(); err != nil {
		return &api.Fault{Name: "WriteFailed", Err: err}
	}
	return nil
}

func (p *probes) keyValue(ctx context.Context) error {
	key := ulid.Make().String() // checks run side by side
	if _, err := p.bucket.Put(ctx, key, p.content); err != nil {
		return &api.Fault{Name: "WriteFailed", Err: err}
	}
	got, _, err := p.bucket.Get(ctx, key)
	if err == nil && !bytes.Equal(got, p.content) {
		err = errors.New("what was written is not what is read")
	}
	if err != nil {
		return &api.Fault{Name: "ReadFailed", Err: err}
	}
	return p.bucket.Delete(ctx, key)
}

func (p *probes) counter(ctx context.Context) error {
	_, err := p.node.store.Add(ctx, "probe/"+p.node.config().Core.NodeName, time.Minute, 1)
	return err
}

func (p *probes) broker(ctx context.Context) error {
	if err := p.node.store.Probe(ctx); err != nil {
		return &api.Fault{Name: "PublishFailed", Err: err}
	}
	return nil
}

// blob reads a content back by its hash.
func (p *probes) blob(ctx context.Context) error {
	name, err := p.node.store.PutBlob(ctx, p.content)
	if err != nil {
		return &api.Fault{Name: "WriteFailed", Err: err}
	}
	got, err := p.node.store.GetBlob(ctx, name)
	if err == nil && !bytes.Equal(got, p.content) {
		err = errors.New("what was written is not what is read")
	}
	if err != nil {
		return &api.Fault{Name: "ReadFailed", Err: err}
	}
	return nil
}
