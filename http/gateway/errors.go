package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc/commands"
	"svc/domain"
)

// statuses is the one map from codes to HTTP statuses.
var statuses = map[domain.Code]int{
	domain.CodeInvalidToken:       http.StatusUnauthorized,
	domain.CodeMissingToken:       http.StatusUnauthorized,
	domain.CodeInvalidCredentials: http.StatusUnauthorized,
	domain.CodeTokenExpired:       http.StatusUnauthorized,
	domain.CodePermissionDenied:   http.StatusForbidden,
	domain.CodeInsufficientScope:  http.StatusForbidden,
	domain.CodeWorkspaceDenied:    http.StatusForbidden,
	domain.CodeOrganizationDenied: http.StatusForbidden,
	domain.CodeNotFound:           http.StatusNotFound,
	domain.CodeAlreadyExists:      http.StatusConflict,
	domain.CodeConflict:           http.StatusConflict,
	domain.CodeLocked:             http.StatusLocked,
	domain.CodeInvalidRequest:     http.StatusBadRequest,
	domain.CodeInvalidParameter:   http.StatusBadRequest,
	domain.CodeMissingParameter:   http.StatusBadRequest,
	domain.CodeValidation:         http.StatusUnprocessableEntity,
	domain.CodeRateLimit:          http.StatusTooManyRequests,
	domain.CodeQuota:              http.StatusTooManyRequests,
	domain.CodeConcurrency:        http.StatusTooManyRequests,
	domain.CodeInternal:           http.StatusInternalServerError,
	domain.CodeUnavailable:        http.StatusServiceUnavailable,
	domain.CodeUpstream:           http.StatusBadGateway,
	domain.CodeGatewayTimeout:     http.StatusGatewayTimeout,
	domain.CodeDatabase:           http.StatusInternalServerError,
}

// refusals are the statuses without a code of their own, by their reason.
var refusals = map[int]string{
	http.StatusMethodNotAllowed:            "method_not_allowed",
	http.StatusNotAcceptable:               "not_acceptable",
	http.StatusGone:                        "gone",
	http.StatusRequestEntityTooLarge:       "body_too_large",
	http.StatusRequestURITooLong:           "url_too_long",
	http.StatusUnsupportedMediaType:        "unsupported_media_type",
	http.StatusUpgradeRequired:             "upgrade_required",
	http.StatusRequestHeaderFieldsTooLarge: "headers_too_large",
}

// reasonStatuses are the refusals of the domain whose reason has one of these
// statuses. Their code is invalid_request.
var reasonStatuses = map[string]int{
	"event_too_large": http.StatusRequestEntityTooLarge,
}

// StatusOf returns the HTTP status that refusals with a code have.
func StatusOf(code domain.Code) int { return cmp.Or(statuses[code], http.StatusInternalServerError) }

// statusOf is the status of a refusal: that of its reason, else of its code.
func statusOf(e *domain.Error) int {
	reason, _ := e.Details["reason"].(string)
	return cmp.Or(reasonStatuses[reason], statuses[e.Code], http.StatusInternalServerError)
}

// Refusal is an error with an HTTP status of its own, which is not that of a code.
type Refusal struct {
	Status int
	Header http.Header
	Err    *domain.Error
	// Recorded says that the refusal is on the log already: it is not recorded again.
	Recorded bool
}

// RefuseStatus returns the refusal for a status without a code of its own:
// 405, 406, 410, 413, 414, 415 or 431. A more specific reason than the usual one of
// the status may be set on Err.
func RefuseStatus(status int, format string, args ...any) *Refusal {
	err := domain.Refuse(domain.CodeInvalidRequest, format, args...).Reason(refusals[status])
	return &Refusal{Status: status, Header: http.Header{}, Err: err}
}

// RefuseRecorded returns a refusal that is on the log already.
func RefuseRecorded(err *domain.Error) *Refusal {
	return &Refusal{Status: statusOf(err), Header: http.Header{}, Err: err, Recorded: true}
}

// RefuseWith returns a refusal of the domain with a header beside its answer.
func RefuseWith(err *domain.Error, key, value string) *Refusal {
	e := &Refusal{Status: statusOf(err), Header: http.Header{}, Err: err}
	e.Header.Set(key, value)
	return e
}

// Error implements error.
func (e *Refusal) Error() string { return fmt.Sprintf("%d %s", e.Status, e.Err) }

// Unwrap lets the refusal be recorded like any other.
func (e *Refusal) Unwrap() error { return e.Err }

// tooLarge is the refusal of a body, event or part over its limit.
func tooLarge(length, limit int64) *Refusal {
	e := RefuseStatus(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", limit)
	e.Err.With("length", length).With("limit", limit)
	e.Header.Set("Connection", "close")
	return e
}

// Unavailable is implemented by temporary errors: the caller gets 503 service_unavailable with a
// Retry-After.
type Unavailable interface {
	error
	Unavailable() (retryAfter time.Duration)
}

// explain turns any error into the refusal that the caller sees. known is false when err is for the
// operator and must be logged.
func explain(err error) (status int, refusal *domain.Error, known bool) {
	if e, ok := errors.AsType[*Refusal](err); ok {
		return e.Status, e.Err, true
	}
	if e, ok := errors.AsType[*domain.Error](err); ok {
		return statusOf(e), e, true
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		large := tooLarge(e.Limit+1, e.Limit)
		return large.Status, large.Err, true
	}
	refusal, known = translate(err)
	return statuses[refusal.Code], refusal, known
}

// translate explains errors that are not refusals.
func translate(err error) (refusal *domain.Error, known bool) {
	if e, ok := errors.AsType[Unavailable](err); ok {
		return unavailable(e.Unavailable()), false
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return domain.Refuse(domain.CodeGatewayTimeout, "the request took too long"), true
	case errors.Is(err, context.Canceled):
		return unavailable(time.Second), true
	}
	return domain.Refuse(domain.CodeInternal, "unexpected server error"), false
}

func unavailable(retryAfter time.Duration) *domain.Error {
	return domain.Refuse(domain.CodeUnavailable, "temporarily unavailable, try again later").
		With("retryAfter", seconds(retryAfter))
}

// seconds rounds d up to whole seconds, at least one.
func seconds(d time.Duration) int64 { return max(1, int64(math.Ceil(d.Seconds()))) }

// errorBody is the flat shape of /v2, errorNest that of /v3.
type errorBody struct {
	Error     domain.Code    `json:"error"`
	Message   string         `json:"message"`
	Details   map[string]any `json:"details,omitempty"`
	RequestID string         `json:"requestId"`
}

type errorNest struct {
	Error nestedError `json:"error"`
}

type nestedError struct {
	Code      domain.Code    `json:"code"`
	Message   string         `json:"message"`
	RequestID string         `json:"requestId"`
	Details   map[string]any `json:"details,omitempty"`
}

// failure is the answer to err in the shape of the request's API version.
func failure(ex *exchange, err error) *reply {
	status, refusal, _ := explain(err)
	var body any = errorBody{refusal.Code, refusal.Message, refusal.Details, ex.id}
	if ex.version != nil && ex.version.nested {
		body = errorNest{nestedError{refusal.Code, refusal.Message, ex.id, refusal.Details}}
	}
	encoded, bad := json.Marshal(body)
	if bad != nil { // the details cannot be encoded: a fault of the platform
		encoded, _ = json.Marshal(errorBody{Error: refusal.Code, Message: refusal.Message, RequestID: ex.id})
	}
	rp := &reply{status: status, header: http.Header{"Content-Type": jsonOnly}, body: encoded}
	if e, ok := errors.AsType[*Refusal](err); ok {
		maps.Copy(rp.header, e.Header)
	}
	if (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) && rp.header.Get("Retry-After") == "" {
		rp.header.Set("Retry-After", retryAfter(refusal))
	}
	if status == http.StatusUnauthorized {
		rp.header.Set("WWW-Authenticate", "Bearer")
	}
	return rp
}

// retryAfter returns the seconds in the refusal's details, or one.
func retryAfter(e *domain.Error) string {
	wait := strings.TrimSpace(fmt.Sprint(e.Details["retryAfter"]))
	if n, err := strconv.Atoi(wait); err == nil && n > 0 {
		return wait
	}
	return "1"
}

// ErrorRecorder records the errors of callers in their workspace.
type ErrorRecorder interface {
	// RecordFailure records err. ctx carries the request's correlation and
	// caller, and outlives the request.
	RecordFailure(ctx context.Context, workspaceID string, err *domain.Error)
}

const (
	failureWorkers = 2
	failureQueue   = 256
	failureWait    = 10 * time.Second
)

// failures records errors in the background. When there are too many, they are logged and dropped.
type failures struct {
	recorder ErrorRecorder
	log      *slog.Logger
	queue    chan failedRequest
	workers  sync.WaitGroup

	mu     sync.RWMutex
	closed bool
}

type failedRequest struct {
	ctx         context.Context
	workspaceID string
	err         *domain.Error
}

func newFailures(recorder ErrorRecorder, log *slog.Logger) *failures {
	f := &failures{recorder: recorder, log: log, queue: make(chan failedRequest, failureQueue)}
	if recorder != nil {
		for range failureWorkers {
			f.workers.Go(f.work)
		}
	}
	return f
}

func (f *failures) work() {
	for item := range f.queue {
		f.record(item)
	}
}

func (f *failures) record(item failedRequest) {
	ctx, cancel := context.WithTimeout(item.ctx, failureWait)
	defer cancel()
	defer func() {
		if value := recover(); value != nil {
			f.log.ErrorContext(ctx, "error recorder panicked", "panic", value)
		}
	}()
	f.recorder.RecordFailure(ctx, item.workspaceID, item.err)
}

// add queues an error unless the contract leaves it out.
func (f *failures) add(r *http.Request, ex *exchange, status int, err *domain.Error) {
	if f.recorder == nil || !ex.grant.InWorkspace || !isRecorded(status) {
		return
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return
	}
	// A separate request: the handler may continue, and its ids must be the same as those of a
	// repeated request.
	ctx := commands.WithRequest(context.WithoutCancel(r.Context()), &commands.Request{Meta: ex.command.Meta, Address: ex.command.Address})
	select {
	case f.queue <- failedRequest{ctx, ex.workspaceID(), err}:
	default:
		f.log.WarnContext(r.Context(), "error not recorded: queue full", "correlationId", ex.id, "code", err.Code)
	}
}

func isRecorded(status int) bool {
	return status != http.StatusUnauthorized && status != http.StatusNotFound && status != http.StatusTooManyRequests
}

// close records what is queued and waits for the workers.
func (f *failures) close() {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		close(f.queue)
	}
	f.mu.Unlock()
	f.workers.Wait()
}

// secretWords anywhere in the name of a query parameter make it a credential; secretNames are whole
// names.
var (
	secretWords = []string{
		"token", "secret", "password", "passwd", "passphrase", "credential", "authorization", "signature",
		"session", "cookie", "csrf", "jwt", "code", "key",
	}
	secretNames = []string{"assertion", "auth", "nonce", "otp", "pass", "pin", "pw", "pwd", "sid", "sig", "state", "totp"}
)

// secretValue matches an access token or a JWT.
var secretValue = regexp.MustCompile(`(?:^|[^0-9A-Za-z])at:.|eyJ[\w-]*\.[\w-]+\.[\w-]*`)

const mask = "***"

// maskedPath returns a path without credentials, for logs and events.
func (ex *exchange) maskedPath(path string) string {
	if ex.route != nil && ex.route.SecretPath {
		return ex.template
	}
	if !strings.ContainsAny(path, "%:.") {
		return path // the usual one
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if secretValue.MatchString(percentDecoded(segment)) {
			segments[i] = mask
		}
	}
	return strings.Join(segments, "/")
}

// logPath returns a path and query for the log, without credentials. Those of calls of automations
// are left out, because only the run knows which values are secret.
func (ex *exchange) logPath(u *url.URL) string {
	if ex.route != nil && ex.route.Rate == RateWebhooks {
		return ex.template
	}
	path := ex.maskedPath(u.EscapedPath())
	if u.RawQuery == "" {
		return path
	}
	pairs := strings.FieldsFunc(u.RawQuery, func(r rune) bool { return r == '&' || r == ';' })
	for i, pair := range pairs {
		pairs[i] = maskedPair(pair)
	}
	return path + "?" + strings.Join(pairs, "&")
}

// maskedPair returns one parameter of a query without a credential.
func maskedPair(pair string) string {
	name, value, valued := strings.Cut(pair, "=")
	readable := percentDecoded(name)
	switch {
	case secretValue.MatchString(readable):
		return mask
	case valued && (isSecretName(readable) || secretValue.MatchString(percentDecoded(value))):
		return name + "=" + mask
	}
	return pair
}

func isSecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(secretNames, name) ||
		slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// percentDecoded decodes percent-encoding, also when it was applied twice.
func percentDecoded(s string) string {
	for range 3 {
		plain, err := url.PathUnescape(s)
		if err != nil || plain == s {
			break
		}
		s = plain
	}
	return s
}
