package automation

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"svc/domain/automation/expr"
	"svc/domain/nearest"
	"svc/domain/value"
)

// The names of errors that runs end with; those of faulty documents are in
// doc.go.
const (
	InvalidArguments    = "InvalidArgumentsError"
	ObjectNotFound      = "ObjectNotFoundError"
	Forbidden           = "ForbiddenError"
	TooManyCalls        = "TooManyCallError"
	EventTooLarge       = "EventValidationError"
	FetchFailed         = "FetchError"
	FetchForbidden      = "FetchForbiddenError"
	SecretMissing       = "SecretMissingError"
	RateLimitExceeded   = "RateLimitExceededError"
	ContextTooLarge     = "ContextSizeError"
	ResourceLocked      = "ResourceLockedError"
	CollectionFailed    = "CollectionError"
	KnowledgeFailed     = "KnowledgeError"
	ModelFailed         = "ModelError"
	CustomCodeFailed    = "CustomCodeError"
	ExecutionTimeout    = "ExecutionTimeoutError"
	ExecutionCancelled  = "ExecutionCancelledError"
	ExecutionInterrupt  = "ExecutionInterruptedError"
	ReplayMiss          = "ReplayMissError"
	BreakCaught         = "BreakError"
	FailedChunkParsing  = "FailedChunkParsing"
	InternalFault       = "InternalError" // the platform's own: its details are for the operator
	argumentsNotInShape = "Invalid arguments"
)

// Error is what an instruction raises: a try can catch it, otherwise the run ends with it.
type Error struct {
	Name    string // one of those above, or the author's own
	Message string
	Details *value.Object // nil: none
	// Document and Instruction say where it was raised: the slug of the automation
	// and the path in it. The interpreter fills them in.
	Document, Instruction string
}

// Error implements error.
func (e *Error) Error() string { return e.Name + ": " + e.Message }

// Catchable reports whether a try may catch the error.
func (e *Error) Catchable() bool { return e.Name != ExecutionTimeout && e.Name != ExecutionCancelled }

// IsMissing implements expr.Missing: whether a secret exists may be asked.
func (e *Error) IsMissing() bool { return e.Name == SecretMissing }

// MissingSecret returns the error of a secret that has no value.
func MissingSecret(name string) *Error {
	return Raise(SecretMissing, fmt.Sprintf("secret %q has no value; set it with PATCH {w}/security/secrets", name), "name", name)
}

// Raise returns an error. Details are alternating keys and values.
func Raise(name, message string, details ...any) *Error {
	e := &Error{Name: name, Message: message}
	if len(details) > 0 {
		e.Details = value.NewObject(details...)
	}
	return e
}

// Invalid returns the error of an instruction that cannot be carried out as it is
// written.
func Invalid(format string, args ...any) *Error {
	return &Error{Name: InvalidInstruction, Message: fmt.Sprintf(format, args...)}
}

// NotFound returns the error of a call of an automation that is not there. Known are the
// names that the caller could have called instead, in an order that is always the same;
// nil: they are not known.
func NotFound(slug string, known iter.Seq[string]) *Error {
	return notFoundError("Automation %s not found", "slug", slug, known)
}

// notFoundError returns the error of something that is not there, with the nearest name that is.
// Sentence has a place for the quoted name.
func notFoundError(sentence, key, name string, known iter.Seq[string]) *Error {
	quoted := strconv.Quote(strings.ToValidUTF8(name[:min(len(name), 200)], ""))
	raised := Raise(ObjectNotFound, fmt.Sprintf(sentence, quoted), key, name)
	if known == nil {
		return raised
	}
	if near := nearest.Name(name, known); near != "" {
		raised.Message += fmt.Sprintf("; did you mean %q?", near)
		raised.Details.Set("nearest", near)
	}
	return raised
}

// BadArguments returns the error of an input that does not fit, with what is wrong
// with it.
func BadArguments(faults []any) *Error {
	return Raise(InvalidArguments, argumentsNotInShape, "errors", faults)
}

// ErrorOf returns err as an Error. Internal errors, which the automation did not cause,
// are reported without details.
func ErrorOf(err error) *Error {
	if raised, ok := errors.AsType[*Error](err); ok {
		return raised
	}
	if fault, ok := errors.AsType[*expr.Error](err); ok {
		return &Error{Name: fault.Name, Message: fault.Message, Details: fault.Details()}
	}
	return &Error{Name: InternalFault, Message: "the platform could not do this; try again"}
}

// Raised returns the error that a fault of a document raises when it is reached.
func (f *Fault) Raised() *Error {
	name := f.Name
	if name == "" {
		name = InvalidInstruction
	}
	raised := Raise(name, f.Message, "field", f.Field)
	if f.cause != nil {
		why := f.cause.Details()
		for _, key := range why.Keys() {
			raised.Details.Set(key, why.At(key))
		}
	}
	return raised
}
