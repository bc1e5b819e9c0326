package schedules

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/content"
	"svc/commands/programs"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/cron"
	"svc/domain/automation/value"
	"svc/domain/document"
	"svc/eventstore"
	"svc/projections"
)

// watch registers what changes, until ctx ends. At first it compares all workspaces with
// what is registered of them, whoever wrote that.
func (s *share) watch(ctx context.Context) {
	from := uint64(0)
	for ctx.Err() == nil {
		s.mu.Lock()
		seen := s.seen
		s.mu.Unlock()
		if at := s.Models.Position().State; at > from {
			if err := s.update(ctx, from, seen); err == nil {
				s.mu.Lock()
				s.seen, from = max(at, seen), at
				s.mu.Unlock()
			} else if ctx.Err() == nil {
				s.Log.WarnContext(ctx, "what changed could not be scheduled", "share", s.number, "err", err)
				rest(ctx)
			}
		}
		_ = commands.Sleep(ctx, watchEvery)
	}
}

// change says that something of a workspace changed, at a sequence of the state log.
type change struct {
	workspaceID string
	seq         uint64
}

// update registers the workspaces of the share that changed after a sequence, and those
// with instances of apps that did after another. One that cannot be registered keeps
// none of the others from it.
func (s *share) update(ctx context.Context, after, published uint64) error {
	list, err := s.changes(after, published)
	if err != nil {
		return err
	}
	var failed error
	for _, c := range list {
		if err := s.register(ctx, c); err != nil {
			failed = cmp.Or(failed, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return failed
}

// changes lists what changed: workspaces themselves, and those with instances of apps.
func (s *share) changes(after, published uint64) (list []change, err error) {
	read := projections.Schedules{}
	err = s.Models.View(func(r projections.Reader) error {
		add := func(id string, seq uint64) bool {
			if s.owns(id) {
				list = append(list, change{id, seq})
			}
			return true
		}
		if err := read.Changed(r, after, add); err != nil {
			return err
		}
		var apps []change
		err := read.Republished(r, published, func(slug string, seq uint64) bool {
			apps = append(apps, change{slug, seq})
			return true
		})
		for _, app := range apps {
			users, failed := read.Users(r, app.workspaceID)
			err = cmp.Or(err, failed)
			for _, id := range users {
				add(id, app.seq)
			}
		}
		return err
	})
	return list, err
}

// register registers what a workspace has scheduled, unless that was done since the
// change, and records it.
func (s *share) register(ctx context.Context, c change) error {
	s.mu.Lock()
	old := record{WorkspaceID: c.workspaceID}
	if p := s.plans[c.workspaceID]; p != nil {
		old = p.record
	}
	s.mu.Unlock()
	if old.At >= c.seq {
		return nil
	}
	at := s.Models.Position().State
	programSet, err := s.Programs.ProgramSet(ctx, c.workspaceID)
	if err != nil {
		return err
	}
	v := &revision{
		share: s, change: c, old: old, was: old.byName(), now: record{WorkspaceID: c.workspaceID, At: max(at, c.seq)},
		causes: map[uint64]domain.Recorded{},
	}
	if programSet != nil {
		if err := v.enact(ctx, programSet); err != nil {
			return err
		}
	}
	body, err := v.now.encode()
	if err == nil {
		_, err = s.Memory.Put(ctx, recordKey(c.workspaceID), body)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrange(v.now)
	return nil
}

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
func (v *revision) enact(ctx context.Context, programSet *programs.ProgramSet) error {
	if err := v.read(ctx, programSet); err != nil {
		return err
	}
	if err := v.tell(ctx); err != nil {
		return err
	}
	if err := v.faults(ctx, programSet); err != nil {
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
func (v *revision) read(ctx context.Context, programSet *programs.ProgramSet) error {
	for _, p := range programSet.Scheduled() {
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
	path, place := "automations/"+p.Slug, p.Scope
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

// record is what is registered of a workspace. It is kept compressed: a workspace may
// have thousands of schedules.
type record struct {
	WorkspaceID string      `json:"workspaceId"`
	At          uint64      `json:"at"` // changes up to this sequence of the state log are in it
	Automations []scheduled `json:"automations,omitempty"`
}

// scheduled is an automation that has schedules.
type scheduled struct {
	Name  string       `json:"name"`  // in the workspace
	Saved uint64       `json:"saved"` // the change of the document that brought it here: its own, or that of its app instance
	Crons []registered `json:"crons"`
}

// registered is a schedule.
type registered struct {
	Cron  string `json:"cron"`
	Since int64  `json:"since"` // when it was saved, in milliseconds
}

func (r registered) since() time.Time { return time.UnixMilli(r.Since) }

func recordKey(workspaceID string) string {
	return "workspace/" + strconv.Itoa(slotOf(workspaceID)) + "/" + workspaceID
}

func (r record) encode() ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(r); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

func readRecord(value []byte) (r record, err error) {
	z, err := gzip.NewReader(bytes.NewReader(value))
	if err == nil {
		err = json.NewDecoder(z).Decode(&r)
	}
	if err != nil {
		return r, fmt.Errorf("what is registered of a workspace does not read: %w", err)
	}
	return r, nil
}

// byName returns what is registered of each automation.
func (r record) byName() map[string]*scheduled {
	found := make(map[string]*scheduled, len(r.Automations))
	for i := range r.Automations {
		found[r.Automations[i].Name] = &r.Automations[i]
	}
	return found
}

// has returns a schedule that is registered; ok is false when it is not.
func (a *scheduled) has(text string) (r registered, ok bool) {
	if a == nil {
		return r, false
	}
	for _, c := range a.Crons {
		if c.Cron == text {
			return c, true
		}
	}
	return r, false
}

// crons are the schedules as they are written.
func (a *scheduled) crons() []string {
	list := []string{}
	if a != nil {
		for _, c := range a.Crons {
			list = append(list, c.Cron)
		}
	}
	return list
}

// faults tells of the schedules that cannot be registered, of the documents that have
// changed: imports bring them, nobody saves them otherwise. Those of apps are told where
// the apps are made.
func (v *revision) faults(ctx context.Context, programSet *programs.ProgramSet) error {
	items, err := v.changed()
	if err != nil {
		return err
	}
	for _, item := range items {
		doc, err := v.Document(ctx, v.workspaceID, content.Ref{Hash: item.Hash, Apart: item.Apart})
		if err != nil {
			return err
		}
		if err := v.fault(ctx, item, doc, programSet.Program(item.Slug())); err != nil {
			return err
		}
	}
	return nil
}

// changed lists the automations whose documents changed since what is registered.
func (v *revision) changed() (items []projections.Item, err error) {
	err = v.Models.View(func(r projections.Reader) error {
		return projections.Content{}.List(r, v.workspaceID, "automations/", func(item projections.Item) (bool, error) {
			if item.Updated > v.old.At {
				items = append(items, item)
			}
			return true, nil
		})
	})
	return items, err
}

// fault tells what is wrong with the schedules of a document: of one that keeps all of
// them, nothing is.
func (v *revision) fault(ctx context.Context, item projections.Item, doc *document.Map, p *programs.Program) error {
	whole, _ := value.From(doc).(*value.Object)
	list, _ := value.Walk(whole, "when", "schedules").([]any)
	if len(list) == 0 || whole.At("disabled") == true || p != nil && len(p.When.Schedules) == len(list) {
		return nil
	}
	_, faults := automation.Parse(doc, v.Rules())
	for _, f := range faults {
		if f.Name != automation.InvalidSchedule || f.Warning {
			continue
		}
		told := activity.Failure{Error: f.Name, Message: f.Message, Details: map[string]any{"automation": item.Slug(), "field": f.Field}}
		for i, text := range list {
			if f.Field == fmt.Sprintf("when.schedules[%d]", i) {
				told.Details["schedule"] = text
			}
		}
		if err := v.once(ctx, item.Slug(), item.Updated, told, "fault", strconv.FormatUint(item.Updated, 10), f.Field); err != nil {
			return err
		}
	}
	return nil
}
