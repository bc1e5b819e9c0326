package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"svc/commands/secrets"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// secretBody is one secret of PATCH and PUT …/security/secrets.
type secretBody struct {
	Value       *string `json:"value"`
	Description *string `json:"description"`
}

// shownSecret is what is told of a secret: never its value.
type shownSecret struct {
	Description string `json:"description,omitempty"`
	CreatedAt   string `json:"createdAt"`
	CreatedBy   string `json:"createdBy"`
	UpdatedAt   string `json:"updatedAt"`
	UpdatedBy   string `json:"updatedBy"`
}

// maxSecret is how long a secret may be, in bytes.
const maxSecret = 64 << 10

func secretsMay(action string) gateway.Action {
	return gateway.Action{Action: action, Subject: "secrets"}
}

// secretObject is a secret as rules see it.
func secretObject(id, name string) access.Object {
	return access.Fields{"name": name, "workspaceId": id}
}

// listSecrets handles GET …/security/secrets.
func listSecrets(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) { return secretsAnswer(d, r) }
}

// secretsAnswer lists the secrets whose names the caller may read.
func secretsAnswer(d Deps, r *http.Request) (any, error) {
	id, shown := workspaceID(r), map[string]shownSecret{}
	may := gateway.GrantFrom(r.Context()).Rights.Filter("read", "secrets")
	err := d.ReadModel.View(func(rd projections.Reader) error {
		return projections.Secrets{}.List(rd, id, func(name string, rec projections.SecretRecord) bool {
			if may(secretObject(id, name)) {
				shown[name] = shownSecret{rec.Description, rec.CreatedAt, rec.CreatedBy, rec.UpdatedAt, rec.UpdatedBy}
			}
			return true
		})
	})
	return shown, err
}

// patchSecrets handles PATCH …/security/secrets: what is not named stays.
func patchSecrets(d Deps) gateway.HandlerFunc { return setSecrets(d, false) }

// putSecrets handles PUT …/security/secrets: what is not named goes, but for the
// platform's own.
func putSecrets(d Deps) gateway.HandlerFunc { return setSecrets(d, true) }

func setSecrets(d Deps, others bool) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in map[string]secretBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if err := checkSecrets(in); err != nil {
			return nil, err
		}
		id := workspaceID(r)
		if err := maySetSecrets(d, r, in, others); err != nil {
			return nil, err
		}
		change := workspace.SetSecrets{Set: map[string]workspace.Secret{}, Others: others}
		for name, body := range in {
			sealed, err := d.Vault.Seal(r.Context(), id, []byte(*body.Value), secrets.Purpose(name))
			if err != nil {
				return nil, err
			}
			change.Set[name] = workspace.Secret{Sealed: sealed}
			if body.Description != nil {
				change.Set[name] = workspace.Secret{Sealed: sealed, Description: *body.Description}
			}
		}
		if _, err := d.Workspaces.SetSecrets(r.Context(), id, change); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return secretsAnswer(d, r)
	}
}

// checkSecrets refuses bodies that cannot be stored. It tells names, never
// values.
func checkSecrets(in map[string]secretBody) error {
	var errs []domain.FieldError
	for _, name := range slices.Sorted(maps.Keys(in)) {
		value := in[name].Value
		switch {
		case value == nil:
			return missing(name + ".value")
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

// maySetSecrets asks for the right to create, update or remove each secret.
func maySetSecrets(d Deps, r *http.Request, in map[string]secretBody, others bool) error {
	id, rights := workspaceID(r), gateway.GrantFrom(r.Context()).Rights
	now, err := d.Content.Workspaces.Get(r.Context(), id)
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
		if _, kept := in[name]; kept || strings.HasPrefix(name, workspace.SecretPrefix) {
			continue
		}
		if err := rights.Check("delete", "secrets", secretObject(id, name)); err != nil {
			return err
		}
	}
	return nil
}

// deleteSecret handles DELETE …/security/secrets/{name}.
func deleteSecret(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id, name := workspaceID(r), gateway.Var(r, "name")
		if err := gateway.GrantFrom(r.Context()).Rights.Check("delete", "secrets", secretObject(id, name)); err != nil {
			return nil, err
		}
		if _, err := d.Workspaces.SetSecrets(r.Context(), id, workspace.SetSecrets{Remove: []string{name}}); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return map[string]string{"name": name}, nil
	}
}
