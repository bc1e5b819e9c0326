// Package agents has language models answer messages to agents: conversations, the steps of a model and the functions
// that it calls, and the streams that tell of them.
//
// A conversation is stored with everything that is needed to go on with a message: any node does so when a person has
// approved a call, or when the node that worked on it is gone.
package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"svc/commands"
	"svc/commands/content"
	"svc/commands/knowledge"
	"svc/commands/llm"
	mcpclient "svc/commands/mcp"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/activity"
	"svc/domain/agent"
	"svc/domain/automation/redact"
	"svc/domain/document"
	"svc/eventstore"
	"svc/projections"
)

// Options configure Agents. All fields are required.
type Options struct {
	ReadModel projections.Viewer
	// Document returns a stored document. It is Document of a *library.Library.
	Document func(ctx context.Context, workspaceID string, ref content.Ref) (*document.Map, error)
	Models   ChatModels
	Search   func(ctx context.Context, in knowledge.SearchRequest) (knowledge.SearchAnswer, error)
	// Searched records a search. It is Searched of a *knowledge.Recorder.
	Searched func(ctx context.Context, in knowledge.SearchRequest, found knowledge.SearchAnswer)
	Programs interface {
		ProgramSet(ctx context.Context, workspaceID string) (*programs.ProgramSet, error)
	}
	Runtime interface {
		Launch(s runtime.Start) *runtime.Handle
		CurrentProcess() string
		// Cancel ends runs on this node.
		Cancel(workspaceID, correlationID string) int
	}
	// Servers calls MCP servers. It is a *mcp.Client.
	Servers interface {
		Connect(ctx context.Context, workspaceID string, server agent.Server) (*mcpclient.Session, error)
	}
	// Redactor returns what removes the secrets of a workspace.
	Redactor func(ctx context.Context, workspaceID string) (*redact.Set, error)
	// Identify returns who acts, with their rights of now.
	Identify func(ctx context.Context, workspaceID string, actor domain.Actor) (runtime.Caller, error)
	// Record appends an event to the activity of a workspace.
	Record func(ctx context.Context, workspaceID string, ev domain.Event) error
	// Used records what a message took. It is Used of a *knowledge.Recorder.
	Used  func(ctx context.Context, workspaceID string, u activity.Usage)
	Data  Data
	Vault commands.Vault
	// Working has the messages that are worked on, so that another node finds those of one that is gone.
	Working eventstore.Bucket
	// IsGone reports whether a process has ended.
	IsGone func(ctx context.Context, process string) (bool, error)
	Cancel func(workspaceID, messageID string) error // on all nodes
	// WasCancelled reports whether Cancel was called for a message after a time.
	WasCancelled func(ctx context.Context, workspaceID, messageID string, after time.Time) (bool, error)
	Settings     func() Settings
	Now          func() time.Time
	NewID        func() string
	Log          *slog.Logger
}

// ChatModels answers. It is a *llm.Models.
type ChatModels interface {
	Resolve(ctx context.Context, workspaceID, name string, kind llm.Kind) (llm.Model, error)
	Chat(ctx context.Context, r llm.ChatRequest, onDelta func(llm.Delta) error) (llm.ChatReply, error)
}

// Settings are the live settings.
type Settings struct {
	MaxSteps  int // ceilings of the limits of agents
	MaxTime   time.Duration
	Retention time.Duration // of a conversation after its last message; 0: for ever
}

// Agents answers messages. All methods are safe for concurrent use.
type Agents struct {
	o     Options
	store *store

	mu      sync.Mutex
	running map[string]*run // by message
	closing bool
	all     sync.WaitGroup
}

// New returns Agents.
func New(o Options) (*Agents, error) {
	if o.ReadModel == nil || o.Document == nil || o.Models == nil || o.Search == nil || o.Searched == nil || o.Programs == nil || o.Runtime == nil || o.Servers == nil || o.Redactor == nil || o.Identify == nil ||
		o.Record == nil || o.Used == nil || o.Data == nil || o.Vault == nil || o.Working == nil || o.IsGone == nil || o.Cancel == nil || o.WasCancelled == nil || o.Settings == nil || o.Now == nil || o.NewID == nil || o.Log == nil {
		return nil, errors.New("agents: Options lack a required field")
	}
	return &Agents{o: o, store: &store{o.Data, o.Vault, o.Now, o.NewID}, running: map[string]*run{}}, nil
}

// Caller is somebody who talks to agents.
type Caller struct {
	runtime.Caller

	// Owner is whose conversations are theirs: a user, an API key or a session.
	Owner string
	Depth int // of the automation that calls; 0: none does
	Meta  domain.Meta
}

// OwnerOf returns whose conversations those of somebody are.
func OwnerOf(actor domain.Actor) string {
	switch {
	case actor.KeyID != "":
		return "key:" + actor.KeyID
	case actor.UserID != "" && actor.UserID != actor.SessionID:
		return "user:" + actor.UserID
	}
	return "session:" + actor.SessionID
}

// may reports whether the caller may do something to an agent.
func (c *Caller) may(action string, object access.Object) bool {
	return c.Rights == nil || c.Rights.Allows(action, subject, object)
}

const subject = "agents"

// Ref is an agent that was found.
type Ref struct {
	WorkspaceID string
	ID, Slug    string
	item        projections.Item
	object      access.Object
}

// Find returns the agent with a slug, if the caller may do something to it.
func (a *Agents) Find(workspaceID, slug, action string, caller *Caller) (Ref, error) {
	rd := a.o.ReadModel.Reader()
	defer rd.Close()
	item, ok, err := projections.Content{}.Get(rd, workspaceID, "agents/"+slug)
	if err != nil {
		return Ref{}, err
	}
	if !ok {
		if caller.Rights != nil && !caller.Rights.Could(action, subject) {
			return Ref{}, caller.Rights.Refusal(action, subject)
		}
		return Ref{}, noAgent(slug)
	}
	ref := Ref{workspaceID, item.ID, slug, item, projections.Content{}.SharedObject(rd, workspaceID, item)}
	switch {
	case caller.may(action, ref.object):
		return ref, nil
	case caller.may("execute", ref.object): // they know that it is there
		return Ref{}, lacks(action)
	}
	return Ref{}, caller.Rights.Check(action, subject, ref.object)
}

// Offered is a published agent with a label, as it was published.
type Offered struct {
	Slug, Name, Description string
}

// Offered returns the published agents with a label that the caller may execute; with a slug, only the one with it. Those
// that are disabled are not among them.
func (a *Agents) Offered(workspaceID, label, slug string, caller *Caller) (found []Offered, err error) {
	rd := a.o.ReadModel.Reader()
	defer rd.Close()
	offer := func(item projections.Item) error {
		published, err := projections.Content{}.Publication(rd, workspaceID, item.ID)
		if err != nil || published.Hash == "" {
			return err
		}
		meta, err := projections.Content{}.Meta(rd, workspaceID, published.Hash)
		if err != nil {
			return err
		}
		labels, _ := meta.About.Get("labels")
		list, _ := labels.([]any)
		disabled, err := isDisabled(rd, workspaceID, item)
		if err != nil {
			return err
		}
		if !slices.Contains(list, any(label)) || disabled || !caller.may("execute", projections.Content{}.SharedObject(rd, workspaceID, item)) {
			return nil
		}
		name, description := localized(meta.About, "name"), localized(meta.About, "description")
		found = append(found, Offered{item.Slug(), name, description})
		return nil
	}
	if slug != "" {
		item, ok, err := projections.Content{}.Get(rd, workspaceID, "agents/"+slug)
		if err == nil && ok {
			err = offer(item)
		}
		return found, err
	}
	err = projections.Content{}.List(rd, workspaceID, "agents/", func(item projections.Item) (bool, error) { return true, offer(item) })
	return found, err
}

// isDisabled reports whether only those who may change an agent can execute it. That is said by its draft, whatever is
// published.
func isDisabled(rd projections.Reader, workspaceID string, item projections.Item) (bool, error) {
	meta, err := projections.Content{}.Meta(rd, workspaceID, item.Hash)
	if err != nil {
		return false, err
	}
	disabled, _ := meta.About.Get("disabled")
	return disabled == true, nil
}

// localized returns a text of a document, or the first of texts by language.
func localized(doc *document.Map, key string) string {
	v, _ := doc.Get(key)
	text, _ := document.AsLocalized(v)
	return text.First()
}

func lacks(action string) error {
	return domain.Refuse(domain.CodePermissionDenied, "you lack permission to %s %s", action, subject).With("action", action).With("subject", subject)
}

func noAgent(slug string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such agent").With("resource", "agent").With("id", domain.Shorten(slug, 100))
}

// read returns the agent as the caller gets it: as it is published, or its draft.
func (a *Agents) read(ctx context.Context, ref Ref, draft bool, caller *Caller) (agent.Agent, error) {
	source, err := a.sourceOf(ref, draft, caller.may("update", ref.object))
	if err != nil {
		return agent.Agent{}, err
	}
	doc, err := a.o.Document(ctx, ref.WorkspaceID, source)
	if err != nil {
		return agent.Agent{}, err
	}
	parsed, err := agent.Parse(doc)
	if err != nil {
		return agent.Agent{}, err
	}
	parsed.Slug = ref.Slug // it may have been renamed since
	return parsed, nil
}

// sourceOf returns the document that a caller gets of an agent.
func (a *Agents) sourceOf(ref Ref, draft, mayUpdate bool) (source content.Ref, err error) {
	rd := a.o.ReadModel.Reader()
	defer rd.Close()
	if !mayUpdate {
		disabled, err := isDisabled(rd, ref.WorkspaceID, ref.item)
		switch {
		case err != nil:
			return source, err
		case disabled:
			return source, noAgent(ref.Slug)
		case draft:
			return source, lacks("update")
		}
	}
	if draft {
		return content.Ref{Hash: ref.item.Hash}, nil
	}
	published, err := projections.Content{}.Publication(rd, ref.WorkspaceID, ref.ID)
	switch {
	case err != nil:
		return source, err
	case published.Hash != "":
		return content.Ref{Hash: published.Hash}, nil
	case !mayUpdate:
		return source, domain.Refuse(domain.CodeConflict, "the agent is not published").Reason("not_published").With("agent", ref.Slug)
	}
	return content.Ref{Hash: ref.item.Hash}, nil
}

// Message limits.
const (
	maxText     = 20_000 // characters of a message
	maxContext  = 20_000 // bytes of its context
	maxMessages = 1000   // of a conversation
	maxTitle    = 60     // characters of a title that is made of a message
)

// Sending is a message to an agent.
type Sending struct {
	Text           string
	ConversationID string // "": a new one
	Context        map[string]any
	Draft          bool
}

func (s Sending) check() error {
	var faults []domain.FieldError
	if n := utf8.RuneCountInString(s.Text); strings.TrimSpace(s.Text) == "" || n > maxText {
		faults = append(faults, domain.FieldError{Field: "text", Message: fmt.Sprintf("must be 1 to %d characters", maxText)})
	}
	if body, err := json.Marshal(s.Context); err != nil || len(body) > maxContext {
		faults = append(faults, domain.FieldError{Field: "context", Message: fmt.Sprintf("must be at most %d bytes", maxContext)})
	}
	if len(faults) > 0 {
		return domain.Invalid(faults...)
	}
	return nil
}

// Send has an agent answer a message. The answer is worked on when Send returns; it goes on when the caller leaves.
func (a *Agents) Send(ctx context.Context, workspaceID, slug string, s Sending, caller *Caller) (Found, error) {
	if err := s.check(); err != nil {
		return Found{}, err
	}
	ref, err := a.Find(workspaceID, slug, "execute", caller)
	if err != nil {
		return Found{}, err
	}
	described, err := a.read(ctx, ref, s.Draft, caller)
	if err != nil {
		return Found{}, err
	}
	model, err := a.o.Models.Resolve(ctx, workspaceID, described.Model, llm.ChatKind)
	if err != nil {
		return Found{}, err
	}
	secrets, err := a.o.Redactor(ctx, workspaceID)
	if err != nil {
		return Found{}, err
	}
	c, err := a.begin(ctx, ref, secrets, s, caller)
	if err != nil {
		return Found{}, err
	}
	c.message(c.Work.MessageID).Model = model.Name()
	if err := a.note(ctx, ref, c); err != nil {
		return Found{}, err
	}
	if s.ConversationID == "" {
		if err := a.store.addToIndex(ctx, workspaceID, c.address()); err != nil {
			return Found{}, err
		}
	}
	if err := a.store.save(ctx, workspaceID, c); err != nil {
		if errors.Is(err, eventstore.ErrConflict) {
			err = busy(c.ID)
		}
		return Found{}, errors.Join(err, a.o.Working.Delete(context.WithoutCancel(ctx), noteSpace+"/"+c.Work.MessageID))
	}
	if err := a.store.addEntry(ctx, workspaceID, c.Work.MessageID, a.pointerExpiry(), entry{Address: c.address()}); err != nil {
		return Found{}, err
	}
	r := &run{Agents: a, ref: ref, agent: described, caller: caller, c: c, story: newStory(0), secrets: secrets}
	r.story.add(frameMessage, started{c.Work.MessageID, c.ID})
	a.record(ctx, r, activity.MessageStarted{MessageContext: r.context()})
	found := Found{c.address(), *c.message(c.Work.MessageID)}
	return found, a.launch(r)
}

// pointerExpiry is until when a message is found by its id.
func (a *Agents) pointerExpiry() time.Time {
	if retention := a.o.Settings().Retention; retention > 0 {
		return a.o.Now().Add(retention)
	}
	return forever
}

func busy(conversationID string) error {
	return domain.Refuse(domain.CodeConflict, "another message of the conversation is being answered").Reason("conversation_busy").With("conversationId", conversationID)
}

// begin returns the conversation with the message and the beginning of its answer. It is not stored yet.
func (a *Agents) begin(ctx context.Context, ref Ref, secrets *redact.Set, s Sending, caller *Caller) (*Conversation, error) {
	process, now := a.o.Runtime.CurrentProcess(), a.o.Now()
	if process == "" {
		return nil, commands.Refused(runtime.ErrAway)
	}
	text := secrets.Text(s.Text)
	c := &Conversation{ID: "cnv_" + a.o.NewID(), AgentID: ref.ID, Owner: caller.Owner, Title: titleOf(text), CreatedAt: now}
	if s.ConversationID != "" {
		var err error
		if c, err = a.store.load(ctx, ref.WorkspaceID, address(ref.ID, caller.Owner, s.ConversationID)); errors.Is(err, errNoConversation) {
			err = noConversation(s.ConversationID)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case c.Work != nil:
		return nil, busy(c.ID)
	case len(c.Messages) >= maxMessages:
		return nil, domain.Refuse(domain.CodeValidation, "a conversation has at most %d messages: begin another one", maxMessages).Reason("limit_exceeded")
	}
	at := domain.FormatTime(now)
	asked := Message{ID: "msg_" + a.o.NewID(), ConversationID: c.ID, Role: "user", Status: Completed, Text: text, Citations: []knowledge.Citation{}, ToolCalls: []ToolCall{}, CreatedAt: at, EndedAt: at}
	answer := Message{ID: "msg_" + a.o.NewID(), ConversationID: c.ID, Role: "assistant", Status: Running, Citations: []knowledge.Citation{}, ToolCalls: []ToolCall{}, CreatedAt: at}
	c.Messages, c.UpdatedAt = append(c.Messages, asked, answer), now
	c.Work = &work{
		MessageID: answer.ID, Process: process,
		Request: StoredRequest{
			Draft: s.Draft, Context: s.Context, Actor: caller.Actor, Email: caller.Email, OfWorkspace: caller.Rights == nil, Depth: caller.Depth, Meta: caller.Meta,
		},
	}
	return c, nil
}

func titleOf(text string) string {
	title := []rune(strings.Join(strings.Fields(text), " "))
	return string(title[:min(maxTitle, len(title))])
}

func noConversation(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such conversation").With("resource", "conversation").With("id", domain.Shorten(id, 100))
}

func noMessage(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such message").With("resource", "message").With("id", domain.Shorten(id, 100))
}

// Found is a message of a conversation of the caller.
type Found struct {
	address string
	message Message
}

// Message returns the message as it was when it was found.
func (f Found) Message() Message { return f.message }

// Message returns a message of the caller.
func (a *Agents) Message(ctx context.Context, ref Ref, id string, caller *Caller) (Found, error) {
	at, _, _, err := a.store.entries(ctx, ref.WorkspaceID, id, 0)
	if err == nil && at == "" {
		at, err = a.findConversation(ctx, ref, id, caller)
	}
	if err != nil {
		return Found{}, err
	}
	if !strings.HasPrefix(at, ownerPrefix(ref.ID, caller.Owner)) {
		return Found{}, noMessage(id)
	}
	c, err := a.store.load(ctx, ref.WorkspaceID, at)
	if errors.Is(err, errNoConversation) {
		return Found{}, noMessage(id)
	}
	if err != nil {
		return Found{}, err
	}
	m := c.message(id)
	if m == nil {
		return Found{}, noMessage(id)
	}
	return Found{at, *m}, nil
}

// pointerKept is how long a message is found by its id at least, without a look into conversations.
const pointerKept = 24 * time.Hour

// findConversation returns where the conversation of the caller with an answer is, when the entry that says so has expired:
// a conversation that goes on outlives those of its first messages. The entry is written again.
func (a *Agents) findConversation(ctx context.Context, ref Ref, id string, caller *Caller) (address string, err error) {
	sent, err := ulid.ParseStrict(strings.TrimPrefix(id, "msg_"))
	if err != nil || a.o.Now().Sub(ulid.Time(sent.Time())) < pointerKept {
		return "", nil //nolint:nilerr // there is no such message
	}
	prefix := ownerPrefix(ref.ID, caller.Owner)
	names, err := a.store.indexed(ctx, ref.WorkspaceID, entriesOf(prefix))
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if began, err := ulid.ParseStrict(name); err == nil && began.Time() > sent.Time() {
			continue
		}
		c, err := a.store.load(ctx, ref.WorkspaceID, prefix+name)
		if errors.Is(err, errNoConversation) {
			continue
		}
		if err != nil {
			return "", err
		}
		if m := c.message(id); m != nil && m.Role == "assistant" {
			return c.address(), a.store.addEntry(ctx, ref.WorkspaceID, id, a.pointerExpiry(), entry{Address: c.address()})
		}
	}
	return "", nil
}

// Wait returns a message once it has ended or waits for an approval, or as it is when ctx ends.
func (a *Agents) Wait(ctx context.Context, ref Ref, found Found, caller *Caller) (Message, error) {
	return a.waitWith(ctx, ref, found, caller, func(Frame) error { return nil })
}

// waitWith is Wait; frames gets what happens meanwhile. An error of it ends the wait.
func (a *Agents) waitWith(ctx context.Context, ref Ref, found Found, caller *Caller, frames func(Frame) error) (Message, error) {
	err := a.Follow(ctx, ref.WorkspaceID, found, 0, frames)
	if err != nil && ctx.Err() == nil {
		return Message{}, err
	}
	again, err := a.Message(context.WithoutCancel(ctx), ref, found.message.ID, caller)
	return again.message, err
}

// CancelMessage ends the work on a message of the caller, on whichever node.
func (a *Agents) CancelMessage(ctx context.Context, ref Ref, found Found, caller *Caller) (Message, error) {
	if found.message.Role != "assistant" || found.message.Status.HasEnded() {
		return found.message, nil
	}
	if found.message.Status == WaitingApproval {
		return a.endWaiting(ctx, ref, found)
	}
	if err := a.o.Cancel(ref.WorkspaceID, found.message.ID); err != nil {
		return Message{}, err
	}
	return a.Wait(ctx, ref, found, caller)
}

// endWaiting cancels a message that waits for an approval: nobody works on it.
func (a *Agents) endWaiting(ctx context.Context, ref Ref, found Found) (Message, error) {
	var r *run
	c, err := a.store.change(ctx, ref.WorkspaceID, found.address, func(c *Conversation) error {
		if c.Work == nil || c.Work.Until == nil || c.Work.MessageID != found.message.ID {
			return errNotWaiting(found.message.ID)
		}
		r = &run{Agents: a, ref: ref, c: c, story: newStory(c.Work.Frames)}
		r.end(Cancelled, "", nil)
		return nil
	})
	if err != nil {
		return Message{}, err
	}
	r.c = c
	r.finished(ctx)
	return *c.message(found.message.ID), nil
}

func errNotWaiting(id string) error {
	return domain.Refuse(domain.CodeConflict, "the message waits for no approval").Reason("not_waiting").With("messageId", id)
}

// CancelLocal ends the work on a message if this node does it.
func (a *Agents) CancelLocal(messageID string) {
	a.mu.Lock()
	r := a.running[messageID]
	a.mu.Unlock()
	if r != nil {
		r.cancel(errCancelled)
	}
}

// Approval is what a person says to a call of a function.
type Approval struct {
	CallID   string
	Approved bool
	Reason   string
}

// Approve records what the caller says to a call, and goes on with the message once all are decided.
func (a *Agents) Approve(ctx context.Context, ref Ref, found Found, said Approval, caller *Caller) (Found, error) {
	id, all, process := found.message.ID, false, a.o.Runtime.CurrentProcess()
	if process == "" {
		return Found{}, commands.Refused(runtime.ErrAway)
	}
	c, err := a.store.change(ctx, ref.WorkspaceID, found.address, func(c *Conversation) error {
		if c.Work == nil || c.Work.Until == nil || c.Work.MessageID != id {
			return errNotWaiting(id)
		}
		i := slices.IndexFunc(c.Work.Calls, func(p pendingCall) bool { return p.ID == said.CallID })
		if i < 0 {
			return domain.Refuse(domain.CodeNotFound, "there is no such call").With("resource", "call").With("id", domain.Shorten(said.CallID, 100))
		}
		c.Work.Calls[i].Approved, c.Work.Calls[i].Reason = &said.Approved, said.Reason
		described, err := a.read(ctx, ref, c.Work.Request.Draft, caller)
		if err != nil {
			return err
		}
		m := c.message(id)
		m.Approvals = slices.DeleteFunc(m.Approvals, func(w WantedApproval) bool { return w.CallID == said.CallID })
		all = !slices.ContainsFunc(c.Work.Calls, func(p pendingCall) bool { return p.Approved == nil && (p.Guarded || needsApproval(described, p.Name)) })
		if all {
			c.Work.Until, c.Work.Process = nil, process
			m.Status, m.Approvals = Running, nil
			return a.note(ctx, ref, c)
		}
		return nil
	})
	if err != nil {
		return Found{}, err
	}
	found.message = *c.message(id)
	if all {
		err = a.resume(ctx, ref, c, caller, newStory(c.Work.Frames))
	}
	return found, err
}

// resume goes on with a message.
func (a *Agents) resume(ctx context.Context, ref Ref, c *Conversation, caller *Caller, s *story) error {
	described, err := a.read(ctx, ref, c.Work.Request.Draft, caller)
	if err != nil {
		return err
	}
	secrets, err := a.o.Redactor(ctx, ref.WorkspaceID)
	if err != nil {
		return err
	}
	caller.Depth, caller.Meta = c.Work.Request.Depth, c.Work.Request.Meta
	return a.launch(&run{Agents: a, ref: ref, agent: described, caller: caller, c: c, story: s, secrets: secrets, resumed: true})
}

// Listed is a conversation in a list.
type Listed struct {
	ID        string `json:"id"`
	Agent     string `json:"agent"`
	Title     string `json:"title"`
	CreatedAt string `json:"createdAt"`
	UpdatedAt string `json:"updatedAt"`
	Owner     string `json:"createdBy"`
}

func (c *Conversation) listed(slug string) Listed {
	return Listed{c.ID, slug, c.Title, domain.FormatTime(c.CreatedAt), domain.FormatTime(c.UpdatedAt), c.Owner}
}

// ConversationQuery chooses among the conversations with an agent.
type ConversationQuery struct {
	All           bool   // those of everybody, not of the caller only
	Search        string // a part of the title, in lower case; "": any
	Offset, Limit int
}

// Conversations returns a page of conversations with an agent, the newest first, and how many there are. Without a search
// it opens those that it returns.
func (a *Agents) Conversations(ctx context.Context, ref Ref, q ConversationQuery, caller *Caller) (page []Listed, total int, err error) {
	prefix := ownerPrefix(ref.ID, caller.Owner)
	if q.All {
		prefix = ref.ID + "-"
	}
	names, err := a.store.indexed(ctx, ref.WorkspaceID, entriesOf(prefix))
	if err != nil {
		return nil, 0, err
	}
	page = []Listed{}
	for _, name := range names {
		if q.Search == "" && (total < q.Offset || len(page) == q.Limit) {
			total++
			continue
		}
		at := prefix + name
		if q.All {
			if at, err = a.store.locate(ctx, ref.WorkspaceID, entriesOf(prefix), name); err != nil {
				return nil, 0, err
			}
			if at == "" {
				continue // deleted since
			}
		}
		c, err := a.store.load(ctx, ref.WorkspaceID, at)
		if errors.Is(err, errNoConversation) {
			err = a.store.dropLeftOver(ctx, ref.WorkspaceID, at, name)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return nil, 0, err
		}
		if !strings.Contains(strings.ToLower(c.Title), q.Search) {
			continue
		}
		if total >= q.Offset && len(page) < q.Limit {
			page = append(page, c.listed(ref.Slug))
		}
		total++
	}
	return page, total, nil
}

// find returns the address of a conversation of the caller, or of anybody for those who manage the agent.
func (a *Agents) find(ctx context.Context, ref Ref, id string, caller *Caller) (string, error) {
	own := address(ref.ID, caller.Owner, id)
	if !caller.may("manage_permissions", ref.object) {
		return own, nil
	}
	at, err := a.store.locate(ctx, ref.WorkspaceID, entriesOf(ref.ID), strings.TrimPrefix(id, "cnv_"))
	return cmp.Or(at, own), err
}

// Conversation returns a conversation with its messages.
func (a *Agents) Conversation(ctx context.Context, ref Ref, id string, caller *Caller) (Listed, []Message, error) {
	at, err := a.find(ctx, ref, id, caller)
	if err != nil {
		return Listed{}, nil, err
	}
	c, err := a.store.load(ctx, ref.WorkspaceID, at)
	if errors.Is(err, errNoConversation) {
		err = noConversation(id)
	}
	if err != nil {
		return Listed{}, nil, err
	}
	return c.listed(ref.Slug), c.Messages, nil
}

// Rename gives a conversation another title.
func (a *Agents) Rename(ctx context.Context, ref Ref, id, title string, caller *Caller) (Listed, error) {
	at, err := a.find(ctx, ref, id, caller)
	if err != nil {
		return Listed{}, err
	}
	c, err := a.store.change(ctx, ref.WorkspaceID, at, func(c *Conversation) error {
		c.Title = title
		return nil
	})
	if errors.Is(err, errNoConversation) {
		err = noConversation(id)
	}
	if err != nil {
		return Listed{}, err
	}
	return c.listed(ref.Slug), nil
}

// Delete erases a conversation, and ends the work on a message of it.
func (a *Agents) Delete(ctx context.Context, ref Ref, id string, caller *Caller) error {
	at, err := a.find(ctx, ref, id, caller)
	if err != nil {
		return err
	}
	c, err := a.store.load(ctx, ref.WorkspaceID, at)
	if errors.Is(err, errNoConversation) {
		return noConversation(id)
	}
	if err != nil {
		return err
	}
	if c.Work != nil && c.Work.Until != nil {
		_, err = a.endWaiting(ctx, ref, Found{at, *c.message(c.Work.MessageID)})
		if err != nil && domain.CodeOf(err) != domain.CodeConflict { // else it has just been approved
			return err
		}
	}
	if c.Work != nil {
		if err := a.o.Cancel(ref.WorkspaceID, c.Work.MessageID); err != nil {
			return err
		}
	}
	if err := a.store.data.Drop(ctx, conversationStream(ref.WorkspaceID, at), 0); err != nil {
		return err
	}
	if err := a.store.dropFromIndex(ctx, ref.WorkspaceID, at); err != nil {
		return err
	}
	for _, m := range c.Messages {
		if m.Role != "assistant" {
			continue
		}
		if err := a.store.data.Drop(ctx, messageStream(ref.WorkspaceID, m.ID), 0); err != nil {
			return err
		}
	}
	return nil
}

// Sweep erases old conversations and the frames of messages.
func (a *Agents) Sweep(ctx context.Context) error {
	return a.store.sweep(ctx, a.o.Settings().Retention)
}

// storyOf returns the story of a message that this node works on; nil when it does not.
func (a *Agents) storyOf(messageID string) *story {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.running[messageID]; r != nil && !r.silent {
		return r.story
	}
	return nil
}

func (a *Agents) isClosing() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closing
}

// Close ends the work on all messages: another node, or this one after its start, goes on with them.
func (a *Agents) Close(context.Context) error {
	a.mu.Lock()
	a.closing = true
	for r := range maps.Values(a.running) {
		r.cancel(errLeft)
	}
	a.mu.Unlock()
	a.all.Wait()
	return nil
}
