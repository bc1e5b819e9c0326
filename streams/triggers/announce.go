package triggers

import (
	"context"
	"slices"

	"svc/domain"
	"svc/domain/feed"
	"svc/streams"
)

// mostHearings is in how many workspaces it is looked at once who hears of an app: its
// instances may be everywhere.
const mostHearings = 8

// announce lets the workspaces of the share hear of an event about an app, which is
// recorded on the platform: who publishes the app, and who has instances of it. The caller
// holds the lock.
func (s *share) announce(ctx context.Context, e *feed.Event, at domain.Position) error {
	publisher, users, err := s.Audience(appOf(e))
	if err != nil {
		return err
	}
	all := append(slices.Clone(users), publisher, e.Source.WorkspaceID)
	slices.Sort(all)
	for _, id := range slices.Compact(all) {
		if id == "" || !s.mine(s.number, id) {
			continue
		}
		m := &streams.Mark{At: at}
		s.ledger.Put(m)
		s.join(ctx, s.place(id), &arrival{event: toldIn(e, id, id == publisher), mark: m})
	}
	return nil
}

// toldIn is an event about an app as a workspace is told of it. Who published the app is
// nobody's business but theirs: elsewhere nothing acts for them.
func toldIn(e *feed.Event, workspaceID string, own bool) *feed.Event {
	if workspaceID == e.Source.WorkspaceID {
		return e
	}
	told := &feed.Event{
		ID: e.ID, Type: e.Type, At: e.At, Seq: e.Seq, Log: e.Log, Payload: e.Payload, Source: e.Source, Options: e.Options, Actor: e.Actor, Hides: e.Hides,
	}
	told.Source.WorkspaceID = workspaceID
	if !own {
		m := e.Source.Meta
		told.Actor, told.Source.Meta = nil, domain.Meta{
			CorrelationID: m.CorrelationID, TraceID: m.TraceID, AutomationDepth: m.AutomationDepth, ServiceTopic: m.ServiceTopic, Host: m.Host,
		}
	}
	return told
}

// appOf is the slug of the app that an event is about.
func appOf(e *feed.Event) string {
	for _, path := range []string{"payload.app.slug", "payload.appSlug"} {
		for _, v := range e.Values(path) {
			if slug, ok := v.(string); ok {
				return slug
			}
		}
	}
	return ""
}
