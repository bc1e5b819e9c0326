// Package app holds the rules of a published app: a workspace that others can
// install. What an app consists of is the content of its workspace at the
// revision that a version names.
package app

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/slug"
)

// Decider is the rule of the app aggregate.
var Decider = domain.Decider[State, Command]{Kind: "app", Version: 1, Decide: decide, Evolve: evolve}

// Stream returns the stream of the app with this slug. Apps belong to the whole
// platform.
func Stream(slug string) domain.StreamID { return Decider.Stream(domain.Platform, slug) }

// App is what others see of a published workspace.
type App struct {
	Slug          string             `json:"slug"`
	WorkspaceID   string             `json:"workspaceId"`
	Name          document.Localized `json:"name,omitzero"`
	Description   document.Localized `json:"description,omitzero"`
	Photo         string             `json:"photo,omitempty"`
	Labels        []string           `json:"labels,omitempty"`
	Documentation *Documentation     `json:"documentation,omitempty"` // nil: none
	Versions      []Version          `json:"versions,omitempty"`      // the newest first, each name once
}

// Documentation is the page that explains an app.
type Documentation struct {
	WorkspaceSlug string `json:"workspaceSlug"`
	Slug          string `json:"slug"`
}

// Version is one publication of an app.
type Version struct {
	Name      string    `json:"name"`
	Revision  uint64    `json:"contentRevision"` // of the workspace
	CreatedAt time.Time `json:"createdAt"`
	CreatedBy string    `json:"createdBy"`
}

// Find returns the version with this name; "" is the newest one.
func (a App) Find(name string) (v Version, ok bool) {
	for _, v := range a.Versions {
		if name == "" || v.Name == name {
			return v, true
		}
	}
	return Version{}, false
}

// State is an app. The zero State is one that is not published.
type State struct {
	App
	Publications uint64 `json:"publications"` // how often it was published
}

// Name is a word that only one app on the platform has.
type Name struct{ Kind, Value string }

// The kinds of names that an app has.
const (
	NameOfWorkspace = "appOf"   // a workspace is one app at most
	NameOfSlug      = "appSlug" // slugs that differ in case only are one
)

// Names returns the names that an app holds while it is published.
func Names(s State) []Name {
	if s.Slug == "" {
		return nil
	}
	return []Name{{NameOfWorkspace, s.WorkspaceID}, {NameOfSlug, strings.ToLower(s.Slug)}}
}

// Command is what can be asked of an app.
type Command interface{ appCommand() }

type (
	// Publish makes the content of a workspace at a revision the newest version
	// of the app. Publishing again what is the newest already does nothing.
	Publish struct {
		Slug          string
		WorkspaceID   string
		Revision      uint64 // the sequence in STATE of the content
		Version       string // its name; "": one is made, unless the revision is the newest already
		Name          document.Localized
		KeepName      bool               // an app that is published already has the name that it had
		Description   document.Localized // required
		Photo         string             // required
		Labels        []string
		Documentation *Documentation
		Now           time.Time
		By            string
	}
	// Delete takes the app back. Its slug is free for any workspace then.
	Delete struct{}
)

func (Publish) appCommand() {}
func (Delete) appCommand()  {}

type (
	// Published says what an app is from now on. Of its versions it tells the new
	// one only: an event does not grow with what was before it.
	Published struct {
		App App `json:"app"`
	}
	// Deleted says that an app is published no more.
	Deleted struct {
		AppSlug string `json:"appSlug"`
	}
)

// EventType implements domain.Event.
func (Published) EventType() string { return "apps.published" }

// EventType implements domain.Event.
func (Deleted) EventType() string { return "apps.deleted" }

// maxVersions is how many versions of an app are known; older ones are forgotten.
const maxVersions = 1000

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Published:
		e.App.Versions = newestFirst(e.App.Versions, s.Versions)
		return State{App: e.App, Publications: s.Publications + 1}
	case Deleted:
		return State{}
	}
	return s
}

// newestFirst returns the versions of an app after one more. A version that is
// published again leaves its old place.
func newestFirst(made, before []Version) []Version {
	all := slices.Clone(made)
	for _, v := range before {
		if len(all) < maxVersions && !slices.ContainsFunc(made, func(m Version) bool { return m.Name == v.Name }) {
			all = append(all, v)
		}
	}
	return all
}

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Publish:
		return publish(s, c)
	case Delete:
		if s.Slug == "" {
			return nil, domain.Refuse(domain.CodeNotFound, "there is no such app").With("resource", "app")
		}
		return []domain.Event{Deleted{AppSlug: s.Slug}}, nil
	default:
		return nil, domain.Refuse(domain.CodeInternal, "app: unknown command %T", cmd)
	}
}

func publish(s State, c Publish) ([]domain.Event, error) {
	if s.Slug != "" && s.WorkspaceID != c.WorkspaceID {
		return nil, domain.Refuse(domain.CodeAlreadyExists, "the app %s belongs to another workspace", s.Slug).
			With("field", "slug").With("value", s.Slug)
	}
	if c.KeepName && s.Slug != "" {
		c.Name = s.Name
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	next := c.app()
	if s.isNewest(next, c) {
		return nil, nil
	}
	made := c.version()
	if old, used := s.Find(made.Name); used && old.Revision != c.Revision {
		return nil, domain.Refuse(domain.CodeAlreadyExists, "the version %s of this app has other content", old.Name).
			With("field", "workspaceVersion").With("value", old.Name)
	}
	next.Versions = []Version{made}
	return []domain.Event{Published{App: next}}, nil
}

// app returns what c publishes, but its version.
func (c Publish) app() App {
	labels := slices.Compact(slices.Sorted(slices.Values(c.Labels)))
	return App{
		Slug: c.Slug, WorkspaceID: c.WorkspaceID, Name: c.Name, Description: c.Description, Photo: c.Photo,
		Labels: labels, Documentation: c.Documentation,
	}
}

// isNewest reports whether what c publishes is what the app is already.
func (s State) isNewest(next App, c Publish) bool {
	newest, published := s.Find("")
	if !published || newest.Revision != c.Revision || c.Version != "" && c.Version != newest.Name {
		return false
	}
	now := s.App
	now.Versions = nil
	return domain.Same(now, next)
}

// version returns the version that c makes. A name that nobody chose tells the
// time and the revision, so that it is like no other.
func (c Publish) version() Version {
	now := c.Now.UTC().Truncate(time.Millisecond)
	v := Version{Name: c.Version, Revision: c.Revision, CreatedAt: now, CreatedBy: c.By}
	if v.Name == "" {
		revision := strconv.FormatUint(c.Revision, 36)
		v.Name = now.Format("20060102-150405-") + strings.Repeat("0", max(0, 6-len(revision))) + revision
	}
	return v
}

// Bounds of the texts of an app, in characters.
const (
	maxName        = 60
	maxDescription = 10000
)

// validate lists everything that the contract does not allow.
func (c Publish) validate() error {
	var errs []domain.FieldError
	check := func(ok bool, field, message string) {
		if !ok {
			errs = append(errs, domain.FieldError{Field: field, Message: message})
		}
	}
	check(document.Import.HasSlug(c.Slug), "slug", "must be 1 to 60 characters of 0-9 A-Z a-z _ - and blanks, none of them at an end")
	check(c.Version == "" || slug.IsVersion(c.Version), "workspaceVersion", "must be 1 to 63 characters of 0-9 A-Z a-z _ . -, not current or latest")
	check(all(c.Name, func(s string) bool { return domain.IsTitle(s, maxName) }), "name", "must be 1 to 60 characters without control characters")
	check(hasText(c.Description), "description", "is required to publish the workspace")
	check(all(c.Description, isDescription), "description", "must be at most 10000 characters of UTF-8")
	check(c.Photo != "", "photo", "is required to publish the workspace")
	check(c.Photo == "" || domain.IsPicture(c.Photo), "photo", "must be an http or https URL or a path that begins with /, of at most 2048 characters")
	check(!slices.ContainsFunc(c.Labels, func(l string) bool { return !slug.IsLabel(l) }), "labels", "a label is 2 to 60 characters of 0-9 A-Z a-z . _ : -")
	check(c.Documentation.valid(), "documentation", "must name a page by workspaceSlug and slug")
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

// version is what a text looks like that says a version rather than a name: 1.2.0, v3,
// 2.0.0-rc.1, or one that was made for a publication.
var version = regexp.MustCompile(`^([vV]?\d+(\.\d+)*|[vV]?\d+(\.\d+)+[-+][0-9A-Za-z.+-]+|\d{8}-\d{6}-\w+)$`)

// IsVersionLike reports whether a name says a version, in every language that it is in.
func IsVersionLike(name document.Localized) bool {
	return !name.IsZero() && all(name, func(s string) bool { return version.MatchString(strings.TrimSpace(s)) })
}

func isDescription(s string) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxDescription
}

// all reports whether a text is fine in each of its languages.
func all(text document.Localized, fine func(string) bool) bool {
	return !slices.ContainsFunc(text.Texts(), func(s string) bool { return !fine(s) })
}

// hasText reports whether a text says something in some language.
func hasText(text document.Localized) bool {
	return slices.ContainsFunc(text.Texts(), func(s string) bool { return strings.TrimSpace(s) != "" })
}

func (d *Documentation) valid() bool {
	return d == nil || (d.WorkspaceSlug == domain.Platform || slug.CheckWorkspace(d.WorkspaceSlug) == "") && document.Page.HasSlug(d.Slug)
}
