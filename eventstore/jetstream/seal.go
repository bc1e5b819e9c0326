package jetstream

import (
	"context"
	"fmt"

	"github.com/oklog/ulid/v2"

	"svc/domain"
	"svc/eventstore"
)

// sealTails closes logs that end in the middle of an atomic batch. Only a power
// cut on a single replica leaves one; nobody was told of it. A reader cannot
// tell it from a batch still being written, until something follows it.
func (s *Store) sealTails(ctx context.Context) error {
	for _, log := range domain.Logs() {
		if err := s.sealTail(ctx, log); err != nil {
			return fmt.Errorf("seal the tail of %s: %w", log, err)
		}
	}
	return nil
}

func (s *Store) sealTail(ctx context.Context, log domain.Log) error {
	last, ok, err := s.get(ctx, string(log), getRequest{LastFor: rootOf(log) + ">"})
	if err != nil || !ok {
		return err
	}
	if _, seq, size := last.batch(); seq == size {
		return nil
	}
	s.opts.Log.Warn("the log ended in an incomplete commit, which is void", "log", log, "last", last.seq)
	commit := eventstore.Commit{
		Stream: domain.StreamID{Scope: domain.Platform},
		Facts:  []eventstore.Fact{{ID: ulid.Make().String(), Event: domain.Sealed{Last: last.seq}}},
	}
	if log == domain.State {
		// Each seal is an aggregate of its own: there is nothing to fold.
		commit.Stream = domain.StreamID{Scope: domain.Platform, Kind: "seal", ID: commit.Facts[0].ID}
	}
	_, err = s.commit(ctx, []eventstore.Commit{commit}) // a low disk has room for this
	return err
}
