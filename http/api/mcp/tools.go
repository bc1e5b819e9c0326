package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"svc/commands/knowledge"
	"svc/commands/llm"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/agent"
	"svc/domain/automation/redact"
	"svc/domain/mcp"
	"svc/domain/value"
	agenthandlers "svc/http/api/agents"
	"svc/http/api/handler"
	knowledgehandlers "svc/http/api/knowledge"
	"svc/http/api/runs"
	"svc/http/gateway"
	"svc/streams/agents"
)

// Handlers answer MCP clients.
type Handlers struct {
	Runs      *runs.Handlers
	Agents    *agents.Agents
	Knowledge *knowledgehandlers.Handlers
	// Models says whether there is a model that answers questions. It is a *llm.Models.
	Models interface {
		Resolve(ctx context.Context, workspaceID, name string, kind llm.Kind) (llm.Model, error)
	}
	// Redactor returns what removes the secrets of a workspace.
	Redactor func(ctx context.Context, workspaceID string) (*redact.Set, error)
	Version  string // of the service
	Log      *slog.Logger
}

func (h *Handlers) implementation() mcp.Implementation {
	return mcp.Implementation{Name: "svc", Version: cmp.Or(h.Version, "dev")}
}

// caller is who sent a request, and what they may use.
type caller struct {
	*http.Request
	h           *Handlers
	workspaceID string
	who         gateway.Caller
	rights      *access.Rights
	streams     bool // the answer is a stream, and may take long
}

// newCaller returns who sent a request. Strangers for whom the workspace has nothing are not told that it exists.
func (h *Handlers) newCaller(r *http.Request) (*caller, error) {
	c := &caller{Request: r, h: h, workspaceID: handler.WorkspaceID(r), who: gateway.CallerFrom(r.Context()), rights: gateway.GrantFrom(r.Context()).Rights}
	switch {
	case c.rights == nil: // who has none acts as nobody, never as the workspace
		return nil, gateway.MissingCredential()
	case c.rights.IsMember():
		return c, nil
	}
	tools, err := c.tools()
	if err == nil && len(tools) == 0 {
		err = c.rights.Refusal("read", "documents")
	}
	return c, err
}

// The scopes of tokens that tools need.
const (
	scopeAutomations = "webhooks"
	scopeAgents      = "agents"
	scopeKnowledge   = "knowledge:read"
)

// agentPrefix is what the names of tools of agents begin with.
const agentPrefix = "agent_"

// tools returns the tools that the caller may use: those of knowledge, then automations, then agents.
func (c *caller) tools() (tools []mcp.Tool, err error) {
	mayRead, err := c.mayReadDocuments()
	if err != nil {
		return nil, err
	}
	if mayRead {
		for _, t := range knowledgeTools {
			if t.Name == askKnowledge && !c.hasModel() {
				continue
			}
			tools = append(tools, t.Tool)
		}
	}
	automations, err := c.automations()
	if err != nil {
		return nil, err
	}
	for _, a := range automations {
		tools = append(tools, mcp.Tool{Name: a.name, Description: a.program.DescribeFunction(nil), InputSchema: a.program.FunctionParameters(nil)})
	}
	offered, err := c.agents("")
	for _, a := range offered {
		tools = append(tools, mcp.Tool{Name: agentPrefix + a.Slug, Title: a.Name, Description: cmp.Or(a.Description, a.Name), InputSchema: json.RawMessage(agentSchema)})
	}
	return tools, err
}

// call calls a tool. What the caller may not use is not there for them.
func (c *caller) call(called mcp.CallToolParams) (any, error) {
	if len(called.Arguments) == 0 || string(called.Arguments) == "null" { // clients send both for none
		called.Arguments = json.RawMessage("{}")
	}
	arguments, err := value.ParseJSON(string(called.Arguments))
	input, ok := arguments.(*value.Object)
	if err != nil || !ok {
		return nil, mcp.Errorf(mcp.InvalidParams, "arguments must be an object")
	}
	perform, err := c.find(called, input)
	if err != nil {
		return nil, err
	}
	if perform == nil {
		return nil, mcp.Errorf(mcp.InvalidParams, "there is no tool %q", domain.Shorten(called.Name, 100))
	}
	secrets, err := c.h.Redactor(c.Context(), c.workspaceID)
	if err != nil {
		return nil, err
	}
	output, err := perform()
	if err != nil {
		return c.failed(secrets, err)
	}
	return result(secrets.Value(output)), nil
}

// find returns what performs a call; nil when the caller has no such tool.
func (c *caller) find(called mcp.CallToolParams, input *value.Object) (perform func() (any, error), err error) {
	if t := findKnowledgeTool(called.Name); t != nil {
		mayRead, err := c.mayReadDocuments()
		if !mayRead || err != nil {
			return nil, err
		}
		return func() (any, error) { return t.perform(c, called.Arguments) }, nil
	}
	if slug, ok := strings.CutPrefix(called.Name, agentPrefix); ok && slug != "" {
		offered, err := c.agents(slug)
		if len(offered) == 0 || err != nil {
			return nil, err
		}
		return func() (any, error) { return c.send(slug, called.Arguments) }, nil
	}
	automations, err := c.automations()
	for _, a := range automations {
		if a.name == called.Name {
			return func() (any, error) { return c.h.Runs.CallTool(c.Request, a.program, input) }, nil
		}
	}
	return nil, err
}

// result returns what a tool came to: as a text, and an object also as such.
func result(output any) mcp.CallToolResult {
	if text, ok := output.(string); ok {
		return mcp.TextResult(text, false)
	}
	if value.IsUndefined(output) {
		output = nil
	}
	text := value.JSON(output, "")
	r := mcp.TextResult(text, false)
	if _, ok := output.(*value.Object); ok {
		r.StructuredContent = json.RawMessage(text)
	}
	return r
}

// failed returns why a tool failed as its result, so that the model can do better. What is wrong with the platform is
// logged, and the log being down is an answer of its own.
func (c *caller) failed(secrets *redact.Set, err error) (any, error) {
	if errors.Is(err, gateway.ErrGoesOn) || c.Context().Err() != nil {
		return nil, err // nobody waits any more
	}
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok {
		c.logFailure(err)
		refusal = domain.Refuse(domain.CodeInternal, "the tool failed")
	}
	body, err := json.Marshal(struct {
		Error   domain.Code    `json:"error"`
		Message string         `json:"message"`
		Details map[string]any `json:"details,omitempty"`
	}{refusal.Code, refusal.Message, refusal.Details})
	if err != nil {
		return nil, err
	}
	said, err := value.ParseJSON(string(body))
	if err != nil {
		return nil, err
	}
	return mcp.TextResult(value.JSON(secrets.Value(said), ""), true), nil
}

// asValue returns what encoding/json makes of v as a value that can be redacted.
func asValue(v any) (any, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return value.ParseJSON(string(body))
}

// namedProgram is an automation with the name of its tool.
type namedProgram struct {
	name    string
	program *programs.Program
}

// automations returns the automations that the caller may call as tools. Of two with the same name the one whose slug it is
// has it, else the first; names of other tools are not theirs.
func (c *caller) automations() (found []namedProgram, err error) {
	if !c.who.HasScope(scopeAutomations) {
		return nil, nil
	}
	set, err := c.h.Runs.Programs.ProgramSet(c.Context(), c.workspaceID)
	if err != nil || set == nil {
		return nil, err
	}
	at := map[string]int{}
	for p := range set.Tools() {
		name := agent.FunctionName("", p.Slug)
		if !c.rights.Allows("execute", "automations", runtime.Subject(p)) || findKnowledgeTool(name) != nil || strings.HasPrefix(name, agentPrefix) {
			continue
		}
		i, taken := at[name]
		switch {
		case !taken:
			at[name] = len(found)
			found = append(found, namedProgram{name, p})
		case p.Slug == name:
			found[i].program = p
		}
	}
	return found, nil
}

// agents returns the agents that the caller may call as tools; with a slug, only that one.
func (c *caller) agents(slug string) ([]agents.Offered, error) {
	if !c.who.HasScope(scopeAgents) {
		return nil, nil
	}
	return c.h.Agents.Offered(c.workspaceID, programs.ToolLabel, slug, agenthandlers.NewCaller(c.Request))
}

// agentSchema is what the tool of an agent takes.
const agentSchema = `{"type":"object","properties":{` +
	`"message":{"type":"string","description":"What to say to the agent."},` +
	`"conversationId":{"type":"string","description":"The conversation to go on with, as an earlier answer names it."}},` +
	`"required":["message"],"additionalProperties":false}`

// agentAnswer is what an agent says.
type agentAnswer struct {
	Text           string               `json:"text"`
	ConversationID string               `json:"conversationId"`
	MessageID      string               `json:"messageId"`
	Status         agents.Status        `json:"status"`
	Citations      []knowledge.Citation `json:"citations"`
	FinishReason   string               `json:"finishReason,omitempty"`
}

// agentTimeout is how long an agent is waited for when the answer is no stream.
const agentTimeout = 50 * time.Second

// send sends a message to an agent, and waits for its answer. It is answered also when the client leaves.
func (c *caller) send(slug string, arguments json.RawMessage) (any, error) {
	var in struct {
		Message        string `json:"message"`
		ConversationID string `json:"conversationId"`
	}
	if err := readArguments(arguments, &in); err != nil {
		return nil, err
	}
	who := agenthandlers.NewCaller(c.Request)
	found, err := c.h.Agents.Send(c.Context(), c.workspaceID, slug, agents.Sending{Text: in.Message, ConversationID: in.ConversationID}, who)
	if err != nil {
		return nil, err
	}
	ref, err := c.h.Agents.Find(c.workspaceID, slug, "execute", who)
	if err != nil {
		return nil, err
	}
	ctx := c.Context()
	if !c.streams {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, handler.BoundWait(c.Request, agentTimeout))
		defer cancel()
	}
	m, err := c.h.Agents.Wait(ctx, ref, found, who)
	switch {
	case err != nil:
		return nil, err
	case m.Status == agents.Failed && m.Error != nil:
		return nil, m.Error.AsError()
	}
	return asValue(agentAnswer{m.Text, m.ConversationID, m.ID, m.Status, m.Citations, m.FinishReason})
}

// readArguments reads the arguments of a tool. Unknown ones are refused.
func readArguments(arguments json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return domain.Refuse(domain.CodeInvalidRequest, "the arguments are not those of the tool: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// knowledgeTool is a tool that reads documents.
type knowledgeTool struct {
	mcp.Tool
	perform func(c *caller, arguments json.RawMessage) (any, error)
}

// askKnowledge is the tool that needs a model.
const askKnowledge = "ask_knowledge"

const basesSchema = `"knowledgeBases":{"type":"array","items":{"type":"string"},"description":"Slugs of knowledge bases; without them, all that you may read."}`

// knowledgeTools are the tools of those who may read documents.
var knowledgeTools = []knowledgeTool{
	newKnowledgeTool(agent.SearchFunction, "Search documents", "Search the documents of knowledge bases. Returns the best documents with passages; read_document reads on.",
		`"query":{"type":"string","description":"Words to look for."},`+basesSchema+`,`+
			`"filters":{"type":"object","description":"Conditions on fields of documents, such as {\"tags\":\"hr\"}."},`+
			`"limit":{"type":"integer","minimum":1,"maximum":100}`, "query", (*caller).search),
	newKnowledgeTool(askKnowledge, "Ask documents", "Answer a question from the documents of knowledge bases, with citations.",
		`"question":{"type":"string"},`+basesSchema, "question", (*caller).ask),
	newKnowledgeTool("read_document", "Read a document", "Read the text of a document, or a part of it.",
		`"id":{"type":"string","description":"The id of the document, as a search returns it."},`+
			`"from":{"type":"integer","minimum":0,"description":"The first character to read."},`+
			`"length":{"type":"integer","minimum":1,"maximum":100000,"description":"How many characters to read, 20000 without it."}`, "id", (*caller).readDocument),
}

func newKnowledgeTool(name, title, description, properties, required string, perform func(*caller, json.RawMessage) (any, error)) knowledgeTool {
	schema := `{"type":"object","properties":{` + properties + `},"required":["` + required + `"],"additionalProperties":false}`
	return knowledgeTool{mcp.Tool{Name: name, Title: title, Description: description, InputSchema: json.RawMessage(schema), Annotations: &mcp.Annotations{ReadOnly: true}}, perform}
}

func findKnowledgeTool(name string) *knowledgeTool {
	for i := range knowledgeTools {
		if knowledgeTools[i].Name == name {
			return &knowledgeTools[i]
		}
	}
	return nil
}

// mayReadDocuments reports whether the caller may read some documents.
func (c *caller) mayReadDocuments() (bool, error) {
	if !c.who.HasScope(scopeKnowledge) {
		return false, nil
	}
	err := c.h.Knowledge.CheckSome(c.Request)
	if _, refused := errors.AsType[*domain.Error](err); refused {
		return false, nil
	}
	return err == nil, err
}

// hasModel reports whether questions are answered where nobody names a model.
func (c *caller) hasModel() bool {
	_, err := c.h.Models.Resolve(c.Context(), c.workspaceID, "", llm.ChatKind)
	return err == nil
}

// search performs search_knowledge.
func (c *caller) search(arguments json.RawMessage) (any, error) {
	var in struct {
		Query   string         `json:"query"`
		Bases   []string       `json:"knowledgeBases"`
		Filters map[string]any `json:"filters"`
		Limit   *int           `json:"limit"`
	}
	if err := readArguments(arguments, &in); err != nil {
		return nil, err
	}
	request := knowledge.SearchRequest{
		WorkspaceID: c.workspaceID, Bases: in.Bases, Rights: c.rights, SearchQuery: knowledge.SearchQuery{Query: in.Query, Filters: in.Filters, Limit: in.Limit},
	}
	answer, err := c.h.Knowledge.Search(c.Context(), request)
	if err != nil {
		return nil, err
	}
	c.h.Knowledge.Searched(c.Context(), request, answer)
	return asValue(answer)
}

// ask performs ask_knowledge. When the client leaves, the call of the model ends.
func (c *caller) ask(arguments json.RawMessage) (any, error) {
	var in struct {
		Question string   `json:"question"`
		Bases    []string `json:"knowledgeBases"`
	}
	if err := readArguments(arguments, &in); err != nil {
		return nil, err
	}
	answer, err := c.h.Knowledge.Ask(c.Context(), knowledge.AskRequest{
		WorkspaceID: c.workspaceID, Bases: in.Bases, Rights: c.rights, AskQuery: knowledge.AskQuery{Question: in.Question}, Languages: c.Header.Get("Accept-Language"),
	})
	if err != nil {
		return nil, err
	}
	return asValue(answer)
}

// How much of a document is read at once, in characters.
const (
	defaultLength = 20_000
	maxLength     = 100_000
)

// readDocument performs read_document.
func (c *caller) readDocument(arguments json.RawMessage) (any, error) {
	in := struct {
		ID     string `json:"id"`
		From   int    `json:"from"`
		Length int    `json:"length"`
	}{Length: defaultLength}
	if err := readArguments(arguments, &in); err != nil {
		return nil, err
	}
	var faults []domain.FieldError
	if in.From < 0 {
		faults = append(faults, domain.FieldError{Field: "from", Message: "must not be negative"})
	}
	if in.Length < 1 || in.Length > maxLength {
		faults = append(faults, domain.FieldError{Field: "length", Message: "must be 1 to 100000"})
	}
	if len(faults) > 0 {
		return nil, domain.Invalid(faults...)
	}
	part, err := c.h.Knowledge.ReadText(c.Request, in.ID, in.From, in.Length)
	if err != nil {
		return nil, err
	}
	return asValue(part)
}
