package gateway

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"svc/domain"
)

// IdempotencyStore keeps answers for all nodes, durably.
type IdempotencyStore interface {
	// Claim keeps record under key for ttl and returns nil, unless something is
	// kept there already: then it changes nothing and returns that. Of several
	// claims at once exactly one gets nil.
	Claim(ctx context.Context, key string, record []byte, ttl time.Duration) (existing []byte, err error)
	// Put keeps record under key for ttl, whatever was there.
	Put(ctx context.Context, key string, record []byte, ttl time.Duration) error
	// Delete removes what is kept under key.
	Delete(ctx context.Context, key string) error
}

const (
	keptFor    = 24 * time.Hour
	twinPoll   = 100 * time.Millisecond // between looks at another node's claim
	storeWait  = 5 * time.Second
	maxKeySize = 255
	maxKept    = 512 << 10 // bytes of a record; a larger answer is not kept
)

// record is what the store keeps: first a claim, then the answer.
type record struct {
	Print  string      `json:"print"` // of method, path and body
	Holder holder      `json:"holder,omitzero"`
	Done   bool        `json:"done"`
	Again  bool        `json:"again,omitempty"` // it was done, but a repeat must run again
	Ran    string      `json:"ran,omitempty"`   // the correlation id of a run whose answer is not kept: a repeat must not run
	Status int         `json:"status,omitempty"`
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
}

// holder is the run of a node that made a claim. A node has one run at a time,
// so an older one of the same name is dead, and so is its claim.
type holder struct {
	Node string `json:"node,omitempty"`
	Run  string `json:"run,omitempty"`
}

func (h holder) outlived(by holder) bool { return h.Node != "" && h.Node == by.Node && h.Run != by.Run }

// onceOnly runs each write with an Idempotency-Key once, and answers repeats
// with the first successful answer. Keys belong to callers: without a credential there is
// none, and each request is one of its own.
type onceOnly struct {
	store IdempotencyStore
	key   []byte // of seeds
	log   *slog.Logger
	self  holder
	aside func(*http.Request, task) // does what no request waits for

	mu      sync.Mutex
	flights map[string]chan struct{} // keys at work on this node
}

func newOnceOnly(store IdempotencyStore, key []byte, log *slog.Logger, self holder) *onceOnly {
	return &onceOnly{store: store, key: key, log: log, self: self, flights: map[string]chan struct{}{}}
}

// claim is one request's hold on its key.
type claim struct {
	key   string // in the store
	print string
	lease time.Duration
	hold  *hold // nil: nothing is claimed yet
}

// wrap lets work run once per key. It belongs inside the request timeout: an
// answer that came too late for its caller is kept for the repeated request.
func (o *onceOnly) wrap(work task) task {
	return func(r *http.Request) (*reply, error) {
		ex := exchangeOf(r)
		keys := r.Header.Values("Idempotency-Key")
		if len(keys) == 0 || isRead(r.Method) || !ex.writes(r) {
			return work(r)
		}
		if len(keys) > 1 || !isKey(keys[0]) {
			return nil, domain.Refuse(domain.CodeInvalidParameter, "Idempotency-Key must be 1 to %d printable characters", maxKeySize).
				With("parameter", "Idempotency-Key")
		}
		if ex.caller.Kind == KindNone {
			return work(r) // an IP is nobody: others behind it must not meet each other's answers
		}
		c, err := claimOf(r, ex, keys[0])
		if err != nil {
			return nil, err
		}
		ex.command.Seed = o.seed(c)
		if o.store == nil {
			return work(r)
		}
		return o.run(r, c, work)
	}
}

// seed is what the ids of a request are drawn from: the same for its repetition,
// on any node, and known to nobody outside.
func (o *onceOnly) seed(c claim) string {
	mac := hmac.New(sha256.New, o.key)
	mac.Write([]byte(c.key + "/" + c.print))
	return hex.EncodeToString(mac.Sum(nil))
}

func isKey(key string) bool {
	n := utf8.RuneCountInString(key)
	if n == 0 || n > maxKeySize || !utf8.ValidString(key) {
		return false
	}
	for _, char := range key {
		if !unicode.IsPrint(char) {
			return false
		}
	}
	return true
}

// claimOf fingerprints the request. Of a body over the JSON limit only the
// beginning and the length count, so that no upload is held in memory.
func claimOf(r *http.Request, ex *exchange, key string) (claim, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s\n", r.Method, r.URL.RequestURI())
	most := ex.settings.RequestMaxSize
	head, err := readBody(&http.Request{Body: io.NopCloser(io.LimitReader(orEmpty(r.Body), most)), ContentLength: r.ContentLength})
	if err != nil {
		return claim{}, err
	}
	sum.Write(head)
	if int64(len(head)) == most {
		fmt.Fprintf(sum, "\n%d", r.ContentLength)
	}
	r.Body = rejoined{io.MultiReader(bytes.NewReader(head), orEmpty(r.Body)), orEmpty(r.Body)}
	return claim{
		key:   digest(ex.callerKey() + "\n" + key),
		print: hex.EncodeToString(sum.Sum(nil)),
		lease: ex.settings.RequestTimeout + ex.settings.WriteGrace + storeWait,
	}, nil
}

// rejoined is a body whose beginning was read and put back.
type rejoined struct {
	io.Reader
	io.Closer
}

func orEmpty(body io.ReadCloser) io.ReadCloser {
	if body == nil {
		return http.NoBody
	}
	return body
}

// run waits for a twin on this node, then asks the store whose turn it is.
func (o *onceOnly) run(r *http.Request, c claim, work task) (*reply, error) {
	for {
		twin, leave := o.enter(c.key)
		if leave == nil {
			if err := wait(r.Context(), twin, 0); err != nil {
				return nil, err
			}
			continue
		}
		rp, pending, err := o.lead(r, c, work, leave)
		if !pending {
			return rp, err
		}
		if err := wait(r.Context(), nil, twinPoll); err != nil {
			return nil, err
		}
	}
}

// enter takes the key on this node. When a twin has it, leave is nil and twin
// is closed once it is done.
func (o *onceOnly) enter(key string) (twin <-chan struct{}, leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if flight, busy := o.flights[key]; busy {
		return flight, nil
	}
	flight := make(chan struct{})
	o.flights[key] = flight
	return nil, func() {
		o.mu.Lock()
		delete(o.flights, key)
		o.mu.Unlock()
		close(flight)
	}
}

// wait waits for done or for a time, but not longer than ctx.
func wait(ctx context.Context, done <-chan struct{}, limit time.Duration) error {
	var timer <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-done:
	case <-timer:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// lead claims the key in the store and runs work, or answers with what is
// kept. pending tells that another node is at work on it.
func (o *onceOnly) lead(r *http.Request, c claim, work task, leave func()) (rp *reply, pending bool, err error) {
	handedOver := false
	defer func() {
		if !handedOver {
			leave()
		}
	}()
	existing, repeated, err := o.take(r.Context(), c)
	if err != nil {
		return nil, false, &closedGate{fmt.Errorf("claim idempotency key: %w", err)}
	}
	if existing != nil {
		rp, pending, err = replay(existing, c.print)
		return rp, pending, err
	}
	c.hold = o.holdOn(r.Context(), c)
	rp, err = o.first(r, c, work)
	if err == nil && repeated {
		err = rp.markReplayed()
	}
	if err == nil && rp.stream != nil {
		handedOver = true
		rp.settle = o.settle(r, c, rp.stream, leave)
	}
	return rp, false, err
}

// take claims the key in the store, also from a run of this node that crashed
// with it and after an answer that could not be kept (repeated), and returns what
// is kept there instead when there is anything.
func (o *onceOnly) take(ctx context.Context, c claim) (existing []byte, repeated bool, err error) {
	mine, err := o.mine(c)
	if err != nil {
		return nil, false, err
	}
	existing, err = o.store.Claim(ctx, c.key, mine, c.lease)
	if err != nil || existing == nil {
		return nil, false, err
	}
	var kept record
	if json.Unmarshal(existing, &kept) != nil || kept.Print != c.print {
		return existing, false, nil
	}
	if kept.Again || !kept.Done && kept.Holder.outlived(o.self) {
		return nil, kept.Again, o.store.Put(ctx, c.key, mine, c.lease)
	}
	return existing, false, nil
}

// first runs work and keeps its answer, or nothing when it failed.
func (o *onceOnly) first(r *http.Request, c claim, work task) (rp *reply, err error) {
	kept := false
	defer func() {
		if !kept {
			o.drop(r, c)
		}
	}()
	rp, err = work(r)
	if kept = errors.Is(err, ErrGoesOn); kept {
		o.keepDone(r, c)
	}
	if err != nil {
		return nil, err
	}
	if rp.stream != nil {
		kept = true // decided when it ends
		return rp, nil
	}
	if kept = rp.status < http.StatusMultipleChoices && rp.reader == nil; kept {
		o.keep(r, c, rp)
	}
	return rp, nil
}
