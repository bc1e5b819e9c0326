package search

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"svc/commands/knowledge"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/kbdocument"
	"svc/domain/value"
	"svc/projections"
)

// Module is the module knowledge of automations: it reads with the rights of the workspace.
type Module struct {
	Searcher *Searcher
	// Fresh waits until the read models have what any node has written.
	Fresh func(context.Context) error
}

// Call performs a function of the module.
func (m *Module) Call(ctx context.Context, workspaceID, function string, params *value.Object) (any, error) {
	if err := m.Fresh(ctx); err != nil {
		return value.Undefined, err
	}
	var result any
	var err error
	switch function {
	case "search":
		result, err = m.search(ctx, workspaceID, params)
	case "getDocument":
		result, err = m.getDocument(workspaceID, params)
	case "listDocuments":
		result, err = m.listDocuments(workspaceID, params)
	default:
		return value.Undefined, automation.Invalid("module knowledge has no function %s", function)
	}
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		reason, _ := refusal.Details["reason"].(string)
		if reason == "" {
			reason = string(refusal.Code)
		}
		return value.Undefined, automation.Raise(automation.KnowledgeFailed, refusal.Message, "reason", reason)
	}
	if err != nil || result == nil {
		return value.Undefined, err
	}
	return toValue(result)
}

func toValue(v any) (any, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return value.Undefined, err
	}
	return value.ParseJSON(string(body))
}

// read reads parameters as the API reads a body.
func read(params *value.Object, into any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return automation.Invalid("parameters: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

func (m *Module) search(ctx context.Context, workspaceID string, params *value.Object) (any, error) {
	var in struct {
		Base  string   `json:"knowledgeBase"`
		Bases []string `json:"knowledgeBases"`
		knowledge.SearchQuery
	}
	if err := read(params, &in); err != nil {
		return nil, err
	}
	if in.Base != "" {
		in.Bases = append(in.Bases, in.Base)
	}
	if len(in.Bases) == 0 {
		return nil, automation.Invalid("knowledgeBase or knowledgeBases is required")
	}
	return m.Searcher.Search(ctx, knowledge.SearchRequest{WorkspaceID: workspaceID, Bases: in.Bases, SearchQuery: in.SearchQuery})
}

// moduleDocument is what automations see of a document.
type moduleDocument struct {
	knowledge.SearchDocument
	Status     kbdocument.Status `json:"status"`
	Error      *kbdocument.Fault `json:"error,omitempty"`
	Revision   int               `json:"revision"`
	Size       int64             `json:"size"`
	Chunks     int               `json:"chunks"`
	Searchable bool              `json:"searchable"`
	CreatedAt  string            `json:"createdAt"`
}

func toModuleDocument(base string, d projections.KBDocument) moduleDocument {
	shown := moduleDocument{
		SearchDocument: toSearchDocument(base, d), Status: d.Status(), Error: d.Fault, Revision: d.Revision, Size: d.Content().Size, Searchable: d.Extract != nil, CreatedAt: d.CreatedAt,
	}
	if d.Extract != nil {
		shown.Chunks = d.Extract.Count
	}
	return shown
}

// base returns the base with a slug.
func (m *Module) base(r projections.Reader, workspaceID, slug string) (projections.Item, error) {
	if slug == "" {
		return projections.Item{}, automation.Invalid("knowledgeBase is required")
	}
	item, ok, err := projections.Content{}.Get(r, workspaceID, "knowledge/"+slug)
	if err == nil && !ok {
		err = noBase(slug)
	}
	return item, err
}

// getDocument returns a document by its id or its key; nil when there is none.
func (m *Module) getDocument(workspaceID string, params *value.Object) (any, error) {
	var in struct {
		Base string `json:"knowledgeBase"`
		ID   string `json:"id"`
		Key  string `json:"key"`
	}
	if err := read(params, &in); err != nil {
		return nil, err
	}
	if (in.ID == "") == (in.Key == "") {
		return nil, automation.Invalid("id or key is required")
	}
	r := m.Searcher.o.Models.Reader()
	defer r.Close()
	item, err := m.base(r, workspaceID, in.Base)
	if err != nil {
		return nil, err
	}
	id := in.ID
	if in.Key != "" {
		if id, err = (projections.KBDocuments{}).ByIdentity(r, workspaceID, item.ID, kbdocument.Origin{Key: in.Key}.Identity()); err != nil {
			return nil, err
		}
	}
	d, ok, err := projections.KBDocuments{}.Get(r, workspaceID, item.ID, id, m.Searcher.o.Now())
	if err != nil || !ok {
		return nil, err
	}
	return toModuleDocument(in.Base, d), nil
}

// maxListed is how many documents a call lists.
const maxListed = 1000

func (m *Module) listDocuments(workspaceID string, params *value.Object) (any, error) {
	var in struct {
		Base    string         `json:"knowledgeBase"`
		Filters map[string]any `json:"filters"`
		Limit   *int           `json:"limit"`
	}
	if err := read(params, &in); err != nil {
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
	r := m.Searcher.o.Models.Reader()
	defer r.Close()
	item, err := m.base(r, workspaceID, in.Base)
	if err != nil {
		return nil, err
	}
	listed := []moduleDocument{}
	err = projections.KBDocuments{}.List(r, workspaceID, item.ID, m.Searcher.o.Now(), func(d projections.KBDocument) bool {
		if len(in.Filters) == 0 || filter.Matches(Fields(in.Base, d)) {
			listed = append(listed, toModuleDocument(in.Base, d))
		}
		return len(listed) < limit
	})
	return listed, err
}
