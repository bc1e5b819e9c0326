package api

// text is a field of a body that must be there.
type text struct {
	name  string
	value *string
}

// needed refuses a body without one of the fields.
func needed(fields ...text) error {
	for _, f := range fields {
		if f.value == nil {
			return missing(f.name)
		}
	}
	return nil
}

// unfitting refuses the first of the fields that was given: it does not go with
// another one.
func unfitting(with string, fields ...text) error {
	for _, f := range fields {
		if f.value != nil {
			return refuseField(f.name, "does not go with "+with)
		}
	}
	return nil
}

// succeeded is the answer where there is nothing else to tell.
var succeeded = map[string]bool{"success": true}

// idOf is the answer to what removes something.
func idOf(id string) map[string]string { return map[string]string{"id": id} }
