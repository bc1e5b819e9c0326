package triggers

import (
	"context"

	"svc/commands/runtime"
	"svc/streams"
)

// see waits until a tree has ended, or stands where it goes on after a restart. One that
// broke off because of the platform is begun again. It reports whether it is over.
func (s *share) see(ctx context.Context, b *begun) bool {
	return s.trees.See(ctx, &streams.Tree{
		WorkspaceID: b.event.Source.WorkspaceID, CorrelationID: b.start.CorrelationID, EventID: b.event.ID, Automation: b.start.Program.Name,
		Unkept: !b.event.Options.Persisted(), Run: b.run, Attempt: b.start.Attempt,
		Make:   func(context.Context) (runtime.Start, bool, error) { return b.start, true, nil },
		Linger: func(ctx context.Context, try int, why error) error { return s.linger(ctx, try, b.event, why) },
	})
}

// become asks what became of a tree.
func (s *share) become(ctx context.Context, b *begun) (streams.Past, error) {
	return s.History.Begun(ctx, b.event.Source.WorkspaceID, b.start.CorrelationID, b.event.ID, b.start.Program.Name)
}
