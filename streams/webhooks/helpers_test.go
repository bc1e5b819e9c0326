package webhooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/commands"
	"svc/commands/egress"
	"svc/commands/operations"
	"svc/commands/seal"
	"svc/commands/subscriptions"
	"svc/commands/vault"
	"svc/domain"
	"svc/domain/subscription"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/livetest"
	"svc/streams/feed"
	"svc/streams/webhooks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

const patience = 2 * time.Minute

// fixture is webhooks over a real log, real read models and a real feed.
type fixture struct {
	t      *testing.T
	store  *jetstream.Store
	models *projections.Models
	subs   *subscriptions.Subscriptions
	feed   *feed.Feed
	hooks  *webhooks.Webhooks
	opts   webhooks.Options
	ops    *operations.Runner

	end     context.CancelFunc // of what delivers
	running sync.WaitGroup
}

// singleNodeLeases are the leases of a node that has no others.
type singleNodeLeases struct{}

// Hold implements operations.Leases.
func (singleNodeLeases) Hold(ctx context.Context, _ string, work func(context.Context) error) error {
	return work(ctx)
}

// open builds a fixture with a workspace w1, and delivers.
func open(t *testing.T, changes ...func(*webhooks.Options)) *fixture {
	t.Helper()
	h := &fixture{t: t}
	h.store, h.models = livetest.Open(t)
	engine, err := commands.NewEngine(commands.EngineOptions{Store: h.store.Log, Log: quiet})
	require.NoError(t, err)
	keys, cursors := h.bucket("VAULT"), h.bucket("WEBHOOKS")
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte{7, 0x5a}, 16), Active: true}})
	require.NoError(t, err)
	out, err := egress.New(egress.Options{Rules: egress.Rules{AllowPrivate: true}})
	require.NoError(t, err)
	t.Cleanup(out.Close)
	h.subs = &subscriptions.Subscriptions{Engine: engine, Vault: vault.New(box, keys), Count: h.models.SubscriptionCount, Addresses: out, Now: time.Now}
	h.feed, err = feed.New(feed.Options{Models: h.models, Store: h.store.Log, Payloads: h.store.Payloads, Log: quiet})
	require.NoError(t, err)
	h.background(func(ctx context.Context) { _ = h.feed.Run(ctx) })
	workspaces := commands.Workspaces{Engine: engine}
	_, err = workspaces.Make(t.Context(), workspace.Create{ID: "w1", Settings: workspace.Settings{Name: "Shop"}})
	require.NoError(t, err)
	h.ops = &operations.Runner{Engine: engine, Workspaces: workspaces, Leases: singleNodeLeases{}, Blobs: h.store.Blobs, Log: quiet}
	h.opts = webhooks.Options{
		Models: h.models, Feed: h.feed, Store: h.store.Log, Secrets: h.subs, Disable: h.subs, Client: out.Client(2 * time.Second), Cursors: cursors, Replays: h.ops,
		Schedule: []time.Duration{20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond}, PollInterval: 5 * time.Millisecond, Log: quiet,
	}
	for _, change := range changes {
		change(&h.opts)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, h.ops.Close(ctx))
		h.stop()
	})
	h.start()
	return h
}

func (h *fixture) bucket(name string) *jetstream.Bucket {
	h.t.Helper()
	b, err := h.store.Buckets.Open(h.t.Context(), jetstream.BucketConfig{Name: name})
	require.NoError(h.t, err)
	return b
}

// background runs something until the test ends.
func (h *fixture) background(run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	h.t.Cleanup(func() { cancel(); running.Wait() })
}

// start begins to deliver, as a node does that has just come up.
func (h *fixture) start() {
	h.hooks = webhooks.New(h.opts)
	var ctx context.Context
	ctx, h.end = context.WithCancel(context.Background())
	h.running.Go(func() {
		if err := h.hooks.Run(ctx); err != nil && ctx.Err() == nil {
			h.t.Error(err)
		}
	})
}

// stop ends what delivers.
func (h *fixture) stop() {
	h.end()
	h.running.Wait()
}

// subscribe makes a subscription of w1.
func (h *fixture) subscribe(url string, change ...func(*subscription.Terms)) (state subscription.State, secret string) {
	h.t.Helper()
	terms := subscription.Terms{URL: url, Types: []string{"orders.*"}}
	for _, c := range change {
		c(&terms)
	}
	made, secret, err := h.subs.Create(h.t.Context(), "w1", terms, "")
	require.NoError(h.t, err)
	return made.State, secret
}

// emit records events of w1, each with a key and a number, and returns their ids.
func (h *fixture) emit(key string, numbers ...int) (ids []string) {
	h.t.Helper()
	var facts []eventstore.Fact
	for _, n := range numbers {
		id := ulid.Make().String()
		ids = append(ids, id)
		facts = append(facts, eventstore.Fact{ID: id, Event: domain.Unknown{Name: "orders.paid", Body: fmt.Appendf(nil, `{"key":%q,"n":%d}`, key, n)}})
	}
	_, err := h.store.Log.Append(h.t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: "w1"}, Meta: domain.Meta{CorrelationID: key, TraceID: "0af7651916cd43dd8448eb211c80319c"}, Facts: facts,
	})
	require.NoError(h.t, err)
	return ids
}

// delivery returns a delivery as it is recorded.
func (h *fixture) delivery(sub, event string) (d projections.DeliveryRecord) {
	h.t.Helper()
	require.NoError(h.t, h.models.View(func(r projections.Reader) (err error) {
		d, _, err = projections.Deliveries{}.Get(r, subscription.DeliveryID(sub, event, ""))
		return err
	}))
	return d
}

// await waits for something.
func (h *fixture) await(what string, is func() bool) {
	h.t.Helper()
	require.Eventually(h.t, is, patience, 10*time.Millisecond, what)
}

// awaitStatus waits until a delivery has a status.
func (h *fixture) awaitStatus(sub, event string, status subscription.Status) (d projections.DeliveryRecord) {
	h.t.Helper()
	h.await("the delivery must be "+string(status), func() bool {
		d = h.delivery(sub, event)
		return d.Status == status
	})
	return d
}

// got is a delivery as a receiver sees it.
type got struct {
	ID      string
	Type    string `json:"type"`
	Payload struct {
		Key string
		N   int
	}
	header http.Header
	body   []byte
}

// receiver takes deliveries and answers as it is told.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	all    []got
	answer func(got) int // nil: 204
}

func receive(t *testing.T, answer func(got) int) *receiver {
	t.Helper()
	rc := &receiver{answer: answer}
	rc.Server = httptest.NewServer(rc)
	t.Cleanup(rc.Close)
	return rc
}

// ServeHTTP implements http.Handler.
func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	g := got{header: r.Header.Clone(), body: body}
	_ = json.Unmarshal(body, &g)
	rc.mu.Lock()
	rc.all = append(rc.all, g)
	answer := rc.answer
	rc.mu.Unlock()
	status := http.StatusNoContent
	if answer != nil {
		status = answer(g)
	}
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		_, _ = io.WriteString(w, "said "+http.StatusText(status))
	}
}

// setAnswer changes how the receiver answers.
func (rc *receiver) setAnswer(answer func(got) int) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.answer = answer
}

// seen returns what came so far.
func (rc *receiver) seen() []got {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return append([]got(nil), rc.all...)
}

// numbers are those of the events of a key, in the order in which they came first.
func (rc *receiver) numbers(key string) (list []int) {
	met := map[string]bool{}
	for _, g := range rc.seen() {
		if id := g.header.Get("webhook-id"); g.Payload.Key == key && !met[id] {
			met[id] = true
			list = append(list, g.Payload.N)
		}
	}
	return list
}

// verify checks a delivery with the reference library.
func verify(t *testing.T, g got, secret string) error {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	return hook.Verify(g.body, g.header)
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
