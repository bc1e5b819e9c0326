package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"svc/commands"
	"svc/domain"
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
	vars     pathVars
	lost     error // why no route was found

	credentials Credentials // of the caller; never logged
	caller      Caller
	key         string // of the caller, see callerKey; "" before the caller is known
	grant       Grant
	command     *commands.Request
	slot        *slot
	readAt      domain.Position // what a read contains at least
	devices     []string        // tokens of the device, on routes that sign in

	headers []string // values of the answer's headers

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

// setCaller sets the caller, also for the events of the request.
func (ex *exchange) setCaller(c Caller) {
	ex.caller, ex.key = c, ""
	ex.key = ex.callerKey()
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
	return ex.vars.get("workspaceId")
}

// PagePrefix is the prefix of the workspace that the Authorizer gets for a path that names a page
// instead of a workspace.
const PagePrefix = "page:"

// workspaceParam returns the workspace as the path names it, or a page of it.
func (ex *exchange) workspaceParam() string {
	if page := ex.vars.get("pageId"); page != "" {
		return PagePrefix + page
	}
	return ex.vars.get("workspaceId")
}

// Var returns the decoded path variable, or "".
func Var(r *http.Request, name string) string { return exchangeOf(r).vars.get(name) }

// WithVars returns r with path variables set: for tests of handlers without a
// gateway.
func WithVars(r *http.Request, vars map[string]string) *http.Request {
	ex := &exchange{settings: Settings{}.withDefaults(), caller: CallerFrom(r.Context()), vars: pathVarsOf(vars)}
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

// ClientKey names the client by its address, as limits count one without a credential.
func ClientKey(r *http.Request) string { return addressKey(exchangeOf(r).ip) }

// Secure reports whether the client came over HTTPS.
func Secure(r *http.Request) bool { return exchangeOf(r).secure }

// Timeout returns how long the gateway waits for a handler.
func Timeout(r *http.Request) time.Duration { return exchangeOf(r).settings.RequestTimeout }

// openExchange is the correlation step: it creates the exchange, the correlation id, the span and
// the deadline of the body, and finds the route.
func (g *Gateway) openExchange(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ex := &exchange{gateway: g, settings: g.opts.Settings().withDefaults(), start: g.opts.Now(), id: g.opts.NewID()}
		ex.ip, ex.secure = clientAddress(r, ex.settings.TrustedProxies)
		g.router.find(ex, r, routedMethod(r))

		ctx, span := g.startSpan(r, ex)
		ex.command = &commands.Request{Meta: g.eventSource(ex, r), Address: addressText(ex.ip)}
		ctx = commands.WithRequest(withExchange(ctx, ex), ex.command)

		h := w.Header()
		ex.setHeader(h, "X-Correlation-Id", ex.id)
		ex.setHeader(h, "Traceparent", ex.parent)
		ex.setHeader(h, "X-Svc-Api-Version-Used", ex.version.Revisions[len(ex.version.Revisions)-1])
		r = r.WithContext(ctx)
		if rec, ok := w.(*recorder); ok {
			watchBody(rec, r, ex)
		}
		if span == nil {
			next.ServeHTTP(w, r)
			return
		}
		defer span.End()
		next.ServeHTTP(w, r)
		endSpan(span, w)
	})
}

// setHeader sets a header of the answer, whose name must be canonical. The values of an exchange share their memory.
func (ex *exchange) setHeader(h http.Header, name, value string) {
	if len(ex.headers) == cap(ex.headers) {
		ex.headers = make([]string, 0, 12) // as many as most answers have
	}
	n := len(ex.headers)
	ex.headers = append(ex.headers, value)
	h[name] = ex.headers[n : n+1 : n+1]
}

// eventSource returns the source of the events of the request, without the caller, who is not
// known yet.
func (g *Gateway) eventSource(ex *exchange, r *http.Request) domain.Meta {
	meta := domain.Meta{
		CorrelationID: ex.id,
		TraceID:       traceIDOf(ex.parent),
		Host:          g.opts.Host,
		HTTP:          &domain.HTTPCause{Method: r.Method, Path: ex.maskedPath(r.URL.Path), Hostname: hostname(r.Host)},
	}
	if isPublicAddress(ex.ip) {
		meta.IP = ex.ip.String()
	}
	return meta
}

// hostname is a host without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// startSpan continues the client's trace, or begins one. Without a tracer there is no span, but the
// trace still has an id, so that events can be joined by it.
func (g *Gateway) startSpan(r *http.Request, ex *exchange) (context.Context, trace.Span) {
	remote, ctx := parseTraceparent(r.Header), r.Context()
	if g.opts.Tracer == nil {
		ex.parent = traceparent(nextSpan(remote))
		return ctx, nil
	}
	if remote.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, remote)
	}
	ctx, span := g.opts.Tracer.Start(ctx, r.Method+" "+ex.template, trace.WithSpanKind(trace.SpanKindServer))
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("http.request.method", r.Method),
			attribute.String("http.route", ex.template),
			attribute.String("svc.correlation_id", ex.id))
	}
	sc := span.SpanContext()
	if !sc.IsValid() || sc.SpanID() == remote.SpanID() {
		sc = nextSpan(remote)
		ctx = trace.ContextWithSpanContext(ctx, sc)
	}
	ex.parent = traceparent(sc)
	return ctx, span
}

// traceparent writes the W3C header.
func traceparent(sc trace.SpanContext) string {
	traceID, spanID := sc.TraceID(), sc.SpanID()
	b := make([]byte, 0, 55)
	b = hex.AppendEncode(append(b, "00-"...), traceID[:])
	b = hex.AppendEncode(append(b, '-'), spanID[:])
	b = hex.AppendEncode(append(b, '-'), []byte{byte(sc.TraceFlags())})
	return string(b)
}

// traceIDOf returns the id of the trace in a header that traceparent wrote.
func traceIDOf(parent string) string { return parent[3:35] }

// nextSpan is a span of our own in the trace of parent, or in a new one.
func nextSpan(parent trace.SpanContext) trace.SpanContext {
	traceID, spanID := parent.TraceID(), trace.SpanID{}
	var random [len(traceID) + len(spanID)]byte
	_, _ = rand.Read(random[:])
	copy(spanID[:], random[:])
	if !parent.IsValid() {
		copy(traceID[:], random[len(spanID):])
	}
	return parent.WithTraceID(traceID).WithSpanID(spanID).WithRemote(false)
}

// parseTraceparent reads the W3C header: the zero context when it is absent,
// repeated or not valid.
func parseTraceparent(h http.Header) trace.SpanContext {
	lines := h["Traceparent"]
	if len(lines) == 0 {
		return trace.SpanContext{}
	}
	parts := strings.Split(strings.Join(lines, ","), "-")
	if len(parts) < 4 || len(parts[0]) != 2 || len(parts[3]) != 2 || parts[0] == "ff" || parts[0] == "00" && len(parts) > 4 {
		return trace.SpanContext{}
	}
	if strings.Trim(parts[0]+parts[3], "0123456789abcdef") != "" {
		return trace.SpanContext{}
	}
	traceID, err := trace.TraceIDFromHex(parts[1])
	if err != nil {
		return trace.SpanContext{}
	}
	spanID, err := trace.SpanIDFromHex(parts[2])
	if err != nil {
		return trace.SpanContext{}
	}
	var flags trace.TraceFlags
	if _, err := fmt.Sscanf(parts[3], "%02x", &flags); err != nil {
		return trace.SpanContext{}
	}
	state, _ := trace.ParseTraceState(h.Get("Tracestate"))
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: flags & trace.FlagsSampled, TraceState: state, Remote: true,
	})
}

func endSpan(span trace.Span, w http.ResponseWriter) {
	rec, ok := w.(*recorder)
	if !ok {
		return
	}
	span.SetAttributes(attribute.Int("http.response.status_code", rec.status))
	if rec.status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(rec.status))
	}
}

// clientAddress returns the last hop that is not a trusted proxy, and whether
// the client came over HTTPS. Forwarding headers count only from a trusted peer.
func clientAddress(r *http.Request, trusted []netip.Prefix) (netip.Addr, bool) {
	peer := parseAddress(r.RemoteAddr)
	if !isTrusted(peer, trusted) {
		return peer, r.TLS != nil
	}
	secure := r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	client := peer
	for _, hop := range slices.Backward(hops) {
		addr := parseAddress(strings.TrimSpace(hop))
		if !addr.IsValid() {
			break // not an address: the hops before it cannot be trusted
		}
		if client = addr; !isTrusted(addr, trusted) {
			break
		}
	}
	return client, secure
}

// parseAddress reads an address with or without a port.
func parseAddress(s string) netip.Addr {
	if withPort, err := netip.ParseAddrPort(s); err == nil {
		return withPort.Addr().Unmap().WithZone("")
	}
	addr, _ := netip.ParseAddr(strings.Trim(s, "[]"))
	return addr.Unmap().WithZone("")
}

func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}

var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// isPublicAddress reports whether addr may be recorded: private addresses reveal the network of
// the operator, and nothing about the client.
func isPublicAddress(addr netip.Addr) bool {
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && !sharedSpace.Contains(addr)
}

// addressText returns addr for the log: empty when there is none.
func addressText(addr netip.Addr) string {
	if !addr.IsValid() {
		return ""
	}
	return addr.String()
}

// addressKey is the subject of limits by IP. The half of an IPv6 address that
// a client picks by itself does not make it another client.
func addressKey(addr netip.Addr) string {
	if addr.Is6() {
		if prefix, err := addr.Prefix(64); err == nil {
			return "ip:" + prefix.String()
		}
	}
	return "ip:" + addr.String()
}

// The limits on what comes before a body.
const (
	maxURL     = 8 << 10
	maxHeaders = 32 << 10
)

// clientHeaders are the x-svc-* headers that a client may send. All others are set by the gateway.
var clientHeaders = []string{"X-Svc-Api-Key", "X-Svc-Csrf-Token", "X-Svc-Min-Seq", "X-Svc-Api-Version"}

// Headers that may come in several lines, and those that may not, which the
// contract spells in its own way.
var (
	listHeaders   = []string{"If-Match", "If-None-Match"}
	singleHeaders = []struct{ key, name string }{
		{"Content-Type", "Content-Type"}, {"X-Svc-Api-Version", "X-Svc-API-Version"}, {"X-Svc-Min-Seq", "x-svc-min-seq"},
	}
)

// clean is the header step: it limits the size of URL and headers, removes headers that only the
// gateway may set, and joins or refuses repeated ones.
func (g *Gateway) clean(_ http.ResponseWriter, r *http.Request) error {
	if len(r.RequestURI) > maxURL {
		return RefuseStatus(http.StatusRequestURITooLong, "the URL is longer than %d bytes", maxURL)
	}
	size := 0
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value) + len(": \r\n")
		}
		if isReservedHeader(name) && !slices.Contains(clientHeaders, name) {
			delete(r.Header, name)
		}
	}
	if size > maxHeaders {
		return RefuseStatus(http.StatusRequestHeaderFieldsTooLarge, "the headers are larger than %d bytes", maxHeaders)
	}
	return joinHeaders(r.Header)
}

// joinHeaders leaves one line per header: lists are joined, other repeated headers are refused.
func joinHeaders(h http.Header) error {
	for _, name := range listHeaders {
		if lines := h[name]; len(lines) > 1 {
			h[name] = []string{strings.Join(lines, ", ")}
		}
	}
	for _, header := range singleHeaders {
		if len(h[header.key]) > 1 {
			return domain.Refuse(domain.CodeInvalidParameter, "%s was sent twice", header.name).With("parameter", header.name)
		}
	}
	return nil
}

// mustRoute refuses what has no route, unknown paths and methods, and a query
// that cannot be read.
func (g *Gateway) mustRoute(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	switch _, err := url.QueryUnescape(r.URL.RawQuery); {
	case ex.lost != nil && strings.HasPrefix(r.URL.Path, "/sys/"):
		return ex.lost // operators are never locked out
	case ex.lost != nil:
		return g.countAnonymous(r, ex, ex.lost)
	case err != nil:
		return domain.Refuse(domain.CodeInvalidParameter, "the query is not well-formed").With("parameter", "query")
	}
	return nil
}

// isReservedHeader also matches x_svc_: some servers treat an underscore as a dash.
func isReservedHeader(name string) bool {
	return strings.HasPrefix(strings.ReplaceAll(strings.ToLower(name), "_", "-"), "x-svc-")
}

// setCallerHeaders is the step that replaces the credentials by headers that identify the caller.
func (g *Gateway) setCallerHeaders(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if ex.route.Rate == RateLogin {
		ex.devices = deviceTokens(r)
	}
	if ex.route.OwnAuth {
		return nil
	}
	for _, name := range []string{"Authorization", "Cookie", "X-Svc-Api-Key", "X-Svc-Csrf-Token"} {
		delete(r.Header, name)
	}
	addCallerHeaders(r.Header, ex.caller)
	return nil
}

// addCallerHeaders sets the headers that identify the caller.
func addCallerHeaders(h http.Header, c Caller) {
	words := [...]struct{ name, value string }{
		{"X-Svc-User-Id", c.UserID},
		{"X-Svc-Session-Id", c.SessionID},
		{"X-Svc-Role", c.Role},
		{"X-Svc-Workspace-Id", cmp.Or(c.SourceWorkspaceID, c.WorkspaceID)},
		{"X-Svc-Auth-Data", c.AuthData},
	}
	values := make([]string, len(words))
	for i, word := range words {
		delete(h, word.name)
		if word.value != "" {
			values[i] = word.value
			h[word.name] = values[i : i+1 : i+1]
		}
	}
}
