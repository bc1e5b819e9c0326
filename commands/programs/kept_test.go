package programs_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/content"
	"svc/commands/programs"
	"svc/domain/automation"
	"svc/domain/automation/value"
	"svc/domain/document"
)

// counted is a shelf that counts what is read from it.
type counted struct {
	shelf
	contents, documents *atomic.Int32
}

func (c counted) At(ctx context.Context, id string, revision uint64) (map[string]content.Ref, error) {
	c.contents.Add(1)
	return c.shelf.At(ctx, id, revision)
}

func (c counted) Document(ctx context.Context, id string, ref content.Ref) (*document.Map, error) {
	c.documents.Add(1)
	return c.shelf.Document(ctx, id, ref)
}

// keeping is a library that keeps that many bytes of each kind.
func keeping(t *testing.T, s shelf, bytes uint64) (*programs.Library, counted) {
	t.Helper()
	c := counted{s, new(atomic.Int32), new(atomic.Int32)}
	l, err := programs.New(programs.Options{
		Contents: c, Secrets: noSecrets{}, Vault: noSecrets{}, Rules: func() automation.Rules { return automation.Rules{} },
		Defaults: func() programs.Defaults { return programs.Defaults{} },
	}.Keeping(bytes))
	require.NoError(t, err)
	return l, c
}

// referencePattern adds an automation with a long text to a workspace.
func (s shelf) written(id, slug string, length int) {
	s.has(id)
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
		made func(s shelf, id string)
		all  bool // are kept
	}{
		"small workspaces": {func(s shelf, id string) { s.has(id, "a", "b") }, true},
		"long documents":   {func(s shelf, id string) { s.written(id, "a", 5_000) }, false},
		"many automations": {func(s shelf, id string) {
			for i := range 100 {
				s.has(id, fmt.Sprint("a", i))
			}
		}, false},
		"many instances": {func(s shelf, id string) {
			for i := range 100 {
				s.installs(id, "app", fmt.Sprint("x", i))
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shelf{}
			s.has("app", "one")
			ids := numbered(func(id string) { c.made(s, id) })
			l, read := keeping(t, s, bound)
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
	s := shelf{}
	for i := range 100 {
		s.written("w", fmt.Sprint("a", i), 1_000)
	}
	s.written("w", "long", 10*bound)
	l, read := keeping(t, s, bound)
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
