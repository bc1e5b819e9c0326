package kbdocument

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/file"
)

// NormaliseURL returns an address of the web in the form in which two of the same page are equal: without fragment,
// default port, dot segments, parameters that only count visits, and those to ignore.
func NormaliseURL(text string, ignore ...string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	fault := ""
	switch {
	case err != nil || u.Hostname() == "":
		fault = "must be an address that begins with http:// or https://"
	case !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https"):
		fault = "must begin with http:// or https://"
	case u.User != nil:
		fault = "must have no user name and password"
	case len(text) > maxURL:
		fault = "must be at most 2048 characters"
	}
	if fault != "" {
		return "", domain.Invalid(domain.FieldError{Field: "url", Message: fault})
	}
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[scheme] {
		host += ":" + port
	}
	normal := scheme + "://" + host + normalPath(u.EscapedPath())
	if query := normalQuery(u.RawQuery, ignore); query != "" {
		normal += "?" + query
	}
	return normal, nil
}

// NameOfURL returns what the page of an address is called: the last part of its path, else the host.
func NameOfURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return NameFrom(address)
	}
	return NameFrom(cmp.Or(strings.Trim(path.Base(u.Path), "/."), u.Host))
}

// NameFrom returns a text as the name of a document.
func NameFrom(text string) string {
	name := strings.NewReplacer("/", "-", `\`, "-").Replace(text)
	for !file.IsName(name) {
		if len(name) < 200 {
			return "Untitled"
		}
		name = strings.ToValidUTF8(name[:200], "")
	}
	return name
}

// normalPath removes dot segments (RFC 3986, 5.2.4) and writes escapes in their shortest form. Empty segments stay: a
// site may answer them with another page.
func normalPath(escaped string) string {
	var kept []string
	segments := strings.Split(strings.TrimPrefix(NormaliseEscapes(escaped), "/"), "/")
	for i, segment := range segments {
		if segment == ".." {
			kept = kept[:max(0, len(kept)-1)]
		}
		switch isDots := segment == "." || segment == ".."; {
		case !isDots:
			kept = append(kept, segment)
		case i == len(segments)-1:
			kept = append(kept, "") // the path ends with a slash
		}
	}
	return "/" + strings.Join(kept, "/")
}

// normalQuery removes parameters that only count visits, and those to ignore. The order of the others stays.
func normalQuery(query string, ignore []string) string {
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		ignored := slices.ContainsFunc(ignore, func(other string) bool { return strings.EqualFold(other, name) })
		name = strings.ToLower(name)
		if part != "" && !ignored && !strings.HasPrefix(name, "utm_") && name != "gclid" && name != "fbclid" {
			kept = append(kept, NormaliseEscapes(part))
		}
	}
	return strings.Join(kept, "&")
}

// NormaliseEscapes writes a part of an address in the form in which two that mean the same are equal: it decodes escapes of
// characters that need none, writes the others in upper case, and escapes what an address cannot contain.
func NormaliseEscapes(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		high, low := -1, -1
		if text[i] == '%' && i+2 < len(text) {
			high, low = hexDigit(text[i+1]), hexDigit(text[i+2])
		}
		switch {
		case (high < 0 || low < 0) && isAllowed(text[i]):
			b.WriteByte(text[i])
			continue
		case high < 0 || low < 0:
			fmt.Fprintf(&b, "%%%02X", text[i])
			continue
		case isUnreserved(byte(high<<4 | low)):
			b.WriteByte(byte(high<<4 | low))
		default:
			b.WriteString(strings.ToUpper(text[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

// hexDigit returns the value of a digit, -1 for another character.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// isAllowed reports whether an address may contain a character as it is (RFC 3986), also a percent sign that escapes nothing.
func isAllowed(c byte) bool {
	return isUnreserved(c) || c < 0x80 && strings.IndexByte("%:/?#[]@!$&'()*+,;=", c) >= 0
}
