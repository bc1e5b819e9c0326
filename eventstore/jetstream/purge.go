package jetstream

import (
	"context"
	"fmt"
	"time"

	"svc/domain"
)

// purgeWait bounds one purge: the broker reads every block that may hold a message
// to be purged.
const purgeWait = 10 * time.Minute

// PurgeActivity erases the activity events before a sequence: those of a workspace, or
// of all when that is empty; of one type, or of any. When it returns nil no loss of
// power brings them back. The last event of the log stays in any case: it tells how
// far the log once reached.
func (s *Store) PurgeActivity(ctx context.Context, workspaceID, eventType string, below uint64) error {
	last, err := s.lastOf(ctx, string(domain.Activity))
	if err != nil {
		return err
	}
	subject := activityRoot + anyOr(workspaceID) + ".>"
	if eventType != "" {
		subject = activityRoot + anyOr(workspaceID) + "." + typeTokens(eventType)
	}
	return s.purge(ctx, string(domain.Activity), subject, min(below, last))
}

// anyOr is the token of a workspace in a filter, where "" stands for all of them.
func anyOr(workspaceID string) string {
	if workspaceID == "" {
		return "*"
	}
	return token(workspaceID)
}

// purge erases the messages of subject before a sequence, if there are any, and waits
// until they are gone from the disk.
func (s *Store) purge(ctx context.Context, stream, subject string, below uint64) error {
	if err := s.Writable(); err != nil {
		return err
	}
	first, ok, err := s.get(ctx, stream, getRequest{Seq: 1, NextFor: subject})
	if err != nil || !ok || first.seq >= below {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, purgeWait)
	defer cancel()
	if err := s.purgeBelow(ctx, stream, subject, below); err != nil {
		return err
	}
	if g := s.gate(stream); g != nil {
		return gateError(g.flush(ctx))
	}
	return nil
}

// flush waits for an fsync that begins from now on.
func (g *gate) flush(ctx context.Context) error {
	for range 2 { // the first one may have begun already
		r, err := g.join(0)
		if err != nil {
			return err
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// Since returns the sequence before which every event of a log is older than a time.
func (s *Store) Since(ctx context.Context, log domain.Log, at time.Time) (uint64, error) {
	return s.since(ctx, string(log), rootOf(log)+">", at)
}

// since returns the sequence before which every message of subject is older than at.
func (s *Store) since(ctx context.Context, stream, subject string, at time.Time) (uint64, error) {
	last, err := s.lastOf(ctx, stream)
	if err != nil {
		return 0, err
	}
	low, high := uint64(1), last+1 // what is before low is older, what is from high on is not
	for low < high {
		middle := low + (high-low)/2
		m, ok, err := s.get(ctx, stream, getRequest{Seq: middle, NextFor: subject})
		if err != nil {
			return 0, err
		}
		if ok && m.seq < high && m.at.Before(at) {
			low = m.seq + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// Extent is how much there is of something, and the sequence before which all of it is.
type Extent struct{ Count, Bytes, Below uint64 }

// PayloadsBefore tells how much a workspace, or all when it is empty, has of payloads
// that are kept apart and are older than a time.
func (s *Store) PayloadsBefore(ctx context.Context, workspaceID string, at time.Time) (e Extent, err error) {
	subject := payloadsRoot + anyOr(workspaceID) + ".>"
	if e.Below, err = s.since(ctx, streamPayloads, subject, at); err != nil {
		return e, err
	}
	for next, more := uint64(1), true; more; {
		var msgs []stored
		if msgs, more, err = s.fetch(ctx, streamPayloads, subject, next, loadBatch); err != nil {
			return e, err
		}
		for _, m := range msgs {
			if m.seq >= e.Below {
				return e, nil
			}
			e.Count, e.Bytes, next = e.Count+1, e.Bytes+uint64(len(m.data)), m.seq+1
		}
	}
	return e, nil
}

// PurgePayloads erases the payloads of a workspace, or of all when it is empty, before
// a sequence.
func (s *Store) PurgePayloads(ctx context.Context, workspaceID string, below uint64) error {
	return s.purge(ctx, streamPayloads, payloadsRoot+anyOr(workspaceID)+".>", below)
}

// apart are the streams that hold what belongs to a workspace and is no event.
var apart = map[string]string{streamPayloads: payloadsRoot, streamData: dataRoot}

// HoldsApart reports whether a workspace has payloads or user data.
func (s *Store) HoldsApart(ctx context.Context, workspaceID string) (bool, error) {
	for stream, root := range apart {
		_, ok, err := s.get(ctx, stream, getRequest{Seq: 1, NextFor: root + token(workspaceID) + ".>"})
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// EraseApart erases the payloads and the user data of a workspace.
func (s *Store) EraseApart(ctx context.Context, workspaceID string) error {
	for stream, root := range apart {
		if err := s.purge(ctx, stream, root+token(workspaceID)+".>", ^uint64(0)); err != nil {
			return fmt.Errorf("erase %s of workspace %s: %w", stream, workspaceID, err)
		}
	}
	return nil
}
