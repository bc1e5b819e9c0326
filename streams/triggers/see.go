package triggers

import (
	"context"
	"errors"
	"time"

	"svc/commands"
	"svc/commands/runtime"
	"svc/eventstore"
	"svc/streams"
)

// see waits until a tree has ended, or stands where it goes on after a restart. One that
// broke off because of the platform is begun again. It reports whether it is over.
func (s *share) see(ctx context.Context, b *begun) bool {
	if b.run == nil && !s.again(ctx, b) {
		return false
	}
	for try := 0; b.run != nil; try++ {
		if !b.run.Settled(ctx, farewell) {
			s.giveUp(b)
			return false
		}
		if !isClosed(b.run.Done()) {
			return true // any node goes on with it
		}
		_, err := b.run.Outcome()
		if err == nil {
			return true
		}
		b.run, b.broke = nil, err
		if errors.Is(err, runtime.ErrClosing) || s.linger(ctx, try, b.event, err) != nil || !s.again(ctx, b) {
			return false
		}
	}
	return true
}

// again begins a tree once more that was begun before and did not end, as soon as no node
// that is there runs it. It reports whether that is decided; one that ended meanwhile is
// left without a run.
func (s *share) again(ctx context.Context, b *begun) bool {
	for {
		past, err := s.past(ctx, b)
		switch {
		case err != nil && ctx.Err() == nil:
			s.Log.WarnContext(ctx, "what became of a tree could not be found out", "event", b.event.ID, "automation", b.start.Program.Name, "err", err)
		case err == nil && past.Over:
			return true
		case err == nil && !past.Running:
			b.prepare(past.Attempts, s.MaxAttempts())
			b.run = s.Runtime.Launch(b.start)
			return true
		}
		if commands.Sleep(ctx, pause) != nil {
			return false
		}
	}
}

// past finds out what became of a tree. One that broke off here runs nowhere.
func (s *share) past(ctx context.Context, b *begun) (streams.Past, error) {
	if !b.event.Options.Persisted() {
		return streams.Past{}, nil
	}
	return streams.Surely(ctx, s.Fresh, func() (streams.Past, error) {
		past, err := s.become(ctx, b)
		past.Running = past.Running && b.broke == nil
		return past, err
	})
}

// become asks what became of a tree.
func (s *share) become(ctx context.Context, b *begun) (streams.Past, error) {
	return s.History.Begun(ctx, b.event.Source.WorkspaceID, b.start.CorrelationID, b.event.ID, b.start.Program.Name)
}

// prepare makes a tree ready that was begun so often, of so many times that it may be. A
// log that takes nothing is no fault of the tree.
func (b *begun) prepare(attempts, most int) {
	next := attempts + 1
	if b.broke != nil && !errors.Is(b.broke, eventstore.ErrUnavailable) {
		next = max(next, b.start.Attempt+1)
	}
	b.start.Attempt, b.start.Interrupted = next, next > most
	if attempts > 0 {
		b.start.Facts = nil // they are on the log
	}
}

// farewell is how long a node that gives its share up lets trees come to their end first.
const farewell = 2 * time.Second

// giveUp breaks a tree off that the log knows nothing of yet: whoever takes the share over
// begins it as if it never had been. For another one they wait, and one whose event is not
// kept nobody begins again.
func (s *share) giveUp(b *begun) {
	if !b.event.Options.Persisted() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	err := s.Fresh(ctx)
	if err == nil {
		var past streams.Past
		if past, err = s.become(ctx, b); err == nil && (past.Over || past.Attempts >= b.start.Attempt) {
			return
		}
	}
	b.run.Break()
	select {
	case <-b.run.Done():
	case <-ctx.Done():
		s.Log.WarnContext(ctx, "a tree goes on although its share was given up", "event", b.event.ID, "automation", b.start.Program.Name, "err", err)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
