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

	// MaxInstances and MaxPrograms bound what is in a program set: instances of apps with
	// instances multiply.
	MaxInstances int          // default 2000
	MaxPrograms  int          // default 50,000
	Log          *slog.Logger // default slog.Default

	cacheBytes uint64 // bytes of each that are kept; default: see programSetCacheBytes
}

// Defaults are settings of the operator.
type Defaults struct {
	Workspaces, Apps map[string]map[string]string
}

// Library finds program sets. It is safe for concurrent use.
type Library struct {
	contents Contents
	secrets  Secrets
	vault    Vault
	rules    func() automation.Rules
	defaults func() Defaults
	log      *slog.Logger

	maxInstances, maxPrograms int

	programSets      *cache.Cache[string, *ProgramSet] // by workspace
	compiledContents *cache.Cache[contentKey, *compiledContent]
	documents        *cache.Cache[documentKey, *compiledDocument]
	workspaceValues  *cache.Cache[contentKey, workspaceValue]

	buildTurns   commands.Turns[string] // by workspace: who wants the same program set waits for it
	compileTurns commands.Turns[contentKey]
}

// New returns a Library.
func New(o Options) (*Library, error) {
	if o.Contents == nil || o.Secrets == nil || o.Vault == nil || o.Rules == nil || o.Defaults == nil {
		return nil, errors.New("programs: Options.Contents, Secrets, Vault, Rules and Defaults are required")
	}
	return &Library{
		contents: o.Contents, secrets: o.Secrets, vault: o.Vault, rules: o.Rules, defaults: o.Defaults, log: cmp.Or(o.Log, slog.Default()),
		maxInstances: cmp.Or(o.MaxInstances, 2_000), maxPrograms: cmp.Or(o.MaxPrograms, 50_000),
		programSets:      newCache[string, *ProgramSet](cmp.Or(o.cacheBytes, programSetCacheBytes)),
		compiledContents: newCache[contentKey, *compiledContent](cmp.Or(o.cacheBytes, contentCacheBytes)),
		documents:        newCache[documentKey, *compiledDocument](cmp.Or(o.cacheBytes, documentCacheBytes)),
		workspaceValues:  newCache[contentKey, workspaceValue](cmp.Or(o.cacheBytes, valueCacheBytes)),
	}, nil
}

// ProgramSet returns what can run in a workspace now, nil when there is no such workspace.
func (l *Library) ProgramSet(ctx context.Context, workspaceID string) (*ProgramSet, error) {
	moment := l.contents.Moment()
	if have, ok := l.programSets.Get(workspaceID); ok && have.moment.Load() == moment {
		return have, nil
	}
	return l.refreshProgramSet(ctx, workspaceID)
}

// refreshProgramSet returns the program set of a workspace, and builds it when the one that is known is
// not that of now.
func (l *Library) refreshProgramSet(ctx context.Context, workspaceID string) (*ProgramSet, error) {
	done, err := l.buildTurns.Take(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	defer done()
	moment := l.contents.Moment() // before the look: what it shows is at least that much
	w, ok, err := l.contents.Workspace(workspaceID)
	if err != nil {
		return nil, err
	}
	if !ok || w.Deleted {
		l.programSets.Drop(workspaceID)
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	if have, ok := l.programSets.Get(workspaceID); ok && have.Workspace.equals(w) {
		same, err := l.areAppsCurrent(have)
		if err != nil {
			return nil, err
		}
		if same {
			have.moment.Store(moment)
			return have, nil
		}
	}
	set, err := l.buildProgramSet(ctx, w)
	if err != nil {
		return nil, err
	}
	set.moment.Store(moment)
	l.programSets.Set(workspaceID, set)
	return set, nil
}

// ProgramSetBefore returns what could run in a workspace before a change, also when it was deleted
// since then; 0: before it was. It is nil when that was too long ago.
func (l *Library) ProgramSetBefore(ctx context.Context, workspaceID string, change uint64) (*ProgramSet, error) {
	done, err := l.buildTurns.Take(ctx, workspaceID)
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
	return l.buildProgramSet(ctx, w)
}

// equals reports whether the apps of a program set are still what they were.
func (l *Library) areAppsCurrent(set *ProgramSet) (bool, error) {
	for app, was := range set.apps {
		home, revision, err := l.contents.Edition(app.slug, app.version)
		if err != nil {
			return false, err
		}
		if (contentKey{home, revision}) != was {
			return false, nil
		}
	}
	return true, nil
}
