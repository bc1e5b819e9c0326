package schedules

import (
	"container/heap"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/programs"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation/cron"
	"svc/projections"
	"svc/streams"
)

// partition is a part of all workspaces, which one node processes.
type partition struct {
	*Schedules

	number int

	mu            sync.Mutex
	acquiredAt    time.Time // when this node acquired it
	firesAfter    time.Time // schedules fire for times after it: where the previous holder stopped
	checkedAt     time.Time // everything due until then has been started
	zone          *time.Location
	registeredSeq uint64 // changes up to this sequence are registered
	savedSeq      uint64 // the saved value of it
	workspaces    map[string]*workspaceSchedules
	due           agenda
	openFirings   map[string]*firing // firings that are not done, by id

	added     chan struct{}  // a schedule was added to the agenda
	workers   sync.WaitGroup // goroutines to wait for
	appending chan struct{}  // limits concurrent appends
	running   chan struct{}  // limits running trees
}

// Limits of a partition: of concurrent work, and how often the agenda and the changes are checked and the cursor is
// saved.
const (
	maxAppending     = 64
	maxRunning       = 5_000
	checkInterval    = 250 * time.Millisecond
	idleInterval     = time.Minute // of checks of an agenda without schedules
	registerInterval = 100 * time.Millisecond
	saveInterval     = 5 * time.Second
	saveTimeout      = 2 * time.Second
	// clockJump is how far the clock must go back for the next times to be computed again.
	clockJump = time.Second
)

func newPartition(s *Schedules, number int) *partition {
	return &partition{
		Schedules: s, number: number, added: make(chan struct{}, 1), appending: make(chan struct{}, maxAppending), running: make(chan struct{}, maxRunning),
	}
}

// ownSlots returns the slots of the partition.
func (s *partition) ownSlots() (list []int) {
	for slot := range slots {
		if s.shares == 1 || slot == s.number {
			list = append(list, slot)
		}
	}
	return list
}

func (s *partition) ownsWorkspace(workspaceID string) bool {
	return s.shares == 1 || slotOf(workspaceID) == s.number
}

// serve processes the partition while this node holds it, until ctx ends.
func (s *partition) serve(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.Hold(ctx, "schedules/"+strconv.Itoa(s.number), s.run)
		if ctx.Err() != nil {
			return
		}
		s.Log.WarnContext(ctx, "firing schedules stopped and is restarted", "partition", s.number, "err", err)
		streams.PauseAfterFault(ctx)
	}
}

// run processes the partition from its cursor on, until ctx ends.
func (s *partition) run(ctx context.Context) error {
	after, err := s.load(ctx)
	if err != nil {
		return err
	}
	if err := s.resumeFirings(ctx, after); err != nil {
		return err
	}
	s.save() // so that the next holder knows
	s.workers.Go(func() { s.registerChanges(ctx) })
	s.workers.Go(func() { s.saveLoop(ctx) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		timer.Reset(s.fireDue(ctx, s.Now()))
		select {
		case <-ctx.Done():
		case <-s.added:
		case <-timer.C:
		}
	}
	s.workers.Wait()
	s.save()
	return context.Cause(ctx)
}

// partitionCursor is the saved cursor of a partition.
type partitionCursor struct {
	Looked time.Time `json:"looked"`
	After  uint64    `json:"after"` // firings up to this sequence of ACTIVITY are done
	Seen   uint64    `json:"seen"`  // changes up to this sequence of STATE are registered
}

// Min returns the earlier values.
func (s partitionCursor) Min(other partitionCursor) partitionCursor {
	if other.Looked.Before(s.Looked) {
		s.Looked = other.Looked
	}
	s.After, s.Seen = min(s.After, other.After), min(s.Seen, other.Seen)
	return s
}

// Max returns the later values.
func (s partitionCursor) Max(other partitionCursor) partitionCursor {
	if other.Looked.After(s.Looked) {
		s.Looked = other.Looked
	}
	s.After, s.Seen = max(s.After, other.After), max(s.Seen, other.Seen)
	return s
}

// load reads the cursor of the partition. A new one begins now.
func (s *partition) load(ctx context.Context) (after uint64, err error) {
	if err := s.Fresh(ctx); err != nil {
		return 0, err
	}
	now := s.Now()
	was, ever, _, err := streams.LoadCursor(ctx, s.Bucket, s.shares, s.number, func(value []byte) (is partitionCursor, err error) {
		err = json.Unmarshal(value, &is)
		return is, err
	})
	if err != nil {
		return 0, fmt.Errorf("read the cursor of schedules: %w", err)
	}
	if !ever {
		was = partitionCursor{Looked: now, After: s.Models.Position().Activity}
	}
	if was.Looked.After(now) {
		was.Looked = now // the clock was put back
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acquiredAt, s.firesAfter, s.checkedAt, s.registeredSeq, s.zone = now, was.Looked, was.Looked, was.Seen, s.Zone()
	s.workspaces, s.due, s.openFirings, s.savedSeq = map[string]*workspaceSchedules{}, nil, map[string]*firing{}, was.Seen
	return was.After, s.loadRegistrations(ctx)
}

// loadRegistrations reads all registrations of the partition. The caller holds the lock.
func (s *partition) loadRegistrations(ctx context.Context) error {
	for _, slot := range s.ownSlots() {
		workspaces, err := s.Bucket.List(ctx, registrationFolder(slot))
		if err != nil {
			return fmt.Errorf("read the registered workspaces: %w", err)
		}
		automations, err := s.Bucket.List(ctx, automationFolder(slot))
		if err != nil {
			return fmt.Errorf("read the registered schedules: %w", err)
		}
		for _, value := range workspaces {
			r, err := decodeRegistration(value)
			if err != nil {
				return err
			}
			is := s.workspaceSchedules(r.WorkspaceID)
			is.at, is.isCombined = r.At, len(r.Automations) > 0
			for _, a := range r.Automations {
				s.updateAgenda(r.WorkspaceID, is, a)
			}
		}
		for _, value := range automations { // newer than those of a combined record
			var r automationRecord
			if err := json.Unmarshal(value, &r); err != nil {
				return fmt.Errorf("read the registration of an automation: %w", err)
			}
			s.updateAgenda(r.WorkspaceID, s.workspaceSchedules(r.WorkspaceID), r.registeredAutomation)
		}
	}
	return nil
}

// workspaceSchedules holds the schedules of a workspace.
type workspaceSchedules struct {
	at          uint64                           // changes up to this sequence of STATE are registered
	automations map[string]*registeredAutomation // by name
	entries     map[entryKey]*entry
	programs    *programs.Schedules // of the program set that was registered; nil: it is not known
	isCombined  bool                // its record is of an earlier version and has all automations
}

func newWorkspaceSchedules() *workspaceSchedules {
	return &workspaceSchedules{automations: map[string]*registeredAutomation{}, entries: map[entryKey]*entry{}}
}

// entryKey names a schedule within a workspace.
type entryKey struct{ automation, cron string }

// workspaceSchedules returns the schedules of a workspace, to be changed. The caller holds the lock.
func (s *partition) workspaceSchedules(workspaceID string) *workspaceSchedules {
	if s.workspaces[workspaceID] == nil {
		s.workspaces[workspaceID] = newWorkspaceSchedules()
	}
	return s.workspaces[workspaceID]
}

// updateAgenda replaces the schedules of an automation in the agenda; one without schedules is gone. The caller holds
// the lock.
func (s *partition) updateAgenda(workspaceID string, in *workspaceSchedules, a registeredAutomation) {
	for _, was := range in.automations[a.Name].crons() {
		key := entryKey{a.Name, was}
		if now, ok := a.has(was); in.entries[key] != nil && (!ok || !in.entries[key].since.Equal(now.since())) {
			s.due.remove(in.entries[key])
			delete(in.entries, key)
		}
	}
	for _, c := range a.Crons {
		key := entryKey{a.Name, c.Cron}
		times, err := cron.Parse(c.Cron)
		if err != nil || in.entries[key] != nil {
			continue // it was parsed before the registration
		}
		e := &entry{workspaceID: workspaceID, automation: a.Name, times: times, since: c.since()}
		e.next = e.nextAfter(s.firesAfter, s.zone)
		in.entries[key] = e
		s.due.add(e)
		select {
		case s.added <- struct{}{}:
		default:
		}
	}
	if len(a.Crons) == 0 {
		delete(in.automations, a.Name)
	} else {
		in.automations[a.Name] = &a
	}
}

// fireDue fires what is due, and returns how long to wait before the next check.
func (s *partition) fireDue(ctx context.Context, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	back := now.Before(s.checkedAt.Add(-clockJump))
	if zone := s.Zone(); back || zone.String() != s.zone.String() {
		if back {
			s.checkedAt, s.firesAfter = now, now // a time that fired before is known by its id
		}
		s.zone = zone
		s.due.reschedule(s.checkedAt, zone)
	}
	for len(s.due) > 0 && !s.due[0].next.After(now) {
		e := s.due[0]
		s.startFiring(ctx, e, e.lastDue(now, s.zone), now)
		e.next = e.nextAfter(now, s.zone)
		heap.Fix(&s.due, 0)
	}
	if now.After(s.checkedAt) {
		s.checkedAt = now
	}
	if len(s.due) == 0 {
		return idleInterval
	}
	return max(0, min(checkInterval, s.due[0].next.Sub(now)))
}

// saveLoop saves the cursor regularly. A partition without schedules has nothing to save.
func (s *partition) saveLoop(ctx context.Context) {
	for commands.Sleep(ctx, saveInterval) == nil {
		s.mu.Lock()
		idle := len(s.due) == 0 && len(s.openFirings) == 0 && s.registeredSeq == s.savedSeq
		s.mu.Unlock()
		if !idle {
			s.save()
		}
	}
}

// save saves the cursor, before firings that are not on the log yet.
func (s *partition) save() {
	s.mu.Lock()
	is := partitionCursor{Looked: s.checkedAt.UTC(), After: s.Models.Position().Activity, Seen: s.registeredSeq}
	for _, f := range s.openFirings {
		is.After = min(is.After, f.after)
		if !f.stored && !f.at.After(is.Looked) {
			is.Looked = f.at.Add(-time.Millisecond).UTC()
		}
	}
	s.savedSeq = is.Seen
	s.mu.Unlock()
	text, _ := json.Marshal(is) // a time and numbers
	ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
	defer cancel()
	if _, err := s.Bucket.Put(ctx, streams.PartitionKey(s.shares, s.number), text); err != nil {
		s.Log.WarnContext(ctx, "the cursor of schedules could not be saved", "partition", s.number, "err", err)
	}
}

// resumeFirings starts the firings after a sequence of ACTIVITY again that did not end.
func (s *partition) resumeFirings(ctx context.Context, after uint64) error {
	seqs, err := s.firedAfter(after)
	if err != nil || len(seqs) == 0 {
		return err
	}
	events, err := s.Store.Reread(ctx, domain.Activity, seqs)
	if err != nil {
		return err
	}
	for _, ev := range events {
		fired, ok := ev.Data.(activity.ScheduleFired)
		if !ok {
			continue
		}
		past, err := s.Begun(ctx, ev.Stream.Scope, ev.Meta.CorrelationID, ev.ID, fired.Automation)
		if err != nil {
			return err
		}
		if past.Done {
			continue
		}
		at, _ := time.Parse(time.RFC3339, fired.ScheduledAt)
		f := &firing{
			workspaceID: ev.Stream.Scope, automation: fired.Automation, cron: fired.Trigger.Value, at: at, late: fired.Late,
			id: ev.ID, correlationID: ev.Meta.CorrelationID, trace: ev.Meta.TraceID, after: ev.Seq - 1, stored: true,
		}
		s.mu.Lock()
		s.openFirings[f.id] = f
		s.mu.Unlock()
		s.workers.Go(func() { s.finishFiring(f, s.awaitTree(ctx, f, nil)) })
	}
	return nil
}

// firedAfter returns the sequences of the firings after one.
func (s *partition) firedAfter(after uint64) (seqs []uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	among := projections.FeedSelection{List: projections.ByType, Text: activity.ScheduleFired{}.EventType()}
	r := s.Models.Reader()
	defer r.Close()
	for id := range s.workspaces {
		err := projections.FeedOf(domain.Activity).List(r, id, among, after+1, false, func(e projections.FeedEntry) bool {
			seqs = append(seqs, e.Seq)
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return seqs, nil
}
