package runs

import (
	"context"
	"net/http"

	"svc/commands/contexts"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/value"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// Contexts are what automations remember. It is a *contexts.Contexts.
type Contexts interface {
	Load(ctx context.Context, key contexts.Key) (*value.Object, error)
}

// GetContext handles GET …/contexts/{kind}, and …/contexts/{kind}/{id} for those that there
// are several of: the value, without secrets. What nobody has written is empty.
func (h *Handlers) GetContext(kind, variable string) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		key := contexts.Key{WorkspaceID: handler.WorkspaceID(r), Kind: kind}
		if variable != "" {
			key.ID = gateway.Var(r, variable)
			if !domain.IsLine(key.ID, activity.MaxTarget) {
				return nil, domain.Refuse(domain.CodeInvalidParameter, "%s must be one line of 1 to %d characters", variable, activity.MaxTarget).With("parameter", variable)
			}
		}
		known, err := h.Contexts.Load(r.Context(), key)
		if err != nil {
			return nil, err
		}
		secrets, err := h.Redactor(r.Context(), key.WorkspaceID)
		if err != nil {
			return nil, err
		}
		programSet, err := h.Programs.ProgramSet(r.Context(), key.WorkspaceID)
		if err != nil {
			return nil, err
		}
		secrets = secrets.Clone()
		secrets.Add(programSet.ConfigSecrets(r.Context())...)
		return secrets.Value(known), nil
	}
}
