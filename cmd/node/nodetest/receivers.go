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

// Far is a server that automations fetch from. It notes what it is asked.
type Far struct {
	*httptest.Server
	mu    sync.Mutex
	Asked []string // method, path with query, and body
	heads []http.Header
}

// NewFar starts a server that automations fetch from.
func NewFar(t *testing.T) *Far {
	t.Helper()
	f := &Far{}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// ServeHTTP implements http.Handler.
func (f *Far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.Asked = append(f.Asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	f.heads = append(f.heads, r.Header.Clone())
	before := len(f.to(r.URL.Path))
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
func (f *Far) retry(w http.ResponseWriter, before int) {
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

// to lists what was asked of a path.
func (f *Far) to(path string) (asked []string) {
	for _, one := range f.Asked {
		if _, at, _ := strings.Cut(one, " "); strings.HasPrefix(at, path) {
			asked = append(asked, one)
		}
	}
	return asked
}

// Seen lists what was asked of a path, and with what headers the last time.
func (f *Far) Seen(path string) ([]string, http.Header) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.Asked) - 1; i >= 0; i-- {
		if _, at, _ := strings.Cut(f.Asked[i], " "); strings.HasPrefix(at, path) {
			return f.to(path), f.heads[i]
		}
	}
	return nil, nil
}

// Gate is a server that lets nobody through before it is opened.
type Gate struct {
	*httptest.Server
	mu     sync.Mutex
	asked  map[string]int // by path
	opened chan struct{}
	once   sync.Once
}

// NewGate starts a server that lets nobody through.
func NewGate(t *testing.T) *Gate {
	t.Helper()
	g := &Gate{asked: map[string]int{}, opened: make(chan struct{})}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	t.Cleanup(g.Open)
	return g
}

// ServeHTTP implements http.Handler.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.asked[r.URL.Path]++
	g.mu.Unlock()
	select {
	case <-g.opened:
	case <-r.Context().Done():
	}
	w.WriteHeader(http.StatusNoContent)
}

// Open lets everybody through.
func (g *Gate) Open() { g.once.Do(func() { close(g.opened) }) }

// Awaits waits until a path was asked for so often.
func (g *Gate) Awaits(t *testing.T, n int, path string) {
	t.Helper()
	require.Eventually(t, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.asked[path] >= n
	}, time.Minute, 10*time.Millisecond, "%d times %s", n, path)
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

// NextMinute moves the clock to just after the next full minute.
func (c *Clock) NextMinute() {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += now.Truncate(time.Minute).Add(time.Minute + time.Second).Sub(now)
}

// ShortLease is for how long a node that is gone keeps others from what it did: somewhat
// shorter than usual, and long enough that a busy machine makes no node late.
const ShortLease = 12 * time.Second

// Inbox is a receiver that answers as it is told.
type Inbox struct {
	*httptest.Server
	mu     sync.Mutex
	all    []Parcel
	status int
}

// Parcel is a delivery as a receiver sees it.
type Parcel struct {
	Header http.Header
	Body   []byte
}

// NewInbox starts a receiver that takes everything.
func NewInbox(t *testing.T) *Inbox {
	t.Helper()
	in := &Inbox{status: http.StatusOK}
	in.Server = httptest.NewServer(in)
	t.Cleanup(in.Close)
	return in
}

// ServeHTTP implements http.Handler.
func (in *Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.all = append(in.all, Parcel{r.Header.Clone(), body})
	w.WriteHeader(in.status)
	_, _ = io.WriteString(w, "thank you")
}

// Answer sets the status of the answers that follow.
func (in *Inbox) Answer(status int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.status = status
}

// Seen returns the deliveries that came.
func (in *Inbox) Seen() []Parcel {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]Parcel(nil), in.all...)
}

// Await waits until so many deliveries came.
func (in *Inbox) Await(t *testing.T, n int) []Parcel {
	t.Helper()
	require.Eventually(t, func() bool { return len(in.Seen()) >= n }, time.Minute, 5*time.Millisecond)
	return in.Seen()
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
func (p Place) Deliveries(t *testing.T, sub, query string) (list []Delivery, total string) {
	t.Helper()
	got := p.Does(t, 200, "GET", sub+"/deliveries?"+query, "")
	require.NoError(t, json.Unmarshal(got.Body, &list), "%s", got.Body)
	return list, got.Header.Get("X-Total-Count")
}

// AwaitDelivery waits until the newest delivery has a status.
func (p Place) AwaitDelivery(t *testing.T, sub, status string) Delivery {
	t.Helper()
	var list []Delivery
	require.Eventually(t, func() bool {
		list, _ = p.Deliveries(t, sub, "limit=1")
		return len(list) > 0 && list[0].Status == status
	}, time.Minute, 10*time.Millisecond, "the newest delivery must be %s", status)
	return list[0]
}
