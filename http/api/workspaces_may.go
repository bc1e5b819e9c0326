package api

import (
	"net/http"

	"svc/domain/access"
	"svc/domain/document"
	"svc/http/gateway"
	"svc/projections"
)

// mayChange asks for the right to change the fields of a patch, those that it
// leaves as they are excepted.
func mayChange(d Deps, r *http.Request, id string, patch *document.Map) error {
	rights := gateway.GrantFrom(r.Context()).Rights
	var now *document.Map
	err := d.ReadModel.View(func(rd projections.Reader) (err error) {
		now, _, err = projections.Workspaces{}.Settings(rd, id)
		return err
	})
	if err != nil {
		return err
	}
	var fields []string
	for key, v := range patch.All() {
		before, _ := now.Get(key)
		if document.Equal(before, v) {
			continue
		}
		fields = append(fields, key)
	}
	return mayChangeFields(rights, fields)
}

// mayChangeFields asks for the right to change fields of a workspace.
func mayChangeFields(rights *access.Rights, fields []string) error {
	for _, field := range fields {
		if action := takesMore[field]; action != "" {
			if err := rights.Check(action, "workspaces", nil); err != nil {
				return err
			}
		}
	}
	return rights.Check("update", "workspaces", nil, fields...)
}
