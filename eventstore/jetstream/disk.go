package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"svc/eventstore"
)

// errDiskLow is why appends are refused below the watermark.
var errDiskLow = errors.New("the disk is low")

// Writable returns nil when appends are possible now, else an error that is
// eventstore.ErrUnavailable and says why.
func (s *Store) Writable() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.stopped != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, s.stopped)
	}
	return nil
}

func (s *Store) setStopped(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = err
}

// fail stops appends after a write or an fsync that went wrong, and watchDisk
// reopens the embedded broker. In a cluster the fault may be another node's, and
// a broker that is stopped takes the quorum with it: appends are only refused
// one by one there, as with an external broker, which looks after itself.
func (s *Store) fail(err error) {
	s.opts.Log.Error("the log took no write", "err", err)
	if s.alone() {
		s.setStopped(fmt.Errorf("%w: %w", errBroken, err))
	}
}

// errBroken marks a fault after which the files must be read anew.
var errBroken = errors.New("a write to the log failed")

const (
	diskPeriod = 250 * time.Millisecond
	leastFree  = 1 << 20 // without which it is no use to try
)

// watchDisk refuses appends while the disk is low, and reopens the embedded
// broker after a fault once there is space: a JetStream stream that failed to
// write stays wedged until then.
func (s *Store) watchDisk() {
	if s.broker == nil {
		return
	}
	tick := time.NewTicker(diskPeriod)
	defer tick.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-tick.C:
			s.checkDisk()
		}
	}
}

func (s *Store) checkDisk() {
	free, err := diskFree(s.opts.Dir)
	if err != nil {
		s.setStopped(fmt.Errorf("the data directory cannot be examined: %w", err))
		return
	}
	why := s.Writable()
	if errors.Is(why, ErrDamaged) {
		return
	}
	if why == nil && s.alone() {
		if err := s.broker.health(); err != nil {
			s.fail(err)
			why = s.Writable()
		}
	}
	low := free < max(s.opts.MinFree(), leastFree)
	switch {
	case errors.Is(why, errBroken) && !low:
		s.reopen()
	case low && why == nil:
		s.opts.Log.Error("the disk is low: writes are refused until there is space", "freeBytes", free, "minBytes", s.opts.MinFree())
		s.setStopped(fmt.Errorf("%w: %d MB free, DISK_MIN_FREE_MB asks for %d", errDiskLow, free>>20, s.opts.MinFree()>>20))
	case !low && why != nil && !errors.Is(why, errBroken):
		s.opts.Log.Info("writes are possible again", "freeBytes", free)
		s.setStopped(nil)
	}
}

func diskFree(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// reopen stops the embedded broker, drops what the page cache claims, and
// starts it again on what the disk holds. Nothing acknowledged can be missing
// there: an append that was not fsynced was not acknowledged.
func (s *Store) reopen() {
	s.opts.Log.Warn("reopening the log after a failed write")
	s.broker.stop()
	s.broker.dropCaches()
	if err := s.broker.start(); err != nil {
		s.opts.Log.Error("the log could not be reopened, trying again", "err", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), brokerStartTimeout)
	defer cancel()
	if err := s.ensure(ctx); err != nil {
		s.opts.Log.Error("the log could not be reopened, trying again", "err", err)
		return
	}
	s.setStopped(nil)
	if err := s.sealTails(ctx); err != nil {
		s.fail(err)
		return
	}
	s.opts.Log.Info("the log is open again, writes are possible")
}
