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
}

// row is a route in a table.
type row struct {
	route    *Route
	segments []segment
	slashy   bool              // a variable takes several segments
	labels   map[string]string // the template without patterns, for metrics and spans, by version; "" is without
	names    []string          // of the variables of the segments, "" for words; nil when only path can find them
	path     *mux.Route        // matches the whole path and finds its variables; nil when names do
}

// unmatched is the template of requests that have no route.
const unmatched = "unmatched"

func newRouter(routes []Route) (*router, error) {
	rt := &router{
		versions: Versions(), conditional: newTable(routes), versioned: newTable(routes), plain: newTable(routes),
	}
	sorted := slices.Clone(routes)
	slices.SortStableFunc(sorted, func(a, b Route) int {
		return bySpecificity(parseTemplate(a.Path), parseTemplate(b.Path))
	})
	var errs []error
	paths := mux.NewRouter().UseEncodedPath()
	for i := range sorted {
		route := &sorted[i]
		segments := parseTemplate(route.Path)
		rw := &row{route: route, segments: segments, slashy: isSlashy(segments), labels: labels(segments, rt.versions), names: variableNames(segments)}
		if rw.names == nil {
			rw.path = paths.NewRoute().Path(route.Path)
			if err := rw.path.GetError(); err != nil {
				errs = append(errs, fmt.Errorf("route %s %s: %w", route.Method, route.Path, err))
			}
		}
		for _, t := range rt.tablesOf(route) {
			t.add(rw)
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

// answers reports whether the route is for a method. What answers GET and changes nothing answers HEAD too.
func (rt *Route) answers(method string) bool {
	return rt.Method == AnyMethod || rt.Method == method ||
		rt.Method == http.MethodGet && method == http.MethodHead && !rt.writes(http.MethodGet)
}

// keysPath matches the paths of API keys. The contract ignores the case of that segment.
var keysPath = regexp.MustCompile(`^((?:/v[0-9]+)?/workspaces/[^/]+/security/)(?i:apikeys)(/[^/]*)?$`)

// foldKeys writes that segment as the table has it.
func foldKeys(path string) string {
	if !strings.Contains(path, "/security/") {
		return path
	}
	return keysPath.ReplaceAllString(path, "${1}apikeys${2}")
}

// find fills in the version, route and variables of ex, or why there is none.
func (rt *router) find(ex *exchange, r *http.Request, method string) {
	at := lookup{r, method, foldKeys(trimSlash(r.URL.EscapedPath()))}
	ex.template = unmatched
	if found, vars := rt.conditional.match(at); found != nil {
		ex.version = stable(rt.versions)
		ex.setRoute(found, vars, "")
		return
	}
	version, t, named := rt.tableFor(&at)
	ex.version = version
	if found, vars := t.match(at); found != nil {
		ex.setRoute(found, vars, named)
		return
	}
	ex.lost = routeError(t, at)
}

// tableFor returns the version and the table for a lookup, and removes the version from its path; named is the version
// that the path has, "" when it has none.
func (rt *router) tableFor(at *lookup) (version *Version, found *table, named string) {
	version, rest, prefixed := splitVersion(rt.versions, at.path)
	if !prefixed {
		return version, rt.plain, ""
	}
	at.path = rest
	return version, rt.versioned, version.Name
}

// methods lists what the path of r answers.
func (rt *router) methods(r *http.Request) []string {
	at := lookup{r, r.Method, trimSlash(r.URL.EscapedPath())}
	_, t, _ := rt.tableFor(&at)
	return allowedMethods(t, at)
}

// setRoute sets the route that matched and decodes its variables.
func (ex *exchange) setRoute(found *row, vars pathVars, version string) {
	ex.route, ex.template = found.route, found.labels[version]
	ex.vars = vars
	for i, escaped := range vars {
		value, err := url.PathUnescape(escaped.value)
		if err != nil || !printable(value) {
			ex.lost = domain.Refuse(domain.CodeInvalidParameter, "%s in the path is not acceptable text", escaped.name).
				With("parameter", escaped.name)
			value = ""
		}
		vars[i].value = value
	}
}

// pathVars are the variables of a path.
type pathVars []pathVar

type pathVar struct{ name, value string }

func pathVarsOf(values map[string]string) (vars pathVars) {
	for name, value := range values {
		vars = append(vars, pathVar{name, value})
	}
	return vars
}

// get returns the value of a variable, or "".
func (v pathVars) get(name string) string {
	for _, known := range v {
		if known.name == name {
			return known.value
		}
	}
	return ""
}

// printable reports whether s is UTF-8 without control characters.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// lookup is what the tables are asked for: the method that a preflight asks about, and a path without the version.
type lookup struct {
	request *http.Request
	method  string
	path    string // escaped
}

// asRequest returns the lookup for patterns. Its escaped path is always in RawPath.
func (l lookup) asRequest() *http.Request {
	at := new(http.Request)
	*at = *l.request
	at.Method = l.method
	plain, _ := url.PathUnescape(l.path)
	at.URL = &url.URL{RawPath: l.path, Path: plain}
	return at
}

// appendWords appends the parts of an escaped path between its slashes.
func appendWords(words []string, path string) []string {
	for word := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		words = append(words, word)
	}
	return words
}

// routeError is the error of a request without a route: 405 for a known path, else 404.
func routeError(t *table, at lookup) error {
	if methods := allowedMethods(t, at); len(methods) > 0 {
		e := RefuseStatus(http.StatusMethodNotAllowed, "%s is not allowed here", at.method)
		e.Header.Set("Allow", strings.Join(methods, ", "))
		return e
	}
	return domain.Refuse(domain.CodeNotFound, "no route has this path: see /docs").With("resource", "route")
}

// allowedMethods lists the methods that the path answers, OPTIONS included.
func allowedMethods(t *table, at lookup) []string {
	var methods []string
	for _, method := range corsMethods {
		at.method = method
		if found, _ := t.match(at); found != nil {
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

// table has the rows in parts, by the number of segments of their paths, so that few rows must be
// compared with a request.
type table struct {
	parts [][]*row // the first for one segment; the last for all longer paths as well
}

// newTable returns a table without rows that can hold all routes.
func newTable(routes []Route) *table {
	longest := 1
	for i := range routes {
		longest = max(longest, len(parseTemplate(routes[i].Path)))
	}
	return &table{parts: make([][]*row, longest+1)} // a path that is longer than all templates can match only variables with slashes
}

// add adds a row after the others, to the parts whose paths its template may match: those of its own length, and
// all longer ones if it has a variable for several segments.
func (t *table) add(rw *row) {
	first, last := len(rw.segments)-1, len(rw.segments)-1
	if rw.slashy {
		slashy := slices.IndexFunc(rw.segments, func(s segment) bool { return s.rank == rankSlashy })
		first, last = max(0, slashy-1), len(t.parts)-1 // the variable may match no segment
	}
	for i := first; i <= last; i++ {
		t.parts[i] = append(t.parts[i], rw)
	}
}

// match returns the first row that matches a request, and the variables of its path, which are escaped; nil for none.
// The cheap conditions are checked first, then the variables.
func (t *table) match(at lookup) (*row, pathVars) {
	var few [12]string // as many as most paths have: no allocation
	words := appendWords(few[:0], at.path)
	for _, rw := range t.parts[min(len(words), len(t.parts))-1] {
		if !rw.route.answers(at.method) || !rw.fits(words) || rw.route.When != nil && !rw.route.When(at.request) {
			continue
		}
		if vars, ok := rw.variables(at, words); ok {
			return rw, vars
		}
	}
	return nil, nil
}

// variables returns the variables of the path of a request, whose words fit; ok is false when it does not match.
func (rw *row) variables(at lookup, words []string) (vars pathVars, ok bool) {
	if rw.names == nil {
		var m mux.RouteMatch
		ok = rw.path.Match(at.asRequest(), &m)
		return pathVarsOf(m.Vars), ok
	}
	vars = make(pathVars, 0, len(rw.segments))
	for i, name := range rw.names {
		if name == "" {
			continue
		}
		text := words[i]
		if rw.segments[i].rank == rankSlashy {
			text = strings.Join(words[i:], "/")
		}
		if text == "" {
			return nil, false
		}
		vars = append(vars, pathVar{name, text})
	}
	return vars, true
}

// variableNames returns the names of the variables of a template whose variables take a whole segment, or as the last
// one all that is left; nil when it has others.
func variableNames(segments []segment) []string {
	names := make([]string, len(segments))
	for i, s := range segments {
		name, isRest := strings.CutSuffix(s.text, ":.+}")
		switch {
		case s.rank == rankWord:
		case s.rank == rankFree:
			names[i] = s.text[1 : len(s.text)-1]
		case s.rank == rankSlashy && isRest && i == len(segments)-1 && strings.LastIndexByte(name, '{') == 0:
			names[i] = name[1:]
		default:
			return nil
		}
	}
	return names
}

// segment is one part of a path template between two slashes.
type segment struct {
	text string // as written
	rank int    // the lower, the more specific
}

// The ranks of segments.
const (
	rankWord   = iota // a literal word
	rankBound         // a variable with a pattern or some literal text
	rankFree          // a variable that takes any one segment
	rankSlashy        // a variable that takes several segments
)

// parseTemplate splits a path template at the slashes outside braces.
func parseTemplate(path string) []segment {
	var segments []segment
	depth, start := 0, 1
	for i := 1; i <= len(path); i++ {
		if i == len(path) || path[i] == '/' && depth == 0 {
			text := path[start:i]
			segments = append(segments, segment{text, rankOf(text)})
			start = i + 1
			continue
		}
		switch path[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
	}
	return segments
}

func rankOf(text string) int {
	name, pattern, _ := strings.Cut(text, ":")
	switch {
	case !strings.Contains(name, "{"):
		return rankWord
	case strings.HasPrefix(pattern, ".+}"), strings.HasPrefix(pattern, ".*}"):
		return rankSlashy
	case pattern != "" || !strings.HasPrefix(name, "{") || strings.Index(name, "}") != len(name)-1:
		return rankBound
	}
	return rankFree
}

// labels returns the template without patterns, for each version and for none.
func labels(segments []segment, versions []Version) map[string]string {
	plain := "/" + join(segments, func(name, _ string) string { return name })
	all := map[string]string{"": plain}
	for _, v := range versions {
		all[v.Name] = "/" + v.Name + plain
	}
	return all
}

// shape returns the template without variable names, for finding duplicates.
func shape(segments []segment) string {
	return "/" + join(segments, func(_, pattern string) string { return pattern })
}

// join writes segments with each variable replaced by the result of keep.
func join(segments []segment, keep func(name, pattern string) string) string {
	words := make([]string, len(segments))
	for i, s := range segments {
		words[i] = s.text
		if s.rank != rankWord {
			words[i] = replaceVariables(s.text, keep)
		}
	}
	return strings.Join(words, "/")
}

func replaceVariables(text string, keep func(name, pattern string) string) string {
	var b strings.Builder
	depth, start := 0, 0
	for i := range len(text) {
		switch {
		case text[i] == '{':
			if depth++; depth == 1 {
				start = i + 1
			}
		case text[i] == '}':
			if depth--; depth == 0 {
				name, pattern, _ := strings.Cut(text[start:i], ":")
				b.WriteString("{" + keep(name, pattern) + "}")
			}
		case depth == 0:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// bySpecificity orders templates by precedence: words before variables, more segments before fewer.
func bySpecificity(a, b []segment) int {
	for i := range min(len(a), len(b)) {
		if a[i].rank != b[i].rank {
			return a[i].rank - b[i].rank
		}
	}
	return len(b) - len(a)
}

// fits compares the words of the template with those of an escaped path.
func (rw *row) fits(words []string) bool {
	if !rw.slashy && len(words) != len(rw.segments) {
		return false
	}
	for i, s := range rw.segments {
		if s.rank == rankSlashy {
			return rw.names == nil || i < len(words)
		}
		if s.rank == rankWord && (i >= len(words) || words[i] != s.text) {
			return false
		}
	}
	return true
}

func isSlashy(segments []segment) bool {
	return slices.ContainsFunc(segments, func(s segment) bool { return s.rank == rankSlashy })
}
