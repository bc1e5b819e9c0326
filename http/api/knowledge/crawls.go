package knowledge

import (
	"context"
	"net/http"
	"time"

	"svc/domain"
	"svc/domain/crawl"
	"svc/domain/kbdocument"
	"svc/domain/operation"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
	"svc/streams/crawler"
)

// Crawls begins crawls. It is a knowledge.Crawls.
type Crawls interface {
	Start(ctx context.Context, workspaceID string, about operation.CrawlAbout) (operation.State, error)
}

// Bucket has values by key. It is a *jetstream.Bucket.
type Bucket interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	List(ctx context.Context, prefix string) ([][]byte, error)
}

// checkedAt returns when the content of a document was looked at last.
func (h *Handlers) checkedAt(in request, d kbdocument.State) time.Time {
	if d.Source != kbdocument.Crawl {
		return d.CheckedAt
	}
	if at := crawler.CheckedAt(in.Context(), h.Known, in.workspaceID, d); at.After(d.CheckedAt) {
		return at
	}
	return d.CheckedAt
}

const baseSubject = "knowledgeBases"

// newBaseRequest finds the base that the path names, if the caller may do something to it.
func (h *Handlers) newBaseRequest(r *http.Request, action string) (request, error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	return openBase(rd, fromHTTP(r), gateway.Var(r, "slug"), action)
}

// crawlRequest is the body of a request to read a source.
type crawlRequest struct {
	Full             bool `json:"full"`
	AllowMassRemoval bool `json:"allowMassRemoval"`
}

// StartCrawl handles POST …/sources/{sourceId}/crawl.
func (h *Handlers) StartCrawl(r *http.Request) (any, error) {
	var body crawlRequest
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	in, err := h.newBaseRequest(r, "update")
	if err != nil {
		return nil, err
	}
	op, err := h.startCrawl(in, gateway.Var(r, "sourceId"), body)
	if err != nil {
		return nil, err
	}
	return gateway.Accepted(toCrawlResponse(op)).With(handler.OperationHeader, op.ID), nil
}

// startCrawl begins to read a source of the base.
func (h *Handlers) startCrawl(in request, id string, body crawlRequest) (operation.State, error) {
	source, ok, err := h.Source(in.Context(), in.workspaceID, in.base.ID, id)
	switch {
	case err != nil:
		return operation.State{}, err
	case !ok:
		return operation.State{}, domain.Refuse(domain.CodeNotFound, "the knowledge base has no such source").With("resource", "source").With("id", handler.Shorten(id))
	case source.Disabled:
		return operation.State{}, domain.Refuse(domain.CodeConflict, "the source %s is disabled", id).Reason("disabled").With("sourceId", id)
	}
	op, err := h.Crawls.Start(in.Context(), in.workspaceID, operation.CrawlAbout{
		BaseID: in.base.ID, KnowledgeBase: in.base.Slug, SourceID: id, Trigger: operation.ByHand, Full: body.Full, AllowMassRemoval: body.AllowMassRemoval,
	})
	handler.AwaitVisible(in.Context(), h.ReadModel)
	return op, err
}

// crawlResponse is a crawl as it is answered.
type crawlResponse struct {
	ID        string                `json:"id"`
	SourceID  string                `json:"sourceId"`
	Status    operation.Status      `json:"status"`
	Trigger   string                `json:"trigger"`
	StartedAt string                `json:"startedAt"`
	EndedAt   *string               `json:"endedAt"`
	Counts    operation.CrawlCounts `json:"counts"`
	Complete  bool                  `json:"complete"`
	Warnings  []string              `json:"warnings"`
	Error     *operation.Failure    `json:"error,omitempty"`
}

func toCrawlResponse(op operation.State) crawlResponse {
	c := op.Crawl
	response := crawlResponse{
		ID: op.ID, SourceID: c.SourceID, Status: op.Status, Trigger: c.Trigger, StartedAt: handler.FormatTime(op.CreatedAt), Counts: c.Counts,
		Complete: c.Complete, Warnings: handler.NonNil(c.Warnings), Error: op.Failure,
	}
	if op.EndedAt != nil {
		end := handler.FormatTime(*op.EndedAt)
		response.EndedAt = &end
	}
	return response
}

// ListCrawls handles GET …/crawls: the newest first.
func (h *Handlers) ListCrawls(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	sourceID, page := q.Text("sourceId"), q.Page(20, 100)
	status := q.OneOf("status", "", string(operation.Running), string(operation.Succeeded), string(operation.Failed), string(operation.Cancelled))
	if err := q.Err(); err != nil {
		return nil, err
	}
	in, err := h.newBaseRequest(r, "read")
	if err != nil {
		return nil, err
	}
	items, total := []crawlResponse{}, 0
	rd := h.ReadModel.Reader()
	defer rd.Close()
	err = projections.Operations{}.List(rd, in.workspaceID, func(op operation.State) bool {
		if op.Crawl == nil || op.Crawl.BaseID != in.base.ID || sourceID != "" && op.Crawl.SourceID != sourceID || status != "" && string(op.Status) != status {
			return true
		}
		if total >= page.Offset() && len(items) < page.Limit {
			items = append(items, toCrawlResponse(op))
		}
		total++
		return true
	})
	if err != nil {
		return nil, err
	}
	return gateway.List(r, items, total, page), nil
}

// findCrawl returns the crawl that the path names.
func (h *Handlers) findCrawl(r *http.Request) (operation.State, error) {
	in, err := h.newBaseRequest(r, "read")
	if err != nil {
		return operation.State{}, err
	}
	id := gateway.Var(r, "opId")
	op, ok, err := projections.Find(h.ReadModel, projections.Operations{}.Get, id)
	if err == nil && (!ok || op.WorkspaceID != in.workspaceID || op.Crawl == nil || op.Crawl.BaseID != in.base.ID) {
		err = domain.Refuse(domain.CodeNotFound, "there is no such crawl").With("resource", "crawl").With("id", handler.Shorten(id))
	}
	return op, err
}

// GetCrawl handles GET …/crawls/{opId}.
func (h *Handlers) GetCrawl(r *http.Request) (any, error) {
	op, err := h.findCrawl(r)
	if err != nil {
		return nil, err
	}
	return toCrawlResponse(op), nil
}

// ListCrawlPages handles GET …/crawls/{opId}/pages: in the order in which they were visited.
func (h *Handlers) ListCrawlPages(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	outcome, page := q.OneOf("outcome", "", crawl.Outcomes...), q.Page(20, 100)
	if err := q.Err(); err != nil {
		return nil, err
	}
	op, err := h.findCrawl(r)
	if err != nil {
		return nil, err
	}
	records, err := crawler.Records(r.Context(), h.Records, op.ID)
	if err != nil {
		return nil, err
	}
	pages := []crawl.Page{}
	add := func(p crawl.Page) {
		if outcome == "" || string(p.Outcome) == outcome {
			pages = append(pages, p)
		}
	}
	for _, record := range records {
		if record.Page != nil {
			add(*record.Page)
		}
		for _, refused := range record.Refused {
			add(refused)
		}
	}
	return gateway.List(r, handler.NonNil(gateway.PageOf(pages, page)), len(pages), page), nil
}
