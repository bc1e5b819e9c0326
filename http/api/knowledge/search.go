package knowledge

import (
	"net/http"

	"svc/commands/knowledge"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
	"svc/streams/search"
)

// searchBody is the body of a search.
type searchBody struct {
	Query *string `json:"query"` // of SearchQuery, which cannot tell whether it was given
	knowledge.SearchQuery
}

// search answers a search of a workspace.
func (h *Handlers) search(r *http.Request, bases []string, q knowledge.SearchQuery) (any, error) {
	in := knowledge.SearchRequest{WorkspaceID: handler.WorkspaceID(r), Bases: bases, Rights: gateway.GrantFrom(r.Context()).Rights, SearchQuery: q}
	answer, err := h.Search(r.Context(), in)
	if err != nil {
		return nil, err
	}
	h.Searched(r.Context(), in, answer)
	return answer, nil
}

// SearchBase handles POST …/knowledgeBases/{slug}/search.
func (h *Handlers) SearchBase(r *http.Request) (any, error) {
	if _, err := h.newRequest(r, "read"); err != nil {
		return nil, err
	}
	var body searchBody
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	if body.Query == nil {
		return nil, handler.MissingField("query")
	}
	body.SearchQuery.Query = *body.Query
	return h.search(r, []string{gateway.Var(r, "slug")}, body.SearchQuery)
}

// FindInBase handles GET …/knowledgeBases/{slug}/search.
func (h *Handlers) FindInBase(r *http.Request) (any, error) {
	if _, err := h.newRequest(r, "read"); err != nil {
		return nil, err
	}
	q := gateway.NewQuery(r)
	query := knowledge.SearchQuery{Query: q.Required("q"), Mode: q.Text("mode")}
	if tags := q.List("tags"); len(tags) > 0 {
		list := make([]any, len(tags))
		for i, tag := range tags {
			list[i] = tag
		}
		query.Filters = map[string]any{"tags": map[string]any{"$in": list}}
	}
	limit, page := q.Int("limit", 0, 1, 100), q.Int("page", 0, 0, 10_000)
	if query.Page = &page; limit > 0 {
		query.Limit = &limit
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	return h.search(r, []string{gateway.Var(r, "slug")}, query)
}

// CheckSome refuses a caller who may read documents of no base, neither by a rule nor by a share.
func (h *Handlers) CheckSome(r *http.Request) error {
	rights, workspaceID, shared := gateway.GrantFrom(r.Context()).Rights, handler.WorkspaceID(r), false
	if rights.Could("read", subject) {
		return nil
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	err := projections.Content{}.List(rd, workspaceID, "knowledge/", func(item projections.Item) (bool, error) {
		shared = search.NewBase(rd, workspaceID, item).Check(rights, "read") == nil
		return !shared, nil
	})
	if err == nil && !shared {
		err = rights.Refusal("read", subject)
	}
	return err
}

// SearchBases handles POST …/knowledgeBases/search.
func (h *Handlers) SearchBases(r *http.Request) (any, error) {
	if err := h.CheckSome(r); err != nil {
		return nil, err
	}
	var body struct {
		Bases *[]string `json:"knowledgeBases"`
		searchBody
	}
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	if body.Query == nil {
		return nil, handler.MissingField("query")
	}
	body.SearchQuery.Query = *body.Query
	var bases []string
	if body.Bases != nil {
		bases = append([]string{}, *body.Bases...)
	}
	return h.search(r, bases, body.SearchQuery)
}
