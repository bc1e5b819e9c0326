package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"svc/domain"
)

// RateClass names a rate limit.
type RateClass string

// The rate limits of the contract.
const (
	RateSignup          RateClass = "signup"
	RateAnonymousLogin  RateClass = "anonymousLogin"
	RateLogin           RateClass = "login"
	RatePasswordReset   RateClass = "passwordReset"
	RateTokenExchange   RateClass = "tokenExchange"
	RateCreateWorkspace RateClass = "createWorkspace"
	RateImportWorkspace RateClass = "importWorkspace"
	RateUploadFile      RateClass = "uploadFile"
	RateSearchEvents    RateClass = "searchEvents"
	RateSearchKnowledge RateClass = "searchKnowledge"
	RateAskModels       RateClass = "askModels"
	RateWebhooks        RateClass = "webhooks"
	RateRequests        RateClass = "requests" // every call of the API
)

// Per is what a limit counts by.
type Per string

// What limits count by. A handler counts by email and IP itself, with LimitLogin: only it has
// decoded the body.
const (
	PerIP     Per = "IP"
	PerEmail  Per = "email and IP"
	PerCaller Per = "caller" // user, else API key, else IP
)

// RateLimit is a row of the table of limits.
type RateLimit struct {
	Name      RateClass
	Setting   string // the setting that overrides PerMinute
	Per       Per
	PerMinute int64
	// Exact limits use the shared counter each time. Others are counted on each node and added
	// to the shared counter a few times per second.
	Exact bool
}

var rateLimits = []RateLimit{
	{RateSignup, "RATE_LIMIT_SIGNUP", PerIP, 10, true},
	{RateAnonymousLogin, "RATE_LIMIT_ANONYMOUS_LOGIN", PerIP, 60, true},
	{RateLogin, "RATE_LIMIT_LOGIN", PerEmail, 5, true},
	{RatePasswordReset, "RATE_LIMIT_PASSWORD_RESET", PerIP, 5, true},
	{RateTokenExchange, "RATE_LIMIT_TOKEN_EXCHANGE", PerIP, 60, true},
	{RateCreateWorkspace, "RATE_LIMIT_CREATE_WORKSPACE", PerCaller, 60, false},
	{RateImportWorkspace, "RATE_LIMIT_IMPORT_WORKSPACE", PerCaller, 60, false},
	{RateUploadFile, "RATE_LIMIT_UPLOAD_FILE", PerCaller, 300, false},
	{RateSearchEvents, "RATE_LIMIT_SEARCH_EVENTS", PerCaller, 600, false},
	{RateSearchKnowledge, "RATE_LIMIT_SEARCH_KNOWLEDGE", PerCaller, 600, false},
	{RateAskModels, "RATE_LIMIT_ASK_MODELS", PerCaller, 60, false},
	{RateWebhooks, "RATE_LIMIT_WEBHOOKS", PerCaller, 6000, false},
	{RateRequests, "RATE_LIMIT_REQUESTS", PerCaller, 6000, false},
}

func findClass(name RateClass) *RateLimit {
	for i := range rateLimits {
		if rateLimits[i].Name == name {
			return &rateLimits[i]
		}
	}
	return nil
}

// ratePeriod is the window of every limit.
const ratePeriod = time.Minute

// rateState is the use of one limit by a caller in the current window.
type rateState struct {
	limit     *RateLimit
	max, used int64
	reset     time.Time
}

func (s *rateState) remaining() int64 { return max(0, s.max-s.used) }

// setRateHeaders shows the tightest limit of the exchange.
func (ex *exchange) setRateHeaders(h http.Header) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.rate == nil {
		return
	}
	ex.setHeader(h, "X-Ratelimit-Limit", strconv.FormatInt(ex.rate.max, 10))
	ex.setHeader(h, "X-Ratelimit-Remaining", strconv.FormatInt(ex.rate.remaining(), 10))
	ex.setHeader(h, "X-Ratelimit-Reset", strconv.FormatInt(ex.rate.reset.Unix(), 10))
}

// setTightest stores the limit with the least remaining uses.
func (ex *exchange) setTightest(s *rateState) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.rate == nil || s.remaining() < ex.rate.remaining() {
		ex.rate = s
	}
}

// refusal is the 429 of an exceeded limit.
func (s *rateState) refusal(now time.Time) error {
	return domain.Refuse(domain.CodeRateLimit, "too many requests, try again later").
		With("name", s.limit.Name).
		With("limit", s.max).
		With("period", int64(ratePeriod/time.Second)).
		With("retryAfter", seconds(s.reset.Sub(now))).
		With("resetAt", domain.FormatTime(s.reset))
}

// Limit counts one more use of a class for a subject that only the handler knows, such as the email
// of a login. It refuses with 429.
func Limit(ctx context.Context, class RateClass, subject string) error {
	ex := exchangeFrom(ctx)
	if ex == nil || ex.gateway == nil {
		return nil
	}
	return ex.gateway.limits.use(ctx, ex, class, subject)
}

// limitByIP is the step for limits that count addresses.
func (g *Gateway) limitByIP(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if class := findClass(ex.route.Rate); class != nil && class.Per == PerIP {
		return g.limits.use(r.Context(), ex, class.Name, addressKey(ex.ip))
	}
	return nil
}

// limitByCaller is the step for limits that count callers.
func (g *Gateway) limitByCaller(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if class := findClass(ex.route.Rate); class != nil && class.Per == PerCaller {
		if err := g.limits.use(r.Context(), ex, class.Name, ex.callerKey()); err != nil {
			return err
		}
	}
	if ex.route.Surface == Plain {
		return nil
	}
	return g.limits.use(r.Context(), ex, RateRequests, ex.callerKey())
}

// unlimited reports whether no limit applies: to a health check, or a call with the internal key.
func (ex *exchange) unlimited() bool {
	if ex.route == nil {
		return false
	}
	own := ex.route.Permission == Internal || ex.route.Permission == SuperOrInternal
	return ex.route.Probe || own && ex.caller.Kind == KindInternal
}

// callerKey returns the owner of limits and idempotency keys.
func (ex *exchange) callerKey() string {
	if ex.key != "" {
		return ex.key
	}
	switch c := &ex.caller; {
	case c.UserID != "":
		return "user:" + c.UserID
	case c.KeyID != "":
		return "key:" + c.KeyID
	case c.Kind == KindInternal:
		return "internal"
	}
	return addressKey(ex.ip)
}

// Limiter counts for all nodes together.
type Limiter interface {
	// Add adds n to the counter at key and returns its new total. A counter may
	// be forgotten once window has passed since its first Add. Keys hold only
	// letters, digits, slashes and dashes, and differ from window to window.
	Add(ctx context.Context, key string, window time.Duration, n int64) (total int64, err error)
}

const (
	shareDelay   = 250 * time.Millisecond // from the first unshared use until it is shared
	shareTimeout = 2 * time.Second        // limit of one call of the Limiter
	maxWindows   = 200_000                // maximal number of counters on this node
)

// windows counts uses in fixed windows. Limits fail open: without its store the service still
// answers.
type windows struct {
	shared Limiter // nil: this node counts alone
	now    func() time.Time
	log    *slog.Logger

	unshared chan struct{} // has a value when there are counts to share

	mu     sync.Mutex
	counts map[window]*count
}

// window names a counter: the uses of a class by a subject in a period.
type window struct {
	class   RateClass
	subject string
	start   int64 // Unix time
}

// key returns the key of the counter that all nodes share. Nobody can read the subject in it.
func (w window) key() string {
	return string(w.class) + "/" + digest(w.subject) + "/" + strconv.FormatInt(w.start, 10)
}

// count is one busy window on this node.
type count struct {
	reset   time.Time
	shared  int64 // the shared total when it was last updated
	pending int64 // uses on this node since then
}

func newWindows(shared Limiter, now func() time.Time, log *slog.Logger) *windows {
	return &windows{shared: shared, now: now, log: log, unshared: make(chan struct{}, 1), counts: map[window]*count{}}
}

// use counts one use of class by subject, stores it in ex, and refuses it when the limit is exceeded.
func (w *windows) use(ctx context.Context, ex *exchange, class RateClass, subject string) error {
	return w.useTimes(ctx, ex, class, subject, 1)
}

// useTimes is use with a multiple of the limit.
func (w *windows) useTimes(ctx context.Context, ex *exchange, class RateClass, subject string, times int64) error {
	limit := findClass(class)
	if limit == nil || ex.settings.DisableRateLimit || ex.unlimited() {
		return nil
	}
	most, set := ex.settings.RateLimits[class]
	if !set {
		most = limit.PerMinute
	}
	if most <= 0 {
		return nil
	}
	most *= times
	now := w.now()
	start := now.Truncate(ratePeriod)
	state := &rateState{limit: limit, max: most, reset: start.Add(ratePeriod)}
	state.used = w.add(ctx, limit, window{class, subject, start.Unix()}, state.reset)
	ex.setTightest(state)
	if state.used > most {
		return state.refusal(now)
	}
	return nil
}

// digest hashes a subject, so that it can be part of a key and is not readable.
func digest(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return hex.EncodeToString(sum[:16])
}

// add counts one use and returns the total so far.
func (w *windows) add(ctx context.Context, limit *RateLimit, counted window, reset time.Time) int64 {
	if limit.Exact && w.shared != nil {
		total, err := w.addShared(ctx, counted, 1)
		if err != nil {
			w.log.WarnContext(ctx, "rate limit not counted", "limit", limit.Name, "err", err)
		}
		return total
	}
	defer w.requestSharing()
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.counts[counted]
	if c == nil {
		if len(w.counts) >= maxWindows {
			return 0
		}
		c = &count{reset: reset}
		w.counts[counted] = c
	}
	c.pending++
	return c.shared + c.pending
}

func (w *windows) addShared(ctx context.Context, counted window, n int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, shareTimeout)
	defer cancel()
	return w.shared.Add(ctx, counted.key(), ratePeriod, n)
}

// run shares the counts of this node until ctx ends. It waits while nothing is counted.
func (w *windows) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.unshared:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(shareDelay):
			w.share(ctx)
		}
	}
}

func (w *windows) requestSharing() {
	select {
	case w.unshared <- struct{}{}:
	default: // asked already
	}
}

// share adds the counts of this node to the shared counters and deletes old windows. Failed ones are
// tried again.
func (w *windows) share(ctx context.Context) {
	for counted, n := range w.pendingCounts() {
		total, err := w.addShared(ctx, counted, n)
		if err != nil {
			w.log.WarnContext(ctx, "rate limits not settled", "err", err)
			w.requestSharing()
			return
		}
		w.mu.Lock()
		if c := w.counts[counted]; c != nil {
			c.shared, c.pending = total, c.pending-n
		}
		w.mu.Unlock()
	}
}

// pendingCounts deletes old windows and returns the counts to share.
func (w *windows) pendingCounts() map[window]int64 {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.counts, func(_ window, c *count) bool { return !now.Before(c.reset) })
	pending := map[window]int64{}
	for counted, c := range w.counts {
		if w.shared != nil && c.pending > 0 {
			pending[counted] = c.pending
		}
	}
	return pending
}

// occupancy counts the requests or streams in flight per caller.
type occupancy struct {
	mu    sync.Mutex
	count map[string]int
}

// acquire acquires a slot for key, or returns false when there is none.
func (o *occupancy) acquire(key string, most int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count[key] >= most {
		return false
	}
	if o.count == nil {
		o.count = map[string]int{}
	}
	o.count[key]++
	return true
}

func (o *occupancy) release(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count[key]--; o.count[key] <= 0 {
		delete(o.count, key)
	}
}

// slot may have two holders: the request, and a handler that continues after it. The last one
// releases it.
type slot struct {
	holders atomic.Int32
	free    func()
}

func (s *slot) retain() {
	if s != nil {
		s.holders.Add(1)
	}
}

func (s *slot) release() {
	if s != nil && s.holders.Add(-1) == 0 {
		s.free()
	}
}

// occupy is the step that limits the requests in flight per caller.
func (g *Gateway) occupy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ex := exchangeOf(r)
		if ex.unlimited() {
			next.ServeHTTP(w, r)
			return
		}
		acquire := g.acquireInFlight
		if ex.route.Streaming {
			acquire = func(ex *exchange) (func(), error) { return g.acquireLive(ex, "") }
		}
		release, err := acquire(ex)
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		ex.slot = &slot{free: release}
		ex.slot.retain()
		defer ex.slot.release()
		next.ServeHTTP(w, r)
	})
}

// acquireInFlight acquires the slot of a request.
func (g *Gateway) acquireInFlight(ex *exchange) (release func(), err error) {
	key := ex.callerKey()
	if !g.inFlight.acquire(key, ex.settings.MaxConcurrent) {
		return nil, tooManyError(ex.settings.MaxConcurrent)
	}
	return func() { g.inFlight.release(key) }, nil
}

// acquireLive acquires the slots of a live connection. A visitor without an account is counted by
// session, opened by the handler or before: an address may be that of a whole office. All of them at
// an address are counted together as well, because whoever opens many connections can open many
// sessions.
func (g *Gateway) acquireLive(ex *exchange, session string) (release func(), err error) {
	key := ex.callerKey()
	if session != "" {
		key = "session:" + session
	}
	if !g.live.acquire(key, ex.settings.MaxLive) {
		return nil, tooManyError(ex.settings.MaxLive)
	}
	if session == "" && !ex.caller.Anonymous {
		return func() { g.live.release(key) }, nil
	}
	all := "visitors at " + addressKey(ex.ip)
	if !g.live.acquire(all, ex.settings.MaxLiveVisitors) {
		g.live.release(key)
		return nil, tooManyError(ex.settings.MaxLiveVisitors)
	}
	return func() { g.live.release(key); g.live.release(all) }, nil
}

func tooManyError(most int) error {
	return domain.Refuse(domain.CodeConcurrency, "more than %d at once", most).
		With("limit", most).With("retryAfter", 1)
}
