package operation

import (
	"encoding/json"
	"time"

	"svc/domain"
)

// What starts a crawl.
const (
	ByHand     = "manual"
	BySchedule = "schedule"
)

// CrawlAbout says which site is read, and how.
type CrawlAbout struct {
	BaseID           string `json:"baseId"`
	KnowledgeBase    string `json:"knowledgeBase"` // its slug when the run began
	SourceID         string `json:"sourceId"`
	Trigger          string `json:"trigger"`
	Full             bool   `json:"full,omitempty"`             // pages are loaded although they may not have changed
	AllowMassRemoval bool   `json:"allowMassRemoval,omitempty"` // documents are removed, however many
}

// CrawlCounts are the pages of a run by what became of them.
type CrawlCounts struct {
	Queued     int   `json:"queued"`  // all that the run has to do with
	Fetched    int   `json:"fetched"` // that the site answered for
	Created    int   `json:"created"`
	Updated    int   `json:"updated"`
	Unchanged  int   `json:"unchanged"`
	Duplicates int   `json:"duplicates"`
	Skipped    int   `json:"skipped"`
	Failed     int   `json:"failed"`
	Deleted    int   `json:"deleted"`
	Bytes      int64 `json:"bytes"`
}

// Done returns how many pages the run is done with.
func (c CrawlCounts) Done() int {
	return c.Created + c.Updated + c.Unchanged + c.Duplicates + c.Skipped + c.Failed + c.Deleted
}

// Crawling is how far a crawl is.
type Crawling struct {
	CrawlAbout
	Counts   CrawlCounts `json:"counts"`
	Complete bool        `json:"complete"` // every page was visited that there is
	Warnings []string    `json:"warnings"`
}

type (
	// StartCrawl begins a crawl. Starting it twice does nothing.
	StartCrawl struct {
		About About
		Crawl CrawlAbout
	}
	// CountCrawl says how far a crawl is. It is refused when somebody else goes on with it.
	CountCrawl struct {
		Epoch  uint64
		Counts CrawlCounts
	}
	// EndCrawl ends a crawl.
	EndCrawl struct {
		Epoch    uint64
		Now      time.Time
		Status   Status
		Complete bool
		Counts   CrawlCounts
		Warnings []string
		Failure  *Failure
	}
)

func (StartCrawl) operationCommand() {}
func (CountCrawl) operationCommand() {}
func (EndCrawl) operationCommand()   {}

func (c StartCrawl) decide(s State) ([]domain.Event, error) {
	if s.ID != "" {
		return nil, nil
	}
	return []domain.Event{Started{About: c.About}, CrawlStarted{ofCrawl{c.Crawl.KnowledgeBase, c.Crawl.SourceID, c.About.ID, c.Crawl.Trigger}, c.Crawl}}, nil
}

func (c CountCrawl) decide(s State) ([]domain.Event, error) {
	if err := s.heldBy(c.Epoch); err != nil || s.Crawl == nil || s.Crawl.Counts == c.Counts {
		return nil, err
	}
	return []domain.Event{CrawlProgress{s.ofCrawl(), c.Counts, percentage(c.Counts)}}, nil
}

func percentage(c CrawlCounts) int { return min(99, 100*c.Done()/max(c.Queued, 1)) }

func (c EndCrawl) decide(s State) ([]domain.Event, error) {
	if err := s.heldBy(c.Epoch); err != nil || s.Crawl == nil {
		return nil, err
	}
	ended := CrawlCompleted{s.ofCrawl(), c.Counts, c.Status, c.Complete, c.Now.Sub(s.CreatedAt).Milliseconds(), listed(c.Warnings)}
	result, err := json.Marshal(ended)
	if err != nil {
		return nil, err
	}
	return []domain.Event{ended, Ended{ID: s.ID, Kind: s.Kind, Status: c.Status, Result: result, Failure: c.Failure, EndedAt: c.Now}}, nil
}

// crawled folds what happens to a crawl.
func (s State) crawled(ev domain.Event) State {
	switch e := ev.(type) {
	case CrawlStarted:
		s.Crawl = &Crawling{CrawlAbout: e.About, Warnings: []string{}}
	case CrawlProgress:
		s = s.withCrawl(func(c *Crawling) { c.Counts = e.Counts })
	case CrawlCompleted:
		s = s.withCrawl(func(c *Crawling) { c.Counts, c.Complete, c.Warnings = e.Counts, e.Complete, e.Warnings })
	}
	return s
}

func (s State) withCrawl(change func(*Crawling)) State {
	if s.Crawl != nil {
		now := *s.Crawl
		change(&now)
		s.Crawl = &now
	}
	return s
}

func (s State) ofCrawl() ofCrawl {
	return ofCrawl{s.Crawl.KnowledgeBase, s.Crawl.SourceID, s.ID, s.Crawl.Trigger}
}

// ofCrawl says which crawl an event is of.
type ofCrawl struct {
	KnowledgeBase string `json:"knowledgeBase"`
	SourceID      string `json:"sourceId"`
	OperationID   string `json:"operationId"`
	Trigger       string `json:"trigger"`
}

type (
	// CrawlStarted says that a site is read.
	CrawlStarted struct {
		ofCrawl
		About CrawlAbout `json:"about"`
	}
	// CrawlProgress says how far a crawl is.
	CrawlProgress struct {
		ofCrawl
		Counts     CrawlCounts `json:"counts"`
		Percentage int         `json:"percentage"`
	}
	// CrawlCompleted says how a crawl ended.
	CrawlCompleted struct {
		ofCrawl
		Counts   CrawlCounts `json:"counts"`
		Status   Status      `json:"status"`
		Complete bool        `json:"complete"`
		Duration int64       `json:"duration"` // milliseconds
		Warnings []string    `json:"warnings"`
	}
)

// EventType implements domain.Event.
func (CrawlStarted) EventType() string { return "knowledge.crawls.started" }

// EventType implements domain.Event.
func (CrawlProgress) EventType() string { return "knowledge.crawls.progress" }

// EventType implements domain.Event.
func (CrawlCompleted) EventType() string { return "knowledge.crawls.completed" }

// Payload implements domain.PayloadEvent.
func (e CrawlStarted) Payload() any { return e.ofCrawl }
