package gateway

import (
	"net/http"
	"strconv"
	"strings"
)

// AcceptsEncoding reports whether the client of a request with these headers takes an
// answer in a content coding, such as gzip: named, or meant by *, and not with a weight
// of zero.
func AcceptsEncoding(h http.Header, coding string) bool {
	named, star := -1.0, -1.0
	for item := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, params, _ := strings.Cut(item, ";")
		name = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "x-") // x-gzip is gzip
		switch name {
		case coding:
			named = parseWeight(params)
		case "*":
			star = parseWeight(params)
		}
	}
	if named >= 0 {
		return named > 0
	}
	return star > 0
}

// PrefersHTML reports whether the client of a request with these headers asks for a page
// by name, as browsers do, and does not like JSON better.
func PrefersHTML(h http.Header) bool {
	html, json := 0.0, 0.0
	for item := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		name, params, _ := strings.Cut(item, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "text/html":
			html = parseWeight(params)
		case "application/json":
			json = parseWeight(params)
		}
	}
	return html > 0 && html >= json
}

// parseWeight reads q=0.5 among the parameters of an item; without it, or when it is no
// number, the weight is one.
func parseWeight(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && strings.EqualFold(strings.TrimSpace(name), "q") {
			return q
		}
	}
	return 1
}
