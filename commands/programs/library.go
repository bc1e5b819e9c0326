package programs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"svc/commands"
	"svc/commands/cache"
	"svc/commands/content"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/value"
)

// Options configure a Library. Those without a default are required.
type Options struct {
	Contents Contents
	Secrets  Secrets
	Vault    commands.Vault
	Rules    func() automation.Rules
	// Defaults are settings that the operator gives to workspaces and apps, by slug
	// and name, below what they say themselves.
	Defaults func() Defaults

	// MaxInstances and MaxPrograms bound what is in a program set: instances of apps with
	// instances multiply.
	MaxInstances int          // default 2000
	MaxPrograms  int          // default 50,000
	Log          *slog.Logger // default slog.Default

	cacheBytes uint64 // size of each cache; default: see programSetCacheBytes
}

// Defaults are settings of the operator.
type Defaults struct {
	Workspaces, Apps map[string]map[string]string
}

// Library finds and builds program sets. It is safe for concurrent use.
type Library struct {
	contents Contents
	secrets  Secrets
	vault    commands.Vault
	rules    func() automation.Rules
	defaults func() Defaults
	log      *slog.Logger

	maxInstances, maxPrograms int

	programSets      *cache.Cache[string, *ProgramSet] // by workspace
	compiledContents *cache.Cache[contentKey, *compiledContent]
	documents        *cache.Cache[documentKey, *compiledDocument]
	workspaceValues  *cache.Cache[contentKey, workspaceValue]

	buildTurns   commands.Turns[string] // by workspace: a program set is built once for all that wait for it
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

// ProgramSet returns the current program set of a workspace, nil when the workspace does not
// exist.
func (l *Library) ProgramSet(ctx context.Context, workspaceID string) (*ProgramSet, error) {
	moment := l.contents.Moment()
	if cached, ok := l.programSets.Get(workspaceID); ok && cached.moment.Load() == moment {
		return cached, nil
	}
	return l.refreshProgramSet(ctx, workspaceID)
}

// refreshProgramSet returns the program set of a workspace and rebuilds it when it is
// outdated.
func (l *Library) refreshProgramSet(ctx context.Context, workspaceID string) (*ProgramSet, error) {
	done, err := l.buildTurns.Acquire(ctx, workspaceID)
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
	set, isNew, err := l.currentProgramSet(ctx, w)
	if err != nil {
		return nil, err
	}
	if isNew {
		l.warnOfTruncation(ctx, set)
		l.programSets.Set(workspaceID, set)
	}
	set.moment.Store(moment)
	return set, nil
}

// currentProgramSet returns the program set of a workspace: the cached one, one that is made of it,
// or a new one.
func (l *Library) currentProgramSet(ctx context.Context, w Workspace) (set *ProgramSet, isNew bool, err error) {
	cached, ok := l.programSets.Get(w.ID)
	if !ok {
		set, err = l.buildProgramSet(ctx, w)
		return set, true, err
	}
	apps, err := l.changedApps(cached)
	if err != nil {
		return nil, false, err
	}
	if cached.Workspace.equals(w) && len(apps) == 0 {
		return cached, false, nil
	}
	set, err = l.updateProgramSet(ctx, cached, w, apps)
	if err == nil && set == nil {
		set, err = l.buildProgramSet(ctx, w)
	}
	return set, true, err
}

// buildProgramSet builds a program set from nothing.
func (l *Library) buildProgramSet(ctx context.Context, w Workspace) (*ProgramSet, error) {
	compiled, err := l.compileContent(ctx, w.ID, w.Revision)
	if err != nil {
		return nil, err
	}
	return l.newProgramSet(ctx, w, compiled)
}

func (l *Library) warnOfTruncation(ctx context.Context, set *ProgramSet) {
	if set.Truncated {
		l.log.WarnContext(ctx, "workspace has more app instances or automations than can run; the rest was left out",
			"workspace", set.Workspace.ID, "maxInstances", l.maxInstances, "maxAutomations", l.maxPrograms)
	}
}

// ProgramSetBefore returns the program set of a workspace before a change, also when the
// workspace has been deleted since; change 0 is the deletion. It is nil when that was too long
// ago.
func (l *Library) ProgramSetBefore(ctx context.Context, workspaceID string, change uint64) (*ProgramSet, error) {
	done, err := l.buildTurns.Acquire(ctx, workspaceID)
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
	cached, _ := l.programSets.Get(workspaceID)
	for ; cached != nil; cached = cached.before {
		apps, err := l.changedApps(cached)
		if err != nil {
			return nil, err
		}
		if set, err := l.updateProgramSet(ctx, cached, w, apps); err != nil || set != nil {
			return set, err
		}
	}
	set, err := l.buildProgramSet(ctx, w)
	if err == nil {
		l.warnOfTruncation(ctx, set)
	}
	return set, err
}

// changedApps returns the apps of a program set that have another content by now.
func (l *Library) changedApps(set *ProgramSet) (changed []appUse, err error) {
	for _, app := range set.index.apps.All() {
		home, revision, err := l.contents.Edition(app.slug, app.version)
		if err != nil {
			return nil, err
		}
		if (contentKey{home, revision}) != app.content {
			changed = append(changed, app)
		}
	}
	return changed, nil
}

// The sizes of the caches, in bytes, roughly. Program sets, contents and documents share much of
// their memory: together they take little more than one of them, and at worst all three.
const (
	programSetCacheBytes = 1 << 30 // 150,000 small workspaces, or 800 with 50 automations of 1 kB
	contentCacheBytes    = 1 << 30 // those of the workspaces that have program sets, and of their apps
	documentCacheBytes   = 1 << 30 // 40,000 of 1 kB: when one is saved, its workspace has all others
	valueCacheBytes      = 1 << 28 // 20 MB of documents that automations look at as $workspace
)

// What things take, measured.
const (
	bytesPerEntry  = 512 // a document, scope, program or path, besides its content
	compiledFactor = 24  // a byte of a document that was compiled: 2 of scripts, 50 of lists of numbers
	valueFactor    = 12  // a byte of a document as a value
)

// maxCacheShare limits one entry to a quarter of its cache by weight. A heavier entry is
// cached nevertheless: otherwise each run would build its own program set.
const maxCacheShare = 4

// weighted reports its approximate size in bytes.
type weighted interface{ weight() int }

func newCache[K comparable, V weighted](bound uint64) *cache.Cache[K, V] {
	return cache.Weighing(bound, func(_ K, v V) uint32 { return uint32(min(uint64(v.weight()), bound/maxCacheShare)) })
}

// weight does not count the compiled contents of apps: other program sets share them.
func (set *ProgramSet) weight() int {
	return bytesPerEntry*(1+set.index.installed+set.index.programs) + set.Root.compiled.size
}

func (e *compiledContent) weight() int { return e.size }

func (c *compiledDocument) weight() int { return c.size }

// workspaceValue is the content of a scope as automations read it.
type workspaceValue struct {
	content *value.Object
	size    int
}

func (w workspaceValue) weight() int { return w.size }

// documentLength returns the length of a document in bytes.
func documentLength(doc *document.Map) int {
	text, _ := doc.MarshalJSON() // it was read from such a text
	return len(text)
}

// CheckCapacity refuses an app instance with which a workspace would exceed its limits. The
// instance replaces the one with the slug from; "" replaces none. Other faults are not checked
// here.
func (l *Library) CheckCapacity(ctx context.Context, workspaceID, from string, in content.Instance) error {
	done, err := l.buildTurns.Acquire(ctx, workspaceID)
	if err != nil {
		return err
	}
	defer done()
	w, ok, err := l.contents.Workspace(workspaceID)
	if err != nil || !ok {
		return err
	}
	set, _, err := l.currentProgramSet(ctx, w)
	if err != nil {
		return err
	}
	before := set.Root.compiled
	next := &compiledContent{workspaceID: before.workspaceID, index: before.index, automations: before.automations}
	next.installs = before.installs.Delete(from).Set(in.Slug, install{slug: in.Slug, app: in.App.Slug, version: in.App.Version})
	changed := map[string]content.Ref{"imports/" + in.Slug: {}}
	if from != "" {
		changed["imports/"+from] = content.Ref{}
	}
	_, fits, err := l.updateIndex(ctx, set, w, next, changed, nil)
	if err == nil && !fits && set.Truncated {
		var made *ProgramSet
		if made, err = l.newProgramSet(ctx, w, next); err == nil {
			fits = !made.Truncated
		}
	}
	if err != nil || fits {
		return err
	}
	return domain.Invalid(domain.FieldError{Field: "appSlug", Message: fmt.Sprintf(
		"the workspace would have more than %d app instances or %d automations, with those that are within its app instances: uninstall or disable other app instances first, or choose an app that consists of less",
		l.maxInstances, l.maxPrograms,
	)})
}
