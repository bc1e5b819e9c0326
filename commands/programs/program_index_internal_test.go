package programs

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/commands"
	"svc/commands/content"
	"svc/domain/automation"
	"svc/domain/document"
)

// editions are the contents of workspaces, each with all its revisions: documents by path. Each
// workspace is also the app that is called like it, in its last edition.
type editions struct {
	revisions map[string][]map[string]string
	published map[string]int
	slugs     map[string]map[string]string
	documents int // that were read
}

func (e *editions) Moment() uint64 {
	moment := 0
	for id, all := range e.revisions {
		moment += len(all) + e.published[id]
	}
	return uint64(moment)
}

func (e *editions) Workspace(id string) (Workspace, bool, error) {
	return Workspace{ID: id, Slug: id, Name: id, Revision: uint64(len(e.revisions[id])), CollectionSlugs: e.slugs}, e.revisions[id] != nil, nil
}

func (e *editions) Edition(slug, _ string) (string, uint64, error) {
	return slug, uint64(e.published[slug]), nil
}

func (e *editions) At(_ context.Context, id string, revision uint64) (map[string]content.Ref, error) {
	refs := map[string]content.Ref{}
	for path, text := range e.revisions[id][revision-1] {
		refs[path] = content.Ref{Hash: text}
	}
	return refs, nil
}

func (e *editions) Changes(_ context.Context, id string, after, until uint64) (map[string]content.Ref, bool, error) {
	changed := map[string]content.Ref{}
	for i := after; i < until; i++ {
		was, is := e.revisions[id][i-1], e.revisions[id][i]
		for path, text := range is {
			if was[path] != text {
				changed[path] = content.Ref{Hash: text}
			}
		}
		for path := range was {
			if is[path] == "" {
				changed[path] = content.Ref{}
			}
		}
	}
	return changed, true, nil
}

func (e *editions) Document(_ context.Context, _ string, ref content.Ref) (*document.Map, error) {
	e.documents++
	doc := document.MapOf()
	return doc, doc.UnmarshalJSON([]byte(ref.Hash))
}

// save adds a revision in which a document is another; "" deletes it.
func (e *editions) save(id, path, text string) {
	next := map[string]string{"index": `{}`}
	if all := e.revisions[id]; len(all) > 0 {
		next = maps.Clone(all[len(all)-1])
	}
	if next[path] = text; text == "" {
		delete(next, path)
	}
	e.revisions[id] = append(e.revisions[id], next)
}

func newEditions() *editions {
	return &editions{revisions: map[string][]map[string]string{}, published: map[string]int{}}
}

type noVault struct{ commands.Vault }

func (noVault) All(context.Context, string) (map[string]string, error) { return nil, nil }

func (e *editions) library(t require.TestingT, maxInstances, maxPrograms int) *Library {
	l, err := New(Options{
		Contents: e, Secrets: noVault{}, Vault: noVault{}, Rules: func() automation.Rules { return automation.Rules{} },
		Defaults: func() Defaults { return Defaults{} }, MaxInstances: maxInstances, MaxPrograms: maxPrograms, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return l
}

func automationText(slug, when string) string {
	return fmt.Sprintf(`{"slug":%q,"name":%q,"when":%s,"do":[]}`, slug, slug, when)
}

// Whatever is saved, installed and published: the program set that follows from the one before is
// the one that would be built from nothing.
func TestAnUpdatedProgramSetIsTheOneThatWouldBeBuilt(t *testing.T) {
	t.Parallel()
	slugs := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	homes := rapid.SampledFrom([]string{"w", "w", "x", "y"})
	whens := rapid.SampledFrom([]string{
		`{}`, `{"endpoint":true}`, `{"endpoint":"p/:id"}`, `{"events":["e","e.*","f"]}`, `{"schedules":["0 3 * * *"]}`,
		`{},"labels":["mcp"]`, `{},"labels":["mcp"],"private":true`, `{},"labels":["mcp"],"disabled":true`,
	})
	rapid.Check(t, func(rt *rapid.T) {
		e := newEditions()
		for _, id := range []string{"w", "x", "y"} {
			e.save(id, "automations/a", automationText("a", `{"endpoint":true}`))
		}
		l := e.library(rt, 12, 30)
		for range rapid.IntRange(1, 25).Draw(rt, "changes") {
			home, slug := homes.Draw(rt, "home"), slugs.Draw(rt, "slug")
			switch rapid.IntRange(0, 6).Draw(rt, "change") {
			case 0, 1:
				e.save(home, "automations/"+slug, automationText(slug, whens.Draw(rt, "when")))
			case 2:
				e.save(home, rapid.SampledFrom([]string{"automations/", "imports/"}).Draw(rt, "folder")+slug, "")
			case 3:
				app := rapid.SampledFrom([]string{"x", "y", "missing"}).Draw(rt, "app")
				e.save(home, "imports/"+slug, fmt.Sprintf(`{"slug":%q,"appSlug":%q,"config":{"functions":{"f":{"code":"1"}},"k":%q}}`, slug, app, slug))
			case 4:
				app := rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "published")
				e.published[app] = len(e.revisions[app])
			case 5:
				e.save(home, "index", fmt.Sprintf(`{"name":%q}`, slug))
			case 6:
				e.slugs = map[string]map[string]string{"x": {slug: slug + " before"}}
				e.save("w", "pages/p", fmt.Sprintf(`{"slug":"p","name":%q}`, slug))
			}
			if rapid.Bool().Draw(rt, "asks") {
				e.checkUpdated(rt, l)
			}
		}
		e.checkUpdated(rt, l)
	})
}

func (e *editions) checkUpdated(rt *rapid.T, l *Library) {
	w, _, err := e.Workspace("w")
	require.NoError(rt, err)
	updated, err := l.refreshProgramSet(rt.Context(), "w")
	require.NoError(rt, err)
	l.programSets.Drop("w")
	built, err := l.buildProgramSet(rt.Context(), w)
	require.NoError(rt, err)
	l.programSets.Set("w", updated)
	require.Equal(rt, built.Truncated, updated.Truncated)
	require.Equal(rt, built.Root.limit, updated.Root.limit)
	require.Equal(rt, built.index, updated.index)
	require.Equal(rt, built.Root.compiled.automations, updated.Root.compiled.automations)
	require.Equal(rt, built.Root.compiled.installs, updated.Root.compiled.installs)
	require.Equal(rt, built.Root.compiled.index, updated.Root.compiled.index)
	require.Equal(rt, built.Root.compiled.size, updated.Root.compiled.size)
	for revision := range w.Revision {
		then, err := l.ProgramSetBefore(rt.Context(), "w", revision+2)
		require.NoError(rt, err)
		require.Equal(rt, revision+1, then.Root.compiled.revision)
	}
}

// An endpoint is found as a look at all of them would find it.
func TestAnEndpointIsFoundAmongAll(t *testing.T) {
	t.Parallel()
	segments := []string{"a", "b", ":x", ":y", "a.b"}
	rapid.Check(t, func(rt *rapid.T) {
		e := newEditions()
		path := func(last []string) string {
			parts := rapid.SliceOfN(rapid.SampledFrom(segments), 0, 2).Draw(rt, "segments")
			return strings.Join(append(parts, rapid.SampledFrom(last).Draw(rt, "last")), "/")
		}
		for i := range rapid.IntRange(0, 12).Draw(rt, "automations") {
			slug := fmt.Sprint("n", i)
			at := path(append(segments, "*r"))
			e.save(rapid.SampledFrom([]string{"w", "app"}).Draw(rt, "home"), "automations/"+slug, automationText(slug, fmt.Sprintf(`{"endpoint":%q}`, at)))
		}
		e.save("w", "imports/a", `{"slug":"a","appSlug":"app"}`)
		e.save("w", "imports/b", `{"slug":"b","appSlug":"app"}`)
		e.published["app"] = len(e.revisions["app"])
		set, err := e.library(rt, 10, 100).ProgramSet(rt.Context(), "w")
		require.NoError(rt, err)
		asked := rapid.SampledFrom([]string{"a", "b", "c", "a/b", "a/c", "a.b", "a.a/b", "a.c/c", "b.a.b", "a%2Fb", "a/", "a//b", "%zz", "", "a.b/a/b/c", "c/c/c", "b.c/c/c/"}).Draw(rt, "path")
		var best *Program
		var params map[string]string
		first, rest := firstSegment(asked)
		for _, p := range set.Endpoints() {
			within, ok := asked, true
			if prefix := p.Scope.namePrefix(); prefix != "" {
				within, ok = strings.CutPrefix(first, prefix)
				within = escapedSegment(within) + rest
			}
			if found, fits := p.When.Endpoint.Match(within); ok && fits && (best == nil || p.When.Endpoint.Compare(best.When.Endpoint) < 0) {
				best, params = p, found
			}
		}
		found, with := set.MatchEndpoint(asked)
		require.Same(rt, best, found)
		require.Equal(rt, params, with)
	})
}

func escapedSegment(text string) string { return strings.ReplaceAll(text, "/", "%2F") }

// After a save one document is read, and as much is allocated in a large workspace as in a small
// one; to find the automation of an endpoint takes nothing that grows either.
//
//nolint:paralleltest // allocations are counted
func TestASaveDoesNotRebuildTheProgramSet(t *testing.T) {
	const saves = 50
	cost := func(automations int) (saved, found float64) {
		e := newEditions()
		all := map[string]string{"index": `{}`}
		for i := range automations {
			slug := fmt.Sprint("a", i)
			all["automations/"+slug] = automationText(slug, `{"endpoint":true,"events":["e"],"schedules":["0 3 * * *"]}`)
		}
		e.revisions["w"] = []map[string]string{all}
		for i := range saves + 1 {
			e.save("w", "automations/a1", automationText("a1", fmt.Sprintf(`{"endpoint":true,"events":["e%d"]}`, i)))
		}
		changes := e.revisions["w"]
		e.revisions["w"] = changes[:1]
		l := e.library(t, 10, 50_000)
		set, err := l.ProgramSet(t.Context(), "w")
		require.NoError(t, err)
		before := e.documents
		saved = testing.AllocsPerRun(saves, func() {
			e.revisions["w"] = changes[:len(e.revisions["w"])+1]
			set, err = l.refreshProgramSet(t.Context(), "w")
			require.NoError(t, err)
		}) - changesCost(e, len(changes))
		require.Equal(t, saves+1, e.documents-before, "one document for each save")
		found = testing.AllocsPerRun(100, func() {
			p, _ := set.MatchEndpoint("a3")
			require.NotNil(t, p)
			require.NotNil(t, set.ScheduledProgram("a3"))
			require.Len(t, set.Listeners(Event{Type: fmt.Sprint("e", saves)}), 1)
		})
		return saved, found
	}
	small, foundSmall := cost(10)
	large, foundLarge := cost(2000)
	require.Less(t, large, 3*small, "%v allocations with 10 automations, %v with 2000", small, large)
	require.LessOrEqual(t, foundLarge, 1.5*foundSmall)
}

// changesCost is what the test itself allocates to find what changed.
func changesCost(e *editions, until int) float64 {
	return testing.AllocsPerRun(10, func() {
		_, _, _ = e.Changes(context.Background(), "w", uint64(until-1), uint64(until))
	})
}
