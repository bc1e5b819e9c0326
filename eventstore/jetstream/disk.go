package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"svc/domain"
)

// errDiskLow is why appends are refused below the watermark.
var errDiskLow = errors.New("the disk is low")

const (
	diskPeriod   = 250 * time.Millisecond
	healthPeriod = time.Second
	leastFree    = 1 << 20 // without which it is no use to try
	longestGap   = 5 * time.Second
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
	var examined time.Time // when the broker was last asked how it is
	var next time.Time     // before which the broker is not reopened again
	gap := 2 * diskPeriod  // grows while reopening does not help
	for {
		select {
		case <-s.closing:
			return
		case <-tick.C:
		}
		spacious := s.checkDisk()
		if time.Since(examined) >= healthPeriod {
			s.checkHealth()
			examined = time.Now()
		}
		switch broken := s.faults.isBroken(); {
		case broken == 0 && time.Now().After(next):
			gap = 2 * diskPeriod
		case broken > 0 && spacious && time.Now().After(next):
			s.reopen(broken)
			next, gap = time.Now().Add(gap), min(2*gap, longestGap)
		}
	}
}

// diskFresh is how old the last look at the disk may be when an append comes.
const diskFresh = 20 * time.Millisecond

// lookAtDisk looks at the disk unless somebody did a moment ago: a disk can be
// filled between two ticks, and what is appended then cannot be projected.
func (s *Store) lookAtDisk() {
	if s.broker == nil {
		return
	}
	last, now := s.looked.Load(), time.Now().UnixNano()
	if now-last >= int64(diskFresh) && s.looked.CompareAndSwap(last, now) {
		s.checkDisk()
	}
}

// checkDisk notes whether the disk is low, and reports whether it is not.
func (s *Store) checkDisk() (spacious bool) {
	least := max(s.opts.MinFree(), leastFree)
	free, err := diskFree(s.opts.Dir)
	switch {
	case err != nil:
		err = fmt.Errorf("the data directory cannot be examined: %w", err)
	case free < least:
		err = fmt.Errorf("%w: %d MB free, DISK_MIN_FREE_MB asks for %d", errDiskLow, free>>20, s.opts.MinFree()>>20)
	}
	switch changed := s.faults.setLow(err); {
	case changed && err != nil:
		s.opts.Log.Error("writes are refused until there is space", "err", err)
	case changed:
		s.opts.Log.Info("there is space on the disk again", "freeBytes", free)
	}
	return err == nil
}

// checkHealth asks the broker what it found wrong: publishers are not told that
// a stream could not write. In a cluster it finds wrong what passes by itself,
// such as an election. While a stream is being made it takes it for one that
// could not be recovered, so it is asked afterwards.
func (s *Store) checkHealth() {
	if s.opts.Cluster.Listen != "" || s.faults.isBroken() > 0 || !s.making.TryLock() {
		return
	}
	defer s.making.Unlock()
	if err := errors.Join(s.broker.health(), s.gateFault()); err != nil {
		s.fail(err)
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
// starts it again on what the disk holds. Nothing acknowledged may be missing
// there: an append that was not fsynced was not acknowledged.
func (s *Store) reopen(broken uint64) {
	s.opts.Log.Warn("reopening the log after a failed write")
	s.broker.stop()
	s.broker.dropCaches()
	ctx, cancel := context.WithTimeout(context.Background(), brokerStartTimeout)
	defer cancel()
	err := s.broker.start()
	if err == nil {
		err = s.ensure(ctx)
	}
	if err == nil {
		err = s.examine(ctx)
	}
	if err != nil {
		s.opts.Log.Error("the log could not be reopened, trying again", "err", err)
		return
	}
	if !s.faults.mend(broken) || s.Writable() != nil {
		return
	}
	if err := s.sealTails(ctx); err != nil {
		s.fail(err)
		return
	}
	s.opts.Log.Info("the log is open again, writes are possible")
}

// examine compares a reopened log with what was durable before.
func (s *Store) examine(ctx context.Context) error {
	for _, log := range domain.Logs() {
		info, err := s.Info(ctx, log)
		if err != nil {
			return err
		}
		if was := s.Durable(log); info.Last < was {
			s.faults.setDamaged(s.shorter(log, info.Last, was))
		}
	}
	return nil
}
