package knowledge

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"time"

	"svc/commands/knowledge"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/kbdocument"
	"svc/domain/value"
	"svc/projections"
	"svc/streams/search"
)

// Module is the module knowledge of automations: what requests do with knowledge bases, with the rights of the workspace
// or of the session that a run acts for.
type Module struct {
	Handlers *Handlers
	// Fresh waits until the read models have what any node has written.
	Fresh func(context.Context) error
	// MaxFile is how many bytes a file may have.
	MaxFile func() int64
}

// moduleFunctions are the functions by name.
var moduleFunctions = map[string]func(*Module, context.Context, runtime.ModuleCall) (any, error){
	"search":         (*Module).search,
	"ask":            (*Module).ask,
	"addDocument":    (*Module).addDocument,
	"getDocument":    (*Module).getDocument,
	"listDocuments":  (*Module).listDocuments,
	"deleteDocument": (*Module).deleteDocument,
	"crawl":          (*Module).crawl,
}

// Call performs a function of the module.
func (m *Module) Call(ctx context.Context, c runtime.ModuleCall) (any, error) {
	function, ok := moduleFunctions[c.Function]
	if !ok {
		return value.Undefined, automation.Invalid("module knowledge has no function %s", c.Function)
	}
	if c.Emit != nil && c.Function != "ask" {
		return value.Undefined, automation.Invalid("%s has no stream", c.Function)
	}
	if err := m.Fresh(ctx); err != nil {
		return value.Undefined, err
	}
	return c.Result(function(m, ctx, c))
}

// basesOf returns the bases that a call names.
func basesOf(c runtime.ModuleCall, one string, several []string) ([]string, error) {
	if one != "" {
		several = append(several, one)
	}
	if len(several) == 0 {
		return nil, automation.Invalid("knowledgeBase or knowledgeBases is required")
	}
	for _, slug := range several {
		if err := c.CheckNamed(slug); err != nil {
			return nil, err
		}
	}
	return several, nil
}

// request returns the request that a call is for a base.
func (m *Module) request(ctx context.Context, c runtime.ModuleCall, slug, action string, open func(projections.Reader, request, string, string) (request, error)) (request, error) {
	if slug == "" {
		return request{}, automation.Invalid("knowledgeBase is required")
	}
	if err := c.CheckNamed(slug); err != nil {
		return request{}, err
	}
	rd := m.Handlers.ReadModel.Reader()
	defer rd.Close()
	return open(rd, request{Request: new(http.Request).WithContext(ctx), workspaceID: c.WorkspaceID, rights: c.Caller.Rights}, slug, action)
}

func (m *Module) search(ctx context.Context, c runtime.ModuleCall) (any, error) {
	var in struct {
		Base  string   `json:"knowledgeBase"`
		Bases []string `json:"knowledgeBases"`
		knowledge.SearchQuery
	}
	if err := c.Read(&in); err != nil {
		return nil, err
	}
	bases, err := basesOf(c, in.Base, in.Bases)
	if err != nil {
		return nil, err
	}
	asked := knowledge.SearchRequest{WorkspaceID: c.WorkspaceID, Bases: bases, Rights: c.Caller.Rights, SearchQuery: in.SearchQuery}
	answer, err := m.Handlers.Search(ctx, asked)
	if err != nil {
		return nil, err
	}
	m.Handlers.Searched(ctx, asked, answer)
	return answer, nil
}

func (m *Module) ask(ctx context.Context, c runtime.ModuleCall) (any, error) {
	var in struct {
		Base  string   `json:"knowledgeBase"`
		Bases []string `json:"knowledgeBases"`
		knowledge.AskQuery
	}
	if err := c.Read(&in); err != nil {
		return nil, err
	}
	bases, err := basesOf(c, in.Base, in.Bases)
	if err != nil {
		return nil, err
	}
	asked := knowledge.AskRequest{WorkspaceID: c.WorkspaceID, Bases: bases, Rights: c.Caller.Rights, AskQuery: in.AskQuery}
	if c.Emit != nil {
		asked.OnDelta = func(text string) error { return c.Emit(ctx, text) }
	}
	return m.Handlers.Ask(ctx, asked)
}

// addDocument adds a document, or replaces what the call gives of one that is known.
func (m *Module) addDocument(ctx context.Context, c runtime.ModuleCall) (any, error) {
	var in struct {
		Base string  `json:"knowledgeBase"`
		File *string `json:"file"` // base64, as bytes are written in JSON
		Wait int     `json:"wait"`
		documentRequest
	}
	if err := c.Read(&in); err != nil {
		return nil, err
	}
	switch {
	case in.Wait < 0 || in.Wait > maxWait:
		return nil, automation.Invalid("wait is 0 to %d seconds", maxWait)
	case in.FileID != nil && c.Named != nil && c.Caller.Rights == nil:
		return nil, automation.Raise(automation.ObjectNotFound, "an app has no files", "fileId", *in.FileID)
	}
	request, err := m.request(ctx, c, in.Base, "create", openDocuments)
	if err != nil {
		return nil, err
	}
	put, err := m.readDocument(request, in.documentRequest, in.File)
	defer put.close()
	if err != nil {
		return nil, err
	}
	response, _, err := m.Handlers.put(request, put, time.Duration(in.Wait)*time.Second)
	if err != nil {
		return nil, err
	}
	return response, nil
}

// readDocument turns a call into a document. One that is a file needs a name.
func (m *Module) readDocument(r request, in documentRequest, encoded *string) (content, error) {
	if encoded == nil {
		return in.read(m.Handlers, r)
	}
	switch {
	case in.Text != nil || in.URL != nil || in.FileID != nil:
		return content{}, domain.Invalid(domain.FieldError{Field: "file", Message: "does not go with text, url and fileId"})
	case deref(in.Name.Value) == "":
		return content{}, domain.Invalid(domain.FieldError{Field: "name", Message: "is required with file"})
	}
	body, err := base64.StdEncoding.DecodeString(*encoded)
	if err != nil {
		return content{}, domain.Invalid(domain.FieldError{Field: "file", Message: "must be bytes or base64"})
	}
	if most := m.MaxFile(); int64(len(body)) > most {
		return content{}, domain.Refuse(domain.CodeValidation, "a file has at most %d bytes", most).Reason("too_large")
	}
	c, err := newFile(m.Handlers.Dir, *in.Name.Value, deref(in.Mimetype), bytes.NewReader(body))
	if err != nil {
		return c, err
	}
	return c, c.describe(in, r.base)
}

// moduleID returns the id or the key of a call as paths have it.
func moduleID(id, key string) (string, error) {
	if (id == "") == (key == "") {
		return "", automation.Invalid("id or key is required")
	}
	if key != "" {
		return kbdocument.Origin{Key: key}.Identity(), nil
	}
	return id, nil
}

// getDocument returns a document by its id or its key; nil when there is none.
func (m *Module) getDocument(ctx context.Context, c runtime.ModuleCall) (any, error) {
	var in struct {
		Base string `json:"knowledgeBase"`
		ID   string `json:"id"`
		Key  string `json:"key"`
	}
	if err := c.Read(&in); err != nil {
		return nil, err
	}
	id, err := moduleID(in.ID, in.Key)
	if err != nil {
		return nil, err
	}
	request, err := m.request(ctx, c, in.Base, "read", openDocuments)
	if err != nil {
		return nil, err
	}
	found, err := m.Handlers.findDocument(request, id, "read")
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil, nil //nolint:nilnil // undefined
	}
	if err != nil {
		return nil, err
	}
	found.CheckedAt = m.Handlers.checkedAt(request, found.State)
	return request.toResponse(found), nil
}

// maxListed is how many documents a call lists.
const maxListed = 1000

func (m *Module) listDocuments(ctx context.Context, c runtime.ModuleCall) (any, error) {
	var in struct {
		Base    string         `json:"knowledgeBase"`
		Filters map[string]any `json:"filters"`
		Limit   *int           `json:"limit"`
	}
	if err := c.Read(&in); err != nil {
		return nil, err
	}
	limit := maxListed
	if in.Limit != nil {
		if limit = *in.Limit; limit < 1 || limit > maxListed {
			return nil, automation.Invalid("limit is 1 to %d", maxListed)
		}
	}
	filter, err := kbdocument.ParseFilter("filters", in.Filters)
	if err != nil {
		return nil, err
	}
	request, err := m.request(ctx, c, in.Base, "read", openDocuments)
	if err != nil {
		return nil, err
	}
	readable, listed := request.filter("read"), []documentResponse{}
	rd := m.Handlers.ReadModel.Reader()
	defer rd.Close()
	err = projections.KBDocuments{}.List(rd, c.WorkspaceID, request.base.ID, m.Handlers.Now(), func(d projections.KBDocument) bool {
		if readable(request.object(d.State)) && (len(in.Filters) == 0 || filter.Matches(search.Fields(in.Base, d))) {
			d.CheckedAt = m.Handlers.checkedAt(request, d.State)
			listed = append(listed, request.toResponse(d))
		}
		return len(listed) < limit
	})
	return listed, err
}

// deleteDocument deletes the document with an id or a key, or those that a filter selects.
func (m *Module) deleteDocument(ctx context.Context, c runtime.ModuleCall) (any, error) {
	var in struct {
		Base    string         `json:"knowledgeBase"`
		ID      string         `json:"id"`
		Key     string         `json:"key"`
		Filters map[string]any `json:"filters"`
		All     bool           `json:"all"`
	}
	if err := c.Read(&in); err != nil {
		return nil, err
	}
	request, err := m.request(ctx, c, in.Base, "delete", openDocuments)
	if err != nil {
		return nil, err
	}
	if in.Filters != nil {
		if in.ID != "" || in.Key != "" {
			return nil, automation.Invalid("filters do not go with id and key")
		}
		return m.Handlers.deleteMatching(request, in.Filters, in.All)
	}
	id, err := moduleID(in.ID, in.Key)
	if err != nil {
		return nil, err
	}
	deleted := deletedResponse{}
	found, err := m.Handlers.findDocument(request, id, "delete")
	if err == nil {
		deleted.Deleted, err = 1, m.Handlers.deleteDocument(request, found.ID)
	}
	if domain.CodeOf(err) == domain.CodeNotFound {
		return deletedResponse{}, nil
	}
	return deleted, err
}

// crawl begins to read a source.
func (m *Module) crawl(ctx context.Context, c runtime.ModuleCall) (any, error) {
	var in struct {
		Base   string `json:"knowledgeBase"`
		Source string `json:"source"`
		crawlRequest
	}
	if err := c.Read(&in); err != nil {
		return nil, err
	}
	if in.Source == "" {
		return nil, automation.Invalid("source is required")
	}
	request, err := m.request(ctx, c, in.Base, "update", openBase)
	if err != nil {
		return nil, err
	}
	op, err := m.Handlers.startCrawl(request, in.Source, in.crawlRequest)
	if err != nil {
		return nil, err
	}
	return map[string]string{"operationId": op.ID}, nil
}
