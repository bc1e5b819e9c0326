package documents

import (
	"net/http"

	"svc/domain/automation"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// referencesResponse is what a document uses of others.
type referencesResponse struct {
	Object    string                 `json:"object"`
	Calls     []automation.Reference `json:"calls"`
	Listens   []automation.Reference `json:"listens"`
	Emits     []string               `json:"emits"`
	EmitsLike []string               `json:"emitsLike"`
}

// ListReferences handles GET /v2/workspaces/{workspaceId}/references.
func (h *Handlers) ListReferences(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	page := q.Page(100, 1000)
	if err := q.Err(); err != nil {
		return nil, err
	}
	id := handler.WorkspaceID(r)
	rd := h.ReadModel.Reader()
	defer rd.Close()
	may := canReadObject(rd, gateway.GrantFrom(r.Context()).Rights, id)
	found, total := []referencesResponse{}, 0
	err := projections.Problems{}.References(rd, id, func(path string, review automation.Review) error {
		_, ok, err := may(path)
		if err != nil || !ok {
			return err
		}
		if total++; total > page.Offset() && len(found) < page.Limit {
			found = append(found, referencesResponse{path, handler.NonNil(review.Calls), handler.NonNil(review.Listens), handler.NonNil(review.Emits), handler.NonNil(review.EmitsLike)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return gateway.List(r, found, total, page), nil
}
