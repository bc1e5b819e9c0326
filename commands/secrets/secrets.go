// Package secrets puts the values of a workspace's secrets in the place of
// references to them. Values leave it for whoever connects to somewhere with
// them: they are in no error, no event and no log.
package secrets

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/workspace"
)

// Finder returns secrets of a workspace, still sealed; those that it does not have
// are absent. It is filled by the read models.
type Finder interface {
	Secrets(ctx context.Context, workspaceID string, names []string) (sealed map[string][]byte, err error)
}

// Vault opens what was sealed for a workspace. It is a *vault.Vault.
type Vault interface {
	Open(ctx context.Context, workspaceID string, sealed []byte, purpose string) ([]byte, error)
}

// Secrets resolves references. Both fields are required.
type Secrets struct {
	Finder Finder
	Vault  Vault
}

// Purpose is what the value of a secret is sealed for.
func Purpose(name string) string { return "secret/" + name }

var reference = regexp.MustCompile(`\{\{\s*secret\.([A-Za-z0-9_.-]{1,100})\s*\}\}`)

// Names returns the secrets that a text refers to, in order, each once.
func Names(text string) []string {
	var names []string
	for _, found := range reference.FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Resolve returns text with each {{secret.NAME}} replaced by its value. What a
// value holds is not looked at again. It refuses with secret_missing and the names
// that the workspace does not have. Those of the platform count as missing: who
// writes a text must not read them by it.
func (s Secrets) Resolve(ctx context.Context, workspaceID, text string) (string, error) {
	names := Names(text)
	if len(names) == 0 {
		return text, nil
	}
	sealed, err := s.Finder.Secrets(ctx, workspaceID, names)
	if err != nil {
		return "", err
	}
	values, missing := map[string]string{}, []string{}
	for _, name := range names {
		if sealed[name] == nil || strings.HasPrefix(name, workspace.SecretPrefix) {
			missing = append(missing, name)
			continue
		}
		plain, err := s.Vault.Open(ctx, workspaceID, sealed[name], Purpose(name))
		if err != nil {
			return "", fmt.Errorf("open secret %s of workspace %s: %w", name, workspaceID, err)
		}
		values[name] = string(plain)
	}
	if len(missing) > 0 {
		return "", domain.Refuse(domain.CodeValidation, "the workspace has no secret %s", strings.Join(missing, ", ")).
			Reason("secret_missing").With("names", missing)
	}
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		return values[reference.FindStringSubmatch(found)[1]]
	}), nil
}
