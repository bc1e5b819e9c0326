package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
)

// Query reads the query parameters of a request. Each reader returns a usable
// value whatever came; Err tells afterwards what was wrong, everything at once:
//
//	q := gateway.NewQuery(r)
//	dirty, page := q.Bool("dirty"), q.Page(20, 100)
//	if err := q.Err(); err != nil {
//		return nil, err
//	}
type Query struct {
	values url.Values
	code   domain.Code // of the first fault
	faults []domain.FieldError
}

// NewQuery returns a reader of r's query.
func NewQuery(r *http.Request) *Query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &Query{values: values}
	if err != nil {
		q.fault(domain.CodeInvalidParameter, "query", "is not well-formed")
	}
	for name, texts := range values {
		if !printableText(name) || slices.ContainsFunc(texts, func(s string) bool { return !printableText(s) }) {
			q.fault(domain.CodeInvalidParameter, strings.ToValidUTF8(name, "?"), "is not acceptable text")
			values.Del(name)
		}
	}
	return q
}

// printableText is printable, but for line breaks and tabs.
func printableText(s string) bool {
	return printable(strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(s))
}

// Err returns the refusal of every parameter at fault, or nil.
func (q *Query) Err() error {
	if len(q.faults) == 0 {
		return nil
	}
	first := q.faults[0]
	return domain.Refuse(q.code, "%s %s", first.Field, first.Message).
		With("parameter", first.Field).With("errors", q.faults)
}

func (q *Query) fault(code domain.Code, name, message string) {
	if len(q.faults) == 0 {
		q.code = code
	}
	if len(q.faults) < maxFaults {
		q.faults = append(q.faults, domain.FieldError{Field: domain.Shorten(name, maxQuoted), Message: message})
	}
}

// Has reports whether the parameter was sent at all.
func (q *Query) Has(name string) bool { return q.values.Has(name) }

// Text returns the parameter, or "". Sent twice it is a fault.
func (q *Query) Text(name string) string {
	if len(q.values[name]) > 1 {
		q.fault(domain.CodeInvalidParameter, name, "was given twice")
	}
	return q.values.Get(name)
}

// Required is Text for a parameter that must not be empty.
func (q *Query) Required(name string) string {
	text := q.Text(name)
	if text == "" {
		q.fault(domain.CodeMissingParameter, name, "is required")
	}
	return text
}

// Bool returns true or false, or nil when the parameter is absent.
func (q *Query) Bool(name string) *bool {
	switch text := q.Text(name); {
	case !q.Has(name):
		return nil
	case text == "true" || text == "false":
		yes := text == "true"
		return &yes
	}
	q.fault(domain.CodeInvalidParameter, name, "must be true or false")
	return nil
}

// Flag is Bool for a switch that is off unless told otherwise.
func (q *Query) Flag(name string) bool {
	yes := q.Bool(name)
	return yes != nil && *yes
}

// Int returns a whole number from least to most, or missing when absent.
func (q *Query) Int(name string, missing, least, most int) int {
	text := q.Text(name)
	if !q.Has(name) {
		return missing
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		q.fault(domain.CodeInvalidParameter, name, "must be a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
		return missing
	}
	return n
}

// List returns the items of a comma list, without empty ones. A parameter sent
// several times is one list.
func (q *Query) List(name string) []string {
	var items []string
	for _, text := range q.values[name] {
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
	}
	return items
}

// OneOf returns the parameter when it is among choices, or missing when absent.
func (q *Query) OneOf(name, missing string, choices ...string) string {
	text := q.Text(name)
	if !q.Has(name) {
		return missing
	}
	if !slices.Contains(choices, text) {
		q.fault(domain.CodeInvalidParameter, name, "must be one of "+strings.Join(choices, ", "))
		return missing
	}
	return text
}

// Time returns an RFC 3339 time in UTC, or the zero time when absent. A date
// alone is its first moment.
func (q *Query) Time(name string) time.Time {
	text := q.Text(name)
	if text == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	q.fault(domain.CodeInvalidParameter, name, "must be an ISO 8601 time with an offset")
	return time.Time{}
}

// Seconds returns a duration given as seconds or with a unit, such as 15 or
// 15s, or missing when absent.
func (q *Query) Seconds(name string, missing time.Duration) time.Duration {
	text := q.Text(name)
	if !q.Has(name) {
		return missing
	}
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		q.fault(domain.CodeInvalidParameter, name, "must be a number of seconds")
		return missing
	}
	return d
}

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
	return List(r, PageOf(all, p), len(all), p)
}

// PageOf returns those of all matches that are on a page.
func PageOf[T any](all []T, p Page) []T {
	from := min(p.Offset(), len(all))
	return all[from : from+min(p.Limit, len(all)-from)]
}

// Next returns a Link header to the same request with one parameter changed.
func Next(r *http.Request, name, value string) string {
	values := r.URL.Query()
	values.Set(name, value)
	return fmt.Sprintf(`<%s?%s>; rel="next"`, r.URL.EscapedPath(), values.Encode())
}
