package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"svc/commands/knowledge"
	"svc/commands/llm"
	mcpclient "svc/commands/mcp"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/agent"
	"svc/domain/value"
)

// function is a function that the model may call.
type function struct {
	llm.Tool

	program *programs.Program // of an automation
	set     *programs.ProgramSet
	fixed   map[string]any     // arguments that win over those of the model
	session *mcpclient.Session // of an MCP server; without it and a program, the function searches knowledge
	remote  string             // its name there
	guarded bool               // a person approves each call
}

// result is what a call comes to.
type result struct {
	text    string
	sources []Source // passages that were found
	err     string   // a stable name; "": it succeeded
	message string
	took    time.Duration
}

func failed(err error) result {
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		return result{err: string(refusal.Code), message: refusal.Message}
	}
	return result{err: "failed", message: "the function failed"}
}

// newFunctions returns the functions of the agent. What does not exist, or is disabled, is left out.
func (r *run) newFunctions(ctx context.Context) (all []function, err error) {
	if all, err = r.ownFunctions(ctx); err != nil {
		return nil, err
	}
	all = r.addServerFunctions(ctx, all)
	if len(all) > agent.MaxFunctions {
		r.o.Log.Warn("an agent has more functions than a model is given; the last ones are left out", "workspace", r.ref.WorkspaceID, "agent", r.ref.Slug, "functions", len(all))
		all = all[:agent.MaxFunctions]
	}
	return all, ctx.Err()
}

// ownFunctions returns the functions of the workspace: the search, and automations.
func (r *run) ownFunctions(ctx context.Context) (all []function, err error) {
	if slices.ContainsFunc(r.agent.Knowledge, func(k agent.Knowledge) bool { return k.When == agent.OnRequest }) {
		all = append(all, function{Tool: llm.Tool{
			Name: agent.SearchFunction, Description: "Search the documents that you may look up. Returns numbered passages.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"Words to look for."}},"required":["query"]}`),
		}})
	}
	if !slices.ContainsFunc(r.agent.Tools, func(t agent.Tool) bool { return t.Automation != "" }) {
		return all, nil
	}
	set, err := r.o.Programs.ProgramSet(ctx, r.ref.WorkspaceID)
	if err != nil || set == nil {
		return all, err
	}
	for _, t := range r.agent.Tools {
		if t.Automation == "" {
			continue
		}
		program, err := set.Root.ResolveCall(t.Automation)
		if err != nil || program.Disabled {
			continue
		}
		all = append(all, function{
			Tool:    llm.Tool{Name: agent.FunctionName(t.Name, t.Automation), Description: program.DescribeFunction(t.Description), Parameters: program.FunctionParameters(t.Arguments)},
			program: program, set: set, fixed: t.Arguments, guarded: t.Approval == "always",
		})
	}
	return all, nil
}

// call performs a call of the model, with the rights of the caller.
func (r *run) call(ctx context.Context, call llm.ToolCall) result {
	i := slices.IndexFunc(r.functions, func(f function) bool { return f.Name == call.Name })
	if i < 0 {
		return result{err: "unknown_function", message: "there is no function " + domain.Shorten(call.Name, 100)}
	}
	v, err := value.ParseJSON(cmp.Or(strings.TrimSpace(call.Arguments), "{}"))
	arguments, ok := v.(*value.Object)
	if err != nil || !ok {
		return result{err: "invalid_arguments", message: "the arguments are not a JSON object"}
	}
	switch f := r.functions[i]; {
	case f.session != nil:
		return r.callServer(ctx, f, value.JSON(arguments, ""))
	case f.program != nil:
		return r.runAutomation(ctx, f, arguments)
	}
	return r.searchFor(ctx, arguments)
}

// searchFor performs a call of the function that searches.
func (r *run) searchFor(ctx context.Context, arguments *value.Object) result {
	query, _ := arguments.At("query").(string)
	if strings.TrimSpace(query) == "" {
		return result{err: "invalid_arguments", message: "query must be a text"}
	}
	found, err := r.search(ctx, query, agent.OnRequest)
	if err != nil {
		return failed(err)
	}
	if len(found) == 0 {
		return result{text: "nothing was found"}
	}
	return result{sources: found}
}

// search looks passages up in the bases that are searched at this occasion. Bases that are gone, and those whose
// documents the caller may not read, have none.
func (r *run) search(ctx context.Context, query, when string) (found []Source, err error) {
	no := false
	for _, k := range r.agent.Knowledge {
		if k.When != when {
			continue
		}
		in := knowledge.SearchRequest{
			WorkspaceID: r.ref.WorkspaceID, Bases: []string{k.Base}, Rights: r.caller.Rights, Within: k.Filters,
			SearchQuery: knowledge.SearchQuery{Query: knowledge.Words(query), Group: "chunk", Limit: &k.TopK, Highlight: &no},
		}
		if k.Access == agent.AsAgent {
			in.Rights = nil
		}
		if in.Query == "" {
			continue
		}
		answer, err := r.o.Search(ctx, in)
		switch domain.CodeOf(err) {
		case domain.CodeNotFound, domain.CodePermissionDenied, domain.CodeWorkspaceDenied, domain.CodeMissingToken:
			continue
		}
		if err != nil {
			return nil, err
		}
		in.Query = "" // it is text of the conversation, which is in no event
		r.o.Searched(ctx, in, answer)
		for _, result := range answer.Results {
			for _, p := range result.Passages {
				found = append(found, Source{result.Document, p})
			}
		}
	}
	return found, nil
}

// runAutomation performs a call of an automation.
func (r *run) runAutomation(ctx context.Context, f function, arguments *value.Object) result {
	for name, v := range f.fixed {
		arguments.Set(name, value.From(v))
	}
	id := r.work().MessageID
	trigger := activity.Trigger{Type: activity.ByAgent, Value: r.ref.Slug, ID: id, AppInstanceSlug: f.program.Scope.Instance}
	meta := r.work().Request.Meta
	meta.CorrelationID = id // it is cancelled with the message
	handle := r.o.Runtime.Launch(runtime.Start{
		ProgramSet: f.set, Program: f.program, Trigger: trigger, Input: arguments, Caller: r.caller.Caller,
		CorrelationID: id, Depth: r.work().Request.Depth + 1, Attempt: 1, Meta: meta,
		Facts: []domain.Event{activity.Interaction{WorkspaceID: r.ref.WorkspaceID, Automation: f.program.Name, Trigger: trigger, StartedAt: domain.FormatTime(r.o.Now())}},
	})
	select {
	case <-handle.Done():
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errLeft) { // only the automation ends: somebody goes on with the message
			r.o.Runtime.Cancel(r.ref.WorkspaceID, id)
		} else if err := r.o.Cancel(r.ref.WorkspaceID, id); err != nil {
			r.o.Log.Warn("an automation of a message was not cancelled", "message", id, "err", err)
		}
		return result{err: "interrupted", message: "the message has ended"}
	}
	outcome, err := handle.Outcome()
	switch {
	case err != nil:
		return result{err: "interrupted", message: "the automation was interrupted"}
	case outcome.Err != nil:
		return result{err: outcome.Err.Name, message: outcome.Err.Message}
	case value.IsUndefined(outcome.Output):
		return result{text: "null"}
	}
	return result{text: value.JSON(outcome.Output, "")}
}
