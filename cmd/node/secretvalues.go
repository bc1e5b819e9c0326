package node

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"svc/cmd/settings"
	"svc/commands/cache"
	"svc/commands/secrets"
	"svc/commands/vault"
	"svc/domain/automation/redact"
	"svc/domain/workspace"
	"svc/projections"
)

// secretValues opens the secrets of workspaces for their automations and repositories. What
// was opened is remembered as long as the sealed text is the same. It implements
// programs.Secrets and secrets.Values.
type secretValues struct {
	models   *projections.Models
	vault    *vault.Vault
	defaults func() map[string]map[string]string // by workspace slug and name
	known    *cache.Cache[string, *openSecrets]  // by workspace
}

// openSecrets are the secrets of a workspace.
type openSecrets struct {
	mu     sync.Mutex
	moment uint64
	sealed map[string][]byte
	// values are what authors refer to, platform what a super admin or the operator set
	// for the workspace. Neither is ever changed.
	values, platform map[string]string
	redact           *redact.Set // of values
}

// rememberedSecrets is of how many workspaces secrets are held open.
const rememberedSecrets = 10_000

func newSecretValues(models *projections.Models, v *vault.Vault, defaults func() map[string]map[string]string) *secretValues {
	return &secretValues{
		models: models, vault: v, defaults: defaults,
		known: cache.New[string, *openSecrets](rememberedSecrets),
	}
}

// All implements programs.Secrets.
func (s *secretValues) All(ctx context.Context, workspaceID string) (map[string]string, error) {
	open, err := s.of(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	open.mu.Lock()
	defer open.mu.Unlock()
	return open.values, nil
}

// Redactor implements runtime.Secrets.
func (s *secretValues) Redactor(ctx context.Context, workspaceID string) (*redact.Set, error) {
	open, err := s.of(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	open.mu.Lock()
	defer open.mu.Unlock()
	return open.redact, nil
}

// Platform returns the secrets that only the platform reads.
func (s *secretValues) Platform(ctx context.Context, workspaceID string) (map[string]string, error) {
	open, err := s.of(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	open.mu.Lock()
	defer open.mu.Unlock()
	return open.platform, nil
}

// of returns the secrets of a workspace as they are now.
func (s *secretValues) of(ctx context.Context, workspaceID string) (*openSecrets, error) {
	moment := s.models.Position().State
	open, ok := s.known.Get(workspaceID)
	if !ok {
		open = s.known.Update(workspaceID, func(_ *openSecrets, found bool) (*openSecrets, bool) { return &openSecrets{}, !found })
	}
	open.mu.Lock()
	defer open.mu.Unlock()
	if open.values != nil && open.moment == moment {
		return open, nil
	}
	sealed, rec, err := s.list(workspaceID)
	if err != nil {
		return nil, err
	}
	if rec.Deleted != nil { // what is erased with its key is not remembered
		s.known.Drop(workspaceID)
		open = &openSecrets{}
	}
	known := maps.Clone(s.defaults()[rec.Meta.Slug])
	if known == nil {
		known = map[string]string{}
	}
	for name, text := range sealed {
		if known[name], err = s.plain(ctx, workspaceID, open, name, text); err != nil {
			return nil, err
		}
	}
	values, platform := divided(known)
	if open.redact == nil || !maps.Equal(values, open.values) {
		open.redact = redact.New(slices.Collect(maps.Values(values))...)
	}
	open.moment, open.sealed, open.values, open.platform = moment, sealed, values, platform
	return open, nil
}

// divided parts secrets into those that authors refer to and those of the platform.
func divided(known map[string]string) (values, platform map[string]string) {
	values, platform = map[string]string{}, map[string]string{}
	for name, plain := range known {
		if strings.HasPrefix(name, workspace.SecretPrefix) {
			platform[name] = plain
		} else {
			values[name] = plain
		}
	}
	return values, platform
}

// plain opens a secret, unless it is the one that was opened before.
func (s *secretValues) plain(ctx context.Context, workspaceID string, open *openSecrets, name string, text []byte) (string, error) {
	if bytes.Equal(open.sealed[name], text) {
		for _, known := range []map[string]string{open.values, open.platform} {
			if before, ok := known[name]; ok {
				return before, nil
			}
		}
	}
	plain, err := s.vault.Open(ctx, workspaceID, text, secrets.Purpose(name))
	if err != nil {
		return "", fmt.Errorf("open secret %s of workspace %s: %w", name, workspaceID, err)
	}
	return string(plain), nil
}

// list returns the sealed secrets of a workspace, and what is known of it.
func (s *secretValues) list(workspaceID string) (sealed map[string][]byte, known projections.Record, err error) {
	sealed = map[string][]byte{}
	err = s.models.View(func(r projections.Reader) (err error) {
		if known, _, err = (projections.Workspaces{}).Record(r, workspaceID); err != nil {
			return err
		}
		return projections.Secrets{}.List(r, workspaceID, func(name string, rec projections.SecretRecord) bool {
			sealed[name] = rec.Sealed
			return true
		})
	})
	return sealed, known, err
}

// revealed returns secrets of the settings as they are.
func revealed(hidden map[string]map[string]settings.Secret) map[string]map[string]string {
	all := make(map[string]map[string]string, len(hidden))
	for slug, values := range hidden {
		all[slug] = make(map[string]string, len(values))
		for name, value := range values {
			all[slug][name] = value.Reveal()
		}
	}
	return all
}
