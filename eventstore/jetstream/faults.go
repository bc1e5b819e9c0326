package jetstream

import (
	"errors"
	"fmt"
	"sync"

	"svc/eventstore"
)

// faults are the reasons why appends are refused. They come and go
// independently: one must not hide, or clear, another.
type faults struct {
	mu      sync.RWMutex
	damaged error  // acknowledged events are missing; stays until a restart
	broken  error  // a write failed; until the store was reopened
	low     error  // the disk is low; until there is space
	count   uint64 // how often broken was reported
}

// errBroken marks a fault after which the files must be read anew.
var errBroken = errors.New("a write to the log failed")

// now returns why appends are refused; nil when they are not.
func (f *faults) now() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, err := range []error{f.damaged, f.broken, f.low} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *faults) setDamaged(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damaged == nil {
		f.damaged = err
	}
}

// setLow reports whether it changed anything.
func (f *faults) setLow(err error) (changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed = (f.low == nil) != (err == nil)
	f.low = err
	return changed
}

func (f *faults) setBroken(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = fmt.Errorf("%w: %w", errBroken, err)
	f.count++
}

// isBroken returns how many failures were reported; 0 when the store is whole.
func (f *faults) isBroken() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.broken == nil || f.damaged != nil {
		return 0
	}
	return f.count
}

// mend clears broken, unless another failure was reported since.
func (f *faults) mend(since uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count != since {
		return false
	}
	f.broken = nil
	return true
}

// Writable returns nil when appends are possible now, else an error that is
// eventstore.ErrUnavailable and says why.
func (s *Store) Writable() error {
	if err := s.faults.now(); err != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return nil
}

// fail stops appends after a write or an fsync that went wrong, until watchDisk
// has reopened the broker. An external broker looks after itself, and in a
// cluster the fault may be another node's.
func (s *Store) fail(err error) {
	s.opts.Log.Error("the log took no write", "err", err)
	if s.Alone() {
		s.faults.setBroken(err)
	}
}
