// Package agents has the handlers of messages to agents and of conversations.
package agents

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/streams/agents"
)

// Handlers answer requests to agents.
type Handlers struct {
	Agents *agents.Agents
}

// NewCaller returns who sends a request.
func NewCaller(r *http.Request) *agents.Caller {
	c := gateway.CallerFrom(r.Context())
	caller := &agents.Caller{Caller: handler.RunCaller(r), Depth: c.Depth, Meta: commands.RequestFrom(r.Context()).Meta}
	caller.Owner = agents.OwnerOf(caller.Actor)
	if c.KeyID != "" {
		caller.Owner = "key:" + c.KeyID
	}
	return caller
}

// find returns the agent that the path names, if the caller may execute it.
func (h *Handlers) find(r *http.Request) (agents.Ref, *agents.Caller, error) {
	caller := NewCaller(r)
	if caller.Rights == nil { // who has none acts as nobody, never as the workspace
		return agents.Ref{}, caller, gateway.MissingCredential()
	}
	ref, err := h.Agents.Find(handler.WorkspaceID(r), gateway.Var(r, "slug"), "execute", caller)
	return ref, caller, err
}

// sendRequest is the body of a message.
type sendRequest struct {
	Text           *string        `json:"text"`
	ConversationID string         `json:"conversationId"`
	Context        map[string]any `json:"context"`
	Draft          bool           `json:"draft"`
	Stream         *bool          `json:"stream"`
}

// defaultTimeout is how long a message is waited for.
const defaultTimeout = 50 * time.Second

// Send handles POST …/agents/{slug}/messages.
func (h *Handlers) Send(r *http.Request) (any, error) {
	var body sendRequest
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	if err := handler.RequireFields(handler.Text("text", body.Text)); err != nil {
		return nil, err
	}
	q := gateway.NewQuery(r)
	timeout := q.Seconds("timeout", defaultTimeout)
	if err := q.Err(); err != nil {
		return nil, err
	}
	ref, caller, err := h.find(r)
	if err != nil {
		return nil, err
	}
	found, err := h.Agents.Send(r.Context(), ref.WorkspaceID, ref.Slug, agents.Sending{
		Text: *body.Text, ConversationID: body.ConversationID, Context: body.Context, Draft: body.Draft,
	}, caller)
	if err != nil {
		return nil, err
	}
	return h.respond(r, ref, found, caller, wantsStream(r, body.Stream), timeout)
}

// wantsStream reports whether the answer is to come piece by piece.
func wantsStream(r *http.Request, asked *bool) bool {
	if asked != nil {
		return *asked
	}
	return handler.WantsStream(r)
}

// acceptedResponse is a message that is still being answered.
type acceptedResponse struct {
	agents.Message

	OperationID string `json:"operationId"`
}

// respond answers with a message: piece by piece, or once it has ended.
func (h *Handlers) respond(r *http.Request, ref agents.Ref, found agents.Found, caller *agents.Caller, stream bool, timeout time.Duration) (any, error) {
	wait := func(r *http.Request, timeout time.Duration) (any, error) {
		ctx, cancel := context.WithTimeout(r.Context(), handler.BoundWait(r, timeout))
		defer cancel()
		m, err := h.Agents.Wait(ctx, ref, found, caller)
		switch {
		case err != nil:
			return nil, err
		case m.Status == agents.Failed && m.Error != nil:
			return nil, m.Error.AsError()
		case m.Status == agents.Running:
			return gateway.Accepted(acceptedResponse{m, m.ID}), nil
		}
		return m, nil
	}
	if !stream {
		return wait(r, timeout)
	}
	return gateway.Stream{
		Serve: func(w http.ResponseWriter, r *http.Request) (any, error) { return nil, h.serve(w, r, ref, found, 0) },
		Later: func(r *http.Request) (any, error) { return wait(r, defaultTimeout) },
	}, nil
}

// pulse is the time between comments, so that nobody takes the connection for dead.
const pulse = 15 * time.Second

// serve writes the frames of a message.
func (h *Handlers) serve(w http.ResponseWriter, r *http.Request, ref agents.Ref, found agents.Found, after int) error {
	handler.SetStreamHeaders(w.Header())
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	out := handler.NewStreamWriter(w, r)
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	frames := make(chan agents.Frame)
	ended := make(chan error, 1)
	go func() { // ends with the context
		ended <- h.Agents.Follow(ctx, ref.WorkspaceID, found, after, func(f agents.Frame) error {
			select {
			case frames <- f:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	alive := time.NewTicker(pulse)
	defer alive.Stop()
	for {
		var err error
		select {
		case f := <-frames:
			err = out.Send([]byte("id: " + strconv.Itoa(f.ID) + "\nevent: " + f.Event + "\ndata: " + string(f.Data) + "\n\n"))
		case <-alive.C:
			err = out.Send([]byte(": still running\n\n"))
		case err := <-ended:
			if err != nil {
				return err
			}
			return out.SetDeadline(time.Time{}) // the connection may serve more
		}
		if err != nil {
			return err
		}
	}
}

// findMessage returns the message that the path names, of a conversation of the caller.
func (h *Handlers) findMessage(r *http.Request) (agents.Ref, agents.Found, *agents.Caller, error) {
	ref, caller, err := h.find(r)
	if err != nil {
		return ref, agents.Found{}, caller, err
	}
	found, err := h.Agents.Message(r.Context(), ref, gateway.Var(r, "id"), caller)
	return ref, found, caller, err
}

// GetMessage handles GET …/messages/{id}.
func (h *Handlers) GetMessage(r *http.Request) (any, error) {
	_, found, _, err := h.findMessage(r)
	if err != nil {
		return nil, err
	}
	return found.Message(), nil
}

// StreamMessage handles GET …/messages/{id}/stream.
func (h *Handlers) StreamMessage(r *http.Request) (any, error) {
	after := 0
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		var err error
		if after, err = strconv.Atoi(last); err != nil || after < 0 {
			return nil, domain.Refuse(domain.CodeInvalidParameter, "Last-Event-ID was not sent by this stream: leave it out to start at the beginning").With("parameter", "Last-Event-ID")
		}
	}
	ref, found, _, err := h.findMessage(r)
	if err != nil {
		return nil, err
	}
	return gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
		return nil, h.serve(w, r, ref, found, after)
	}}, nil
}

// CancelMessage handles POST …/messages/{id}/cancel.
func (h *Handlers) CancelMessage(r *http.Request) (any, error) {
	ref, found, caller, err := h.findMessage(r)
	if err != nil {
		return nil, err
	}
	return h.Agents.CancelMessage(r.Context(), ref, found, caller)
}

// approveRequest is the body of an approval.
type approveRequest struct {
	CallID   *string `json:"callId"`
	Approved *bool   `json:"approved"`
	Reason   string  `json:"reason"`
}

// Approve handles POST …/messages/{id}/approve.
func (h *Handlers) Approve(r *http.Request) (any, error) {
	var body approveRequest
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	if err := handler.RequireFields(handler.Text("callId", body.CallID)); err != nil {
		return nil, err
	}
	if body.Approved == nil {
		return nil, handler.MissingField("approved")
	}
	ref, found, caller, err := h.findMessage(r)
	if err != nil {
		return nil, err
	}
	found, err = h.Agents.Approve(r.Context(), ref, found, agents.Approval{CallID: *body.CallID, Approved: *body.Approved, Reason: body.Reason}, caller)
	if err != nil {
		return nil, err
	}
	return h.respond(r, ref, found, caller, wantsStream(r, nil), defaultTimeout)
}

// ListConversations handles GET …/conversations.
func (h *Handlers) ListConversations(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	all, search, page := q.Flag("all"), strings.ToLower(q.Text("search")), q.Page(20, 100)
	if err := q.Err(); err != nil {
		return nil, err
	}
	ref, caller, err := h.find(r)
	if err != nil {
		return nil, err
	}
	if all {
		if ref, err = h.Agents.Find(ref.WorkspaceID, ref.Slug, "manage_permissions", caller); err != nil {
			return nil, err
		}
	}
	items, total, err := h.Agents.Conversations(r.Context(), ref, agents.ConversationQuery{All: all, Search: search, Offset: page.Offset(), Limit: page.Limit}, caller)
	if err != nil {
		return nil, err
	}
	return gateway.List(r, items, total, page), nil
}

// conversationResponse is a conversation with its messages.
type conversationResponse struct {
	agents.Listed

	Messages []agents.Message `json:"messages"`
}

// GetConversation handles GET …/conversations/{id}.
func (h *Handlers) GetConversation(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	page := q.Page(100, 1000)
	if err := q.Err(); err != nil {
		return nil, err
	}
	ref, caller, err := h.find(r)
	if err != nil {
		return nil, err
	}
	c, messages, err := h.Agents.Conversation(r.Context(), ref, gateway.Var(r, "id"), caller)
	if err != nil {
		return nil, err
	}
	return conversationResponse{c, handler.NonNil(gateway.PageOf(messages, page))}, nil
}

// renameRequest is the body of a change of a conversation.
type renameRequest struct {
	Title *string `json:"title"`
}

// maxTitle is the length of a title, in characters.
const maxTitle = 200

// RenameConversation handles PATCH …/conversations/{id}.
func (h *Handlers) RenameConversation(r *http.Request) (any, error) {
	var body renameRequest
	if err := gateway.Decode(r, &body); err != nil {
		return nil, err
	}
	if err := handler.RequireFields(handler.Text("title", body.Title)); err != nil {
		return nil, err
	}
	title := strings.TrimSpace(*body.Title)
	if n := len([]rune(title)); n == 0 || n > maxTitle {
		return nil, handler.RefuseField("title", "must be 1 to "+strconv.Itoa(maxTitle)+" characters")
	}
	ref, caller, err := h.find(r)
	if err != nil {
		return nil, err
	}
	return h.Agents.Rename(r.Context(), ref, gateway.Var(r, "id"), title, caller)
}

// DeleteConversation handles DELETE …/conversations/{id}.
func (h *Handlers) DeleteConversation(r *http.Request) (any, error) {
	ref, caller, err := h.find(r)
	if err != nil {
		return nil, err
	}
	id := gateway.Var(r, "id")
	if err := h.Agents.Delete(r.Context(), ref, id, caller); err != nil {
		return nil, err
	}
	return handler.IDResponse(id), nil
}
