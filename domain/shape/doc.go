// Package shape defines the structure of the documents of a workspace: the index, the
// security document, pages, blocks and app instances. Each is a table of fields, from
// which both the check of a document and the JSON Schema for editors are made.
//
// Only the structure is checked here: fields, their types, and values that are always
// wrong. What depends on more than the document is checked elsewhere: whether a slug is
// free or reserved, whether rules make sense (domain/access), whether an app exists.
//
// Automations have tables of their own (domain/automation), which stay separate: there a
// value may be a template, a parameter has a role, a fault has the name of the error that
// it raises, and the first fault of an instruction is raised when it runs. None of that
// applies to a document that does not run. The code that checks typed fields is shared.
package shape

import (
	"strings"

	"svc/domain"
	"svc/domain/automation"
	"svc/domain/document"
)

// Fault is something wrong with a document.
type Fault struct {
	Field   string // its path, such as blocks[0].slug; "" for the document itself
	Message string
	// Code is what saving is refused with: invalid_request for a field that
	// documents do not have and a value of another type, missing_parameter for
	// a required field that is absent, else validation_failed.
	Code domain.Code
	// Unknown marks a field of the document itself, not of something in it, that
	// documents do not have. Imports keep such a field and warn.
	Unknown bool
}

// Check returns the faults of an index, a security document, a page or an import. Fields
// that the service sets are not checked. Of very many faults some are left out, but never
// all that refuse a document. A kind without a table is a fault too: an unchecked document
// is not stored.
func Check(kind *document.Kind, doc *document.Map) []Fault {
	for _, t := range tables {
		if t.kind == kind && kind != nil {
			return t.check(doc)
		}
	}
	return []Fault{{Message: "there is no table for documents of this kind", Code: domain.CodeInternal}}
}

// CheckBlock returns the faults of a block of a workspace.
func CheckBlock(doc *document.Map) []Fault { return blockTable.check(doc) }

// CheckConfig returns the faults of the config of a workspace: an object of schema, block
// and value.
func CheckConfig(doc any) []Fault {
	c := &checker{}
	c.value(&field{is: object, of: configFields}, doc, nil)
	return c.allFaults()
}

// Refusal returns the error that saving ends with because of faults, nil when
// there are none. It lists them all; a fault of the shape decides its code
// before one of a value does.
func Refusal(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	code := domain.CodeValidation
	fields := make([]domain.FieldError, len(faults))
	for i, f := range faults {
		fields[i] = domain.FieldError{Field: f.Field, Message: f.Message}
		if rank(f.Code) > rank(code) {
			code = f.Code
		}
	}
	refusal := domain.Invalid(fields...)
	refusal.Code, refusal.Message = code, strings.TrimPrefix(refusal.Message, ": ") // of the document itself
	return refusal
}

// rank orders the codes of faults: the highest names the refusal.
func rank(code domain.Code) int {
	switch code {
	case domain.CodeInternal:
		return 3
	case domain.CodeInvalidRequest:
		return 2
	case domain.CodeMissingParameter:
		return 1
	default:
		return 0
	}
}

// ofAutomation turns the faults of typed fields into those of this package.
func ofAutomation(faults []automation.Fault) []Fault {
	all := make([]Fault, 0, len(faults))
	for _, f := range faults {
		all = append(all, Fault{Field: f.Field, Message: f.Message, Code: f.Code})
	}
	return all
}
