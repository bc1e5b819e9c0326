package workspace

import (
	"fmt"
	"strings"
	"time"

	"svc/domain"
)

// The reasons of locks that the platform sets itself.
const (
	PushInProgress       = "push_in_progress"
	PullInProgress       = "pull_in_progress"
	ImportInProgress     = "import_in_progress"
	BulkPushInProgress   = "bulk_push_in_progress"
	BulkImportInProgress = "bulk_import_in_progress"
	MergeConflict        = "merge_conflict"
)

// Lock is the write lock of a workspace.
type Lock struct {
	Reason    string     `json:"reason"`
	LockedBy  string     `json:"lockedBy"`
	LockedAt  time.Time  `json:"lockedAt"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"` // nil: never
	Epoch     uint64     `json:"epoch"`
	Operation *Operation `json:"operation,omitempty"` // nil: set by hand
}

// Operation is what holds a lock.
type Operation struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
}

// Held reports whether the lock holds at a time. This is the one place that
// judges it.
func (l *Lock) Held(now time.Time) bool {
	return l != nil && (l.ExpiresAt == nil || now.Before(*l.ExpiresAt))
}

// allowsContent reports whether content may be written under the lock: a
// push has its snapshot already.
func (l *Lock) allowsContent() bool {
	return l.Operation != nil && (l.Reason == PushInProgress || l.Reason == BulkPushInProgress)
}

// ofRun reports whether the lock is that of a bulk run: what it does to the
// workspace itself does not end it.
func (l *Lock) ofRun() bool {
	return l.Operation != nil && (l.Reason == BulkImportInProgress || l.Reason == BulkPushInProgress)
}

// message says why the workspace is locked, and what to do about it.
func (l *Lock) message() string {
	switch {
	case l.Reason == MergeConflict:
		return "the workspace is locked because a pull ended in a merge conflict: resolve it first. " +
			"GET {w}/conflicts lists the files, POST {w}/conflicts/resolve chooses a side or gives the content of each"
	case l.Operation != nil:
		return fmt.Sprintf("the workspace is locked while %s %s is running (%s): try again when it has ended", articleOf(l.Operation.Kind), l.Operation.Kind, l.Reason)
	}
	return fmt.Sprintf("the workspace is locked (%s): wait until it is unlocked, or unlock it with DELETE {w}/writeLock (needs manage_security)", l.Reason)
}

func articleOf(noun string) string {
	if strings.ContainsAny(noun[:min(1, len(noun))], "aeiou") {
		return "an"
	}
	return "a"
}

// Refusal is the refusal of a write while the lock is held.
func (l *Lock) Refusal() error {
	e := domain.Refuse(domain.CodeLocked, "%s", l.message()).
		Reason(l.Reason).With("lockedBy", l.LockedBy).With("lockedAt", domain.FormatTime(l.LockedAt))
	if l.ExpiresAt != nil {
		e.With("expiresAt", domain.FormatTime(*l.ExpiresAt))
	}
	if l.Operation != nil {
		e.With("operation", l.Operation)
	}
	return e
}

// CheckContent refuses content writes while a lock forbids them.
func CheckContent(s State, now time.Time) error {
	if s.Lock.Held(now) && !s.Lock.allowsContent() {
		return s.Lock.Refusal()
	}
	return nil
}

// CheckVersioning refuses versioning operations while any lock holds.
func CheckVersioning(s State, now time.Time) error {
	if s.Lock.Held(now) {
		return s.Lock.Refusal()
	}
	return nil
}

type (
	// AcquireLock locks the workspace. Without an operation it is done by hand: that
	// renews a lock which was set by hand.
	AcquireLock struct {
		Reason    string
		By        string
		Now       time.Time
		Timeout   time.Duration
		Operation *Operation
		// Over is the repository whose conflict the operation goes on with: it takes
		// that lock over.
		Over string
	}
	// TakeOver lets another runner go on with the operation that holds the lock.
	TakeOver struct {
		OperationID string
		Now         time.Time
		Timeout     time.Duration
	}
	// Renew lets the operation that holds the lock at Epoch hold it longer. While more
	// than half of its time is left nothing happens.
	Renew struct {
		Epoch   uint64
		Now     time.Time
		Timeout time.Duration
	}
	// Release unlocks the workspace after the operation that holds it at Epoch. A
	// conflict that it went on with, and did not resolve, holds the lock again.
	Release struct {
		Epoch uint64
		Cause string // completed, failed, resolved, recovered
	}
	// Clear unlocks the workspace, whoever holds the lock.
	Clear struct{}
	// Expire records that the lock has run out, if it has.
	Expire struct{ Now time.Time }
)

func (AcquireLock) workspaceCommand() {}
func (TakeOver) workspaceCommand()    {}
func (Renew) workspaceCommand()       {}
func (Release) workspaceCommand()     {}
func (Clear) workspaceCommand()       {}
func (Expire) workspaceCommand()      {}

type (
	// Locked says who locked the workspace, why and until when.
	Locked struct {
		Reason    string     `json:"reason"`
		Epoch     uint64     `json:"epoch"`
		LockedBy  string     `json:"lockedBy"`
		LockedAt  time.Time  `json:"lockedAt"`
		Operation *Operation `json:"operation,omitempty"`
		ExpiresAt *time.Time `json:"expiresAt,omitempty"`
		// Conflict is what has to be decided before the lock goes.
		Conflict *Conflicted `json:"conflict,omitempty"`
	}
	// Unlocked says that a lock ended, and how.
	Unlocked struct {
		Reason string `json:"reason"`
		Epoch  uint64 `json:"epoch"`
		Cause  string `json:"cause"` // completed, failed, expired, cleared, resolved, recovered
	}
)

// EventType implements domain.Event.
func (Locked) EventType() string { return "workspaces.locked" }

// EventType implements domain.Event.
func (Unlocked) EventType() string { return "workspaces.unlocked" }

func acquireLock(s State, c AcquireLock) ([]domain.Event, error) {
	if c.Operation == nil && (c.Reason == "" || !domain.IsLine(c.Reason, 200)) {
		return nil, domain.Invalid(domain.FieldError{Field: "reason", Message: "must be one line of 1 to 200 characters"})
	}
	var events []domain.Event
	if s.Lock != nil && !s.Lock.Held(c.Now) {
		events = s.unlockEvents("expired")
		for _, ev := range events {
			s = evolve(s, ev)
		}
	}
	renews := c.Operation == nil && s.Lock != nil && s.Lock.Operation == nil && s.Lock.Reason != MergeConflict
	if s.Lock != nil && !renews && !s.continuesLock(c) {
		return nil, s.Lock.Refusal()
	}
	locked := Locked{Reason: c.Reason, Epoch: s.Epoch + 1, LockedBy: c.By, LockedAt: c.Now, Operation: c.Operation}
	if c.Reason != MergeConflict {
		until := c.Now.Add(c.Timeout)
		locked.ExpiresAt = &until
	}
	return append(events, locked), nil
}

func release(s State, c Release) ([]domain.Event, error) {
	if err := s.checkLockEpoch(c.Epoch); err != nil {
		return nil, err
	}
	return s.unlockEvents(c.Cause), nil
}

// continuesLock reports whether an operation goes on with the conflict that holds the
// lock.
func (s State) continuesLock(c AcquireLock) bool {
	return c.Over != "" && c.Operation != nil && s.Lock.Reason == MergeConflict && s.Conflict != nil && s.Conflict.RepositoryID == c.Over
}

func takeOver(s State, c TakeOver) ([]domain.Event, error) {
	if s.Lock == nil || s.Lock.Operation == nil || s.Lock.Operation.ID != c.OperationID {
		return nil, LockLost()
	}
	until := c.Now.Add(c.Timeout)
	return []domain.Event{Locked{
		Reason: s.Lock.Reason, Epoch: s.Epoch + 1, LockedBy: s.Lock.LockedBy, LockedAt: c.Now, Operation: s.Lock.Operation, ExpiresAt: &until,
	}}, nil
}

func renew(s State, c Renew) ([]domain.Event, error) {
	if err := s.checkLockEpoch(c.Epoch); err != nil {
		return nil, err
	}
	until := c.Now.Add(c.Timeout)
	if s.Lock.ExpiresAt == nil || s.Lock.ExpiresAt.Sub(c.Now) > c.Timeout/2 {
		return nil, nil
	}
	return []domain.Event{Locked{
		Reason: s.Lock.Reason, Epoch: s.Lock.Epoch, LockedBy: s.Lock.LockedBy, LockedAt: s.Lock.LockedAt, Operation: s.Lock.Operation, ExpiresAt: &until,
	}}, nil
}

// unlockEvents ends the lock of an operation. A conflict that is still there is held as
// before.
func (s State) unlockEvents(cause string) []domain.Event {
	if s.Conflict != nil && cause != "resolved" {
		return []domain.Event{s.conflictLock(*s.Conflict)}
	}
	return []domain.Event{s.unlock(cause)}
}

// LockLost is the refusal of an operation that has lost its lock.
func LockLost() error {
	return domain.Refuse(domain.CodeConflict, "the lock of this operation was taken away: start it again").Reason("lock_lost")
}

func clearLock(s State) ([]domain.Event, error) {
	if s.Lock == nil {
		return nil, nil
	}
	return []domain.Event{s.unlock("cleared")}, nil
}

func expire(s State, c Expire) ([]domain.Event, error) {
	if s.Lock == nil || s.Lock.Held(c.Now) {
		return nil, nil
	}
	return s.unlockEvents("expired"), nil
}

func (s State) unlock(cause string) Unlocked {
	return Unlocked{Reason: s.Lock.Reason, Epoch: s.Lock.Epoch, Cause: cause}
}
