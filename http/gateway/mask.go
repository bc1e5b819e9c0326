package gateway

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// secretWords make a query parameter a credential wherever they stand in its
// name; secretNames do when they are all of it.
var (
	secretWords = []string{
		"token", "secret", "password", "passwd", "passphrase", "credential", "authorization", "signature",
		"session", "cookie", "csrf", "jwt", "code", "key",
	}
	secretNames = []string{"assertion", "auth", "nonce", "otp", "pass", "pin", "pw", "pwd", "sid", "sig", "state", "totp"}
)

// secretValue finds what is a credential wherever it stands: an access token or
// a JWT.
var secretValue = regexp.MustCompile(`(?:^|[^0-9A-Za-z])at:.|eyJ[\w-]*\.[\w-]+\.[\w-]*`)

const mask = "***"

// maskedPath is a path without credentials, for logs and events.
func (ex *exchange) maskedPath(path string) string {
	if ex.route != nil && ex.route.SecretPath {
		return ex.template
	}
	if !strings.ContainsAny(path, "%:.") {
		return path // the usual one
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if secretValue.MatchString(decoded(segment)) {
			segments[i] = mask
		}
	}
	return strings.Join(segments, "/")
}

// shownPath is a path and query for the log, without credentials. What is secret of those
// that call an automation only its run knows: its events tell the rest.
func (ex *exchange) shownPath(u *url.URL) string {
	if ex.route != nil && ex.route.Rate == RateWebhooks {
		return ex.template
	}
	path := ex.maskedPath(u.EscapedPath())
	if u.RawQuery == "" {
		return path
	}
	pairs := strings.FieldsFunc(u.RawQuery, func(r rune) bool { return r == '&' || r == ';' })
	for i, pair := range pairs {
		pairs[i] = maskedPair(pair)
	}
	return path + "?" + strings.Join(pairs, "&")
}

// maskedPair is one parameter of a query without a credential.
func maskedPair(pair string) string {
	name, value, valued := strings.Cut(pair, "=")
	readable := decoded(name)
	switch {
	case secretValue.MatchString(readable):
		return mask
	case valued && (isSecretName(readable) || secretValue.MatchString(decoded(value))):
		return name + "=" + mask
	}
	return pair
}

func isSecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(secretNames, name) ||
		slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// decoded is s without percent-encoding, also when it was encoded twice.
func decoded(s string) string {
	for range 3 {
		plain, err := url.PathUnescape(s)
		if err != nil || plain == s {
			break
		}
		s = plain
	}
	return s
}
