package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"

	"svc/commands"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/page"
	"svc/domain/value"
	"svc/http/gateway"
)

// Limits of the automations of one rendering.
const (
	maxRounds   = 5   // blocks appear by outputs of others
	maxCalls    = 100 // of automations
	maxParallel = 8
)

// automationRun runs the automations of a page and its blocks for one rendering.
type automationRun struct {
	*visit
	view    *page.View
	page    string                   // slug
	outputs map[string]*value.Object // by path of the block; "" for the page
	calls   int
}

// errForbidden says that the visitor may not execute an automation.
var errForbidden = errors.New("the automation is not for this visitor")

// all runs the automation of the page, then those of its blocks in parallel, as long as new ones appear. It fails only
// when the automation of the page is forbidden.
func (a *automationRun) all(tree *page.Tree) (*page.Tree, error) {
	ctx, cancel := context.WithTimeout(a.request.Context(), a.Timeout())
	defer cancel()
	if tree.Call != nil {
		output, err := a.call(ctx, tree.Call)
		if errors.Is(err, errForbidden) {
			return nil, a.refusal()
		}
		a.fold(tree, "", tree.Call, output, err)
		tree = a.view.Expand()
	}
	tried := map[string]bool{}
	for range maxRounds {
		var paths []string
		for path, b := range tree.ByPath {
			if b.Call != nil && !b.Hidden && !b.Repeats && b.Err == nil && !tried[path] {
				paths = append(paths, path)
			}
		}
		if len(paths) == 0 {
			break
		}
		slices.Sort(paths)
		if left := maxCalls - a.calls; len(paths) > left {
			a.recordError("PageTooLarge", fmt.Sprintf("a page may call %d automations", maxCalls), map[string]any{"page": a.page})
			paths = paths[:left]
		}
		a.calls += len(paths)
		a.callBlocks(ctx, tree, paths)
		for _, path := range paths {
			tried[path] = true
		}
		tree = a.view.Expand()
	}
	return tree, nil
}

// callBlocks runs the automations of some blocks in parallel. A block whose automation is forbidden is left out.
func (a *automationRun) callBlocks(ctx context.Context, tree *page.Tree, paths []string) {
	type result struct {
		output *value.Object
		err    error
	}
	results := make([]result, len(paths))
	slots := make(chan struct{}, maxParallel)
	var running sync.WaitGroup
	for i, path := range paths {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			results[i].output, results[i].err = a.call(ctx, tree.ByPath[path].Call)
		})
	}
	running.Wait()
	for i, path := range paths {
		if errors.Is(results[i].err, errForbidden) {
			a.outputs[path] = value.NewObject("hidden", true)
			_ = a.view.Fold(tree, path, a.outputs[path]) // it fits: it is one key
			continue
		}
		a.fold(tree, path, tree.ByPath[path].Call, results[i].output, results[i].err)
	}
}

// fold folds the output of an automation in, or records why there is none: the stored document is shown then.
func (a *automationRun) fold(tree *page.Tree, path string, call *page.Call, output *value.Object, err error) {
	if err == nil && output != nil {
		if err = a.view.Fold(tree, path, output); err == nil {
			a.outputs[path] = output
			return
		}
		if errors.Is(err, page.ErrTooLarge) {
			a.recordError("ViewTooLarge", err.Error(), map[string]any{"page": a.page, "block": path})
			return
		}
	}
	if err != nil {
		a.recordError("PageAutomationError", fmt.Sprintf("the automation %q of a page failed: %v", call.Slug, err), map[string]any{"page": a.page, "block": path, "automation": call.Slug})
	}
}

// call runs an automation as the visitor, and returns its output when that is an object.
func (a *automationRun) call(ctx context.Context, call *page.Call) (*value.Object, error) {
	set, err := a.Programs.ProgramSet(ctx, a.place.workspaceID)
	if err != nil || set == nil {
		return nil, cmp.Or(err, errors.New("the workspace has no automations"))
	}
	program := set.ProgramIn(call.Instance, call.Slug)
	if program == nil {
		return nil, fmt.Errorf("there is no automation %q", page.EventName(call.Instance, call.Slug))
	}
	start := a.start(set, program)
	if err := start.Caller.Rights.Check("execute", "automations", runtime.Subject(program)); err != nil {
		return nil, errForbidden
	}
	start.Input = value.NewObject("pageSlug", a.page, "language", a.view.Language.Tag, "query", a.view.Query)
	for key, v := range call.Payload.All() {
		start.Input.Set(key, v)
	}
	run := a.Runtime.Launch(start)
	select {
	case <-run.Done():
	case <-ctx.Done():
		return nil, fmt.Errorf("it took longer than %s", a.Timeout())
	}
	outcome, err := run.Outcome()
	if err != nil {
		return nil, err
	}
	if outcome.Err != nil {
		return nil, errors.New(outcome.Err.Message)
	}
	return objectOf(outcome.Output), nil
}

// start returns the start of an automation for the visitor.
func (a *automationRun) start(set *programs.ProgramSet, program *programs.Program) runtime.Start {
	request := commands.RequestFrom(a.request.Context())
	who := a.caller.Identity()
	caller := runtime.Caller{
		Actor: domain.Actor{UserID: a.caller.UserID, SessionID: a.caller.SessionID, Scopes: a.caller.Scopes}, Address: request.Address, Email: who.Email,
		Role: cmp.Or(a.caller.Role, a.rights.Role()), Rights: a.rights, Credential: a.caller.UserID != "", AuthData: runtime.AuthDataOf(who.AuthData),
	}
	if caller.Visitor = a.caller.SessionID == ""; caller.Visitor {
		caller.SessionID = uuid.NewString()
		caller.UserID = caller.SessionID
	}
	meta := request.Meta
	meta.UserID, meta.SessionID = caller.UserID, caller.SessionID
	trigger := activity.Trigger{Type: activity.ByPage, Value: a.page, AppInstanceSlug: program.Scope.Instance}
	return runtime.Start{
		ProgramSet: set, Program: program, Caller: caller, CorrelationID: gateway.CorrelationID(a.request.Context()), Depth: 1, Attempt: 1, Meta: meta, Trigger: trigger,
		Facts: []domain.Event{activity.Interaction{WorkspaceID: set.Workspace.ID, Automation: program.Name, Trigger: trigger, StartedAt: a.Now().UTC().Format(domain.Timestamp)}},
	}
}
