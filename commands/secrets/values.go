package secrets

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"svc/commands"
	"svc/commands/cache"
	"svc/domain"
	"svc/domain/automation/redact"
	"svc/domain/workspace"
)

// Sealed reads the stored secrets. It is a *projections.Models.
type Sealed interface {
	// Position changes whenever something was stored.
	Position() domain.Position
	// SealedSecrets returns the secrets of a workspace by name, with its slug and whether it
	// was deleted.
	SealedSecrets(workspaceID string) (sealed map[string][]byte, slug string, deleted bool, err error)
}

// Opener opens the secrets of workspaces for automations and repositories: those that are
// stored and, below them, those of the settings. What was opened is cached as long as the
// sealed text is the same. It implements Values, programs.Secrets and runtime.Secrets.
type Opener struct {
	sealed   Sealed
	vault    commands.Vault
	defaults func() map[string]map[string]string // by workspace slug and name
	cached   *cache.Cache[string, *opened]       // by workspace
}

// opened are the secrets of a workspace in clear, and what they were opened from.
type opened struct {
	mu     sync.Mutex
	moment uint64 // of the State log
	sealed map[string][]byte
	clear  clearSecrets
}

// clearSecrets are the secrets of a workspace in clear. It never changes.
type clearSecrets struct {
	values   map[string]string // what authors refer to
	platform map[string]string // what a super admin or the operator set for the workspace
	redact   *redact.Set       // of values
}

// cachedWorkspaces is of how many workspaces the secrets are cached.
const cachedWorkspaces = 10_000

// NewOpener returns an Opener. Defaults returns the secrets of the settings, by workspace
// slug and name.
func NewOpener(sealed Sealed, vault commands.Vault, defaults func() map[string]map[string]string) *Opener {
	return &Opener{sealed: sealed, vault: vault, defaults: defaults, cached: cache.New[string, *opened](cachedWorkspaces)}
}

// All returns the secrets of a workspace that authors refer to, by name.
func (o *Opener) All(ctx context.Context, workspaceID string) (map[string]string, error) {
	s, err := o.open(ctx, workspaceID)
	return s.values, err
}

// Redactor returns what removes the secrets of a workspace from texts and values.
func (o *Opener) Redactor(ctx context.Context, workspaceID string) (*redact.Set, error) {
	s, err := o.open(ctx, workspaceID)
	return s.redact, err
}

// Open returns both of them.
func (o *Opener) Open(ctx context.Context, workspaceID string) (map[string]string, *redact.Set, error) {
	s, err := o.open(ctx, workspaceID)
	return s.values, s.redact, err
}

// Platform returns the secrets of a workspace that only the platform reads.
func (o *Opener) Platform(ctx context.Context, workspaceID string) (map[string]string, error) {
	s, err := o.open(ctx, workspaceID)
	return s.platform, err
}

// open returns the secrets of a workspace as they are now.
func (o *Opener) open(ctx context.Context, workspaceID string) (clearSecrets, error) {
	moment := o.sealed.Position().State
	s, ok := o.cached.Get(workspaceID)
	if !ok {
		s = o.cached.Update(workspaceID, func(_ *opened, found bool) (*opened, bool) { return &opened{}, !found })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clear.values != nil && s.moment == moment {
		return s.clear, nil
	}
	sealed, slug, deleted, err := o.sealed.SealedSecrets(workspaceID)
	if err != nil {
		return clearSecrets{}, err
	}
	if deleted { // what is erased with its key is not cached
		o.cached.Drop(workspaceID)
		s = &opened{}
	}
	all := maps.Clone(o.defaults()[slug])
	if all == nil {
		all = map[string]string{}
	}
	for name, text := range sealed {
		if all[name], err = o.openOne(ctx, workspaceID, s, name, text); err != nil {
			return clearSecrets{}, err
		}
	}
	next := clearSecrets{values: map[string]string{}, platform: map[string]string{}, redact: s.clear.redact}
	for name, plain := range all {
		if strings.HasPrefix(name, workspace.SecretPrefix) {
			next.platform[name] = plain
		} else {
			next.values[name] = plain
		}
	}
	if next.redact == nil || !maps.Equal(next.values, s.clear.values) {
		next.redact = redact.New(slices.Collect(maps.Values(next.values))...)
	}
	s.moment, s.sealed, s.clear = moment, sealed, next
	return next, nil
}

// openOne opens a secret, unless it is the one that was opened before.
func (o *Opener) openOne(ctx context.Context, workspaceID string, before *opened, name string, text []byte) (string, error) {
	if bytes.Equal(before.sealed[name], text) {
		for _, known := range []map[string]string{before.clear.values, before.clear.platform} {
			if plain, ok := known[name]; ok {
				return plain, nil
			}
		}
	}
	plain, err := o.vault.Open(ctx, workspaceID, text, Purpose(name))
	if err != nil {
		return "", fmt.Errorf("open secret %s of workspace %s: %w", name, workspaceID, err)
	}
	return string(plain), nil
}
