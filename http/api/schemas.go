package api

import (
	"encoding/json"
	"net/http"
	"sync"

	"svc/domain"
	"svc/domain/shape"
	"svc/domain/workspace"
	"svc/http/gateway"
)

// schemaNames are the sorts of documents that have a schema.
var schemaNames = []string{"index", "security", "automation", "page", "block", "import"}

// getSchema handles GET /v2/schemas/{name}. A schema changes with the release
// only.
func getSchema() gateway.HandlerFunc {
	load := sync.OnceValues(func() (map[string]tagged, error) {
		all := map[string]tagged{}
		for _, name := range schemaNames {
			schema, ok := shape.Schema(name)
			if !ok {
				continue
			}
			body, err := json.Marshal(schema)
			if err != nil {
				return nil, err
			}
			all[name] = tagged{body, workspace.HashOf(body)[:16]}
		}
		return all, nil
	})
	return func(r *http.Request) (any, error) {
		all, err := load()
		if err != nil {
			return nil, err
		}
		name := gateway.Var(r, "name")
		schema, ok := all[name]
		if !ok {
			return nil, domain.Refuse(domain.CodeNotFound, "there is no such schema").With("resource", "schema").With("id", name)
		}
		return gateway.OK(schema).With("Cache-Control", "public, max-age=3600"), nil
	}
}
