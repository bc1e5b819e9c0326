package runtime

import (
	"context"
	"maps"
	"net/textproto"
	"strings"
	"sync"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// HTTP is the answer of an endpoint, as $http changes it.
type HTTP struct {
	// Send passes one chunk on to the caller. It returns once the chunk is on its way,
	// or the caller is gone.
	Send func(ctx context.Context, chunk []byte)

	mu        sync.Mutex
	status    int
	header    map[string][]string
	keepAlive time.Duration
	changed   chan struct{} // closed when keepAlive is set to something else; nil: nobody waits for that
	begun     bool          // a chunk was sent: status and headers are gone
}

// dropped are headers that automations cannot set: of the connection, and what a browser
// keeps for all that comes from the origin, which is not one of their workspace alone.
var dropped = map[string]bool{
	"Set-Cookie": true, "Set-Cookie2": true, "Content-Length": true, "X-Correlation-Id": true,
	"Service-Worker-Allowed": true, "Clear-Site-Data": true, "Nel": true, "Report-To": true, "Strict-Transport-Security": true,
	"Public-Key-Pins": true, "Public-Key-Pins-Report-Only": true, "Expect-Ct": true, "Alt-Svc": true, "Accept-Ch": true, "Critical-Ch": true,
	"Origin-Agent-Cluster": true, "Set-Login": true, "Access-Control-Allow-Credentials": true,
	"Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Authorization": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "Proxy-Connection": true,
}

// Head returns the status that was set, 0 for none, and the headers.
func (h *HTTP) Head() (status int, header map[string][]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status, maps.Clone(h.header)
}

// KeepAlive returns how often something is to be sent to a caller who gets chunks; 0:
// not at all. Changed is closed when that is not so any more.
func (h *HTTP) KeepAlive() (every time.Duration, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.keepAlive, h.changed
}

// setKeepAlive wakes who sends, to whom a time that begins only with the next chunk would
// be of no use.
func (h *HTTP) setKeepAlive(every time.Duration) {
	if every == h.keepAlive {
		return
	}
	h.keepAlive = every
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// Begun reports whether chunks were sent.
func (h *HTTP) Begun() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.begun
}

// begin notes that a chunk is about to be sent.
func (h *HTTP) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun = true
}

var errForeignHTTP = automation.Invalid("$http is that of another run, which this one goes on without")

// write sets status, headers or sseKeepAlive.
func (h *HTTP) write(op variable.Op, leastKeepAlive time.Duration) error {
	if h == nil {
		return errForeignHTTP
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch op.Path[0].Key {
	case "sseKeepAlive":
		n, _ := op.Value.(float64)
		h.setKeepAlive(max(time.Duration(n*float64(time.Millisecond)), leastKeepAlive))
		return nil
	case "status":
		n, _ := op.Value.(float64)
		if h.begun || n != float64(int(n)) || n < 200 || n > 599 {
			return automation.Invalid("$http.status is a number from 200 to 599, and is set before the first chunk")
		}
		h.status = int(n)
		return nil
	}
	if h.begun {
		return automation.Invalid("$http.headers are set before the first chunk")
	}
	return h.headers(op)
}

// headers sets one header, or all of them.
func (h *HTTP) headers(op variable.Op) error {
	if len(op.Path) > 1 {
		return h.set(op.Path[1].Key, op.Value)
	}
	all, _ := op.Value.(*value.Object)
	h.header = map[string][]string{}
	for _, name := range all.Keys() {
		if err := h.set(name, all.At(name)); err != nil {
			return err
		}
	}
	return nil
}

func (h *HTTP) set(name string, v any) error {
	text := value.Text(v)
	canonical := textproto.CanonicalMIMEHeaderKey(name)
	if !validHeader(name, text) {
		return automation.Invalid("$http.headers: %q has a name or a value that no header can have", name)
	}
	if dropped[canonical] || strings.HasPrefix(canonical, "X-Svc-") {
		return nil
	}
	if h.header == nil {
		h.header = map[string][]string{}
	}
	if value.IsNothing(v) {
		delete(h.header, canonical)
		return nil
	}
	h.header[canonical] = []string{text}
	return nil
}

// validHeader reports whether a header can be sent as it is.
func validHeader(name, text string) bool {
	if name == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}
