package gateway

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/mux"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The variables of most paths are found without their regular expressions, and are the same.
func TestVariablesAreThoseOfTheRegularExpressions(t *testing.T) {
	t.Parallel()
	var routes []Route
	for _, path := range []string{
		"/", "/a", "/a/{x}", "/{x}/b", "/{x}/b/{y}", "/a/{rest:.+}", "/{x}/b/{rest:.+}", "/{rest:.*}", "/a/{id:[0-9]+}", "/a/{x}.{y}", "/{x}/{rest:.+}/b",
	} {
		routes = append(routes, Route{Method: http.MethodGet, Path: path})
	}
	rt, err := newRouter(routes)
	require.NoError(t, err)
	var rows []*row
	for _, part := range rt.plain.parts {
		rows = append(rows, part...)
	}
	paths := mux.NewRouter().UseEncodedPath()
	word := rapid.SampledFrom([]string{"", "a", "b", "1", "c.d", "%2F", "é", "%20"})
	rapid.Check(t, func(t *rapid.T) {
		path := trimSlash("/" + strings.Join(rapid.SliceOfN(word, 0, 4).Draw(t, "words"), "/"))
		plain, _ := url.PathUnescape(path)
		at := lookup{httptest.NewRequest(http.MethodGet, "/", nil), http.MethodGet, (&url.URL{Path: plain, RawPath: path}).EscapedPath()}
		words := appendWords(nil, at.path)
		for _, rw := range rows {
			withRegexp := *rw
			withRegexp.names, withRegexp.path = nil, paths.NewRoute().Path(rw.route.Path)
			got, want := pathVars(nil), pathVars(nil)
			matches, shouldMatch := rw.fits(words), withRegexp.fits(words)
			if matches {
				got, matches = rw.variables(at, words)
			}
			if shouldMatch {
				want, shouldMatch = withRegexp.variables(at, words)
			}
			require.Equal(t, shouldMatch, matches, "%s %s", path, rw.labels[""])
			if matches {
				require.Len(t, got, len(want), "%s %s", path, rw.labels[""])
				for _, v := range want {
					require.Equal(t, v.value, got.get(v.name), "%s %s", path, rw.labels[""])
				}
			}
		}
	})
}
