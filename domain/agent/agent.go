// Package agent holds what an agent is: instructions for a language model, the knowledge that it may look up, and the
// functions that it may call.
package agent

import (
	"encoding/json"
	"strings"

	"svc/domain/document"
)

// Agent is an agent as its document describes it, with defaults filled in.
type Agent struct {
	Slug         string      `json:"slug"`
	Description  any         `json:"description"` // a text, or texts by language
	Labels       []string    `json:"labels"`
	Instructions string      `json:"instructions"`
	Model        string      `json:"model"` // "": the default
	Temperature  float64     `json:"temperature"`
	MaxTokens    int         `json:"maxTokens"`
	Knowledge    []Knowledge `json:"knowledge"`
	Tools        []Tool      `json:"tools"`
	Memory       Memory      `json:"memory"`
	Limits       Limits      `json:"limits"`
}

// Knowledge is a base that an agent searches.
type Knowledge struct {
	Base    string         `json:"base"`
	Filters map[string]any `json:"filters"`
	TopK    int            `json:"topK"`
	When    string         `json:"when"`   // OnRequest or Always
	Access  string         `json:"access"` // AsCaller or AsAgent
}

// When a base is searched, and with whose rights.
const (
	OnRequest = "tool"   // the model calls a function
	Always    = "always" // with each user message
	AsCaller  = "caller"
	AsAgent   = "agent" // who may execute the agent gets passages of the base
)

// Tool is an automation that the model may call, or an MCP server with functions.
type Tool struct {
	Automation  string         `json:"automation"`
	Name        string         `json:"name"`
	Description any            `json:"description"`
	Arguments   map[string]any `json:"arguments"` // fixed values, which the model does not see
	MCP         *Server        `json:"mcp"`
	Approval    string         `json:"approval"` // "always": a person approves each call
}

// Server is an MCP server.
type Server struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Tools   []string          `json:"tools"` // those that the model may call; none: all
}

// Memory says how many messages of the conversation the model gets with a new one.
type Memory struct {
	Messages int `json:"messages"`
}

// Limits bound the work on one message.
type Limits struct {
	Steps     int `json:"steps"`
	ToolCalls int `json:"toolCalls"`
	Seconds   int `json:"seconds"`
	Tokens    int `json:"tokens"`
}

// SearchFunction is the function that searches the knowledge of an agent.
const SearchFunction = "search_knowledge"

// MaxFunctions is how many functions an agent has at most.
const MaxFunctions = 64

// Parse reads the document of an agent, whose shape was checked.
func Parse(doc *document.Map) (a Agent, err error) {
	body, err := document.JSON(document.Agent.Complete(doc))
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(body, &a)
}

// FunctionName returns how a model calls an automation: by the name that the tool has, else by its slug.
func FunctionName(name, automation string) string {
	if name != "" {
		return name
	}
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, automation)
	return plain[:min(len(plain), 64)]
}
