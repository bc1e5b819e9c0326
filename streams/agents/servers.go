package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	mcpclient "svc/commands/mcp"
	"svc/domain"
	"svc/domain/agent"
	"svc/domain/mcp"
)

// serverTools are the tools of an MCP server of the agent.
type serverTools struct {
	session *mcpclient.Session
	tools   []mcp.Tool
}

// addServerFunctions adds the functions of the MCP servers of the agent, as they list them now. A server that cannot be
// reached is left out, as an automation that is gone.
func (r *run) addServerFunctions(ctx context.Context, all []function) []function {
	found := make([]serverTools, len(r.agent.Tools))
	slots := make(chan struct{}, maxParallel)
	var asked sync.WaitGroup
	for i, t := range r.agent.Tools {
		if t.MCP == nil {
			continue
		}
		asked.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			var err error
			if found[i].session, err = r.o.Servers.Connect(ctx, r.ref.WorkspaceID, *t.MCP); err == nil {
				found[i].tools, err = found[i].session.Tools(ctx)
			}
			if err != nil && ctx.Err() == nil {
				r.o.Log.Warn("an MCP server of an agent is left out", "workspace", r.ref.WorkspaceID, "agent", r.ref.Slug, "host", hostOf(t.MCP.URL), "err", err)
			}
		})
	}
	asked.Wait()
	names := map[string]bool{}
	for _, f := range all {
		names[f.Name] = true
	}
	for i, t := range r.agent.Tools {
		if found[i].session == nil {
			continue
		}
		r.sessions = append(r.sessions, found[i].session)
		for _, tool := range found[i].tools {
			if tool.Name == "" || len(t.MCP.Tools) > 0 && !slices.Contains(t.MCP.Tools, tool.Name) {
				continue
			}
			name := agent.FunctionName("", tool.Name)
			if names[name] { // another function has it
				name = agent.FunctionName("", hostOf(t.MCP.URL)+"_"+tool.Name)
			}
			if names[name] {
				continue
			}
			names[name] = true
			f := function{session: found[i].session, remote: tool.Name, guarded: t.Approval == "always"}
			f.Name, f.Description, f.Parameters = name, domain.Shorten(tool.Description, maxDescription), schemaOfTool(tool.InputSchema)
			all = append(all, f)
		}
	}
	return all
}

// Limits of what a server says of a tool.
const (
	maxDescription = 1000   // characters
	maxSchema      = 20_000 // bytes
)

// schemaOfTool returns the schema of a tool, if a model can be shown it.
func schemaOfTool(schema json.RawMessage) json.RawMessage {
	if schema = bytes.TrimSpace(schema); len(schema) == 0 || len(schema) > maxSchema || schema[0] != '{' {
		return json.RawMessage(`{"type":"object"}`)
	}
	return schema
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return ""
}

// callServer performs a call of a function of an MCP server.
func (r *run) callServer(ctx context.Context, f function, arguments string) result {
	got, err := f.session.Call(ctx, f.remote, json.RawMessage(arguments))
	if fault, ok := errors.AsType[*mcpclient.Fault](err); ok {
		return result{err: fault.Reason, message: fault.Message}
	}
	if err != nil {
		return failed(err)
	}
	text := textOfContent(got)
	if got.IsError {
		return result{err: "tool_failed", message: cut(text)}
	}
	return result{text: text}
}

// textOfContent returns the texts of a result; what is no text is named only.
func textOfContent(got mcp.CallToolResult) string {
	if len(got.Content) == 0 {
		return string(got.StructuredContent)
	}
	parts := make([]string, len(got.Content))
	for i, c := range got.Content {
		if parts[i] = c.Text; c.Type != "text" {
			parts[i] = strings.TrimSpace("[" + domain.Shorten(c.Type, 40) + "] " + domain.Shorten(c.URI, 300))
		}
	}
	return strings.Join(parts, "\n")
}

// closeTimeout limits how long servers are told that a message has ended.
const closeTimeout = 5 * time.Second

// closeSessions ends the sessions with MCP servers.
func (r *run) closeSessions() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	for _, s := range r.sessions {
		s.Close(ctx)
	}
}
