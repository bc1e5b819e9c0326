package system

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"svc/domain"
	"svc/domain/shape"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/console"
	"svc/http/gateway"
)

// indexResponse is GET /.
type indexResponse struct {
	Status      string                `json:"status"`
	Name        string                `json:"name"`
	Version     string                `json:"version"`
	APIVersions []gateway.VersionInfo `json:"apiVersions"`
	Time        string                `json:"time"`
}

// GetIndex handles GET /. It leads browsers to the console.
func (h *Handlers) GetIndex(r *http.Request) (any, error) {
	if gateway.PrefersHTML(r.Header) {
		return gateway.Redirect(console.Root).With("Vary", "Accept"), nil
	}
	now := h.Now().UTC()
	answer := indexResponse{"degraded", "svc", h.Version, gateway.VersionsAt(now), now.Format(domain.Timestamp)}
	if h.Healthy() {
		answer.Status = "ok"
	}
	return gateway.OK(answer).With("Vary", "Accept"), nil
}

// GetHealthz handles GET /healthz: a process that answers is alive.
func GetHealthz(*http.Request) (any, error) {
	return map[string]bool{"healthy": true}, nil
}

// GetReadyz handles GET /readyz. Why it is not ready is nobody's business here:
// GET /v2/readiness tells, to those who may know.
func (h *Handlers) GetReadyz(*http.Request) (any, error) {
	if !h.Ready() {
		return gateway.Status(http.StatusServiceUnavailable, map[string]string{"status": statusError}), nil
	}
	return map[string]string{"status": statusReady}, nil
}

// GetConfig handles GET /sys/config.
func (h *Handlers) GetConfig(*http.Request) (any, error) { return h.Config(), nil }

// levels are the words of PUT /sys/logging.
var levels = map[string]slog.Level{
	"debug": slog.LevelDebug,
	"info":  slog.LevelInfo,
	"warn":  slog.LevelWarn,
	"error": slog.LevelError,
}

// loggingRequest is the body of PUT /sys/logging, and its answer.
type loggingRequest struct {
	Level *string `json:"level"`
}

// SetLogging handles PUT /sys/logging.
func (h *Handlers) SetLogging(r *http.Request) (any, error) {
	var in loggingRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	if in.Level == nil {
		return nil, handler.MissingField("level")
	}
	level, ok := levels[*in.Level]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(levels)), ", ")
		return nil, domain.Invalid(domain.FieldError{Field: "level", Message: "must be one of " + known})
	}
	h.SetLevel(level)
	return in, nil
}

// schemaNames are the sorts of documents that have a schema.
var schemaNames = []string{"index", "security", "automation", "page", "block", "import", "knowledgeBase", "agent", "test"}

// GetSchema handles GET /v2/schemas/{name}. A schema changes with the release
// only.
func GetSchema() gateway.HandlerFunc {
	load := sync.OnceValues(func() (map[string]handler.TaggedJSON, error) {
		all := map[string]handler.TaggedJSON{}
		for _, name := range schemaNames {
			schema, ok := shape.Schema(name)
			if !ok {
				continue
			}
			body, err := json.Marshal(schema)
			if err != nil {
				return nil, err
			}
			all[name] = handler.TaggedJSON{JSON: body, Tag: workspace.HashOf(body)[:16]}
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
