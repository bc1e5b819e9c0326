package knowledge

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"svc/commands"
	"svc/domain"
	"svc/domain/file"
	"svc/domain/kbdocument"
	"svc/domain/knowledge"
	filehandlers "svc/http/api/files"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
	"svc/streams/search"
)

// GetDocument handles GET …/documents/{id}.
func (h *Handlers) GetDocument(r *http.Request) (any, error) {
	in, err := h.newRequest(r, "read")
	if err != nil {
		return nil, err
	}
	found, err := h.find(in, "read")
	if err != nil {
		return nil, err
	}
	found.CheckedAt = h.checkedAt(in, found.State)
	return in.toResponse(found), nil
}

// ListDocuments handles GET …/documents. Permissions come before paging, so that pages are full and the count is right.
// A page in the order of the last change costs what it shows, if the caller may read every document of the base and an
// index knows what is selected. Otherwise the documents are read one by one, and as many are held as the page is deep.
func (h *Handlers) ListDocuments(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	page, sort := q.Page(20, 100), q.Sort("name", "title", "size", "mimetype", "createdAt", "updatedAt")
	wanted := readListQuery(q, r)
	if err := q.Err(); err != nil {
		return nil, err
	}
	in, err := h.newRequest(r, "read")
	if err != nil {
		return nil, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	selection, isAll := wanted.selection()
	var found []projections.KBDocument
	var total int
	if isAll && sort.Field == "updatedAt" && in.access.AllowsAll(in.rights, "read") {
		found, total, err = projections.KBDocuments{}.SelectPage(rd, in.workspaceID, in.base.ID, selection, h.Now(), sort.Down, page.Offset(), page.Limit)
	} else {
		first := firstDocuments{most: page.Offset() + page.Limit, by: sort}
		readable := in.rights.Filter("read", subject)
		err = projections.KBDocuments{}.Select(rd, in.workspaceID, in.base.ID, selection, h.Now(), sort.Down, func(d projections.KBDocument) bool {
			if wanted.matches(d) && readable(in.object(d.State)) {
				first.add(d)
			}
			return r.Context().Err() == nil
		})
		found, total = gateway.PageOf(first.list(), page), first.added
	}
	if err := errors.Join(err, r.Context().Err()); err != nil {
		return nil, err
	}
	items := []documentResponse{}
	for _, d := range found {
		d.CheckedAt = h.checkedAt(in, d.State)
		items = append(items, in.toResponse(d))
	}
	return gateway.List(r, items, total, page), nil
}

// firstDocuments are the first so many documents of those that are added, in an order.
type firstDocuments struct {
	most  int
	by    gateway.Sort
	kept  []projections.KBDocument
	added int
}

func (f *firstDocuments) add(d projections.KBDocument) {
	f.added++
	if f.kept = append(f.kept, d); len(f.kept) >= 2*f.most {
		f.kept = f.list()
	}
}

// list returns them in their order.
func (f *firstDocuments) list() []projections.KBDocument {
	sortDocuments(f.kept, f.by)
	return f.kept[:min(f.most, len(f.kept))]
}

// listQuery is what documents must be to be listed.
type listQuery struct {
	texts    map[string]string // by field; "": any
	tags     []string          // any of them
	search   string            // part of the name, the title, the address or a tag, in lower case
	metadata map[string]string // by path
}

// selection returns what an index knows of the query. isAll says that nothing else is asked for.
func (q listQuery) selection() (s projections.KBSelection, isAll bool) {
	s.SourceID = q.texts["sourceId"]
	if s.SourceID == "" {
		s.Status = kbdocument.Status(q.texts["status"])
	}
	isAll = len(q.tags) == 0 && q.search == "" && len(q.metadata) == 0
	for field, text := range q.texts {
		isAll = isAll && (text == "" || field == "sourceId" || field == "status" && s.Status != "")
	}
	return s, isAll
}

const metadataPrefix = "metadata."

func readListQuery(q *gateway.Query, r *http.Request) listQuery {
	statuses := make([]string, len(kbdocument.Statuses))
	for i, s := range kbdocument.Statuses {
		statuses[i] = string(s)
	}
	wanted := listQuery{
		tags: q.List("tags"), search: strings.ToLower(q.Text("search")), metadata: map[string]string{},
		texts: map[string]string{
			"status": q.OneOf("status", "", statuses...), "source": q.OneOf("source", "", "file", "text", "url", "crawl"),
			"sourceId": q.Text("sourceId"), "language": q.Text("language"), "mimetype": q.Text("mimetype"), "key": q.Text("key"),
		},
	}
	for name := range r.URL.Query() {
		if at, ok := strings.CutPrefix(name, metadataPrefix); ok {
			wanted.metadata[at] = q.Text(name)
		}
	}
	return wanted
}

func (q listQuery) matches(d projections.KBDocument) bool {
	have := map[string]string{
		"status": string(d.Status()), "source": string(d.Source), "language": d.ShownLanguage(), "mimetype": d.ShownMimetype(), "key": d.Key,
		"sourceId": d.SourceID,
	}
	for field, text := range q.texts {
		if text != "" && have[field] != text {
			return false
		}
	}
	tags := d.ShownTags()
	if len(q.tags) > 0 && !slices.ContainsFunc(q.tags, func(tag string) bool { return slices.Contains(tags, tag) }) {
		return false
	}
	shown := strings.ToLower(strings.Join(append([]string{d.State.Name, d.ShownTitle(), d.URL}, tags...), "\n"))
	if !strings.Contains(shown, q.search) {
		return false
	}
	for path, text := range q.metadata {
		if !hasLeaf(d.Metadata, strings.Split(path, "."), text) {
			return false
		}
	}
	return true
}

// hasLeaf reports whether a value at a path is written so; of a list, whether one of its items is.
func hasLeaf(v any, path []string, text string) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(path) > 0 && hasLeaf(v[path[0]], path[1:], text)
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return hasLeaf(item, path, text) })
	case nil:
		return false
	case string:
		return len(path) == 0 && v == text
	}
	body, err := json.Marshal(v)
	return err == nil && len(path) == 0 && string(body) == text
}

// sortDocuments sorts documents; those that are equal by their ids.
func sortDocuments(found []projections.KBDocument, by gateway.Sort) {
	slices.SortFunc(found, func(a, b projections.KBDocument) int {
		if by.Down {
			a, b = b, a
		}
		order := 0
		switch by.Field {
		case "name":
			order = strings.Compare(strings.ToLower(a.State.Name), strings.ToLower(b.State.Name))
		case "title":
			order = strings.Compare(strings.ToLower(a.ShownTitle()), strings.ToLower(b.ShownTitle()))
		case "mimetype":
			order = strings.Compare(a.ShownMimetype(), b.ShownMimetype())
		case "size":
			order = cmp.Compare(a.Content().Size, b.Content().Size)
		case "createdAt":
			order = strings.Compare(a.CreatedAt, b.CreatedAt)
		default:
			order = strings.Compare(a.UpdatedAt, b.UpdatedAt)
		}
		return cmp.Or(order, cmp.Compare(a.Seq, b.Seq))
	})
}

// GetContent handles GET …/documents/{id}/content: the bytes as they came.
func (h *Handlers) GetContent(r *http.Request) (any, error) {
	found, revision, err := h.findRevision(r)
	if err != nil {
		return nil, err
	}
	kept, ok := found.FindRevision(revision)
	if !ok {
		return nil, noRevision(revision)
	}
	return filehandlers.ContentResponse(r, h.Contents, h.Dir, file.State{Facts: file.Facts{
		Terms: file.Terms{Name: found.State.Name}, Content: file.Content{Mimetype: kept.Mimetype, Size: kept.Size, Checksum: kept.Hash},
	}}, h.Now())
}

// GetText handles GET …/documents/{id}/text: the text of a revision, without one of that which is searched.
func (h *Handlers) GetText(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	found, revision, err := h.findRevision(r)
	if err != nil {
		return nil, err
	}
	if !q.Has("revision") && found.Extract != nil {
		revision = found.Extract.Revision
	}
	text, size, ok := found.FindText(revision)
	if _, kept := found.FindRevision(revision); !ok && !kept && len(found.Revisions) > 0 {
		return nil, noRevision(revision)
	}
	if !ok {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no text of this revision").With("resource", "text").With("status", found.Status())
	}
	return filehandlers.ContentResponse(r, h.Contents, h.Dir, file.State{Facts: file.Facts{
		Terms: file.Terms{Name: found.State.Name + ".txt"}, Content: file.Content{Mimetype: "text/plain", Size: size, Checksum: text},
	}}, h.Now())
}

// DocumentText is a part of the text of a document.
type DocumentText struct {
	ID            string `json:"id"`
	KnowledgeBase string `json:"knowledgeBase"`
	Name          string `json:"name"`
	Title         string `json:"title,omitempty"`
	URL           string `json:"url,omitempty"`
	Revision      int    `json:"revision"`
	Characters    int    `json:"characters"` // of the whole text
	From          int    `json:"from"`
	Text          string `json:"text"`
	Next          *int   `json:"next,omitempty"` // where the rest begins; nil: there is none
}

// ReadText returns a part of the text of a document, whose base is not named, in characters.
func (h *Handlers) ReadText(r *http.Request, id string, from, length int) (part DocumentText, err error) {
	in, found, err := h.findAnywhere(r, id)
	if err != nil {
		return part, err
	}
	e := found.Extract
	if e == nil {
		return part, domain.Refuse(domain.CodeNotFound, "the document has no text yet").With("resource", "text").With("status", found.Status())
	}
	part = DocumentText{
		ID: found.ID, KnowledgeBase: in.base.Slug, Name: found.State.Name, Title: found.ShownTitle(), URL: found.URL, Revision: e.Revision, Characters: e.Characters, From: from,
	}
	content, _, err := h.Contents.Open(r.Context(), e.Text)
	if err != nil {
		return part, commands.Refused(fmt.Errorf("read the text of a document: %w", err))
	}
	defer content.Close()
	if part.Text, err = readCharacters(bufio.NewReader(content), from, length); err != nil {
		return part, commands.Refused(fmt.Errorf("read the text of a document: %w", err))
	}
	if next := from + length; next < e.Characters {
		part.Next = &next
	}
	return part, nil
}

// readCharacters returns some characters of a text, after those that come before them.
func readCharacters(text io.RuneReader, from, length int) (string, error) {
	var part strings.Builder
	for i := 0; i < from+length; i++ {
		c, _, err := text.ReadRune()
		switch {
		case errors.Is(err, io.EOF):
			return part.String(), nil
		case err != nil:
			return "", err
		case i >= from:
			part.WriteRune(c)
		}
	}
	return part.String(), nil
}

// findAnywhere returns a document of any base of the workspace, if the caller may read it. It looks at the bases of the
// workspace, of which there are few.
func (h *Handlers) findAnywhere(r *http.Request, id string) (in request, found projections.KBDocument, err error) {
	in = request{Request: r, workspaceID: handler.WorkspaceID(r), rights: gateway.GrantFrom(r.Context()).Rights}
	unknown := domain.Refuse(domain.CodeNotFound, "there is no such document").With("resource", "document").With("id", handler.Shorten(id))
	rd := h.ReadModel.Reader()
	defer rd.Close()
	found, ok, err := projections.KBDocuments{}.ByID(rd, in.workspaceID, id)
	if err != nil {
		return in, found, err
	}
	if !ok || found.GoneAt(h.Now()) {
		return in, found, unknown
	}
	err = projections.Content{}.List(rd, in.workspaceID, "knowledge/", func(item projections.Item) (more bool, err error) {
		if item.ID == found.BaseID {
			in.base, in.access = kbdocument.Base{ID: item.ID, Slug: item.Slug()}, search.NewBase(rd, in.workspaceID, item)
		}
		return in.base.ID == "", nil
	})
	switch {
	case err != nil:
		return in, found, err
	case in.base.ID == "": // it is kept for a while after its base was deleted
		return in, found, unknown
	}
	return in, found, in.rights.Check("read", subject, in.object(found.State))
}

// findRevision returns the document of the path, and the revision that the query names: without one, the newest.
func (h *Handlers) findRevision(r *http.Request) (found projections.KBDocument, revision int, err error) {
	q := gateway.NewQuery(r)
	revision = q.Int("revision", 0, 1, 1_000_000_000)
	if err := q.Err(); err != nil {
		return found, 0, err
	}
	in, err := h.newRequest(r, "read")
	if err != nil {
		return found, 0, err
	}
	found, err = h.find(in, "read")
	return found, cmp.Or(revision, found.Revision), err
}

func noRevision(number int) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such revision").With("resource", "revision").With("id", strconv.Itoa(number))
}

// revisionResponse is a revision as it is answered.
type revisionResponse struct {
	Revision  int    `json:"revision"`
	Hash      string `json:"hash"`
	Size      int64  `json:"size"`
	CreatedAt string `json:"createdAt"`
	CreatedBy string `json:"createdBy,omitempty"`
}

// ListRevisions handles GET …/documents/{id}/revisions: those whose content can be read, the newest first.
func (h *Handlers) ListRevisions(r *http.Request) (any, error) {
	page, found, err := h.findPage(r)
	if err != nil {
		return nil, err
	}
	items := []revisionResponse{}
	for _, rev := range slices.Backward(found.Revisions) {
		items = append(items, revisionResponse{rev.Number, rev.Hash, rev.Size, handler.FormatTime(rev.CreatedAt), rev.CreatedBy})
	}
	return gateway.ListOf(r, items, page), nil
}

// ListChunks handles GET …/documents/{id}/chunks: the passages of the searchable revision.
func (h *Handlers) ListChunks(r *http.Request) (any, error) {
	page, found, err := h.findPage(r)
	if err != nil {
		return nil, err
	}
	if found.Extract == nil {
		return gateway.ListOf(r, []knowledge.Chunk{}, page), nil
	}
	from, _, err := h.Contents.Open(r.Context(), found.Extract.Chunks)
	if err != nil {
		return nil, commands.Refused(fmt.Errorf("read the passages of a document: %w", err))
	}
	defer from.Close()
	body, err := io.ReadAll(from)
	if err != nil {
		return nil, commands.Refused(fmt.Errorf("read the passages of a document: %w", err))
	}
	passages, err := kbdocument.ParsePassages(body)
	for i, c := range passages.Chunks { // the language may have been changed since
		passages.Chunks[i] = c.In(found.ShownLanguage())
	}
	return gateway.ListOf(r, passages.Chunks, page), err
}

func (h *Handlers) findPage(r *http.Request) (page gateway.Page, found projections.KBDocument, err error) {
	q := gateway.NewQuery(r)
	page = q.Page(20, 100)
	if err := q.Err(); err != nil {
		return page, found, err
	}
	in, err := h.newRequest(r, "read")
	if err != nil {
		return page, found, err
	}
	found, err = h.find(in, "read")
	return page, found, err
}

// ReindexDocument handles POST …/documents/{id}/reindex.
func (h *Handlers) ReindexDocument(r *http.Request) (any, error) {
	in, err := h.newRequest(r, "update")
	if err != nil {
		return nil, err
	}
	body := struct {
		Extract *bool `json:"extract"`
		Fetch   bool  `json:"fetch"`
	}{}
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	found, err := h.find(in, "update")
	if err != nil {
		return nil, err
	}
	cmd := kbdocument.Reprocess{Fetch: body.Fetch, Extract: body.Extract == nil || *body.Extract || body.Fetch}
	s, err := h.Documents.Reprocess(r.Context(), in.workspaceID, found.ID, cmd, in.may())
	if err != nil {
		return nil, err
	}
	return gateway.Accepted(h.saved(in, s, 0)), nil
}
