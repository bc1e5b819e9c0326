// Package llm talks to language models: chat, with functions and as a stream, and embeddings. Providers are
// OpenAI-compatible endpoints, Anthropic or Ollama, of the settings of the platform or of a workspace.
//
// A fault of a provider is a domain error with a stable reason: model_auth_failed, model_rate_limited,
// model_unavailable, model_timeout, context_too_long, model_rejected. Calls are repeated where that can help and is safe,
// and a provider that fails again and again is left alone for a while. No key is in any error or log.
package llm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc/commands/cache"
	"svc/commands/egress"
	"svc/commands/fair"
	"svc/domain"
	"svc/domain/automation/redact"
	"svc/domain/knowledge"
)

// Options configure Models.
type Options struct {
	Platform Config // the providers of the settings
	// Workspace returns the providers of a workspace, as its field models has them. Nil: workspaces have none.
	Workspace func(ctx context.Context, workspaceID string) (Config, error)
	// Resolve replaces {{secret.NAME}} by the secrets of a workspace. Required with Workspace.
	Resolve func(ctx context.Context, workspaceID, text string) (string, error)
	// Check refuses a call of a workspace that has used up its quota. Unrecorded are the tokens that it has used besides
	// those in its usage. Nil: there is no quota.
	Check func(ctx context.Context, workspaceID string, unrecorded int) error

	PlatformClient  *http.Client // for the providers of the settings
	WorkspaceClient *http.Client // for those of workspaces: it checks addresses
	Timeout         time.Duration
	Concurrency     int             // calls at once to one provider
	Pauses          []time.Duration // before each repetition; nil: 0.5 and 2 seconds
	Log             *slog.Logger
	Now             func() time.Time
}

// Models calls language models. All methods are safe for concurrent use.
type Models struct {
	o      Options
	states *cache.Cache[string, *providerState] // by configuration
}

// cachedProviders is of how many providers the state is kept.
const cachedProviders = 10_000

// New returns Models.
func New(o Options) (*Models, error) {
	if o.PlatformClient == nil || o.WorkspaceClient == nil || o.Timeout <= 0 || o.Concurrency <= 0 || o.Workspace != nil && o.Resolve == nil {
		return nil, errors.New("llm: Options lack a required field")
	}
	if err := o.Platform.check(); err != nil {
		return nil, err
	}
	if o.Pauses == nil {
		o.Pauses = []time.Duration{500 * time.Millisecond, 2 * time.Second}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.WorkspaceClient = egress.WithoutRedirects(o.WorkspaceClient)
	o.PlatformClient = egress.WithoutRedirects(o.PlatformClient)
	return &Models{o: o, states: cache.New[string, *providerState](cachedProviders)}, nil
}

// Origin is who configured a provider.
type Origin string

// The origins of providers.
const (
	OfPlatform  Origin = "platform"
	OfWorkspace Origin = "workspace"
)

// Model is a model that can be used.
type Model struct {
	ID         string `json:"id"` // of the provider
	Provider   string `json:"provider"`
	Kind       Kind   `json:"kind"`
	Context    int    `json:"context,omitempty"`    // tokens; 0: unknown
	Dimensions int    `json:"dimensions,omitempty"` // of its vectors; 0: unknown
	Tools      bool   `json:"tools"`
	Origin     Origin `json:"origin"`
	Default    bool   `json:"default"` // it is used where none is named; List says so
}

// Name is what requests and settings call the model: provider/id.
func (m Model) Name() string { return m.Provider + "/" + m.ID }

// provider is a provider with what a call needs.
type provider struct {
	ProviderConfig
	slug     string
	origin   Origin
	defaults Defaults // of its origin
	protocol protocol
	client   *http.Client
	secrets  *redact.Set
	*providerState
}

// providerState is what a node knows of a provider.
type providerState struct {
	breaker breaker
	slots   *fair.Slots

	mu       sync.Mutex // held while the list is loaded
	listed   []Declaration
	listedAt time.Time
}

// model returns a model of the provider as it is shown.
func (p *provider) model(d Declaration) Model {
	return Model{
		ID: d.ID, Provider: p.slug, Kind: d.kind(), Context: d.Context, Dimensions: d.Dimensions, Tools: d.kind() == ChatKind && (d.Tools == nil || *d.Tools),
		Origin: p.origin,
	}
}

// known returns what the settings say of a model of the provider.
func (p *provider) known(id string) (Declaration, bool) {
	for _, d := range p.Models {
		if d.ID == id {
			return d, true
		}
	}
	switch p.slug + "/" + id {
	case p.defaults.Chat:
		return Declaration{ID: id, Kind: ChatKind}, true
	case p.defaults.Embedding:
		return Declaration{ID: id, Kind: EmbeddingKind}, true
	}
	return Declaration{}, false
}

// scope is the providers of a workspace, or those of the platform.
type scope struct {
	Config
	origin      Origin
	workspaceID string
}

// scopes returns the providers that a workspace may use, its own first.
func (m *Models) scopes(ctx context.Context, workspaceID string) ([]scope, error) {
	all := []scope{{m.o.Platform, OfPlatform, ""}}
	if m.o.Workspace == nil || workspaceID == "" {
		return all, nil
	}
	own, err := m.o.Workspace(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	return append([]scope{{own, OfWorkspace, workspaceID}}, all...), nil
}

// defaultOf returns the name of the model that is used where none is named, "" when there is none, and the scopes that
// have it: a default of the platform is no model of the workspace.
func defaultOf(scopes []scope, kind Kind) (name string, from []scope) {
	for i, s := range scopes {
		if name = s.Defaults.of(kind); name != "" {
			return name, scopes[i:]
		}
	}
	return "", nil
}

// open returns a provider of a scope, ready to be called.
func (m *Models) open(ctx context.Context, s scope, slug string) (*provider, error) {
	c := s.Providers[slug]
	p := &provider{ProviderConfig: c, slug: slug, origin: s.origin, defaults: s.Defaults, protocol: protocols[c.Type], client: m.o.PlatformClient, secrets: &redact.Set{}}
	if p.protocol == nil {
		return nil, domain.Invalid(domain.FieldError{Field: "models.providers." + slug + ".type", Message: "is none of openai, anthropic and ollama"})
	}
	if s.origin == OfWorkspace {
		var err error
		p.client = m.o.WorkspaceClient
		if p.APIKey, err = m.o.Resolve(ctx, s.workspaceID, c.APIKey); err != nil {
			return nil, err
		}
		p.Headers = make(map[string]string, len(c.Headers))
		for name, text := range c.Headers {
			if p.Headers[name], err = m.o.Resolve(ctx, s.workspaceID, text); err != nil {
				return nil, err
			}
		}
	}
	p.secrets.Add(p.APIKey)
	p.secrets.Add(slices.Collect(maps.Values(p.Headers))...)
	body, err := json.Marshal(p.ProviderConfig)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte(s.workspaceID+"\x00"+slug+"\x00"), body...))
	p.providerState = m.states.Update(hex.EncodeToString(sum[:]), func(old *providerState, found bool) (*providerState, bool) {
		if found {
			return old, false
		}
		return &providerState{slots: fair.New(m.o.Concurrency, m.o.Concurrency)}, true
	})
	return p, nil
}

// find returns the model with a name, "" for the default, and its provider. A model of a provider that declares none is
// taken to exist: the provider will say.
func (m *Models) find(ctx context.Context, workspaceID, name string, kind Kind) (*provider, Declaration, error) {
	scopes, err := m.scopes(ctx, workspaceID)
	if err != nil {
		return nil, Declaration{}, err
	}
	if !slices.ContainsFunc(scopes, func(s scope) bool { return len(s.Providers) > 0 }) {
		return nil, Declaration{}, noModel("no provider of language models is configured: set LLM_BASE_URL or MODELS_CONFIG, or models of the workspace")
	}
	if name == "" {
		if name, scopes = defaultOf(scopes, kind); name == "" {
			setting := map[Kind]string{ChatKind: "LLM_MODEL", EmbeddingKind: "LLM_EMBEDDING_MODEL"}[kind]
			return nil, Declaration{}, noModel("no %s model is named, and there is no default: set %s, or defaults.%s of MODELS_CONFIG or of models of the workspace", kind, setting, kind)
		}
	}
	slug, id, _ := strings.Cut(name, "/")
	for _, s := range scopes {
		if _, ok := s.Providers[slug]; !ok || id == "" {
			continue
		}
		p, err := m.open(ctx, s, slug)
		if err != nil {
			return nil, Declaration{}, err
		}
		d, known := p.known(id)
		if !known && len(p.Models) > 0 {
			return nil, d, unknownModel(name)
		}
		if !known {
			return p, Declaration{ID: id, Kind: kind}, nil
		}
		return p, d, checkKind(d, kind)
	}
	return m.findBare(ctx, scopes, name, kind)
}

// findBare returns a model by its id alone: the first provider that has it, by slug.
func (m *Models) findBare(ctx context.Context, scopes []scope, id string, kind Kind) (*provider, Declaration, error) {
	var failed error
	for _, s := range scopes {
		for _, slug := range slices.Sorted(maps.Keys(s.Providers)) {
			p, err := m.open(ctx, s, slug)
			if err != nil {
				failed = cmp.Or(failed, err)
				continue
			}
			if d, ok := p.known(id); ok {
				return p, d, checkKind(d, kind)
			}
			if len(p.Models) > 0 {
				continue
			}
			listed, err := m.list(ctx, p)
			failed = cmp.Or(failed, err)
			if i := slices.IndexFunc(listed, func(d Declaration) bool { return d.ID == id }); i >= 0 {
				return p, listed[i], checkKind(listed[i], kind)
			}
		}
	}
	if failed != nil {
		return nil, Declaration{}, failed
	}
	return nil, Declaration{}, unknownModel(id)
}

func checkKind(d Declaration, kind Kind) error {
	if d.kind() != kind {
		return domain.Invalid(domain.FieldError{Field: "model", Message: d.ID + " is a model for " + string(d.kind()) + ", not for " + string(kind)})
	}
	return nil
}

func noModel(format string, args ...any) error {
	return domain.Refuse(domain.CodeConflict, format, args...).Reason("no_model")
}

func unknownModel(name string) error {
	return domain.Invalid(domain.FieldError{Field: "model", Message: "there is no model " + name})
}

// Resolve returns the model with a name, "" for the default. It refuses with no_model, or a model that does not exist. A
// provider that does not answer is no reason to refuse.
func (m *Models) Resolve(ctx context.Context, workspaceID, name string, kind Kind) (Model, error) {
	p, d, err := m.find(ctx, workspaceID, name, kind)
	if err != nil {
		return Model{}, err
	}
	if _, known := p.known(d.ID); !known {
		listed, err := m.list(ctx, p)
		i := slices.IndexFunc(listed, func(l Declaration) bool { return l.ID == d.ID })
		switch {
		case ctx.Err() != nil:
			return Model{}, context.Cause(ctx)
		case i >= 0:
			d = listed[i]
			if err := checkKind(d, kind); err != nil {
				return Model{}, err
			}
		case err == nil && len(listed) > 0:
			return Model{}, unknownModel(name)
		}
	}
	return p.model(d), nil
}

// List returns the models that a workspace may use: its own, then those of the platform. A provider that cannot be asked
// contributes what the settings say of it.
func (m *Models) List(ctx context.Context, workspaceID string) ([]Model, error) {
	scopes, err := m.scopes(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	all, hidden := []Model{}, map[string]bool{}
	for _, s := range scopes {
		for _, slug := range slices.Sorted(maps.Keys(s.Providers)) {
			if hidden[slug] {
				continue // a provider of the workspace has its name
			}
			hidden[slug] = true
			p, err := m.open(ctx, s, slug)
			if err != nil {
				continue // a secret is missing: the test of a model says so
			}
			for _, d := range m.modelsOf(ctx, p, scopes) {
				all = append(all, p.model(d))
			}
		}
	}
	for _, kind := range kinds {
		if i := findDefault(all, scopes, kind); i >= 0 {
			all[i].Default = true
		}
	}
	return all, ctx.Err()
}

// modelsOf returns the models of a provider: those that the settings or the provider itself list, and those that defaults
// name.
func (m *Models) modelsOf(ctx context.Context, p *provider, scopes []scope) (all []Declaration) {
	listed := p.Models
	if len(listed) == 0 {
		listed, _ = m.list(ctx, p) // without an answer: the defaults
	}
	for _, d := range listed {
		if known, ok := p.known(d.ID); ok {
			d = known
		}
		all = append(all, d)
	}
	for _, kind := range kinds {
		effective, from := defaultOf(scopes, kind)
		if !slices.ContainsFunc(from, func(s scope) bool { return s.origin == p.origin }) {
			effective = ""
		}
		for _, name := range []string{p.defaults.of(kind), effective} {
			at, id, _ := strings.Cut(name, "/")
			d, ok := p.known(id)
			if !ok {
				d, ok = Declaration{ID: id, Kind: kind}, len(p.Models) == 0
			}
			if ok && at == p.slug && id != "" && !slices.ContainsFunc(all, func(l Declaration) bool { return l.ID == id }) {
				all = append(all, d)
			}
		}
	}
	return all
}

// findDefault returns the index of the model that is used where none is named; -1: it is none of these.
func findDefault(all []Model, scopes []scope, kind Kind) int {
	name, from := defaultOf(scopes, kind)
	isCalled := func(nameOf func(Model) string) int {
		return slices.IndexFunc(all, func(m Model) bool {
			return m.Kind == kind && nameOf(m) == name && slices.ContainsFunc(from, func(s scope) bool { return s.origin == m.Origin })
		})
	}
	if i := isCalled(Model.Name); i >= 0 {
		return i
	}
	return isCalled(func(m Model) string { return m.ID })
}

// listKept is how long the list of a provider is used.
const listKept = 10 * time.Minute

// list returns the models that a provider lists itself.
func (m *Models) list(ctx context.Context, p *provider) ([]Declaration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.listedAt.IsZero() && m.o.Now().Sub(p.listedAt) < listKept {
		return p.listed, nil
	}
	var listed []Declaration
	err := m.call(ctx, p, "", p.protocol.list(), func(b *body) (err error) {
		listed, err = p.protocol.readList(b)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.listed, p.listedAt = listed, m.o.Now()
	return listed, nil
}

type (
	// ChatRequest is a conversation that a model continues.
	ChatRequest struct {
		WorkspaceID string
		Model       string // "": the default
		Messages    []Message
		Tools       []Tool
		Temperature *float64 // nil: that of the provider
		MaxTokens   int      // 0: that of the provider
		Unrecorded  int      // tokens of earlier calls that are not in the usage of the workspace yet
	}
	// Message is one message of a conversation.
	Message struct {
		Role       string // system, user, assistant or tool
		Content    string
		ToolCalls  []ToolCall // of an assistant
		ToolCallID string     // of a tool: the call that it answers
	}
	// Tool is a function that the model may call.
	Tool struct {
		Name        string
		Description string
		Parameters  json.RawMessage // JSON Schema of an object
	}
	// ToolCall is a call of a function.
	ToolCall struct {
		ID        string
		Name      string
		Arguments string // JSON as the model wrote it; it may be broken
	}
	// Delta is a piece of an answer.
	Delta struct{ Text string }
	// Usage is the tokens of a call.
	Usage struct {
		PromptTokens     int  `json:"promptTokens"`
		CompletionTokens int  `json:"completionTokens"`
		Estimated        bool `json:"estimated,omitempty"` // the provider did not tell
	}
	// ChatReply is what a model said.
	ChatReply struct {
		Text         string
		ToolCalls    []ToolCall
		Usage        Usage
		FinishReason string // stop, length, content_filter or tool_calls
		Model        string // provider/id
	}
)

// Chat has a model continue a conversation. The text is passed to onDelta as it comes, and is whole in the reply. When
// Chat fails the reply has what came before, with the tokens that it took. An error of onDelta ends the call.
func (m *Models) Chat(ctx context.Context, r ChatRequest, onDelta func(Delta) error) (ChatReply, error) {
	p, d, err := m.find(ctx, r.WorkspaceID, r.Model, ChatKind)
	if err != nil {
		return ChatReply{}, err
	}
	if len(r.Tools) > 0 && d.Tools != nil && !*d.Tools {
		return ChatReply{}, domain.Invalid(domain.FieldError{Field: "model", Message: d.ID + " cannot call functions"})
	}
	if err := m.checkQuota(ctx, r.WorkspaceID, r.Unrecorded); err != nil {
		return ChatReply{}, err
	}
	a := &answer{onDelta: onDelta, ChatReply: ChatReply{Model: p.slug + "/" + d.ID}}
	began := false
	err = m.call(ctx, p, r.WorkspaceID, p.protocol.chat(d.ID, r), func(b *body) error {
		began = true
		if err := p.protocol.readChat(b, a); err != nil {
			return err
		}
		return a.complete()
	})
	if began && !a.usageKnown {
		a.Usage = r.estimateUsage(a.ChatReply)
	}
	return a.ChatReply, err
}

func (m *Models) checkQuota(ctx context.Context, workspaceID string, unrecorded int) error {
	if m.o.Check == nil || workspaceID == "" {
		return nil
	}
	return m.o.Check(ctx, workspaceID, unrecorded)
}

// estimateUsage estimates the tokens of a call whose provider did not tell.
func (r ChatRequest) estimateUsage(reply ChatReply) Usage {
	u := Usage{CompletionTokens: knowledge.EstimateTokens(reply.Text), Estimated: true}
	for _, message := range r.Messages {
		u.PromptTokens += knowledge.EstimateTokens(message.Content)
		for _, c := range message.ToolCalls {
			u.PromptTokens += knowledge.EstimateTokens(c.Name + c.Arguments)
		}
	}
	for _, t := range r.Tools {
		u.PromptTokens += knowledge.EstimateTokens(t.Name + t.Description + string(t.Parameters))
	}
	for _, c := range reply.ToolCalls {
		u.CompletionTokens += knowledge.EstimateTokens(c.Name + c.Arguments)
	}
	return u
}

// answer collects what a model says.
type answer struct {
	ChatReply
	onDelta    func(Delta) error
	size       int
	finished   bool
	usageKnown bool
}

// maxAnswer bounds what one answer holds, in bytes.
const maxAnswer = 4 << 20

var errTooLarge = errors.New("the answer is too large")

// addText adds a piece of the text.
func (a *answer) addText(text string) error {
	if text == "" {
		return nil
	}
	if a.size += len(text); a.size > maxAnswer {
		return errTooLarge
	}
	a.Text += text
	if a.onDelta == nil {
		return nil
	}
	if err := a.onDelta(Delta{text}); err != nil {
		return &deliveryError{err}
	}
	return nil
}

// deliveryError is an error of the receiver of an answer.
type deliveryError struct{ error }

// Unwrap implements the interface of package errors.
func (e *deliveryError) Unwrap() error { return e.error }

// maxToolCalls bounds the calls of one answer.
const maxToolCalls = 128

// toolCall returns the call with an index; one that is not there yet is the next.
func (a *answer) toolCall(index int) (*ToolCall, error) {
	if index < 0 || index >= len(a.ToolCalls) {
		if len(a.ToolCalls) == maxToolCalls {
			return nil, errTooLarge
		}
		a.ToolCalls = append(a.ToolCalls, ToolCall{})
		index = len(a.ToolCalls) - 1
	}
	return &a.ToolCalls[index], nil
}

// addArguments adds a piece of the arguments of a call.
func (a *answer) addArguments(c *ToolCall, text string) error {
	if a.size += len(text); a.size > maxAnswer {
		return errTooLarge
	}
	c.Arguments += text
	return nil
}

// finish records why the answer ended.
func (a *answer) finish(reason string) {
	a.finished = true
	a.FinishReason = reason
}

func (a *answer) setUsage(prompt, completion int) {
	a.Usage, a.usageKnown = Usage{PromptTokens: prompt, CompletionTokens: completion}, true
}

// complete checks that the answer has an end, and fills in what providers leave out.
func (a *answer) complete() error {
	if !a.finished {
		return errCut
	}
	for i := range a.ToolCalls {
		c := &a.ToolCalls[i]
		c.ID = cmp.Or(c.ID, "call_"+strconv.Itoa(i+1))
		c.Arguments = cmp.Or(strings.TrimSpace(c.Arguments), "{}")
	}
	if len(a.ToolCalls) > 0 && a.FinishReason == "stop" {
		a.FinishReason = "tool_calls"
	}
	return nil
}

var errCut = errors.New("the answer was cut off")

type (
	// EmbedRequest is texts that a model turns into vectors.
	EmbedRequest struct {
		WorkspaceID string
		Model       string // "": the default
		Texts       []string
		Dimensions  int // 0: those of the model
	}
	// Embeddings are the vectors of texts, in their order.
	Embeddings struct {
		Vectors   [][]float32
		Model     string // provider/id
		Tokens    int
		Estimated bool // the provider did not tell the tokens
	}
)

// Limits of one request for embeddings.
const (
	batchTexts  = 64
	batchTokens = 8000
)

// Embed turns texts into vectors, all of one length. When it fails the answer has the vectors of the first texts, and the
// tokens that these took.
func (m *Models) Embed(ctx context.Context, r EmbedRequest) (Embeddings, error) {
	p, d, err := m.find(ctx, r.WorkspaceID, r.Model, EmbeddingKind)
	if err != nil {
		return Embeddings{}, err
	}
	made := Embeddings{Model: p.slug + "/" + d.ID}
	length := cmp.Or(r.Dimensions, d.Dimensions)
	for texts := r.Texts; len(texts) > 0; {
		if err := m.checkQuota(ctx, r.WorkspaceID, made.Tokens); err != nil {
			return made, err
		}
		n, tokens := firstBatch(texts)
		request, err := p.protocol.embed(d.ID, texts[:n], r.Dimensions)
		if err != nil {
			return made, err
		}
		var vectors [][]float32
		told := 0
		err = m.call(ctx, p, r.WorkspaceID, request, func(b *body) (err error) {
			vectors, told, err = p.protocol.readEmbeddings(b, n)
			return err
		})
		if err != nil {
			return made, err
		}
		if told == 0 {
			told, made.Estimated = tokens, true
		}
		made.Tokens += told
		for _, v := range vectors {
			if length = cmp.Or(length, len(v)); len(v) != length || length == 0 {
				return made, domain.Refuse(domain.CodeUpstream, "the model %s made a vector of %d dimensions, not of %d", made.Model, len(v), length).
					Reason(WrongDimensions).With("provider", p.slug)
			}
		}
		made.Vectors = append(made.Vectors, vectors...)
		texts = texts[n:]
	}
	return made, nil
}

// WrongDimensions is the reason of embeddings that have another length than those before.
const WrongDimensions = "wrong_dimensions"

// firstBatch returns how many of the texts go into one request, at least one, and their tokens.
func firstBatch(texts []string) (n, tokens int) {
	for n < min(len(texts), batchTexts) {
		next := knowledge.EstimateTokens(texts[n])
		if n > 0 && tokens+next > batchTokens {
			break
		}
		tokens += next
		n++
	}
	return n, tokens
}
