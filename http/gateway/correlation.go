package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"svc/commands"
	"svc/domain"
)

// begin is the correlation step: it opens the exchange, gives the request its
// id, its place in a trace and a deadline for its body, and finds its route.
func (g *Gateway) begin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ex := &exchange{gateway: g, settings: g.opts.Settings().withDefaults(), start: g.opts.Now(), id: g.opts.NewID()}
		ex.ip, ex.secure = clientAddress(r, ex.settings.TrustedProxies)
		g.router.find(ex, r, routedMethod(r))

		ctx, span := g.startSpan(r, ex)
		defer span.End()
		ex.command = &commands.Request{Meta: g.cause(ex, r, trace.SpanContextFromContext(ctx)), Address: shownAddress(ex.ip)}
		ctx = commands.WithRequest(withExchange(ctx, ex), ex.command)

		h := w.Header()
		h.Set("X-Correlation-Id", ex.id)
		h.Set("Traceparent", ex.parent)
		h.Set("X-Svc-Api-Version-Used", ex.version.Revisions[len(ex.version.Revisions)-1])
		r = r.WithContext(ctx)
		if rec, ok := w.(*recorder); ok {
			receive(rec, r, ex)
		}
		next.ServeHTTP(w, r)
		endSpan(span, w)
	})
}

// cause is the source of every event that the request will cause, but for the
// caller, who is not known yet.
func (g *Gateway) cause(ex *exchange, r *http.Request, sc trace.SpanContext) domain.Meta {
	meta := domain.Meta{
		CorrelationID: ex.id,
		TraceID:       sc.TraceID().String(),
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

// startSpan continues the client's trace, or begins one. Without a tracer the
// trace still has an id, so that events can be joined by it.
func (g *Gateway) startSpan(r *http.Request, ex *exchange) (context.Context, trace.Span) {
	remote := parseTraceparent(r.Header)
	ctx := r.Context()
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
	ex.parent = "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-" + sc.TraceFlags().String()
	return ctx, span
}

// nextSpan is a span of our own in the trace of parent, or in a new one.
func nextSpan(parent trace.SpanContext) trace.SpanContext {
	traceID, spanID := parent.TraceID(), trace.SpanID{}
	if !parent.IsValid() {
		_, _ = rand.Read(traceID[:])
	}
	_, _ = rand.Read(spanID[:])
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
