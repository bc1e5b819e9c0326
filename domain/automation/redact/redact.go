// Package redact takes secrets out of what leaves a run: events, error bodies,
// logs and reports. Each occurrence of a secret in a string or a key, as it is,
// percent-encoded or as base64, becomes REDACTED.
package redact

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"svc/domain/value"
)

// Redacted replaces a secret.
const Redacted = "REDACTED"

// shortest is the length, in characters, from which a secret is looked for inside
// of strings. Shorter ones would be found everywhere: they count only where they
// are the whole string.
const shortest = 4

// Set is the secrets of a run. It may be added to and used at the same time; the
// zero Set is empty and ready, and so is a nil one.
type Set struct {
	mu   sync.Mutex // one adds at a time
	held atomic.Pointer[secretSet]
}

// secretSet is the secrets of a set at a moment, and their index, which is built on first
// use: many runs never need it.
type secretSet struct {
	secrets []string
	base    *index   // what was made before; nil: nothing
	added   []string // what is not in it
	once    sync.Once
	made    atomic.Pointer[index]
}

// index returns the index, nil when there is nothing to look for.
func (h *secretSet) index() *index {
	if h == nil {
		return nil
	}
	h.once.Do(func() { h.made.Store(h.base.withSecrets(h.added)) })
	return h.made.Load()
}

// withAdded returns what is held together with these.
func (h *secretSet) withAdded(added []string) *secretSet {
	more := &secretSet{secrets: append(slices.Clip(h.allSecrets()), added...), added: added}
	if h == nil {
		return more
	}
	if more.base = h.made.Load(); more.base == nil {
		more.base, more.added = h.base, append(slices.Clip(h.added), added...)
	}
	return more
}

func (h *secretSet) allSecrets() []string {
	if h == nil {
		return nil
	}
	return h.secrets
}

// current returns the index of what a set holds now.
func (s *Set) current() *index {
	if s == nil {
		return nil
	}
	return s.held.Load().index()
}

// New returns a set of these secrets.
func New(secrets ...string) *Set {
	s := &Set{}
	s.Add(secrets...)
	return s
}

// Add adds secrets. Spaces around them do not count, nor do empty ones.
func (s *Set) Add(secrets ...string) {
	if len(secrets) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.held.Load()
	known := make(map[string]bool, len(old.allSecrets())+len(secrets))
	for _, secret := range old.allSecrets() {
		known[secret] = true
	}
	var added []string
	for _, secret := range secrets {
		if secret = strings.TrimSpace(secret); secret != "" && !known[secret] {
			known[secret] = true
			added = append(added, secret)
		}
	}
	if len(added) > 0 {
		s.held.Store(old.withAdded(added))
	}
}

// Clone returns a set that holds the same and goes its own way from then on. It
// costs nothing, and shares the work that was done to look for what both hold.
func (s *Set) Clone() *Set {
	made := &Set{}
	if s != nil {
		made.held.Store(s.held.Load())
	}
	return made
}

// Secrets returns what is in the set, in the order it was added. It must not be
// changed.
func (s *Set) Secrets() []string {
	if s == nil {
		return nil
	}
	return s.held.Load().allSecrets()
}

// Text returns text without secrets.
func (s *Set) Text(text string) string {
	return s.current().text(text)
}

// RedactCut returns a text that was cut off at its end, without secrets: what may be the
// beginning of one there goes as well.
func (s *Set) RedactCut(text string) string {
	in := s.current()
	if in == nil {
		return text
	}
	end := len(text) - (&search{in: in, text: text}).unfinishedLength()
	whole := search{in: in, text: text}
	for begin, after := whole.nextSecret(0); begin >= 0 && begin < end; begin, after = whole.nextSecret(after) {
		if after > end { // one that is whole reaches into it
			return in.text(text[:begin]) + Redacted
		}
	}
	return in.text(text[:end])
}

// Value returns v without secrets in its strings, keys and bytes. What holds none
// is returned as it is. Of two keys that become the same, the later one counts.
func (s *Set) Value(v any) any {
	in := s.current()
	if in == nil {
		return v
	}
	redacted, _ := in.value(v)
	return redacted
}

// value returns v without secrets, and whether that differs from v.
func (in *index) value(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		text := in.text(v)
		return text, text != v
	case value.Bytes:
		if text := in.text(string(v)); text != string(v) {
			return value.Bytes(text), true
		}
	case []any:
		return in.list(v)
	case *value.Object:
		return in.object(v)
	}
	return v, false
}

func (in *index) list(list []any) (any, bool) {
	var made []any
	for i, item := range list {
		redacted, changed := in.value(item)
		if changed && made == nil {
			made = append([]any(nil), list...)
		}
		if changed {
			made[i] = redacted
		}
	}
	if made == nil {
		return list, false
	}
	return made, true
}

func (in *index) object(o *value.Object) (any, bool) {
	var made *value.Object
	keys := o.Keys()
	for i, key := range keys {
		name := in.text(key)
		redacted, changed := in.value(o.At(key))
		if made == nil && (changed || name != key) {
			made = &value.Object{}
			for _, before := range keys[:i] {
				made.Set(before, o.At(before))
			}
		}
		if made != nil {
			made.Set(name, redacted)
		}
	}
	if made == nil {
		return o, false
	}
	return made, true
}

// isShort reports whether a secret counts only as a whole string.
func isShort(secret string) bool { return utf8.RuneCountInString(secret) < shortest }

// Paths returns where in v there are secrets: the keys and indexes that lead to each text
// that holds one, or to an object with one in a key of it.
func (s *Set) Paths(v any) [][]string {
	in := s.current()
	if in == nil {
		return nil
	}
	return in.paths(v, nil, nil)
}

func (in *index) paths(v any, at []string, found [][]string) [][]string {
	step := func(key string) []string { return append(at[:len(at):len(at)], key) }
	switch v := v.(type) {
	case string:
		if in.text(v) != v {
			found = append(found, at)
		}
	case []any:
		for i, item := range v {
			found = in.paths(item, step(strconv.Itoa(i)), found)
		}
	case *value.Object:
		for _, key := range v.Keys() {
			if in.text(key) != key {
				return append(found, at)
			}
		}
		for _, key := range v.Keys() {
			found = in.paths(v.At(key), step(key), found)
		}
	}
	return found
}
