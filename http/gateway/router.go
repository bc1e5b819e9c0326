package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gorilla/mux"

	"svc/domain"
)

// router finds the route of a request. It holds three tables: conditional
// rows, rows under a version prefix, and rows without one.
type router struct {
	versions    []Version
	conditional *table
	versioned   *table
	plain       *table
	rows        map[*mux.Route]row
}

type row struct {
	route *Route
	label string
}

// unmatched is the template of requests that have no route.
const unmatched = "unmatched"

func newRouter(routes []Route) (*router, error) {
	rt := &router{
		versions: Versions(), conditional: newTable(routes), versioned: newTable(routes), plain: newTable(routes), rows: map[*mux.Route]row{},
	}
	sorted := slices.Clone(routes)
	slices.SortStableFunc(sorted, func(a, b Route) int {
		return bySpecificity(parseTemplate(a.Path), parseTemplate(b.Path))
	})
	var errs []error
	for i := range sorted {
		for _, t := range rt.tablesOf(&sorted[i]) {
			for _, part := range t.holding(parseTemplate(sorted[i].Path)) {
				errs = append(errs, rt.add(part, &sorted[i]))
			}
		}
	}
	return rt, errors.Join(errs...)
}

func (rt *router) tablesOf(route *Route) []*table {
	switch {
	case route.When != nil:
		return []*table{rt.conditional}
	case route.Surface == Versioned:
		return []*table{rt.versioned}
	case route.Surface == VersionedAndPlain:
		return []*table{rt.versioned, rt.plain}
	}
	return []*table{rt.plain}
}

// add puts a row in a part of a table: first the cheap questions, then the
// expression.
func (rt *router) add(part *mux.Router, route *Route) error {
	segments := parseTemplate(route.Path)
	mr := part.NewRoute().Handler(route.Handler)
	mr.MatcherFunc(func(r *http.Request, _ *mux.RouteMatch) bool {
		return fits(segments, r.URL.RawPath) && (route.When == nil || route.When(r))
	})
	mr.Path(route.Path)
	switch route.Method {
	case AnyMethod:
	case http.MethodGet:
		methods := []string{http.MethodGet}
		if !route.writes(http.MethodGet) { // a look at the headers changes nothing
			methods = append(methods, http.MethodHead)
		}
		mr.Methods(methods...)
	default:
		mr.Methods(route.Method)
	}
	rt.rows[mr] = row{route, label(segments)}
	if err := mr.GetError(); err != nil {
		return fmt.Errorf("route %s %s: %w", route.Method, route.Path, err)
	}
	return nil
}

// keysPath is where API keys live. The contract matches their word ignoring case.
var keysPath = regexp.MustCompile(`^((?:/v[0-9]+)?/workspaces/[^/]+/security/)(?i:apikeys)(/[^/]*)?$`)

// foldKeys writes the word of the API keys as the table does.
func foldKeys(path string) string {
	if !strings.Contains(path, "/security/") {
		return path
	}
	return keysPath.ReplaceAllString(path, "${1}apikeys${2}")
}

// find fills in the version, route and variables of ex, or why there is none.
func (rt *router) find(ex *exchange, r *http.Request, method string) {
	at := probe(r, method, foldKeys(trimSlash(r.URL.EscapedPath())))
	ex.template = unmatched
	if m, ok := match(rt.conditional, at); ok {
		ex.version = stable(rt.versions)
		rt.take(ex, m, "")
		return
	}
	version, t, prefix := rt.place(at)
	ex.version = version
	if m, ok := match(t, at); ok {
		rt.take(ex, m, prefix)
		return
	}
	ex.lost = lost(t, at)
}

// place returns the version and the table for a probe, and takes the prefix off
// its path.
func (rt *router) place(at *http.Request) (version *Version, found *table, prefix string) {
	version, rest, prefixed := splitVersion(rt.versions, at.URL.RawPath)
	if !prefixed {
		return version, rt.plain, ""
	}
	at.URL = escapedURL(rest)
	return version, rt.versioned, "/" + version.Name
}

// methods lists what the path of r answers.
func (rt *router) methods(r *http.Request) []string {
	at := probe(r, r.Method, trimSlash(r.URL.EscapedPath()))
	_, t, _ := rt.place(at)
	return allowed(t, at)
}

// take notes the route that matched and decodes its variables.
func (rt *router) take(ex *exchange, m mux.RouteMatch, prefix string) {
	found := rt.rows[m.Route]
	ex.route, ex.template = found.route, prefix+found.label
	ex.vars = m.Vars
	for name, escaped := range m.Vars {
		value, err := url.PathUnescape(escaped)
		if err != nil || !printable(value) {
			ex.lost = domain.Refuse(domain.CodeInvalidParameter, "%s in the path is not acceptable text", name).
				With("parameter", name)
			delete(ex.vars, name)
			continue
		}
		ex.vars[name] = value
	}
}

// printable reports whether s is UTF-8 without control characters.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

func match(t *table, r *http.Request) (mux.RouteMatch, bool) {
	var m mux.RouteMatch
	ok := t.of(r.URL.RawPath).Match(r, &m) && m.MatchErr == nil
	return m, ok
}

// probe is r as the tables see it: another method, a path without prefix. Its
// escaped path is always in RawPath.
func probe(r *http.Request, method, escaped string) *http.Request {
	at := new(http.Request)
	*at = *r
	at.Method = method
	at.URL = escapedURL(escaped)
	return at
}

func escapedURL(path string) *url.URL {
	plain, _ := url.PathUnescape(path)
	return &url.URL{RawPath: path, Path: plain}
}

// lost says why a table has no route: the method, or all of it.
func lost(t *table, at *http.Request) error {
	method := at.Method
	if methods := allowed(t, at); len(methods) > 0 {
		e := RefuseStatus(http.StatusMethodNotAllowed, "%s is not allowed here", method)
		e.Header.Set("Allow", strings.Join(methods, ", "))
		return e
	}
	return domain.Refuse(domain.CodeNotFound, "no route has this path: see /docs").With("resource", "route")
}

// allowed lists the methods that the path answers, OPTIONS included.
func allowed(t *table, at *http.Request) []string {
	var methods []string
	for _, method := range corsMethods {
		at.Method = method
		if _, ok := match(t, at); ok {
			methods = append(methods, method)
		}
	}
	if len(methods) > 0 {
		methods = append(methods, http.MethodOptions)
	}
	return methods
}

// trimSlash drops slashes at the end of a path, but never the first one.
func trimSlash(path string) string {
	if path = strings.TrimRight(path, "/"); path == "" {
		return "/"
	}
	return path
}
