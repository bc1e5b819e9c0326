package documents

import (
	"net/http"

	"svc/commands/content"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/agent"
	"svc/domain/document"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// Agents holds the agents of a workspace.
var Agents = Folder{
	name: "agents", subject: "agents", noun: "agent", kind: document.Agent,
	readOnly: []string{"public", "published", "warnings"}, required: []string{"name", "instructions"},
	check:           checkAccess,
	deletedResponse: func(item projections.Item) any { return map[string]string{"slug": item.Slug()} },
}

// checkAccess refuses an agent that shows its callers passages of documents which who saves it may not read.
func checkAccess(rights *access.Rights, workspaceID string, doc *document.Map) error {
	list, _ := doc.Get("knowledge")
	bases, _ := list.([]any)
	for _, item := range bases {
		entry, _ := item.(*document.Map)
		if base := entry.Text("base"); entry.Text("access") == agent.AsAgent && !mayReadAll(rights, workspaceID, base) {
			return domain.Refuse(domain.CodePermissionDenied, "access agent needs the right to read all documents of %s", base).
				With("action", "read").With("subject", "documents").With("knowledgeBase", base)
		}
	}
	return nil
}

// publicationView says what of an agent is published.
type publicationView struct {
	Number  int    `json:"number"`
	At      string `json:"at"`
	By      string `json:"by"`
	Current bool   `json:"current"` // the draft is what is published
}

// addPublication adds what of an agent is published; of one that is not, nothing.
func addPublication(rd projections.Reader, workspaceID string, item projections.Item, doc *document.Map) error {
	current, _ := doc.Get("published")
	doc.Delete("published")
	p, err := projections.Content{}.Publication(rd, workspaceID, item.ID)
	if err != nil || p.Hash == "" {
		return err
	}
	by, err := projections.History{}.Audit(rd, workspaceID, p.Seq)
	doc.Set("published", document.ValueOf(publicationView{p.Number, by.At, by.By, current == true}))
	return err
}

// filterPublished keeps the agents that are published, or those that are not.
func filterPublished(rd projections.Reader, workspaceID string, items []projections.Item, published bool) (found []projections.Item, err error) {
	for _, item := range items {
		p, err := projections.Content{}.Publication(rd, workspaceID, item.ID)
		if err != nil {
			return nil, err
		}
		if (p.Hash != "") == published {
			found = append(found, item)
		}
	}
	return found, nil
}

// PublishAgent handles POST …/agents/{slug}/publish.
func (h *Handlers) PublishAgent(r *http.Request) (any, error) { return h.publishAgent(r, true) }

// UnpublishAgent handles POST …/agents/{slug}/unpublish.
func (h *Handlers) UnpublishAgent(r *http.Request) (any, error) { return h.publishAgent(r, false) }

func (h *Handlers) publishAgent(r *http.Request, publish bool) (any, error) {
	slug, id := gateway.Var(r, "slug"), handler.WorkspaceID(r)
	item, err := Agents.findCurrent(h, r, slug, "update")
	if err != nil {
		return nil, err
	}
	if publish {
		doc, err := h.Library.Document(r.Context(), id, content.Ref{Hash: item.Hash, Apart: item.Apart})
		if err != nil {
			return nil, err
		}
		if err := checkAccess(gateway.GrantFrom(r.Context()).Rights, id, doc); err != nil {
			return nil, err
		}
	}
	saved, err := h.Content.PublishAgent(r.Context(), id, slug, handler.IfMatch(r), publish)
	if err != nil {
		return nil, err
	}
	return Agents.savedResponse(h, r, saved, handler.RequestDocument{})
}
