package gateway

import (
	"context"
	"net/http"
	"strconv"
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
	RateWebhooks        RateClass = "webhooks"
	RateRequests        RateClass = "requests" // every call of the API
)

// Per says whom a limit counts.
type Per string

// Whom limits count. A handler counts by email and IP itself, with LimitLogin: only it
// knows the body.
const (
	PerIP     Per = "IP"
	PerEmail  Per = "email and IP"
	PerCaller Per = "caller" // user, else API key, else IP
)

// RateLimit is a row of the table of limits.
type RateLimit struct {
	Name      RateClass
	Setting   string // what overrides PerMinute
	Per       Per
	PerMinute int64
	// Exact limits ask the shared counter each time. The busy ones are counted
	// on each node and settled a few times per second.
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
	{RateWebhooks, "RATE_LIMIT_WEBHOOKS", PerCaller, 6000, false},
	{RateRequests, "RATE_LIMIT_REQUESTS", PerCaller, 6000, false},
}

// RateLimits returns the table of limits, for the settings and the reference.
func RateLimits() []RateLimit { return append([]RateLimit(nil), rateLimits...) }

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

// rateState is where a caller stands in the current window of one limit.
type rateState struct {
	limit     RateLimit
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
	h.Set("X-Ratelimit-Limit", strconv.FormatInt(ex.rate.max, 10))
	h.Set("X-Ratelimit-Remaining", strconv.FormatInt(ex.rate.remaining(), 10))
	h.Set("X-Ratelimit-Reset", strconv.FormatInt(ex.rate.reset.Unix(), 10))
}

// tighten keeps the limit that leaves the least.
func (ex *exchange) tighten(s *rateState) {
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

// Limit counts one more use of a class for a subject that only the handler
// knows, such as the email of a login. It refuses with 429.
func Limit(ctx context.Context, class RateClass, subject string) error {
	ex := exchangeFrom(ctx)
	if ex == nil || ex.gateway == nil {
		return nil
	}
	return ex.gateway.limits.take(ctx, ex, class, subject)
}

// limitByIP is the step for limits that count addresses.
func (g *Gateway) limitByIP(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if class := findClass(ex.route.Rate); class != nil && class.Per == PerIP {
		return g.limits.take(r.Context(), ex, class.Name, addressKey(ex.ip))
	}
	return nil
}

// limitByCaller is the step for limits that count callers.
func (g *Gateway) limitByCaller(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if class := findClass(ex.route.Rate); class != nil && class.Per == PerCaller {
		if err := g.limits.take(r.Context(), ex, class.Name, ex.callerKey()); err != nil {
			return err
		}
	}
	if ex.route.Surface == Plain {
		return nil
	}
	return g.limits.take(r.Context(), ex, RateRequests, ex.callerKey())
}

// unlimited reports whether no limit counts the request: a health check, or the
// platform's own call with the internal key.
func (ex *exchange) unlimited() bool {
	if ex.route == nil {
		return false
	}
	own := ex.route.Permission == Internal || ex.route.Permission == SuperOrInternal
	return ex.route.Probe || own && ex.caller.Kind == KindInternal
}

// callerKey names whom limits and idempotency keys belong to.
func (ex *exchange) callerKey() string {
	switch c := ex.caller; {
	case c.UserID != "":
		return "user:" + c.UserID
	case c.KeyID != "":
		return "key:" + c.KeyID
	case c.Kind == KindInternal:
		return "internal"
	}
	return addressKey(ex.ip)
}
