package knowledge

import (
	"context"
	"net/http"

	"svc/domain/kbdocument"
	"svc/domain/operation"
	"svc/http/api/handler"
	"svc/http/api/versioning"
	"svc/http/gateway"
	"svc/projections"
	"svc/streams/search"
)

// Reindexes has the documents of bases processed again. It is a knowledge.Reindexes.
type Reindexes interface {
	Start(ctx context.Context, workspaceID string, about operation.ReindexAbout) (operation.State, error)
}

// ReindexBase handles POST …/knowledgeBases/{slug}/reindex.
func (h *Handlers) ReindexBase(r *http.Request) (any, error) {
	var body struct {
		Extract bool           `json:"extract"`
		Filters map[string]any `json:"filters"`
	}
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	in, err := h.newBaseRequest(r, "update")
	if err != nil {
		return nil, err
	}
	filter, err := kbdocument.ParseFilter("filters", body.Filters)
	if err != nil {
		return nil, err
	}
	about := operation.ReindexAbout{BaseID: in.base.ID, KnowledgeBase: in.base.Slug, Extract: body.Extract, Filters: body.Filters}
	rd := h.ReadModel.Reader()
	err = projections.KBDocuments{}.List(rd, in.workspaceID, in.base.ID, h.Now(), func(d projections.KBDocument) bool {
		if len(body.Filters) == 0 || filter.Matches(search.Fields(in.base.Slug, d)) {
			about.Documents++
		}
		return true
	})
	rd.Close()
	if err != nil {
		return nil, err
	}
	op, err := h.Reindexes.Start(r.Context(), in.workspaceID, about)
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return gateway.Accepted(versioning.ToOperationResponse(op)).With(handler.OperationHeader, op.ID), nil
}
