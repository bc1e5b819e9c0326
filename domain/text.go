package domain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Timestamp is the form of times, in UTC, in events, documents and answers.
const Timestamp = "2006-01-02T15:04:05.000Z"

// FormatTime returns a time in the form of Timestamp.
func FormatTime(t time.Time) string {
	b := t.UTC().AppendFormat(make([]byte, 0, 32), time.RFC3339) // which package time writes fast, unlike other forms
	ms := t.Nanosecond() / int(time.Millisecond)
	return string(append(b[:len(b)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z'))
}

// IsLine reports whether s is one line of at most limit characters.
func IsLine(s string, limit int) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= limit && !strings.ContainsFunc(s, unicode.IsControl)
}

// IsTitle is IsLine for a text that says something.
func IsTitle(s string, limit int) bool { return strings.TrimSpace(s) != "" && IsLine(s, limit) }

// Shorten returns at most so many characters of a text that a user chose, for a message, and says by … that there are more.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	length := 0
	for at := range s {
		if length == limit {
			return s[:at] + "…"
		}
		length++
	}
	return s
}

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

// maxBranch is the length of a branch name, in bytes: file systems of servers
// take no longer ones, with what we put before it.
const maxBranch = 200

// badBranch is what git takes for no branch, and those that are ours: svc/….
var badBranch = regexp.MustCompile(`^$|^(svc/|-|/|\.)|[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|[./]$|^(@|HEAD)$`)

// IsBranch reports whether name can be the branch of a repository that a
// workspace is pushed to.
func IsBranch(name string) bool {
	return len(name) <= maxBranch && utf8.ValidString(name) && !badBranch.MatchString(name)
}

// HashSecret is how a token or a key is known afterwards: by its SHA-256, in hex.
// They are random and long, so that nobody finds one by its hash and nothing
// slower is needed.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Same reports whether a and b are stored as the same bytes: a command that
// would change nothing records nothing.
func Same(a, b any) bool {
	before, err := json.Marshal(a)
	after, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(before, after)
}
