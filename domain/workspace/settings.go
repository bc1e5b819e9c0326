package workspace

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/value"
)

// Settings are what an owner may set of a workspace: its index document, and what
// belongs to where it runs.
type Settings struct {
	Name               string             `json:"name"`
	Slug               string             `json:"slug,omitempty"`
	Description        document.Localized `json:"description,omitzero"`
	Photo              string             `json:"photo,omitempty"`
	Labels             []string           `json:"labels,omitempty"`
	RegisterWorkspace  bool               `json:"registerWorkspace,omitempty"`
	AllowUnsecurePages bool               `json:"allowUnsecurePages,omitempty"`
	Config             *document.Map      `json:"config,omitempty"`  // schema, block, value
	HiddenPaths        HiddenPaths        `json:"untold,omitempty"`  // in the value of Config
	Secrets            *document.Map      `json:"secrets,omitempty"` // schema
	Blocks             *document.Map      `json:"blocks,omitempty"`  // by slug
	Events             *document.Map      `json:"events,omitempty"`  // types, mapping
	Models             *document.Map      `json:"models,omitempty"`  // providers, defaults
	// Unknown are fields of an imported index that mean nothing here. They are
	// exported again, and shown nowhere else.
	Unknown *document.Map `json:"unknown,omitempty"`

	// These belong to the environment and are no content.
	CustomDomains []string      `json:"customDomains,omitempty"`
	Repositories  *document.Map `json:"repositories,omitempty"` // by id, credentials masked
	// Credentials are those of repositories, sealed, by "{id}/{field}".
	Credentials map[string][]byte `json:"credentials,omitempty"`
}

// field is how a setting goes into a document and comes out of one. A reader
// returns false for a value of another type.
type field struct {
	name string
	get  func(*Settings) any
	set  func(*Settings, any) bool
}

// fields is the table of settings.
var fields = []field{
	{"name", func(s *Settings) any { return word(s.Name) }, func(s *Settings, v any) bool { return setWord(&s.Name, v) }},
	{"slug", func(s *Settings) any { return word(s.Slug) }, func(s *Settings, v any) bool { return setWord(&s.Slug, v) }},
	{"description", func(s *Settings) any { return s.Description.Value() }, setDescription},
	{"photo", func(s *Settings) any { return word(s.Photo) }, func(s *Settings, v any) bool { return setWord(&s.Photo, v) }},
	{"labels", func(s *Settings) any { return words(s.Labels) }, func(s *Settings, v any) bool { return setWords(&s.Labels, v) }},
	{"registerWorkspace", func(s *Settings) any { return flag(s.RegisterWorkspace) }, func(s *Settings, v any) bool { return setFlag(&s.RegisterWorkspace, v) }},
	{"allowUnsecurePages", func(s *Settings) any { return flag(s.AllowUnsecurePages) }, func(s *Settings, v any) bool { return setFlag(&s.AllowUnsecurePages, v) }},
	{"config", func(s *Settings) any { return mapping(s.Config) }, func(s *Settings, v any) bool { return setMapping(&s.Config, v) }},
	{"secrets", func(s *Settings) any { return mapping(s.Secrets) }, func(s *Settings, v any) bool { return setMapping(&s.Secrets, v) }},
	{"blocks", func(s *Settings) any { return mapping(s.Blocks) }, func(s *Settings, v any) bool { return setMapping(&s.Blocks, v) }},
	{"events", func(s *Settings) any { return mapping(s.Events) }, func(s *Settings, v any) bool { return setMapping(&s.Events, v) }},
	{"models", func(s *Settings) any { return mapping(s.Models) }, func(s *Settings, v any) bool { return setMapping(&s.Models, v) }},
	{"customDomains", func(s *Settings) any { return words(s.CustomDomains) }, func(s *Settings, v any) bool { return setWords(&s.CustomDomains, v) }},
	{"repositories", func(s *Settings) any { return mapping(s.Repositories) }, func(s *Settings, v any) bool { return setMapping(&s.Repositories, v) }},
}

// usualFields is how many settings most workspaces have at most.
const usualFields = 8

// Document returns the settings as the API shows them.
func (a Settings) Document() *document.Map {
	doc := value.NewObjectSize(usualFields)
	for _, f := range fields {
		if v := f.get(&a); v != nil {
			doc.Set(f.name, v)
		}
	}
	return doc
}

// Index returns the index document: what versions and archives hold of the
// settings.
func (a Settings) Index() *document.Map {
	doc := a.Document()
	for key, v := range a.Unknown.All() {
		if _, known := doc.Get(key); !known { // it may have been unknown when it was stored
			doc.Set(key, v)
		}
	}
	return document.Index.Canonical(doc)
}

// FromIndex returns the settings that an index document says. What it does not
// know is kept aside.
func FromIndex(doc *document.Map) (Settings, error) {
	var s Settings
	doc = document.Index.Canonical(doc)
	for key, v := range doc.All() {
		if slices.ContainsFunc(fields, func(f field) bool { return f.name == key }) {
			continue
		}
		if s.Unknown == nil {
			s.Unknown = document.MapOf()
		}
		s.Unknown.Set(key, v)
	}
	return s, s.change(doc)
}

// change sets the fields that patch names; null removes one.
func (a *Settings) change(patch *document.Map) error {
	for _, f := range fields {
		v, ok := patch.Get(f.name)
		if ok && !f.set(a, v) {
			return domain.Refuse(domain.CodeInvalidRequest, "%s: is of another type", f.name).
				With("errors", []domain.FieldError{{Field: f.name, Message: "is of another type"}})
		}
	}
	return nil
}

func word(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func flag(b bool) any {
	if !b {
		return nil
	}
	return true
}

func words(list []string) any {
	if len(list) == 0 {
		return nil
	}
	values := make([]any, len(list))
	for i, s := range list {
		values[i] = s
	}
	return values
}

func mapping(m *document.Map) any {
	if m.Len() == 0 {
		return nil
	}
	return m
}

func setWord(to *string, v any) bool {
	s, ok := v.(string)
	*to = s
	return ok || v == nil
}

func setFlag(to *bool, v any) bool {
	b, ok := v.(bool)
	*to = b
	return ok || v == nil
}

func setMapping(to **document.Map, v any) bool {
	m, ok := v.(*document.Map)
	*to = nil
	if m.Len() > 0 {
		*to = m
	}
	return ok || v == nil
}

// setWords keeps a list as a set: sorted, each once.
func setWords(to *[]string, v any) bool {
	list, ok := v.([]any)
	var set []string
	for _, item := range list {
		s, text := item.(string)
		if !text {
			return false
		}
		set = append(set, s)
	}
	slices.Sort(set)
	*to = slices.Compact(set)
	return ok || v == nil
}

func setDescription(s *Settings, v any) bool {
	text, ok := document.AsLocalized(v)
	s.Description = text
	return ok
}

func (a Settings) equal(b Settings) bool { return domain.Same(a, b) }

// sameContent reports whether two settings are the same to versions.
func (a Settings) sameContent(b Settings) bool { return document.Equal(a.Index(), b.Index()) }

// How many of each settings have. All of them are looked at with every change.
const (
	maxLabels       = 100
	maxDomains      = 100
	maxBlocks       = 1000
	maxRepositories = 100
	maxUnknown      = 200 // fields that mean nothing here
)

// maxDescription is the longest description, in characters.
const maxDescription = 10000

// validate lists every setting that the contract does not allow.
func (a Settings) validate() error {
	var errs []domain.FieldError
	refuse := func(field, message string) { errs = append(errs, domain.FieldError{Field: field, Message: message}) }
	if a.Name == "" || !domain.IsLine(a.Name, 60) {
		refuse("name", "must be 1 to 60 characters without control characters")
	}
	if slices.ContainsFunc(a.Description.Texts(), func(s string) bool {
		return !utf8.ValidString(s) || utf8.RuneCountInString(s) > maxDescription
	}) {
		refuse("description", "must be at most 10000 characters of UTF-8")
	}
	if a.Photo != "" && !domain.IsPicture(a.Photo) {
		refuse("photo", "must be an http or https URL or a path that begins with /, of at most 2048 characters")
	}
	if slices.ContainsFunc(a.Labels, func(l string) bool { return !isLabel(l) }) {
		refuse("labels", "a label is 2 to 60 characters of 0-9 A-Z a-z . _ : -")
	}
	if i := slices.IndexFunc(a.CustomDomains, func(h string) bool { return !isHost(h) }); i >= 0 {
		refuse("customDomains", "a domain is a lower-case host name with a dot, such as shop.example.com")
	}
	for _, of := range [...]struct {
		field     string
		have, may int
	}{
		{"labels", len(a.Labels), maxLabels}, {"customDomains", len(a.CustomDomains), maxDomains}, {"blocks", a.Blocks.Len(), maxBlocks},
		{"repositories", a.Repositories.Len(), maxRepositories}, {"", a.Unknown.Len(), maxUnknown},
	} {
		if of.have > of.may {
			refuse(of.field, fmt.Sprintf("at most %d are allowed, not %d", of.may, of.have))
		}
	}
	for key := range a.Unknown.All() {
		if len(key) > maxKey {
			refuse(key[:40]+"…", "a field has at most 200 bytes")
		}
	}
	errs = append(errs, plainCredentials(a)...)
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

func isLabel(s string) bool {
	return len(s) >= 2 && len(s) <= 60 && allOf(s, func(r rune) bool {
		return isLetter(r|0x20) || isDigit(r) || r == '.' || r == '_' || r == ':' || r == '-'
	})
}

// isHost reports whether s is a host name as a certificate has it. A port, an
// address or a name without a dot is none.
func isHost(s string) bool {
	if len(s) > 253 {
		return false
	}
	labels, letters := 0, false
	for start := 0; start <= len(s); labels++ {
		end := start
		for end < len(s) && s[end] != '.' {
			end++
		}
		label := s[start:end]
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			!allOf(label, func(r rune) bool { return isLetter(r) || isDigit(r) || r == '-' }) {
			return false
		}
		letters = !allOf(label, isDigit) // of the last label: 127.0.0.1 is none
		start = end + 1
	}
	return labels > 1 && letters
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }

func allOf(s string, ok func(rune) bool) bool {
	for _, r := range s {
		if !ok(r) {
			return false
		}
	}
	return true
}

// Mask stands for a value that is secret.
const Mask = "********"

// IsSecretReference reports whether a text is {{secret.NAME}} and nothing else:
// it names a secret and tells nothing of it.
func IsSecretReference(text string) bool {
	inner, opens := strings.CutPrefix(text, "{{")
	inner, closes := strings.CutSuffix(inner, "}}")
	name, refers := strings.CutPrefix(strings.TrimSpace(inner), "secret.")
	return opens && closes && refers && WrongSecretName(name) == ""
}

// HideSecrets returns a config with the mask in the place of each value that its
// schema calls secret. References to secrets of the workspace stay.
func HideSecrets(config *document.Map) *document.Map {
	hidden, _ := changeSecrets(config, func(_ []string, v any) (any, string) {
		if text, isText := v.(string); v == nil || isText && (text == "" || IsSecretReference(text)) {
			return v, ""
		}
		return Mask, ""
	})
	return hidden
}

// WithoutSecrets returns a config without the values that its schema calls
// secret. References to secrets of the workspace stay.
func WithoutSecrets(config *document.Map) *document.Map {
	left, _ := changeSecrets(config, func(_ []string, v any) (any, string) {
		if text, isText := v.(string); isText && IsSecretReference(text) {
			return v, ""
		}
		return nil, ""
	})
	return left
}

// restoreMasked returns a config to be stored: the mask stands for what was there
// before. A secret itself is refused: configs are content, which is exported and
// kept for ever.
func restoreMasked(before, next *document.Map) (*document.Map, error) {
	was, _ := before.Get("value")
	restored, errs := changeSecrets(next, func(path []string, v any) (any, string) {
		text, isText := v.(string)
		switch {
		case v == nil || isText && (text == "" || IsSecretReference(text)):
			return v, ""
		case isText && text == Mask:
			return valueAt(was, path), ""
		}
		return nil, "is secret: keep it in a secret and refer to it as {{secret.NAME}}"
	})
	if len(errs) > 0 {
		return nil, domain.Invalid(errs...)
	}
	return restored, nil
}

// changeSecrets returns a config with other values in the fields that its schema
// calls secret; nil takes one out. What the function says of a value is told as a
// fault of it.
func changeSecrets(config *document.Map, change func(path []string, v any) (any, string)) (*document.Map, []domain.FieldError) {
	schema, _ := config.Get("schema")
	value, _ := config.Get("value")
	fields, values := asMap(schema), asMap(value)
	if fields.Len() == 0 || values.Len() == 0 {
		return config, nil
	}
	w := secretWalk{change: change}
	changed := w.fields(fields, values, nil)
	if changed == values {
		return config, w.faults
	}
	config = config.Copy()
	config.Set("value", changed)
	return config, w.faults
}

// secretWalk goes through the fields of a schema and their values.
type secretWalk struct {
	change func(path []string, v any) (any, string)
	faults []domain.FieldError
}

// fields returns values with those changed that are secret; the same map when
// there are none.
func (w *secretWalk) fields(fields, values *document.Map, at []string) *document.Map {
	changed := values
	for name, f := range fields.All() {
		v, given := values.Get(name)
		if !given {
			continue
		}
		next, other := w.field(asMap(f), v, append(at[:len(at):len(at)], name))
		if !other {
			continue
		}
		if changed == values {
			changed = values.Copy()
		}
		if next == nil {
			changed.Delete(name)
		} else {
			changed.Set(name, next)
		}
	}
	return changed
}

func (w *secretWalk) field(f *document.Map, v any, at []string) (next any, other bool) {
	if secret, _ := f.Get("secret"); secret == true {
		next, wrong := w.change(at, v)
		if wrong != "" {
			w.faults = append(w.faults, domain.FieldError{Field: "config.value." + strings.Join(at, "."), Message: wrong})
		}
		return next, true
	}
	properties, _ := f.Get("properties")
	inner, ok := v.(*document.Map)
	if !ok || asMap(properties).Len() == 0 {
		return v, false
	}
	next = w.fields(asMap(properties), inner, at)
	return next, next != any(inner)
}

// valueAt returns what a value has at a path, nil for nothing.
func valueAt(v any, path []string) any {
	for _, key := range path {
		v, _ = asMap(v).Get(key)
	}
	return v
}
