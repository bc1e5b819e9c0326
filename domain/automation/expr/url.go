package expr

import (
	"net/url"
	"strings"

	"svc/domain/automation/value"
)

// parseURL returns the parts of an absolute address.
func parseURL(c *calling) any {
	s, ok := c.arg(0).(string)
	if !ok || !c.affords(len(s)) {
		return value.Undefined
	}
	return URL(s)
}

// URL returns the parts of an absolute address as browsers name them, Undefined
// when it is none.
func URL(s string) any {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || !u.IsAbs() || u.Opaque == "" && u.Host == "" && u.Scheme != "file" {
		return value.Undefined
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	port := u.Port()
	if port == defaultPorts[scheme] {
		host, port = strings.ToLower(strings.TrimSuffix(u.Host, ":"+u.Port())), ""
	}
	pathname := u.Opaque
	if pathname == "" {
		pathname = u.EscapedPath()
	}
	_, web := defaultPorts[scheme]
	if pathname == "" && web {
		pathname = "/"
	}
	origin := "null"
	if web {
		origin = scheme + "://" + host
	}
	password, _ := u.User.Password()
	search, hash := prefixed("?", u.RawQuery), prefixed("#", u.EscapedFragment())
	return value.NewObject(
		"href", href(u, scheme, host)+pathname+search+hash, "origin", origin, "protocol", scheme+":",
		"username", u.User.Username(), "password", password,
		"host", host, "hostname", strings.TrimSuffix(host, prefixed(":", port)), "port", port,
		"pathname", pathname, "search", search, "searchParams", queryObject(u.RawQuery), "hash", hash,
	)
}

var defaultPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}

func href(u *url.URL, scheme, host string) string {
	if u.Opaque != "" {
		return scheme + ":"
	}
	if u.User != nil {
		return scheme + "://" + u.User.String() + "@" + host
	}
	return scheme + "://" + host
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// searchParams returns what URLSearchParams can tell of its argument.
func searchParams(c *calling) any {
	switch v := c.arg(0).(type) {
	case string:
		v = strings.TrimPrefix(v, "?")
		if !c.affords(len(v)) {
			return value.Undefined
		}
		var pairs [][2]string
		eachPair(v, func(key, text string) { pairs = append(pairs, [2]string{key, text}) })
		return value.NewObject("asJSON", queryObject(v), "asString", c.query(pairs))
	case *value.Object:
		return value.NewObject("asString", c.query(c.pairsOf(v)))
	}
	return &value.Object{}
}

// query returns the text of a query, taken from the budget.
func (c *calling) query(pairs [][2]string) string {
	text := queryText(pairs)
	if !c.affords(len(text)) {
		return ""
	}
	return text
}

func (c *calling) pairsOf(o *value.Object) [][2]string {
	var pairs [][2]string
	for _, key := range o.Keys() {
		items, ok := o.At(key).([]any)
		if !ok {
			items = []any{o.At(key)}
		}
		for _, item := range items {
			pairs = append(pairs, [2]string{key, c.evaluation.text(item)})
		}
	}
	return pairs
}

// queryObject reads a query; a repeated key keeps the last value.
func queryObject(query string) *value.Object {
	o := &value.Object{}
	eachPair(query, func(key, text string) { o.Set(key, text) })
	return o
}

func eachPair(query string, do func(key, text string)) {
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		key, text, _ := strings.Cut(pair, "=")
		do(unescape(key), unescape(text))
	}
}

// unescape decodes what it can and leaves the rest as it is.
func unescape(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}

func queryText(pairs [][2]string) string {
	parts := make([]string, len(pairs))
	for i, pair := range pairs {
		parts[i] = formEscape(pair[0]) + "=" + formEscape(pair[1])
	}
	return strings.Join(parts, "&")
}

// formEscape encodes as HTML forms do, which differs from Go in two characters.
func formEscape(s string) string {
	return strings.NewReplacer("%2A", "*", "~", "%7E").Replace(url.QueryEscape(s))
}
