package knowledge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/knowledge"
	"svc/domain/operation"
)

// Reindexes records how documents of knowledge bases are processed again. Nodes with the role knowledge do it.
type Reindexes struct {
	Engine *commands.Engine
	Now    func() time.Time
}

// reindexRequest is what was asked, as the operation shows it.
type reindexRequest struct {
	KnowledgeBase string         `json:"knowledgeBase"`
	Extract       bool           `json:"extract"`
	Filters       map[string]any `json:"filters,omitempty"`
}

// Start begins to process documents of a base again. When that is under way already it is refused with the id of the
// operation.
func (x Reindexes) Start(ctx context.Context, workspaceID string, about operation.ReindexAbout) (operation.State, error) {
	request, err := json.Marshal(reindexRequest{about.KnowledgeBase, about.Extract, about.Filters})
	if err != nil {
		return operation.State{}, err
	}
	about.Rules = knowledge.ChunkingVersion
	op := newOperation(ctx, operation.Reindex, workspaceID, request, x.Now())
	state, err := x.Execute(ctx, workspaceID, op.ID, operation.StartReindex{About: op, Reindex: about})
	if domain.CodeOf(err) == domain.CodeAlreadyExists {
		owner, _ := commands.NameOwner(ctx, x.Engine, reindexName(workspaceID, about.BaseID))
		err = domain.Refuse(domain.CodeConflict, "the documents of %s are being processed again already", about.KnowledgeBase).
			Reason("already_running").With("operationId", owner[strings.LastIndexByte(owner, '/')+1:])
	}
	return state, err
}

// Update is Start after a change of the settings of a base: documents that were processed with other settings are
// processed again. An operation that is under way does that too: it is the one that is returned.
func (x Reindexes) Update(ctx context.Context, workspaceID string, about operation.ReindexAbout) (id string, err error) {
	about.Outdated = true
	op, err := x.Start(ctx, workspaceID, about)
	if refusal, ok := errors.AsType[*domain.Error](err); ok && refusal.Details["reason"] == "already_running" {
		id, _ = refusal.Details["operationId"].(string)
		return id, nil
	}
	return op.ID, err
}

// Execute executes a command on the operation. A base is processed again by one operation at a time.
func (x Reindexes) Execute(ctx context.Context, workspaceID, id string, cmd operation.Command) (operation.State, error) {
	done, err := commands.ExecuteNaming(ctx, x.Engine, operation.Decider, operation.Stream(workspaceID, id), cmd, func(s operation.State) []commands.Name {
		if s.Reindex == nil || s.Status.Ended() {
			return nil
		}
		return []commands.Name{reindexName(workspaceID, s.Reindex.BaseID)}
	})
	return done.State, err
}

func reindexName(workspaceID, baseID string) commands.Name {
	return commands.Name{Kind: "reindex", Value: workspaceID + "\x00" + baseID}
}
