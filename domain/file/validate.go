package file

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc/domain"
)

// The bounds of a file's facts.
const (
	maxName         = 255               // bytes
	maxMetadata     = 32 << 10          // bytes as JSON
	maxMetadataKeys = 100               //
	maxMetadataKey  = 100               // characters
	maxExpiresAfter = 100 * 365 * 86400 // seconds
)

var (
	mimetypes = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$`)
	checksums = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

func (f Facts) validate() error {
	var errs []domain.FieldError
	fault := func(ok bool, field, message string) {
		if !ok {
			errs = append(errs, domain.FieldError{Field: field, Message: message})
		}
	}
	fault(IsName(f.Name), "name", "must be 1 to 255 bytes without slashes, control characters and characters that change the direction of text")
	fault(f.ExpiresAfter >= 0 && f.ExpiresAfter <= maxExpiresAfter, "expiresAfter", "must be a number of seconds, at most those of a hundred years")
	fault(isMetadata(f.Metadata), "metadata", "must be at most 100 fields with names of 1 to 100 characters, and 32 KB together")
	fault(mimetypes.MatchString(f.Mimetype), "mimetype", "must be a media type")
	fault(f.Size >= 0 && checksums.MatchString(f.Checksum), "checksum", "must be a SHA-256 and a size")
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

// IsName reports whether a file may be called so: nothing that a path, a header
// or the eye of a reader could take for something else.
func IsName(name string) bool {
	return len(name) <= maxName && utf8.ValidString(name) && strings.TrimSpace(name) != "" && name != "." && name != ".." &&
		!strings.ContainsAny(name, `/\`) && !strings.ContainsFunc(name, misleads)
}

// misleads reports whether a character does something to those around it.
func misleads(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.In(r, unicode.Zl, unicode.Zp) || r == '\ufeff'
}

func isMetadata(m map[string]any) bool {
	for key := range m {
		if !domain.IsTitle(key, maxMetadataKey) {
			return false
		}
	}
	body, err := json.Marshal(m)
	return err == nil && len(m) <= maxMetadataKeys && len(body) <= maxMetadata
}
