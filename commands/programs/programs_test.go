package programs_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/content"
	"svc/commands/programs"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/value"
)

// counted is a shelf that counts what is read from it.
type counted struct {
	testContents
	contents, documents *atomic.Int32
}

func (c counted) At(ctx context.Context, id string, revision uint64) (map[string]content.Ref, error) {
	c.contents.Add(1)
	return c.testContents.At(ctx, id, revision)
}

func (c counted) Document(ctx context.Context, id string, ref content.Ref) (*document.Map, error) {
	c.documents.Add(1)
	return c.testContents.Document(ctx, id, ref)
}

// libraryWithLimit is a library that keeps that many bytes of each kind.
func libraryWithLimit(t *testing.T, s testContents, bytes uint64) (*programs.Library, counted) {
	t.Helper()
	c := counted{s, new(atomic.Int32), new(atomic.Int32)}
	l, err := programs.New(programs.Options{
		Contents: c, Secrets: noSecrets{}, Vault: noSecrets{}, Rules: func() automation.Rules { return automation.Rules{} },
		Defaults: func() programs.Defaults { return programs.Defaults{} },
	}.Keeping(bytes))
	require.NoError(t, err)
	return l, c
}

// written adds an automation with a long text to a workspace.
func (s testContents) written(id, slug string, length int) {
	s.addAutomations(id)
	s[id]["automations/"+slug] = fmt.Sprintf(`{"slug":%q,"when":{"endpoint":true},"do":[],"output":%q}`, slug, strings.Repeat("x", length))
}

// numbered are the workspaces that each of a test makes.
func numbered(made func(id string)) (ids []string) {
	for i := range 50 {
		ids = append(ids, fmt.Sprint("w", i))
		made(ids[i])
	}
	return ids
}

func TestWhatIsKeptIsBoundedByItsSize(t *testing.T) {
	t.Parallel()
	const bound = 1 << 20
	for name, c := range map[string]struct {
		made func(s testContents, id string)
		all  bool // are kept
	}{
		"small workspaces": {func(s testContents, id string) { s.addAutomations(id, "a", "b") }, true},
		"long documents":   {func(s testContents, id string) { s.written(id, "a", 5_000) }, false},
		"many automations": {func(s testContents, id string) {
			for i := range 100 {
				s.addAutomations(id, fmt.Sprint("a", i))
			}
		}, false},
		"many instances": {func(s testContents, id string) {
			for i := range 100 {
				s.installs(id, "app", fmt.Sprint("x", i))
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testContents{}
			s.addAutomations("app", "one")
			ids := numbered(func(id string) { c.made(s, id) })
			l, read := libraryWithLimit(t, s, bound)
			for range 2 {
				for _, id := range ids {
					h, err := l.ProgramSet(t.Context(), id)
					require.NoError(t, err)
					require.NotEmpty(t, names(h))
					_, err = h.Root.Content(t.Context())
					require.NoError(t, err)
					for _, kept := range l.Keeps() {
						require.LessOrEqual(t, kept, uint64(bound))
					}
				}
			}
			if c.all {
				require.EqualValues(t, len(ids), read.contents.Load(), "none is read again")
			} else {
				require.Greater(t, read.contents.Load(), int32(len(s)), "some are")
			}
		})
	}
}

func TestWhatIsHeavierThanAllThatIsKeptIsThereAndKept(t *testing.T) {
	t.Parallel()
	const bound = 1 << 16
	s := testContents{}
	for i := range 100 {
		s.written("w", fmt.Sprint("a", i), 1_000)
	}
	s.written("w", "long", 10*bound)
	l, read := libraryWithLimit(t, s, bound)
	first, err := l.ProgramSet(t.Context(), "w")
	require.NoError(t, err)
	require.Len(t, names(first), 101)
	whole, err := first.Root.Content(t.Context())
	require.NoError(t, err)
	require.Len(t, value.Walk(whole, "automations", "long", "output"), 10*bound)
	before := read.documents.Load()
	for range 3 {
		l.Keeps() // what is too much goes
		again, err := l.ProgramSet(t.Context(), "w")
		require.NoError(t, err)
		require.Same(t, first, again, "runs would each have one of their own")
		_, err = again.Root.Content(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, before, read.documents.Load())
}

// slow is a shelf from which the content of one workspace is not had before it is let go,
// unless whoever asks for it gives up.
type slow struct {
	testContents
	id    string
	let   chan struct{}
	asked *atomic.Int32 // how often for the content of that workspace
}

func (s slow) At(ctx context.Context, id string, revision uint64) (map[string]content.Ref, error) {
	if id == s.id {
		s.asked.Add(1)
		select {
		case <-s.let:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.testContents.At(ctx, id, revision)
}

// held returns a library that waits for the content of a workspace.
func held(t *testing.T, s testContents, id string) (*programs.Library, slow) {
	t.Helper()
	all := slow{s, id, make(chan struct{}), new(atomic.Int32)}
	return library(t, all, &bytes.Buffer{}), all
}

// answer is what somebody got who asked for a program set.
type answer struct {
	set *programs.ProgramSet
	err error
}

// requestProgramSet has somebody ask for the program set of a workspace, and returns when nobody gets on by
// themselves any more.
func requestProgramSet(ctx context.Context, l *programs.Library, id string) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		h, err := l.ProgramSet(ctx, id)
		got <- answer{h, err}
	}()
	synctest.Wait()
	return got
}

func TestNobodyWaitsForTheHouseOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	s := testContents{}
	s.addAutomations("large", "a")
	s.addAutomations("w", "own")
	s.addAutomations("app", "one")
	synctest.Test(t, func(t *testing.T) {
		l, large := held(t, s, "large")
		first := requestProgramSet(t.Context(), l, "large")
		require.Empty(t, first)

		done := make(chan struct{})
		go func() {
			defer close(done)
			h, err := l.ProgramSet(t.Context(), "w")
			assert.NoError(t, err)
			assert.Equal(t, []string{"own"}, names(h))
			h, err = l.ProgramSetBefore(t.Context(), "w", 0)
			assert.NoError(t, err)
			assert.Equal(t, []string{"own"}, names(h))
			assert.NoError(t, l.CheckCapacity(t.Context(), "w", "", content.Instance{Slug: "x", App: content.Installed{Slug: "app"}}))
		}()
		synctest.Wait()
		select {
		case <-done:
		default:
			assert.Fail(t, "the other workspace waits")
		}
		close(large.let)
		require.NoError(t, (<-first).err)
		<-done
	})
}

func TestAHouseIsBuiltOnceForAllWhoAskForIt(t *testing.T) {
	t.Parallel()
	s := testContents{}
	s.addAutomations("w", "own")
	synctest.Test(t, func(t *testing.T) {
		l, w := held(t, s, "w")
		var all []<-chan answer
		for range 5 {
			all = append(all, requestProgramSet(t.Context(), l, "w"))
		}
		close(w.let)
		first := <-all[0]
		require.NoError(t, first.err)
		for _, other := range all[1:] {
			require.Same(t, first.set, (<-other).set)
		}
		require.EqualValues(t, 1, w.asked.Load())
	})
}

// contentsWithSharedApp is a shelf with two workspaces that have one app.
func contentsWithSharedApp() testContents {
	s := testContents{}
	s.installs("v", "app", "x")
	s.installs("w", "app", "y")
	s.addAutomations("app", "one")
	return s
}

func TestAnAppIsCompiledOnceForTheHousesThatHaveIt(t *testing.T) {
	t.Parallel()
	s := contentsWithSharedApp()
	synctest.Test(t, func(t *testing.T) {
		l, app := held(t, s, "app")
		v, w := requestProgramSet(t.Context(), l, "v"), requestProgramSet(t.Context(), l, "w")
		require.EqualValues(t, 1, app.asked.Load(), "the second waits for what the first reads")
		close(app.let)
		require.Equal(t, []string{"x.one"}, names((<-v).set))
		require.Equal(t, []string{"y.one"}, names((<-w).set))
		require.EqualValues(t, 1, app.asked.Load())
	})
}

func TestWhoGivesUpHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := contentsWithSharedApp()
	synctest.Test(t, func(t *testing.T) {
		l, app := held(t, s, "app")
		builds, stop := context.WithCancel(t.Context())
		waits, leave := context.WithCancel(t.Context())
		v, w := requestProgramSet(builds, l, "v"), requestProgramSet(t.Context(), l, "w")
		again := requestProgramSet(waits, l, "w")
		require.Empty(t, v)

		leave()
		require.ErrorIs(t, (<-again).err, context.Canceled, "it does not wait for who builds")
		stop()
		require.ErrorIs(t, (<-v).err, context.Canceled)
		close(app.let)
		require.Equal(t, []string{"y.one"}, names((<-w).set), "who waited builds it instead")
	})
}

// testContents is what workspaces consist of: their documents by path. Each is the app that is
// called like it.
type testContents map[string]map[string]string

func (testContents) Moment() uint64 { return 1 }

func (s testContents) Workspace(id string) (programs.Workspace, bool, error) {
	return programs.Workspace{ID: id, Slug: id, Name: id, Revision: 1}, s[id] != nil, nil
}

func (s testContents) Edition(slug, _ string) (string, uint64, error) {
	if s[slug] == nil {
		return "", 0, nil
	}
	return slug, 1, nil
}

func (s testContents) At(_ context.Context, id string, _ uint64) (map[string]content.Ref, error) {
	refs := map[string]content.Ref{}
	for path, text := range s[id] {
		refs[path] = content.Ref{Hash: text}
	}
	return refs, nil
}

func (testContents) Changes(context.Context, string, uint64, uint64) (map[string]content.Ref, bool, error) {
	return nil, false, nil
}

func (testContents) Document(_ context.Context, _ string, ref content.Ref) (*document.Map, error) {
	doc := document.MapOf()
	return doc, doc.UnmarshalJSON([]byte(ref.Hash))
}

// addAutomations adds automations to a workspace.
func (s testContents) addAutomations(id string, slugs ...string) {
	if s[id] == nil {
		s[id] = map[string]string{"index": `{}`}
	}
	for _, slug := range slugs {
		s[id]["automations/"+slug] = fmt.Sprintf(`{"slug":%q,"name":%q,"when":{"endpoint":true},"do":[]}`, slug, slug)
	}
}

// installs adds instances of an app to a workspace.
func (s testContents) installs(id, app string, slugs ...string) {
	s.addAutomations(id)
	for _, slug := range slugs {
		s[id]["imports/"+slug] = fmt.Sprintf(`{"slug":%q,"appSlug":%q}`, slug, app)
	}
}

type noSecrets struct{ commands.Vault }

func (noSecrets) All(context.Context, string) (map[string]string, error) { return nil, nil }

// library is one with small bounds. What it has to tell goes to log.
func library(t *testing.T, s programs.Contents, log *bytes.Buffer) *programs.Library {
	t.Helper()
	l, err := programs.New(programs.Options{
		Contents: s, Secrets: noSecrets{}, Vault: noSecrets{}, Rules: func() automation.Rules { return automation.Rules{} },
		Defaults: func() programs.Defaults { return programs.Defaults{} }, MaxInstances: 4, MaxPrograms: 8, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	require.NoError(t, err)
	return l
}

// names are those of all endpoints of a program set.
func names(h *programs.ProgramSet) (all []string) {
	for name := range h.Endpoints() {
		all = append(all, name)
	}
	return all
}

func TestAHouseIsCutInTheOrderOfItsSlugs(t *testing.T) {
	t.Parallel()
	many := testContents{}
	many.addAutomations("w", "h", "c", "a", "g", "j", "b", "i", "d", "f", "e")
	many.installs("w", "app", "x")
	many.addAutomations("app", "never")
	far := testContents{}
	far.addAutomations("w", "own")
	far.installs("w", "app", "e", "c", "a", "d", "f", "b")
	far.installs("w", "missing", "0")
	far.addAutomations("app", "one")
	exact := testContents{}
	exact.addAutomations("w", "own")
	exact.installs("w", "app", "a", "b", "c", "d")
	exact.installs("w", "missing", "z")
	exact.addAutomations("app", "one")
	for name, c := range map[string]struct {
		shelf testContents
		cut   bool
		want  []string
	}{
		"too many automations": {many, true, []string{"a", "b", "c", "d", "e", "f", "g", "h"}},
		"too many instances":   {far, true, []string{"a.one", "b.one", "c.one", "d.one", "own"}},
		"as many as may be":    {exact, false, []string{"a.one", "b.one", "c.one", "d.one", "own"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 20 { // maps have another order each time
				var log bytes.Buffer
				l := library(t, c.shelf, &log)
				for range 2 {
					h, err := l.ProgramSet(t.Context(), "w")
					require.NoError(t, err)
					require.Equal(t, c.cut, h.Truncated)
					require.Equal(t, c.want, slices.Sorted(slices.Values(names(h))))
				}
				told := strings.Count(log.String(), "level=WARN")
				require.Equal(t, map[bool]int{true: 1}[c.cut], told, "once for each time it is built: %s", log.String())
				if c.cut {
					require.Contains(t, log.String(), "workspace=w maxInstances=4 maxAutomations=8")
				}
			}
		})
	}
}

func TestAnInstanceThatWouldBeCutIsRefused(t *testing.T) {
	t.Parallel()
	s := testContents{}
	s.addAutomations("w", "own")
	s.installs("w", "app", "a", "b")
	s.addAutomations("app", "one")
	s.addAutomations("large", "1", "2", "3", "4", "5", "6", "7")
	s.installs("deep", "app", "x", "y")
	s.installs("full", "app", "a", "b", "c", "d", "e", "f")
	for name, c := range map[string]struct {
		id, from, slug, app string
		fits                bool
	}{
		"one more":                          {"w", "", "c", "app", true},
		"one with too many automations":     {"w", "", "c", "large", false},
		"one with too many instances":       {"w", "", "c", "deep", false},
		"another app in its place":          {"w", "b", "b", "deep", true},
		"another name and app in its place": {"w", "b", "c", "deep", true},
		"no such app":                       {"w", "", "c", "missing", true},
		"no such workspace":                 {"nowhere", "", "c", "app", true},
		"one of which there are too many":   {"full", "", "g", "app", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			err := library(t, s, &log).CheckCapacity(t.Context(), c.id, c.from, content.Instance{Slug: c.slug, App: content.Installed{Slug: c.app}})
			require.Empty(t, log.String(), "nothing is built")
			if c.fits {
				require.NoError(t, err)
				return
			}
			require.Equal(t, domain.CodeValidation, domain.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, "4 app instances")
			require.ErrorContains(t, err, "8 automations")
		})
	}
}

// renamedContents are contents whose instances had other slugs before, by app.
type renamedContents struct {
	testContents
	kept map[string]map[string]string
}

func (r renamedContents) Workspace(id string) (programs.Workspace, bool, error) {
	w, ok, err := r.testContents.Workspace(id)
	w.CollectionSlugs = r.kept
	return w, ok, err
}

func TestAProgramOfARenamedInstanceHasItsNameInThePlaceOfNow(t *testing.T) {
	t.Parallel()
	was, is := testContents{}, renamedContents{testContents{}, map[string]map[string]string{"app": {"c": "b", "b": "b 2"}}}
	was.installs("w", "app", "b")
	is.installs("w", "app", "c", "b") // another b
	for _, s := range []testContents{was, is.testContents} {
		s.addAutomations("app", "one")
	}
	before, err := library(t, was, &bytes.Buffer{}).ProgramSet(t.Context(), "w")
	require.NoError(t, err)
	now, err := library(t, is, &bytes.Buffer{}).ProgramSet(t.Context(), "w")
	require.NoError(t, err)
	one, _ := before.MatchEndpoint("b.one")
	p, err := now.FindByRef(t.Context(), one.Machine().Ref)
	require.NoError(t, err)
	require.Equal(t, "c", p.Scope.Instance)
	require.Equal(t, "b.one", p.Name)
	require.Equal(t, "b.one", p.Machine().Slug)
}
