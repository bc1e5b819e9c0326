package kbdocument

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/file"
)

// Command is what can be asked of a document.
type Command interface{ documentCommand() }

// Cause is who changed a document.
type Cause string

// The causes.
const (
	ByAPI     Cause = "api"
	ByRun     Cause = "automation"
	ByCrawl   Cause = "crawl"
	ByExpiry  Cause = "expired"
	ByRemoval Cause = "removed" // of its base, longer ago than deleted bases are kept
)

// Base names the base of a document in events: its slug may change later.
type Base struct {
	ID   string `json:"id"`
	Slug string `json:"slug"`
}

type (
	// Put makes a document, or replaces what the command gives. A content that the document has already is not
	// processed again. An address is loaded again.
	Put struct {
		ID       string
		Base     Base
		Origin   Origin
		Change   Change
		Content  *Content // nil: of an address, which is loaded later
		Declared string   // media type that the sender named
		Name     string   // of a new document to which the change gives none
		By       string
		Kept     int // how many revisions can be read; 0: all
		Reading  Reading
		Cause    Cause   // "": ByAPI
		Depth    int     // of the run that asks; 0: none does
		Result   *Result // of a content that was processed already; nil: the pipeline does it
		Now      time.Time
	}
	// Result is what became of a content.
	Result struct {
		Extract   Extract
		VectorSet string // that the model of the base makes; "": it has none
		Took      time.Duration
	}
	// Edit changes what its owner says about a document.
	Edit struct {
		Base   Base
		Change Change
		Cause  Cause // "": ByAPI
		Depth  int   // of the run that asks; 0: none does
		Now    time.Time
	}
	// Delete ends a document. Silently is for one of many, which are told of together.
	Delete struct {
		Base     Base
		Silently bool
		Cause    Cause // "": ByAPI
		Now      time.Time
	}
	// Expire ends a document whose time is over, and no other.
	Expire struct {
		Base Base
		Now  time.Time
	}
	// Reprocess gives the pipeline work with a document that it has already.
	Reprocess struct {
		Fetch, Extract, Bulk bool
		Operation            string // that processes the base again; "": none
		Depth                int    // of the run that asks; 0: none does
		Now                  time.Time
	}
	// Begin begins an attempt at a job. When the node of two attempts was lost, the document is what kills them.
	Begin struct {
		Base       Base
		Generation int
		Now        time.Time
	}
	// Release gives an attempt back: the node stops.
	Release struct{ Generation, Attempt int }
	// Postpone ends an attempt that failed for a reason that may pass.
	Postpone struct {
		Generation, Attempt int
		Until               time.Time
	}
	// Finish ends a job: the revision can be searched.
	Finish struct {
		Base                Base
		Generation, Attempt int
		Content             *Content // that was loaded from the address; nil: it was not
		Extract             *Extract // nil: what was loaded is what is searched already
		VectorSet           string   // that the model of the base makes; "": it has none
		Kept                int
		Now                 time.Time
	}
	// Fail ends a job: the revision cannot be searched.
	Fail struct {
		Base                Base
		Generation, Attempt int
		Content             *Content
		Fault               Fault
		Kept                int
		Now                 time.Time
	}
	// Embed has a model make another set of vectors than the one that it was to make; "": none.
	Embed struct {
		Set   string
		Again bool // also when it is to make this set: at once, although it has failed
	}
	// PutVectors ends the work of a model: with vectors, or with a fault that will not pass.
	PutVectors struct{ Vectors Vectors }
	// PostponeVectors ends an attempt of a model that failed for a reason that may pass.
	PostponeVectors struct {
		Set   string
		Until time.Time
	}
)

func (Put) documentCommand()       {}
func (Edit) documentCommand()      {}
func (Delete) documentCommand()    {}
func (Expire) documentCommand()    {}
func (Reprocess) documentCommand() {}
func (Begin) documentCommand()     {}
func (Release) documentCommand()   {}
func (Postpone) documentCommand()  {}
func (Finish) documentCommand()    {}
func (Fail) documentCommand()      {}

func (Embed) documentCommand()           {}
func (PutVectors) documentCommand()      {}
func (PostponeVectors) documentCommand() {}

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Put:
		return put(s, c)
	case Edit:
		if err := s.checkExists(c.Now); err != nil {
			return nil, err
		}
		next := s
		next.Fields = c.Change.apply(s.Fields)
		return updated(s, next, c.Base, c.Cause, c.Depth, c.Now, c.Change)
	case Delete:
		if err := s.checkExists(c.Now); err != nil {
			return nil, err
		}
		if c.Silently {
			return []domain.Event{Removed{}}, nil
		}
		return []domain.Event{Deleted{About: s.about(c.Base), Cause: cmp.Or(c.Cause, ByAPI)}}, nil
	case Expire:
		if s.ID == "" || s.Deleted || !s.expiredAt(c.Now) {
			return nil, nil // it was given more time, or somebody was faster
		}
		return []domain.Event{Deleted{About: s.about(c.Base), Cause: ByExpiry}}, nil
	case Reprocess:
		if err := s.checkExists(c.Now); err != nil {
			return nil, err
		}
		if c.Fetch && s.URL == "" {
			return nil, domain.Invalid(domain.FieldError{Field: "fetch", Message: "must be false: the document has no address"})
		}
		return []domain.Event{Requeued{Depth: c.Depth, Job: Job{
			Generation: s.Generation + 1, Fetch: c.Fetch || len(s.Revisions) == 0, Extract: c.Extract || s.Extract == nil, Bulk: c.Bulk, Operation: c.Operation,
		}}}, nil
	}
	return decideJob(s, cmd)
}

// checkExists refuses what is asked of a document that is gone.
func (s State) checkExists(now time.Time) error {
	if s.GoneAt(now) {
		return domain.Refuse(domain.CodeNotFound, "there is no such document").With("resource", "document")
	}
	return nil
}

// put records what a document is, and that it can be searched if it was processed already.
func put(s State, c Put) ([]domain.Event, error) {
	events, err := record(s, c)
	if err != nil || c.Result == nil || len(events) == 0 {
		return events, err
	}
	next := s
	for _, ev := range events {
		next = evolve(next, ev)
	}
	if next.Generation == s.Generation {
		return events, nil // the pipeline has nothing to do with what was put
	}
	extract := c.Result.Extract
	extract.Revision = next.Revision
	return append(events, next.ready(c.Base, &extract, c.Result.VectorSet, c.Result.Took)), nil
}

// record records what a document is.
func record(s State, c Put) ([]domain.Event, error) {
	if s.Deleted {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such document").With("resource", "document")
	}
	next := s
	next.Fields, next.Reading = c.Change.apply(s.Fields), c.Reading
	if s.ID == "" || c.Cause != ByCrawl { // a page that somebody added, or another site has, stays theirs
		next.Origin = c.Origin
	}
	if c.Declared != "" {
		next.Declared = c.Declared
	}
	if s.expiredAt(c.Now) && c.Change.ExpiresAt == nil {
		next.ExpiresAt = time.Time{} // it is given anew
	}
	isNew := s.ID == ""
	if isNew {
		next.ID, next.BaseID, next.CreatedBy, next.Name = c.ID, c.Base.ID, c.By, cmp.Or(next.Name, c.Name)
	}
	switch {
	case c.Content == nil:
		next = next.withJob(Job{Fetch: true, Extract: true})
		next.Revision = max(1, next.Revision)
	case isNew || s.Content().Hash != c.Content.Hash:
		next = next.withRevision(*c.Content, c.By, c.Kept, c.Now).withJob(Job{Extract: true, Bulk: c.Cause == ByCrawl})
	case !domain.Same(s.Reading, c.Reading), c.Cause == ByCrawl && s.Fault != nil: // somebody had the page loaded again, in vain
		next = next.withJob(Job{Extract: true, Bulk: c.Cause == ByCrawl})
	}
	if c.Cause == ByCrawl && next.Generation != s.Generation {
		next.CheckedAt = c.Now.UTC().Truncate(time.Millisecond)
	}
	if isNew {
		if err := next.validate(c.Now, true); err != nil {
			return nil, err
		}
		next.Depth = c.Depth
		return []domain.Event{Added{Document: next, About: next.about(c.Base), Cause: cmp.Or(c.Cause, ByAPI)}}, nil
	}
	return updated(s, next, c.Base, c.Cause, c.Depth, c.Now, c.Change)
}

// updated records what a document is now, when that is something else than before.
func updated(s, next State, base Base, cause Cause, depth int, now time.Time, c Change) ([]domain.Event, error) {
	if domain.Same(s, next) {
		return nil, nil
	}
	next.Depth = depth
	if err := next.validate(now, c.ExpiresAt != nil); err != nil {
		return nil, err
	}
	return []domain.Event{Updated{Document: next, About: next.about(base), Cause: cmp.Or(cause, ByAPI)}}, nil
}

// withRevision returns a document with one more revision, and without those that are too many.
func (s State) withRevision(c Content, by string, kept int, now time.Time) State {
	s.Revision = 1
	if n := len(s.Revisions); n > 0 {
		s.Revision = s.Revisions[n-1].Number + 1
	}
	s.Revisions = append(slices.Clone(s.Revisions), Revision{Number: s.Revision, Content: c, CreatedAt: now.UTC().Truncate(time.Millisecond), CreatedBy: by})
	if kept > 0 && len(s.Revisions) > kept {
		s.Revisions = s.Revisions[len(s.Revisions)-kept:]
	}
	return s
}

// withJob returns a document with work for the pipeline.
func (s State) withJob(j Job) State {
	s.Generation++
	j.Generation = s.Generation
	s.Job, s.Fault = &j, nil
	return s
}

// lostNodes is how many nodes a document may take down.
const lostNodes = 2

// decideJob decides what the pipeline reports. What it reports of a job that is not the current one does not count.
func decideJob(s State, cmd Command) ([]domain.Event, error) {
	current := func(generation, attempt int) bool {
		return !s.Deleted && s.Job != nil && s.Job.Generation == generation && s.Job.Attempts == attempt && !s.Job.Begun.IsZero()
	}
	switch c := cmd.(type) {
	case Begin:
		if s.Deleted || s.Job == nil || s.Job.Generation != c.Generation || s.Job.NotBefore.After(c.Now) {
			return nil, nil
		}
		lost := s.Job.Lost
		if !s.Job.Begun.IsZero() {
			lost++
		}
		if lost >= lostNodes {
			return []domain.Event{FailedEvent{
				About: s.about(c.Base), Attempts: s.Job.Attempts, Generation: c.Generation,
				Error: Fault{"extraction_crashed", "the service stopped twice while it processed this document"},
			}}, nil
		}
		return []domain.Event{Begun{Generation: c.Generation, Attempt: s.Job.Attempts + 1, Lost: lost, At: c.Now.UTC()}}, nil
	case Release:
		if !current(c.Generation, c.Attempt) {
			return nil, nil
		}
		return []domain.Event{Postponed{Generation: c.Generation}}, nil
	case Postpone:
		if !current(c.Generation, c.Attempt) {
			return nil, nil
		}
		return []domain.Event{Postponed{Generation: c.Generation, Until: c.Until.UTC()}}, nil
	case Finish:
		if !current(c.Generation, c.Attempt) {
			return nil, nil
		}
		extract, fetched := s.Extract, s.fetched(c.Content, c.Kept, c.Now)
		if c.Extract != nil {
			own := *c.Extract
			if extract = &own; fetched != nil {
				extract.Revision = fetched.Revision
			}
		}
		if extract == nil {
			return nil, domain.Refuse(domain.CodeInternal, "kbdocument: a job ended without a text")
		}
		e := s.ready(c.Base, extract, c.VectorSet, c.Now.Sub(s.Job.Begun))
		if e.Fetched = fetched; fetched != nil {
			e.Revision = fetched.Revision
		}
		return []domain.Event{e}, nil
	case Fail:
		if !current(c.Generation, c.Attempt) {
			return nil, nil
		}
		e := FailedEvent{About: s.about(c.Base), Generation: c.Generation, Error: c.Fault, Attempts: s.Job.Attempts}
		if e.Fetched = s.fetched(c.Content, c.Kept, c.Now); e.Fetched != nil {
			e.Revision = e.Fetched.Revision
		}
		return []domain.Event{e}, nil
	default:
		return decideVectors(s, cmd)
	}
}

// ready says that the current job of a document has ended well.
func (s State) ready(base Base, e *Extract, vectorSet string, took time.Duration) ReadyEvent {
	return ReadyEvent{
		About: s.about(base), Generation: s.Generation, Extract: e, VectorSet: vectorSet, Chunks: e.Count, Characters: e.Characters, Truncated: e.Truncated, Duration: took.Milliseconds(),
	}
}

// decideVectors decides what a model reports. What it reports of other work than the current one does not count.
func decideVectors(s State, cmd Command) ([]domain.Event, error) {
	current := func(set string) bool { return !s.Deleted && s.Embedding != nil && s.Embedding.Set == set }
	switch c := cmd.(type) {
	case Embed:
		if s.Deleted || s.Embedding == nil || current(c.Set) && (!c.Again || s.Embedding.Attempts == 0) {
			return nil, nil
		}
		return []domain.Event{EmbeddingQueued{c.Set}}, nil
	case PutVectors:
		if !current(c.Vectors.Set) || s.Extract == nil || s.Extract.Chunks != c.Vectors.Chunks {
			return nil, nil
		}
		return []domain.Event{Embedded{c.Vectors}}, nil
	case PostponeVectors:
		if !current(c.Set) {
			return nil, nil
		}
		return []domain.Event{EmbeddingPostponed{c.Set, c.Until.UTC()}}, nil
	default:
		return nil, domain.Refuse(domain.CodeInternal, "kbdocument: unknown command %T", cmd)
	}
}

// fetched returns what loading the address changed; nil when it was not loaded.
func (s State) fetched(c *Content, kept int, now time.Time) *Fetched {
	if c == nil {
		return nil
	}
	if len(s.Revisions) == 0 || s.Content().Hash != c.Hash {
		s = s.withRevision(*c, "", kept, now)
	}
	return &Fetched{Revision: s.Revision, Revisions: s.Revisions, At: now.UTC().Truncate(time.Millisecond)}
}

// Bounds of what is known of a document.
const (
	maxKey      = 500
	maxName     = 255
	maxTitle    = 500
	MaxTags     = 50
	MaxTag      = 60      // characters
	maxMetadata = 8 << 10 // bytes as JSON
	maxDepth    = 4
	maxURL      = 2048
)

// Languages are the codes that a document may name.
var Languages = strings.Fields("ar ckb cjk da de en es fa fi fr hi hr hu it nl no pl pt ro ru sv tr und")

func (s State) validate(now time.Time, expiryGiven bool) error {
	var errs []domain.FieldError
	fault := func(ok bool, field, message string) {
		if !ok {
			errs = append(errs, domain.FieldError{Field: field, Message: message})
		}
	}
	fault(s.Key == "" || domain.IsTitle(s.Key, maxKey), "key", "must be 1 to 500 characters without control characters")
	fault(file.IsName(s.Name) && utf8.RuneCountInString(s.Name) <= maxName, "name", "must be 1 to 255 bytes without slashes and control characters")
	fault(s.Title == "" || domain.IsTitle(s.Title, maxTitle), "title", "must be one line of at most 500 characters")
	fault(s.Language == "" || slices.Contains(Languages, s.Language), "language", "must be one of "+strings.Join(Languages, ", "))
	fault(len(s.URL) <= maxURL, "url", "must be at most 2048 characters")
	fault(len(s.Tags) <= MaxTags, "tags", "must be at most 50")
	for _, tag := range s.Tags {
		if !domain.IsTitle(tag, MaxTag) {
			fault(false, "tags", "must have 1 to 60 characters each")
			break
		}
	}
	problem := MetadataProblem(s.Metadata)
	fault(problem == "", "metadata", problem)
	fault(!expiryGiven || s.ExpiresAt.IsZero() || s.ExpiresAt.After(now), "expiresAt", "must be in the future")
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

// MetadataProblem returns what is wrong with metadata, "" for nothing.
func MetadataProblem(metadata map[string]any) string {
	body, err := json.Marshal(metadata)
	if err != nil || len(body) > maxMetadata || depthOf(metadata) > maxDepth {
		return "must be an object of at most 8 KB and 4 levels"
	}
	return ""
}

// depthOf returns how many levels of objects and lists a value has.
func depthOf(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			deepest = max(deepest, depthOf(item))
		}
	case []any:
		for _, item := range v {
			deepest = max(deepest, depthOf(item))
		}
	default:
		return 0
	}
	return deepest + 1
}
