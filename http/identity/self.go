package identity

import (
	"encoding/json"

	"svc/domain/access"
	"svc/projections"
)

// self is a workspace as an object of its own rules. Few rules ask for more than
// its id, so its document is read when one does, as it is then.
type self struct {
	model ReadModel
	id    string
}

// Field implements access.Object.
func (s self) Field(name string) (any, bool) { return s.load().Field(name) }

// load returns the document. One that cannot be read has no fields, and so
// meets no condition.
func (s self) load() (fields access.Fields) {
	r := s.model.Reader()
	defer r.Close()
	if doc, ok, err := (projections.Workspaces{}).Get(r, s.id); err == nil && ok {
		_ = json.Unmarshal(doc.JSON, &fields) // it is JSON that the platform wrote
	}
	return fields
}
