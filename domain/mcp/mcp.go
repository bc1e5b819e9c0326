// Package mcp has the messages of the Model Context Protocol: JSON-RPC 2.0, one message in the body of each request and
// response (Streamable HTTP). The server of a workspace and the client of agents share them.
package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Versions of the protocol. Clients of the older ones begin with initialize. Those of Stateless send their version with
// each request, and may begin with server/discover.
const (
	Latest    = "2025-11-25" // that initialize agrees on
	Stateless = "2026-07-28"
)

// versions are those that are spoken, the newest first.
var versions = []string{Stateless, Latest, "2025-06-18", "2025-03-26"}

// Versions returns the versions of the protocol that are spoken, the newest first.
func Versions() []string { return slices.Clone(versions) }

// IsSpoken reports whether a version of the protocol is spoken.
func IsSpoken(version string) bool { return slices.Contains(versions, version) }

// Headers of requests.
const (
	VersionHeader = "Mcp-Protocol-Version"
	SessionHeader = "Mcp-Session-Id"
	MethodHeader  = "Mcp-Method" // of Stateless: the method of the message
	NameHeader    = "Mcp-Name"   // of Stateless: the tool that is called
)

// Methods.
const (
	Initialize = "initialize"
	Ready      = "notifications/initialized" // of the client, after initialize
	Discover   = "server/discover"
	Ping       = "ping"
	ListTools  = "tools/list"
	CallTool   = "tools/call"
)

// Codes of errors.
const (
	ParseError         = -32700 // no JSON
	InvalidRequest     = -32600 // no JSON-RPC
	MethodNotFound     = -32601
	InvalidParams      = -32602
	InternalError      = -32603
	HeaderMismatch     = -32020
	UnsupportedVersion = -32022
)

// Message is a request, a notification (without ID) or a response (without Method).
type Message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"` // a text or a number
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// Error is why there is no result.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Errorf returns an error with a code.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Parse reads one message, which must be JSON. Batches are no part of the protocol any more.
func Parse(body []byte) (m Message, err *Error) {
	if json.Unmarshal(body, &m) != nil {
		return Message{}, Errorf(InvalidRequest, "the body must be one JSON-RPC message")
	}
	switch first := append(bytes.TrimSpace(m.ID), ' ')[0]; {
	case m.JSONRPC != "2.0":
		return m, Errorf(InvalidRequest, `jsonrpc must be "2.0"`)
	case len(m.ID) > 0 && first != '"' && first != '-' && (first < '0' || first > '9'):
		m.ID = nil
		return m, Errorf(InvalidRequest, "id must be a text or a number")
	case m.Method == "" && m.Result == nil && m.Error == nil:
		return m, Errorf(InvalidRequest, "method is required")
	}
	return m, nil
}

// Implementation names a client or a server.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// InitializeParams are what a client begins with.
type InitializeParams struct {
	ProtocolVersion string         `json:"protocolVersion"`
	Capabilities    map[string]any `json:"capabilities"`
	ClientInfo      Implementation `json:"clientInfo"`
}

// InitializeResult is what a server answers to initialize.
type InitializeResult struct {
	ProtocolVersion string         `json:"protocolVersion"`
	Capabilities    map[string]any `json:"capabilities"`
	ServerInfo      Implementation `json:"serverInfo"`
	Instructions    string         `json:"instructions,omitempty"`
}

// DiscoverResult is what a server answers to server/discover.
type DiscoverResult struct {
	SupportedVersions []string       `json:"supportedVersions"`
	Capabilities      map[string]any `json:"capabilities"`
	Instructions      string         `json:"instructions,omitempty"`
	Meta              map[string]any `json:"_meta,omitempty"`
	Cacheable
}

// ServerInfoKey is where DiscoverResult names the server in its Meta.
const ServerInfoKey = "io.modelcontextprotocol/serverInfo"

// Cacheable says how long a client may keep a result, and for whom.
type Cacheable struct {
	ResultType string `json:"resultType,omitempty"`
	TTL        int    `json:"ttlMs"` // milliseconds
	CacheScope string `json:"cacheScope"`
}

// Uncached is a result that is for this caller and this moment.
func Uncached() Cacheable { return Cacheable{"complete", 0, "private"} }

// Tool is a function that a client may call.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations *Annotations    `json:"annotations,omitempty"`
}

// Annotations are hints about a tool.
type Annotations struct {
	ReadOnly bool `json:"readOnlyHint"`
}

// ListToolsParams ask for a page of tools.
type ListToolsParams struct {
	Cursor string `json:"cursor,omitempty"` // "": the first page
}

// ListToolsResult is a page of tools.
type ListToolsResult struct {
	Tools      []Tool `json:"tools"`
	NextCursor string `json:"nextCursor,omitempty"` // "": there are no more
	Cacheable
}

// CallToolParams call a tool.
type CallToolParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // an object
}

// CallToolResult is what a tool came to.
type CallToolResult struct {
	ResultType        string          `json:"resultType,omitempty"`
	Content           []Content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"` // an object
	IsError           bool            `json:"isError,omitempty"`
}

// Content is a part of a result. Only texts are read.
type Content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	MimeType string `json:"mimeType,omitempty"`
	URI      string `json:"uri,omitempty"`
}

// TextResult returns a text as the result of a tool.
func TextResult(text string, failed bool) CallToolResult {
	return CallToolResult{ResultType: "complete", Content: []Content{{Type: "text", Text: text}}, IsError: failed}
}
