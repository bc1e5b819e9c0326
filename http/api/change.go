package api

import (
	"encoding/json"

	"svc/domain"
)

// change is a field of a body that tells absent, null and a value apart.
type change[T any] struct {
	given bool
	value *T // nil for null
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *change[T]) UnmarshalJSON(b []byte) error {
	c.given = true
	return json.Unmarshal(b, &c.value)
}

// orZero returns the value, or the zero value for none.
func (c change[T]) orZero() T {
	if c.value == nil {
		var zero T
		return zero
	}
	return *c.value
}

// orNil returns what to set: nil when nothing was said, the zero value for null.
func (c change[T]) orNil() *T {
	if !c.given {
		return nil
	}
	value := c.orZero()
	return &value
}

// refuseField is the refusal of a field of the wrong JSON type.
func refuseField(field, message string) error {
	return domain.Refuse(domain.CodeInvalidRequest, "%s: %s", field, message).
		With("errors", []domain.FieldError{{Field: field, Message: message}})
}
