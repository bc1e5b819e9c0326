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
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation/cron"
	"svc/projections"
	"svc/streams"
)

// share is a part of all workspaces, which one node looks after.
type share struct {
	*Schedules

	number int

	mu     sync.Mutex
	began  time.Time // when this node took it over
	floor  time.Time // how far whoever had it before looked
	looked time.Time // what was due until then is under way
	zone   *time.Location
	seen   uint64 // changes up to this sequence are registered
	saved  uint64 // what was saved of that last
	plans  map[string]*plan
	due    agenda
	open   map[string]*firing // what fired and is not over, by id

	under     sync.WaitGroup // what was begun
	appending chan struct{}  // bounds how many firings are on their way to the log
	running   chan struct{}  // bounds how many trees are under way
}

// Bounds of a share: of what is done at once, of how long the agenda and the changes
// are not looked at, and of how often it is saved how far it is.
const (
	mostAppending = 64
	mostRunning   = 5_000
	lookEvery     = 250 * time.Millisecond
	watchEvery    = 100 * time.Millisecond
	saveEvery     = 5 * time.Second
	saveWait      = 2 * time.Second
	// jump is by how much the clock must go back for times to be reckoned anew.
	jump = time.Second
)

func newShare(s *Schedules, number int) *share {
	return &share{
		Schedules: s, number: number, appending: make(chan struct{}, mostAppending), running: make(chan struct{}, mostRunning),
	}
}

// mine returns the slots of the share.
func (s *share) mine() (list []int) {
	for slot := range slots {
		if s.shares == 1 || slot == s.number {
			list = append(list, slot)
		}
	}
	return list
}

func (s *share) owns(workspaceID string) bool {
	return s.shares == 1 || slotOf(workspaceID) == s.number
}

// serve looks after the share whenever it is this node's, until ctx ends.
func (s *share) serve(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.Hold(ctx, "schedules/"+strconv.Itoa(s.number), s.run)
		if ctx.Err() != nil {
			return
		}
		s.Log.WarnContext(ctx, "firing schedules stopped and is begun again", "share", s.number, "err", err)
		rest(ctx)
	}
}

// run looks after the share from where it was left, until ctx ends.
func (s *share) run(ctx context.Context) error {
	after, err := s.load(ctx)
	if err != nil {
		return err
	}
	if err := s.resume(ctx, after); err != nil {
		return err
	}
	s.save() // who comes next knows that somebody looked
	s.under.Go(func() { s.watch(ctx) })
	s.under.Go(func() { s.keep(ctx) })
	for ctx.Err() == nil {
		_ = commands.Sleep(ctx, s.look(ctx, s.Now()))
	}
	s.under.Wait()
	s.save()
	return context.Cause(ctx)
}

// state is what is saved of a share.
type state struct {
	Looked time.Time `json:"looked"`
	After  uint64    `json:"after"` // what fired up to this sequence of the activity log is over
	Seen   uint64    `json:"seen"`  // changes up to this sequence of the state log are registered
}

// Min is what both say.
func (s state) Min(other state) state {
	if other.Looked.Before(s.Looked) {
		s.Looked = other.Looked
	}
	s.After, s.Seen = min(s.After, other.After), min(s.Seen, other.Seen)
	return s
}

// Max is what either says.
func (s state) Max(other state) state {
	if other.Looked.After(s.Looked) {
		s.Looked = other.Looked
	}
	s.After, s.Seen = max(s.After, other.After), max(s.Seen, other.Seen)
	return s
}

// load finds out where the share was left. One that nobody ever looked after begins
// now.
func (s *share) load(ctx context.Context) (after uint64, err error) {
	if err := s.Fresh(ctx); err != nil {
		return 0, err
	}
	now := s.Now()
	was, ever, _, err := streams.Left(ctx, s.Memory, s.shares, s.number, func(value []byte) (is state, err error) {
		err = json.Unmarshal(value, &is)
		return is, err
	})
	if err != nil {
		return 0, fmt.Errorf("read where schedules were left: %w", err)
	}
	if !ever {
		was = state{Looked: now, After: s.Models.Position().Activity}
	}
	if was.Looked.After(now) {
		was.Looked = now // the clock was put back
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began, s.floor, s.looked, s.seen, s.zone = now, was.Looked, was.Looked, was.Seen, s.Zone()
	s.plans, s.due, s.open, s.saved = map[string]*plan{}, nil, map[string]*firing{}, was.Seen
	return was.After, s.recall(ctx)
}

// recall reads what is registered. The caller holds the lock.
func (s *share) recall(ctx context.Context) error {
	for _, slot := range s.mine() {
		values, err := s.Memory.List(ctx, "workspace/"+strconv.Itoa(slot))
		if err != nil {
			return fmt.Errorf("read what is scheduled: %w", err)
		}
		for _, value := range values {
			r, err := readRecord(value)
			if err != nil {
				return err
			}
			s.arrange(r)
		}
	}
	return nil
}

// plan is what a workspace has scheduled.
type plan struct {
	record  record
	entries map[entryKey]*entry
	found   finding
}

// entryKey names a schedule within a workspace.
type entryKey struct{ automation, cron string }

// arrange puts what is registered of a workspace on the agenda, in the place of what
// was. The caller holds the lock.
func (s *share) arrange(r record) {
	p := s.plans[r.WorkspaceID]
	if p == nil {
		p = &plan{}
		s.plans[r.WorkspaceID] = p
	}
	old := p.entries
	p.record, p.entries = r, map[entryKey]*entry{}
	for _, a := range r.Automations {
		for _, c := range a.Crons {
			key := entryKey{a.Name, c.Cron}
			if had := old[key]; had != nil && had.since.Equal(c.since()) {
				p.entries[key] = had
				delete(old, key)
				continue
			}
			times, err := cron.Parse(c.Cron)
			if err != nil || p.entries[key] != nil {
				continue // what is registered was parsed before
			}
			e := &entry{workspaceID: r.WorkspaceID, automation: a.Name, times: times, since: c.since()}
			e.next = e.after(s.floor, s.zone)
			p.entries[key] = e
			s.due.add(e)
		}
	}
	for _, gone := range old {
		s.due.remove(gone)
	}
}

// look begins what is due, and returns how long to wait before the next look.
func (s *share) look(ctx context.Context, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	back := now.Before(s.looked.Add(-jump))
	if zone := s.Zone(); back || zone.String() != s.zone.String() {
		if back {
			s.looked, s.floor = now, now // what fired after it is known by its id
		}
		s.zone = zone
		s.due.rearrange(s.looked, zone)
	}
	for len(s.due) > 0 && !s.due[0].next.After(now) {
		e := s.due[0]
		s.begin(ctx, e, e.last(now, s.zone), now)
		e.next = e.after(now, s.zone)
		heap.Fix(&s.due, 0)
	}
	if now.After(s.looked) {
		s.looked = now
	}
	if len(s.due) == 0 {
		return lookEvery
	}
	return max(0, min(lookEvery, s.due[0].next.Sub(now)))
}

// keep saves how far the share is, now and then. One with nothing scheduled has nothing
// to save.
func (s *share) keep(ctx context.Context) {
	for commands.Sleep(ctx, saveEvery) == nil {
		s.mu.Lock()
		idle := len(s.due) == 0 && len(s.open) == 0 && s.seen == s.saved
		s.mu.Unlock()
		if !idle {
			s.save()
		}
	}
}

// save saves how far the share is: what fired and is not on the log yet is still to be
// looked at.
func (s *share) save() {
	s.mu.Lock()
	is := state{Looked: s.looked.UTC(), After: s.Models.Position().Activity, Seen: s.seen}
	for _, f := range s.open {
		is.After = min(is.After, f.after)
		if !f.stored && !f.at.After(is.Looked) {
			is.Looked = f.at.Add(-time.Millisecond).UTC()
		}
	}
	s.saved = is.Seen
	s.mu.Unlock()
	text, _ := json.Marshal(is) // a time and numbers
	ctx, cancel := context.WithTimeout(context.Background(), saveWait)
	defer cancel()
	if _, err := s.Memory.Put(ctx, streams.ShareKey(s.shares, s.number), text); err != nil {
		s.Log.WarnContext(ctx, "how far schedules are could not be saved", "share", s.number, "err", err)
	}
}

// resume begins again what fired behind a sequence of the activity log and did not
// end.
func (s *share) resume(ctx context.Context, after uint64) error {
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
		if past.Over {
			continue
		}
		at, _ := time.Parse(time.RFC3339, fired.ScheduledAt)
		f := &firing{
			workspaceID: ev.Stream.Scope, automation: fired.Automation, cron: fired.Trigger.Value, at: at, late: fired.Late,
			id: ev.ID, correlationID: ev.Meta.CorrelationID, trace: ev.Meta.TraceID, after: ev.Seq - 1, stored: true,
		}
		s.mu.Lock()
		s.open[f.id] = f
		s.mu.Unlock()
		s.under.Go(func() { s.settle(f, s.follow(ctx, f, nil)) })
	}
	return nil
}

// firedAfter returns the sequences of the firings behind one.
func (s *share) firedAfter(after uint64) (seqs []uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	among := projections.Among{List: projections.ByType, Text: activity.ScheduleFired{}.EventType()}
	err = s.Models.View(func(r projections.Reader) error {
		for id := range s.plans {
			err := projections.FeedOf(domain.Activity).List(r, id, among, after+1, false, func(e projections.FeedEntry) bool {
				seqs = append(seqs, e.Seq)
				return true
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return seqs, err
}
