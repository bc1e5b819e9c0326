package fetch

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"svc/domain/automation"
	"svc/domain/automation/value"
)

// request is what is sent, references to secrets replaced, but for what each
// attempt adds.
type request struct {
	address *url.URL
	header  http.Header
	body    []byte // nil: none
	auth    reader // how to authenticate
}

func newRequest(method string, params *value.Object) (*request, error) {
	r := reader{params, "fetch"}
	var err error
	q := &request{auth: r.below("auth", &err)}
	address, query, headers := r.text("url", "", &err), r.below("query", &err), r.below("headers", &err)
	if err != nil {
		return nil, err
	}
	if q.address, err = readAddress(address, query.Object); err != nil {
		return nil, err
	}
	if q.header, err = readHeaders(headers.Object); err != nil {
		return nil, err
	}
	if method == http.MethodGet || method == http.MethodHead {
		return q, nil
	}
	q.body, err = encodeBody(params, q.header)
	return q, err
}

// readAddress returns the address with a query joined to its own. What is wrong
// is told without the address: it may hold a secret by now.
func readAddress(text string, query *value.Object) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, automation.Invalid("fetch.url: expected an absolute http or https address")
	}
	more, err := encodePairs(query, "fetch.query")
	if err != nil {
		return nil, err
	}
	u.RawQuery = joinQuery(escapeOdd(u.RawQuery), more)
	return u, nil
}

func joinQuery(one, other string) string {
	if one == "" || other == "" {
		return one + other
	}
	return one + "&" + other
}

// escapeOdd writes what a query must not hold in its percent form: an author
// who writes an address by hand leaves spaces and letters in it.
func escapeOdd(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>`", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(query[i])
	}
	return b.String()
}

// encodePairs writes an object as a query or a form: an array repeats its key,
// nothing is left out, an object is JSON.
func encodePairs(o *value.Object, at string) (string, error) {
	var pairs []string
	for _, key := range o.Keys() {
		texts, err := textsOf(o.At(key))
		if err != nil {
			return "", automation.Invalid("%s.%s: %v", at, key, err)
		}
		for _, text := range texts {
			pairs = append(pairs, escapePart(key)+"="+escapePart(text))
		}
	}
	return strings.Join(pairs, "&"), nil
}

func escapePart(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// textsOf returns the texts that a value stands for where a key may stand more
// than once.
func textsOf(v any) (texts []string, err error) {
	items, list := v.([]any)
	if !list {
		items = []any{v}
	}
	for _, item := range items {
		switch item.(type) {
		case value.Stream:
			return nil, fmt.Errorf("a stream has no text")
		case []any, *value.Object:
			texts = append(texts, value.JSON(item, ""))
		default:
			if !value.IsNothing(item) {
				texts = append(texts, value.Text(item))
			}
		}
	}
	return texts, nil
}

// notTheirs are headers that belong to the connection, or that are always added:
// what an author says about them does not count.
var notTheirs = []string{
	"Host", "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Connection", "Keep-Alive", "Upgrade", "Expect",
	"Proxy-Authorization", "Proxy-Connection", "User-Agent", "X-Correlation-Id", "X-Svc-Workspace-Id",
}

func readHeaders(o *value.Object) (http.Header, error) {
	header := http.Header{}
	for _, key := range o.Keys() {
		name := http.CanonicalHeaderKey(key)
		if !httpguts.ValidHeaderFieldName(key) {
			return nil, automation.Invalid("fetch.headers: %q is not a valid header name", key)
		}
		texts, err := textsOf(o.At(key))
		if err != nil || slices.ContainsFunc(texts, badHeaderValue) {
			return nil, automation.Invalid("fetch.headers.%s: expected a text without control characters", key)
		}
		if slices.Contains(notTheirs, name) {
			continue
		}
		for _, text := range texts {
			header.Add(name, strings.TrimSpace(text))
		}
	}
	return header, nil
}

func badHeaderValue(text string) bool {
	return !httpguts.ValidHeaderFieldValue(strings.TrimSpace(text))
}
