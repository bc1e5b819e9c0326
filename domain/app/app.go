// Package app holds the rules of a published app: a workspace that others can
// install. What an app consists of is the content of its workspace at the
// revision that a version names.
package app

import (
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/document"
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
