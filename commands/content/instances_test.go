package content_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/content"
	"svc/domain/document"
)

func parsed(t *testing.T, text string) *document.Map {
	t.Helper()
	m := document.MapOf()
	require.NoError(t, m.UnmarshalJSON([]byte(text)))
	return m
}

func written(t *testing.T, v any) string {
	t.Helper()
	text, err := document.JSON(v)
	require.NoError(t, err)
	return string(text)
}

func TestAnAppOffersWhatIsNotPrivate(t *testing.T) {
	t.Parallel()
	events := content.Offered([]*document.Map{
		parsed(t, `{"slug":"a","name":"A","when":{"events":["b","apps.published","a"]},"do":[
			{"emit":{"event":"z"}},{"emit":{"event":"hidden","private":true}},{"emit":{"event":"{{dynamic}}"}}]}`),
		parsed(t, `{"slug":"b","name":"B","private":true,"when":{"events":["b"]},"do":[{"emit":{"event":"c","autocomplete":{"x":1}}},{"emit":{"event":"z"}}]}`),
		parsed(t, `{"slug":"c","name":"C","disabled":true,"when":{"events":["never"]},"do":[{"emit":{"event":"never"}}]}`),
		parsed(t, `{"slug":"d","do":"broken"}`),
	})
	require.Equal(t, `{"emit":["c","z"],"listen":["a","b"],"autocomplete":[{"event":"c","autocomplete":{"x":1}}]}`, written(t, events))
	require.Equal(t, `{"emit":["i.c","i.z"],"listen":["i.a","i.b"],"autocomplete":[{"event":"i.c","autocomplete":{"x":1}}]}`,
		written(t, content.Prefixed(events, "i.")))
	require.Equal(t, `{"emit":[],"listen":[],"autocomplete":[]}`, written(t, content.Offered(nil)))
	require.Nil(t, content.Prefixed(nil, "i."))
}

func TestWhatOnlySaysWhereASecretIsIsNone(t *testing.T) {
	t.Parallel()
	for value, want := range map[any]bool{
		"{{secret.mail}}": true, "{{ config.a.b }}": true, "{{secret.mail}}x": false, "x{{secret.mail}}": false,
		`{{"hunter2"}}`: false, "{{secret.mail}}{{secret.x}}": false, "": false, 7.0: false, nil: false,
	} {
		require.Equal(t, want, content.IsReference(value), "%v", value)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	sealed := map[string][]byte{"b": {1}, "a": {2}}
	for _, c := range []struct {
		doc     string
		sealed  map[string][]byte
		secrets []string
		want    string
	}{
		{`{"slug":"x"}`, nil, []string{"a"}, `{"slug":"x"}`},
		{`{"slug":"x"}`, sealed, nil, `{"slug":"x","config":{"a":"********","b":"********"}}`},
		{`{"config":{"c":"{{secret.c}}","d":{"e":1},"f":1}}`, nil, []string{"c", "d", "g"}, `{"config":{"c":"{{secret.c}}","d":"********","f":1}}`},
	} {
		doc := parsed(t, c.doc)
		require.Equal(t, c.want, written(t, content.Masked(doc, c.sealed, c.secrets)))
		require.Equal(t, c.doc, written(t, doc), "what is stored stays as it is")
	}
}

// published are apps by slug and version.
type published map[content.Installed]content.App

// App implements content.Apps.
func (p published) App(_ context.Context, slug, version string) (content.App, bool, error) {
	app, ok := p[content.Installed{Slug: slug, Version: version}]
	return app, ok, nil
}

func TestRingsAreFoundWhateverVersionClosesThem(t *testing.T) {
	t.Parallel()
	is := func(slug, version string) content.Installed { return content.Installed{Slug: slug, Version: version} }
	apps := published{
		is("a", ""):   {WorkspaceID: "wa", Installs: []content.Installed{is("b", "v1"), is("gone", "")}},
		is("b", "v1"): {WorkspaceID: "wb", Installs: []content.Installed{is("c", ""), is("a", "")}}, // a ring that got in
		is("b", ""):   {WorkspaceID: "wb"},
		is("c", ""):   {WorkspaceID: "wc"},
	}
	within := func(workspace string, installs ...content.Installed) bool {
		found, err := content.Contains(t.Context(), apps, workspace, installs)
		require.NoError(t, err)
		return found
	}
	require.True(t, within("wa", is("a", "")))
	require.True(t, within("wc", is("c", ""), is("b", "")))
	require.True(t, within("wc", is("b", ""), is("a", "")), "through an older version of b")
	require.False(t, within("wc", is("b", "")))
	require.False(t, within("wx", is("a", ""), is("b", "")), "a ring ends the search")
	require.False(t, within("wx"))
}
