package knowledge

import (
	"context"
	"encoding/json"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/operation"
)

// Crawls records how sites of knowledge bases are read. Nodes with the role crawler read them.
type Crawls struct {
	Engine *commands.Engine
	Now    func() time.Time
}

// crawlRequest is what was asked, as the operation shows it.
type crawlRequest struct {
	KnowledgeBase    string `json:"knowledgeBase"`
	SourceID         string `json:"sourceId"`
	Trigger          string `json:"trigger"`
	Full             bool   `json:"full"`
	AllowMassRemoval bool   `json:"allowMassRemoval"`
}

// Start begins a crawl, unless the site is being read.
func (c Crawls) Start(ctx context.Context, workspaceID string, about operation.CrawlAbout) (operation.State, error) {
	request, err := json.Marshal(crawlRequest{about.KnowledgeBase, about.SourceID, about.Trigger, about.Full, about.AllowMassRemoval})
	if err != nil {
		return operation.State{}, err
	}
	op := newOperation(ctx, operation.Crawl, workspaceID, request, c.Now())
	state, err := c.Execute(ctx, workspaceID, op.ID, operation.StartCrawl{About: op, Crawl: about})
	if domain.CodeOf(err) == domain.CodeAlreadyExists {
		err = domain.Refuse(domain.CodeConflict, "the source %s is being read already", about.SourceID).Reason("already_running").With("sourceId", about.SourceID)
	}
	return state, err
}

// Execute executes a command on a crawl. A source is read by one crawl at a time.
func (c Crawls) Execute(ctx context.Context, workspaceID, id string, cmd operation.Command) (operation.State, error) {
	done, err := commands.ExecuteNaming(ctx, c.Engine, operation.Decider, operation.Stream(workspaceID, id), cmd, func(s operation.State) []commands.Name {
		if s.Crawl == nil || s.Status.Ended() {
			return nil
		}
		return []commands.Name{{Kind: "crawl", Value: workspaceID + "\x00" + s.Crawl.BaseID + "\x00" + s.Crawl.SourceID}}
	})
	return done.State, err
}

// newOperation returns what is known of an operation that begins. It changes no content, so it locks nothing.
func newOperation(ctx context.Context, kind, workspaceID string, request []byte, now time.Time) operation.About {
	asked := commands.RequestFrom(ctx)
	return operation.About{
		ID: "op_" + commands.NewID(ctx, 20), Kind: kind, WorkspaceID: workspaceID, Request: request, CreatedBy: asked.Meta.UserID,
		CreatedAt: now.UTC().Truncate(time.Millisecond), CorrelationID: asked.Meta.CorrelationID, Depth: asked.Meta.AutomationDepth, Under: true,
	}
}
