// Package llm has the handlers of the language models that a workspace may use.
package llm

import (
	"context"
	"errors"
	"net/http"
	"time"

	"svc/commands/llm"
	"svc/domain"
	"svc/domain/activity"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// Handlers answer requests about models.
type Handlers struct {
	Models Models
	// Used records what a test took. It is Used of a *knowledge.Recorder.
	Used func(ctx context.Context, workspaceID string, u activity.Usage)
	Now  func() time.Time
}

// Models finds and calls models. It is a *llm.Models.
type Models interface {
	List(ctx context.Context, workspaceID string) ([]llm.Model, error)
	Resolve(ctx context.Context, workspaceID, name string, kind llm.Kind) (llm.Model, error)
	Chat(ctx context.Context, r llm.ChatRequest, onDelta func(llm.Delta) error) (llm.ChatReply, error)
	Embed(ctx context.Context, r llm.EmbedRequest) (llm.Embeddings, error)
}

// List handles GET …/models.
func (h *Handlers) List(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	page := q.Page(100, 1000)
	if err := q.Err(); err != nil {
		return nil, err
	}
	list, err := h.Models.List(r.Context(), handler.WorkspaceID(r))
	if err != nil {
		return nil, err
	}
	return gateway.ListOf(r, list, page), nil
}

// testResult is what became of a test.
type testResult struct {
	OK         bool       `json:"ok"`
	Latency    int64      `json:"latency"` // milliseconds
	Dimensions int        `json:"dimensions,omitempty"`
	Error      *testFault `json:"error,omitempty"`
}

type testFault struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// testTokens is how long the answer of a test may be.
const testTokens = 16

// Test handles POST …/models/test: it calls a model once. A model that cannot be used is no fault of the request.
func (h *Handlers) Test(r *http.Request) (any, error) {
	var in struct {
		Model *string `json:"model"`
	}
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	if in.Model == nil || *in.Model == "" {
		return nil, domain.Refuse(domain.CodeMissingParameter, "model is required").With("errors", []domain.FieldError{{Field: "model", Message: "is required"}})
	}
	ctx, workspaceID := r.Context(), handler.WorkspaceID(r)
	model, err := h.Models.Resolve(ctx, workspaceID, *in.Model, llm.EmbeddingKind)
	if domain.CodeOf(err) == domain.CodeValidation {
		model, err = h.Models.Resolve(ctx, workspaceID, *in.Model, llm.ChatKind)
	}
	if err != nil {
		return nil, err
	}
	result, began := testResult{OK: true}, h.Now()
	used := map[string]int{}
	if model.Kind == llm.EmbeddingKind {
		var made llm.Embeddings
		if made, err = h.Models.Embed(ctx, llm.EmbedRequest{WorkspaceID: workspaceID, Model: model.Name(), Texts: []string{"test"}}); err == nil {
			result.Dimensions = len(made.Vectors[0])
		}
		used[activity.EmbeddingTokens] = made.Tokens
	} else {
		var reply llm.ChatReply
		reply, err = h.Models.Chat(ctx, llm.ChatRequest{
			WorkspaceID: workspaceID, Model: model.Name(), MaxTokens: testTokens, Messages: []llm.Message{{Role: "user", Content: "Answer with the word ok."}},
		}, nil)
		used[activity.PromptTokens], used[activity.CompletionTokens] = reply.Usage.PromptTokens, reply.Usage.CompletionTokens
	}
	h.Used(ctx, workspaceID, activity.Usage{Model: model.Name(), Metrics: activity.Increments(used)})
	result.Latency = h.Now().Sub(began).Milliseconds()
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		reason, _ := refusal.Details["reason"].(string)
		result.OK, result.Error, err = false, &testFault{Reason: reason, Message: refusal.Message}, nil
	}
	return result, err
}
