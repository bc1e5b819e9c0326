package knowledge

import (
	"cmp"
	"encoding/json"
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
	readable := in.rights.Filter("read", subject)
	var found []projections.KBDocument
	rd := h.ReadModel.Reader()
	defer rd.Close()
	err = projections.KBDocuments{}.List(rd, in.workspaceID, in.base.ID, h.Now(), func(d projections.KBDocument) bool {
		if wanted.matches(d) && readable(in.object(d.State)) {
			found = append(found, d)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	sortDocuments(found, sort)
	items := []documentResponse{}
	for _, d := range gateway.PageOf(found, page) {
		d.CheckedAt = h.checkedAt(in, d.State)
		items = append(items, in.toResponse(d))
	}
	return gateway.List(r, items, len(found), page), nil
}

// listQuery is what documents must be to be listed.
type listQuery struct {
	texts    map[string]string // by field; "": any
	tags     []string          // any of them
	search   string            // part of the name, the title, the address or a tag, in lower case
	metadata map[string]string // by path
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

// GetText handles GET …/documents/{id}/text: the text of the searchable revision.
func (h *Handlers) GetText(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	given := q.Has("revision")
	found, revision, err := h.findRevision(r)
	if err != nil {
		return nil, err
	}
	e := found.Extract
	if e == nil || given && e.Revision != revision {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no text of this revision").With("resource", "text").With("status", found.Status())
	}
	return filehandlers.ContentResponse(r, h.Contents, h.Dir, file.State{Facts: file.Facts{
		Terms: file.Terms{Name: found.State.Name + ".txt"}, Content: file.Content{Mimetype: "text/plain", Size: e.Size, Checksum: e.Text},
	}}, h.Now())
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
