//go:build bench

package bench

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"svc/domain"
)

const (
	aimIngest     = 0.4
	ingestClients = 8
	ingestBatch   = 100
	ingestTime    = 4 * time.Second
)

// benchIngest compares events that are emitted over HTTP, in batches, on disk when they
// are answered, with messages of the same size that are published to a stream of the
// broker and acknowledged as usual.
func benchIngest(t *testing.T, _ *history) {
	others := watchOthers(t)
	dir := t.TempDir()
	port := freePort(t)
	service := launch(t, command(t, "serve", append(settingsOf(dir, port), "RATE_LIMIT_REQUESTS=0")...), port)
	service.awaitReady(t, "/readyz")
	a := api{fmt.Sprintf("http://127.0.0.1:%d", port), &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: ingestClients}}}
	var ids []string
	for range ingestClients {
		ids = append(ids, a.makeWorkspace(t))
	}
	size := 700 // of an event of ours as it is stored, about
	var ours, control series
	for range runs {
		collectGarbage()
		ours = append(ours, emitOnce(t, service, a, ids))
		control = append(control, publishOnce(t, size))
	}
	service.stop(t)
	stored := countActivity(t, dir, func(domain.Event) bool { return true })
	require.GreaterOrEqual(t, stored, ours.count(), "each answer is stored")
	out := line{
		"runs": runs, "others_cores": others(), "clients": ingestClients, "batch": ingestBatch, "aim": aimIngest, "ratio": ours.ratio(control), "ratios": ours.ratios(control),
		"ok": ours.ratio(control) >= aimIngest, "answered": ours.count(), "stored": stored,
		"control": "publish of messages of the same size, one by one, 256 under way per connection, acknowledged before fsync", "durability": "group: fdatasync before the answer",
	}
	ours.describe(out, "service")
	control.describe(out, "publish")
	out.print(t, "ingest")
}

// emitOnce lets every client emit batches for a while; the sample counts events.
func emitOnce(t *testing.T, service *server, a api, ids []string) (s sample) {
	t.Helper()
	events := make([]string, ingestBatch)
	for i := range events {
		events[i] = fmt.Sprintf(`{"type":"order.paid","payload":{"order":"o-%06d","amount":%d,"customer":{"name":"Customer %d","city":"Ghent"}}}`, i, i*7, i)
	}
	body := `{"events":[` + strings.Join(events, ",") + `]}`
	places := make([]string, len(ids))
	for i, id := range ids {
		places[i] = "/v2/workspaces/" + id + "/events"
	}
	s = a.postForAWhile(t, service, places, ingestTime, func(int) string { return body })
	s.count *= ingestBatch
	return s
}

// publishOnce publishes to a broker of its own for the same time.
func publishOnce(t *testing.T, size int) (s sample) {
	t.Helper()
	broker, err := natsserver.NewServer(&natsserver.Options{DontListen: true, StoreDir: t.TempDir(), JetStream: true, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	broker.Start()
	defer func() { broker.Shutdown(); broker.WaitForShutdown() }()
	require.True(t, broker.ReadyForConnections(time.Minute))
	body := make([]byte, size)
	var mu sync.Mutex
	var all sync.WaitGroup
	collectGarbage()
	cpu, start := ownCPU(t), time.Now()
	for c := range ingestClients {
		all.Go(func() {
			nc, err := nats.Connect("", nats.InProcessServer(broker))
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			js, err := natsjs.New(nc, natsjs.WithPublishAsyncMaxPending(256))
			if err == nil && c == 0 {
				_, err = js.CreateStream(t.Context(), natsjs.StreamConfig{Name: "X", Subjects: []string{"x.>"}})
			}
			if err != nil {
				t.Error(err)
				return
			}
			n := 0
			for ; time.Since(start) < ingestTime; n++ {
				if _, err := js.PublishAsync(fmt.Sprintf("x.%d.order.paid", c), body, natsjs.WithRetryAttempts(10), natsjs.WithStallWait(time.Minute)); err != nil {
					t.Error(err)
					return
				}
			}
			<-js.PublishAsyncComplete()
			mu.Lock()
			defer mu.Unlock()
			s.count += n
		})
	}
	all.Wait()
	s.took, s.cpu = time.Since(start), ownCPU(t)-cpu
	return s
}
