package content

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/document"
	"svc/domain/workspace"
)

func read(t *testing.T, text string) *document.Map {
	t.Helper()
	doc := document.MapOf()
	require.NoError(t, doc.UnmarshalJSON([]byte(text)))
	return doc
}

func TestTheNameOfACopySaysSo(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Shop copy", copyName("Shop"))
	long := copyName(strings.Repeat("é", 54) + " é")
	require.Equal(t, strings.Repeat("é", 54)+" copy", long, "cut by characters, without a blank at the end")
	require.Len(t, []rune(copyName(strings.Repeat("x", 60))), 60)
}

func TestAFieldOfTheIndexIsPutBackUnlessItChangedSince(t *testing.T) {
	t.Parallel()
	was := read(t, `{"name":"A","blocks":{"x":{"name":"1"}}}`)
	made := read(t, `{"name":"B","photo":"/p","blocks":{"x":{"name":"2"},"y":{"name":"3"}}}`)
	for field, want := range map[string]string{
		"name":     `{"name":"A","photo":"/p","blocks":{"x":{"name":"2"},"y":{"name":"3"}}}`,
		"photo":    `{"name":"B","blocks":{"x":{"name":"2"},"y":{"name":"3"}}}`,
		"blocks/x": `{"name":"B","photo":"/p","blocks":{"x":{"name":"1"},"y":{"name":"3"}}}`,
		"blocks/y": `{"name":"B","photo":"/p","blocks":{"x":{"name":"2"}}}`,
	} {
		index := made.Copy()
		require.True(t, revertField(index, made, was, field), field)
		body, err := document.JSON(index)
		require.NoError(t, err)
		require.JSONEq(t, want, string(body), field)
		require.False(t, revertField(read(t, `{"name":"C","photo":"/q"}`), made, was, field), field)
	}
}

func TestRulesOfTheEnvironmentStayBehind(t *testing.T) {
	t.Parallel()
	doc := read(t, `{"authorizations":{"rules":[{"action":"read","subject":"all","reason":"REMOVE_ON_DUPLICATE"},{"action":"read","subject":"pages"}]}}`)
	body, err := document.JSON(withoutRules(doc, removeOnDuplicate))
	require.NoError(t, err)
	require.JSONEq(t, `{"authorizations":{"rules":[{"action":"read","subject":"pages"}]}}`, string(body))
	require.Same(t, doc, withoutRules(doc, "another"))
}

// A page that moved goes back with its id; an id that is in use is not used twice.
func TestAPageComesBackUnderItsID(t *testing.T) {
	t.Parallel()
	p := plan{of: workspace.State{Items: workspace.NewItems(map[string]workspace.Item{"pages/start": {ID: "one"}, "pages/other": {ID: "two"}})}}
	goes, stays := func(string) bool { return false }, func(string) bool { return true }
	id, from := p.restoredID(t.Context(), "pages/home", "one", goes)
	require.Equal(t, []string{"one", "pages/start"}, []string{id, from})
	id, from = p.restoredID(t.Context(), "pages/home", "gone", goes)
	require.Equal(t, []string{"gone", ""}, []string{id, from})
	id, from = p.restoredID(t.Context(), "pages/home", "one", stays)
	require.NotEqual(t, "one", id)
	require.Empty(t, from)
	id, _ = p.restoredID(t.Context(), "pages/other", "one", goes)
	require.Equal(t, "two", id, "the page that is there now keeps its id")
}
