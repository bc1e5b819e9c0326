package crawler

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"time"

	"svc/commands"
	"svc/commands/extract"
	"svc/commands/knowledge"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/crawl"
	"svc/domain/kbdocument"
	"svc/projections"
	"svc/streams/site"
)

// errOutOfScope says that a redirect leads out of the site.
var errOutOfScope = errors.New("crawler: out of scope")

// visited is a page during its visit.
type visited struct {
	crawl.Page
	link     crawl.Link
	final    string // the address that it is stored under
	remove   bool   // its document is removed
	later    bool   // it is visited again at the end
	noFollow bool   // its links are not followed
	text     string // hash of the text
	page     extract.Document
	res      site.Response
	links    []string
	aliases  []string
	copyOf   string // the address that has its address or its text
}

// visit visits a page and records what became of it. An error ends the run.
func (r *run) visit(ctx context.Context, link crawl.Link) error {
	begun := r.Now()
	v := &visited{link: link, final: link.URL, Page: crawl.Page{URL: link.URL, Depth: link.Depth, At: begun.UTC().Truncate(time.Millisecond)}}
	err := commands.CatchPanic(func() error { return r.visitPage(ctx, v) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return r.again(ctx, v, err)
	}
	v.Duration = r.Now().Sub(begun).Milliseconds()
	return r.end(ctx, v)
}

// visitPage loads a page and makes a document of it, or removes the one that it had.
func (r *run) visitPage(ctx context.Context, v *visited) error {
	err := r.fetch(ctx, v)
	if err == nil && v.Outcome == "" {
		err = r.keep(ctx, v)
	}
	if err == nil && v.remove {
		err = r.removeDocument(ctx, v)
	}
	return err
}

// end records a visit, with the links of the page.
func (r *run) end(ctx context.Context, v *visited) error {
	record := crawl.Record{}
	if r.source.Sitemap != crawl.SitemapOnly {
		r.mu.Lock()
		record = r.frontier.Sort(v.links, v.link.Depth+1, v.At)
		r.mu.Unlock()
	}
	if !v.later {
		record.Page, record.Aliases, record.CopyOf, record.Text = &v.Page, v.aliases, v.copyOf, v.text
		return r.record(ctx, record)
	}
	if err := r.record(ctx, record); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frontier.Defer(v.link.URL)
	return nil
}

// again has a page visited later whose visit failed for a reason that may pass. After the last attempt it has failed.
func (r *run) again(ctx context.Context, v *visited, err error) error {
	pause := time.Duration(0)
	v.Reason = "internal_error"
	if fault, ok := errors.AsType[*site.Fault](err); ok {
		v.Reason, pause = fault.Reason, fault.Again
	} else {
		r.Log.WarnContext(ctx, "a page could not be stored", "workspace", r.key.workspaceID, "operation", r.id, "url", v.URL, "err", err)
	}
	r.mu.Lock()
	later := r.later[v.link.URL]
	if later == nil {
		later = &laterPage{}
		r.later[v.link.URL] = later
	}
	if later.attempts < len(r.Pauses) {
		later.at = r.Now().Add(max(pause, r.Pauses[later.attempts]))
		later.attempts++
		r.frontier.Return(v.link.URL)
		r.mu.Unlock()
		return nil
	}
	r.mu.Unlock()
	v.Outcome = crawl.Failed
	return r.end(ctx, v)
}

func (v *visited) become(outcome crawl.Outcome, reason string) { v.Outcome, v.Reason = outcome, reason }

// fetch loads a page and reads it. The outcome stays empty when the page is to be kept.
func (r *run) fetch(ctx context.Context, v *visited) error {
	request := r.request(v.link.URL)
	known, ok := r.known[v.link.URL]
	if ok && !r.about.Full && known.Reading == r.readingKey() && known.DocumentID != "" && r.documents[v.link.URL] == known.DocumentID {
		d, err := r.documentByID(known.DocumentID)
		if err != nil {
			return err
		}
		if known.isIn(d) {
			request.ETag, request.LastModified = known.ETag, known.LastModified
		}
	}
	res, err := r.Fetcher.Get(ctx, request)
	v.res, v.Status, v.Bytes = res, res.Status, int64(len(res.Content))
	if err != nil {
		return r.refused(v, err)
	}
	switch {
	case res.Status == http.StatusNotModified:
		return r.unmodified(ctx, v, known)
	case res.Status == http.StatusNotFound || res.Status == http.StatusGone:
		v.become(crawl.Failed, "not_found")
		if r.documents[v.link.URL] != "" {
			v.become(crawl.Deleted, "not_found")
			v.remove = true
		}
		return nil
	case res.Status != http.StatusOK:
		v.become(crawl.Skipped, "status")
		v.remove = res.Status != http.StatusUnauthorized && res.Status != http.StatusForbidden
		return nil
	}
	if v.final, err = r.scope.Normalise(res.URL); err != nil {
		v.final = v.link.URL
	}
	return r.read(ctx, v, res.Content, res.Header.Get("Content-Type"))
}

// refused says what becomes of a page that was not loaded. An error is tried again.
func (r *run) refused(v *visited, err error) error {
	if errors.Is(err, errOutOfScope) {
		v.become(crawl.Skipped, "out_of_scope")
		v.remove = true
		return nil
	}
	fault, ok := errors.AsType[*site.Fault](err)
	switch {
	case !ok || fault.Again >= 0:
		return err
	case fault.Reason == "fetch_failed":
		v.become(crawl.Failed, fault.Reason)
	default:
		v.become(crawl.Skipped, fault.Reason)
		v.remove = true
	}
	return nil
}

// robotsHeader is where a response says what a page may say in a meta element.
const robotsHeader = "X-Robots-Tag"

// unmodified reads the links of a page that has not changed out of what is stored.
func (r *run) unmodified(ctx context.Context, v *visited, known knownPage) error {
	d, err := r.documentByID(known.DocumentID)
	if err != nil {
		return err
	}
	noIndex, noFollow := crawl.HeaderDirectives(v.res.Header.Values(robotsHeader))
	if noIndex {
		v.become(crawl.Skipped, "noindex")
		v.remove = true
		return nil
	}
	v.become(crawl.Unchanged, "")
	v.DocumentID, v.text = known.DocumentID, known.Text
	r.mu.Lock()
	if !r.claimText(v) {
		v.DocumentID = ""
	}
	r.mu.Unlock()
	if d.ID != "" {
		if err := r.relabel(ctx, d.State, known); err != nil {
			return err
		}
	}
	known.CheckedAt, known.NoFollow, known.Labels = v.At, known.NoFollow || noFollow, r.labels(knownPage{}).Names()
	if err := r.remember(ctx, known); err != nil || known.NoFollow || d.Content().Hash == "" {
		return err
	}
	if known.LinksApart {
		value, _, err := r.Known.Get(ctx, r.key.linksKey(known.URL))
		if err == nil {
			err = json.Unmarshal(value, &v.links)
		}
		return err
	}
	content, err := r.Blobs.Get(ctx, d.Content().Hash)
	if err != nil {
		return err
	}
	page, err := r.Extractor.Extract(ctx, extract.File{Name: d.Name, Mimetype: d.Declared, Content: content, Links: true})
	if _, faulty := errors.AsType[*extract.Error](err); err != nil && !faulty {
		return err
	}
	if page.Page != nil && !page.Page.NoFollow {
		v.follow(page.Page, r.scope)
	}
	return nil
}

// kinds are the types of pages by their media type.
var kinds = map[string]string{
	"text/html": "html", "application/pdf": "pdf", "text/csv": "csv", "text/markdown": "markdown", "text/plain": "text", "application/json": "text",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":       "xlsx",
}

// read reads the text and the links of a page.
func (r *run) read(ctx context.Context, v *visited, content []byte, contentType string) error {
	page, err := r.Extractor.Extract(ctx, extract.File{
		Name: kbdocument.NameOfURL(v.final), Mimetype: contentType, Content: content, Selector: r.reading.Selector, MaxText: r.reading.MaxText, Links: true,
	})
	if fault, ok := errors.AsType[*extract.Error](err); ok {
		v.become(crawl.Skipped, fault.Reason)
		v.remove = fault.Reason == extract.Unsupported
		return nil
	}
	if err != nil {
		return err
	}
	v.page = page
	noIndex, noFollow := crawl.HeaderDirectives(v.res.Header.Values(robotsHeader))
	if page.Page != nil {
		noIndex, noFollow = noIndex || page.Page.NoIndex, noFollow || page.Page.NoFollow
		if canonical := v.resolve(page.Page, page.Page.Canonical, r.scope); canonical != "" && canonical != v.final && r.scope.Has(canonical) {
			v.final = canonical
		}
		if !noFollow {
			v.follow(page.Page, r.scope)
		}
	}
	v.noFollow = noFollow
	switch {
	case noIndex:
		v.become(crawl.Skipped, "noindex")
		v.remove = true
	case !slices.Contains(r.source.Types, kinds[page.Mimetype]):
		v.become(crawl.Skipped, "type_not_wanted")
		v.remove = true
	case page.Text == "":
		v.become(crawl.Skipped, extract.NoText)
	}
	v.text = hashOf([]byte(page.Text))
	return nil
}

// resolve returns an address of a page, normalised; "" when it is none.
func (v *visited) resolve(page *extract.Page, address string, scope *crawl.Scope) string {
	base, err := url.Parse(cmp.Or(v.res.URL, v.link.URL))
	if err != nil || address == "" {
		return ""
	}
	if page.Base != "" {
		if inner, err := base.Parse(page.Base); err == nil {
			base = inner
		}
	}
	u, err := base.Parse(address)
	if err != nil {
		return ""
	}
	normal, err := scope.Normalise(u.String())
	if err != nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil {
		return u.String() // it is too long
	}
	return normal
}

// follow notes the links of a page.
func (v *visited) follow(page *extract.Page, scope *crawl.Scope) {
	for _, link := range page.Links {
		if address := v.resolve(page, link, scope); address != "" {
			v.links = append(v.links, address)
		}
	}
}

// keep stores a page that was read, unless another one is the same.
func (r *run) keep(ctx context.Context, v *visited) error {
	if !r.claim(v) {
		return nil
	}
	d, err := r.findDocument(v.final)
	if err != nil {
		return err
	}
	if d.ID != "" && !r.made(d.State) {
		v.become(crawl.Unchanged, "other_document") // somebody added it, or another source has it
		v.DocumentID = d.ID
		return nil
	}
	next := knownPage{
		URL: v.final, Text: v.text, Reading: r.readingKey(), CheckedAt: v.At, ETag: v.res.Header.Get("ETag"), LastModified: v.res.Header.Get("Last-Modified"),
		NoFollow: v.noFollow, Labels: r.labels(knownPage{}).Names(),
	}
	known := r.known[v.final]
	if known.isIn(d) && known.Text == v.text && known.Reading == next.Reading {
		v.become(crawl.Unchanged, "")
		v.DocumentID = d.ID
		if err := r.relabel(ctx, d.State, known); err != nil {
			return err
		}
		if next.LinksApart = d.Content().Hash != hashOf(v.res.Content); next.LinksApart {
			if err := r.rememberLinks(ctx, &next, v.links); err != nil {
				return err
			}
		}
	} else if err := r.store(ctx, v, d.ID); err != nil || v.Outcome == crawl.Skipped {
		return err
	}
	next.DocumentID = v.DocumentID
	return r.remember(ctx, next)
}

// maxLinksSize is how many bytes of links are stored of a page.
const maxLinksSize = 256 << 10

// rememberLinks stores the links of a page whose text is that of its document, but not its content. One with too many of
// them is loaded again next time.
func (r *run) rememberLinks(ctx context.Context, page *knownPage, links []string) error {
	value, err := json.Marshal(links)
	if err != nil {
		return err
	}
	if len(value) > maxLinksSize {
		page.LinksApart, page.ETag, page.LastModified = false, "", ""
		return nil
	}
	_, err = r.Known.Put(ctx, r.key.linksKey(page.URL), value)
	return err
}

func (k sourceKey) pageKey(address string) string {
	return k.folder() + "/" + hashOf([]byte(address))[:32]
}

// linksKey is apart from those of pages, which are all read when a crawl begins.
func (k sourceKey) linksKey(address string) string {
	return k.folder() + "/links/" + hashOf([]byte(address))[:32]
}

// claim reports whether a page is stored: no other of this run has its address or its text. A page whose text may
// belong to one that is yet to be visited waits for that.
func (r *run) claim(v *visited) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	by := r.claimed[v.final]
	if by != "" && by != v.link.URL || by == "" && v.final != v.link.URL && r.frontier.Knows(v.final) {
		v.become(crawl.Duplicate, "same_address")
		v.copyOf = v.final
		return false
	}
	if v.final != v.link.URL {
		r.claimed[v.final] = v.link.URL
		v.aliases = []string{v.final}
	}
	later := r.later[v.link.URL]
	owner := r.texts[v.text]
	if r.frontier.TextOwner(v.text) == "" && owner != "" && owner != v.final && owner != v.link.URL && !r.frontier.Visited(owner) && (later == nil || !later.last) {
		r.later[v.link.URL] = &laterPage{last: true}
		v.later = true
		return false
	}
	return r.claimText(v)
}

// claimText reports whether no other page of this run has the text of a page. r.mu is held.
func (r *run) claimText(v *visited) bool {
	if owner := r.frontier.TextOwner(v.text); owner != "" && owner != v.link.URL {
		v.become(crawl.Duplicate, "same_text")
		v.copyOf = owner
		return false
	}
	r.frontier.OwnText(v.text, v.link.URL)
	return true
}

// documentByID returns a document; without an id when there is none.
func (r *run) documentByID(id string) (d projections.KBDocument, err error) {
	rd := r.Models.Reader()
	defer rd.Close()
	d, _, err = projections.KBDocuments{}.ByID(rd, r.key.workspaceID, id)
	return d, err
}

// isIn reports whether a document has the text of the last visit: somebody may have had its address loaded again since.
func (k knownPage) isIn(d projections.KBDocument) bool {
	return d.ID != "" && d.ID == k.DocumentID && d.Fault == nil && d.Extract != nil && d.Extract.Text == k.Text
}

// findDocument returns the document of an address; without an id when there is none.
func (r *run) findDocument(address string) (d projections.KBDocument, err error) {
	rd := r.Models.Reader()
	defer rd.Close()
	id, err := projections.KBDocuments{}.ByIdentity(rd, r.key.workspaceID, r.key.baseID, kbdocument.Origin{URL: address}.Identity())
	if err == nil && id != "" {
		d, _, err = projections.KBDocuments{}.ByID(rd, r.key.workspaceID, id)
	}
	return d, err
}

// made reports whether the source made a document.
func (r *run) made(d kbdocument.State) bool {
	return d.Source == kbdocument.Crawl && d.SourceID == r.key.sourceID
}

// store makes a page a document, or changes the one that it is.
func (r *run) store(ctx context.Context, v *visited, id string) error {
	mimetype, _, _ := mime.ParseMediaType(v.res.Header.Get("Content-Type"))
	out, err := r.Documents.Put(ctx, r.key.workspaceID, knowledge.Put{
		Base: r.base, Origin: kbdocument.Origin{Source: kbdocument.Crawl, URL: v.final, SourceID: r.key.sourceID}, Change: r.labels(r.known[v.final]),
		Content: &knowledge.Content{
			Content: kbdocument.Content{Mimetype: cmp.Or(mimetype, v.page.Mimetype), Size: int64(len(v.res.Content)), Hash: hashOf(v.res.Content)},
			Reader:  bytes.NewReader(v.res.Content),
		},
		Declared: v.res.Header.Get("Content-Type"), Name: kbdocument.NameOfURL(v.final), Reading: r.reading, Cause: kbdocument.ByCrawl,
		Process: func(ctx context.Context, d kbdocument.State) (*kbdocument.Result, error) { return r.process(ctx, v, d) },
	}, func(_, _ kbdocument.State) error { return nil })
	if refused, ok := errors.AsType[*domain.Error](err); ok && refused.Code != domain.CodeConflict && refused.Code != domain.CodeAlreadyExists && refused.Code != domain.CodeInternal && refused.Code != domain.CodeUnavailable {
		if refused.Details["reason"] == "limit_exceeded" {
			r.warn("limit_exceeded")
			r.mu.Lock()
			r.full = true
			r.mu.Unlock()
		}
		v.become(crawl.Skipped, cmp.Or(reasonOf(refused), "refused"))
		return nil
	}
	if err != nil {
		return err
	}
	v.DocumentID = out.ID
	if out.Processed {
		r.Used(ctx, r.key.workspaceID, activity.Usage{KnowledgeBase: r.base.Slug, Metrics: activity.Increments(map[string]int{activity.DocumentsIndexed: 1})})
	}
	switch {
	case out.Created:
		v.become(crawl.Created, "")
	case out.Unchanged && id != "" && out.Job == nil && !out.Processed:
		v.become(crawl.Unchanged, "")
	default:
		v.become(crawl.Updated, "")
	}
	return nil
}

// process divides the text of a page into passages. Documents of a base that was deleted wait for its return.
func (r *run) process(ctx context.Context, v *visited, d kbdocument.State) (*kbdocument.Result, error) {
	begun := r.Now()
	settings, ok, err := r.FindSettings(ctx, r.key.workspaceID, r.key.baseID)
	if err != nil || !ok {
		return nil, err
	}
	e, err := knowledge.Passages{Blobs: r.Blobs, Now: r.Now}.Divide(ctx, settings, d, v.page)
	if err != nil {
		return nil, err
	}
	return &kbdocument.Result{Extract: *e, VectorSet: settings.VectorSet(), Took: r.Now().Sub(begun)}, nil
}

func reasonOf(refused *domain.Error) string {
	reason, _ := refused.Details["reason"].(string)
	return reason
}

// labels are what the source says about every page. What it said at the last visit of a page and does not say any more
// is empty.
func (r *run) labels(known knownPage) (c kbdocument.Change) {
	said := func(name string) bool { return slices.Contains(known.Labels, name) }
	if r.source.Tags != nil || said("tags") {
		c.Tags = &r.source.Tags
	}
	if r.source.Metadata != nil || said("metadata") {
		c.Metadata = &r.source.Metadata
	}
	if r.source.Language != "" || said("language") {
		c.Language = &r.source.Language
	}
	return c
}

// relabel gives a document what the source says about every page.
func (r *run) relabel(ctx context.Context, d kbdocument.State, known knownPage) error {
	labels := r.labels(known)
	if len(labels.Names()) == 0 || !r.made(d) {
		return nil
	}
	err := r.Documents.Relabel(ctx, r.key.workspaceID, d.ID, r.base, labels, kbdocument.ByCrawl)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil
	}
	return err
}

// removeDocument removes the document of a page, if the source made it. The document of an address that the page only
// names stays if the run visits that address, too.
func (r *run) removeDocument(ctx context.Context, v *visited) error {
	addresses := []string{v.link.URL}
	r.mu.Lock()
	if v.final != v.link.URL && !r.frontier.Knows(v.final) {
		addresses = append(addresses, v.final)
	}
	r.mu.Unlock()
	for _, address := range addresses {
		id := r.documents[address]
		if id == "" {
			continue
		}
		v.DocumentID = id
		if _, err := r.Documents.Remove(ctx, r.key.workspaceID, r.base, []string{id}, kbdocument.ByCrawl); err != nil {
			return err
		}
	}
	return nil
}

// remember stores what is known of a page for the next crawl.
func (r *run) remember(ctx context.Context, page knownPage) error {
	value, err := json.Marshal(page)
	if err != nil {
		return err
	}
	_, err = r.Known.Put(ctx, r.key.pageKey(page.URL), value)
	return err
}

// CheckedAt returns when the page of a document was visited last, zero when that is not known.
func CheckedAt(ctx context.Context, known interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
}, workspaceID string, d kbdocument.State) time.Time {
	var page knownPage
	value, _, err := known.Get(ctx, sourceKey{workspaceID, d.BaseID, d.SourceID}.pageKey(d.URL))
	if err != nil || json.Unmarshal(value, &page) != nil || page.DocumentID != d.ID {
		return time.Time{}
	}
	return page.CheckedAt
}

// readingKey names how texts are read.
func (r *run) readingKey() string {
	body, _ := json.Marshal(r.reading) // texts and a number
	return hashOf(body)[:16]
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
