package runtime

import (
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/collection"
)

// errorCodes are the codes that errors of runs are answered with. An error that is not
// listed is a fault of the automation: internal_error, so that senders try again and
// alerts ring. ForbiddenError and InvalidArgumentsError depend on more: see Outcome.Code.
var errorCodes = map[string]domain.Code{
	automation.FetchFailed:        domain.CodeUpstream,
	automation.RateLimitExceeded:  domain.CodeRateLimit,
	automation.ResourceLocked:     domain.CodeLocked,
	automation.ExecutionTimeout:   domain.CodeGatewayTimeout,
	automation.ExecutionCancelled: domain.CodeConflict,
	automation.KnowledgeFailed:    domain.CodeInvalidRequest,
	automation.ModelFailed:        domain.CodeInvalidRequest,
}

// errorReason is an error of a run whose reason decides about its code.
type errorReason struct{ name, reason string }

var errorReasonCodes = map[errorReason]domain.Code{
	{automation.FetchFailed, "timeout"}:                  domain.CodeGatewayTimeout,
	{automation.CustomCodeFailed, "timeout"}:             domain.CodeGatewayTimeout,
	{automation.CollectionFailed, collection.Validation}: domain.CodeValidation,
	{automation.CollectionFailed, collection.NotUnique}:  domain.CodeValidation,
}

// Code returns the code that the caller of a failed run is answered with. Credential says that the caller had one.
func (o Outcome) Code(credential bool) domain.Code {
	switch o.Err.Name {
	case automation.Forbidden:
		if !credential {
			return domain.CodeMissingToken
		}
		return domain.CodePermissionDenied
	case automation.InvalidArguments:
		if o.ExecutionID == "" { // those of the caller; later ones are what the automation passes on
			return domain.CodeInvalidRequest
		}
		return domain.CodeInternal
	}
	reason, _ := o.Err.Details.At("reason").(string)
	if code, ok := errorReasonCodes[errorReason{o.Err.Name, reason}]; ok {
		return code
	}
	if code, ok := errorCodes[o.Err.Name]; ok {
		return code
	}
	return domain.CodeInternal
}
