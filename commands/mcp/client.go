// Package mcp calls the tools of MCP servers that a workspace names: Streamable HTTP, through the one way out.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc/commands/egress"
	"svc/domain"
	"svc/domain/agent"
	"svc/domain/automation/sse"
	"svc/domain/mcp"
)

// Options configure a Client. HTTP and Resolve are required.
type Options struct {
	HTTP *http.Client // checks addresses; redirects are not followed
	// Resolve replaces {{secret.NAME}} by the secrets of a workspace. It refuses what the workspace does not have.
	Resolve func(ctx context.Context, workspaceID, text string) (string, error)
	// IsOwn reports whether an address is one of the platform: agents would call each other without end.
	IsOwn       func(*url.URL) bool
	Version     string        // of the service
	ListTimeout time.Duration // to connect and list tools; default 15s
	CallTimeout time.Duration // of a call; default 60s
}

// Client calls MCP servers. It is safe for concurrent use.
type Client struct{ o Options }

// New returns a Client.
func New(o Options) (*Client, error) {
	if o.HTTP == nil || o.Resolve == nil {
		return nil, errors.New("mcp: Options lack a required field")
	}
	if o.IsOwn == nil {
		o.IsOwn = func(*url.URL) bool { return false }
	}
	if o.ListTimeout == 0 {
		o.ListTimeout = 15 * time.Second
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = time.Minute
	}
	o.HTTP = egress.WithoutRedirects(o.HTTP)
	return &Client{o}, nil
}

// Fault is why a server did not do what it was asked. Its texts are our own, or what the server said, in short.
type Fault struct {
	Reason  string // server_unavailable, server_timeout, server_refused
	Message string
	expired bool // the server does not know the session any more
	cause   error
}

// Error implements error.
func (f *Fault) Error() string { return f.Reason + ": " + f.Message }

// Unwrap returns what it comes from.
func (f *Fault) Unwrap() error { return f.cause }

func unavailable(cause error, format string, args ...any) *Fault {
	return &Fault{Reason: "server_unavailable", Message: fmt.Sprintf(format, args...), cause: cause}
}

// Session is a connection to a server, for one message to an agent. It is safe for concurrent use.
type Session struct {
	c       *Client
	url     string
	headers http.Header

	mu      sync.Mutex
	id      string // "": the server has none
	version string
	next    int // id of the next request
}

// Connect greets a server.
func (c *Client) Connect(ctx context.Context, workspaceID string, server agent.Server) (*Session, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.ListTimeout)
	defer cancel()
	u, err := url.Parse(server.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil:
		return nil, unavailable(err, "the address of the MCP server must be http or https, without credentials")
	case c.o.IsOwn(u):
		return nil, unavailable(nil, "the platform itself is no MCP server for its agents")
	}
	s := &Session{c: c, url: server.URL, headers: http.Header{}}
	for name, text := range server.Headers {
		value, err := c.o.Resolve(ctx, workspaceID, text)
		if refusal, ok := errors.AsType[*domain.Error](err); ok {
			return nil, unavailable(err, "%s", refusal.Message)
		}
		if err != nil {
			return nil, err
		}
		s.headers.Set(name, value)
	}
	return s, s.greet(ctx)
}

// greet begins a session: servers without one need it too, to agree on the version of the protocol.
func (s *Session) greet(ctx context.Context) error {
	s.mu.Lock()
	s.id, s.version = "", ""
	s.mu.Unlock()
	var agreed mcp.InitializeResult
	err := s.request(ctx, mcp.Initialize, mcp.InitializeParams{
		ProtocolVersion: mcp.Latest, Capabilities: map[string]any{}, ClientInfo: mcp.Implementation{Name: "svc", Version: s.c.o.Version},
	}, &agreed)
	if err != nil {
		return err
	}
	if !mcp.IsSpoken(agreed.ProtocolVersion) {
		return unavailable(nil, "the MCP server speaks version %q of the protocol, which is not spoken here", domain.Shorten(agreed.ProtocolVersion, 40))
	}
	s.mu.Lock()
	s.version = agreed.ProtocolVersion
	s.mu.Unlock()
	_, err = s.send(ctx, mcp.Message{JSONRPC: "2.0", Method: mcp.Ready})
	return err
}

// Close tells the server that the session is over. Whether it hears that is its own matter.
func (s *Session) Close(ctx context.Context) {
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	if id == "" {
		return
	}
	req, err := s.newRequest(ctx, http.MethodDelete, nil)
	if err != nil {
		return
	}
	if res, err := s.c.o.HTTP.Do(req); err == nil {
		_ = res.Body.Close()
	}
}

// Limits of what a server says.
const (
	maxAnswer = 4 << 20 // bytes of an answer
	maxPages  = 20      // of the list of tools
	maxSaid   = 300     // characters of an error that are told on
)

// Tools lists the tools of the server.
func (s *Session) Tools(ctx context.Context) (tools []mcp.Tool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.c.o.ListTimeout)
	defer cancel()
	var page mcp.ListToolsResult
	for range maxPages {
		cursor := page.NextCursor
		page = mcp.ListToolsResult{}
		if err := s.request(ctx, mcp.ListTools, mcp.ListToolsParams{Cursor: cursor}, &page); err != nil {
			return nil, err
		}
		tools = append(tools, page.Tools...)
		if page.NextCursor == "" {
			break
		}
	}
	return tools, nil
}

// Call calls a tool. A server that has forgotten the session is greeted again: it has not called the tool.
func (s *Session) Call(ctx context.Context, name string, arguments json.RawMessage) (result mcp.CallToolResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.c.o.CallTimeout)
	defer cancel()
	call := mcp.CallToolParams{Name: name, Arguments: arguments}
	err = s.request(ctx, mcp.CallTool, call, &result)
	if f, ok := errors.AsType[*Fault](err); ok && f.expired {
		if err = s.greet(ctx); err == nil {
			err = s.request(ctx, mcp.CallTool, call, &result)
		}
	}
	return result, err
}

// request sends a request and reads its result.
func (s *Session) request(ctx context.Context, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.next++
	id := strconv.Itoa(s.next)
	s.mu.Unlock()
	m, err := s.send(ctx, mcp.Message{JSONRPC: "2.0", ID: json.RawMessage(id), Method: method, Params: body})
	switch {
	case err != nil:
		return err
	case m.Error != nil:
		return &Fault{Reason: "server_refused", Message: domain.Shorten(m.Error.Message, maxSaid), cause: m.Error}
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return unavailable(err, "the MCP server answered with what is no result of %s", method)
	}
	return nil
}

func (s *Session) newRequest(ctx context.Context, method string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url, body)
	if err != nil {
		return nil, unavailable(err, "the address of the MCP server is none")
	}
	req.Header = s.headers.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, "+sse.MediaType)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != "" {
		req.Header.Set(mcp.VersionHeader, s.version)
	}
	if s.id != "" {
		req.Header.Set(mcp.SessionHeader, s.id)
	}
	return req, nil
}

// send sends a message and returns the answer to it; to a notification there is none.
func (s *Session) send(ctx context.Context, m mcp.Message) (answer mcp.Message, err error) {
	body, err := json.Marshal(m)
	if err != nil {
		return answer, err
	}
	req, err := s.newRequest(ctx, http.MethodPost, bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	known := req.Header.Get(mcp.SessionHeader)
	res, err := s.c.o.HTTP.Do(req)
	if err != nil {
		return answer, s.faultOf(ctx, err, "the MCP server could not be reached")
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound && known != "":
		return answer, &Fault{Reason: "server_unavailable", Message: "the MCP server has ended the session", expired: true}
	case res.StatusCode/100 != 2:
		return answer, unavailable(nil, "the MCP server answered with status %d", res.StatusCode)
	case len(m.ID) == 0:
		return answer, nil
	}
	if m.Method == mcp.Initialize {
		s.mu.Lock()
		s.id = res.Header.Get(mcp.SessionHeader)
		s.mu.Unlock()
	}
	if answer, err = readAnswer(res, m.ID); err != nil {
		return answer, s.faultOf(ctx, err, "the MCP server gave no answer that can be read")
	}
	return answer, nil
}

// faultOf says why a request failed.
func (s *Session) faultOf(ctx context.Context, err error, otherwise string) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &Fault{Reason: "server_timeout", Message: "the MCP server took too long", cause: err}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, new(*egress.Refused)):
		return unavailable(err, "the address of the MCP server may not be reached")
	}
	return unavailable(err, "%s", otherwise)
}

var (
	errNoAnswer = errors.New("mcp: the answer ended without the response")
	errFound    = errors.New("mcp: the response was found")
)

// readAnswer reads the response with an id out of JSON, or of a stream in which other messages may come before it.
func readAnswer(res *http.Response, id json.RawMessage) (found mcp.Message, err error) {
	body := io.LimitReader(res.Body, maxAnswer)
	take := func(text []byte) error {
		m, fault := mcp.Parse(text)
		if fault != nil {
			return fault
		}
		if m.Method == "" && bytes.Equal(m.ID, id) {
			found = m
			return errFound
		}
		return nil
	}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == sse.MediaType {
		err = sse.Read(body, maxAnswer, func(e sse.Event) error {
			if e.Name != "" && e.Name != "message" || strings.TrimSpace(e.Data) == "" {
				return nil
			}
			return take([]byte(e.Data))
		})
	} else {
		var text []byte
		if text, err = io.ReadAll(body); err == nil {
			err = take(text)
		}
	}
	switch {
	case errors.Is(err, errFound):
		return found, nil
	case err == nil:
		return found, errNoAnswer
	}
	return found, err
}
