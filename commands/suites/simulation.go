package suites

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"svc/commands/collections"
	"svc/commands/contexts"
	"svc/commands/fetch"
	"svc/commands/programs"
	"svc/commands/ratelimit"
	"svc/commands/references"
	"svc/commands/runtime"
	"svc/commands/throttle"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/redact"
	"svc/domain/automation/variable"
	"svc/domain/collection"
	"svc/domain/feed"
	"svc/domain/suite"
	"svc/domain/value"
	"svc/eventstore"
)

// simulation is everything around one run: what it gets from outside, and what came of it.
type simulation struct {
	stubs  suite.Stubs
	limits collection.Limits
	code   runtime.Code

	mu      sync.Mutex // the journal of a run may append in the background
	now     time.Time
	random  *rand.Rand
	lastID  int
	outcome suite.Outcome

	contexts  map[contexts.Key]*value.Object
	rows      map[namespace]*collection.Memory
	counters  map[string]int64
	uses      map[int]int  // of stubs of fetch, by index,
	calls     map[int]int  // and of calls
	delivered map[int]bool // stubs of events
}

// namespace is where collections are: those of each app instance are apart.
type namespace struct{ app, instance string }

func newSimulation(c *suite.Case, limits collection.Limits, code runtime.Code) *simulation {
	return &simulation{
		stubs: c.Stubs, limits: limits, code: code, now: c.Stubs.Now, random: rand.New(rand.NewPCG(uint64(c.Stubs.Random), 0)), //nolint:gosec // it must be repeatable
		contexts: map[contexts.Key]*value.Object{}, rows: map[namespace]*collection.Memory{}, counters: map[string]int64{},
		uses: map[int]int{}, calls: map[int]int{}, delivered: map[int]bool{},
	}
}

// options returns the options of a runtime that runs in the simulation.
func (s *simulation) options(settings runtime.Settings, host domain.Host) (runtime.Options, error) {
	client, err := fetch.New(fetch.Options{Stubs: s.answer, Now: s.clock})
	if err != nil {
		return runtime.Options{}, err
	}
	o := runtime.Options{
		Store: s, Contexts: contextStubs{s}, Parked: nothingParked{}, Secrets: secretStubs{s}, Throttles: noThrottle{}, Settings: func() runtime.Settings { return settings }, Registry: s,
		Simulation: &runtime.Simulation{Now: s.clock, Sleep: s.sleep, Random: s.drawRandom, Call: s.callAutomation},
		Host:       host, Process: "test", Now: time.Now, NewID: s.newID,
	}
	o.Effects = runtime.Effects{
		Live:      func(_ string, ev domain.Recorded) { s.addEvent(ev.Data) },
		Position:  func() domain.Position { return domain.Position{} },
		Await:     s.await,
		Configure: func(context.Context, *programs.Scope, variable.Op, *redact.Set) error { return nil },
		Fetch:     client, Topics: s, Tokens: s, Code: s.code, Rows: s, Knowledge: knowledgeStubs{s}, Agents: agentStubs{s},
		RateLimits: &ratelimit.Limiter{Counter: s, Now: s.clock, Log: slog.New(slog.DiscardHandler)},
		References: moduleStubs{s, &references.References{Values: contextStubs{s}, Secrets: secretStubs{s}, Vault: s, Now: s.clock, NewID: s.newID}},
	}
	return o, nil
}

func (s *simulation) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *simulation) sleep(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(max(d, 0))
}

func (s *simulation) drawRandom(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	drawn := make([]byte, n)
	for i := range drawn {
		drawn[i] = byte(s.random.Uint32())
	}
	return drawn
}

// newID returns ids in the form of ULIDs, the same in every run.
func (s *simulation) newID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	return fmt.Sprintf("%026d", s.lastID)
}

// Append implements runtime.Store: events are compared, and stored nowhere.
func (s *simulation) Append(_ context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	for _, c := range commits {
		for _, fact := range c.Facts {
			if _, ended := fact.Event.(activity.Executed); ended {
				s.addLogs(fact.Apart)
			}
			s.addEvent(fact.Event)
		}
	}
	return eventstore.Receipt{}, nil
}

// addEvent adds an event that the automation emitted. Those that the platform records of runs are not compared.
func (s *simulation) addEvent(ev domain.Event) {
	emitted, ok := ev.(domain.Unknown)
	if !ok {
		return
	}
	payload, err := value.ParseJSON(string(emitted.Body))
	if err != nil {
		payload = value.Undefined
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcome.Events = append(s.outcome.Events, suite.Event{Type: emitted.Name, Payload: payload})
}

// addLogs adds what an execution wrote to its log.
func (s *simulation) addLogs(apart []byte) {
	var stored struct {
		Logs []string `json:"logs"`
	}
	if json.Unmarshal(apart, &stored) == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.outcome.Logs = append(s.outcome.Logs, stored.Logs...)
	}
}

// contextStubs has the contexts of a case. They begin with what its stubs say.
type contextStubs struct{ *simulation }

// Load implements runtime.Contexts.
func (c contextStubs) Load(_ context.Context, key contexts.Key) (*value.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.context(key), nil
}

func (s *simulation) context(key contexts.Key) *value.Object {
	if s.contexts[key] == nil {
		given, _ := s.stubs.Contexts.At(key.Kind).(*value.Object)
		s.contexts[key] = given.Copy()
	}
	return s.contexts[key]
}

// Append implements runtime.Contexts.
func (c contextStubs) Append(_ context.Context, _ string, changes []contexts.Change) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, change := range changes {
		now := c.context(change.Key)
		for _, w := range change.Writes {
			next, err := variable.Apply(now, w.Op)
			if err != nil {
				return err
			}
			if now, _ = next.(*value.Object); now == nil {
				now = &value.Object{}
			}
		}
		c.contexts[change.Key] = now
	}
	return nil
}

// nothingParked stores no state: in a simulation every wait ends at once.
type nothingParked struct{}

// Put implements runtime.Parked.
func (nothingParked) Put(context.Context, string, string, []byte) error { return nil }

// Get implements runtime.Parked.
func (nothingParked) Get(context.Context, string, string) ([]byte, bool, error) {
	return nil, false, nil
}

// Drop implements runtime.Parked.
func (nothingParked) Drop(context.Context, string, string) error { return nil }

// await returns the next stub that a wait is for. Without one the time of the wait passes.
func (s *simulation) await(_ context.Context, workspaceID string, w runtime.Awaited, fits func(*feed.Event) bool) (*feed.Event, error) {
	for i, stub := range s.stubs.Events {
		if s.delivered[i] {
			continue
		}
		event := newEvent(workspaceID, s.newID(), stub.Type, stub.Payload, s.clock())
		if fits(event) {
			s.delivered[i] = true
			return event, nil
		}
	}
	s.sleep(w.Before.Sub(s.clock()))
	return nil, nil //nolint:nilnil // the time is over, and that is no error
}

// newEvent returns an event in the form in which automations get it.
func newEvent(workspaceID, id, eventType string, payload *value.Object, at time.Time) *feed.Event {
	body := json.RawMessage("{}")
	if payload != nil {
		body = json.RawMessage(value.JSON(payload, ""))
	}
	return &feed.Event{
		ID: id, Type: eventType, At: at, Log: domain.Activity, Payload: body,
		Source: feed.Source{WorkspaceID: workspaceID, Meta: domain.Meta{CorrelationID: correlationID, ServiceTopic: feed.Emitted}},
	}
}

// answer answers a request: the first stub that fits does.
func (s *simulation) answer(r fetch.StubbedRequest) (fetch.StubbedResponse, error) {
	made := suite.Fetch{Method: r.Method, URL: r.URL, Headers: &value.Object{}, Body: value.Undefined}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		made.Headers.Set(strings.ToLower(name), strings.Join(r.Header[name], ", "))
	}
	if r.Body != nil {
		made.Body = readBody(value.Text(made.Headers.At("content-type")), r.Body)
	}
	s.outcome.Fetches = append(s.outcome.Fetches, made)
	for i, stub := range s.stubs.Fetch {
		if stub.Method != "" && stub.Method != r.Method || stub.Times > 0 && s.uses[i] >= stub.Times || !stub.URL.Matches(made.URL) {
			continue
		}
		s.uses[i]++
		if stub.Error != "" {
			return fetch.StubbedResponse{}, transportErrors[stub.Error]
		}
		return stubbedResponse(stub)
	}
	s.outcome.Unstubbed = append(s.outcome.Unstubbed, made)
	return fetch.StubbedResponse{}, fmt.Errorf("no stub of the test answers %s %s", r.Method, r.URL)
}

// transportErrors are the errors whose reasons fetch tells as these words.
var transportErrors = map[string]error{
	"dns":     &net.DNSError{Err: "no such host", IsNotFound: true},
	"connect": &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
	"tls":     errors.New("net/http: TLS handshake timeout"),
	"timeout": context.DeadlineExceeded,
	"reset":   &net.OpError{Op: "read", Err: syscall.ECONNRESET},
}

// readBody returns the body of a request as a case writes it: JSON as a value, everything else as text.
func readBody(contentType string, raw []byte) any {
	if strings.Contains(contentType, "json") {
		if v, err := value.ParseJSON(string(raw)); err == nil {
			return v
		}
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}

// usualStatus is the status of a stub that says none.
const usualStatus = 200

func stubbedResponse(stub suite.FetchStub) (fetch.StubbedResponse, error) {
	status, _ := stub.Answer.At("status").(float64)
	response := fetch.StubbedResponse{Status: cmp.Or(int(status), usualStatus), Header: map[string]string{}}
	contentType := ""
	switch v := stub.Answer.At("body").(type) {
	case string:
		contentType, response.Body = "text/plain; charset=utf-8", []byte(v)
	default:
		if encoded := stub.Answer.Text("base64"); encoded != "" {
			raw, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				return response, fmt.Errorf("the stub of %s: base64: %w", stub.URL, err)
			}
			contentType, response.Body = "application/octet-stream", raw
		} else if !value.IsUndefined(v) {
			contentType, response.Body = "application/json", []byte(value.JSON(v, ""))
		}
	}
	if contentType != "" {
		response.Header["content-type"] = contentType
	}
	given, _ := stub.Answer.At("headers").(*value.Object)
	for name, v := range given.All() {
		response.Header[strings.ToLower(name)] = value.Text(v)
	}
	return response, nil
}

// callAutomation returns what the first stub that fits says that an automation returns.
func (s *simulation) callAutomation(name string, arguments *value.Object) (result any, ok bool, err error) {
	return s.stubbedCall(suite.Automations, name, arguments)
}

// stubbedCall returns the result of the first stub that fits a call; ok is false when none does.
func (s *simulation) stubbedCall(module, function string, params *value.Object) (result any, ok bool, err error) {
	for i, stub := range s.stubs.Calls {
		if stub.Module != module || stub.Function != function || stub.Times > 0 && s.calls[i] >= stub.Times {
			continue
		}
		if slices.ContainsFunc(stub.Parameters.Keys(), func(key string) bool { return !value.StrictEqual(stub.Parameters.At(key), params.At(key)) }) {
			continue
		}
		s.calls[i]++
		if stub.Error != nil {
			details, _ := stub.Error.At("details").(*value.Object)
			return value.Undefined, true, &automation.Error{Name: stub.Error.Text("error"), Message: stub.Error.Text("message"), Details: details}
		}
		return stub.Result, true, nil
	}
	return value.Undefined, false, nil
}

// Call implements runtime.Collections: rows are in memory, those of each app instance apart.
func (s *simulation) Call(_ context.Context, of collections.Caller, function string, params *value.Object) (any, error) {
	if result, ok, err := s.stubbedCall("collections", function, params); ok {
		return result, err
	}
	in := namespace{of.App, of.Instance}
	memory := s.rows[in]
	if memory == nil {
		memory = collection.NewMemory()
		s.rows[in] = memory
		if in == (namespace{}) {
			if err := s.addRows(memory); err != nil {
				return value.Undefined, err
			}
		}
	}
	result, err := memory.Call(function, params, s.limits, collection.Stamp{Now: s.clock(), UserID: of.UserID, NewID: s.newID}, nil)
	if err != nil {
		return value.Undefined, err
	}
	return result, nil
}

// addRows adds the rows that collections have before.
func (s *simulation) addRows(memory *collection.Memory) error {
	for name, rows := range s.stubs.Collections.All() {
		given, _ := rows.([]any)
		if len(given) == 0 {
			continue
		}
		_, err := memory.Call("bulkCreate", value.NewObject("collection", name, "data", given), s.limits, collection.Stamp{Now: s.clock(), NewID: s.newID}, nil)
		if err != nil {
			return fmt.Errorf("stubs.collections.%s: %w", name, err)
		}
	}
	return nil
}

// collections returns the rows of collections afterwards, by name.
func (s *simulation) collections() *value.Object {
	all, memory := &value.Object{}, s.rows[namespace{}]
	if memory == nil {
		memory = collection.NewMemory()
		if s.addRows(memory) != nil {
			return all
		}
	}
	infos, _ := memory.Infos() // it never fails
	for _, info := range infos {
		rows, err := memory.Call("findMany", value.NewObject("collection", info.Name, "schema", info.Schema), s.limits, collection.Stamp{}, nil)
		if err == nil && info.Schema == "default" {
			all.Set(info.Name, rows)
		}
	}
	return all
}

// usedContexts returns contexts afterwards, by name.
func (s *simulation) usedContexts() *value.Object {
	all := &value.Object{}
	for key, v := range s.contexts {
		if _, named := all.Get(key.Kind); !named || v.Len() > 0 {
			all.Set(key.Kind, v)
		}
	}
	return all
}

// AddDurable implements ratelimit.Counter.
func (s *simulation) AddDurable(_ context.Context, key string, window time.Duration, n int64) (int64, error) {
	key = fmt.Sprintf("%s %d", key, s.clock().UnixNano()/int64(window))
	s.counters[key] += n
	return s.counters[key], nil
}

// Create implements runtime.Topics.
func (s *simulation) Create(context.Context, string, string, []string) error { return nil }

// Join implements runtime.Topics.
func (s *simulation) Join(context.Context, string, string, []string, bool) error { return nil }

// Token implements runtime.Tokens.
func (s *simulation) Token(context.Context, fetch.TokenKind, runtime.Acting, bool) (string, error) {
	return "test-token", nil
}

// RoleKey implements runtime.Tokens.
func (s *simulation) RoleKey(_ context.Context, role string, _ runtime.Acting) (string, error) {
	return "test-key-" + role, nil
}

// Known implements runtime.Registry.
func (s *simulation) Known(context.Context, string) ([]programs.Workspace, error) { return nil, nil }

// Seal implements commands.Vault: nothing of it is stored.
func (s *simulation) Seal(_ context.Context, _ string, plain []byte, _ string) ([]byte, error) {
	return plain, nil
}

// Open implements commands.Vault.
func (s *simulation) Open(_ context.Context, _ string, sealed []byte, _ string) ([]byte, error) {
	return sealed, nil
}

// MAC implements commands.Vault.
func (s *simulation) MAC(_ context.Context, _, purpose string, message []byte) ([]byte, error) {
	sum := sha256.Sum256(append([]byte(purpose), message...))
	return sum[:], nil
}

// secretStubs are the secrets of a case.
type secretStubs struct{ *simulation }

// All implements programs.Secrets.
func (s secretStubs) All(context.Context, string) (map[string]string, error) {
	return s.stubs.Secrets, nil
}

// Open implements runtime.Secrets.
func (s secretStubs) Open(context.Context, string) (map[string]string, *redact.Set, error) {
	return s.stubs.Secrets, redact.New(slices.Sorted(maps.Values(s.stubs.Secrets))...), nil
}

// moduleStubs answers calls of the module secrets.
type moduleStubs struct {
	*simulation
	references *references.References
}

// Resolve implements runtime.References.
func (m moduleStubs) Resolve(ctx context.Context, of references.Holder, text string) (string, []string, error) {
	return m.references.Resolve(ctx, of, text)
}

// Call implements runtime.References.
func (m moduleStubs) Call(ctx context.Context, of references.Holder, function string, params *value.Object) (any, error) {
	if result, ok, err := m.stubbedCall("secrets", function, params); ok {
		return result, err
	}
	return m.references.Call(ctx, of, function, params)
}

// knowledgeStubs answers calls of the module knowledge: a test has no knowledge bases of its own.
type knowledgeStubs struct{ *simulation }

// Call implements runtime.WorkspaceModule.
func (k knowledgeStubs) Call(_ context.Context, c runtime.ModuleCall) (any, error) {
	if result, ok, err := k.stubbedCall("knowledge", c.Function, c.Params); ok {
		return result, err
	}
	return value.Undefined, automation.Raise(automation.KnowledgeFailed, "a test has no knowledge bases: stub the call", "reason", "not_stubbed")
}

// agentStubs answers calls of the module agents: a test has no agents of its own.
type agentStubs struct{ *simulation }

// Call implements runtime.WorkspaceModule.
func (a agentStubs) Call(_ context.Context, c runtime.ModuleCall) (any, error) {
	if result, ok, err := a.stubbedCall("agents", c.Function, c.Params); ok {
		return result, err
	}
	return value.Undefined, automation.Raise(automation.KnowledgeFailed, "a test has no agents: stub the call", "reason", "not_stubbed")
}

// noThrottle delays nothing.
type noThrottle struct{}

// Limits implements runtime.Throttles.
func (noThrottle) Limits(string, throttle.What) bool { return false }

// Wait implements runtime.Throttles.
func (noThrottle) Wait(context.Context, string, throttle.What, int) (time.Duration, error) {
	return 0, nil
}
