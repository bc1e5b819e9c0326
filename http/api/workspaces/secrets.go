package workspaces

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"svc/commands/secrets"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// secretRequest is one secret of PATCH and PUT …/security/secrets.
type secretRequest struct {
	Value       *string `json:"value"`
	Description *string `json:"description"`
}

// secretResponse is what is told of a secret: never its value.
type secretResponse struct {
	Description string `json:"description,omitempty"`
	CreatedAt   string `json:"createdAt"`
	CreatedBy   string `json:"createdBy"`
	UpdatedAt   string `json:"updatedAt"`
	UpdatedBy   string `json:"updatedBy"`
}

// maxSecret is how long a secret may be, in bytes.
const maxSecret = 64 << 10

// secretObject is a secret as rules see it.
func secretObject(id, name string) access.Object {
	return access.Fields{"name": name, "workspaceId": id}
}

// ListSecrets handles GET …/security/secrets.
func (h *Handlers) ListSecrets(r *http.Request) (any, error) { return h.secretsResponse(r) }

// secretsResponse lists the secrets whose names the caller may read.
func (h *Handlers) secretsResponse(r *http.Request) (any, error) {
	id, items := handler.WorkspaceID(r), map[string]secretResponse{}
	may := gateway.GrantFrom(r.Context()).Rights.Filter("read", "secrets")
	rd := h.ReadModel.Reader()
	defer rd.Close()
	err := projections.Secrets{}.List(rd, id, func(name string, rec projections.SecretRecord) bool {
		if may(secretObject(id, name)) {
			items[name] = secretResponse{rec.Description, rec.CreatedAt, rec.CreatedBy, rec.UpdatedAt, rec.UpdatedBy}
		}
		return true
	})
	return items, err
}

// PatchSecrets handles PATCH …/security/secrets: what is not named stays.
func (h *Handlers) PatchSecrets() gateway.HandlerFunc { return h.setSecrets(false) }

// PutSecrets handles PUT …/security/secrets: what is not named goes, but for the
// platform's own.
func (h *Handlers) PutSecrets() gateway.HandlerFunc { return h.setSecrets(true) }

func (h *Handlers) setSecrets(others bool) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in map[string]secretRequest
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if err := checkSecrets(in); err != nil {
			return nil, err
		}
		id := handler.WorkspaceID(r)
		if err := h.checkSetSecrets(r, in, others); err != nil {
			return nil, err
		}
		change := workspace.SetSecrets{Set: map[string]workspace.Secret{}, Others: others}
		for name, body := range in {
			sealed, err := h.Vault.Seal(r.Context(), id, []byte(*body.Value), secrets.Purpose(name))
			if err != nil {
				return nil, err
			}
			change.Set[name] = workspace.Secret{Sealed: sealed}
			if body.Description != nil {
				change.Set[name] = workspace.Secret{Sealed: sealed, Description: *body.Description}
			}
		}
		if _, err := h.Workspaces.SetSecrets(r.Context(), id, change); err != nil {
			return nil, err
		}
		handler.AwaitVisible(r.Context(), h.ReadModel)
		return h.secretsResponse(r)
	}
}

// checkSecrets refuses bodies that cannot be stored. It tells names, never
// values.
func checkSecrets(in map[string]secretRequest) error {
	var errs []domain.FieldError
	for _, name := range slices.Sorted(maps.Keys(in)) {
		value := in[name].Value
		switch {
		case value == nil:
			return handler.MissingField(name + ".value")
		case *value == "" || len(*value) > maxSecret:
			errs = append(errs, domain.FieldError{Field: name + ".value", Message: "must be a text of 1 to 65536 bytes"})
		}
		if wrong := workspace.WrongSecretName(name); wrong != "" {
			errs = append(errs, domain.FieldError{Field: name, Message: wrong})
		}
	}
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

// checkSetSecrets asks for the right to create, update or remove each secret.
func (h *Handlers) checkSetSecrets(r *http.Request, in map[string]secretRequest, others bool) error {
	id, rights := handler.WorkspaceID(r), gateway.GrantFrom(r.Context()).Rights
	now, err := h.Content.Workspaces.Get(r.Context(), id)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		action := "create"
		if _, known := now.State.Secrets[name]; known {
			action = "update"
		}
		if err := rights.Check(action, "secrets", secretObject(id, name)); err != nil {
			return err
		}
	}
	if !others {
		return nil
	}
	if !rights.Could("delete", "secrets") {
		return rights.Refusal("delete", "secrets")
	}
	for name := range now.State.Secrets {
		if _, given := in[name]; given || strings.HasPrefix(name, workspace.SecretPrefix) {
			continue
		}
		if err := rights.Check("delete", "secrets", secretObject(id, name)); err != nil {
			return err
		}
	}
	return nil
}

// DeleteSecret handles DELETE …/security/secrets/{name}.
func (h *Handlers) DeleteSecret(r *http.Request) (any, error) {
	id, name := handler.WorkspaceID(r), gateway.Var(r, "name")
	if err := gateway.GrantFrom(r.Context()).Rights.Check("delete", "secrets", secretObject(id, name)); err != nil {
		return nil, err
	}
	if _, err := h.Workspaces.SetSecrets(r.Context(), id, workspace.SetSecrets{Remove: []string{name}}); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return map[string]string{"name": name}, nil
}
