package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

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

// statusOf is the status of a refusal: that of its reason, else of its code.
func statusOf(e *domain.Error) int {
	reason, _ := e.Details["reason"].(string)
	return cmp.Or(reasonStatuses[reason], statuses[e.Code], http.StatusInternalServerError)
}

// Refusal is an error with an HTTP status that no code stands for.
type Refusal struct {
	Status int
	Header http.Header
	Err    *domain.Error
	// Told says that the refusal is on the log already: it is not recorded again.
	Told bool
}

// RefuseStatus returns the refusal for a status without a code of its own:
// 405, 406, 410, 413, 414, 415 or 431. A more telling reason than the status's
// usual one may be set on Err.
func RefuseStatus(status int, format string, args ...any) *Refusal {
	err := domain.Refuse(domain.CodeInvalidRequest, format, args...).Reason(refusals[status])
	return &Refusal{Status: status, Header: http.Header{}, Err: err}
}

// RefuseTold returns a refusal that is on the log already.
func RefuseTold(err *domain.Error) *Refusal {
	return &Refusal{Status: statusOf(err), Header: http.Header{}, Err: err, Told: true}
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

// Unavailable is implemented by errors that mean "not now": the caller is told
// 503 service_unavailable and when to come back.
type Unavailable interface {
	error
	Unavailable() (retryAfter time.Duration)
}

// explain turns any error into what the caller may see of it. The third result
// is false when err is the operator's business and must be logged.
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

// translate explains the errors that are no refusals.
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
	if bad != nil { // details that no JSON can hold: a fault of the platform
		encoded, _ = json.Marshal(errorBody{Error: refusal.Code, Message: refusal.Message, RequestID: ex.id})
	}
	rp := &reply{status: status, header: http.Header{"Content-Type": {jsonType}}, body: encoded}
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
