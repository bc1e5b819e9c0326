//go:build bench

package bench

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// aimWebhooks is the share of the rate of a bare loop of POSTs that signed, ordered
// and recorded deliveries come to.
const aimWebhooks = 0.4

// posters is how many POSTs are under way at once, on both sides.
const posters = 16

// countingReceiver is a receiver that counts what comes.
type countingReceiver struct {
	*httptest.Server
	count atomic.Int64
	full  chan struct{} // closed when all that was expected has come
	want  atomic.Int64
	last  atomic.Pointer[[]byte]
}

func newCountingReceiver(t *testing.T) *countingReceiver {
	t.Helper()
	l := &countingReceiver{}
	l.Server = httptest.NewServer(l)
	t.Cleanup(l.Close)
	return l
}

// expect lets full be closed after so many more.
func (l *countingReceiver) expect(n int) {
	l.full = make(chan struct{})
	l.count.Store(0)
	l.want.Store(int64(n))
}

// ServeHTTP implements http.Handler.
func (l *countingReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	l.last.Store(&body)
	w.WriteHeader(http.StatusNoContent)
	if l.count.Add(1) == l.want.Load() {
		close(l.full)
	}
}

// subscriber is a service whose events go to a letterbox.
type subscriber struct {
	api
	service *server
	path    string // of the workspace
	sub     string // of the subscription, which is disabled between runs
	box     *countingReceiver
}

func newSubscriber(t *testing.T, box *countingReceiver) *subscriber {
	t.Helper()
	port := freePort(t)
	service := launch(t, command(t, "serve", append(settingsOf(t.TempDir(), port), "EGRESS_ALLOW_PRIVATE=yes")...), port)
	service.awaitReady(t, "/readyz")
	s := &subscriber{service: service, box: box, api: api{fmt.Sprintf("http://127.0.0.1:%d", port), &http.Client{Timeout: time.Minute}}}
	s.path = "/v2/workspaces/" + s.must(t, "POST", "/v2/workspaces", `{"name":"W"}`, http.StatusCreated)
	s.sub = s.path + "/subscriptions/" + s.must(t, "POST", s.path+"/subscriptions",
		`{"url":"`+box.URL+`","types":["orders.*"],"orderKey":"payload.order","disabled":true}`, http.StatusCreated)
	return s
}

// deliver records events while the subscription is disabled, and measures how long
// their deliveries take once it is not.
func (s *subscriber) deliver(t *testing.T, n int) sample {
	t.Helper()
	for from := 0; from < n; from += 100 {
		var batch []string
		for i := from; i < min(n, from+100); i++ {
			batch = append(batch, fmt.Sprintf(`{"type":"orders.paid","payload":{"order":"order-%d","amount":%d,"currency":"EUR","note":%q}}`, i%1000, i, strings.Repeat("x", 200)))
		}
		s.must(t, "POST", s.path+"/events", `{"events":[`+strings.Join(batch, ",")+`]}`, http.StatusCreated)
	}
	collectGarbage()
	s.box.expect(n)
	cpu, start := cpuOf(t, s.service.Process.Pid), time.Now()
	s.must(t, "PATCH", s.sub, `{"disabled":false}`, http.StatusOK)
	select {
	case <-s.box.full:
	case <-time.After(5 * time.Minute):
		require.Fail(t, "deliveries are missing", "%d of %d", s.box.count.Load(), n)
	}
	took := sample{count: n, took: time.Since(start), cpu: cpuOf(t, s.service.Process.Pid) - cpu}
	s.must(t, "PATCH", s.sub, `{"disabled":true}`, http.StatusOK)
	return took
}

// post is the control: the same bodies from a bare loop.
func post(t *testing.T, box *countingReceiver, body []byte, n int) sample {
	t.Helper()
	box.expect(n)
	return requestAll(t, n, posters, func(client *http.Client, _ int) (*http.Response, error) {
		return client.Post(box.URL, "application/json", bytes.NewReader(body))
	})
}

// benchWebhooks delivers stored events to a receiver in this process, beside a bare
// loop of POSTs of the same body to the same receiver.
func benchWebhooks(t *testing.T, _ *history) {
	others := watchOthers(t)
	n := scaled(20_000)
	box := newCountingReceiver(t)
	s := newSubscriber(t, box)
	var ours, control series
	for range runs {
		ours = append(ours, s.deliver(t, n))
		control = append(control, post(t, box, *box.last.Load(), n))
	}
	recorded := 0
	require.Eventually(t, func() bool {
		_, header, _, err := s.ask("GET", s.sub+"/deliveries?limit=1&status=succeeded", "")
		require.NoError(t, err)
		_, err = fmt.Sscan(header.Get("X-Total-Count"), &recorded)
		return err == nil && recorded >= ours.count()
	}, time.Minute, 50*time.Millisecond, "every delivery is recorded")
	out := line{
		"runs": runs, "others_cores": others(), "sent": ours.count(), "answered": ours.count(), "stored": recorded, "at_once": posters,
		"control": "a bare loop of POSTs of the same body to the same receiver", "bytes_each": len(*box.last.Load()),
		"aim": aimWebhooks, "ratio": ours.ratio(control), "ratios": ours.ratios(control), "ok": ours.ratio(control) >= aimWebhooks,
		"durability": "group: what came of each delivery is on disk before its place is given up",
		"peak_mb":    float64(procField(t, s.service.Process.Pid, "status", "VmHWM")) / 1024,
	}
	s.service.stop(t)
	ours.describe(out, "webhooks")
	out["per_s_control"] = control.of(sample.rate)
	out.print(t, "webhooks")
}
