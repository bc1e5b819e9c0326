package knowledge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"svc/commands/knowledge"
	"svc/domain"
	"svc/domain/file"
	"svc/domain/kbdocument"
	filehandlers "svc/http/api/files"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
	"svc/streams/search"
)

// fieldsRequest is what the owner of a document says about it.
type fieldsRequest struct {
	Name      handler.Field[string]         `json:"name"`
	Title     handler.Field[string]         `json:"title"`
	Tags      handler.Field[[]string]       `json:"tags"`
	Metadata  handler.Field[map[string]any] `json:"metadata"`
	Language  handler.Field[string]         `json:"language"`
	ExpiresAt handler.Field[time.Time]      `json:"expiresAt"`
}

// change returns what the fields change.
func (in fieldsRequest) change() (c kbdocument.Change, err error) {
	if in.Name.Given && in.Name.Value == nil {
		return c, handler.RefuseField("name", "must be a text: it cannot be removed")
	}
	c = kbdocument.Change{
		Name: in.Name.Value, Title: in.Title.OrNil(), Language: in.Language.OrNil(), Tags: in.Tags.OrNil(), Metadata: in.Metadata.OrNil(),
		ExpiresAt: in.ExpiresAt.OrNil(),
	}
	if c.Tags != nil {
		tags := slices.Clone(*c.Tags)
		slices.Sort(tags)
		tags = slices.Compact(tags)
		c.Tags = &tags
	}
	if c.ExpiresAt != nil {
		at := c.ExpiresAt.UTC().Truncate(time.Millisecond)
		c.ExpiresAt = &at
	}
	return c, nil
}

// documentRequest is a document in JSON.
type documentRequest struct {
	fieldsRequest
	Text     *string `json:"text"`
	URL      *string `json:"url"`
	FileID   *string `json:"fileId"`
	Key      *string `json:"key"`
	Mimetype *string `json:"mimetype"`
}

// content is a document of a request, on disk.
type content struct {
	put    knowledge.Put
	closer io.Closer
}

func (c content) close() {
	if c.closer != nil {
		c.closer.Close()
	}
}

// read turns the request into a document.
func (in documentRequest) read(h *Handlers, r request) (c content, err error) {
	given := []string{}
	for name, text := range map[string]*string{"text": in.Text, "url": in.URL, "fileId": in.FileID} {
		if text != nil {
			given = append(given, name)
		}
	}
	slices.Sort(given)
	switch {
	case len(given) == 0:
		return c, handler.MissingField("text")
	case len(given) > 1:
		return c, domain.Invalid(domain.FieldError{Field: given[1], Message: "does not go with " + given[0]})
	}
	if err := c.describe(in, r.base); err != nil {
		return c, err
	}
	switch given[0] {
	case "text":
		c.put.Origin.Source = kbdocument.Text
		err = c.spool(h.Dir, cmp.Or(c.put.Declared, typeOfName(deref(in.Name.Value)), "text/plain"), strings.NewReader(*in.Text))
	case "url":
		c.put.Origin.Source = kbdocument.URL
		c.put.Origin.URL, err = kbdocument.NormaliseURL(*in.URL)
	case "fileId":
		err = c.openFile(h, r, *in.FileID)
	}
	c.setName(cmp.Or(c.put.Origin.Key, deref(c.put.Change.Title)))
	return c, err
}

// describe takes what the request says about the document.
func (c *content) describe(in documentRequest, base kbdocument.Base) (err error) {
	c.put.Base = base
	if c.put.Change, err = in.change(); err != nil {
		return err
	}
	c.put.Origin.Key, c.put.Declared = deref(in.Key), cmp.Or(deref(in.Mimetype), c.put.Declared)
	if in.Key != nil && *in.Key == "" {
		return domain.Invalid(domain.FieldError{Field: "key", Message: "must be 1 to 500 characters"})
	}
	return nil
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// setName chooses the name of a new document to which the request gives none.
func (c *content) setName(fallback string) {
	if c.put.Origin.URL != "" {
		fallback = kbdocument.NameOfURL(c.put.Origin.URL)
	}
	c.put.Name = kbdocument.NameFrom(fallback)
}

// spool writes the content to disk.
func (c *content) spool(dir, declared string, from io.Reader) error {
	spooled, closer, err := filehandlers.Spool(dir, declared, from)
	if err != nil {
		return err
	}
	c.closer = closer
	c.put.Content = &knowledge.Content{
		Content: kbdocument.Content{Mimetype: spooled.Mimetype, Size: spooled.Size, Hash: spooled.Checksum}, Reader: spooled.Reader,
	}
	return nil
}

// openFile reads the content of a file of the workspace that the caller may read.
func (c *content) openFile(h *Handlers, r request, id string) error {
	c.put.Origin.Source, c.put.Origin.FileID = kbdocument.File, id
	found, err := h.Files.Find(r.Context(), r.workspaceID, id, func(s file.State) error {
		return r.check("read", "files", filehandlers.Object(s))
	})
	if domain.CodeOf(err) == domain.CodeNotFound {
		return domain.Invalid(domain.FieldError{Field: "fileId", Message: "there is no such file"})
	}
	if err != nil {
		return err
	}
	from, _, err := h.Contents.Open(r.Context(), found.Checksum)
	if err != nil {
		return err
	}
	defer from.Close()
	if c.put.Change.Name == nil {
		c.put.Change.Name = &found.Name
	}
	return c.spool(h.Dir, found.Mimetype, from)
}

// textTypes are the types of texts that a name tells.
var textTypes = map[string]string{
	".md": "text/markdown", ".markdown": "text/markdown", ".csv": "text/csv", ".html": "text/html", ".htm": "text/html", ".json": "application/json", ".txt": "text/plain",
}

func typeOfName(name string) string { return textTypes[strings.ToLower(path.Ext(name))] }

// maxFiles is how many files one request brings.
const maxFiles = 50

// form is a multipart body: files, and fields that go for all of them.
type form struct {
	h      *Handlers
	fields documentRequest
	seen   map[string]bool
	files  []content
}

// addPart takes one part.
func (f *form) addPart(p gateway.Part) error {
	if p.File != nil {
		if len(f.files) == maxFiles {
			return gateway.RefuseStatus(http.StatusRequestEntityTooLarge, "a request brings at most %d files", maxFiles)
		}
		c, err := newFile(f.h.Dir, path.Base(strings.ReplaceAll(p.Filename, `\`, "/")), p.Type, p.File)
		f.files = append(f.files, c)
		return err
	}
	if f.seen[p.Name] {
		return handler.RefuseField(handler.Shorten(p.Name), "given twice")
	}
	f.seen[p.Name] = true
	return f.addField(p.Name, p.Text)
}

// newFile returns a document that is a file.
func newFile(dir, name, declared string, from io.Reader) (content, error) {
	if declared == "" || declared == "application/octet-stream" {
		declared = typeOfName(name)
	}
	c := content{put: knowledge.Put{Origin: kbdocument.Origin{Source: kbdocument.File}, Declared: declared}}
	if file.IsName(name) {
		c.put.Change.Name = &name
	}
	return c, c.spool(dir, declared, from)
}

func (f *form) addField(name, text string) error {
	var err error
	in := &f.fields
	switch name {
	case "key":
		in.Key = &text
	case "name":
		in.Name = handler.Field[string]{Given: true, Value: &text}
	case "title":
		in.Title = handler.Field[string]{Given: true, Value: &text}
	case "language":
		in.Language = handler.Field[string]{Given: true, Value: &text}
	case "mimetype":
		in.Mimetype = &text
	case "tags":
		tags := []string{}
		for tag := range strings.SplitSeq(text, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				tags = append(tags, tag)
			}
		}
		in.Tags = handler.Field[[]string]{Given: true, Value: &tags}
	case "metadata":
		err = decodeField(&in.Metadata, name, text, "must be a JSON object")
	case "expiresAt":
		err = decodeField(&in.ExpiresAt, name, fmt.Sprintf("%q", text), "must be an ISO 8601 time with an offset")
	default:
		return handler.RefuseField(handler.Shorten(name), "unknown field")
	}
	return err
}

func decodeField[T any](into *handler.Field[T], name, text, message string) error {
	into.Given = true
	if err := json.Unmarshal([]byte(text), &into.Value); err != nil || into.Value == nil {
		return handler.RefuseField(name, message)
	}
	return nil
}

func (f *form) close() {
	for _, c := range f.files {
		c.close()
	}
}

// puts returns the documents of the form.
func (f *form) puts(r request) ([]content, error) {
	change, err := f.fields.change()
	if err != nil {
		return nil, err
	}
	if len(f.files) == 0 {
		return nil, handler.MissingField("file")
	}
	for _, one := range []struct {
		name  string
		given bool
	}{{"key", f.fields.Key != nil}, {"name", change.Name != nil}, {"title", change.Title != nil}} {
		if len(f.files) > 1 && one.given {
			return nil, domain.Invalid(domain.FieldError{Field: one.name, Message: "does not go with several files"})
		}
	}
	for i := range f.files {
		c := &f.files[i]
		own := c.put.Change.Name
		c.put.Base, c.put.Change = r.base, change
		if change.Name == nil {
			c.put.Change.Name = own
		}
		c.put.Origin.Key = deref(f.fields.Key)
		c.put.Declared = cmp.Or(deref(f.fields.Mimetype), c.put.Declared)
		c.setName(c.put.Origin.Key)
	}
	return f.files, nil
}

// readForm reads a multipart body.
func (h *Handlers) readForm(r request) (*form, []content, error) {
	f := &form{h: h, seen: map[string]bool{}}
	if err := gateway.Parts(r.Request, 0, f.addPart); err != nil {
		return f, nil, err
	}
	puts, err := f.puts(r)
	return f, puts, err
}

func isMultipart(r *http.Request) bool {
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return mediaType == "multipart/form-data"
}

// maxWait is how long an answer waits for a document to be ready, in seconds.
const maxWait = 30

func readWait(r *http.Request) (time.Duration, error) {
	q := gateway.NewQuery(r)
	wait := time.Duration(q.Int("wait", 0, 0, maxWait)) * time.Second
	return handler.BoundWait(r, wait), q.Err()
}

// CreateDocuments handles POST …/documents.
func (h *Handlers) CreateDocuments(r *http.Request) (any, error) {
	wait, err := readWait(r)
	if err != nil {
		return nil, err
	}
	in, err := h.newRequest(r, "create")
	if err != nil {
		return nil, err
	}
	if isMultipart(r) {
		return h.createFiles(in, wait)
	}
	var body documentRequest
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	c, err := body.read(h, in)
	defer c.close()
	if err != nil {
		return nil, err
	}
	response, created, err := h.put(in, c, wait)
	if err != nil {
		return nil, err
	}
	if created {
		return gateway.Created(response, handler.Location(r, response.ID)), nil
	}
	return response, nil
}

// put adds a document, or replaces what the request gives of one that is known. The answer shows it after at most wait.
func (h *Handlers) put(in request, c content, wait time.Duration) (response documentResponse, created bool, err error) {
	out, err := h.Documents.Put(in.Context(), in.workspaceID, c.put, in.may())
	if err != nil {
		return response, false, err
	}
	d := h.await(in, out.State, wait)
	response = in.toResponse(d)
	response.Unchanged = out.Unchanged || c.put.Content == nil && out.Former != "" && d.Status() == kbdocument.Ready && d.Generation >= out.Generation && d.Content().Hash == out.Former
	return response, out.Created, nil
}

func (h *Handlers) createFiles(in request, wait time.Duration) (any, error) {
	f, puts, err := h.readForm(in)
	defer f.close()
	if err != nil {
		return nil, err
	}
	for _, c := range puts { // all of them are refused, or none
		if err := h.Documents.Check(in.Context(), in.workspaceID, c.put, in.may()); err != nil {
			return nil, err
		}
	}
	outs := make([]knowledge.Outcome, len(puts))
	for i, c := range puts {
		if outs[i], err = h.Documents.Put(in.Context(), in.workspaceID, c.put, in.may()); err != nil {
			return nil, err
		}
	}
	until := h.Now().Add(wait)
	responses := make([]documentResponse, len(outs))
	for i, out := range outs {
		responses[i] = h.saved(in, out.State, max(0, until.Sub(h.Now())))
		responses[i].Unchanged = out.Unchanged
	}
	return gateway.Created(responses, handler.Location(in.Request, outs[0].ID)), nil
}

// maxBulk is how many documents one request adds in JSON.
const maxBulk = 100

// bulkItem is what became of one document of many.
type bulkItem struct {
	Document *documentResponse `json:"document,omitempty"`
	Error    domain.Code       `json:"error,omitempty"`
	Message  string            `json:"message,omitempty"`
	Details  map[string]any    `json:"details,omitempty"`
}

// CreateMany handles POST …/documents/bulk. A document that is refused does not keep the others from being added.
func (h *Handlers) CreateMany(r *http.Request) (any, error) {
	in, err := h.newRequest(r, "create")
	if err != nil {
		return nil, err
	}
	var body struct {
		Documents *[]json.RawMessage `json:"documents"`
	}
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	switch {
	case body.Documents == nil:
		return nil, handler.MissingField("documents")
	case len(*body.Documents) < 1 || len(*body.Documents) > maxBulk:
		return nil, domain.Invalid(domain.FieldError{Field: "documents", Message: fmt.Sprintf("must be 1 to %d", maxBulk)})
	}
	items := make([]bulkItem, len(*body.Documents))
	for i, one := range *body.Documents {
		if items[i], err = h.createOne(in, one); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (h *Handlers) createOne(in request, one json.RawMessage) (item bulkItem, err error) {
	var body documentRequest
	var c content
	if err = gateway.DecodeJSON(one, &body); err == nil {
		c, err = body.read(h, in)
	}
	defer c.close()
	var out knowledge.Outcome
	if err == nil {
		out, err = h.Documents.Put(in.Context(), in.workspaceID, c.put, in.may())
	}
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		return bulkItem{Error: refusal.Code, Message: refusal.Message, Details: refusal.Details}, nil
	}
	if err != nil {
		return item, err
	}
	response := h.saved(in, out.State, 0)
	response.Unchanged = out.Unchanged
	return bulkItem{Document: &response}, nil
}

// UpdateDocument handles PATCH …/documents/{id}.
func (h *Handlers) UpdateDocument(r *http.Request) (any, error) {
	in, err := h.newRequest(r, "update")
	if err != nil {
		return nil, err
	}
	var body fieldsRequest
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	change, err := body.change()
	if err != nil {
		return nil, err
	}
	found, err := h.find(in, "update")
	if err != nil {
		return nil, err
	}
	s, err := h.Documents.Edit(r.Context(), in.workspaceID, found.ID, in.base, change, in.may(change.Names()...))
	if err != nil {
		return nil, err
	}
	return h.saved(in, s, 0), nil
}

// ReplaceContent handles PUT …/documents/{id}/content.
func (h *Handlers) ReplaceContent(r *http.Request) (any, error) {
	wait, err := readWait(r)
	if err != nil {
		return nil, err
	}
	in, err := h.newRequest(r, "update")
	if err != nil {
		return nil, err
	}
	found, err := h.find(in, "update")
	if err != nil {
		return nil, err
	}
	c, done, err := h.readContent(in)
	defer done()
	if err != nil {
		return nil, err
	}
	if key := c.put.Origin.Key; key != "" && key != found.Key {
		return nil, domain.Invalid(domain.FieldError{Field: "key", Message: "cannot be changed"})
	}
	c.put.ID, c.put.Origin.Key = found.ID, found.Key
	response, _, err := h.put(in, c, wait)
	if err != nil {
		return nil, err
	}
	return response, nil
}

// readContent reads the new content of a document: one file, or JSON.
func (h *Handlers) readContent(in request) (c content, done func(), err error) {
	if !isMultipart(in.Request) {
		var body documentRequest
		if err := gateway.Decode(in.Request, &body); err != nil {
			return c, func() {}, err
		}
		c, err = body.read(h, in)
		return c, c.close, err
	}
	f, puts, err := h.readForm(in)
	if err == nil && len(puts) > 1 {
		err = handler.RefuseField("file", "must be one")
	}
	if err == nil {
		c = puts[0]
	}
	return c, f.close, err
}

// DeleteDocument handles DELETE …/documents/{id}.
func (h *Handlers) DeleteDocument(r *http.Request) (any, error) {
	in, err := h.newRequest(r, "delete")
	if err != nil {
		return nil, err
	}
	found, err := h.find(in, "delete")
	if err != nil {
		return nil, err
	}
	return handler.IDResponse(found.ID), h.deleteDocument(in, found.ID)
}

func (h *Handlers) deleteDocument(in request, id string) error {
	if _, err := h.Documents.Delete(in.Context(), in.workspaceID, id, in.base, in.may()); err != nil {
		return err
	}
	handler.AwaitVisible(in.Context(), h.ReadModel)
	return nil
}

// maxDeleted is how many documents one request names.
const maxDeleted = 1000

// DeleteMany handles POST …/documents/delete.
func (h *Handlers) DeleteMany(r *http.Request) (any, error) {
	in, err := h.newRequest(r, "delete")
	if err != nil {
		return nil, err
	}
	var body struct {
		IDs     *[]string       `json:"ids"`
		Filters *map[string]any `json:"filters"`
		All     bool            `json:"all"`
	}
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	switch {
	case body.IDs == nil && body.Filters == nil:
		return nil, handler.MissingField("ids")
	case body.IDs != nil && body.Filters != nil:
		return nil, domain.Invalid(domain.FieldError{Field: "filters", Message: "do not go with ids"})
	case body.IDs == nil:
		return h.deleteMatching(in, *body.Filters, body.All)
	case len(*body.IDs) > maxDeleted:
		return nil, domain.Invalid(domain.FieldError{Field: "ids", Message: fmt.Sprintf("must be at most %d", maxDeleted)})
	}
	ids, err := h.resolve(in, *body.IDs)
	if err != nil {
		return nil, err
	}
	return h.deleteAll(in, ids)
}

// deletedResponse is how many documents were deleted.
type deletedResponse struct {
	Deleted int `json:"deleted"`
}

// deleteMatching deletes the documents that a filter selects; all of them only when the caller says so.
func (h *Handlers) deleteMatching(in request, filters map[string]any, all bool) (any, error) {
	if len(filters) == 0 && !all {
		return nil, domain.Invalid(domain.FieldError{Field: "all", Message: "must be true to delete all documents"})
	}
	ids, err := h.matching(in, filters)
	if err != nil {
		return nil, err
	}
	return h.deleteAll(in, ids)
}

func (h *Handlers) deleteAll(in request, ids []string) (any, error) {
	deleted, err := h.Documents.DeleteMany(in.Context(), in.workspaceID, in.base, ids, in.may())
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(in.Context(), h.ReadModel)
	return deletedResponse{deleted}, nil
}

// resolve returns the ids of documents of the base, without those that it does not have.
func (h *Handlers) resolve(in request, named []string) (ids []string, err error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	for _, id := range named {
		if strings.HasPrefix(id, "key:") {
			if id, err = (projections.KBDocuments{}).ByIdentity(rd, in.workspaceID, in.base.ID, id); err != nil {
				return nil, err
			}
		}
		if _, ok, err := (projections.KBDocuments{}).Get(rd, in.workspaceID, in.base.ID, id, h.Now()); err != nil {
			return nil, err
		} else if ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// matching returns the documents that a filter selects and the caller may delete.
func (h *Handlers) matching(in request, filters map[string]any) (ids []string, err error) {
	filter, err := kbdocument.ParseFilter("filters", filters)
	if err != nil {
		return nil, err
	}
	allowed := in.filter("delete")
	rd := h.ReadModel.Reader()
	defer rd.Close()
	err = projections.KBDocuments{}.List(rd, in.workspaceID, in.base.ID, h.Now(), func(d projections.KBDocument) bool {
		if allowed(in.object(d.State)) && filter.Matches(search.Fields(in.base.Slug, d)) {
			ids = append(ids, d.ID)
		}
		return true
	})
	return ids, err
}
