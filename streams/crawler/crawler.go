// Package crawler reads the sites of knowledge bases. A crawl is an operation. The node that holds the partition of its
// workspace runs it: the addresses that wait are in memory, and after each visit a record is stored from which another
// node goes on. Requests to one host take turns across all nodes. Pages become documents that can be searched at once:
// their text was read already, for their links.
package crawler

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/extract"
	"svc/commands/knowledge"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation/cron"
	"svc/domain/crawl"
	"svc/domain/document"
	"svc/domain/kbdocument"
	chunks "svc/domain/knowledge"
	"svc/domain/operation"
	"svc/eventstore"
	"svc/projections"
	"svc/streams"
	"svc/streams/site"
)

type (
	// Documents changes documents of knowledge bases. It is a *knowledge.Documents.
	Documents interface {
		Put(ctx context.Context, workspaceID string, p knowledge.Put, may knowledge.May) (knowledge.Outcome, error)
		Remove(ctx context.Context, workspaceID string, base kbdocument.Base, ids []string, cause kbdocument.Cause) (int, error)
		Relabel(ctx context.Context, workspaceID, id string, base kbdocument.Base, c kbdocument.Change, cause kbdocument.Cause) error
	}
	// Blobs has the contents of documents. It is a *jetstream.Blobs.
	Blobs interface {
		Get(ctx context.Context, name string) ([]byte, error)
		Put(ctx context.Context, content []byte) (name string, err error)
	}
	// Extractor reads texts and links out of pages. It is an *extract.Extractor.
	Extractor interface {
		Extract(ctx context.Context, f extract.File) (extract.Document, error)
	}
)

// Base is a knowledge base.
type Base struct {
	kbdocument.Base
	Settings *document.Map
}

// Settings are the live values of a Crawler.
type Settings struct {
	MaxText  int // MAX_CONTENT_LEN
	MaxPages int // CRAWLER_MAX_PAGES
}

// Options configure a Crawler. All are required but those with a default.
type Options struct {
	Crawls    knowledge.Crawls
	Documents Documents
	Models    *projections.Models
	Blobs     Blobs
	Extractor Extractor
	Fetcher   *site.Fetcher
	Records   eventstore.Bucket // of the visits of crawls; drops them after RecordTime
	Known     eventstore.Bucket // what is known of pages since their last visit; drops it after KnownTime
	// Bases returns the knowledge bases of a workspace.
	Bases func(ctx context.Context, workspaceID string) ([]Base, error)
	// FindSettings returns what the documents of a base are processed by now; ok is false when it was deleted.
	FindSettings func(ctx context.Context, workspaceID, baseID string) (s chunks.Settings, ok bool, err error)
	// Resolve replaces {{secret.NAME}} by the secrets of a workspace. It refuses what the workspace does not have.
	Resolve func(ctx context.Context, workspaceID, text string) (string, error)
	// Used records how much of something was used.
	Used     func(ctx context.Context, workspaceID string, u activity.Usage)
	Settings func() Settings
	Zone     func() *time.Location // of schedules

	Requests int           // of this node at once: REQUEST_QUEUES_POLLING_SIZE
	Interval time.Duration // between looks at the queue: REQUEST_QUEUES_POLLING_INTERVAL

	// Fresh waits until the read models contain what any node has written.
	Fresh func(context.Context) error
	// Hold runs work under a lease; nil: there is only one node.
	Hold func(ctx context.Context, name string, work func(context.Context) error) error

	Pauses []time.Duration  // before a page is visited again; default 30 seconds and 5 minutes
	Now    func() time.Time // default time.Now
	Log    *slog.Logger     // default slog.Default
}

// How long what is known of crawls is kept.
const (
	RecordTime = 30 * 24 * time.Hour
	KnownTime  = 180 * 24 * time.Hour
)

// Crawler reads sites.
type Crawler struct {
	Options

	shares   int
	requests chan struct{} // under way
}

// New returns a Crawler. Nothing is read before Run.
func New(o Options) (*Crawler, error) {
	if o.Crawls.Engine == nil || o.Documents == nil || o.Models == nil || o.Blobs == nil || o.Extractor == nil || o.Fetcher == nil || o.Records == nil ||
		o.Known == nil || o.Bases == nil || o.FindSettings == nil || o.Resolve == nil || o.Used == nil || o.Settings == nil || o.Zone == nil || o.Requests < 1 ||
		o.Interval <= 0 || o.Fresh == nil {
		return nil, errors.New("crawler: an option is missing")
	}
	if o.Pauses == nil {
		o.Pauses = []time.Duration{30 * time.Second, 5 * time.Minute}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c := &Crawler{Options: o, shares: streams.Partitions, requests: make(chan struct{}, o.Requests)}
	if o.Hold == nil {
		c.shares = 1
		c.Hold = func(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }
	}
	return c, nil
}

// Run reads sites until ctx ends.
func (c *Crawler) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for number := range c.shares {
		all.Go(func() { (&partition{Crawler: c, number: number}).serve(ctx) })
	}
	all.Wait()
	return nil
}

// Why a crawl stops before its end.
var (
	errCancelled = errors.New("crawler: the crawl was cancelled")
	errNoSource  = errors.New("crawler: the source is gone")
)

// partition is a part of all workspaces, whose sites one node reads.
type partition struct {
	*Crawler
	number int

	runs       map[string]*activeRun // by operation
	seen       uint64                // sources are those of this sequence
	workspaces map[string]*workspaceSources
	gone       map[sourceKey]kbdocument.Base // sources that were removed, and have documents
	workers    sync.WaitGroup

	mu    sync.Mutex
	ended []string // operations whose runs have ended here
}

// activeRun is a crawl that this node runs.
type activeRun struct {
	key    sourceKey
	cancel context.CancelCauseFunc
}

// sourceKey names a source of a workspace.
type sourceKey struct{ workspaceID, baseID, sourceID string }

// workspaceSources are the sources of a workspace.
type workspaceSources struct {
	schedules map[sourceKey]*schedule
	exist     map[sourceKey]bool
}

// schedule is when a source is read.
type schedule struct {
	slug  string // of the base
	times *cron.Schedule
	zone  *time.Location
	after time.Time // firings after it count
	next  time.Time // the first of them; zero: there is none
}

// move has firings after a time count.
func (s *schedule) move(after time.Time, zone *time.Location) {
	s.after, s.zone, s.next = after, zone, time.Time{}
	if at, ok := s.times.Next(after, zone); ok {
		s.next = at
	}
}

func (p *partition) owns(workspaceID string) bool {
	return p.shares == 1 || streams.PartitionOf(workspaceID, p.shares) == p.number
}

// serve reads the sites of the partition while this node holds it, until ctx ends.
func (p *partition) serve(ctx context.Context) {
	for ctx.Err() == nil {
		err := p.Hold(ctx, "crawler/"+strconv.Itoa(p.number), p.run)
		if ctx.Err() != nil {
			return
		}
		p.Log.WarnContext(ctx, "reading sites stopped and is restarted", "partition", p.number, "err", err)
		streams.PauseAfterFault(ctx)
	}
}

// run looks after the crawls of the partition until ctx ends.
func (p *partition) run(ctx context.Context) error {
	if err := p.Fresh(ctx); err != nil {
		return err
	}
	p.runs, p.workspaces, p.gone = map[string]*activeRun{}, map[string]*workspaceSources{}, map[sourceKey]kbdocument.Base{}
	p.seen, p.ended = 0, nil
	defer p.workers.Wait()
	moved, stop := p.Models.Watch()
	defer stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		seen := p.Models.Position().State
		next, err := p.look(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err := commands.Sleep(ctx, lookInterval); err != nil {
			return err
		}
		timer.Reset(max(0, next-lookInterval))
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-moved:
				again = p.Models.Position().State != seen
			case <-timer.C:
				again = true
			}
		}
	}
}

// lookInterval is the least time between two looks.
const lookInterval = 50 * time.Millisecond

// look starts and stops what is due, and returns how long to wait before the next look.
func (p *partition) look(ctx context.Context) (time.Duration, error) {
	p.forgetEnded()
	if err := p.loadSources(ctx); err != nil {
		return 0, err
	}
	if err := p.updateRuns(ctx); err != nil {
		return 0, err
	}
	if err := p.removeGone(ctx); err != nil {
		return 0, err
	}
	return p.fireDue(ctx)
}

// forgetEnded forgets the runs that have ended here.
func (p *partition) forgetEnded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.ended {
		delete(p.runs, id)
	}
	p.ended = nil
}

// updateRuns starts crawls that nobody runs, and stops those that were cancelled or whose source is gone.
func (p *partition) updateRuns(ctx context.Context) error {
	r := p.Models.Reader()
	defer r.Close()
	refs, err := projections.Operations{}.Running(r)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if !p.owns(ref.WorkspaceID) {
			continue
		}
		op, ok, err := projections.Operations{}.Get(r, ref.ID)
		if err != nil {
			return err
		}
		if !ok || op.Crawl == nil {
			continue
		}
		key := sourceKey{ref.WorkspaceID, op.Crawl.BaseID, op.Crawl.SourceID}
		w := p.workspaces[ref.WorkspaceID]
		active := p.runs[op.ID]
		switch {
		case active == nil:
			p.start(ctx, key, op)
		case op.CancelRequested:
			active.cancel(errCancelled)
		case w != nil && !w.exist[key]:
			active.cancel(errNoSource)
		}
	}
	return nil
}

// start runs a crawl in the background.
func (p *partition) start(ctx context.Context, key sourceKey, op operation.State) {
	working, cancel := context.WithCancelCause(ctx)
	p.runs[op.ID] = &activeRun{key, cancel}
	p.workers.Go(func() {
		defer cancel(nil)
		err := p.crawl(working, key, op)
		if err != nil && ctx.Err() == nil {
			p.Log.WarnContext(ctx, "a site could not be read now", "workspace", key.workspaceID, "operation", op.ID, "err", err)
			streams.PauseAfterFault(ctx)
		}
		p.mu.Lock()
		p.ended = append(p.ended, op.ID)
		p.mu.Unlock()
	})
}

// loadSources reads the sources of the workspaces that have changed.
func (p *partition) loadSources(ctx context.Context) error {
	changed, seen := map[string]time.Time{}, p.seen
	r := p.Models.Reader()
	defer r.Close()
	err := projections.KBSources{}.Changed(r, p.seen, func(workspaceID string, seq uint64, at time.Time) bool {
		seen = seq
		if p.owns(workspaceID) {
			changed[workspaceID] = at
		}
		return true
	})
	if err != nil {
		return err
	}
	for workspaceID, at := range changed {
		if err := p.readSources(ctx, r, workspaceID, at); err != nil {
			return err
		}
	}
	p.seen = seen
	return nil
}

// readSources reads the sources of a workspace that changed.
func (p *partition) readSources(ctx context.Context, r projections.Reader, workspaceID string, changed time.Time) error {
	bases, err := p.Bases(ctx, workspaceID)
	if err != nil {
		return err
	}
	before, w := p.workspaces[workspaceID], &workspaceSources{schedules: map[sourceKey]*schedule{}, exist: map[sourceKey]bool{}}
	for _, base := range bases {
		for id, source := range crawl.Sources(base.Settings) {
			key := sourceKey{workspaceID, base.ID, id}
			w.exist[key] = true
			delete(p.gone, key)
			times, err := cron.Parse(source.Schedule)
			if source.Schedule == "" || source.Disabled || err != nil {
				continue
			}
			s := &schedule{slug: base.Slug, times: times}
			s.move(changed, p.Zone())
			if before != nil {
				if was := before.schedules[key]; was != nil && was.times.String() == times.String() {
					s.move(was.after, p.Zone()) // something else has changed
				}
			}
			w.schedules[key] = s
		}
		found, err := projections.KBSources{}.Sources(r, workspaceID, base.ID)
		if err != nil {
			return err
		}
		for _, id := range found {
			if key := (sourceKey{workspaceID, base.ID, id}); !w.exist[key] {
				p.gone[key] = base.Base
			}
		}
	}
	p.workspaces[workspaceID] = w
	return nil
}

// removeGone removes the documents of sources that were removed, once nobody reads them any more.
func (p *partition) removeGone(ctx context.Context) error {
	for key, base := range p.gone {
		if p.isRead(key) {
			continue
		}
		r := p.Models.Reader()
		found, err := projections.KBSources{}.Found(r, key.workspaceID, key.baseID, key.sourceID)
		r.Close()
		if err != nil {
			return err
		}
		ids := make([]string, len(found))
		for i, d := range found {
			ids[i] = d.ID
		}
		if _, err := p.Documents.Remove(ctx, key.workspaceID, base, ids, kbdocument.ByCrawl); err != nil {
			return err
		}
		delete(p.gone, key)
	}
	return nil
}

func (p *partition) isRead(key sourceKey) bool {
	for _, active := range p.runs {
		if active.key == key {
			return true
		}
	}
	return false
}

// fireDue starts the crawls that are due, and returns how long to wait before the next look.
func (p *partition) fireDue(ctx context.Context) (time.Duration, error) {
	now, wait, zone := p.Now(), p.Interval, p.Zone()
	for _, w := range p.workspaces {
		for key, s := range w.schedules {
			if s.zone.String() != zone.String() {
				s.move(s.after, zone)
			}
			if !s.next.IsZero() && !s.next.After(now) {
				if err := p.fire(ctx, key, s, now); err != nil {
					return 0, err
				}
			}
			if !s.next.IsZero() {
				wait = min(wait, s.next.Sub(now))
			}
		}
	}
	return max(time.Millisecond, wait), nil
}

// fire starts the crawl of a source that is due, once for all firings that were missed. What was due while the site was
// read is dropped.
func (p *partition) fire(ctx context.Context, key sourceKey, s *schedule, now time.Time) error {
	last, err := p.lastEnd(key)
	if err != nil {
		return err
	}
	if last.After(s.after) {
		if s.move(last, s.zone); s.next.IsZero() || s.next.After(now) {
			return nil
		}
	}
	_, err = p.Crawls.Start(ctx, key.workspaceID, operation.CrawlAbout{
		BaseID: key.baseID, KnowledgeBase: s.slug, SourceID: key.sourceID, Trigger: operation.BySchedule,
	})
	if err != nil && domain.CodeOf(err) != domain.CodeConflict {
		return err
	}
	s.move(now, s.zone)
	return nil
}

// lastEnd returns when the last crawl of a source ended: now, if it is being read.
func (p *partition) lastEnd(key sourceKey) (last time.Time, err error) {
	r := p.Models.Reader()
	defer r.Close()
	err = projections.Operations{}.List(r, key.workspaceID, func(op operation.State) bool {
		if op.Crawl == nil || op.Crawl.BaseID != key.baseID || op.Crawl.SourceID != key.sourceID {
			return true
		}
		last = p.Now()
		if op.EndedAt != nil {
			last = *op.EndedAt
		}
		return false
	})
	return last, err
}
