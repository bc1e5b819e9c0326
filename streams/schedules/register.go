package schedules

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

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
	moved, stop := s.Models.Watch()
	defer stop()
	from := uint64(0)
	for again := true; ctx.Err() == nil; {
		if !again {
			select {
			case <-ctx.Done():
				return
			case <-moved:
			}
		}
		again = false
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
				again = true
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

// registerWorkspace registers and records the schedules of a workspace, unless that was done after the change. It costs
// as much as has changed since, except for the first time after a start.
func (s *partition) registerWorkspace(ctx context.Context, c change) error {
	s.mu.Lock()
	was := s.workspaces[c.workspaceID]
	s.mu.Unlock()
	if was == nil {
		was = newWorkspaceSchedules()
	}
	if was.at >= c.seq {
		return nil
	}
	at := s.Models.Position().State
	programSet, err := s.Programs.ProgramSet(ctx, c.workspaceID)
	if err != nil {
		return err
	}
	v := &registrationUpdate{partition: s, change: c, was: was, causes: map[uint64]domain.Recorded{}}
	if err := v.apply(ctx, programSet); err != nil {
		return err
	}
	if err := v.store(ctx, max(at, c.seq)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.workspaceSchedules(c.workspaceID)
	for _, a := range v.changed {
		s.updateAgenda(c.workspaceID, is, a)
	}
	is.at, is.isCombined, is.programs = max(at, c.seq), false, nil
	if programSet != nil {
		names := programSet.Schedules()
		is.programs = &names
	}
	return nil
}

// registrationUpdate is a change of the registration of a workspace.
type registrationUpdate struct {
	*partition
	change

	was     *workspaceSchedules
	changed []registeredAutomation // sorted by name; then those that are gone, without schedules
	causes  map[uint64]domain.Recorded
	commits []eventstore.Commit // its events
}

// apply computes what has changed, and records its changes and faults. There is no program set of a workspace that was
// deleted: then nothing is recorded.
func (v *registrationUpdate) apply(ctx context.Context, programSet *programs.ProgramSet) error {
	if programSet == nil {
		for _, name := range slices.Sorted(maps.Keys(v.was.automations)) {
			v.changed = append(v.changed, registeredAutomation{Name: name})
		}
		return nil
	}
	if err := v.compare(ctx, programSet); err != nil {
		return err
	}
	for i := range v.changed {
		if err := v.addScheduled(ctx, &v.changed[i]); err != nil {
			return err
		}
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

// compare compares the automations that may have changed with what is registered.
func (v *registrationUpdate) compare(ctx context.Context, programSet *programs.ProgramSet) error {
	r := v.Models.Reader()
	defer r.Close()
	var gone []registeredAutomation
	for _, name := range v.namesToCompare(programSet) {
		was, p := v.was.automations[name], programSet.ScheduledProgram(name)
		if p == nil {
			if was != nil {
				gone = append(gone, registeredAutomation{Name: name})
			}
			continue
		}
		is, err := v.readAutomation(ctx, r, p, was)
		if err != nil {
			return err
		}
		if was == nil || was.Saved != is.Saved || !slices.Equal(was.crons(), is.crons()) {
			v.changed = append(v.changed, is)
		}
	}
	v.changed = append(v.changed, gone...)
	return nil
}

// namesToCompare returns the names of the automations that may have changed since the registration: all of them when
// the program set of that time is not known.
func (v *registrationUpdate) namesToCompare(programSet *programs.ProgramSet) []string {
	if v.was.programs != nil {
		return programSet.Schedules().ChangedSince(*v.was.programs)
	}
	names := slices.AppendSeq(programSet.Schedules().ChangedSince(programs.Schedules{}), maps.Keys(v.was.automations))
	slices.Sort(names)
	return slices.Compact(names)
}

// readAutomation returns an automation as it is now. Schedules that it had keep the time since which they fire.
func (v *registrationUpdate) readAutomation(ctx context.Context, r projections.Reader, p *programs.Program, was *registeredAutomation) (is registeredAutomation, err error) {
	is.Name = p.Name
	if is.Saved, err = v.savedAt(r, p); err != nil {
		return is, err
	}
	for _, c := range p.When.Schedules {
		if _, twice := is.has(c.String()); twice {
			continue
		}
		known, ok := was.has(c.String())
		if !ok {
			if known, err = v.newSchedule(ctx, c, is.Saved); err != nil {
				return is, err
			}
		}
		is.Crons = append(is.Crons, known)
	}
	return is, nil
}

// savedAt returns the sequence of the change that created or updated an automation in the workspace.
func (v *registrationUpdate) savedAt(r projections.Reader, p *programs.Program) (seq uint64, err error) {
	path, scope := automationPrefix+p.Slug, p.Scope
	for ; scope.Parent != nil; scope = scope.Parent {
		path = "imports/" + scope.Slug
	}
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
	if saved > v.was.at {
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

// addScheduled adds the event with the schedules of an automation; it may have none any more.
func (v *registrationUpdate) addScheduled(ctx context.Context, is *registeredAutomation) error {
	ev := activity.Scheduled{Slug: is.Name, Schedules: is.crons(), Details: []activity.NextFiring{}}
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
	return v.addEvent(ctx, is.Name, v.originSeq(is.Saved), ev, "registered", strconv.FormatUint(v.was.at, 10), strings.Join(ev.Schedules, "\n"))
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

// store stores the automations that changed, and then how far the workspace is registered: what a crash leaves out is
// compared again.
func (v *registrationUpdate) store(ctx context.Context, at uint64) error {
	records := map[string]registeredAutomation{}
	if v.was.isCombined {
		for name, a := range v.was.automations {
			records[name] = *a
		}
	}
	for _, a := range v.changed {
		records[a.Name] = a
	}
	var g errgroup.Group
	g.SetLimit(maxAppending)
	for _, a := range records {
		g.Go(func() error { return v.storeAutomation(ctx, a) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	body, err := registration{WorkspaceID: v.workspaceID, At: at}.encode()
	if err == nil {
		_, err = v.Bucket.Put(ctx, registrationKey(v.workspaceID), body)
	}
	return err
}

// storeAutomation stores an automation. One without schedules is gone.
func (v *registrationUpdate) storeAutomation(ctx context.Context, a registeredAutomation) error {
	key := automationKey(v.workspaceID, a.Name)
	if len(a.Crons) == 0 {
		return v.Bucket.Delete(ctx, key)
	}
	body, err := json.Marshal(automationRecord{v.workspaceID, a})
	if err == nil {
		_, err = v.Bucket.Put(ctx, key, body)
	}
	return err
}

// registration is the record of how far a workspace is registered. Each of its automations has a record of its own
// (automationRecord). Earlier versions kept all of them here, compressed: they are divided when the workspace changes.
type registration struct {
	WorkspaceID string                 `json:"workspaceId"`
	At          uint64                 `json:"at"`                    // changes up to this sequence of the state log are registered
	Automations []registeredAutomation `json:"automations,omitempty"` // of earlier versions
}

// automationRecord is the record of an automation that has schedules.
type automationRecord struct {
	WorkspaceID string `json:"workspaceId"`
	registeredAutomation
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

// The folders of the records of a slot.
func registrationFolder(slot int) string { return "workspace/" + strconv.Itoa(slot) }
func automationFolder(slot int) string   { return "automation/" + strconv.Itoa(slot) }

func registrationKey(workspaceID string) string {
	return registrationFolder(slotOf(workspaceID)) + "/" + workspaceID
}

// automationKey has one segment for both names, as List needs it.
func automationKey(workspaceID, name string) string {
	sum := sha256.Sum256([]byte(workspaceID + "\x00" + name))
	return automationFolder(slotOf(workspaceID)) + "/" + hex.EncodeToString(sum[:16])
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

// changedAutomations lists the automations whose documents changed since the registration, by path.
func (v *registrationUpdate) changedAutomations() (items []projections.Item, err error) {
	r := v.Models.Reader()
	defer r.Close()
	add := func(item projections.Item) (bool, error) {
		if item.Updated > v.was.at {
			items = append(items, item)
		}
		return true, nil
	}
	if v.was.at > 0 {
		changed, known, err := projections.History{}.ChangedSince(r, v.workspaceID, v.was.at, ^uint64(0))
		if err == nil && known {
			err = visitAutomations(r, v.workspaceID, changed, add)
		}
		if err != nil || known {
			return items, err
		}
	}
	err = projections.Content{}.List(r, v.workspaceID, automationPrefix, add)
	return items, err
}

// automationPrefix is what the paths of automations begin with.
const automationPrefix = "automations/"

// visitAutomations visits the automations among changed documents that still exist.
func visitAutomations(r projections.Reader, workspaceID string, changed projections.Manifest, visit func(projections.Item) (bool, error)) error {
	for _, path := range slices.Sorted(maps.Keys(changed)) {
		if !strings.HasPrefix(path, automationPrefix) {
			continue
		}
		item, ok, err := projections.Content{}.Get(r, workspaceID, path)
		if err == nil && ok {
			_, err = visit(item)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
