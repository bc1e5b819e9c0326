// Package readiness checks whether the parts of a node work, for the readiness report: each
// check uses its part as requests do.
package readiness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/cmd/settings"
	"svc/commands/extract"
	"svc/commands/sandbox"
	"svc/commands/seal"
	"svc/commands/signing"
	"svc/domain"
	"svc/domain/access"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/http/api/system"
	"svc/http/identity"
	"svc/projections"
	"svc/projections/rows"
	"svc/streams/feed"
)

// Options are the parts of a node that are checked. Every field is required.
type Options struct {
	Config    func() *settings.Config
	Store     *jetstream.Store
	DB        *projections.DB // of the read models
	Models    *projections.Models
	Search    *projections.SearchIndex
	Rows      *projections.DB // of collections
	RowModel  *rows.Model
	Feed      *feed.Feed
	Sandbox   *sandbox.Sandbox
	Extractor *extract.Extractor
	Identity  *identity.Identity
	Keys      *signing.Keys
	Box       *seal.Box
	Checks    eventstore.Bucket   // check values of the master keys
	Crawls    []*jetstream.Bucket // that the crawler uses
	KeysInDir bool                // the master keys are in the data directory
	Transport http.RoundTripper
}

// Probes are the checks of a node.
type Probes struct {
	Options

	bucket  *jetstream.Bucket
	content []byte // of the probe blob

	crawling sync.Mutex // held while the buckets of crawls are checked
}

// New returns the checks of a node.
func New(ctx context.Context, o Options) (*Probes, error) {
	b, err := o.Store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "PROBE", TTL: time.Minute, Volatile: true})
	return &Probes{Options: o, bucket: b, content: []byte("svc readiness probe\n")}, err
}

// Table lists every check, in the order of the report.
func (p *Probes) Table() []system.Check {
	check := func(service, module, driver string, do func(context.Context) error) system.Check {
		return system.Check{Service: service, Module: module, Driver: driver, Check: do}
	}
	const gatewayPart, runtime, events, workspaces = "api-gateway", "runtime", "events", "workspaces"
	const search, crawler = "searchengine", "crawler"
	return []system.Check{
		check(gatewayPart, "database", "badger", p.readModels),
		check(gatewayPart, "sessionsRedis", "nats-kv", p.keyValue),
		check(gatewayPart, "rateLimitsRedis", "nats-kv", p.counter),
		check(gatewayPart, "broker", "nats-jetstream", p.broker),
		check(gatewayPart, "jwks", "http", p.jwks),

		check(runtime, "cache", "nats-kv", p.keyValue),
		check(runtime, "broker", "nats-jetstream", p.broker),
		check(runtime, "permissions", "badger", p.permissions),
		check(runtime, "collections", "badger", p.collections),
		check(runtime, "dsulStorage", "nats-jetstream", p.blob),
		check(runtime, "searchengine", "badger", p.search),
		check(runtime, "customCode", "sobek", p.customCode),
		check(runtime, "api-gateway", "http", p.gateway),

		check(events, "cache", "nats-kv", p.keyValue),
		check(events, "broker", "nats-jetstream", p.broker),
		check(events, "permissions", "badger", p.permissions),
		check(events, "eventsStorage", "badger", p.database),
		check(events, "api-gateway", "http", p.gateway),

		check(workspaces, "broker", "nats-jetstream", p.broker),
		check(workspaces, "permissions", "badger", p.permissions),
		check(workspaces, "dsulStorage", "nats-jetstream", p.blob),
		check(workspaces, "api-gateway", "http", p.gateway),
		check(workspaces, "keys", p.keysDriver(), p.masterKeys),

		check(search, "index", "badger", p.searchIndex),
		check(search, "cache", "nats-kv", p.keyValue),
		check(search, "documents", "nats-jetstream", p.documents),
		check(search, "api-gateway", "http", p.gateway),

		check(crawler, "index", "badger", p.searchIndex),
		check(crawler, "cache", "nats-kv", p.keyValue),
		check(crawler, "queue", "nats-jetstream", p.crawls),
		check(crawler, "extractor", "process", p.extractor),
		check(crawler, "noProxy", "env", p.noProxy),
		check(crawler, "api-gateway", "http", p.gateway),
	}
}

// collections writes to the rows of collections and reads from them, and asks that they
// follow the log.
func (p *Probes) collections(context.Context) error {
	if err := p.Rows.Probe(); err != nil {
		return &system.Fault{Name: "WriteFailed", Err: err}
	}
	if _, caughtUp := p.RowModel.Health(); !caughtUp {
		return &system.Fault{Name: "Lagging", Err: errors.New("the rows of collections are behind the log")}
	}
	return nil
}

// search asks the index of events, which GET events and POST search go through, for what
// the platform recorded last.
func (p *Probes) search(ctx context.Context) error {
	found := false
	err := p.Feed.Walk(ctx, feed.Range{WorkspaceID: domain.Platform, Descending: true, Need: feed.Indexed}, func(*feed.Event) (bool, error) {
		found = true
		return false, nil
	})
	if err == nil && !found {
		err = errors.New("the platform has no event yet")
	}
	if err != nil {
		return &system.Fault{Name: "QueryFailed", Err: err}
	}
	return nil
}

// searchIndex writes a document to an index, finds it and removes it.
func (p *Probes) searchIndex(ctx context.Context) error {
	if err := p.Search.Probe(ctx); err != nil {
		return &system.Fault{Name: "QueryFailed", Err: err}
	}
	return nil
}

// documents reads the passages of a document of a knowledge base, and asks that the index follows.
func (p *Probes) documents(ctx context.Context) error {
	if lag := p.Search.Lag(); lag > maxIndexLag {
		return &system.Fault{Name: "Lagging", Err: fmt.Errorf("the search index has been behind for %s", lag.Round(time.Second))}
	}
	hash, err := p.somePassages()
	if err != nil {
		return &system.Fault{Name: "ReadFailed", Err: err}
	}
	if hash == "" {
		return p.blob(ctx) // there is no document
	}
	body, err := p.Store.Blobs.Get(ctx, hash)
	if sum := sha256.Sum256(body); err == nil && hex.EncodeToString(sum[:]) != hash {
		err = fmt.Errorf("the passages %s have another hash", hash)
	}
	if err != nil {
		return &system.Fault{Name: "ReadFailed", Err: err}
	}
	return nil
}

// somePassages names the passages of one document; "" when there is none.
func (p *Probes) somePassages() (hash string, err error) {
	r := p.Models.Reader()
	defer r.Close()
	err = projections.KBDocuments{}.Bases(r, func(workspaceID, baseID string) bool {
		err = projections.KBDocuments{}.List(r, workspaceID, baseID, time.Time{}, func(d projections.KBDocument) bool {
			if d.Extract != nil {
				hash = d.Extract.Chunks
			}
			return hash == ""
		})
		return hash == "" && err == nil
	})
	return hash, err
}

// customCode runs code as authors' is run.
func (p *Probes) customCode(ctx context.Context) error {
	done, err := p.Sandbox.Run(ctx, sandbox.Job{WorkspaceID: domain.Platform, Code: "return 1+1", Timeout: maxLag})
	if sum, ok := done.Value.(float64); err == nil && (!ok || sum != 2) {
		err = fmt.Errorf("1+1 is %v", done.Value)
	}
	if err != nil {
		return &system.Fault{Name: "RunFailed", Err: err}
	}
	return nil
}

// extractor reads a small PDF in a child.
func (p *Probes) extractor(ctx context.Context) error {
	if err := p.Extractor.Probe(ctx); err != nil {
		return &system.Fault{Name: "ReadFailed", Err: err}
	}
	return nil
}

// gateway asks the gateway over HTTP whether it is there, at the address that services
// use.
func (p *Probes) gateway(ctx context.Context) error {
	_, err := p.ask(ctx, "/healthz")
	return err
}

// noProxy asks that what is local does not go through a proxy.
func (p *Probes) noProxy(context.Context) error {
	e := p.Config().Egress
	if e.HTTPProxy.Reveal() == "" && e.HTTPSProxy.Reveal() == "" || slices.Contains(e.NoProxy, "localhost") {
		return nil
	}
	return &system.Fault{Name: "NoProxyIncomplete", Err: errors.New("NO_PROXY must contain localhost where HTTP_PROXY or HTTPS_PROXY is set")}
}

// ask gets something from this service over HTTP, and returns its body.
func (p *Probes) ask(ctx context.Context, path string) ([]byte, error) {
	address := strings.TrimSuffix(p.Config().HTTP.InternalAPIURL, "/v2") + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Transport: p.Transport}).Do(req)
	if err != nil {
		return nil, &system.Fault{Name: "Unreachable", Err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %d", path, resp.StatusCode)
	}
	if err != nil {
		return nil, &system.Fault{Name: "Unreachable", Err: err}
	}
	return body, nil
}

// maxIndexLag is how far the search index may be behind.
const maxIndexLag = 10 * time.Second

// maxLag is how far the read models may be behind.
const maxLag = 2 * time.Second

// readModels writes and reads, and asks that the logs are followed closely.
func (p *Probes) readModels(ctx context.Context) error {
	if err := p.database(ctx); err != nil {
		return err
	}
	health := p.Models.Health()
	for _, log := range health.Logs {
		if log.Fault != nil {
			return &system.Fault{Name: "Stopped", Err: log.Fault}
		}
	}
	switch {
	case health.OK():
	case health.Fault != nil:
		return &system.Fault{Name: "Stopped", Err: fmt.Errorf("%s cannot be read: %w", strings.Join(health.Missing, ", "), health.Fault)}
	case health.Build != nil:
		return &system.Fault{Name: "Building", Err: errors.New(health.Build.String())}
	case len(health.Missing) > 0:
		return &system.Fault{Name: "Building", Err: fmt.Errorf("%s are to be built", strings.Join(health.Missing, ", "))}
	}
	ctx, cancel := context.WithTimeout(ctx, maxLag)
	defer cancel()
	if err := p.Models.Current(ctx); err != nil {
		return &system.Fault{Name: "Lagging", Err: fmt.Errorf("more than %s behind the log: %w", maxLag, err)}
	}
	return nil
}

func (p *Probes) database(context.Context) error {
	if err := p.Store.Writable(); err != nil {
		return &system.Fault{Name: "WriteFailed", Err: err}
	}
	if err := p.DB.Probe(); err != nil {
		return &system.Fault{Name: "WriteFailed", Err: err}
	}
	return nil
}

func (p *Probes) keyValue(ctx context.Context) error {
	return p.useBucket(ctx, p.bucket, ulid.Make().String()) // checks run side by side
}

// crawls uses each bucket of crawls, which are the queue of the crawler. These keep what was deleted for long, so this node
// has one key for all its checks.
func (p *Probes) crawls(ctx context.Context) error {
	p.crawling.Lock()
	defer p.crawling.Unlock()
	for _, b := range p.Crawls {
		if err := p.useBucket(ctx, b, "probe/"+p.Config().Core.NodeName); err != nil {
			return err
		}
	}
	return nil
}

// useBucket writes, reads and deletes a key of a bucket.
func (p *Probes) useBucket(ctx context.Context, b *jetstream.Bucket, key string) error {
	if _, err := b.Put(ctx, key, p.content); err != nil {
		return &system.Fault{Name: "WriteFailed", Err: err}
	}
	got, _, err := b.Get(ctx, key)
	if err == nil && !bytes.Equal(got, p.content) {
		err = errors.New("what was written is not what is read")
	}
	if err != nil {
		return &system.Fault{Name: "ReadFailed", Err: err}
	}
	if err := b.Delete(ctx, key); err != nil {
		return &system.Fault{Name: "WriteFailed", Err: err}
	}
	return nil
}

func (p *Probes) counter(ctx context.Context) error {
	_, err := p.Store.Counters.Add(ctx, "probe/"+p.Config().Core.NodeName, time.Minute, 1)
	return err
}

func (p *Probes) broker(ctx context.Context) error {
	if err := p.Store.Probe(ctx); err != nil {
		return &system.Fault{Name: "PublishFailed", Err: err}
	}
	return nil
}

// blob reads a content back by its hash.
func (p *Probes) blob(ctx context.Context) error {
	name, err := p.Store.Blobs.Put(ctx, p.content)
	if err != nil {
		return &system.Fault{Name: "WriteFailed", Err: err}
	}
	got, err := p.Store.Blobs.Get(ctx, name)
	if err == nil && !bytes.Equal(got, p.content) {
		err = errors.New("what was written is not what is read")
	}
	if err != nil {
		return &system.Fault{Name: "ReadFailed", Err: err}
	}
	return nil
}

// jwks asks for the public keys as others do, and looks for the one that signs.
func (p *Probes) jwks(ctx context.Context) error {
	signer, err := p.Keys.SigningKey(ctx)
	if err != nil {
		return &system.Fault{Name: "NoSigningKey", Err: err}
	}
	body, err := p.ask(ctx, "/oidc/jwks")
	if err == nil && !bytes.Contains(body, []byte(signer.KID)) {
		err = &system.Fault{Name: "NoSigningKey", Err: errors.New("/oidc/jwks answered without the key that signs")}
	}
	return err
}

// permissions reads who may do what on the platform, after a write.
func (p *Probes) permissions(ctx context.Context) error {
	if err := p.database(ctx); err != nil {
		return err
	}
	if _, found, err := p.Identity.RightsOf(access.Principal{Super: true}, domain.Platform); err != nil || !found {
		return &system.Fault{Name: "ReadFailed", Err: errors.Join(err, errors.New("the platform workspace is not known yet"))}
	}
	return nil
}

// masterKeys holds the master keys against their check values.
func (p *Probes) masterKeys(ctx context.Context) error {
	return p.Box.Ensure(ctx, p.Checks)
}

// keysDriver tells where the master keys come from.
func (p *Probes) keysDriver() string {
	if p.KeysInDir {
		return "file"
	}
	return "env"
}
