package api

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"svc/domain"
	"svc/http/gateway"
)

// config handles GET /sys/config.
func config(settings func() any) gateway.HandlerFunc {
	return func(*http.Request) (any, error) { return settings(), nil }
}

// levels are the words of PUT /sys/logging.
var levels = map[string]slog.Level{
	"debug": slog.LevelDebug,
	"info":  slog.LevelInfo,
	"warn":  slog.LevelWarn,
	"error": slog.LevelError,
}

// logging is the body of PUT /sys/logging, and its answer.
type logging struct {
	Level *string `json:"level"`
}

// setLogging handles PUT /sys/logging.
func setLogging(apply func(slog.Level)) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in logging
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if in.Level == nil {
			return nil, missing("level")
		}
		level, ok := levels[*in.Level]
		if !ok {
			known := strings.Join(slices.Sorted(maps.Keys(levels)), ", ")
			return nil, domain.Invalid(domain.FieldError{Field: "level", Message: "must be one of " + known})
		}
		apply(level)
		return in, nil
	}
}

// missing is the refusal of a body without a field it must have.
func missing(field string) error {
	fault := domain.FieldError{Field: field, Message: "is required"}
	return domain.Refuse(domain.CodeMissingParameter, "%s is required", field).
		With("parameter", field).With("errors", []domain.FieldError{fault})
}
