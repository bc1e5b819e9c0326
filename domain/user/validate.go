package user

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"svc/domain"
)

// The largest values.
const (
	maxName     = 100 // characters
	maxEmail    = 254
	maxMeta     = 64 << 10 // bytes of JSON
	maxGroups   = 100
	maxGroup    = 100
	maxSubject  = 255 // characters of an identity
	maxLanguage = 35
)

// validate lists everything of s that the contract does not allow.
func validate(s State) error {
	var errs []domain.FieldError
	check := func(ok bool, field, message string) {
		if !ok {
			errs = append(errs, domain.FieldError{Field: field, Message: message})
		}
	}
	_, local := s.AuthData[Local]
	check(s.Email == "" && !local || IsEmail(s.Email), "email", "must be a mail address")
	for _, name := range []struct{ field, value string }{{"firstName", s.FirstName}, {"lastName", s.LastName}} {
		check(domain.IsLine(name.value, maxName), name.field, "must be at most 100 characters without control characters")
	}
	check(s.Photo == "" || isPhoto(s.Photo), "photo", "must be an http or https URL of at most 2048 characters, or a picture that was uploaded here")
	check(s.Language == "" || isLanguage(s.Language), "language", "must be a language tag such as en or pt-BR")
	check(slices.Contains([]Status{Pending, Validated, Deactivated}, s.Status), "status", "must be pending, validated or deactivated")
	check(sizeOf(s.Meta) <= maxMeta, "meta", "must be at most 64 KB")
	_, unnamed := s.Meta[""]
	check(!unnamed, "meta", "must have names for its values")
	check(len(s.Groups) <= maxGroups && !slices.ContainsFunc(s.Groups, notGroup), "groups",
		"must be at most 100 names of 1 to 100 characters without control characters")
	for provider, identity := range s.AuthData {
		check(provider != "" && identity.ID != "" && domain.IsLine(identity.ID, maxSubject) && domain.IsLine(identity.Email, maxEmail),
			"authData", "must have an id of at most 255 characters")
	}
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

// required refuses an empty value.
func required(field, value string) error {
	if strings.TrimSpace(value) == "" {
		return domain.Invalid(domain.FieldError{Field: field, Message: "must not be empty"})
	}
	return nil
}

// join returns the refusals among errs as one, each field named once.
func join(errs ...error) error {
	var all []domain.FieldError
	for _, err := range errs {
		refusal, ok := errors.AsType[*domain.Error](err)
		if !ok {
			continue
		}
		for _, f := range refusal.Details["errors"].([]domain.FieldError) {
			if !slices.ContainsFunc(all, func(have domain.FieldError) bool { return have.Field == f.Field }) {
				all = append(all, f)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return domain.Invalid(all...)
}

// IsEmail reports whether s is an address that mail can be sent to, in the
// letters that every mail server takes. What looks alike to people but not to
// machines is refused with that: an address stands for rights.
func IsEmail(s string) bool {
	local, host, found := strings.Cut(s, "@")
	if !found || len(s) > maxEmail || local == "" || len(local) > 64 || host == "" {
		return false
	}
	if strings.ContainsFunc(local, notAtom) || strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, "..") {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || strings.ContainsFunc(label, notHost) {
			return false
		}
	}
	return true
}

func notAtom(r rune) bool {
	return !alphanumeric(r) && !strings.ContainsRune(".!#$%&'*+/=?^_`{|}~-", r)
}

func notHost(r rune) bool { return !alphanumeric(r) && r != '-' }

func alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// isPhoto reports whether s is a picture of the web, or one that was uploaded. No
// other path of this site may be loaded in the name of whoever looks at it.
func isPhoto(s string) bool {
	return domain.IsPicture(s) && (!strings.HasPrefix(s, "/") || strings.HasPrefix(s, "/v2/users/") && !strings.Contains(s, ".."))
}

func notGroup(s string) bool { return !domain.IsTitle(s, maxGroup) }

// isLanguage reports whether s has the form of a BCP 47 tag.
func isLanguage(s string) bool {
	if len(s) > maxLanguage {
		return false
	}
	for i, part := range strings.Split(s, "-") {
		if part == "" || len(part) > 8 || strings.ContainsFunc(part, func(r rune) bool { return !alphanumeric(r) }) {
			return false
		}
		if i == 0 && (len(part) < 2 || strings.ContainsAny(part, "0123456789")) {
			return false
		}
	}
	return true
}

// canonical returns meta in the form in which it is stored, so that what is
// equal compares equal. It is never nil; a null is a key that is not there.
func canonical(meta map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	next := make(map[string]json.RawMessage, len(meta))
	for key, value := range meta {
		body, err := json.Marshal(value)
		if err != nil {
			return meta, domain.Invalid(domain.FieldError{Field: "meta", Message: "must be JSON"})
		}
		if string(body) != "null" {
			next[key] = body
		}
	}
	return next, nil
}

// sizeOf returns how many bytes meta takes.
func sizeOf(meta map[string]json.RawMessage) (n int) {
	for key, value := range meta {
		n += len(key) + len(value)
	}
	return n
}
