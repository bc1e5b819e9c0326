package crawl

import (
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/operation"
)

// Outcome is what became of a page.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
	Duplicate Outcome = "duplicate"
	Skipped   Outcome = "skipped"
	Failed    Outcome = "failed"
	Deleted   Outcome = "deleted"
)

// Outcomes lists all of them.
var Outcomes = []string{string(Created), string(Updated), string(Unchanged), string(Duplicate), string(Skipped), string(Failed), string(Deleted)}

// Page is what became of one address.
type Page struct {
	URL        string    `json:"url"`
	Outcome    Outcome   `json:"outcome"`
	Status     int       `json:"status,omitempty"` // that the site answered with
	Reason     string    `json:"reason,omitempty"`
	Depth      int       `json:"depth"`
	DocumentID string    `json:"documentId,omitempty"`
	Bytes      int64     `json:"bytes"`
	Duration   int64     `json:"duration"` // milliseconds
	At         time.Time `json:"at"`
}

// Link is an address that is to be visited.
type Link struct {
	URL   string `json:"url"`
	Depth int    `json:"depth"`
}

// Record is what is stored of a run after each visit. All records of a run, in their order, are its whole state.
type Record struct {
	Page     *Page    `json:"page,omitempty"`     // nil: only addresses were found
	Aliases  []string `json:"aliases,omitempty"`  // other addresses of the page: where it redirects to, what it calls itself
	CopyOf   string   `json:"copyOf,omitempty"`   // of a duplicate: the address that has the same address or text
	Text     string   `json:"text,omitempty"`     // hash of its text
	Found    []Link   `json:"found,omitempty"`    // addresses to visit
	Refused  []Page   `json:"refused,omitempty"`  // addresses that are not
	Sitemaps bool     `json:"sitemaps,omitempty"` // all sitemaps were read
	Unread   bool     `json:"unread,omitempty"`   // but for one that may be readable later
	Cut      bool     `json:"cut,omitempty"`      // there were more addresses than the run may visit
}

// Frontier is the state of a run: which addresses are to be visited, and what became of the others. It is not safe for
// concurrent use.
type Frontier struct {
	Counts   operation.CrawlCounts
	Sitemaps bool // all sitemaps were read
	Unread   bool // but for one that may be readable later
	Cut      bool // there were more addresses than the run may visit
	Failed   bool // a start address failed

	scope      *Scope
	source     Source
	waiting    map[string][]waitingAddress // by host, in the order in which they were found
	lastNumber int                         // that an address was given which waits or has waited
	queued     map[string]bool             // the addresses of waiting
	depths     map[string]int              // of addresses that are or were to be visited: the least that is known
	open       map[int]int                 // how many addresses of a depth have to be visited before those further away
	deferred   map[string]bool             // addresses that are visited last: they do not count in open
	known      map[string]bool             // addresses that the run has to do with
	variants   map[string]int              // queries by path
	texts      map[string]string           // address by the hash of the text
	visited    map[string]bool             // addresses of which it is known what became of them
	vanished   map[string]bool             // addresses whose documents are removed
	stored     map[string]bool             // addresses of pages that are documents, and those that they are stored under
	held       map[string]bool             // addresses that pages are stored under
	moved      map[string]string           // address whose page is stored under another one, or that has the text of another one
	accepted   int
}

// waitingAddress is an address that waits, and its number in the order in which they were found.
type waitingAddress struct {
	url    string
	number int
}

// NewFrontier returns the state of a run that has visited nothing yet.
func NewFrontier(source Source, scope *Scope) *Frontier {
	f := &Frontier{
		scope: scope, source: source, waiting: map[string][]waitingAddress{}, queued: map[string]bool{}, depths: map[string]int{}, open: map[int]int{}, deferred: map[string]bool{}, known: map[string]bool{},
		variants: map[string]int{}, texts: map[string]string{}, visited: map[string]bool{}, vanished: map[string]bool{}, stored: map[string]bool{}, held: map[string]bool{},
		moved: map[string]string{},
	}
	starts := slices.Sorted(scope.Starts())
	for _, address := range starts {
		f.enter(Link{URL: address})
	}
	return f
}

// enter adds an address to those that wait.
func (f *Frontier) enter(l Link) {
	f.known[l.URL] = true
	f.depths[l.URL] = l.Depth
	f.open[l.Depth]++
	f.Return(l.URL)
	f.accepted++
	f.Counts.Queued++
	path, query, _ := strings.Cut(l.URL, "?")
	if query != "" {
		f.variants[path]++
	}
}

// hasVariants reports whether an address has a query, and its path has as many others as are visited.
func (f *Frontier) hasVariants(address string) bool {
	path, query, _ := strings.Cut(address, "?")
	return query != "" && f.variants[path] >= maxVariants
}

// isNearer reports whether an address that is to be visited is less links away than was known.
func (f *Frontier) isNearer(l Link) bool {
	before, entered := f.depths[l.URL]
	return entered && l.Depth < before && !f.visited[l.URL]
}

// close says that no address further away has to wait for this one.
func (f *Frontier) close(address string) {
	if depth, entered := f.depths[address]; entered && !f.visited[address] && !f.deferred[address] {
		f.open[depth]--
	}
}

// Sort returns which of the normalised addresses that a page has are to be visited, and which are refused as traps. The
// frontier stays as it is: Add changes it.
func (f *Frontier) Sort(addresses []string, depth int, now time.Time) (r Record) {
	variants, seen, accepted := map[string]int{}, map[string]bool{}, f.accepted
	for _, address := range addresses {
		link := Link{address, depth}
		if f.known[address] && !f.isNearer(link) || seen[address] || !f.scope.Has(address) || depth > f.source.Depth {
			continue
		}
		seen[address] = true
		if f.known[address] {
			r.Found = append(r.Found, link)
			continue
		}
		reason := trapOf(address)
		path, query, _ := strings.Cut(address, "?")
		if reason == "" && query != "" && f.variants[path]+variants[path] >= maxVariants {
			reason = "too_many_variants"
		}
		switch {
		case reason != "":
			r.Refused = append(r.Refused, Page{URL: domain.Shorten(address, maxShown), Outcome: Skipped, Reason: reason, Depth: depth, At: now})
		case accepted >= f.source.MaxPages:
			r.Cut = true
		default:
			accepted++
			if query != "" {
				variants[path]++
			}
			r.Found = append(r.Found, link)
		}
	}
	return r
}

// maxShown is how much of an address is shown that is refused.
const maxShown = 300

// Next returns the first address that waits whose host is free and that may be visited now, and takes it out. An address waits
// until none is left that is more than one link nearer: only those could lead to it by fewer links. So a depth is final when
// the address is visited, although pages fail and are visited again later.
func (f *Frontier) Next(isFree func(host string) bool, may func(Link) bool) (next Link, found bool) {
	nearest, limited := 0, false
	for depth, count := range f.open {
		if count > 0 && (!limited || depth < nearest) {
			nearest, limited = depth, true
		}
	}
	from, at, number := "", 0, 0
	for host, list := range f.waiting {
		if !isFree(host) {
			continue
		}
		for i, w := range list {
			if found && w.number > number {
				break
			}
			l := Link{w.url, f.depths[w.url]}
			if limited && l.Depth > nearest+1 || !may(l) {
				continue
			}
			next, found, from, at, number = l, true, host, i, w.number
			break
		}
	}
	if found {
		f.remove(from, at)
	}
	return next, found
}

// remove removes an address from those that wait.
func (f *Frontier) remove(host string, at int) {
	list := f.waiting[host]
	delete(f.queued, list[at].url)
	if at == 0 {
		list = list[1:]
	} else {
		list = slices.Delete(list, at, at+1)
	}
	if f.waiting[host] = list; len(list) == 0 {
		delete(f.waiting, host)
	}
}

// Waiting returns how many addresses wait.
func (f *Frontier) Waiting() int { return len(f.queued) }

// Return puts an address back that was taken out: it is visited later.
func (f *Frontier) Return(address string) {
	host := HostOf(address)
	f.lastNumber++
	f.waiting[host] = append(f.waiting[host], waitingAddress{address, f.lastNumber})
	f.queued[address] = true
}

// Defer puts an address back that is visited last. Its links must be recorded.
func (f *Frontier) Defer(address string) {
	f.close(address)
	f.deferred[address] = true
	f.Return(address)
}

// Knows reports whether the run has to do with an address.
func (f *Frontier) Knows(address string) bool { return f.known[address] }

// Visited reports whether it is known what became of an address.
func (f *Frontier) Visited(address string) bool { return f.visited[address] }

// TextOwner returns the address whose page has a text; "" when no page of this run has it.
func (f *Frontier) TextOwner(text string) string { return f.texts[text] }

// OwnText says that the page of an address has a text.
func (f *Frontier) OwnText(text, address string) {
	if text != "" && f.texts[text] == "" {
		f.texts[text] = address
	}
}

// Add adds what was recorded. It gives the same state when it is called again for all records of a run.
func (f *Frontier) Add(r Record) {
	f.Sitemaps, f.Unread, f.Cut = f.Sitemaps || r.Sitemaps, f.Unread || r.Unread, f.Cut || r.Cut
	for _, l := range r.Found {
		switch {
		case f.isNearer(l):
			if !f.deferred[l.URL] {
				f.open[f.depths[l.URL]]--
				f.open[l.Depth]++
			}
			f.depths[l.URL] = l.Depth
		case f.known[l.URL]: // another page has it, too
		case f.hasVariants(l.URL): // others were found meanwhile
			f.known[l.URL] = true
		case f.accepted >= f.source.MaxPages:
			f.Cut = true
		default:
			f.enter(l)
		}
	}
	for _, p := range r.Refused {
		if !f.known[p.URL] {
			f.known[p.URL] = true
			f.Counts.Queued++
			f.count(p)
		}
	}
	for _, address := range r.Aliases {
		f.close(address)
		f.known[address], f.visited[address] = true, true
	}
	if r.Page == nil {
		return
	}
	if !f.known[r.Page.URL] {
		f.known[r.Page.URL] = true
		f.Counts.Queued++
	}
	f.close(r.Page.URL)
	f.visited[r.Page.URL] = true
	f.vanished[r.Page.URL] = r.Page.Reason == Vanished
	if f.queued[r.Page.URL] { // it was visited by another node
		host := HostOf(r.Page.URL)
		f.remove(host, slices.IndexFunc(f.waiting[host], func(w waitingAddress) bool { return w.url == r.Page.URL }))
	}
	f.Failed = f.Failed || r.Page.Outcome == Failed && f.scope.IsStart(r.Page.URL)
	if r.Page.Status > 0 {
		f.Counts.Fetched++
	}
	f.Counts.Bytes += r.Page.Bytes
	f.count(*r.Page)
	switch r.Page.Outcome {
	case Created, Updated, Unchanged:
		f.OwnText(r.Text, r.Page.URL)
		f.store(r.Page.URL, r.Aliases)
	case Duplicate:
		for _, address := range append([]string{r.Page.URL}, r.Aliases...) {
			f.moved[address] = r.CopyOf
		}
	}
}

// store notes under which address a page is a document: its own one, or the one that it redirects to or calls itself.
func (f *Frontier) store(address string, aliases []string) {
	f.stored[address] = true
	for _, alias := range aliases {
		f.stored[alias], f.held[alias] = true, true
		f.moved[address] = alias
	}
	if len(aliases) == 0 {
		f.held[address] = true
	}
}

// HasMoved reports whether what was the document of an address is another one now: its page is stored under another
// address, or has the text of another page.
func (f *Frontier) HasMoved(address string) bool {
	return f.stored[f.moved[address]] && !f.held[address]
}

func (f *Frontier) count(p Page) {
	c := &f.Counts
	switch p.Outcome {
	case Created:
		c.Created++
	case Updated:
		c.Updated++
	case Unchanged:
		c.Unchanged++
	case Duplicate:
		c.Duplicates++
	case Skipped:
		c.Skipped++
	case Failed:
		c.Failed++
	case Deleted:
		c.Deleted++
	}
}

// Vanished is the reason of a page that the run did not find any more.
const Vanished = "vanished"

// IsGone reports whether the run neither saw an address nor failed on it; removed whether that is recorded.
func (f *Frontier) IsGone(address string) (gone, removed bool) {
	return !f.known[address] || f.vanished[address], f.vanished[address]
}

// maxRemoved is how many documents are removed in any case.
const maxRemoved = 10

// IsMassRemoval reports whether so many of all documents of a source are gone that something else may be wrong.
func IsMassRemoval(gone, all int) bool { return gone > maxRemoved && 2*gone > all }
