package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"svc/domain"
)

// Page is the part of a list that was asked for.
type Page struct {
	Number int // from 0
	Limit  int
}

// Offset returns how many items come before the page.
func (p Page) Offset() int { return p.Number * p.Limit }

// maxPage keeps Offset far from overflow.
const maxPage = 1_000_000

// Page reads page and limit; usual is the limit when none is given.
func (q *Query) Page(usual, most int) Page {
	return Page{Number: q.Int("page", 0, 0, maxPage), Limit: q.Int("limit", usual, 1, most)}
}

// Sort is the order that was asked for.
type Sort struct {
	Field string
	Down  bool
}

// Sort reads sort, a field or -field among fields. Absent it is -updatedAt.
func (q *Query) Sort(fields ...string) Sort {
	text := q.Text("sort")
	if text == "" {
		return Sort{Field: "updatedAt", Down: true}
	}
	field, down := strings.CutPrefix(text, "-")
	for _, known := range fields {
		if field == known {
			return Sort{Field: field, Down: down}
		}
	}
	q.fault(domain.CodeInvalidParameter, "sort", "must be one of "+strings.Join(fields, ", ")+", with or without -")
	return Sort{Field: "updatedAt", Down: true}
}

// List returns one page of a list: the items as a bare array, the number of all
// matches in x-total-count, and where the next page is.
func List[T any](r *http.Request, items []T, total int, p Page) *Answer {
	if items == nil {
		items = []T{}
	}
	a := OK(items).With("X-Total-Count", strconv.Itoa(total))
	if p.Limit > 0 && p.Offset()+len(items) < total && len(items) > 0 {
		a.With("Link", Next(r, "page", strconv.Itoa(p.Number+1)))
	}
	return a
}

// ListOf is List for all matches, of which it takes the page.
func ListOf[T any](r *http.Request, all []T, p Page) *Answer {
	from := min(p.Offset(), len(all))
	return List(r, all[from:min(from+p.Limit, len(all))], len(all), p)
}

// Next returns a Link header to the same request with one parameter changed.
func Next(r *http.Request, name, value string) string {
	values := r.URL.Query()
	values.Set(name, value)
	return fmt.Sprintf(`<%s?%s>; rel="next"`, r.URL.EscapedPath(), values.Encode())
}
