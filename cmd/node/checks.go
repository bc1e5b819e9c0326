package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/domain"
	"svc/domain/access"
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
		check(gatewayPart, "jwks", "http", p.jwks),

		check(runtime, "cache", "nats-kv", p.keyValue),
		check(runtime, "broker", "nats-jetstream", p.broker),
		check(runtime, "permissions", "badger", p.permissions),
		check(runtime, "dsulStorage", "nats-jetstream", p.blob),

		check(events, "cache", "nats-kv", p.keyValue),
		check(events, "broker", "nats-jetstream", p.broker),
		check(events, "permissions", "badger", p.permissions),
		check(events, "eventsStorage", "badger", p.database),

		check(workspaces, "broker", "nats-jetstream", p.broker),
		check(workspaces, "permissions", "badger", p.permissions),
		check(workspaces, "dsulStorage", "nats-jetstream", p.blob),
		check(workspaces, "keys", p.keysDriver(), p.masterKeys),
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

// jwks asks for the public keys as others do, and looks for the one that signs.
func (p *probes) jwks(ctx context.Context) error {
	signer, err := p.node.people.keys.SigningKey(ctx)
	if err != nil {
		return &api.Fault{Name: "NoSigningKey", Err: err}
	}
	address := strings.TrimSuffix(p.node.config().HTTP.InternalAPIURL, "/v2") + "/oidc/jwks"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: p.node.self}).Do(req)
	if err != nil {
		return &api.Fault{Name: "Unreachable", Err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(signer.KID)) {
		return &api.Fault{Name: "NoSigningKey", Err: errors.Join(err, fmt.Errorf("/oidc/jwks answered %d without the key that signs", resp.StatusCode))}
	}
	return nil
}

// permissions reads who may do what on the platform, after a write.
func (p *probes) permissions(ctx context.Context) error {
	if err := p.database(ctx); err != nil {
		return err
	}
	if _, found, err := p.node.people.identity.RightsOf(access.Principal{Super: true}, domain.Platform); err != nil || !found {
		return &api.Fault{Name: "ReadFailed", Err: errors.Join(err, errors.New("the platform workspace is not known yet"))}
	}
	return nil
}

// masterKeys holds the master keys against their check values.
func (p *probes) masterKeys(ctx context.Context) error {
	return p.node.people.box.Ensure(ctx, p.node.people.checks)
}

// keysDriver tells where the master keys come from.
func (p *probes) keysDriver() string {
	if p.node.keysInDir {
		return "file"
	}
	return "env"
}
