package programs_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/content"
	"svc/commands/programs"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/document"
)

// shelf is what workspaces consist of: their documents by path. Each is the app that is
// called like it.
type shelf map[string]map[string]string

func (shelf) Moment() uint64 { return 1 }

func (s shelf) Workspace(id string) (programs.Workspace, bool, error) {
	return programs.Workspace{ID: id, Slug: id, Name: id, Revision: 1}, s[id] != nil, nil
}

func (s shelf) Edition(slug, _ string) (string, uint64, error) {
	if s[slug] == nil {
		return "", 0, nil
	}
	return slug, 1, nil
}

func (s shelf) At(_ context.Context, id string, _ uint64) (map[string]content.Ref, error) {
	refs := map[string]content.Ref{}
	for path, text := range s[id] {
		refs[path] = content.Ref{Hash: text}
	}
	return refs, nil
}

func (shelf) Document(_ context.Context, _ string, ref content.Ref) (*document.Map, error) {
	doc := document.MapOf()
	return doc, doc.UnmarshalJSON([]byte(ref.Hash))
}

// has adds automations to a workspace.
func (s shelf) has(id string, slugs ...string) {
	if s[id] == nil {
		s[id] = map[string]string{"index": `{}`}
	}
	for _, slug := range slugs {
		s[id]["automations/"+slug] = fmt.Sprintf(`{"slug":%q,"name":%q,"when":{"endpoint":true},"do":[]}`, slug, slug)
	}
}

// installs adds instances of an app to a workspace.
func (s shelf) installs(id, app string, slugs ...string) {
	s.has(id)
	for _, slug := range slugs {
		s[id]["imports/"+slug] = fmt.Sprintf(`{"slug":%q,"appSlug":%q}`, slug, app)
	}
}

type noSecrets struct{ programs.Vault }

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

// names are those of all endpoints of a house.
func names(h *programs.ProgramSet) (all []string) {
	for name := range h.Endpoints() {
		all = append(all, name)
	}
	return all
}

func TestAHouseIsCutInTheOrderOfItsSlugs(t *testing.T) {
	t.Parallel()
	many := shelf{}
	many.has("w", "h", "c", "a", "g", "j", "b", "i", "d", "f", "e")
	many.installs("w", "app", "x")
	many.has("app", "never")
	far := shelf{}
	far.has("w", "own")
	far.installs("w", "app", "e", "c", "a", "d", "f", "b")
	far.installs("w", "missing", "0")
	far.has("app", "one")
	exact := shelf{}
	exact.has("w", "own")
	exact.installs("w", "app", "a", "b", "c", "d")
	exact.installs("w", "missing", "z")
	exact.has("app", "one")
	for name, c := range map[string]struct {
		shelf shelf
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
	s := shelf{}
	s.has("w", "own")
	s.installs("w", "app", "a", "b")
	s.has("app", "one")
	s.has("large", "1", "2", "3", "4", "5", "6", "7")
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
