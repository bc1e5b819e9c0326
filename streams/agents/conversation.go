package agents

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/knowledge"
	"svc/commands/llm"
	"svc/domain"
	"svc/eventstore"
)

// Conversation is a conversation of somebody with an agent.
type Conversation struct {
	ID        string    `json:"id"`
	AgentID   string    `json:"agentId"`
	Owner     string    `json:"owner"`
	Title     string    `json:"title"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	Messages  []Message `json:"messages"`
	Work      *work     `json:"work,omitempty"` // on the message that is being answered

	seq   uint64 // of what is stored
	parts string
}

// Message is a message of a conversation.
type Message struct {
	ID             string               `json:"id"`
	ConversationID string               `json:"conversationId"`
	Role           string               `json:"role"` // user or assistant
	Status         Status               `json:"status"`
	Text           string               `json:"text"`
	Citations      []knowledge.Citation `json:"citations"`
	ToolCalls      []ToolCall           `json:"toolCalls"`
	Approvals      []WantedApproval     `json:"approvals,omitempty"` // while it waits for them
	Usage          llm.Usage            `json:"usage"`
	Model          string               `json:"model,omitempty"`
	Steps          int                  `json:"steps"`
	FinishReason   string               `json:"finishReason,omitempty"` // stop, length, content_filter or limit
	Error          *Fault               `json:"error,omitempty"`
	CreatedAt      string               `json:"createdAt"`
	EndedAt        string               `json:"endedAt,omitempty"`
}

// Status is what became of a message.
type Status string

// The states of a message.
const (
	Running         Status = "running"
	WaitingApproval Status = "waiting_approval"
	Completed       Status = "completed"
	Failed          Status = "failed"
	Cancelled       Status = "cancelled"
)

// HasEnded reports whether nothing more will happen to a message.
func (s Status) HasEnded() bool { return s == Completed || s == Failed || s == Cancelled }

// ToolCall is a call of a function by the model.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a text when the model wrote no JSON
	Output    json.RawMessage `json:"output,omitempty"`
	Error     string          `json:"error,omitempty"`
	Duration  int64           `json:"duration"` // milliseconds
}

// WantedApproval is a call of a function that a person has to approve.
type WantedApproval struct {
	CallID    string          `json:"callId"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Until     string          `json:"until"` // then it counts as refused
}

// Fault is why a message failed.
type Fault struct {
	Error   domain.Code    `json:"error"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// AsError returns the fault as it is answered to a request.
func (f *Fault) AsError() error {
	return &domain.Error{Code: f.Error, Message: f.Message, Details: f.Details}
}

func faultOf(err error) *Fault {
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		return &Fault{refusal.Code, refusal.Message, refusal.Details}
	}
	return &Fault{Error: domain.CodeInternal, Message: "the message could not be answered"}
}

// work is what is known of a message that is being answered. Another node can go on with it.
type work struct {
	MessageID string        `json:"messageId"`
	Process   string        `json:"process"` // that works on it
	Request   StoredRequest `json:"request"`
	Steps     []llm.Message `json:"steps,omitempty"` // what the model said since the message, and the results of its calls
	Calls     []pendingCall `json:"calls,omitempty"` // of the last step, without results yet
	Sources   []Source      `json:"sources,omitempty"`
	Shown     int           `json:"shown,omitempty"` // how many of them stand before the message
	Made      int           `json:"made,omitempty"`  // calls of functions
	Frames    int           `json:"frames,omitempty"`
	Until     *time.Time    `json:"until,omitempty"` // it waits for an approval so long
}

// StoredRequest is what a message was sent with, as far as it outlives the request.
type StoredRequest struct {
	Draft   bool           `json:"draft,omitempty"`
	Context map[string]any `json:"context,omitempty"`
	Actor   domain.Actor   `json:"actor"`
	Email   string         `json:"email,omitempty"`
	// OfWorkspace says that the workspace itself acts: an automation sent the message.
	OfWorkspace bool        `json:"ofWorkspace,omitempty"`
	Depth       int         `json:"depth"`
	Meta        domain.Meta `json:"meta"`
}

// pendingCall is a call of a function that has no result yet.
type pendingCall struct {
	llm.ToolCall
	Started  bool   `json:"started,omitempty"`
	Guarded  bool   `json:"guarded,omitempty"` // a person must approve it, whatever the agent says by then
	Approved *bool  `json:"approved,omitempty"`
	Reason   string `json:"reason,omitempty"` // of a refusal
}

// Source is a passage that the model was shown.
type Source struct {
	Document knowledge.SearchDocument `json:"document"`
	Passage  knowledge.SearchPassage  `json:"passage"`
}

// message returns the message with an id.
func (c *Conversation) message(id string) *Message {
	if i := slices.IndexFunc(c.Messages, func(m Message) bool { return m.ID == id }); i >= 0 {
		return &c.Messages[i]
	}
	return nil
}

// Data stores conversations. It is a *jetstream.Data, which documents these methods.
type Data interface {
	Put(ctx context.Context, id domain.StreamID, name string, body []byte, stored func(seq uint64, parts string)) error
	Fold(ctx context.Context, id domain.StreamID, name string, upTo uint64, replaced []string, body []byte) (seq uint64, parts string, err error)
	Since(ctx context.Context, id domain.StreamID, after uint64, visit func(seq uint64, snapshot bool, parts string, body []byte) error) error
	Drop(ctx context.Context, id domain.StreamID, below uint64) error
	IDs(ctx context.Context, workspaceID, kind string) ([]string, error)
	Sweep(ctx context.Context, workspaceID, kind string, dry bool, over func(start []byte) bool) (count, bytes uint64, err error)
	SweepEach(ctx context.Context, kind string, over func(start []byte) bool, erased func(ctx context.Context, workspaceID, id string) error) error
}

// The kinds of stored data.
const (
	conversationKind = "conversations"
	messageKind      = "messages" // where a message is, and its frames
)

// store stores conversations, sealed with the key of their workspace. Every stored body begins with a time, from which
// on it is erased after a while.
type store struct {
	data  Data
	vault commands.Vault
	now   func() time.Time
	newID func() string
}

// address is where a conversation is stored: by agent and owner, so that those of somebody are found without a look into
// any.
func address(agentID, owner, conversationID string) string {
	return ownerPrefix(agentID, owner) + strings.TrimPrefix(conversationID, "cnv_")
}

func ownerPrefix(agentID, owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return agentID + "-" + hex.EncodeToString(sum[:10]) + "-"
}

func (c *Conversation) address() string { return address(c.AgentID, c.Owner, c.ID) }

func conversationStream(workspaceID, address string) domain.StreamID {
	return domain.StreamID{Scope: workspaceID, Kind: conversationKind, ID: address}
}

// errNoConversation says that there is no such conversation for the caller.
var errNoConversation = errors.New("agents: no such conversation")

// load returns the conversation at an address.
func (s *store) load(ctx context.Context, workspaceID, address string) (*Conversation, error) {
	var c *Conversation
	err := s.data.Since(ctx, conversationStream(workspaceID, address), 0, func(seq uint64, _ bool, parts string, body []byte) error {
		plain, err := s.open(ctx, workspaceID, body, address)
		if err != nil {
			return err
		}
		c = &Conversation{seq: seq, parts: parts}
		return json.Unmarshal(plain, c)
	})
	if err != nil {
		return nil, fmt.Errorf("read a conversation: %w", err)
	}
	if c == nil {
		return nil, errNoConversation
	}
	return c, nil
}

// save stores a conversation if nobody has changed it since it was loaded; else it fails with eventstore.ErrConflict.
func (s *store) save(ctx context.Context, workspaceID string, c *Conversation) error {
	plain, err := json.Marshal(c)
	if err != nil {
		return err
	}
	body, err := s.seal(ctx, workspaceID, c.UpdatedAt, plain, c.address())
	if err != nil {
		return err
	}
	var replaced []string
	if c.parts != "" {
		replaced = []string{c.parts}
	}
	seq, parts, err := s.data.Fold(ctx, conversationStream(workspaceID, c.address()), s.newID(), c.seq, replaced, body)
	if err != nil {
		return fmt.Errorf("store a conversation: %w", err)
	}
	c.seq, c.parts = seq, parts
	return nil
}

// change changes a stored conversation, whoever changes it at the same time.
func (s *store) change(ctx context.Context, workspaceID, address string, edit func(*Conversation) error) (*Conversation, error) {
	for {
		c, err := s.load(ctx, workspaceID, address)
		if err != nil {
			return nil, err
		}
		if err := edit(c); err != nil {
			return nil, err
		}
		if err := s.save(ctx, workspaceID, c); !errors.Is(err, eventstore.ErrConflict) {
			return c, err
		}
	}
}

// seal returns a body as it is stored.
func (s *store) seal(ctx context.Context, workspaceID string, at time.Time, plain []byte, purpose string) ([]byte, error) {
	sealed, err := s.vault.Seal(ctx, workspaceID, plain, "conversations/"+purpose)
	if err != nil {
		return nil, err
	}
	return append(binary.BigEndian.AppendUint64(nil, uint64(at.UnixMilli())), sealed...), nil
}

var errDamaged = errors.New("agents: a stored conversation is damaged")

func (s *store) open(ctx context.Context, workspaceID string, body []byte, purpose string) ([]byte, error) {
	if len(body) < 8 {
		return nil, errDamaged
	}
	return s.vault.Open(ctx, workspaceID, body[8:], "conversations/"+purpose)
}

// timeOf returns the time that a stored body begins with.
func timeOf(body []byte) time.Time {
	if len(body) < 8 {
		return time.Time{}
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(body)))
}

// framesKept is how long the frames of a message can be read again.
const framesKept = time.Hour

// sweep erases conversations whose last message is older than a while; 0: none. Frames are erased after an hour.
func (s *store) sweep(ctx context.Context, retention time.Duration) error {
	now := s.now()
	var failed error
	if retention > 0 {
		failed = s.data.SweepEach(ctx, conversationKind, func(start []byte) bool { return now.Sub(timeOf(start)) > retention }, s.dropErased)
	}
	_, _, err := s.data.Sweep(ctx, "", messageKind, false, func(start []byte) bool { return now.After(timeOf(start)) })
	return errors.Join(failed, err)
}

func messageStream(workspaceID, messageID string) domain.StreamID {
	return domain.StreamID{Scope: workspaceID, Kind: messageKind, ID: messageID}
}

// forever is when what is kept for ever expires.
var forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// entry is what is stored of a message besides its conversation: where that is, or frames.
type entry struct {
	Address string  `json:"address,omitempty"`
	Frames  []Frame `json:"frames,omitempty"`
}

// addEntry stores an entry of a message until it expires.
func (s *store) addEntry(ctx context.Context, workspaceID, messageID string, expires time.Time, e entry) error {
	plain, err := json.Marshal(e)
	if err != nil {
		return err
	}
	body, err := s.seal(ctx, workspaceID, expires, plain, messageID)
	if err != nil {
		return err
	}
	return s.data.Put(ctx, messageStream(workspaceID, messageID), s.newID(), body, func(uint64, string) {})
}

// entries returns what is stored of a message after a sequence, and the sequence of the last.
func (s *store) entries(ctx context.Context, workspaceID, messageID string, after uint64) (address string, frames []Frame, last uint64, err error) {
	last = after
	err = s.data.Since(ctx, messageStream(workspaceID, messageID), after, func(seq uint64, _ bool, _ string, body []byte) error {
		plain, err := s.open(ctx, workspaceID, body, messageID)
		if err != nil {
			return err
		}
		var e entry
		if err := json.Unmarshal(plain, &e); err != nil {
			return err
		}
		last = seq
		if e.Address != "" {
			address = e.Address
		}
		frames = append(frames, e.Frames...)
		return nil
	})
	return address, frames, last, err
}
