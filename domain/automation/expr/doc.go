// Package expr is the expression language of automations: templates
// ({{path}} and {% expression %} in text), conditions and the paths that name
// variables.
//
// A string is parsed once, by ParseTemplate, ParseCondition or ParseTarget, and
// then evaluated as often as wanted over a World, which answers for variables,
// the time and random bytes. Nothing here reads a clock, and a value is never parsed
// as a template, whatever it contains. Parsing and evaluating never panic and
// take bounded time: expressions have no loops, and whatever goes through a large value
// is paid for from a budget, which all evaluations in an Env share.
package expr

import "svc/domain/value"

// The names under which faults reach automations ($error.error) and clients.
const (
	SyntaxError   = "InvalidExpressionSyntax"
	VariableError = "InvalidVariableNameError"
)

// The limits of one string.
const (
	MaxLength = 100_000 // characters
	MaxDepth  = 100     // nested levels
)

// Error is a fault of an expression or a path, found while parsing or while
// evaluating.
type Error struct {
	Name       string // SyntaxError or VariableError
	Message    string
	Offset     int    // of the character at fault, from 0; -1 when evaluating
	Expression string // the string as written
	Function   string // the function at fault, if one is
}

// Error implements error.
func (e *Error) Error() string { return e.Name + ": " + e.Message }

// Details returns what details of an error event say.
func (e *Error) Details() *value.Object {
	o := value.NewObject("expression", e.Expression)
	if e.Function != "" {
		o.Set("function", e.Function)
	}
	o.Set("reason", e.Message)
	return o
}
