package search

import (
	"maps"
	"slices"
	"sync"

	"svc/commands/cache"
	"svc/domain/access"
	"svc/projections"
)

const (
	maxDecisions = 150_000 // about documents that are remembered, of all callers and bases: about 16 MB
	maxAdvance   = 1000    // changes of a base after which all of its documents are decided about anew
)

// readable remembers which documents callers may read: a document is decided about once for the rules of a caller and a
// revision of its base.
type readable struct {
	sets *cache.Cache[readableKey, *readableSet]
}

// readableKey is the rules of a caller, and a base. Rights are others after each change of rules, roles and shares of the
// workspace.
type readableKey struct {
	rights *access.Rights
	baseID string
}

// readableSet is which documents of a base somebody may read.
type readableSet struct {
	base Base // its slug and shares, which decisions depend on

	mu       sync.Mutex
	revision uint64 // changes that the base had
	allowed  map[string]bool
}

// decisions are those about the documents of a base at a revision. nil: none is remembered.
type decisions struct {
	*readableSet
	at   uint64
	grew bool
}

func newReadable() readable {
	return readable{cache.Weighing(maxDecisions, func(_ readableKey, s *readableSet) uint32 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return uint32(len(s.allowed)) + 10
	})}
}

// open returns what was decided about the documents that a reader sees.
func (c readable) open(rd projections.Reader, b searchedBase, rights *access.Rights) (*decisions, error) {
	if !rights.IsStable("read", Subject) {
		return nil, nil //nolint:nilnil // nothing is remembered
	}
	revision, err := projections.KBDocuments{}.Changes(rd, b.rights.workspaceID, b.id)
	if err != nil {
		return nil, err
	}
	key := readableKey{rights, b.id}
	set, known := c.sets.Get(key)
	if !known || !set.base.equal(b.rights) {
		set = &readableSet{base: b.rights, revision: revision, allowed: map[string]bool{}}
		c.sets.Set(key, set)
	}
	return &decisions{readableSet: set, at: revision}, set.advance(rd, b, revision)
}

// close has the cache know how large the set is now.
func (c readable) close(d *decisions, b searchedBase, rights *access.Rights) {
	if d == nil || !d.grew {
		return
	}
	c.sets.Update(readableKey{rights, b.id}, func(now *readableSet, _ bool) (*readableSet, bool) { return now, now == d.readableSet })
}

// advance forgets what was decided about documents that have changed since.
func (s *readableSet) advance(rd projections.Reader, b searchedBase, revision uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revision >= revision {
		return nil
	}
	var changed []string
	if revision-s.revision <= maxAdvance {
		var err error
		if changed, _, err = (projections.KBDocuments{}).Changed(rd, b.rights.workspaceID, b.id, s.revision+1, maxAdvance); err != nil {
			return err
		}
	}
	if uint64(len(changed)) < revision-s.revision {
		clear(s.allowed)
	}
	for _, id := range changed {
		delete(s.allowed, id)
	}
	s.revision = revision
	return nil
}

// get returns what was decided about a document.
func (d *decisions) get(id string) (allowed, known bool) {
	if d == nil {
		return false, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.revision != d.at {
		return false, false // of documents as somebody else saw them later
	}
	allowed, known = d.allowed[id]
	return allowed, known
}

// put remembers a decision.
func (d *decisions) put(id string, allowed bool) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.revision == d.at {
		d.allowed[id], d.grew = allowed, true
	}
}

// equal reports whether decisions about documents of two bases are the same.
func (b Base) equal(other Base) bool {
	return b.workspaceID == other.workspaceID && b.slug == other.slug && slices.EqualFunc(b.shares, other.shares, func(a, b access.Share) bool {
		return a.Target == b.Target && a.Permissions.Role == b.Permissions.Role && maps.Equal(a.Permissions.Policies, b.Permissions.Policies)
	})
}
