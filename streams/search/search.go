// Package search searches the documents of knowledge bases, for all who do: requests, automations, answers, agents.
package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"svc/commands/knowledge"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/activity"
	"svc/domain/document"
	"svc/domain/kbdocument"
	chunks "svc/domain/knowledge"
	"svc/projections"
	"svc/projections/fulltext"
	"svc/projections/vectors"
)

// Options configure a Searcher. All fields are required.
type Options struct {
	Models projections.Viewer
	Index  Index
	// Embedder turns queries into vectors.
	Embedder Embedder
	// Used records how much of something was used.
	Used func(ctx context.Context, workspaceID string, u activity.Usage)
	// Settings returns the settings of a base, with defaults.
	Settings func(ctx context.Context, workspaceID string, item projections.Item) (*document.Map, error)
	Now      func() time.Time
}

// Index is the index of full text and of vectors. It is a *projections.SearchIndex.
type Index interface {
	// Sync waits until the index of a base has everything that the read models have now.
	Sync(ctx context.Context, workspaceID, baseID string) error
	Search(ctx context.Context, workspaceID, baseID string, q fulltext.Query) (fulltext.Result, error)
	Bound(ctx context.Context, workspaceID, baseID string, q fulltext.Query) (has func(id string, n int) bool, err error)
	Chunks(workspaceID, baseID, id string, from, limit int) ([]chunks.Chunk, int, error)
	Nearest(ctx context.Context, workspaceID, baseID, set string, q vectors.Query) (projections.Nearest, error)
}

// Searcher searches. All methods are safe for concurrent use.
type Searcher struct {
	o        Options
	readable readable
}

// New returns a Searcher.
func New(o Options) (*Searcher, error) {
	if o.Models == nil || o.Index == nil || o.Embedder == nil || o.Used == nil || o.Settings == nil || o.Now == nil {
		return nil, errors.New("search: Options lack a required field")
	}
	return &Searcher{o: o, readable: newReadable()}, nil
}

// Bounds of a search.
const (
	maxQuery        = 2000 // characters
	maxSearched     = 20   // bases
	maxLimit        = 100
	maxPassages     = 10
	maxDepth        = 10_000 // results up to the end of a page
	searchTimeout   = 10 * time.Second
	defaultPassages = 3
)

// Search searches bases. A document that was ready before the call, as far as the read models of this node know, is
// found.
func (s *Searcher) Search(ctx context.Context, in knowledge.SearchRequest) (knowledge.SearchAnswer, error) {
	started := s.o.Now()
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	answer, err := s.search(ctx, in)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return knowledge.SearchAnswer{}, domain.Refuse(domain.CodeGatewayTimeout, "the search took longer than %d seconds", int(searchTimeout.Seconds()))
	}
	answer.Took = s.o.Now().Sub(started).Milliseconds()
	return answer, err
}

func (s *Searcher) search(ctx context.Context, in knowledge.SearchRequest) (answer knowledge.SearchAnswer, err error) {
	bases, err := s.findBases(ctx, in)
	if err != nil {
		return answer, err
	}
	x, err := newQuery(in, bases)
	if err != nil {
		return answer, err
	}
	x.Searcher, x.now = s, s.o.Now()
	for _, b := range bases {
		if err := s.o.Index.Sync(ctx, in.WorkspaceID, b.id); err != nil {
			return answer, err
		}
	}
	if x.mode != knowledge.ModeText {
		if err := x.embedQuery(ctx); err != nil {
			return answer, err
		}
	}
	if err := x.run(ctx); err != nil {
		return answer, err
	}
	if x.total == 0 && in.Fuzzy == nil && x.looksForWords() {
		x.reset()
		x.fuzzy = true
		if err := x.run(ctx); err != nil {
			return answer, err
		}
		x.fuzzy = x.total > 0
	}
	return x.answer(), ctx.Err()
}

// looksForWords reports whether words decide what is found. In a search by meaning those do that must be there, or must
// not.
func (x *query) looksForWords() bool {
	return !x.parsed.All && (x.mode != knowledge.ModeVector || x.parsed.Binds())
}

// searchedBase is a base with what searches take from its settings.
type searchedBase struct {
	id, slug      string
	rights        Base
	limit         int
	boosts        *fulltext.Boosts // nil: the default
	synonyms      [][]string
	vectorSet     string // of the vectors that are searched; "": the base has no model
	isComplete    bool   // all documents have them, or had them once
	defaultMode   string
	minSimilarity float64
	textWeight    float64
	vectorWeight  float64
}

// findBases returns the bases that are searched.
func (s *Searcher) findBases(ctx context.Context, in knowledge.SearchRequest) (bases []searchedBase, err error) {
	if len(in.Bases) > maxSearched {
		return nil, invalid("knowledgeBases", fmt.Sprintf("must be at most %d", maxSearched))
	}
	items, err := s.items(in)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 && in.Rights != nil && !in.Rights.Could("read", Subject) {
		return nil, in.Rights.Refusal("read", Subject)
	}
	if len(items) > maxSearched {
		return nil, invalid("knowledgeBases", fmt.Sprintf("must name at most %d bases: there are %d", maxSearched, len(items)))
	}
	for _, item := range items {
		settings, err := s.o.Settings(ctx, in.WorkspaceID, item)
		if err != nil {
			return nil, err
		}
		b := toSearchedBase(item, settings)
		b.rights = s.rightsOf(in.WorkspaceID, item)
		if b.vectorSet != "" {
			served, err := s.vectorSet(in.WorkspaceID, item.ID)
			if err != nil {
				return nil, err
			}
			if b.isComplete = served != ""; b.isComplete {
				b.vectorSet = served // the former one, while another is made
			}
		}
		bases = append(bases, b)
	}
	return bases, nil
}

// rightsOf returns what rights need to know of a base.
func (s *Searcher) rightsOf(workspaceID string, item projections.Item) Base {
	rd := s.o.Models.Reader()
	defer rd.Close()
	return NewBase(rd, workspaceID, item)
}

// vectorSet returns the set of vectors of a base that is complete.
func (s *Searcher) vectorSet(workspaceID, baseID string) (string, error) {
	rd := s.o.Models.Reader()
	defer rd.Close()
	return projections.KBDocuments{}.VectorSet(rd, workspaceID, baseID)
}

// items returns the bases that the request names, or all whose documents the caller could read.
func (s *Searcher) items(in knowledge.SearchRequest) (items []projections.Item, err error) {
	rd := s.o.Models.Reader()
	defer rd.Close()
	if in.Bases == nil {
		err = projections.Content{}.List(rd, in.WorkspaceID, "knowledge/", func(item projections.Item) (bool, error) {
			if in.Rights == nil || NewBase(rd, in.WorkspaceID, item).Check(in.Rights, "read") == nil {
				items = append(items, item)
			}
			return true, nil
		})
		return items, err
	}
	seen := map[string]bool{}
	for _, slug := range in.Bases {
		if seen[slug] {
			continue
		}
		seen[slug] = true
		item, ok, err := projections.Content{}.Get(rd, in.WorkspaceID, "knowledge/"+slug)
		if err != nil {
			return nil, err
		}
		if !ok && in.Rights != nil && !in.Rights.Could("read", Subject) {
			return nil, in.Rights.Refusal("read", Subject)
		}
		if !ok {
			return nil, noBase(slug)
		}
		if in.Rights != nil {
			if err := NewBase(rd, in.WorkspaceID, item).Check(in.Rights, "read"); err != nil {
				return nil, err
			}
		}
		items = append(items, item)
	}
	return items, nil
}

func noBase(slug string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such knowledge base").With("resource", "knowledgeBase").With("id", domain.Shorten(slug, 100))
}

func toSearchedBase(item projections.Item, settings *document.Map) searchedBase {
	b := searchedBase{id: item.ID, slug: item.Slug(), limit: 10, defaultMode: knowledge.ModeAuto, textWeight: 1, vectorWeight: 1}
	number := func(m *document.Map, name string, missing float64) float64 {
		v, _ := m.Get(name)
		if f, ok := v.(float64); ok {
			return f
		}
		return missing
	}
	if search := inner(settings, "search"); search != nil {
		b.limit, b.defaultMode = int(number(search, "limit", 10)), cmp.Or(search.Text("mode"), knowledge.ModeAuto)
		b.minSimilarity = number(search, "minSimilarity", 0)
		if boosts := inner(search, "boosts"); boosts != nil {
			b.boosts = &fulltext.Boosts{Title: number(boosts, "title", 2), Headings: number(boosts, "headings", 1.5)}
		}
		if weights := inner(search, "weights"); weights != nil {
			b.textWeight, b.vectorWeight = number(weights, "text", 1), number(weights, "vector", 1)
		}
	}
	b.vectorSet = chunks.ReadSettings(settings).VectorSet()
	groups, _ := settings.Get("synonyms")
	list, _ := groups.([]any)
	for _, group := range list {
		words, _ := group.([]any)
		var texts []string
		for _, word := range words {
			if text, ok := word.(string); ok {
				texts = append(texts, text)
			}
		}
		b.synonyms = append(b.synonyms, texts)
	}
	return b
}

func inner(m *document.Map, name string) *document.Map {
	v, _ := m.Get(name)
	found, _ := v.(*document.Map)
	return found
}

func invalid(field, message string) error {
	return domain.Invalid(domain.FieldError{Field: field, Message: message})
}

// query is one search.
type query struct {
	*Searcher
	in                    knowledge.SearchRequest
	bases                 []searchedBase
	parsed                fulltext.Parsed
	filters               []*kbdocument.Filter
	facets                map[string]*facetCount
	mode                  string
	isAuto                bool                 // the mode was not asked for
	vectors               map[string][]float32 // of the query, by set
	textWeight            float64
	vectorWeight          float64
	byChunk, highlight    bool
	passages, limit, page int
	fuzzy                 bool
	now                   time.Time

	total    int
	results  []knowledge.SearchResult
	warnings []string
}

// newQuery checks a request.
func newQuery(in knowledge.SearchRequest, bases []searchedBase) (*query, error) {
	x := &query{in: in, bases: bases, highlight: in.Highlight == nil || *in.Highlight, fuzzy: in.Fuzzy != nil && *in.Fuzzy}
	if err := x.checkQuery(); err != nil {
		return nil, err
	}
	if err := x.checkMode(); err != nil {
		return nil, err
	}
	for at, filters := range map[string]map[string]any{"filters": in.Filters, "within": in.Within} {
		if len(filters) == 0 {
			continue
		}
		f, err := kbdocument.ParseFilter(at, filters)
		if err != nil {
			return nil, err
		}
		x.filters = append(x.filters, f)
	}
	var err error
	if x.facets, err = newFacetCounts(in.Facets); err != nil {
		return nil, err
	}
	return x, x.checkPage()
}

func (x *query) checkQuery() error {
	if n := utf8.RuneCountInString(x.in.Query); n < 1 || n > maxQuery || strings.TrimSpace(x.in.Query) == "" {
		return invalid("query", fmt.Sprintf("must be 1 to %d characters", maxQuery))
	}
	if x.parsed = fulltext.Parse(x.in.Query); x.parsed.OnlyExcludes() {
		return invalid("query", "must have a word that is looked for, not only words that must not be there")
	}
	return nil
}

func (x *query) checkMode() error {
	mode := cmp.Or(x.in.Mode, knowledge.ModeAuto)
	if !slices.Contains([]string{knowledge.ModeAuto, knowledge.ModeText, knowledge.ModeVector, knowledge.ModeHybrid}, mode) {
		return invalid("mode", "must be auto, text, vector or hybrid")
	}
	if err := x.chooseMode(x.in.Mode); err != nil {
		return err
	}
	if err := x.setWeights(); err != nil {
		return err
	}
	switch cmp.Or(x.in.Group, "document") {
	case "document":
	case "chunk":
		x.byChunk = true
	default:
		return invalid("group", "must be document or chunk")
	}
	return nil
}

func (x *query) checkPage() error {
	x.limit, x.passages = 10, defaultPassages
	if len(x.bases) == 1 {
		x.limit = x.bases[0].limit
	}
	for _, one := range []struct {
		name        string
		given       *int
		into        *int
		least, most int
	}{
		{"limit", x.in.Limit, &x.limit, 1, maxLimit}, {"page", x.in.Page, &x.page, 0, math.MaxInt}, {"passages", x.in.Passages, &x.passages, 1, maxPassages},
	} {
		if one.given == nil {
			continue
		}
		if *one.into = *one.given; *one.given < one.least || *one.given > one.most {
			return invalid(one.name, fmt.Sprintf("must be %d to %d", one.least, min(one.most, maxDepth)))
		}
	}
	if x.page >= maxDepth || (x.page+1)*x.limit > maxDepth {
		return domain.Refuse(domain.CodeInvalidRequest, "the first %d results can be read", maxDepth).With("errors", []domain.FieldError{{Field: "page", Message: "is too far"}})
	}
	if m := x.in.MinSimilarity; m != nil && (*m < -1 || *m > 1) {
		return invalid("minSimilarity", "must be -1 to 1")
	}
	return nil
}

// reset forgets what was found.
func (x *query) reset() {
	x.total, x.results = 0, nil
	for _, f := range x.facets {
		f.reset()
	}
}

// found is a result before it is read.
type found struct {
	base searchedBase
	fulltext.Hit
	seq uint64 // of the first event of the document: for an order by age
}

// run searches all bases. Each is ranked by itself, and the lists are merged by score.
func (x *query) run(ctx context.Context) error {
	if x.mode != knowledge.ModeText {
		return x.runVectors(ctx)
	}
	from, until := x.page*x.limit, (x.page+1)*x.limit
	if len(x.bases) == 1 && !x.parsed.All { // the index returns the page alone
		from, until = 0, x.limit
	}
	var all []found
	for _, b := range x.bases {
		hits, err := x.searchBase(ctx, b)
		if err != nil {
			return err
		}
		all = append(all, hits...)
	}
	if len(x.bases) > 1 || x.parsed.All {
		slices.SortFunc(all, compareFound)
	}
	rd := x.o.Models.Reader()
	defer rd.Close()
	for _, f := range all[min(from, len(all)):min(until, len(all))] {
		d, ok, err := projections.KBDocuments{}.Get(rd, x.in.WorkspaceID, f.base.id, f.ID, x.now)
		if err != nil {
			return err
		}
		if !ok {
			continue // it was deleted meanwhile
		}
		result, err := x.toResult(f, d)
		if err != nil {
			return err
		}
		x.results = append(x.results, result)
	}
	return nil
}

// compareFound orders what was found in several bases; all documents of a base by age, the newest first.
func compareFound(a, b found) int {
	first := func(f found) int {
		if len(f.Passages) == 0 {
			return 0
		}
		return f.Passages[0].N
	}
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.seq, a.seq), cmp.Compare(a.ID, b.ID), cmp.Compare(first(a), first(b)))
}

// searchBase searches one base, and counts what it finds.
func (x *query) searchBase(ctx context.Context, b searchedBase) (all []found, err error) {
	m, err := x.newMatcher(ctx, b)
	if err != nil {
		return nil, err
	}
	defer m.close()
	if x.parsed.All {
		return m.all()
	}
	q := x.textQuery(b)
	if !m.takesAll() {
		q.Match = m.match
	}
	if len(x.bases) == 1 {
		q.From, q.Limit = x.page*x.limit, x.limit
	}
	result, err := x.o.Index.Search(ctx, x.in.WorkspaceID, b.id, q)
	if err != nil {
		return nil, err
	}
	x.total += result.Total
	for _, h := range result.Hits {
		all = append(all, found{base: b, Hit: h})
	}
	return all, nil
}

// textQuery is the search in the words of a base.
func (x *query) textQuery(b searchedBase) fulltext.Query {
	return fulltext.Query{
		Parsed: x.parsed, Limit: (x.page + 1) * x.limit, ByChunk: x.byChunk, Passages: x.passages, Boosts: b.boosts, Synonyms: b.synonyms,
		Fuzzy: x.fuzzy, Highlight: x.highlight,
	}
}

// matcher says which documents of a base count.
type matcher struct {
	*query
	ctx     context.Context
	base    searchedBase
	rd      projections.Reader
	allows  func(access.Object) bool // nil: all documents may be read
	decided *decisions               // about them
	gone    map[string]bool          // documents that have expired and are not deleted yet
	known   map[string]bool          // documents that were asked for before; nil: none is asked for twice
}

// newMatcher returns the matcher of a base. It is to be closed.
func (x *query) newMatcher(ctx context.Context, b searchedBase) (m *matcher, err error) {
	m = &matcher{query: x, ctx: ctx, base: b, rd: x.o.Models.Reader()}
	defer func() {
		if err != nil {
			m.rd.Close()
		}
	}()
	if x.in.Rights != nil && !b.rights.AllowsAll(x.in.Rights, "read") {
		m.allows = x.in.Rights.Filter("read", Subject)
		if m.decided, err = x.readable.open(m.rd, b, x.in.Rights); err != nil {
			return nil, err
		}
	}
	m.gone, err = projections.KBDocuments{}.ExpiredIn(m.rd, x.in.WorkspaceID, b.id, x.now)
	return m, err
}

func (m *matcher) close() {
	m.readable.close(m.decided, m.base, m.in.Rights)
	m.rd.Close()
}

// get returns a document that has not expired.
func (m *matcher) get(id string) (projections.KBDocument, bool, error) {
	return projections.KBDocuments{}.Get(m.rd, m.in.WorkspaceID, m.base.id, id, m.now)
}

// match reports whether a document may be read and passes the filters, and counts it in the facets.
func (m *matcher) match(id string) (counts bool, err error) {
	if m.known == nil {
		return m.check(id)
	}
	counts, known := m.known[id]
	if !known {
		if counts, err = m.check(id); err == nil {
			m.known[id] = counts
		}
	}
	return counts, err
}

func (m *matcher) check(id string) (bool, error) {
	if err := m.ctx.Err(); err != nil {
		return false, err
	}
	if m.gone[id] {
		return false, nil
	}
	if m.isUnbounded() {
		return true, nil
	}
	if allowed, known := m.decided.get(id); known && (!allowed || !m.needsFields()) {
		return allowed, nil
	}
	d, ok, err := m.get(id)
	if err != nil || !ok {
		return false, err
	}
	return m.counts(d), nil
}

// needsFields reports whether what is asked depends on the fields of documents.
func (m *matcher) needsFields() bool { return len(m.filters) > 0 || len(m.facets) > 0 }

// isUnbounded reports whether nothing has to be known of a document.
func (m *matcher) isUnbounded() bool { return m.allows == nil && !m.needsFields() }

// takesAll reports whether all documents of the base count.
func (m *matcher) takesAll() bool { return m.isUnbounded() && len(m.gone) == 0 }

// counts reports whether a document counts, and counts it in the facets.
func (m *matcher) counts(d projections.KBDocument) bool {
	if !m.mayRead(d) {
		return false
	}
	if !m.needsFields() {
		return true
	}
	fields := Fields(m.base.slug, d)
	for _, f := range m.filters {
		if !f.Matches(fields) {
			return false
		}
	}
	for _, f := range m.facets {
		f.add(fields)
	}
	return true
}

// mayRead reports whether the caller may read a document.
func (m *matcher) mayRead(d projections.KBDocument) bool {
	if m.allows == nil {
		return true
	}
	allowed, known := m.decided.get(d.ID)
	if !known {
		allowed = m.allows(m.base.rights.Object(d.State))
		m.decided.put(d.ID, allowed)
	}
	return allowed
}

// all returns all documents of the base that can be searched.
func (m *matcher) all() (all []found, err error) {
	err = projections.KBDocuments{}.List(m.rd, m.in.WorkspaceID, m.base.id, m.now, func(d projections.KBDocument) bool {
		if d.Extract != nil && m.counts(d) {
			all = append(all, found{base: m.base, Hit: fulltext.Hit{ID: d.ID}, seq: d.Seq})
		}
		return m.ctx.Err() == nil
	})
	m.total += len(all)
	return all, cmp.Or(err, m.ctx.Err())
}

func toSearchDocument(base string, d projections.KBDocument) knowledge.SearchDocument {
	shown := knowledge.SearchDocument{
		ID: d.ID, Key: d.Key, Name: d.State.Name, Title: d.ShownTitle(), URL: d.URL, KnowledgeBase: base, Source: d.Source,
		Tags: append([]string{}, d.ShownTags()...), Metadata: d.Metadata, Language: d.ShownLanguage(), Mimetype: d.ShownMimetype(), UpdatedAt: d.UpdatedAt,
	}
	if shown.Metadata == nil {
		shown.Metadata = map[string]any{}
	}
	return shown
}

// toResult returns what the answer shows of what was found.
func (x *query) toResult(f found, d projections.KBDocument) (knowledge.SearchResult, error) {
	result := knowledge.SearchResult{
		Score: f.Score, TitleHTML: f.TitleHTML, Passages: []knowledge.SearchPassage{},
		Document: toSearchDocument(f.base.slug, d),
	}
	passages := f.Hit.Passages
	if x.parsed.All {
		list, _, err := x.o.Index.Chunks(x.in.WorkspaceID, f.base.id, d.ID, 0, 1)
		if err != nil {
			return result, err
		}
		for _, c := range list {
			passages = append(passages, fulltext.Passage{Chunk: c})
		}
	} else {
		result.Scores.Text = &result.Score
	}
	for _, p := range passages {
		result.Passages = append(result.Passages, knowledge.SearchPassage{
			Chunk: p.N, Text: p.Text, Headings: append([]string{}, p.Headings...), Page: p.Page, From: p.From, To: p.To, Score: p.Score, HTML: p.HTML,
		})
	}
	return result, nil
}

func (x *query) answer() knowledge.SearchAnswer {
	answer := knowledge.SearchAnswer{Total: x.total, Mode: x.mode, Fuzzy: x.fuzzy, Results: append([]knowledge.SearchResult{}, x.results...)}
	answer.Warnings = x.warnings
	if x.parsed.Cut {
		answer.Warnings = append(answer.Warnings, "query_cut")
	}
	for name, f := range x.facets {
		if answer.Facets == nil {
			answer.Facets = map[string]knowledge.FacetAnswer{}
		}
		answer.Facets[name] = f.answer()
	}
	return answer
}
