package workspace

import (
	"maps"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/document"
)

// Push records that a version was saved. That a repository has taken the content
// is a fact: it is recorded whatever happened to the workspace meanwhile.
type Push struct {
	// Epoch is that of the lock that the push holds. It is given back, unless it
	// is somebody else's by now.
	Epoch uint64
	// Intent is what was sent to the repository; nil for a native version, which
	// says nothing about the outside.
	Intent       *Intent
	RepositoryID string
	Location     Location
	Version      Version  // of a native version
	Changes      *Changes // since the version before; nil: not known
}

// DeleteVersion forgets a version. What it holds stays in the history.
type DeleteVersion struct{ Name string }

func (Push) workspaceCommand()          {}
func (DeleteVersion) workspaceCommand() {}

// Version is a named state of the content.
type Version struct {
	Name            string             `json:"name"`
	Description     document.Localized `json:"description,omitzero"`
	CreatedAt       time.Time          `json:"createdAt"`
	CreatedBy       string             `json:"createdBy"`
	Repository      *RepositoryRef     `json:"repository,omitempty"` // nil: native
	Commit          string             `json:"commit,omitempty"`
	Tag             string             `json:"tag,omitempty"`
	ContentRevision uint64             `json:"contentRevision"`
	OperationID     string             `json:"operationId,omitempty"` // that saved it
}

// RepositoryRef names a repository.
type RepositoryRef struct {
	ID string `json:"id"`
}

// Changes are the files that a version changed. Of many, the lists hold some; the
// summary counts all.
type Changes struct {
	Files      []string       `json:"files"`
	Created    []string       `json:"created"`
	Deleted    []string       `json:"deleted"`
	Insertions map[string]int `json:"insertions"` // lines, by file
	Deletions  map[string]int `json:"deletions"`
	Summary    Summary        `json:"summary"`
	Truncated  bool           `json:"truncated,omitempty"`
}

// Summary counts Changes: files, lines that came, lines that went.
type Summary struct {
	Changes    int `json:"changes"`
	Insertions int `json:"insertions"`
	Deletions  int `json:"deletions"`
}

type (
	// Published says that a version was saved to a repository.
	Published struct {
		Version Version  `json:"version"`
		Changes *Changes `json:"changes,omitempty"`
		Synced  uint64   `json:"synced,omitempty"` // the content up to there is in a repository outside
		// Base is what the workspace and the repository have in common now. A push
		// that something else has overtaken does not move it.
		Base     *Base             `json:"base,omitempty"`
		Location Location          `json:"place,omitzero"`
		Held     map[string]uint64 `json:"held,omitempty"`
	}
	// VersionDeleted says that a version was forgotten.
	VersionDeleted struct {
		Version Version `json:"version"`
	}
)

// EventType implements domain.Event.
func (Published) EventType() string { return "workspaces.versions.published" }

// EventType implements domain.Event.
func (VersionDeleted) EventType() string { return "workspaces.versions.deleted" }

// MaxVersions is how many versions a workspace has.
const MaxVersions = 5000

// CheckVersionName refuses what cannot be the name of a version.
func CheckVersionName(name string) error {
	bad := name == "" || len(name) > 63 || name == "current" || name == "latest" ||
		name[0] == '.' || name[len(name)-1] == '.' || strings.Contains(name, "..") || strings.HasSuffix(name, ".lock") ||
		!allOf(name, func(r rune) bool { return isLetter(r|0x20) || isDigit(r) || r == '_' || r == '.' || r == '-' })
	if bad {
		return domain.Invalid(domain.FieldError{Field: "name", Message: "1 to 63 letters, digits, _ . and -; not current or latest, no dot at either end, no two dots together, not ending in .lock"})
	}
	return nil
}

// CheckVersion refuses a version, to a repository or "" for a native one, that cannot
// be made beside those there are. One of another repository may turn out to be there.
func (s State) CheckVersion(name, repositoryID string) error {
	if err := CheckVersionName(name); err != nil {
		return err
	}
	if _, known := s.Versions[name]; known {
		return alreadyUsedError("name", name)
	}
	for id, sync := range s.Sync {
		if id != repositoryID && sync.Intent != nil && sync.Intent.Version.Name == name {
			return alreadyUsedError("name", name)
		}
	}
	if len(s.Versions) >= MaxVersions {
		return limitExceeded("versions", MaxVersions)
	}
	return nil
}

func push(s State, c Push) ([]domain.Event, error) {
	if c.Intent == nil {
		if err := s.checkLockEpoch(c.Epoch); err != nil {
			return nil, err
		}
		return append([]domain.Event{Published{Version: c.Version, Changes: c.Changes}}, s.resolved(c.Epoch)...), nil
	}
	if s.Versions[c.Intent.Version.Name].OperationID == c.Intent.OperationID {
		return nil, nil // it was recorded already
	}
	done := Published{Version: c.Intent.Version, Changes: c.Intent.Changes, Synced: c.Intent.Synced, Location: c.Location, Held: c.Intent.Held}
	if intent := s.SyncWith(c.RepositoryID, c.Location).Intent; intent != nil && intent.OperationID == c.Intent.OperationID {
		done.Base = &c.Intent.Base
	}
	if s.checkLockEpoch(c.Epoch) != nil {
		return []domain.Event{done}, nil
	}
	return append([]domain.Event{done}, s.resolved(c.Epoch)...), nil
}

func deleteVersion(s State, c DeleteVersion) ([]domain.Event, error) {
	known, ok := s.Versions[c.Name]
	if !ok {
		return nil, NoVersion(c.Name)
	}
	return []domain.Event{VersionDeleted{known}}, nil
}

// NoVersion is the refusal of a version that does not exist.
func NoVersion(name string) *domain.Error {
	message := "there is no such version"
	if name == "latest" {
		message = "the workspace has no version yet: push one first, or name a repository to pull from"
	}
	return domain.Refuse(domain.CodeNotFound, "%s", message).With("resource", "version").With("id", name)
}

func (s State) published(e Published) State {
	s.Versions = maps.Clone(s.Versions)
	if s.Versions == nil {
		s.Versions = map[string]Version{}
	}
	s.Versions[e.Version.Name] = e.Version
	if e.Base == nil {
		return s
	}
	return s.with(e.Version.Repository.ID, e.Location, func(y Sync) Sync {
		y.Base, y.Held, y.Intent = e.Base, e.Held, nil
		return y
	})
}

func (s State) versionDeleted(e VersionDeleted) State {
	s.Versions = maps.Clone(s.Versions)
	delete(s.Versions, e.Version.Name)
	return s
}
