package settings

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
)

const mask = "********"

// Secret is a text that never prints itself: every formatter, encoder and
// logger sees ********, or nothing when the secret is empty.
type Secret string

// Reveal returns the secret itself. Its callers are the places to review.
func (s Secret) Reveal() string { return string(s) }

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return s.String() }

// Format implements fmt.Formatter for every verb, %x and %q included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON implements json.Marshaler.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// URL is an address that may carry credentials. It prints without them.
type URL string

// Reveal returns the address with its credentials.
func (u URL) Reveal() string { return string(u) }

// String implements fmt.Stringer.
func (u URL) String() string { return redactURLs(string(u)) }

// GoString implements fmt.GoStringer.
func (u URL) GoString() string { return u.String() }

// Format implements fmt.Formatter for every verb.
func (u URL) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, u.String()) }

// MarshalText implements encoding.TextMarshaler.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// LogValue implements slog.LogValuer.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// maskKey shows the last four characters of an API key that is long enough.
func maskKey(text string) string {
	if len(text) < 16 {
		return mask
	}
	return mask + text[len(text)-4:]
}

var userInfo = regexp.MustCompile(`(?s)://.*@`)

// redactURLs hides the user part of each URL of a comma-separated list. Of any other text everything before its last
// @ is removed.
func redactURLs(text string) string {
	items := strings.Split(text, ",")
	for i, item := range items {
		u, err := url.Parse(strings.TrimSpace(item))
		if err != nil || u.Host == "" {
			return userInfo.ReplaceAllString(text, "://"+mask+"@")
		}
		if u.User != nil {
			items[i] = userInfo.ReplaceAllString(item, "://"+mask+"@")
		}
	}
	return strings.Join(items, ",")
}
