package gateway

import (
	"slices"
	"strings"

	"github.com/gorilla/mux"
)

// table is rows in parts: one for the paths of each number of segments, so that a
// request meets few rows that cannot be meant.
type table struct {
	parts []*mux.Router // the first for one segment; the last for all longer paths as well
}

// newTable returns a table without rows that can hold all routes.
func newTable(routes []Route) *table {
	longest := 1
	for i := range routes {
		longest = max(longest, len(parseTemplate(routes[i].Path)))
	}
	t := &table{}
	for range longest + 1 { // what is longer than all templates meets those with slashes only
		t.parts = append(t.parts, mux.NewRouter().UseEncodedPath())
	}
	return t
}

// holding returns the parts whose paths a template may match: those of its own
// length, and from there on all if it has a variable that takes several segments.
func (t *table) holding(segments []segment) []*mux.Router {
	slashy := slices.IndexFunc(segments, func(s segment) bool { return s.rank == rankSlashy })
	if slashy < 0 {
		return t.parts[len(segments)-1 : len(segments)]
	}
	return t.parts[max(0, slashy-1):] // it may take none
}

// of returns the part for an escaped path.
func (t *table) of(path string) *mux.Router {
	return t.parts[min(max(1, strings.Count(path, "/")), len(t.parts))-1]
}
