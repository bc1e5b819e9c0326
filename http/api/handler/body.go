package handler

import (
	"encoding/json"
	"net/http"

	"svc/domain"
	"svc/http/gateway"
)

// Field is a field of a body that tells absent, null and a value apart.
type Field[T any] struct {
	Given bool
	Value *T // nil for null
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Field[T]) UnmarshalJSON(b []byte) error {
	c.Given = true
	return json.Unmarshal(b, &c.Value)
}

// OrZero returns the value, or the zero value for none.
func (c Field[T]) OrZero() T {
	if c.Value == nil {
		var zero T
		return zero
	}
	return *c.Value
}

// OrNil returns what to set: nil when nothing was said, the zero value for null.
func (c Field[T]) OrNil() *T {
	if !c.Given {
		return nil
	}
	value := c.OrZero()
	return &value
}

// RefuseField is the refusal of a field of the wrong JSON type.
func RefuseField(field, message string) error {
	return domain.Refuse(domain.CodeInvalidRequest, "%s: %s", field, message).
		With("errors", []domain.FieldError{{Field: field, Message: message}})
}

// MissingField is the refusal of a body without a field it must have.
func MissingField(field string) error {
	fault := domain.FieldError{Field: field, Message: "is required"}
	return domain.Refuse(domain.CodeMissingParameter, "%s is required", field).
		With("parameter", field).With("errors", []domain.FieldError{fault})
}

// TextField is a field of a body that must be there.
type TextField struct {
	Name  string
	Value *string
}

// Text is a field of a body.
func Text(name string, value *string) TextField { return TextField{name, value} }

// RequireFields refuses a body without one of the fields.
func RequireFields(fields ...TextField) error {
	for _, f := range fields {
		if f.Value == nil {
			return MissingField(f.Name)
		}
	}
	return nil
}

// RefuseFieldsWith refuses the first of the fields that was given: it does not go with
// another one.
func RefuseFieldsWith(with string, fields ...TextField) error {
	for _, f := range fields {
		if f.Value != nil {
			return RefuseField(f.Name, "does not go with "+with)
		}
	}
	return nil
}

// RefuseParameter refuses the value of a parameter of the query.
func RefuseParameter(name, message string) error {
	return domain.Refuse(domain.CodeInvalidParameter, "%s: %s", name, message).
		With("parameter", name).With("errors", []domain.FieldError{{Field: name, Message: message}})
}

// maxEchoed bounds what an answer repeats of a request, in characters.
const maxEchoed = 100

// Shorten bounds what an answer repeats of a request.
func Shorten(text string) string {
	if r := []rune(text); len(r) > maxEchoed {
		return string(r[:maxEchoed]) + "…"
	}
	return text
}

// ReadDryRun reads whether nothing is to be changed.
func ReadDryRun(r *http.Request) (bool, error) {
	q := gateway.NewQuery(r)
	dry := q.Flag("dryRun")
	return dry, q.Err()
}
