package nodetest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// RemoteServer is a server that automations fetch from. It records the requests.
type RemoteServer struct {
	*httptest.Server
	mu       sync.Mutex
	Requests []string // method, path with query, and body
	headers  []http.Header
}

// NewRemoteServer starts a server that automations fetch from.
func NewRemoteServer(t *testing.T) *RemoteServer {
	t.Helper()
	f := &RemoteServer{}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// ServeHTTP implements http.Handler.
func (f *RemoteServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.Requests = append(f.Requests, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	f.headers = append(f.headers, r.Header.Clone())
	before := len(f.requestsTo(r.URL.Path))
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/bad":
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"e": 1}`)
	case "/retry":
		f.retry(w, before)
	case "/sse":
		w.Header().Set("Content-Type", "text/event-stream")
		for _, packet := range []string{"data: a\n", "\ndata: {\"k\"", ":1}\n\n:hello\nevent: x\nid: 7\ndata: l1\ndata: l2"} {
			_, _ = io.WriteString(w, packet)
			_ = http.NewResponseController(w).Flush()
		}
	case "/text":
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "plain")
	case "/bytes":
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write([]byte{1, 2, 3})
	case "/empty":
	default:
		_, _ = io.WriteString(w, `{"ok": true}`)
	}
}

// retry refuses twice before it answers.
func (f *RemoteServer) retry(w http.ResponseWriter, before int) {
	switch before {
	case 1:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	case 2:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		_, _ = io.WriteString(w, `"ok"`)
	}
}

// requestsTo lists the requests to a path.
func (f *RemoteServer) requestsTo(path string) (asked []string) {
	for _, one := range f.Requests {
		if _, at, _ := strings.Cut(one, " "); strings.HasPrefix(at, path) {
			asked = append(asked, one)
		}
	}
	return asked
}

// RequestsTo lists the requests to a path, and returns the headers of the last one.
func (f *RemoteServer) RequestsTo(path string) ([]string, http.Header) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.Requests) - 1; i >= 0; i-- {
		if _, at, _ := strings.Cut(f.Requests[i], " "); strings.HasPrefix(at, path) {
			return f.requestsTo(path), f.headers[i]
		}
	}
	return nil, nil
}

// BlockingServer is a server that answers no request before it is released.
type BlockingServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests map[string]int // by path
	released chan struct{}
	once     sync.Once
}

// NewBlockingServer starts a server that blocks all requests.
func NewBlockingServer(t *testing.T) *BlockingServer {
	t.Helper()
	g := &BlockingServer{requests: map[string]int{}, released: make(chan struct{})}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	t.Cleanup(g.Release)
	return g
}

// ServeHTTP implements http.Handler.
func (g *BlockingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.requests[r.URL.Path]++
	g.mu.Unlock()
	select {
	case <-g.released:
	case <-r.Context().Done():
	}
	w.WriteHeader(http.StatusNoContent)
}

// Release answers all requests, also later ones.
func (g *BlockingServer) Release() { g.once.Do(func() { close(g.released) }) }

// Count is how many requests to a path there were.
func (g *BlockingServer) Count(path string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.requests[path]
}

// AwaitRequests waits until there were n requests to a path.
func (g *BlockingServer) AwaitRequests(t *testing.T, n int, path string) {
	t.Helper()
	require.Eventually(t, func() bool { return g.Count(path) >= n }, time.Minute, 10*time.Millisecond, "%d times %s", n, path)
}

// Clock is one that a test moves.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

// Now is the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// Pass moves the clock on.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// NextMinute moves the clock to just after the next full minute.
func (c *Clock) NextMinute() {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += now.Truncate(time.Minute).Add(time.Minute + time.Second).Sub(now)
}

// ShortLease is a lease for tests of takeovers: shorter than usual, and long enough for the nodes of
// a busy machine to renew it in time.
const ShortLease = 12 * time.Second

// Receiver is a receiver of webhooks that answers with a status.
type Receiver struct {
	*httptest.Server
	mu         sync.Mutex
	deliveries []ReceivedDelivery
	status     int
}

// ReceivedDelivery is a delivery that a receiver got.
type ReceivedDelivery struct {
	Header http.Header
	Body   []byte
}

// NewReceiver starts a receiver that accepts everything.
func NewReceiver(t *testing.T) *Receiver {
	t.Helper()
	in := &Receiver{status: http.StatusOK}
	in.Server = httptest.NewServer(in)
	t.Cleanup(in.Close)
	return in
}

// ServeHTTP implements http.Handler.
func (in *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.deliveries = append(in.deliveries, ReceivedDelivery{r.Header.Clone(), body})
	w.WriteHeader(in.status)
	_, _ = io.WriteString(w, "thank you")
}

// SetStatus sets the status of the answers that follow.
func (in *Receiver) SetStatus(status int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.status = status
}

// Received returns the deliveries so far.
func (in *Receiver) Received() []ReceivedDelivery {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]ReceivedDelivery(nil), in.deliveries...)
}

// AwaitDeliveries waits until there are n deliveries.
func (in *Receiver) AwaitDeliveries(t *testing.T, n int) []ReceivedDelivery {
	t.Helper()
	require.Eventually(t, func() bool { return len(in.Received()) >= n }, time.Minute, 5*time.Millisecond)
	return in.Received()
}

// Delivery is what the API shows of one.
type Delivery struct {
	ID, Status, EventID, EventType, NextAttemptAt string
	Replay                                        bool
	Attempts                                      []struct {
		Status       int
		Error        string
		ResponseBody string
	}
}

// Deliveries lists the deliveries of a subscription, and how many there are.
func (p Workspace) Deliveries(t *testing.T, sub, query string) (list []Delivery, total string) {
	t.Helper()
	got := p.Do(t, 200, "GET", sub+"/deliveries?"+query, "")
	require.NoError(t, json.Unmarshal(got.Body, &list), "%s", got.Body)
	return list, got.Header.Get("X-Total-Count")
}

// AwaitDelivery waits until the newest delivery has a status.
func (p Workspace) AwaitDelivery(t *testing.T, sub, status string) Delivery {
	t.Helper()
	var list []Delivery
	require.Eventually(t, func() bool {
		list, _ = p.Deliveries(t, sub, "limit=1")
		return len(list) > 0 && list[0].Status == status
	}, time.Minute, 10*time.Millisecond, "the newest delivery must be %s", status)
	return list[0]
}
