package schedules

import (
	"context"

	"svc/commands"
	"svc/commands/runtime"
	"svc/streams"
)

// follow sees the tree of a firing to its end, and begins it again when it breaks off
// because of the platform. Start is how it begins; nil: what became of it is to be found
// out first. It reports whether it is over, or stands where any node goes on with it.
func (s *share) follow(ctx context.Context, f *firing, start *runtime.Start) (over bool) {
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return false // whoever has the share next begins it
	}
	t := &streams.Tree{
		WorkspaceID: f.workspaceID, CorrelationID: f.correlationID, EventID: f.id, Automation: f.automation,
		Make:   func(ctx context.Context) (runtime.Start, bool, error) { return s.make(ctx, f) },
		Linger: func(ctx context.Context, try int, why error) error { return s.linger(ctx, f, try, why) },
	}
	if start != nil {
		t.Run, t.Attempt = s.Runtime.Launch(*start), start.Attempt
	}
	return s.trees.See(ctx, t)
}

// make returns the tree that a firing starts now; ok is false when its automation is not
// there any more.
func (s *share) make(ctx context.Context, f *firing) (start runtime.Start, ok bool, err error) {
	house, program, err := s.find(ctx, f.workspaceID, f.automation)
	if err != nil || program == nil {
		return start, false, err
	}
	return s.startOf(f, house, program), true, nil
}

// linger waits before a tree is begun again, the longer the more often that was. It fails
// when ctx ends.
func (s *share) linger(ctx context.Context, f *firing, try int, why error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.Log.WarnContext(ctx, "what a schedule started broke off, and is begun again", "workspace", f.workspaceID, "automation", f.automation, "try", try+1, "err", why)
	return commands.Sleep(ctx, streams.Pause(try))
}
