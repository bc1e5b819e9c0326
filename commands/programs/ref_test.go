package programs_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/programs"
)

// renamed is a shelf whose instances keep what they had under other slugs, by app.
type renamed struct {
	shelf
	kept map[string]map[string]string
}

func (r renamed) Workspace(id string) (programs.Workspace, bool, error) {
	w, ok, err := r.shelf.Workspace(id)
	w.CollectionSlugs = r.kept
	return w, ok, err
}

func TestAProgramOfARenamedInstanceHasItsNameInThePlaceOfNow(t *testing.T) {
	t.Parallel()
	was, is := shelf{}, renamed{shelf{}, map[string]map[string]string{"app": {"c": "b", "b": "b 2"}}}
	was.installs("w", "app", "b")
	is.installs("w", "app", "c", "b") // another b
	for _, s := range []shelf{was, is.shelf} {
		s.has("app", "one")
	}
	before, err := library(t, was, &bytes.Buffer{}).ProgramSet(t.Context(), "w")
	require.NoError(t, err)
	now, err := library(t, is, &bytes.Buffer{}).ProgramSet(t.Context(), "w")
	require.NoError(t, err)
	one, _ := before.MatchEndpoint("b.one")
	p, err := now.FindByRef(t.Context(), one.Ref())
	require.NoError(t, err)
	require.Equal(t, "c", p.Scope.Instance)
	require.Equal(t, "b.one", p.Name)
	require.Equal(t, "b.one", p.Machine().Slug)
}
