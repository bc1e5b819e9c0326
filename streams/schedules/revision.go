package schedules

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"svc/commands/programs"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation/cron"
	"svc/eventstore"
	"svc/projections"
)

// revision is how what is registered of a workspace changes.
type revision struct {
	*share
	change

	old, now record
	was      map[string]*scheduled
	causes   map[uint64]domain.Recorded
	commits  []eventstore.Commit // what is told of it
}

// enact finds out what is to be registered, and records what is so otherwise than before
// and what cannot be.
func (v *revision) enact(ctx context.Context, house *programs.House) error {
	if err := v.read(ctx, house); err != nil {
		return err
	}
	if err := v.tell(ctx); err != nil {
		return err
	}
	if err := v.faults(ctx, house); err != nil {
		return err
	}
	const most = 500 // events at once
	for part := range slices.Chunk(v.commits, most) {
		if _, err := v.Store.Append(ctx, part...); err != nil {
			return err
		}
	}
	return nil
}

// read finds out what the workspace has scheduled now.
func (v *revision) read(ctx context.Context, house *programs.House) error {
	for _, p := range house.Scheduled() {
		saved, err := v.savedAt(p)
		if err != nil {
			return err
		}
		is, was := scheduled{Name: p.Name, Saved: saved}, v.was[p.Name]
		for _, c := range p.When.Schedules {
			if _, twice := is.has(c.String()); twice {
				continue
			}
			r, ok := was.has(c.String())
			if !ok {
				r, err = v.since(ctx, c, saved)
			}
			if err != nil {
				return err
			}
			is.Crons = append(is.Crons, r)
		}
		v.now.Automations = append(v.now.Automations, is)
	}
	return nil
}

// savedAt returns the sequence of the change that brought an automation here.
func (v *revision) savedAt(p *programs.Program) (seq uint64, err error) {
	path, place := "automations/"+p.Slug, p.Place
	for ; place.Parent != nil; place = place.Parent {
		path = "imports/" + place.Slug
	}
	err = v.Models.View(func(r projections.Reader) error {
		item, _, err := projections.Content{}.Get(r, v.workspaceID, path)
		seq = item.Updated
		return err
	})
	return seq, err
}

// since returns a schedule that is new, with the time from which on it counts.
func (v *revision) since(ctx context.Context, c *cron.Schedule, saved uint64) (registered, error) {
	cause, err := v.cause(ctx, v.origin(saved))
	return registered{Cron: c.String(), Since: cause.At.UnixMilli()}, err
}

// origin returns the sequence of what changed an automation: its document, or, if that
// is older than what is registered, the workspace or the app that came back or went.
func (v *revision) origin(saved uint64) uint64 {
	if saved > v.old.At {
		return saved
	}
	return v.seq
}

// cause returns the event at a sequence of the state log; what is not there counts from
// now.
func (v *revision) cause(ctx context.Context, seq uint64) (domain.Recorded, error) {
	if have, ok := v.causes[seq]; ok {
		return have, nil
	}
	ev, ok, err := v.Store.Read(ctx, domain.State, seq)
	if err != nil {
		return ev, err
	}
	if !ok {
		ev.At = v.Now()
	}
	v.causes[seq] = ev
	return ev, nil
}

// tell gathers what is registered otherwise than before.
func (v *revision) tell(ctx context.Context) error {
	is := v.now.byName()
	for i := range v.now.Automations {
		a := &v.now.Automations[i]
		was := v.was[a.Name]
		if was != nil && was.Saved == a.Saved && slices.Equal(was.crons(), a.crons()) {
			continue
		}
		if err := v.announce(ctx, a.Name, v.origin(a.Saved), a); err != nil {
			return err
		}
	}
	for _, was := range v.old.Automations {
		if is[was.Name] != nil {
			continue
		}
		if err := v.announce(ctx, was.Name, v.seq, &scheduled{}); err != nil {
			return err
		}
	}
	return nil
}

// announce tells what an automation has scheduled since a change: nothing any more,
// perhaps.
func (v *revision) announce(ctx context.Context, name string, seq uint64, is *scheduled) error {
	told := activity.Scheduled{Slug: name, Schedules: is.crons(), Details: []activity.NextFiring{}}
	zone, now := v.Zone(), v.Now()
	for _, text := range told.Schedules {
		next := activity.NextFiring{Cron: text}
		if times, err := cron.Parse(text); err == nil {
			if at, ok := times.Next(now, zone); ok {
				next.Next = stamp(at)
			}
		}
		told.Details = append(told.Details, next)
	}
	return v.once(ctx, name, seq, told, "registered", strconv.FormatUint(v.old.At, 10), strings.Join(told.Schedules, "\n"))
}

// once gathers an event of an automation because of a change, unless it is on the log
// already: whoever registers the same change derives the same id.
func (v *revision) once(ctx context.Context, name string, seq uint64, ev domain.Event, of ...string) error {
	cause, err := v.cause(ctx, seq)
	if err != nil {
		return err
	}
	id := idOf(cause.At, append([]string{v.workspaceID, name}, of...)...)
	if _, known, err := v.known(v.workspaceID, id); err != nil || known {
		return err
	}
	m := cause.Meta
	v.commits = append(v.commits, eventstore.Commit{
		Stream: domain.StreamID{Scope: v.workspaceID}, Facts: []eventstore.Fact{{ID: id, Event: ev}},
		Meta: domain.Meta{
			UserID: m.UserID, SessionID: m.SessionID, CorrelationID: m.CorrelationID, TraceID: m.TraceID, IP: m.IP,
			AutomationSlug: name, AutomationDepth: m.AutomationDepth, Host: v.Host,
		},
	})
	return nil
}
