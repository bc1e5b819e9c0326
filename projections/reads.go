package projections

import (
	"context"
	"math"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/keyring"
)

// Viewer opens readers. It is a *Models.
type Viewer interface {
	// Reader returns a reader of this moment. The caller closes it.
	Reader() Reader
}

// Read returns what a read of a read model returns now.
func Read[A, T any](m Viewer, read func(Reader, A) (T, error), arg A) (T, error) {
	rd := m.Reader()
	defer rd.Close()
	return read(rd, arg)
}

// Find is Read for what may be missing.
func Find[A, T any](m Viewer, read func(Reader, A) (T, bool, error), arg A) (T, bool, error) {
	rd := m.Reader()
	defer rd.Close()
	return read(rd, arg)
}

// FindIn is Find for what belongs to a workspace.
func FindIn[T any](m Viewer, read func(Reader, string, string) (T, bool, error), workspaceID, id string) (T, bool, error) {
	rd := m.Reader()
	defer rd.Close()
	return read(rd, workspaceID, id)
}

// The reads below are those of one value. Each one has a Reader of its own.

// Workspace returns the record of a workspace, also of a deleted one.
func (m *Models) Workspace(id string) (rec Record, ok bool, err error) {
	r := m.Reader()
	defer r.Close()
	return Workspaces{}.Record(r, id)
}

// IsWorkspaceDeleted reports whether a workspace was deleted.
func (m *Models) IsWorkspaceDeleted(id string) (bool, error) {
	rec, found, err := m.Workspace(id)
	return found && rec.Deleted != nil, err
}

// ExpiredLocks returns the workspaces whose write lock has expired at now.
func (m *Models) ExpiredLocks(now time.Time) ([]string, error) {
	r := m.Reader()
	defer r.Close()
	return Workspaces{}.Expired(r, now)
}

// UnfinishedOperations returns the operations that have not ended, and those that hold a
// write lock.
func (m *Models) UnfinishedOperations() ([]OperationRef, error) {
	r := m.Reader()
	defer r.Close()
	running, err := Operations{}.Running(r)
	if err != nil {
		return nil, err
	}
	locking, err := Workspaces{}.Operated(r)
	return append(running, locking...), err
}

// DocumentBody returns the text of a document; ok is false when it is not in the read
// models.
func (m *Models) DocumentBody(workspaceID, hash string) (body []byte, ok bool, err error) {
	r := m.Reader()
	defer r.Close()
	return Content{}.Body(r, workspaceID, hash)
}

// FindAppVersion returns the workspace of an app, and the revision of a version; 0 when there is
// none.
func (m *Models) FindAppVersion(slug, version string) (workspaceID string, revision uint64, err error) {
	r := m.Reader()
	defer r.Close()
	app, revision, err := Apps{}.FindVersion(r, slug, version)
	return app.WorkspaceID, revision, err
}

// AppAudience returns the workspace that publishes an app, or did, and the workspaces that
// may have instances of it: their own, or within instances of other apps.
func (m *Models) AppAudience(appSlug string) (publisher string, users []string, err error) {
	r := m.Reader()
	defer r.Close()
	if publisher, err = (Apps{}).Publisher(r, appSlug); err != nil {
		return "", nil, err
	}
	known := map[string]bool{}
	for slugs := []string{appSlug}; len(slugs) > 0; slugs = slugs[1:] {
		found, err := Content{}.Users(r, slugs[0])
		if err != nil {
			return publisher, users, err
		}
		for _, id := range found {
			if known[id] {
				continue
			}
			known[id] = true
			users = append(users, id)
			outer, ok, err := Apps{}.Of(r, id)
			if err != nil {
				return publisher, users, err
			}
			if ok {
				slugs = append(slugs, outer.Slug)
			}
		}
	}
	return publisher, users, nil
}

// MayListen reports whether a workspace may have listeners to events of the platform.
func (m *Models) MayListen(workspaceID string) (bool, error) {
	now := m.MomentsOf(Schedules{}).Now() // before the reader: what changes between them is looked at again
	if m.withoutListeners.has(now, workspaceID) {
		return false, nil
	}
	r := m.Reader()
	defer r.Close()
	may, err := Schedules{}.MayListen(r, workspaceID)
	if err == nil && !may {
		m.withoutListeners.add(now, workspaceID)
	}
	return may, err
}

// workspacesWithoutListeners are workspaces without listeners to events of the platform, at a moment: each change of a workspace
// asks for its listeners, and few workspaces have any.
type workspacesWithoutListeners struct {
	mu  sync.Mutex
	at  Moment
	ids map[string]struct{}
}

// maxWithoutListeners is how many workspaces without listeners are remembered.
const maxWithoutListeners = 10_000

func (s *workspacesWithoutListeners) has(now Moment, workspaceID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.ids[workspaceID]
	return known && s.at == now
}

func (s *workspacesWithoutListeners) add(now Moment, workspaceID string) {
	if now == 0 {
		return // it is not known when that was
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at != now || len(s.ids) >= maxWithoutListeners {
		s.at, s.ids = now, map[string]struct{}{}
	}
	s.ids[workspaceID] = struct{}{}
}

// User returns a user; ok is false when there is none.
func (m *Models) User(id string) (u User, ok bool, err error) {
	r := m.Reader()
	defer r.Close()
	return Users{}.Get(r, id)
}

// UserIDs returns the ids of all users.
func (m *Models) UserIDs() (ids []string, err error) {
	r := m.Reader()
	defer r.Close()
	all, _, err := Users{}.Search(r, UserQuery{})
	for _, u := range all {
		ids = append(ids, u.ID)
	}
	return ids, err
}

// IsSessionEnded reports whether a session was ended.
func (m *Models) IsSessionEnded(id string) (bool, error) {
	r := m.Reader()
	defer r.Close()
	return Sessions{}.Ended(r, id)
}

// SigningKeys returns the key ring and its sequence; the ring is empty when known is that
// sequence.
func (m *Models) SigningKeys(known uint64) (ring keyring.State, seq uint64, err error) {
	now := m.MomentsOf(Keyring{}).Now() // before the reader: what changes between them is looked at again
	if last := m.ring.Load(); last != nil && last.seq == known && last.at == now && now != 0 {
		return ring, known, nil
	}
	r := m.Reader()
	defer r.Close()
	ring, seq, err = Keyring{}.Keys(r, known)
	if err == nil {
		m.ring.Store(&ringRead{at: now, seq: seq})
	}
	return ring, seq, err
}

// ringRead is when the sequence of the key ring was read.
type ringRead struct {
	at  Moment
	seq uint64
}

// NATSUser returns a NATS user; ok is false when there is none.
func (m *Models) NATSUser(id string) (u NATSUser, ok bool, err error) {
	r := m.Reader()
	defer r.Close()
	return NATSUsers{}.Get(r, id)
}

// SubscriptionCount returns how many subscriptions a workspace has.
func (m *Models) SubscriptionCount(workspaceID string) (int, error) {
	r := m.Reader()
	defer r.Close()
	return Subscriptions{}.Count(r, workspaceID)
}

// Subscription returns a subscription; ok is false when there is none.
func (m *Models) Subscription(workspaceID, id string) (rec SubscriptionRecord, ok bool, err error) {
	r := m.Reader()
	defer r.Close()
	return Subscriptions{}.Get(r, workspaceID, id)
}

// HasDelivery reports whether a delivery was recorded.
func (m *Models) HasDelivery(id string) (bool, error) {
	r := m.Reader()
	defer r.Close()
	return Deliveries{}.Has(r, id)
}

// WaitingDeliveries returns how many deliveries of a subscription have not ended.
func (m *Models) WaitingDeliveries(subscriptionID string) (int, error) {
	r := m.Reader()
	defer r.Close()
	return Deliveries{}.Waiting(r, subscriptionID)
}

// HasActivity reports whether one of several events of a workspace is in the Activity log.
func (m *Models) HasActivity(workspaceID string, eventIDs ...string) (found bool, err error) {
	r := m.Reader()
	defer r.Close()
	for i := 0; i < len(eventIDs) && !found && err == nil; i++ {
		_, _, found, err = FeedOf(domain.Activity).ByID(r, workspaceID, eventIDs[i])
	}
	return found, err
}

// UnfinishedTrees returns the unfinished trees of some workspaces.
func (m *Models) UnfinishedTrees(of func(workspaceID string) bool, wanted func(UnfinishedTree) bool) (found []UnfinishedTree, err error) {
	r := m.Reader()
	defer r.Close()
	err = Runs{}.UnfinishedIn(r, of, func(t UnfinishedTree) bool {
		if wanted(t) {
			found = append(found, t)
		}
		return true
	})
	return found, err
}

// CancellingWaits returns how many pending waits of a workspace cancel triggers.
func (m *Models) CancellingWaits(workspaceID string) (count int, err error) {
	r := m.Reader()
	defer r.Close()
	err = Runs{}.Waits(r, workspaceID, math.MaxUint64, func(string, uint64) (bool, error) {
		count++
		return true, nil
	})
	return count, err
}

// SealedSecrets returns the secrets of a workspace, as they are sealed, by name, with its
// slug and whether it was deleted.
func (m *Models) SealedSecrets(workspaceID string) (sealed map[string][]byte, slug string, deleted bool, err error) {
	r := m.Reader()
	defer r.Close()
	rec, _, err := Workspaces{}.Record(r, workspaceID)
	if err != nil {
		return nil, "", false, err
	}
	sealed = map[string][]byte{}
	err = Secrets{}.List(r, workspaceID, func(name string, rec SecretRecord) bool {
		sealed[name] = rec.Sealed
		return true
	})
	return sealed, rec.Meta.Slug, rec.Deleted != nil, err
}

// WasRecorded is HasActivity for events that any node wrote: when none is found, it looks
// again in the latest read models.
func (m *Models) WasRecorded(ctx context.Context, workspaceID string, eventIDs ...string) (bool, error) {
	if found, err := m.HasActivity(workspaceID, eventIDs...); err != nil || found {
		return found, err
	}
	if err := m.Latest(ctx); err != nil {
		return false, err
	}
	return m.HasActivity(workspaceID, eventIDs...)
}
