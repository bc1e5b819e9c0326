package programs

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"svc/commands"
	"svc/commands/cache"
	"svc/domain/automation"
)

// Options configure a Library. Those without a default are required.
type Options struct {
	Contents Contents
	Secrets  Secrets
	Vault    Vault
	Rules    func() automation.Rules
	// Defaults are settings that the operator gives to workspaces and apps, by slug
	// and name, below what they say themselves.
	Defaults func() Defaults

	// MaxInstances and MaxPrograms bound what is in a house: instances of apps with
	// instances multiply.
	MaxInstances int          // default 2000
	MaxPrograms  int          // default 50,000
	Log          *slog.Logger // default slog.Default

	keeps uint64 // bytes of each that are kept; default: see keptHouses
}

// Defaults are settings of the operator.
type Defaults struct {
	Workspaces, Apps map[string]map[string]string
}

// Library finds houses. It is safe for concurrent use.
type Library struct {
	contents Contents
	secrets  Secrets
	vault    Vault
	rules    func() automation.Rules
	defaults func() Defaults
	log      *slog.Logger

	maxInstances, maxPrograms int

	houses    *cache.Cache[string, *House] // by workspace
	editions  *cache.Cache[editionKey, *edition]
	documents *cache.Cache[documentKey, *compiled]
	wholes    *cache.Cache[editionKey, whole]

	building  commands.Turns[string] // by workspace: who wants the same house waits for it
	compiling commands.Turns[editionKey]
}

// New returns a Library.
func New(o Options) (*Library, error) {
	if o.Contents == nil || o.Secrets == nil || o.Vault == nil || o.Rules == nil || o.Defaults == nil {
		return nil, errors.New("programs: Options.Contents, Secrets, Vault, Rules and Defaults are required")
	}
	return &Library{
		contents: o.Contents, secrets: o.Secrets, vault: o.Vault, rules: o.Rules, defaults: o.Defaults, log: cmp.Or(o.Log, slog.Default()),
		maxInstances: cmp.Or(o.MaxInstances, 2_000), maxPrograms: cmp.Or(o.MaxPrograms, 50_000),
		houses:    cacheOf[string, *House](cmp.Or(o.keeps, keptHouses)),
		editions:  cacheOf[editionKey, *edition](cmp.Or(o.keeps, keptEditions)),
		documents: cacheOf[documentKey, *compiled](cmp.Or(o.keeps, keptDocuments)),
		wholes:    cacheOf[editionKey, whole](cmp.Or(o.keeps, keptWholes)),
	}, nil
}

// House returns what can run in a workspace now, nil when there is no such workspace.
func (l *Library) House(ctx context.Context, workspaceID string) (*House, error) {
	moment := l.contents.Moment()
	if have, ok := l.houses.Get(workspaceID); ok && have.moment.Load() == moment {
		return have, nil
	}
	return l.look(ctx, workspaceID)
}

// look returns the house of a workspace, and builds it when the one that is known is
// not that of now.
func (l *Library) look(ctx context.Context, workspaceID string) (*House, error) {
	done, err := l.building.Take(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	defer done()
	moment := l.contents.Moment() // before the look: what it shows is at least that much
	w, ok, err := l.contents.Workspace(workspaceID)
	if err != nil {
		return nil, err
	}
	if !ok || w.Gone {
		l.houses.Drop(workspaceID)
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	if have, ok := l.houses.Get(workspaceID); ok && have.Workspace.same(w) {
		same, err := l.same(have)
		if err != nil {
			return nil, err
		}
		if same {
			have.moment.Store(moment)
			return have, nil
		}
	}
	h, err := l.build(ctx, w)
	if err != nil {
		return nil, err
	}
	h.moment.Store(moment)
	l.houses.Set(workspaceID, h)
	return h, nil
}

// Before returns what could run in a workspace before a change, also when it was deleted
// since then; 0: before it was. It is nil when that was too long ago.
func (l *Library) Before(ctx context.Context, workspaceID string, change uint64) (*House, error) {
	done, err := l.building.Take(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	defer done()
	w, ok, err := l.contents.Workspace(workspaceID)
	if err != nil || !ok {
		return nil, err
	}
	if change > 0 {
		w.Revision = min(w.Revision, change-1)
	}
	return l.build(ctx, w)
}

// same reports whether the apps of a house are still what they were.
func (l *Library) same(h *House) (bool, error) {
	for app, was := range h.apps {
		home, revision, err := l.contents.Edition(app.slug, app.version)
		if err != nil {
			return false, err
		}
		if (editionKey{home, revision}) != was {
			return false, nil
		}
	}
	return true, nil
}
