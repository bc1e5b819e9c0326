package node

import (
	"context"
	"time"

	"svc/cmd/settings"
	mcpclient "svc/commands/mcp"
	"svc/commands/secrets"
	"svc/eventstore/jetstream"
	agenthandlers "svc/http/api/agents"
	"svc/http/api/knowledge"
	"svc/http/api/mcp"
	"svc/http/api/runs"
	"svc/streams/agents"
)

// openAgents opens the conversations with agents. Every node answers messages, and goes on with those of nodes that are
// gone.
func (n *Node) openAgents(ctx context.Context) error {
	s, w := &n.automations, n.workspaces
	working, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "AGENT_MESSAGES"})
	if err != nil {
		return err
	}
	clock := n.opts.Clock
	if clock == nil {
		clock = time.Now
	}
	servers, err := mcpclient.New(mcpclient.Options{
		HTTP: n.egress.Client(0), Resolve: secrets.Secrets{Values: w.secrets}.Resolve, IsOwn: s.egress.Own, Version: n.opts.Version,
	})
	if err != nil {
		return err
	}
	s.agents, err = agents.New(agents.Options{
		ReadModel: n.models, Document: w.library.Document, Models: w.languageModels, Search: w.searcher.Search, Searched: w.recorder.Searched, Programs: s.programs, Runtime: s.runtime, Servers: servers,
		Redactor: w.secrets.Redactor, Identify: n.identity.identity.Identify, Record: n.engine.Record, Used: w.recorder.Used, Data: n.store.Data, Vault: w.vault, Working: working,
		IsGone: s.history.IsGone, Cancel: s.cancels.Cancel, WasCancelled: s.cancels.WasCancelled, Now: clock, NewID: newID, Log: n.log,
		Settings: func() agents.Settings {
			k := n.config().Knowledge
			live := agents.Settings{MaxSteps: k.AgentMaxSteps, MaxTime: k.AgentMaxTime}
			if k.ConversationRetention != settings.Off {
				live.Retention = k.ConversationRetention
			}
			return live
		},
	})
	if err != nil {
		return err
	}
	n.closeWith("messages to agents", s.agents.Close)
	n.repeat("messages to agents", agents.TakeOverEvery, "messages of nodes that are gone are not all answered yet", s.agents.TakeOver)
	n.repeat("conversations", time.Hour, "old conversations are not all erased yet", s.agents.Sweep)
	return nil
}

// mcpHandlers returns the handlers of MCP clients.
func (n *Node) mcpHandlers(runs *runs.Handlers, knowledge *knowledge.Handlers) *mcp.Handlers {
	return &mcp.Handlers{
		Runs: runs, Agents: n.automations.agents, Knowledge: knowledge, Models: n.workspaces.languageModels, Redactor: n.workspaces.secrets.Redactor, Version: n.opts.Version, Log: n.log,
	}
}

// agentHandlers returns the handlers of messages to agents.
func (n *Node) agentHandlers() *agenthandlers.Handlers {
	return &agenthandlers.Handlers{Agents: n.automations.agents}
}
