package domain

import (
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Timestamp is the form of times, in UTC, in events, documents and answers.
const Timestamp = "2006-01-02T15:04:05.000Z"

// FormatTime returns a time in the form of Timestamp.
func FormatTime(t time.Time) string { return t.UTC().Format(Timestamp) }

// IsLine reports whether s is one line of at most limit characters.
func IsLine(s string, limit int) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= limit && !strings.ContainsFunc(s, unicode.IsControl)
}

// IsTitle is IsLine for a text that says something.
func IsTitle(s string, limit int) bool { return strings.TrimSpace(s) != "" && IsLine(s, limit) }

// maxPicture is the length of the address of a picture, in characters.
const maxPicture = 2048

// IsPicture reports whether s is an address that a browser may load a picture
// from: of the web, or of this very site. What a browser would take for another
// site (//host, /\host) is no path.
func IsPicture(s string) bool {
	if !IsLine(s, maxPicture) {
		return false
	}
	if strings.HasPrefix(s, "/") {
		return !strings.HasPrefix(s, "//") && !strings.Contains(s, `\`)
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}
