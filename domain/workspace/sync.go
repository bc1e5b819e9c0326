package workspace

import (
	"maps"
	"path"
	"slices"
	"time"

	"svc/domain"
)

// Location is where in a repository a workspace lives.
type Location struct {
	URL    string `json:"url"` // as it is configured: references to secrets are not resolved
	Branch string `json:"branch"`
	Root   string `json:"root,omitempty"`
}

// Base is what a workspace has last integrated of a repository: the remote may
// forget it, the platform does not.
type Base struct {
	Commit    string `json:"commit,omitempty"`    // "": of a directory, which has none
	Files     string `json:"files"`               // blob of the managed files
	Unmanaged string `json:"unmanaged,omitempty"` // digest of the other files under root
}

// Sync is how a workspace stands with one repository.
type Sync struct {
	Location
	Base         *Base             `json:"base,omitempty"`         // nil: nothing was integrated yet
	Intermediate []string          `json:"intermediate,omitempty"` // commits that this workspace put on its own branch, newest last
	Held         map[string]uint64 `json:"held,omitempty"`         // paths that could not be read there, and the revision here
	RemoteSlug   string            `json:"remoteSlug,omitempty"`   // what the index there calls it, when that is taken here
	Intent       *Intent           `json:"intent,omitempty"`       // a push whose outcome is not recorded yet
}

// Recorded reports whether a commit was put on the intermediate branch by this
// workspace.
func (s Sync) Recorded(commit string) bool { return slices.Contains(s.Intermediate, commit) }

// maxRecorded is how many commits on the intermediate branch are remembered.
const maxRecorded = 50

func (s Sync) record(commit string) Sync {
	if commit == "" || s.Recorded(commit) {
		return s
	}
	s.Intermediate = append(slices.Clone(s.Intermediate), commit)
	s.Intermediate = s.Intermediate[max(0, len(s.Intermediate)-maxRecorded):]
	return s
}

// SyncWith returns how the workspace stands with a repository. What is known of
// another place under the same id does not count.
func (s State) SyncWith(repositoryID string, at Location) Sync {
	if known := s.Sync[repositoryID]; known.Location == at {
		return known
	}
	return Sync{Location: at}
}

// Blobs lists the blobs that the state of a workspace names: the files of what it integrated last from each
// repository, of a push under way and of a conflict.
func (s State) Blobs() (names []string) {
	add := func(base *Base) {
		if base != nil && base.Files != "" {
			names = append(names, base.Files)
		}
	}
	for _, sync := range s.Sync {
		add(sync.Base)
		if sync.Intent != nil {
			add(&sync.Intent.Base)
			if left := sync.Intent.Left; left != nil {
				add(&Base{Files: left.Files})
			}
		}
	}
	if c := s.Conflict; c != nil {
		add(c.Base)
		add(&c.Theirs)
		add(&Base{Files: c.Ours.Files})
	}
	for _, entry := range s.Staged {
		if entry.Apart {
			names = append(names, entry.Hash)
		}
	}
	return names
}

// Move is a ref of a remote that a push moves.
type Move struct {
	Name string `json:"name"`
	Old  string `json:"old,omitempty"` // "": it must not exist
	New  string `json:"new"`
}

// Intent is a push that is about to be sent. It holds all that is recorded when
// the remote turns out to have taken it.
type Intent struct {
	OperationID string            `json:"operationId"`
	Commit      string            `json:"commit"`
	Moves       []Move            `json:"moves"`
	Version     Version           `json:"version"`
	Changes     *Changes          `json:"changes,omitempty"`
	Synced      uint64            `json:"synced"` // the sequence that the content was taken at
	Base        Base              `json:"base"`
	Held        map[string]uint64 `json:"held,omitempty"`
	Left        *Left             `json:"left,omitempty"` // what the push takes away elsewhere
}

// Left is the directory that a workspace had in a repository before it was
// renamed. The push that writes the new one takes it away.
type Left struct {
	Root  string `json:"root"`
	Files string `json:"files"` // blob of what was integrated there
}

// LeftIn returns the directory that the workspace had in a repository before its
// place there was at; nil when there is none beside that.
func (s State) LeftIn(repositoryID string, at Location) *Left {
	known := s.Sync[repositoryID]
	if known.URL != at.URL || known.Branch != at.Branch {
		return nil
	}
	if known.Intent != nil && known.Intent.Left != nil && known.Intent.Left.Root != at.Root {
		return known.Intent.Left // it was about to be taken away
	}
	if known.Base == nil || known.Root == at.Root || path.Dir(known.Root) != path.Dir(at.Root) {
		return nil
	}
	return &Left{Root: known.Root, Files: known.Base.Files}
}

// Integration is what a pull says about its repository.
type Integration struct {
	RepositoryID string            `json:"repositoryId"`
	Location     Location          `json:"place"`
	Base         *Base             `json:"base,omitempty"`         // nil: it stays
	Intermediate string            `json:"intermediate,omitempty"` // head of the own branch that it made
	Held         map[string]uint64 `json:"held,omitempty"`
	RemoteSlug   string            `json:"remoteSlug,omitempty"`
	// Clean says that nothing is here now that is not there.
	Clean bool `json:"clean,omitempty"`
	// Pulled is nil when not all of it could be brought.
	Pulled *Pulled `json:"pulled,omitempty"`
}

// Pulled describes the last pull.
type Pulled struct {
	Version string `json:"version"`
	Digest  string `json:"digest,omitempty"`
}

// ConflictFile is a file that both sides changed.
type ConflictFile struct {
	Path string   `json:"path"`
	Kind string   `json:"kind"`
	Keys []string `json:"keys,omitempty"`
}

// Conflicted is a pull with a conflict that a person must resolve.
type Conflicted struct {
	RepositoryID string         `json:"repositoryId"`
	OperationID  string         `json:"operationId"`
	Location     Location       `json:"place"`
	By           string         `json:"by"`
	At           time.Time      `json:"at"`
	Branch       string         `json:"branch"` // the intermediate one
	Base         *Base          `json:"base,omitempty"`
	Ours         SavedState     `json:"ours"` // what was here
	Theirs       Base           `json:"theirs"`
	Unrelated    bool           `json:"unrelated,omitempty"` // Ours has no parent
	Excludes     []string       `json:"excludes,omitempty"`  // what the pull left as it is here
	Files        []ConflictFile `json:"files"`
}

// SavedState is a commit of what was in a workspace before a merge. It says all
// that it takes to make the same commit again.
type SavedState struct {
	Commit  string    `json:"commit"`
	Files   string    `json:"files"` // blob
	Parent  string    `json:"parent,omitempty"`
	Author  [2]string `json:"author"` // name and address
	When    time.Time `json:"when"`
	Message string    `json:"message"`
}

type (
	// Mark records a commit that is about to be put on the intermediate branch: it
	// is ours from then on, whatever comes.
	Mark struct {
		Epoch        uint64
		RepositoryID string
		Location     Location
		Commit       string
	}
	// Intend records a push that is about to be sent.
	Intend struct {
		Epoch        uint64
		RepositoryID string
		Location     Location
		Intent       Intent
	}
	// Conflict turns the lock of a pull into that of a conflict.
	Conflict struct {
		Epoch      uint64
		Conflicted Conflicted
	}
)

func (Mark) workspaceCommand()     {}
func (Intend) workspaceCommand()   {}
func (Conflict) workspaceCommand() {}

type (
	// Marked says that a commit on the intermediate branch is the workspace's own.
	Marked struct {
		RepositoryID string   `json:"repositoryId"`
		Location     Location `json:"place"`
		Commit       string   `json:"commit"`
	}
	// Intended says what a push is about to send.
	Intended struct {
		RepositoryID string   `json:"repositoryId"`
		Location     Location `json:"place"`
		Intent       Intent   `json:"intent"`
	}
)

// EventType implements domain.Event.
func (Marked) EventType() string { return "workspaces.versions.marked" }

// EventType implements domain.Event.
func (Intended) EventType() string { return "workspaces.versions.intended" }

func mark(s State, c Mark) ([]domain.Event, error) {
	if err := s.checkLockEpoch(c.Epoch); err != nil || s.SyncWith(c.RepositoryID, c.Location).Recorded(c.Commit) {
		return nil, err
	}
	return []domain.Event{Marked{c.RepositoryID, c.Location, c.Commit}}, nil
}

func intend(s State, c Intend) ([]domain.Event, error) {
	if err := s.checkLockEpoch(c.Epoch); err != nil {
		return nil, err
	}
	return []domain.Event{Intended{c.RepositoryID, c.Location, c.Intent}}, nil
}

func conflict(s State, c Conflict) ([]domain.Event, error) {
	if err := s.checkLockEpoch(c.Epoch); err != nil {
		return nil, err
	}
	return []domain.Event{s.conflictLock(c.Conflicted)}, nil
}

// conflictLock is the lock of a conflict, which nothing but its end takes away.
func (s State) conflictLock(c Conflicted) Locked {
	return Locked{Reason: MergeConflict, Epoch: s.Epoch + 1, LockedBy: c.By, LockedAt: c.At, Conflict: &c}
}

// RevisionOf returns the revision of the document at a path, 0 when there is none.
func (s State) RevisionOf(path string) uint64 {
	switch path {
	case "index":
		return s.Revision
	case "security":
		return s.SecurityRevision
	}
	return s.Items.At(path).Revision
}

// checkLockEpoch refuses an operation whose lock was taken away.
func (s State) checkLockEpoch(epoch uint64) error {
	if s.Lock == nil || s.Lock.Epoch != epoch {
		return LockLost()
	}
	return nil
}

// with returns the state with how it stands with a repository changed.
func (s State) with(repositoryID string, at Location, change func(Sync) Sync) State {
	changed := change(s.SyncWith(repositoryID, at))
	s.Sync = maps.Clone(s.Sync)
	if s.Sync == nil {
		s.Sync = map[string]Sync{}
	}
	s.Sync[repositoryID] = changed
	return s
}

// synced folds what an event says about repositories.
func (s State) synced(ev domain.Event) State {
	switch e := ev.(type) {
	case Marked:
		return s.with(e.RepositoryID, e.Location, func(y Sync) Sync { return y.record(e.Commit) })
	case Intended:
		return s.with(e.RepositoryID, e.Location, func(y Sync) Sync {
			y.Intent = &e.Intent
			return y.record(e.Intent.Commit)
		})
	case Imported:
		if e.Sync == nil || e.Sync.RepositoryID == "" {
			return s
		}
		return s.with(e.Sync.RepositoryID, e.Sync.Location, func(y Sync) Sync { return y.integrate(*e.Sync) })
	case Published:
		return s.published(e)
	}
	return s
}

func (s Sync) integrate(i Integration) Sync {
	s.Held, s.RemoteSlug = i.Held, i.RemoteSlug
	if i.Base != nil {
		s.Base, s.Intent = i.Base, nil
	}
	return s.record(i.Intermediate)
}
