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

// IdempotencyStore stores answers for all nodes, durably.
type IdempotencyStore interface {
	// Claim stores record under key for ttl and returns nil. If key has a value already, it
	// changes nothing and returns that value. Of several concurrent claims exactly one gets nil.
	Claim(ctx context.Context, key string, record []byte, ttl time.Duration) (existing []byte, err error)
	// Put stores record under key for ttl, whatever was there.
	Put(ctx context.Context, key string, record []byte, ttl time.Duration) error
	// Delete removes the value of key.
	Delete(ctx context.Context, key string) error
}

const (
	recordTTL  = 24 * time.Hour
	twinPoll   = 100 * time.Millisecond // between checks of the claim of another node
	storeWait  = 5 * time.Second
	maxKeySize = 255
	maxRecord  = 512 << 10 // bytes of a record; a larger answer is not stored
)

// record is the stored value: first a claim, then the answer.
type record struct {
	Print  string      `json:"print"` // of method, path and body
	Holder holder      `json:"holder,omitzero"`
	Done   bool        `json:"done"`
	Again  bool        `json:"again,omitempty"` // the request was done, but its answer was not stored: a repeat runs again
	Ran    string      `json:"ran,omitempty"`   // the correlation id of a run whose answer was not stored: a repeat must not run
	Status int         `json:"status,omitempty"`
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
}

// holder is the process that made a claim. A node has one process at a time, so the claim of an
// older process with the same name is void.
type holder struct {
	Node string `json:"node,omitempty"`
	Run  string `json:"run,omitempty"`
}

func (h holder) outlived(by holder) bool { return h.Node != "" && h.Node == by.Node && h.Run != by.Run }

// idempotency runs each write with an Idempotency-Key once, and answers repeats with the first
// successful answer. Keys belong to callers: requests without a credential are never repeats.
type idempotency struct {
	store IdempotencyStore
	key   []byte // of seeds
	log   *slog.Logger
	self  holder
	aside func(*http.Request, task) // runs a task that no request waits for

	mu      sync.Mutex
	flights map[string]chan struct{} // keys that requests on this node hold
}

func newIdempotency(store IdempotencyStore, key []byte, log *slog.Logger, self holder) *idempotency {
	return &idempotency{store: store, key: key, log: log, self: self, flights: map[string]chan struct{}{}}
}

// claim is the claim of one request on its key.
type claim struct {
	key   string // in the store
	print string
	ttl   time.Duration
	lease *claimLease // nil: nothing is claimed yet
}

// respond calls h once per key. It is inside of the request timeout: an answer that is too late for
// its caller is stored for the repeat.
func (o *idempotency) respond(h HandlerFunc, r *http.Request) (*reply, error) {
	ex := exchangeOf(r)
	keys := r.Header["Idempotency-Key"]
	if len(keys) == 0 || isRead(r.Method) || !ex.writes(r) {
		return respond(h, r)
	}
	if len(keys) > 1 || !isKey(keys[0]) {
		return nil, domain.Refuse(domain.CodeInvalidParameter, "Idempotency-Key must be 1 to %d printable characters", maxKeySize).
			With("parameter", "Idempotency-Key")
	}
	if ex.caller.Kind == KindNone {
		return respond(h, r) // clients behind one IP must not get each other's answers
	}
	c, err := claimOf(r, ex, keys[0])
	if err != nil {
		return nil, err
	}
	ex.command.Seed = o.seed(c)
	if o.store == nil {
		return respond(h, r)
	}
	return o.run(r, c, func(r *http.Request) (*reply, error) { return respond(h, r) })
}

// seed returns the seed of the ids of a request: the same for its repeat on any node, and unknown to
// others.
func (o *idempotency) seed(c claim) string {
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

// claimOf computes the fingerprint of the request. For a body over the JSON limit it uses only the
// beginning and the length, so that no upload is held in memory.
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
	r.Body = rejoinedBody{io.MultiReader(bytes.NewReader(head), orEmpty(r.Body)), orEmpty(r.Body)}
	return claim{
		key:   digest(ex.callerKey() + "\n" + key),
		print: hex.EncodeToString(sum.Sum(nil)),
		ttl:   ex.settings.RequestTimeout + ex.settings.WriteGrace + storeWait,
	}, nil
}

// rejoinedBody is a body whose beginning was read before.
type rejoinedBody struct {
	io.Reader
	io.Closer
}

func orEmpty(body io.ReadCloser) io.ReadCloser {
	if body == nil {
		return http.NoBody
	}
	return body
}

// run waits for a request with the same key on this node, then claims the key in the store.
func (o *idempotency) run(r *http.Request, c claim, work task) (*reply, error) {
	for {
		twin, release := o.acquireKey(c.key)
		if release == nil {
			if err := wait(r.Context(), twin, 0); err != nil {
				return nil, err
			}
			continue
		}
		rp, pending, err := o.claimAndRun(r, c, work, release)
		if !pending {
			return rp, err
		}
		if err := wait(r.Context(), nil, twinPoll); err != nil {
			return nil, err
		}
	}
}

// acquireKey acquires the key on this node. When another request has it, leave is nil, and twin is
// closed when that is done.
func (o *idempotency) acquireKey(key string) (twin <-chan struct{}, release func()) {
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

// claimAndRun claims the key in the store and runs work, or returns the stored answer. pending says
// that another node works on it.
func (o *idempotency) claimAndRun(r *http.Request, c claim, work task, release func()) (rp *reply, pending bool, err error) {
	handedOver := false
	defer func() {
		if !handedOver {
			release()
		}
	}()
	existing, repeated, err := o.claimKey(r.Context(), c)
	if err != nil {
		return nil, false, &closedGate{fmt.Errorf("claim idempotency key: %w", err)}
	}
	if existing != nil {
		rp, pending, err = replay(existing, c.print)
		return rp, pending, err
	}
	c.lease = o.startLease(r.Context(), c)
	rp, err = o.runFirst(r, c, work)
	if err == nil && repeated {
		err = rp.markReplayed()
	}
	if err == nil && rp.stream != nil {
		handedOver = true
		rp.onEnd = o.onStreamEnd(r, c, rp.stream, release)
	}
	return rp, false, err
}

// claimKey claims the key in the store, also from a crashed process of this node, and after an
// answer that could not be stored (repeated). It returns the stored record when there is one.
func (o *idempotency) claimKey(ctx context.Context, c claim) (existing []byte, repeated bool, err error) {
	mine, err := o.encodeClaim(c)
	if err != nil {
		return nil, false, err
	}
	existing, err = o.store.Claim(ctx, c.key, mine, c.ttl)
	if err != nil || existing == nil {
		return nil, false, err
	}
	var stored record
	if json.Unmarshal(existing, &stored) != nil || stored.Print != c.print {
		return existing, false, nil
	}
	if stored.Again || !stored.Done && stored.Holder.outlived(o.self) {
		return nil, stored.Again, o.store.Put(ctx, c.key, mine, c.ttl)
	}
	return existing, false, nil
}

// runFirst runs work and stores its answer, or nothing when it failed.
func (o *idempotency) runFirst(r *http.Request, c claim, work task) (rp *reply, err error) {
	stored := false
	defer func() {
		if !stored {
			o.deleteClaim(r, c)
		}
	}()
	rp, err = work(r)
	if stored = errors.Is(err, ErrGoesOn); stored {
		o.storeDone(r, c)
	}
	if err != nil {
		return nil, err
	}
	if rp.stream != nil {
		stored = true // decided when it ends
		return rp, nil
	}
	if stored = rp.status < http.StatusMultipleChoices && rp.reader == nil; stored {
		o.storeAnswer(r, c, rp)
	}
	return rp, nil
}

// replay answers from a stored record.
func replay(stored []byte, print string) (rp *reply, pending bool, err error) {
	var rec record
	if err := json.Unmarshal(stored, &rec); err != nil {
		return nil, false, fmt.Errorf("read kept answer: %w", err)
	}
	if rec.Print != print {
		return nil, false, domain.Refuse(domain.CodeConflict, "this Idempotency-Key was used for another request").
			Reason("idempotency_key_reused")
	}
	if !rec.Done {
		return nil, true, nil
	}
	if rec.Ran != "" {
		return nil, false, domain.Refuse(domain.CodeConflict, "it was run for this Idempotency-Key, and its answer could not be kept: it was too large, or the node stopped before").
			Reason("not_recorded").With("correlationId", rec.Ran)
	}
	if rec.Header == nil {
		rec.Header = http.Header{}
	}
	rec.Header.Set("Idempotency-Replayed", "true")
	return &reply{status: rec.Status, header: rec.Header, body: rec.Body}, false, nil
}

// markReplayed marks the answer of work that ran again as a replay.
func (rp *reply) markReplayed() (err error) {
	rp.header.Set("Idempotency-Replayed", "true")
	for _, once := range neverReplayed {
		rp.header.Del(once)
	}
	if rp.again != nil {
		rp.body, err = json.Marshal(rp.again)
	}
	return err
}

// neverReplayed are the headers that a replay does not have.
var neverReplayed = []string{"Set-Cookie", "X-Svc-Csrf-Token"}

// storeAnswer stores an answer for a day. When that fails, or it is too large, only storeDone is
// called; the answer is sent in any case.
func (o *idempotency) storeAnswer(r *http.Request, c claim, rp *reply) {
	whole, err := recordOf(r, c, rp)
	if err == nil {
		err = o.storeRecord(r, c, whole)
	}
	if err == nil {
		return
	}
	if !errors.Is(err, errTooLarge) {
		o.log.ErrorContext(r.Context(), "answer not kept for its idempotency key", "correlationId", exchangeOf(r).id, "err", err)
	}
	o.storeDone(r, c)
}

// storeDone stores that the request was done. A repeat runs again, finds its own events, because its
// ids are derived from its key, and so answers the same. Automations are not run again.
func (o *idempotency) storeDone(r *http.Request, c claim) {
	rec, ex := record{Print: c.print, Done: true}, exchangeOf(r)
	if ex.route.Runs {
		rec.Ran = ex.id
	} else {
		rec.Again = true
	}
	if o.storeRecord(r, c, rec) != nil {
		o.deleteClaim(r, c)
	}
}

// errTooLarge says that an answer is too large to be stored.
var errTooLarge = errors.New("gateway: answer too large to be kept")

// recordOf returns the record for replays.
func recordOf(r *http.Request, c claim, rp *reply) (rec record, err error) {
	rec = record{Print: c.print, Done: true, Status: rp.status, Header: rp.header.Clone(), Body: rp.body}
	for _, once := range neverReplayed {
		rec.Header.Del(once)
	}
	setPosition(rec.Header, exchangeOf(r).positionOf(r, rp.status))
	if rp.again != nil {
		rec.Body, err = json.Marshal(rp.again)
	}
	return rec, err
}

func (o *idempotency) storeRecord(r *http.Request, c claim, rec record) error {
	c.lease.end()
	if len(rec.Body) > maxRecord {
		return errTooLarge
	}
	encoded, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if len(encoded) > maxRecord {
		return errTooLarge
	}
	ctx, cancel := storeContext(r.Context())
	defer cancel()
	return o.store.Put(ctx, c.key, encoded, recordTTL)
}

// storeLastFrame stores the last frame of a stream, or nothing when it failed.
func (o *idempotency) storeLastFrame(r *http.Request, c claim, last any, failure error) {
	body, err := json.Marshal(last)
	if failure != nil || last == nil || err != nil {
		o.deleteClaim(r, c)
		return
	}
	o.storeAnswer(r, c, &reply{status: http.StatusOK, header: http.Header{"Content-Type": jsonOnly}, body: body})
}

func (o *idempotency) deleteClaim(r *http.Request, c claim) {
	c.lease.end()
	ctx, cancel := storeContext(r.Context())
	defer cancel()
	if err := o.store.Delete(ctx, c.key); err != nil {
		o.log.WarnContext(r.Context(), "idempotency key not given back", "correlationId", exchangeOf(r).id, "err", err)
	}
}

// storeContext outlives the request: its result must be stored.
func storeContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), storeWait)
}

// ErrGoesOn says that the work of a request continues, and that its answer will not be known here: a
// repeat with the same Idempotency-Key must not start it again.
var ErrGoesOn = errors.New("gateway: what was begun goes on")

// claimLease renews a claim while its request is processed.
type claimLease struct {
	mu    sync.Mutex
	timer *time.Timer // nil: it has ended
}

// startLease renews a claim until the lease ends.
func (o *idempotency) startLease(ctx context.Context, c claim) *claimLease {
	h := &claimLease{}
	h.mu.Lock()
	defer h.mu.Unlock()
	often := max((c.ttl-storeWait)/2, time.Millisecond)
	h.timer = time.AfterFunc(often, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.timer == nil {
			return
		}
		if err := o.renew(ctx, c); err != nil {
			o.log.WarnContext(ctx, "idempotency key not held", "correlationId", CorrelationID(ctx), "err", err)
		}
		h.timer.Reset(often)
	})
	return h
}

// end stops renewing, before an answer replaces the claim.
func (h *claimLease) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
}

// renew renews a claim, unless it was taken over.
func (o *idempotency) renew(ctx context.Context, c claim) error {
	mine, err := o.encodeClaim(c)
	if err != nil {
		return err
	}
	ctx, cancel := storeContext(ctx)
	defer cancel()
	existing, err := o.store.Claim(ctx, c.key, mine, c.ttl)
	if err != nil || !bytes.Equal(existing, mine) {
		return err
	}
	return o.store.Put(ctx, c.key, mine, c.ttl)
}

// encodeClaim returns a claim as a stored record.
func (o *idempotency) encodeClaim(c claim) ([]byte, error) {
	return json.Marshal(record{Print: c.print, Holder: o.self})
}

// onStreamEnd returns the function to call when a stream has ended, or will not be served: it stores
// the last frame, or the later result. Until then its key is claimed.
func (o *idempotency) onStreamEnd(r *http.Request, c claim, s *Stream, release func()) func(last any, failure error) {
	return func(last any, failure error) {
		if s.Later == nil {
			defer release()
			o.storeLastFrame(r, c, last, failure)
			return
		}
		o.aside(r, func(r *http.Request) (*reply, error) {
			defer release()
			return o.runFirst(r, c, func(r *http.Request) (*reply, error) { return respond(s.Later, r) })
		})
	}
}
