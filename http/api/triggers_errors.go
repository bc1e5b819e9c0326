package api

import (
	"encoding/json"
	"strconv"

	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/value"
	"svc/domain/collection"
	"svc/http/gateway"
)

// runErrorCodes are the codes that errors of runs are answered with. An error that is not
// listed is a fault of the automation: internal_error, so that senders try again and
// alerts ring. ForbiddenError and InvalidArgumentsError depend on more: see runErrorCode.
var runErrorCodes = map[string]domain.Code{
	automation.FetchFailed:        domain.CodeUpstream,
	automation.RateLimitExceeded:  domain.CodeRateLimit,
	automation.ResourceLocked:     domain.CodeLocked,
	automation.ExecutionTimeout:   domain.CodeGatewayTimeout,
	automation.ExecutionCancelled: domain.CodeConflict,
}

// runErrorReason is an error of a run whose reason decides about its code.
type runErrorReason struct{ name, reason string }

var runErrorReasonCodes = map[runErrorReason]domain.Code{
	{automation.FetchFailed, "timeout"}:                  domain.CodeGatewayTimeout,
	{automation.CustomCodeFailed, "timeout"}:             domain.CodeGatewayTimeout,
	{automation.CollectionFailed, collection.Validation}: domain.CodeValidation,
	{automation.CollectionFailed, collection.NotUnique}:  domain.CodeValidation,
}

// automationFailed is the reason of an internal_error that is a fault of an automation.
const automationFailed = "automation_failed"

// errorAudience says how much of an error the caller of an endpoint is shown.
type errorAudience int

const (
	anyCaller errorAudience = iota // of a server error nothing but its name
	reader                         // may read the automation: the message as well
	tester                         // runs a test: all details as well
)

// audienceOf returns how much the caller of a tree is shown.
func audienceOf(s *runtime.Start, test bool) errorAudience {
	switch {
	case test:
		return tester
	case s.Caller.Rights == nil || s.Caller.Rights.Allows("read", "automations", runtime.Subject(s.Program)):
		return reader
	}
	return anyCaller
}

// refuseRun returns the error that a run ended with as its caller is answered it.
func refuseRun(out runtime.Outcome, c *runtime.Caller, to errorAudience) error {
	err := out.Err
	e := domain.Refuse(runErrorCode(out, c), "%s", err.Message).With("name", err.Name)
	refusal := gateway.RefuseTold(e) // the run recorded it
	if e.Code == domain.CodeInternal && err.Name != automation.InternalFault {
		e.Reason(automationFailed)
	}
	if refusal.Status >= 500 && to == anyCaller {
		e.Message = "The automation failed."
		return refusal
	}
	if listed := value.Walk(err.Details, "errors"); !value.IsUndefined(listed) {
		e.With("errors", asJSON(listed))
	}
	if to == tester {
		for _, key := range err.Details.Keys() {
			shown := key
			if key == "name" { // that of the error stands there
				shown = "secret"
			}
			e.With(shown, asJSON(err.Details.At(key)))
		}
		if err.Document != "" {
			e.With("automation", err.Document).With("instruction", err.Instruction)
		}
	}
	switch err.Name {
	case automation.Forbidden:
		e.With("action", "execute").With("subject", "automations")
	case automation.RateLimitExceeded:
		refusal.Header.Set("Retry-After", strconv.Itoa(max(1, int(value.ToNumber(err.Details.At("retryAfter"))))))
	}
	return refusal
}

// runErrorCode returns the code of the error that a run ended with.
func runErrorCode(out runtime.Outcome, c *runtime.Caller) domain.Code {
	err := out.Err
	switch err.Name {
	case automation.Forbidden:
		if !c.Credential {
			return domain.CodeMissingToken
		}
		return domain.CodePermissionDenied
	case automation.InvalidArguments:
		if out.ExecutionID == "" { // those of the caller; later ones are what the automation passes on
			return domain.CodeInvalidRequest
		}
		return domain.CodeInternal
	}
	reason, _ := err.Details.At("reason").(string)
	if code, ok := runErrorReasonCodes[runErrorReason{err.Name, reason}]; ok {
		return code
	}
	if code, ok := runErrorCodes[err.Name]; ok {
		return code
	}
	return domain.CodeInternal
}

// asJSON is a value of an automation as encoders know it.
func asJSON(v any) any { return json.RawMessage(value.JSON(v, "")) }
