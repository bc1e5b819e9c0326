package domain

import (
	"errors"
	"fmt"
)

// Code is the stable name of a refusal. Clients match on it; codes only grow.
type Code string

// The codes of the API. CodeNone stands for "no error".
const (
	CodeNone               Code = ""
	CodeInvalidToken       Code = "invalid_token"
	CodeMissingToken       Code = "missing_token"
	CodeInvalidCredentials Code = "invalid_credentials"
	CodeTokenExpired       Code = "token_expired"
	CodePermissionDenied   Code = "permission_denied"
	CodeInsufficientScope  Code = "insufficient_scope"
	CodeWorkspaceDenied    Code = "workspace_access_denied"
	CodeOrganizationDenied Code = "organization_access_denied"
	CodeNotFound           Code = "resource_not_found"
	CodeAlreadyExists      Code = "resource_already_exists"
	CodeConflict           Code = "resource_conflict"
	CodeLocked             Code = "resource_locked"
	CodeInvalidRequest     Code = "invalid_request"
	CodeInvalidParameter   Code = "invalid_parameter"
	CodeMissingParameter   Code = "missing_parameter"
	CodeValidation         Code = "validation_failed"
	CodeRateLimit          Code = "rate_limit_exceeded"
	CodeQuota              Code = "quota_exceeded"
	CodeConcurrency        Code = "concurrent_request_limit"
	CodeInternal           Code = "internal_error"
	CodeUnavailable        Code = "service_unavailable"
	CodeUpstream           Code = "upstream_failed"
	CodeGatewayTimeout     Code = "gateway_timeout"
	CodeDatabase           Code = "database_error"
)

// Error is a refusal the caller may see. Any other error is the operator's
// business: it is logged, and the caller is told CodeInternal.
type Error struct {
	Code    Code
	Message string
	Details map[string]any
}

// Error implements error.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Refuse returns an Error with a formatted message.
func Refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With returns e with one more detail. It changes e, which Refuse just made.
func (e *Error) With(key string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[key] = value
	return e
}

// Reason returns e with details.reason set, the stable sub-code of the API.
func (e *Error) Reason(reason string) *Error { return e.With("reason", reason) }

// FieldError names one field that validation refused.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Invalid returns a validation refusal listing every field at fault.
func Invalid(errs ...FieldError) *Error {
	e := Refuse(CodeValidation, "%s: %s", errs[0].Field, errs[0].Message)
	if len(errs) > 1 {
		e.Message = fmt.Sprintf("%d fields are not acceptable, the first: %s", len(errs), e.Message)
	}
	return e.With("errors", errs)
}

// CodeOf returns the code of err: CodeNone for nil, CodeInternal for an error
// that is not a refusal.
func CodeOf(err error) Code {
	if err == nil {
		return CodeNone
	}
	if refusal, ok := errors.AsType[*Error](err); ok {
		return refusal.Code
	}
	return CodeInternal
}
