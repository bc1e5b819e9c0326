package streams

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"svc/commands"
	"svc/eventstore"
)

// DefaultPresenceLease is how long a node counts as alive after its last heartbeat.
const DefaultPresenceLease = 15 * time.Second

// Runs are the runs of this node. It is a *runtime.Runtime.
type Runs interface {
	// CurrentProcess is the id that other nodes know this one by; "" while its runs are interrupted.
	CurrentProcess() string
	BreakOffAll()
	Reopen(process string)
}

// Presence lets the nodes know of each other. Each one writes heartbeats while trees may run
// there; the trees of a node without a heartbeat are taken over. Every field but Bucket is
// required.
type Presence struct {
	Bucket  eventstore.Bucket // of heartbeats, drops them after Lease; nil: there are no other nodes
	Lease   time.Duration     // how long a heartbeat is valid
	Runtime Runs
	// NewProcess returns an id that this node never had before.
	NewProcess func() string
	Log        *slog.Logger

	announced uint64 // revision of the first heartbeat
}

// Announce writes the first heartbeat of this process. Run must follow, and Withdraw at the
// end.
func (p *Presence) Announce(ctx context.Context) (err error) {
	p.announced, err = p.beat(ctx, p.Runtime.CurrentProcess(), 0)
	return err
}

// Withdraw deletes the heartbeat. If that fails, the other nodes notice at the end of the
// lease that this one is gone.
func (p *Presence) Withdraw(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.Lease/6)
	defer cancel()
	if err := p.Bucket.Delete(ctx, p.Runtime.CurrentProcess()); err != nil {
		p.Log.DebugContext(ctx, "the heartbeat of this node was not deleted: it expires", "err", err)
	}
}

// errExpired says that the last heartbeat has expired: the other nodes consider this one
// lost.
var errExpired = errors.New("the last heartbeat has expired")

// beat writes the heartbeat that follows the one of a revision; 0: the first of a process.
// It fails with errExpired when that is gone, as after this node was suspended: other nodes
// may have taken over what runs here.
func (p *Presence) beat(ctx context.Context, process string, after uint64) (revision uint64, err error) {
	now := []byte(time.Now().UTC().Format(time.RFC3339Nano))
	if after == 0 {
		return p.Bucket.Put(ctx, process, now)
	}
	revision, err = p.Bucket.Update(ctx, process, now, after)
	if !errors.Is(err, eventstore.ErrConflict) && !errors.Is(err, eventstore.ErrNoKey) {
		return revision, err
	}
	_, latest, err := p.Bucket.Get(ctx, process) // an attempt whose answer was lost
	if errors.Is(err, eventstore.ErrNoKey) {
		return 0, errExpired
	}
	if err != nil {
		return 0, err
	}
	return p.Bucket.Update(ctx, process, now, latest)
}

// Run writes heartbeats until ctx ends. When the last one is so old that the other nodes are
// about to take over what runs here, or already do, the runs are interrupted, and the node
// continues as another process.
func (p *Presence) Run(ctx context.Context) error {
	process, revision, last := p.Runtime.CurrentProcess(), p.announced, time.Now()
	for {
		wait := p.Lease / 3
		now := time.Now()
		trying, cancel := context.WithTimeout(ctx, p.Lease/6)
		next, err := p.beat(trying, process, revision)
		cancel()
		switch {
		case err == nil:
			last, revision = now, next
			if p.Runtime.CurrentProcess() == "" {
				p.Runtime.Reopen(process)
				p.Log.InfoContext(ctx, "the other nodes know of this one again")
			}
		case ctx.Err() == nil:
			p.Log.WarnContext(ctx, "the heartbeat of this node was not written", "err", err)
			wait = p.Lease / 12
		}
		if (errors.Is(err, errExpired) || time.Since(last) >= p.Lease*2/3) && p.Runtime.CurrentProcess() != "" {
			p.Log.ErrorContext(ctx, "the other nodes take this one for lost: its runs were interrupted, and continue there")
			p.Runtime.BreakOffAll()
			process, revision = p.NewProcess(), 0
		}
		if err := commands.Sleep(ctx, wait); err != nil {
			return nil //nolint:nilerr // the node stops
		}
	}
}

// IsGone reports whether the process that runs a tree is gone. Without other nodes that is
// every process but this one.
func (p *Presence) IsGone(ctx context.Context, process string) (bool, error) {
	if process == p.Runtime.CurrentProcess() {
		return false, nil
	}
	if p.Bucket == nil {
		return true, nil
	}
	_, _, err := p.Bucket.Get(ctx, process)
	if errors.Is(err, eventstore.ErrNoKey) {
		return true, nil
	}
	return false, err
}
