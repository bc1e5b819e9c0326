// Package knowledge has the handlers of the documents of knowledge bases.
package knowledge

import (
	"context"
	"net/http"
	"strings"
	"time"

	"svc/commands/files"
	"svc/commands/knowledge"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/crawl"
	"svc/domain/file"
	"svc/domain/kbdocument"
	chunks "svc/domain/knowledge"
	filehandlers "svc/http/api/files"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
	"svc/streams/search"
)

// Handlers answer requests about documents of knowledge bases.
type Handlers struct {
	ReadModel ReadModel
	Documents Documents
	Search    func(context.Context, knowledge.SearchRequest) (knowledge.SearchAnswer, error)
	Searched  func(context.Context, knowledge.SearchRequest, knowledge.SearchAnswer) // records a search
	Ask       func(context.Context, knowledge.AskRequest) (knowledge.Answer, error)
	Files     Files
	Contents  filehandlers.Contents // contents, texts and passages of documents
	Reindexes Reindexes
	Crawls    Crawls
	Records   Bucket // of the visits of crawls
	Known     Bucket // what is known of crawled pages since their last visit
	// Source returns a source of a knowledge base; ok is false when there is none.
	Source func(ctx context.Context, workspaceID, baseID, sourceID string) (s crawl.Source, ok bool, err error)
	Dir    string // where contents wait while they come and go; default that of the system
	Now    func() time.Time
}

// ReadModel is what is read, and what tells of changes. It is a *projections.Models.
type ReadModel interface {
	handler.ReadModel
	Watch() (changed <-chan struct{}, stop func())
}

// Documents changes documents. It is a *knowledge.Documents.
type Documents interface {
	Check(ctx context.Context, workspaceID string, p knowledge.Put, may knowledge.May) error
	Put(ctx context.Context, workspaceID string, p knowledge.Put, may knowledge.May) (knowledge.Outcome, error)
	Edit(ctx context.Context, workspaceID, id string, base kbdocument.Base, c kbdocument.Change, may knowledge.May) (kbdocument.State, error)
	Delete(ctx context.Context, workspaceID, id string, base kbdocument.Base, may knowledge.May) (kbdocument.State, error)
	DeleteMany(ctx context.Context, workspaceID string, base kbdocument.Base, ids []string, may knowledge.May) (int, error)
	Reprocess(ctx context.Context, workspaceID, id string, cmd kbdocument.Reprocess, may knowledge.May) (kbdocument.State, error)
}

// Files finds the files of a workspace. It is a *files.Files.
type Files interface {
	Find(ctx context.Context, workspaceID, id string, may files.May) (file.State, error)
}

// request is a request about the documents of a base. That of an automation has the context only.
type request struct {
	*http.Request
	workspaceID string
	base        kbdocument.Base
	vectorSet   string         // that the model of the base makes; "": it has none
	rights      *access.Rights // nil: the workspace itself asks, and may do everything
	access      search.Base
}

// check refuses what the caller may not do to an object.
func (r request) check(action, subject string, o access.Object, fields ...string) error {
	if r.rights == nil {
		return nil
	}
	return r.rights.Check(action, subject, o, fields...)
}

// filter returns what reports whether the caller may do something to a document.
func (r request) filter(action string) func(access.Object) bool {
	if r.rights == nil {
		return func(access.Object) bool { return true }
	}
	return r.rights.Filter(action, subject)
}

// newRequest finds the base that the path names, if the caller may do something to its documents.
func (h *Handlers) newRequest(r *http.Request, action string) (request, error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	return openDocuments(rd, fromHTTP(r), gateway.Var(r, "slug"), action)
}

func fromHTTP(r *http.Request) request {
	return request{Request: r, workspaceID: handler.WorkspaceID(r), rights: gateway.GrantFrom(r.Context()).Rights}
}

// openDocuments finds the base with a slug, if the caller may do something to its documents.
func openDocuments(rd projections.Reader, in request, slug, action string) (request, error) {
	in, _, err := findBase(rd, in, slug, action, subject)
	if err != nil || in.rights == nil {
		return in, err
	}
	return in, in.access.Check(in.rights, action)
}

// openBase finds the base with a slug, if the caller may do something to it.
func openBase(rd projections.Reader, in request, slug, action string) (request, error) {
	in, item, err := findBase(rd, in, slug, action, baseSubject)
	if err != nil {
		return in, err
	}
	return in, in.check(action, baseSubject, projections.Content{}.SharedObject(rd, in.workspaceID, item))
}

// findBase finds the base with a slug. Who may do nothing to the subject is not told whether it exists.
func findBase(rd projections.Reader, in request, slug, action, subject string) (request, projections.Item, error) {
	item, ok, err := projections.Content{}.Get(rd, in.workspaceID, "knowledge/"+slug)
	if err != nil {
		return in, item, err
	}
	if !ok {
		if in.rights != nil && !in.rights.Could(action, subject) {
			return in, item, in.rights.Refusal(action, subject)
		}
		return in, item, domain.Refuse(domain.CodeNotFound, "there is no such knowledge base").With("resource", "knowledgeBase").With("id", handler.Shorten(slug))
	}
	in.base = kbdocument.Base{ID: item.ID, Slug: slug}
	in.access = search.NewBase(rd, in.workspaceID, item)
	meta, err := projections.Content{}.Meta(rd, in.workspaceID, item.Hash)
	in.vectorSet = chunks.ReadSettings(meta.About).VectorSet()
	return in, item, err
}

const subject = search.Subject

// object is a document as rules see it.
func (r request) object(s kbdocument.State) access.Object {
	return r.access.Object(s)
}

// may decides with the rights of the caller. fields are those that an update changes.
func (r request) may(fields ...string) knowledge.May {
	return func(before, after kbdocument.State) error {
		switch {
		case before.ID == "":
			return r.check("create", subject, r.object(after))
		case after.ID == "" || after.Deleted:
			return r.check("delete", subject, r.object(before))
		}
		if err := r.check("update", subject, r.object(before), fields...); err != nil {
			return err
		}
		return r.check("update", subject, r.object(after), fields...)
	}
}

// find returns the document that the path names by its id or its key, if the caller may read it.
func (h *Handlers) find(in request, action string) (projections.KBDocument, error) {
	return h.findDocument(in, gateway.Var(in.Request, "id"), action)
}

// findDocument returns the document with an id, or a key after "key:", if the caller may do something to it.
func (h *Handlers) findDocument(in request, named, action string) (projections.KBDocument, error) {
	id := named
	rd := h.ReadModel.Reader()
	defer rd.Close()
	var err error
	if strings.HasPrefix(id, "key:") {
		if id, err = (projections.KBDocuments{}).ByIdentity(rd, in.workspaceID, in.base.ID, id); err != nil {
			return projections.KBDocument{}, err
		}
	}
	found, ok, err := projections.KBDocuments{}.Get(rd, in.workspaceID, in.base.ID, id, h.Now())
	if err != nil {
		return found, err
	}
	if !ok {
		return found, domain.Refuse(domain.CodeNotFound, "there is no such document").
			With("resource", "document").With("id", handler.Shorten(named))
	}
	return found, in.check(action, subject, in.object(found.State))
}

// documentResponse is a document as it is answered.
type documentResponse struct {
	ID            string            `json:"id"`
	KnowledgeBase string            `json:"knowledgeBase"`
	Source        kbdocument.Source `json:"source"`
	URL           string            `json:"url,omitempty"`
	FileID        string            `json:"fileId,omitempty"`
	SourceID      string            `json:"sourceId,omitempty"`
	Key           string            `json:"key,omitempty"`
	Name          string            `json:"name"`
	Title         string            `json:"title"`
	Language      string            `json:"language"`
	Mimetype      string            `json:"mimetype"`
	Size          int64             `json:"size"`
	Tags          []string          `json:"tags"`
	Metadata      map[string]any    `json:"metadata"`
	Status        kbdocument.Status `json:"status"`
	Vectors       string            `json:"vectors"`
	Error         *kbdocument.Fault `json:"error,omitempty"`
	Hash          string            `json:"hash,omitempty"`
	TextHash      string            `json:"textHash,omitempty"`
	Revision      int               `json:"revision"`
	Chunks        int               `json:"chunks"`
	Characters    int               `json:"characters"`
	Truncated     bool              `json:"truncated,omitempty"`
	Warnings      []string          `json:"warnings"`
	Searchable    bool              `json:"searchable"`
	ExpiresAt     string            `json:"expiresAt,omitempty"`
	IndexedAt     string            `json:"indexedAt,omitempty"`
	CheckedAt     string            `json:"checkedAt,omitempty"`
	CreatedAt     string            `json:"createdAt,omitempty"`
	CreatedBy     string            `json:"createdBy,omitempty"`
	UpdatedAt     string            `json:"updatedAt,omitempty"`
	UpdatedBy     string            `json:"updatedBy,omitempty"`
	Unchanged     bool              `json:"unchanged,omitempty"`
}

// toResponse returns a document of the base as it is answered.
func (r request) toResponse(d projections.KBDocument) documentResponse {
	response := documentResponse{
		ID: d.ID, KnowledgeBase: r.base.Slug, Source: d.Source, URL: d.URL, FileID: d.FileID, SourceID: d.SourceID, Key: d.Key, Name: d.State.Name, Title: d.ShownTitle(),
		Language: d.ShownLanguage(), Mimetype: d.ShownMimetype(), Size: d.Content().Size, Tags: handler.NonNil(d.ShownTags()), Metadata: d.Metadata,
		Status: d.Status(), Vectors: d.VectorStatus(r.vectorSet), Error: d.Fault, Hash: d.Content().Hash, Revision: d.Revision, Warnings: []string{},
		Searchable: d.Extract != nil, ExpiresAt: handler.FormatTime(d.ExpiresAt), CheckedAt: handler.FormatTime(d.CheckedAt),
		CreatedAt: d.CreatedAt, CreatedBy: d.CreatedBy, UpdatedAt: d.UpdatedAt, UpdatedBy: d.UpdatedBy,
	}
	if response.Metadata == nil {
		response.Metadata = map[string]any{}
	}
	if e := d.Extract; e != nil {
		response.TextHash, response.Chunks, response.Characters, response.Truncated = e.Text, e.Count, e.Characters, e.Truncated
		response.Warnings, response.IndexedAt = handler.NonNil(e.Warnings), handler.FormatTime(e.At)
	}
	return response
}

// saved is the answer to a write: the document as a read would show it, after at most wait.
func (h *Handlers) saved(in request, s kbdocument.State, wait time.Duration) documentResponse {
	return in.toResponse(h.await(in, s, wait))
}

// await returns a document that was written as it is when the pipeline is done with it, or after wait.
func (h *Handlers) await(in request, s kbdocument.State, wait time.Duration) projections.KBDocument {
	handler.AwaitVisible(in.Context(), h.ReadModel)
	ctx, cancel := context.WithTimeout(in.Context(), wait)
	defer cancel()
	changed, stop := h.ReadModel.Watch()
	defer stop()
	for {
		d := h.latest(in, s)
		if wait == 0 || d.Status() == kbdocument.Failed || d.Status() == kbdocument.Ready && !in.awaitsVectors(d) {
			return d
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return h.latest(in, s)
		}
	}
}

// awaitsVectors reports whether a model is about to make the vectors of a document, and has not failed yet.
func (r request) awaitsVectors(d projections.KBDocument) bool {
	return d.VectorStatus(r.vectorSet) == "pending" && d.Embedding != nil && d.Embedding.Attempts == 0
}

// latest returns a document as it is read now; without its times when it cannot be read: the write has happened.
func (h *Handlers) latest(in request, s kbdocument.State) projections.KBDocument {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	if found, ok, err := (projections.KBDocuments{}).Get(rd, in.workspaceID, in.base.ID, s.ID, h.Now()); err == nil && ok {
		return found
	}
	return projections.KBDocument{State: s}
}
