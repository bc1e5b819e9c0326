// Package fakemodel is a model server that needs no model. It speaks the protocol of OpenAI, and the same request always
// gets the same answer. Tests start it with httptest; a node starts it for LLM_BASE_URL=demo, so that the service can be
// tried without a key.
//
// What it answers is told by the last message of the user: say:{text}, call:{function} {json}, fail:{status}, slow:{ms},
// cut, length, filter, badargs, nousage, loop. Without any of these it cites the first source.
package fakemodel

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// What the server knows and demands.
const (
	Key            = "test-key"
	ChatModel      = "fake-chat"
	EmbeddingModel = "fake-embed"
)

// Server is a model server. All methods are safe for concurrent use.
type Server struct {
	demo bool // only the answers: no directives, no record of calls
	mux  *http.ServeMux

	mu         sync.Mutex
	calls      []Call
	script     []Reply
	dimensions int // where none are asked for; 0: DefaultDimensions
}

// Call is a request that the server received.
type Call struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body,omitempty"`
	Ended  bool            `json:"ended,omitempty"` // the client left before the answer was complete
}

// Reply is an answer of the script. In JSON it may be a text, or the number of a status.
type Reply struct {
	Text       string     `json:"text,omitempty"`
	Status     int        `json:"status,omitempty"`     // an error with this status, instead of an answer
	RetryAfter string     `json:"retryAfter,omitempty"` // the header, with a status
	Calls      []Function `json:"calls,omitempty"`
	Finish     string     `json:"finish,omitempty"` // default stop, or tool_calls
	SlowMS     int        `json:"slow,omitempty"`   // pause before each chunk
	Cut        bool       `json:"cut,omitempty"`    // the connection is closed after two chunks
	NoUsage    bool       `json:"noUsage,omitempty"`
}

// Function is a call of a function.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Reply) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &r.Text) == nil || json.Unmarshal(text, &r.Status) == nil {
		return nil
	}
	type plain Reply
	return json.Unmarshal(text, (*plain)(r))
}

// New returns a server for tests.
func New() *Server { return newServer(false) }

// NewDemo returns a server that only answers: words of a question are no directives, and calls are not recorded.
func NewDemo() *Server { return newServer(true) }

func newServer(demo bool) *Server {
	s := &Server{demo: demo, mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /v1/models", s.authorized(s.listModels))
	s.mux.HandleFunc("POST /v1/embeddings", s.authorized(s.embed))
	s.mux.HandleFunc("POST /v1/chat/completions", s.authorized(s.chat))
	if !demo {
		s.mux.HandleFunc("GET /_calls", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Calls()) })
		s.mux.HandleFunc("POST /_script", s.takeScript)
	}
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Calls returns the requests received, in order.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Count returns how many requests with this path were received.
func (s *Server) Count(path string) (n int) {
	for _, c := range s.Calls() {
		if c.Path == path {
			n++
		}
	}
	return n
}

// Script adds replies that are given before the rules count.
func (s *Server) Script(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
}

// SetDimensions changes the length of vectors where none is asked for, as a provider does that puts another model behind a
// name.
func (s *Server) SetDimensions(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dimensions = n
}

func (s *Server) takeScript(w http.ResponseWriter, r *http.Request) {
	var replies []Reply
	if err := json.NewDecoder(r.Body).Decode(&replies); err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	s.Script(replies...)
	writeJSON(w, map[string]int{"replies": len(replies)})
}

// nextReply takes the next reply of the script. One that is no failure stays there for a conversation.
func (s *Server) nextReply(isChat bool) (Reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.script) == 0 || !isChat && s.script[0].Status == 0 {
		return Reply{}, false
	}
	next := s.script[0]
	s.script = s.script[1:]
	return next, true
}

// maxRequest bounds a request, in bytes.
const maxRequest = 32 << 20

// handler answers a request with this body. number is that of the call; below 0: it is not recorded.
type handler func(w http.ResponseWriter, r *http.Request, body []byte, number int)

// authorized records a request and refuses one without the key.
func (s *Server) authorized(next handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
		if err != nil {
			return // the client is gone
		}
		number := -1
		if !s.demo {
			s.mu.Lock()
			number = len(s.calls)
			s.calls = append(s.calls, Call{Method: r.Method, Path: r.URL.Path, Body: json.RawMessage(body)})
			s.mu.Unlock()
		}
		if r.Header.Get("Authorization") != "Bearer "+Key {
			writeError(w, http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided: "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			return
		}
		next(w, r, body, number)
	}
}

// markEnded records that the client left.
func (s *Server) markEnded(number int) {
	if number < 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[number].Ended = true
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func writeError(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": "fake_error", "code": code}}) // the client may be gone
}

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request, _ []byte, _ int) {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	writeJSON(w, map[string]any{"object": "list", "data": []model{{ChatModel, "model"}, {EmbeddingModel, "model"}}})
}

func (s *Server) embed(w http.ResponseWriter, _ *http.Request, body []byte, _ int) {
	var in struct {
		Model      string `json:"model"`
		Input      any    `json:"input"`
		Dimensions int    `json:"dimensions"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	if in.Model != EmbeddingModel {
		unknownModel(w, in.Model)
		return
	}
	if reply, ok := s.nextReply(false); ok {
		writeStatus(w, reply)
		return
	}
	texts, ok := in.Input.([]any)
	if !ok {
		texts = []any{in.Input}
	}
	type item struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	}
	if in.Dimensions == 0 {
		s.mu.Lock()
		in.Dimensions = s.dimensions
		s.mu.Unlock()
	}
	data, tokens := []item{}, 0
	for i, text := range texts {
		text := fmt.Sprint(text)
		data = append(data, item{"embedding", i, Embedding(text, in.Dimensions)})
		tokens += len(words(text))
	}
	writeJSON(w, map[string]any{"object": "list", "model": in.Model, "data": data, "usage": map[string]int{"prompt_tokens": tokens, "total_tokens": tokens}})
}

func unknownModel(w http.ResponseWriter, name string) {
	writeError(w, http.StatusNotFound, "model_not_found", "The model `"+name+"` does not exist")
}

func writeStatus(w http.ResponseWriter, r Reply) {
	if r.RetryAfter != "" {
		w.Header().Set("Retry-After", r.RetryAfter)
	}
	writeError(w, r.Status, "scripted", "scripted failure "+strconv.Itoa(r.Status))
}

// DefaultDimensions is the length of a vector where none is asked for.
const DefaultDimensions = 64

// Embedding returns the vector of a text: each word adds 1 or -1 to a component that its hash tells, and the length is 1.
func Embedding(text string, dimensions int) []float64 {
	if dimensions <= 0 {
		dimensions = DefaultDimensions
	}
	v := make([]float64, dimensions)
	for _, word := range words(text) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(word)) // it never fails
		sum, sign := h.Sum64(), 1.0
		if sum>>63 == 1 {
			sign = -1
		}
		v[sum%uint64(dimensions)] += sign
	}
	length := 0.0
	for _, x := range v {
		length += x * x
	}
	for i := range v {
		if length > 0 {
			v[i] /= math.Sqrt(length)
		}
	}
	return v
}

// words returns the words of a text in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// tool is a function that a request offers.
type tool struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// chatRequest is what the server reads of a request.
type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	Tools         []tool `json:"tools"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

func (r chatRequest) lastUser() string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			return m.Content
		}
	}
	return ""
}

func (r chatRequest) hasTool(name string) bool {
	return slices.ContainsFunc(r.Tools, func(t tool) bool { return t.Function.Name == name })
}

var (
	sayPattern    = regexp.MustCompile(`say:(.*)`)
	callPattern   = regexp.MustCompile(`call:([A-Za-z0-9_-]+) (\{.*\})`)
	failPattern   = regexp.MustCompile(`\bfail:(\d{3})\b`)
	slowPattern   = regexp.MustCompile(`\bslow:(\d{1,6})\b`)
	sourcePattern = regexp.MustCompile(`(?s)<source n="1"[^>]*>(.*?)</source>`)
)

func hasWord(text, word string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }), word)
}

// rule returns the reply to a conversation by its last message.
func (r chatRequest) rule(demo bool) Reply {
	last := r.lastUser()
	if demo {
		return Reply{Text: citation(last)}
	}
	loops := hasWord(last, "loop") && len(r.Tools) > 0
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == "tool" && !loops {
		return Reply{Text: "tool said: " + r.Messages[n-1].Content}
	}
	if said := sayPattern.FindStringSubmatch(last); said != nil {
		return Reply{Text: strings.TrimSpace(said[1])}
	}
	var calls []Function
	for _, found := range callPattern.FindAllStringSubmatch(last, -1) {
		if r.hasTool(found[1]) {
			calls = append(calls, Function{found[1], found[2]})
		}
	}
	if len(calls) > 0 {
		return Reply{Calls: calls}
	}
	reply := Reply{Text: citation(last)}
	if found := failPattern.FindStringSubmatch(last); found != nil {
		reply.Status, _ = strconv.Atoi(found[1])
	}
	if found := slowPattern.FindStringSubmatch(last); found != nil {
		reply.SlowMS, _ = strconv.Atoi(found[1])
	}
	reply.Cut, reply.NoUsage = hasWord(last, "cut"), hasWord(last, "nousage")
	switch {
	case hasWord(last, "length"):
		reply.Finish = "length"
	case hasWord(last, "filter"):
		reply.Finish = "content_filter"
	case hasWord(last, "badargs") && len(r.Tools) > 0:
		reply = Reply{Calls: []Function{{r.Tools[0].Function.Name, `{"broken`}}}
	case loops:
		reply = Reply{Calls: []Function{{r.Tools[0].Function.Name, `{}`}}}
	}
	return reply
}

// citedWords is how much of a source an answer repeats.
const citedWords = 5

// citation is the beginning of the first source.
func citation(text string) string {
	source := sourcePattern.FindStringSubmatch(text)
	if source == nil {
		return "no source"
	}
	first := strings.Fields(source[1])
	return strings.Join(first[:min(citedWords, len(first))], " ") + " [1]"
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request, body []byte, number int) {
	var in chatRequest
	if err := json.Unmarshal(body, &in); err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request", err.Error())
		return
	}
	if in.Model != ChatModel {
		unknownModel(w, in.Model)
		return
	}
	reply, scripted := s.nextReply(true)
	if !scripted {
		reply = in.rule(s.demo)
	}
	if reply.Status != 0 {
		writeStatus(w, reply)
		return
	}
	usage := map[string]int{"prompt_tokens": 0, "completion_tokens": len(words(reply.Text))}
	for _, m := range in.Messages {
		usage["prompt_tokens"] += len(words(m.Content))
	}
	usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
	finish := reply.Finish
	switch {
	case finish == "" && len(reply.Calls) > 0:
		finish = "tool_calls"
	case finish == "":
		finish = "stop"
	}
	if !in.Stream {
		answer := map[string]any{"id": "c1", "object": "chat.completion", "model": in.Model, "choices": []any{map[string]any{
			"index": 0, "finish_reason": finish, "message": map[string]any{"role": "assistant", "content": reply.Text, "tool_calls": reply.toolCalls()},
		}}}
		if !reply.NoUsage {
			answer["usage"] = usage
		}
		writeJSON(w, answer)
		return
	}
	stream := &chunkStream{Server: s, w: w, r: r, number: number, reply: reply}
	for _, delta := range reply.deltas() {
		if !stream.send([]any{map[string]any{"index": 0, "delta": delta}}, nil) {
			return
		}
	}
	if !stream.send([]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}, nil) {
		return
	}
	if in.StreamOptions.IncludeUsage && !reply.NoUsage && !stream.send([]any{}, usage) {
		return
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n") // the client may be gone
}

func (r Reply) toolCalls() (calls []map[string]any) {
	for i, c := range r.Calls {
		calls = append(calls, map[string]any{
			"index": i, "id": "call_" + strconv.Itoa(i+1), "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments},
		})
	}
	return calls
}

// deltas returns the pieces of a reply: one for each word, two for each call.
func (r Reply) deltas() (deltas []map[string]any) {
	for _, word := range strings.SplitAfter(r.Text, " ") {
		if word != "" {
			deltas = append(deltas, map[string]any{"role": "assistant", "content": word})
		}
	}
	for i, call := range r.toolCalls() {
		arguments := r.Calls[i].Arguments
		half := len(string([]rune(arguments)[:len([]rune(arguments))/2]))
		call["function"].(map[string]any)["arguments"] = arguments[:half]
		rest := map[string]any{"index": i, "function": map[string]any{"arguments": arguments[half:]}}
		deltas = append(deltas, map[string]any{"tool_calls": []any{call}}, map[string]any{"tool_calls": []any{rest}})
	}
	return deltas
}

// chunkStream sends the chunks of a reply.
type chunkStream struct {
	*Server
	w      http.ResponseWriter
	r      *http.Request
	number int
	reply  Reply
	sent   int
}

// cutAfter is after how many chunks a connection is cut.
const cutAfter = 2

// send sends a chunk and reports whether there is anybody to send more to.
func (c *chunkStream) send(choices []any, usage any) bool {
	if c.reply.Cut && c.sent == cutAfter {
		panic(http.ErrAbortHandler) // closes the connection
	}
	if c.reply.SlowMS > 0 {
		pause := time.NewTimer(time.Duration(c.reply.SlowMS) * time.Millisecond)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-c.r.Context().Done():
		}
	}
	if c.r.Context().Err() != nil {
		c.markEnded(c.number)
		return false
	}
	chunk := map[string]any{"id": "c1", "object": "chat.completion.chunk", "choices": choices}
	if usage != nil {
		chunk["usage"] = usage
	}
	text, err := json.Marshal(chunk)
	if err != nil {
		return false
	}
	c.w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(c.w, "data: %s\n\n", text) // the client may be gone
	if f, ok := c.w.(http.Flusher); ok {
		f.Flush()
	}
	c.sent++
	return true
}
