// Package secrets puts the values of a workspace's secrets in the place of
// references to them. Values leave it for whoever connects to somewhere with
// them: they are in no error, no event and no log.
package secrets

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/workspace"
)

// Values returns the secrets of a workspace in clear, by name: those that are stored and, below
// them, those of the operator. It is what automations read, too.
type Values interface {
	All(ctx context.Context, workspaceID string) (map[string]string, error)
}

// Secrets resolves references. Its field is required.
type Secrets struct{ Values Values }

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
	values, err := s.Values.All(ctx, workspaceID)
	if err != nil {
		return "", err
	}
	missing := []string{}
	for _, name := range names {
		if _, known := values[name]; !known || strings.HasPrefix(name, workspace.SecretPrefix) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return "", domain.Refuse(domain.CodeValidation, "the workspace has no secret %s", strings.Join(missing, ", ")).
			Reason("secret_missing").With("names", missing)
	}
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		return values[reference.FindStringSubmatch(found)[1]]
	}), nil
}
