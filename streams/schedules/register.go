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
	"svc/domain/document"
	"svc/domain/value"
	"svc/eventstore"
	"svc/projections"
	"svc/streams"
)

// registerChanges registers changes until ctx ends. At first it compares all workspaces with their registrations.
func (s *partition) registerChanges(ctx context.Context) {
	from := uint64(0)
	for ctx.Err() == nil {
		s.mu.Lock()
		seen := s.registeredSeq
		s.mu.Unlock()
		if at := s.Models.Position().State; at > from {
			if err := s.registerSince(ctx, from, seen); err == nil {
				s.mu.Lock()
				s.registeredSeq, from = max(at, seen), at
				s.mu.Unlock()
			} else if ctx.Err() == nil {
				s.Log.WarnContext(ctx, "changed schedules could not be registered", "partition", s.number, "err", err)
				streams.PauseAfterFault(ctx)
			}
		}
		_ = commands.Sleep(ctx, registerInterval)
	}
}

// change is a change of a workspace at a sequence of STATE.
type change struct {
	workspaceID string
	seq         uint64
}

// registerSince registers the workspaces of the partition that changed after a sequence, and those with instances of
// apps that were published after another. An error in one workspace does not stop the others.
func (s *partition) registerSince(ctx context.Context, after, published uint64) error {
	list, err := s.listChanges(after, published)
	if err != nil {
		return err
	}
	var failed error
	for _, c := range list {
		if err := s.registerWorkspace(ctx, c); err != nil {
			failed = cmp.Or(failed, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return failed
}

// listChanges lists the changed workspaces, and those with instances of changed apps.
func (s *partition) listChanges(after, published uint64) (list []change, err error) {
	read := projections.Schedules{}
	r := s.Models.Reader()
	defer r.Close()
	add := func(id string, seq uint64) bool {
		if s.ownsWorkspace(id) {
			list = append(list, change{id, seq})
		}
		return true
	}
	if err := read.Changed(r, after, add); err != nil {
		return list, err
	}
	var apps []change
	err = read.Republished(r, published, func(slug string, seq uint64) bool {
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
	return list, err
}

// registerWorkspace registers and records the schedules of a workspace, unless that was done after the change.
func (s *partition) registerWorkspace(ctx context.Context, c change) error {
	s.mu.Lock()
	old := registration{WorkspaceID: c.workspaceID}
	if p := s.workspaces[c.workspaceID]; p != nil {
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
	v := &registrationUpdate{
		partition: s, change: c, old: old, was: old.byName(), now: registration{WorkspaceID: c.workspaceID, At: max(at, c.seq)},
		causes: map[uint64]domain.Recorded{},
	}
	if programSet != nil {
		if err := v.apply(ctx, programSet); err != nil {
			return err
		}
	}
	body, err := v.now.encode()
	if err == nil {
		_, err = s.Bucket.Put(ctx, registrationKey(c.workspaceID), body)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updateAgenda(v.now)
	return nil
}

// registrationUpdate is a change of the registration of a workspace.
type registrationUpdate struct {
	*partition
	change

	old, now registration
	was      map[string]*registeredAutomation
	causes   map[uint64]domain.Recorded
	commits  []eventstore.Commit // its events
}

// apply computes the new registration, and records its changes and faults.
func (v *registrationUpdate) apply(ctx context.Context, programSet *programs.ProgramSet) error {
	if err := v.readSchedules(ctx, programSet); err != nil {
		return err
	}
	if err := v.addChanges(ctx); err != nil {
		return err
	}
	if err := v.addFaults(ctx, programSet); err != nil {
		return err
	}
	const most = 500 // events in one append
	for part := range slices.Chunk(v.commits, most) {
		if _, err := v.Store.Append(ctx, part...); err != nil {
			return err
		}
	}
	return nil
}

// readSchedules reads the schedules of the workspace.
func (v *registrationUpdate) readSchedules(ctx context.Context, programSet *programs.ProgramSet) error {
	for _, p := range programSet.Scheduled() {
		saved, err := v.savedAt(p)
		if err != nil {
			return err
		}
		is, was := registeredAutomation{Name: p.Name, Saved: saved}, v.was[p.Name]
		for _, c := range p.When.Schedules {
			if _, twice := is.has(c.String()); twice {
				continue
			}
			r, ok := was.has(c.String())
			if !ok {
				r, err = v.newSchedule(ctx, c, saved)
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

// savedAt returns the sequence of the change that created or updated an automation in the workspace.
func (v *registrationUpdate) savedAt(p *programs.Program) (seq uint64, err error) {
	path, scope := "automations/"+p.Slug, p.Scope
	for ; scope.Parent != nil; scope = scope.Parent {
		path = "imports/" + scope.Slug
	}
	r := v.Models.Reader()
	defer r.Close()
	item, _, err := projections.Content{}.Get(r, v.workspaceID, path)
	return item.Updated, err
}

// newSchedule returns a new schedule, with the time from which on it fires.
func (v *registrationUpdate) newSchedule(ctx context.Context, c *cron.Schedule, saved uint64) (registeredSchedule, error) {
	cause, err := v.causeEvent(ctx, v.originSeq(saved))
	return registeredSchedule{Cron: c.String(), Since: cause.At.UnixMilli()}, err
}

// originSeq returns the sequence of what changed an automation: its document, or, if that is older than the
// registration, the change of the workspace or app.
func (v *registrationUpdate) originSeq(saved uint64) uint64 {
	if saved > v.old.At {
		return saved
	}
	return v.seq
}

// causeEvent returns the event at a sequence of STATE; a missing event has the current time.
func (v *registrationUpdate) causeEvent(ctx context.Context, seq uint64) (domain.Recorded, error) {
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

// addChanges adds an event for each automation whose schedules changed.
func (v *registrationUpdate) addChanges(ctx context.Context) error {
	is := v.now.byName()
	for i := range v.now.Automations {
		a := &v.now.Automations[i]
		was := v.was[a.Name]
		if was != nil && was.Saved == a.Saved && slices.Equal(was.crons(), a.crons()) {
			continue
		}
		if err := v.addScheduled(ctx, a.Name, v.originSeq(a.Saved), a); err != nil {
			return err
		}
	}
	for _, was := range v.old.Automations {
		if is[was.Name] != nil {
			continue
		}
		if err := v.addScheduled(ctx, was.Name, v.seq, &registeredAutomation{}); err != nil {
			return err
		}
	}
	return nil
}

// addScheduled adds the event with the schedules of an automation since a change; there may be none any more.
func (v *registrationUpdate) addScheduled(ctx context.Context, name string, seq uint64, is *registeredAutomation) error {
	ev := activity.Scheduled{Slug: name, Schedules: is.crons(), Details: []activity.NextFiring{}}
	zone, now := v.Zone(), v.Now()
	for _, text := range ev.Schedules {
		next := activity.NextFiring{Cron: text}
		if times, err := cron.Parse(text); err == nil {
			if at, ok := times.Next(now, zone); ok {
				next.Next = domain.FormatTime(at)
			}
		}
		ev.Details = append(ev.Details, next)
	}
	return v.addEvent(ctx, name, seq, ev, "registered", strconv.FormatUint(v.old.At, 10), strings.Join(ev.Schedules, "\n"))
}

// addEvent adds an event of an automation, caused by a change, unless it is on the log already: every node derives
// the same id for the same change.
func (v *registrationUpdate) addEvent(ctx context.Context, name string, seq uint64, ev domain.Event, of ...string) error {
	cause, err := v.causeEvent(ctx, seq)
	if err != nil {
		return err
	}
	id := deriveID(cause.At, append([]string{v.workspaceID, name}, of...)...)
	if _, known, err := v.findEvent(v.workspaceID, id); err != nil || known {
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

// registration is what is registered of a workspace. It is kept compressed: a workspace may
// have thousands of schedules.
type registration struct {
	WorkspaceID string                 `json:"workspaceId"`
	At          uint64                 `json:"at"` // changes up to this sequence of the state log are in it
	Automations []registeredAutomation `json:"automations,omitempty"`
}

// registeredAutomation is an automation that has schedules.
type registeredAutomation struct {
	Name  string               `json:"name"`  // in the workspace
	Saved uint64               `json:"saved"` // the change of the document that brought it here: its own, or that of its app instance
	Crons []registeredSchedule `json:"crons"`
}

// registeredSchedule is a schedule.
type registeredSchedule struct {
	Cron  string `json:"cron"`
	Since int64  `json:"since"` // when it was saved, in milliseconds
}

func (r registeredSchedule) since() time.Time { return time.UnixMilli(r.Since) }

func registrationKey(workspaceID string) string {
	return "workspace/" + strconv.Itoa(slotOf(workspaceID)) + "/" + workspaceID
}

func (r registration) encode() ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(r); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

func decodeRegistration(value []byte) (r registration, err error) {
	z, err := gzip.NewReader(bytes.NewReader(value))
	if err == nil {
		err = json.NewDecoder(z).Decode(&r)
	}
	if err != nil {
		return r, fmt.Errorf("read the registration of a workspace: %w", err)
	}
	return r, nil
}

// byName returns the registered automations by name.
func (r registration) byName() map[string]*registeredAutomation {
	found := make(map[string]*registeredAutomation, len(r.Automations))
	for i := range r.Automations {
		found[r.Automations[i].Name] = &r.Automations[i]
	}
	return found
}

// has returns a registered schedule; ok is false when there is none.
func (a *registeredAutomation) has(text string) (r registeredSchedule, ok bool) {
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

// crons returns the texts of the schedules.
func (a *registeredAutomation) crons() []string {
	list := []string{}
	if a != nil {
		for _, c := range a.Crons {
			list = append(list, c.Cron)
		}
	}
	return list
}

// addFaults adds an event for each schedule that cannot be registered, of the documents that have changed. They come
// from imports: other writes are validated. Faults of apps are recorded where the apps are made.
func (v *registrationUpdate) addFaults(ctx context.Context, programSet *programs.ProgramSet) error {
	items, err := v.changedAutomations()
	if err != nil {
		return err
	}
	for _, item := range items {
		doc, err := v.Document(ctx, v.workspaceID, content.Ref{Hash: item.Hash, Apart: item.Apart})
		if err != nil {
			return err
		}
		if err := v.addFaultsOf(ctx, item, doc, programSet.Program(item.Slug())); err != nil {
			return err
		}
	}
	return nil
}

// changedAutomations lists the automations whose documents changed since the registration.
func (v *registrationUpdate) changedAutomations() (items []projections.Item, err error) {
	r := v.Models.Reader()
	defer r.Close()
	err = projections.Content{}.List(r, v.workspaceID, "automations/", func(item projections.Item) (bool, error) {
		if item.Updated > v.old.At {
			items = append(items, item)
		}
		return true, nil
	})
	return items, err
}

// addFaultsOf adds the faults of the schedules of a document. A document with all its schedules registered has none.
func (v *registrationUpdate) addFaultsOf(ctx context.Context, item projections.Item, doc *document.Map, p *programs.Program) error {
	list, _ := value.Walk(doc, "when", "schedules").([]any)
	if len(list) == 0 || doc.At("disabled") == true || p != nil && len(p.When.Schedules) == len(list) {
		return nil
	}
	_, faults := automation.Parse(doc, v.Rules())
	for _, f := range faults {
		if f.Name != automation.InvalidSchedule || f.Warning {
			continue
		}
		ev := activity.Failure{Error: f.Name, Message: f.Message, Details: map[string]any{"automation": item.Slug(), "field": f.Field}}
		for i, text := range list {
			if f.Field == fmt.Sprintf("when.schedules[%d]", i) {
				ev.Details["schedule"] = text
			}
		}
		if err := v.addEvent(ctx, item.Slug(), item.Updated, ev, "fault", strconv.FormatUint(item.Updated, 10), f.Field); err != nil {
			return err
		}
	}
	return nil
}
