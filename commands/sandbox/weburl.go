package sandbox

import (
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/grafana/sobek"
	"golang.org/x/net/idna"
)

// webURL is an address as the URL standard of the web reads it.
type webURL struct {
	scheme             string
	username, password string
	host               string // with brackets, when it is IPv6
	hasHost            bool
	port               string
	path               string
	opaque             bool   // the path is text, such as that of mailto:
	query, fragment    string // with ? and #; "" when there is none
}

// webPorts are the schemes of the web and the ports that they need not name.
var webPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "file": ""}

func isWeb(scheme string) bool { _, ok := webPorts[scheme]; return ok }

var schemeOf = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):`)

// parseWebURL reads an address, relative to a base when there is one.
func parseWebURL(text string, base *webURL) (*webURL, bool) {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	text = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(text)
	rest, fragment, hasFragment := strings.Cut(text, "#")
	u := &webURL{}
	if hasFragment {
		u.fragment = "#" + escapeSet(fragment, " \"<>`")
	}
	if m := schemeOf.FindStringSubmatch(rest); m != nil {
		u.scheme = strings.ToLower(m[1])
		rest = rest[len(m[0]):]
		if base == nil || base.scheme != u.scheme || !isWeb(u.scheme) || strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, `\`) {
			return u, u.readAbsolute(rest)
		}
	} else if base == nil || base.opaque && rest != "" {
		return nil, false
	}
	return u, u.readRelative(rest, base)
}

// readAbsolute reads what follows the scheme.
func (u *webURL) readAbsolute(rest string) bool {
	path, query, hasQuery := strings.Cut(rest, "?")
	u.setQuery(query, hasQuery)
	if isWeb(u.scheme) {
		path = strings.ReplaceAll(path, `\`, "/")
		if u.scheme != "file" {
			path = "//" + strings.TrimLeft(path, "/")
		}
	}
	switch {
	case strings.HasPrefix(path, "//"):
		authority, tail, slash := strings.Cut(path[2:], "/")
		if !u.readAuthority(authority) {
			return false
		}
		if slash {
			tail = "/" + tail
		}
		u.setPath(tail)
	case isWeb(u.scheme) || strings.HasPrefix(path, "/"):
		u.hasHost = u.scheme == "file"
		u.setPath(path)
	default:
		u.opaque, u.path = true, escapeControls(path)
	}
	return true
}

// readRelative reads an address that has no scheme of its own, or that of its base.
func (u *webURL) readRelative(rest string, base *webURL) bool {
	u.scheme = base.scheme
	path, query, hasQuery := strings.Cut(rest, "?")
	if isWeb(u.scheme) {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	if strings.HasPrefix(path, "//") {
		return u.readAbsolute(rest)
	}
	u.username, u.password, u.host, u.hasHost, u.port, u.opaque = base.username, base.password, base.host, base.hasHost, base.port, base.opaque
	u.setQuery(query, hasQuery)
	switch {
	case path == "":
		if u.path = base.path; !hasQuery {
			u.query = base.query
		}
	case strings.HasPrefix(path, "/"):
		u.setPath(path)
	default:
		u.setPath(base.path[:strings.LastIndexByte(base.path, '/')+1] + path)
	}
	return true
}

func (u *webURL) setQuery(query string, has bool) {
	set := " \"<>"
	if isWeb(u.scheme) {
		set += "'"
	}
	if has {
		u.query = "?" + escapeSet(query, set)
	}
}

// setPath removes the segments that are dots.
func (u *webURL) setPath(path string) {
	if path == "" && !isWeb(u.scheme) {
		return
	}
	var resolved []string
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case ".":
			if last {
				resolved = append(resolved, "")
			}
		case "..":
			resolved = resolved[:max(0, len(resolved)-1)]
			if last {
				resolved = append(resolved, "")
			}
		default:
			resolved = append(resolved, escapeSet(segment, " \"#<>?`{}^"))
		}
	}
	u.path = "/" + strings.Join(resolved, "/")
}

// readAuthority reads user, password, host and port.
func (u *webURL) readAuthority(text string) bool {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		name, password, _ := strings.Cut(text[:at], ":")
		u.username, u.password = escapeSet(name, " \"#<>?`{}/:;=@[\\]^|"), escapeSet(password, " \"#<>?`{}/:;=@[\\]^|")
		text = text[at+1:]
	}
	host, port := text, ""
	if i := strings.LastIndexByte(text, ':'); i > strings.LastIndexByte(text, ']') {
		host, port = text[:i], text[i+1:]
	}
	if n, err := strconv.ParseUint(port, 10, 16); port != "" {
		if err != nil {
			return false
		}
		port = strconv.FormatUint(n, 10)
	}
	if port == webPorts[u.scheme] {
		port = ""
	}
	u.hasHost = true
	u.port = port
	var ok bool
	u.host, ok = u.readHost(host)
	return ok && (u.host != "" || !isWeb(u.scheme) || u.scheme == "file")
}

// hostForbidden are the characters that no host has.
const hostForbidden = " #%/:<>?@[\\]^|\"`{}"

func (u *webURL) readHost(host string) (string, bool) {
	if strings.HasPrefix(host, "[") {
		address, err := netip.ParseAddr(strings.Trim(host, "[]"))
		return "[" + address.String() + "]", err == nil && address.Is6() && strings.HasSuffix(host, "]")
	}
	if !isWeb(u.scheme) {
		return escapeControls(host), !strings.ContainsAny(host, " #/:<>?@[\\]^|")
	}
	plain, err := url.PathUnescape(host)
	if err != nil || !utf8.ValidString(plain) {
		return "", false
	}
	if plain = strings.ToLower(plain); !isASCII(plain) {
		if plain, err = idna.Lookup.ToASCII(plain); err != nil {
			return "", false
		}
	}
	if strings.ContainsAny(plain, hostForbidden) || strings.ContainsFunc(plain, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", false
	}
	if u.scheme == "file" && plain == "localhost" {
		plain = ""
	}
	return plain, true
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f }) }

// escapeSet writes what is no ASCII, control characters and those of a set in their percent
// form. What is in it already stays.
func escapeSet(text, set string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || strings.IndexByte(set, c) >= 0 {
			b.WriteByte('%')
			b.WriteByte("0123456789ABCDEF"[c>>4])
			b.WriteByte("0123456789ABCDEF"[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func escapeControls(text string) string { return escapeSet(text, "") }

// String implements fmt.Stringer.
func (u *webURL) String() string {
	text := u.scheme + ":"
	if u.hasHost {
		text += "//"
		if u.username != "" || u.password != "" {
			text += u.username
			if u.password != "" {
				text += ":" + u.password
			}
			text += "@"
		}
		text += u.host
		if u.port != "" {
			text += ":" + u.port
		}
	} else if !u.opaque && strings.HasPrefix(u.path, "//") {
		text += "/."
	}
	return text + u.path + u.query + u.fragment
}

func (u *webURL) origin() string {
	if !isWeb(u.scheme) || u.scheme == "file" {
		return "null"
	}
	if u.port == "" {
		return u.scheme + "://" + u.host
	}
	return u.scheme + "://" + u.host + ":" + u.port
}

// parseURL returns the parts of an address, null when it is none.
func (b *builtins) parseURL(call sobek.FunctionCall) sobek.Value {
	var base *webURL
	if given := call.Argument(1); !sobek.IsUndefined(given) {
		var ok bool
		if base, ok = parseWebURL(given.String(), nil); !ok {
			return sobek.Null()
		}
	}
	u, ok := parseWebURL(call.Argument(0).String(), base)
	if !ok {
		return sobek.Null()
	}
	only := func(text, mark string) string { // a lone mark counts as nothing
		if text == mark {
			return ""
		}
		return text
	}
	return b.vm.ToValue(b.object(
		"href", u.String(), "origin", u.origin(), "protocol", u.scheme+":", "username", u.username, "password", u.password, "hostname", u.host,
		"port", u.port, "pathname", u.path, "search", only(u.query, "?"), "hash", only(u.fragment, "#"), "slashes", u.hasHost,
	))
}

// object makes an object of names and values.
func (b *builtins) object(members ...any) *sobek.Object {
	o := b.vm.NewObject()
	for i := 0; i < len(members); i += 2 {
		if err := o.Set(members[i].(string), members[i+1]); err != nil {
			panic(b.vm.NewGoError(err))
		}
	}
	return o
}

// writeURL puts parts together again.
func (b *builtins) writeURL(call sobek.FunctionCall) sobek.Value {
	parts := call.Argument(0).ToObject(b.vm)
	text := func(key string) string { return parts.Get(key).String() }
	u := webURL{
		scheme: strings.TrimSuffix(text("protocol"), ":"), username: text("username"), password: text("password"), host: text("hostname"),
		hasHost: parts.Get("slashes").ToBoolean(), port: text("port"), path: text("pathname"), query: text("search"), fragment: text("hash"),
	}
	if u.hasHost && u.path != "" && !strings.HasPrefix(u.path, "/") {
		u.path = "/" + u.path
	}
	return b.vm.ToValue(u.String())
}

// parseQuery returns the names and values of a query.
func (b *builtins) parseQuery(call sobek.FunctionCall) sobek.Value {
	pairs := []any{}
	for part := range strings.SplitSeq(call.Argument(0).String(), "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		pairs = append(pairs, b.vm.NewArray(unescapeForm(name), unescapeForm(value)))
	}
	return b.vm.NewArray(pairs...)
}

// unescapeForm reads the percent form, and leaves what is none as it is.
func unescapeForm(text string) string {
	text = strings.ReplaceAll(text, "+", " ")
	if !strings.Contains(text, "%") {
		return text
	}
	content := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				content = append(content, byte(n))
				i += 2
				continue
			}
		}
		content = append(content, text[i])
	}
	return validText(content)
}

// writeQuery writes names and values as a query.
func (b *builtins) writeQuery(call sobek.FunctionCall) sobek.Value {
	var text strings.Builder
	list := call.Argument(0).ToObject(b.vm)
	for i := range int(list.Get("length").ToInteger()) {
		pair := list.Get(strconv.Itoa(i)).ToObject(b.vm)
		if i > 0 {
			text.WriteByte('&')
		}
		text.WriteString(escapeForm(pair.Get("0").String()) + "=" + escapeForm(pair.Get("1").String()))
	}
	return b.vm.ToValue(text.String())
}

// escapeForm is the form of application/x-www-form-urlencoded.
func escapeForm(text string) string {
	return strings.ReplaceAll(escapeSet(text, "!\"#$%&'()+,/:;<=>?@[\\]^`{|}~"), " ", "+")
}
