package gateway

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"svc/commands"
)

// exchange is what the gateway knows of one request and its answer. The steps
// of the chain fill it one after another, before the handler starts; from then
// on only rate changes, under mu, because a handler may outlive its request.
type exchange struct {
	gateway  *Gateway
	settings Settings
	start    time.Time

	id     string // correlation id
	parent string // traceparent of the answer
	ip     netip.Addr
	secure bool // over HTTPS, as far as the client sees

	version  *Version
	revision string
	route    *Route
	template string // the route's path with its prefix: the metrics label
	vars     map[string]string
	lost     error // why there is no route

	shown   Credentials // by which the caller is known; never logged
	caller  Caller
	grant   Grant
	command *commands.Request
	slot    *slot
	devices []string // tokens by which the device is known, on routes that sign in

	mu   sync.Mutex
	rate *rateState // the tightest limit met so far
}

type exchangeKey struct{}

func withExchange(ctx context.Context, ex *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, ex)
}

func exchangeFrom(ctx context.Context) *exchange {
	ex, _ := ctx.Value(exchangeKey{}).(*exchange)
	return ex
}

// exchangeOf returns the exchange of r, or an empty one outside a gateway.
func exchangeOf(r *http.Request) *exchange {
	if ex := exchangeFrom(r.Context()); ex != nil {
		return ex
	}
	return &exchange{settings: Settings{}.withDefaults()}
}

// writes reports whether the exchange is a write of a known route.
func (ex *exchange) writes(r *http.Request) bool {
	return ex.route != nil && ex.route.writes(r.Method)
}

// become makes c the caller, also of the events that the request causes.
func (ex *exchange) become(c Caller) {
	ex.caller = c
	ex.command.Meta.UserID = c.Actor()
	ex.command.Meta.SessionID = c.SessionID
	ex.command.Meta.AutomationDepth = c.Depth
}

// workspaceID returns the workspace that the request is about, resolved when
// the Authorizer did so, else as the path has it.
func (ex *exchange) workspaceID() string {
	if ex.grant.WorkspaceID != "" {
		return ex.grant.WorkspaceID
	}
	return ex.vars["workspaceId"]
}

// PagePrefix begins what the Authorizer gets for a path that names a page, and by
// it a workspace.
const PagePrefix = "page:"

// named is the workspace as the path names it, by a page of it if so.
func (ex *exchange) named() string {
	if page := ex.vars["pageId"]; page != "" {
		return PagePrefix + page
	}
	return ex.vars["workspaceId"]
}

// Var returns the decoded path variable, or "".
func Var(r *http.Request, name string) string { return exchangeOf(r).vars[name] }

// WithVars returns r with path variables set: for tests of handlers without a
// gateway.
func WithVars(r *http.Request, vars map[string]string) *http.Request {
	ex := &exchange{settings: Settings{}.withDefaults(), caller: CallerFrom(r.Context()), vars: vars}
	return r.WithContext(withExchange(r.Context(), ex))
}

// CorrelationID returns the id of the request that ctx belongs to, or "".
func CorrelationID(ctx context.Context) string {
	if ex := exchangeFrom(ctx); ex != nil {
		return ex.id
	}
	return ""
}

// Traceparent returns the W3C trace context to pass on from ctx, or "".
func Traceparent(ctx context.Context) string {
	if ex := exchangeFrom(ctx); ex != nil {
		return ex.parent
	}
	return ""
}

// GrantFrom returns what the Authorizer granted, or the zero Grant.
func GrantFrom(ctx context.Context) Grant {
	if ex := exchangeFrom(ctx); ex != nil {
		return ex.grant
	}
	return Grant{}
}

// ClientIP returns the client's address, seen through trusted proxies.
func ClientIP(r *http.Request) netip.Addr { return exchangeOf(r).ip }

// Secure reports whether the client came over HTTPS.
func Secure(r *http.Request) bool { return exchangeOf(r).secure }

// Revision returns the behaviour revision that the request asked for.
func Revision(r *http.Request) string { return exchangeOf(r).revision }

// Timeout returns how long the gateway waits for a handler.
func Timeout(r *http.Request) time.Duration { return exchangeOf(r).settings.RequestTimeout }
