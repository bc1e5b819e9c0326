package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/crawl"
	"svc/domain/kbdocument"
	"svc/domain/operation"
	"svc/projections"
	"svc/streams/site"
)

// run is one crawl.
type run struct {
	*partition
	key     sourceKey
	id      string // of the operation
	epoch   uint64
	about   operation.CrawlAbout
	begun   time.Time
	base    kbdocument.Base
	source  crawl.Source
	scope   *crawl.Scope
	reading kbdocument.Reading
	headers map[string]string
	owned   map[string]bool // schemes and hosts of the start addresses: they get the headers

	known     map[string]knownPage // by address, since the last visits
	documents map[string]string    // ids of the documents of the source by address, when the run began
	texts     map[string]string    // addresses of those documents by the hash of their text

	mu       sync.Mutex // guards what follows
	frontier *crawl.Frontier
	warnings []string
	written  int                   // records of this run
	busy     map[string]int        // visits under way by host
	later    map[string]*laterPage // pages that are visited again
	claimed  map[string]string     // addresses that pages are stored under, other than their own
	full     bool                  // the base takes no more documents
	ended    chan struct{}         // tells that a visit has ended
}

// laterPage is a page that is visited again.
type laterPage struct {
	attempts int
	at       time.Time // not before
	last     bool      // when nothing else is left to do: another page may have its text
}

// knownPage is what is known of a page since its last visit.
type knownPage struct {
	URL          string    `json:"url"`
	DocumentID   string    `json:"documentId"`
	ETag         string    `json:"etag,omitempty"`
	LastModified string    `json:"lastModified,omitempty"`
	Text         string    `json:"text"`                 // hash of its text
	Reading      string    `json:"reading"`              // how that was read
	LinksApart   bool      `json:"linksApart,omitempty"` // its links are not those of the content of the document
	NoFollow     bool      `json:"noFollow,omitempty"`   // its links are not followed
	Labels       []string  `json:"labels,omitempty"`     // which fields of the document the source gave
	CheckedAt    time.Time `json:"checkedAt"`
}

// crawl runs a crawl from where it stands to its end. An error says that nothing could be recorded: it is tried again.
func (p *partition) crawl(ctx context.Context, key sourceKey, op operation.State) error {
	r := &run{
		partition: p, key: key, id: op.ID, epoch: op.Epoch, about: op.Crawl.CrawlAbout, begun: op.CreatedAt,
		busy: map[string]int{}, later: map[string]*laterPage{}, claimed: map[string]string{}, ended: make(chan struct{}, 1),
	}
	ctx = commands.WithDepth(ctx, op.Depth)
	fault, err := r.load(ctx, op)
	if err == nil && fault == nil {
		err = r.visitAll(ctx)
	}
	if err == nil && fault == nil {
		err = r.removeVanished(ctx)
	}
	return r.finish(ctx, fault, err)
}

// load reads the source, and what another node has done. A fault says that it cannot be read at all.
func (r *run) load(ctx context.Context, op operation.State) (*operation.Failure, error) {
	if op.CancelRequested {
		return nil, errCancelled
	}
	bases, err := r.Bases(ctx, r.key.workspaceID)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(bases, func(b Base) bool { return b.ID == r.key.baseID })
	if at < 0 {
		return nil, errNoSource
	}
	source, ok := crawl.Sources(bases[at].Settings)[r.key.sourceID]
	if !ok {
		return nil, errNoSource
	}
	settings := r.Settings()
	r.base, r.source = bases[at].Base, source
	r.source.MaxPages = min(source.MaxPages, settings.MaxPages)
	r.reading = kbdocument.Reading{Selector: source.Selector, MaxText: settings.MaxText}
	if r.scope, err = crawl.NewScope(source); err != nil {
		return refusal(domain.CodeValidation, "invalid_source", err.Error()), nil
	}
	r.owned = map[string]bool{}
	for address := range r.scope.Starts() {
		if u, err := url.Parse(address); err == nil {
			r.owned[u.Scheme+"://"+u.Host] = true
		}
	}
	if fault, err := r.loadHeaders(ctx); fault != nil || err != nil {
		return fault, err
	}
	if err := r.loadKnown(ctx); err != nil {
		return nil, err
	}
	return nil, r.loadRecords(ctx, op)
}

func refusal(code domain.Code, reason, message string) *operation.Failure {
	return operation.FailureOf(domain.Refuse(code, "%s", message).Reason(reason))
}

// loadHeaders fills the secrets of the workspace into headers. A header that refers to a secret that is not there is a fault.
func (r *run) loadHeaders(ctx context.Context) (*operation.Failure, error) {
	r.headers = map[string]string{}
	for name, text := range r.source.Headers {
		value, err := r.Resolve(ctx, r.key.workspaceID, text)
		if refused, ok := errors.AsType[*domain.Error](err); ok {
			return operation.FailureOf(refused), nil
		}
		if err != nil {
			return nil, err
		}
		r.headers[name] = value
	}
	return nil, nil
}

// folder is where what is known of the pages of a source is.
func (k sourceKey) folder() string { return k.workspaceID + "/" + k.baseID + "/" + k.sourceID }

func (r *run) loadKnown(ctx context.Context) error {
	values, err := r.Known.List(ctx, r.key.folder())
	if err != nil {
		return err
	}
	r.known = map[string]knownPage{}
	for _, value := range values {
		var page knownPage
		if json.Unmarshal(value, &page) == nil {
			r.known[page.URL] = page
		}
	}
	rd := r.Models.Reader()
	defer rd.Close()
	found, err := projections.KBSources{}.Found(rd, r.key.workspaceID, r.key.baseID, r.key.sourceID)
	r.documents, r.texts = map[string]string{}, map[string]string{}
	for _, d := range found {
		r.documents[d.URL] = d.ID
		if page := r.known[d.URL]; page.DocumentID == d.ID && page.Text != "" {
			r.texts[page.Text] = d.URL
		}
	}
	return err
}

// loadRecords restores the state of a run that another node began, and lets nobody else go on with it.
func (r *run) loadRecords(ctx context.Context, op operation.State) error {
	r.frontier = crawl.NewFrontier(r.source, r.scope)
	records, err := Records(ctx, r.Records, r.id)
	if err != nil {
		return err
	}
	for _, record := range records {
		r.frontier.Add(record)
		for _, address := range record.Aliases {
			r.claimed[address] = record.Page.URL
		}
	}
	if len(records) == 0 && op.Resumed == 0 {
		return nil
	}
	r.epoch = op.Epoch + 1
	_, err = r.Crawls.Execute(ctx, r.key.workspaceID, r.id, operation.Resume{Epoch: r.epoch})
	return err
}

// bucket lists the values of keys.
type bucket interface {
	List(ctx context.Context, prefix string) ([][]byte, error)
}

// Records returns what is recorded of a crawl, in order.
func Records(ctx context.Context, b bucket, id string) ([]crawl.Record, error) {
	values, err := b.List(ctx, id)
	if err != nil {
		return nil, err
	}
	records := make([]crawl.Record, len(values))
	for i, value := range values {
		if err := json.Unmarshal(value, &records[i]); err != nil {
			return nil, fmt.Errorf("a record of crawl %s: %w", id, err)
		}
	}
	return records, nil
}

// foundAtOnce is how many addresses one record has at most: a message has a largest size.
const foundAtOnce = 200

// record stores what became of a page, and then counts it.
func (r *run) record(ctx context.Context, record crawl.Record) error {
	for len(record.Found) > foundAtOnce || len(record.Refused) > foundAtOnce {
		part := crawl.Record{Found: record.Found[:min(foundAtOnce, len(record.Found))], Refused: record.Refused[:min(foundAtOnce, len(record.Refused))]}
		record.Found, record.Refused = record.Found[len(part.Found):], record.Refused[len(part.Refused):]
		if err := r.write(ctx, part); err != nil {
			return err
		}
	}
	return r.write(ctx, record)
}

func (r *run) write(ctx context.Context, record crawl.Record) error {
	value, err := json.Marshal(record)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.written++
	key := fmt.Sprintf("%s/%d-%d", r.id, r.epoch, r.written)
	r.mu.Unlock()
	if _, err := r.Records.Put(ctx, key, value); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frontier.Add(record)
	return nil
}

func (r *run) warn(warning string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.warnings, warning) {
		r.warnings = append(r.warnings, warning)
	}
}

// request returns the request for an address of the site.
func (r *run) request(address string) site.Request {
	return site.Request{
		URL: address, Slots: r.requests, Delay: r.source.Delay, IgnoreRobots: !r.source.Robots,
		Headers: func(to *url.URL) map[string]string {
			if !r.owned[to.Scheme+"://"+to.Host] {
				return nil
			}
			return r.headers
		},
		Check: func(hop string) error {
			if normal, err := r.scope.Normalise(hop); err != nil || !r.scope.Has(normal) {
				return errOutOfScope
			}
			return nil
		},
	}
}

// The rhythm of events about progress: at most every five seconds, and not more than some tens for a long run.
const (
	progressInterval = 5 * time.Second
	progressShare    = 50
)

// visitAll visits pages until none is left.
func (r *run) visitAll(ctx context.Context) (err error) {
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if !r.frontier.Sitemaps && r.source.Sitemap != crawl.SitemapOff {
		addresses, all, err := r.readSitemaps(working)
		if err != nil {
			return err
		}
		r.mu.Lock()
		record := r.frontier.Sort(addresses, 0, r.Now().UTC())
		r.mu.Unlock()
		record.Sitemaps, record.Unread = true, !all
		if err := r.record(working, record); err != nil {
			return err
		}
	}
	var visits sync.WaitGroup
	defer visits.Wait()
	reported := r.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		link, found, wait := r.next()
		if found {
			visits.Go(func() {
				defer r.release(link)
				if err := r.visit(working, link); err != nil {
					stop(err)
				}
			})
			continue
		}
		if wait < 0 {
			return nil
		}
		if now := r.Now(); now.Sub(reported) >= max(progressInterval, now.Sub(r.begun)/progressShare) {
			reported = now
			if err := r.report(working); err != nil {
				return err
			}
		}
		timer.Reset(min(wait, progressInterval))
		select {
		case <-working.Done():
			return context.Cause(working)
		case <-r.ended:
		case <-timer.C:
		}
	}
}

// next returns a page that may be visited now. Otherwise it returns how long to wait, below 0 when nothing is left.
func (r *run) next() (link crawl.Link, found bool, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full {
		if len(r.busy) == 0 {
			return link, false, -1
		}
		return link, false, time.Hour
	}
	now := r.Now()
	wait = time.Hour
	isFree := func(host string) bool { return r.busy[host] < r.Fetcher.PerHost }
	isDue := func(l crawl.Link) bool {
		later := r.later[l.URL]
		if later == nil || !later.at.After(now) {
			return true
		}
		wait = min(wait, later.at.Sub(now))
		return false
	}
	link, found = r.frontier.Next(isFree, func(l crawl.Link) bool {
		later := r.later[l.URL]
		return isDue(l) && (later == nil || !later.last)
	})
	if !found && len(r.busy) == 0 {
		link, found = r.frontier.Next(isFree, func(l crawl.Link) bool { return isDue(l) && r.later[l.URL] != nil && r.later[l.URL].last })
	}
	switch {
	case found:
		r.busy[crawl.HostOf(link.URL)]++
	case len(r.busy) == 0 && r.frontier.Waiting() == 0:
		wait = -1
	}
	return link, found, wait
}

// release ends a visit.
func (r *run) release(link crawl.Link) {
	r.mu.Lock()
	host := crawl.HostOf(link.URL)
	if r.busy[host]--; r.busy[host] == 0 {
		delete(r.busy, host)
	}
	r.mu.Unlock()
	select {
	case r.ended <- struct{}{}:
	default:
	}
}

// report records how far the run is.
func (r *run) report(ctx context.Context) error {
	r.mu.Lock()
	counts := r.frontier.Counts
	r.mu.Unlock()
	_, err := r.Crawls.Execute(ctx, r.key.workspaceID, r.id, operation.CountCrawl{Epoch: r.epoch, Counts: counts})
	return err
}

// isComplete reports whether every page was visited that there is.
func (r *run) isComplete() bool {
	return !r.frontier.Cut && !r.frontier.Failed && !r.frontier.Unread && !r.full
}

// removeVanished removes the documents of pages that a complete run neither saw nor failed on, and of those that are
// stored under another address now or have the text of another page. It is done at the end because so many of them may
// say that something else is wrong, as a page for all addresses that asks for a login.
func (r *run) removeVanished(ctx context.Context) error {
	vanish := r.isComplete() && !r.source.KeepVanished
	if err := r.Fresh(ctx); err != nil {
		return err
	}
	rd := r.Models.Reader()
	all, err := projections.KBSources{}.Found(rd, r.key.workspaceID, r.key.baseID, r.key.sourceID)
	rd.Close()
	if err != nil {
		return err
	}
	var ids, moved []string
	var fresh []projections.KBFound
	for _, d := range all {
		gone, recorded := r.frontier.IsGone(d.URL)
		switch {
		case r.frontier.HasMoved(d.URL):
			moved = append(moved, d.ID)
		case vanish && recorded:
			ids = append(ids, d.ID)
		case vanish && gone:
			fresh = append(fresh, d)
		}
	}
	if crawl.IsMassRemoval(len(fresh)+len(moved), len(all)) && !r.about.AllowMassRemoval {
		r.warn("mass_removal_held")
		fresh, moved = nil, nil
	}
	ids = append(ids, moved...)
	for _, d := range fresh {
		ids = append(ids, d.ID)
		err := r.record(ctx, crawl.Record{Page: &crawl.Page{URL: d.URL, Outcome: crawl.Deleted, Reason: crawl.Vanished, DocumentID: d.ID, At: r.Now().UTC().Truncate(time.Millisecond)}})
		if err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err = r.Documents.Remove(ctx, r.key.workspaceID, r.base, ids, kbdocument.ByCrawl)
	return err
}

// finishTimeout bounds how long the end of a cancelled crawl is recorded.
const finishTimeout = 15 * time.Second

// finish records how the run ended. A node that stops records nothing: another one goes on.
func (r *run) finish(ctx context.Context, fault *operation.Failure, err error) error {
	end := operation.EndCrawl{Epoch: r.epoch, Now: r.Now().UTC().Truncate(time.Millisecond), Status: operation.Succeeded, Failure: fault}
	switch {
	case errors.Is(err, errCancelled), errors.Is(err, errNoSource):
		end.Status = operation.Cancelled
	case err != nil:
		return err
	case fault != nil:
		end.Status = operation.Failed
	default:
		end.Complete = r.isComplete()
	}
	if r.frontier != nil {
		end.Counts = r.frontier.Counts
		if r.frontier.Cut {
			r.warn("max_pages")
		}
		if r.frontier.Unread {
			r.warn("sitemap_unreadable")
		}
		if r.frontier.Failed && end.Counts.Failed == end.Counts.Done() && end.Status == operation.Succeeded {
			end.Status, end.Failure = operation.Failed, refusal(domain.CodeUnavailable, "fetch_failed", "the site could not be read")
		}
	}
	end.Warnings = r.warnings
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	_, err = r.Crawls.Execute(ctx, r.key.workspaceID, r.id, end)
	switch {
	case domain.CodeOf(err) == domain.CodeConflict:
		return nil // another node went on with it
	case err == nil:
		r.Used(ctx, r.key.workspaceID, activity.Usage{KnowledgeBase: r.base.Slug, Metrics: activity.Increments(map[string]int{activity.PagesCrawled: end.Counts.Fetched})})
	}
	return err
}
