package node

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/content"
	"svc/commands/egress"
	"svc/commands/fetch"
	"svc/commands/programs"
	"svc/commands/ratelimit"
	"svc/commands/references"
	"svc/commands/runtime"
	"svc/commands/sandbox"
	"svc/domain/access"
	"svc/domain/automation"
	"svc/domain/automation/redact"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/projections"
)

// effects are what automations reach outside with.
func (n *Node) effects() (runtime.Effects, error) {
	c := n.config()
	var err error
	if n.running.out, err = egress.New(n.fetchOptions()); err != nil {
		return runtime.Effects{}, err
	}
	n.closeWith("connections of automations", func(context.Context) error {
		n.running.out.Close()
		return nil
	})
	fetcher, err := fetch.New(fetch.Options{
		Egress: n.running.out, Timeout: c.Runtime.FetchTimeout, MaxResponse: c.Runtime.FetchMaxResponseSize,
		MaxRetries: c.Runtime.FetchMaxRetries, RetryStatus: c.Runtime.FetchRetryStatus,
	})
	if err != nil {
		return runtime.Effects{}, err
	}
	if err := n.openSandbox(); err != nil {
		return runtime.Effects{}, err
	}
	rows, err := n.openCollections()
	if err != nil {
		return runtime.Effects{}, err
	}
	n.repeat("limits", time.Hour, "counters whose windows are over are not all erased yet", n.sweepCounters)
	return runtime.Effects{
		Live: n.emitter().Live, Position: n.feed.Now, Await: n.awaitEvent, Cancelling: n.cancellingWaits, Configure: n.configure,
		Fetch: fetcher, Code: n.running.sandbox, Rows: rows, Topics: commands.Topics{Engine: n.engine}, Tokens: runTokens{n.people.keys, n.people.identity.HasKeyRole},
		RateLimits: &ratelimit.Limiter{Counter: n.store.Counters, Now: time.Now, Log: n.log},
		References: &references.References{
			Values: n.running.contexts, Secrets: n.running.secrets, Vault: n.places.vault, Now: time.Now, NewID: newID,
		},
	}, nil
}

// sweepCounters erases what is left of the limits of automations whose windows are over.
func (n *Node) sweepCounters(ctx context.Context) error {
	return n.store.Counters.Sweep(ctx, time.Now())
}

// fetchOptions are the rules of the requests that automations send.
func (n *Node) fetchOptions() egress.Options {
	c := n.config()
	o := egressOptions(c.Egress)
	o.Rules = n.fetchRules()
	o.Own = []string{c.HTTP.APIURL, c.HTTP.InternalAPIURL}
	o.Names = ownNames(c.HTTP)
	return o
}

// fetchRules say which hosts automations reach, as the live settings are now.
func (n *Node) fetchRules() egress.Rules {
	c := n.config()
	rules := egressRules(c.Egress)
	rules.AllowHosts = slices.Concat(rules.AllowHosts, c.Runtime.FetchAllowedHosts)
	rules.DenyHosts = slices.Concat(rules.DenyHosts, c.Runtime.FetchForbiddenHosts)
	return rules
}

// openSandbox prepares the processes that run the code of authors.
func (n *Node) openSandbox() error {
	command := n.opts.Sandbox
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		command = []string{self, "sandbox"}
	}
	c := n.config().Runtime
	if err := sandbox.Unconfined(); err != nil {
		n.log.Warn("the kernel cannot confine custom code: none is run", "err", err)
	}
	var err error
	n.running.sandbox, err = sandbox.New(sandbox.Options{
		Executable: command[0], Args: command[1:], Timeout: c.CodeTimeout, MemoryMB: int(c.CodeMemory >> 20), MaxOutput: int(c.CodeMaxOutput),
	})
	if err != nil {
		return err
	}
	n.closeWith("sandbox", func(context.Context) error {
		n.running.sandbox.Close()
		return nil
	})
	return nil
}

// errNested says that a config is none of this workspace: it is written in the app that
// has the instance.
var errNested = automation.Invalid("the config of an instance within an app cannot be written")

// errPassedOn says that an instance has no config of its own: what it is given is the
// config of whoever has the instance, and a write would take the place of all that.
var errPassedOn = automation.Invalid("the config of this instance is a template and cannot be written by automations")

// configure changes the stored config of a workspace or an app instance, for an
// automation of it. What it holds of secrets is not told.
func (n *Node) configure(ctx context.Context, place *programs.Scope, op variable.Op, secrets *redact.Set) error {
	id := place.ProgramSet.Workspace.ID
	untold := func(config any) workspace.Untold { return secrets.Paths(value.From(config)) }
	if place.Parent == nil {
		return n.places.workspaces.Configure(ctx, id, "", func(config *document.Map) (*document.Map, workspace.Untold, error) {
			next, err := n.changedConfig(config.Object("value"), op)
			if err != nil {
				return nil, nil, err
			}
			changed := config.Copy()
			changed.Set("value", next)
			return changed, untold(next), nil
		})
	}
	if place.Parent.Parent != nil {
		return errNested
	}
	_, err := n.places.content.Amend(ctx, id, place.Slug, content.Amendment{Untold: untold, Change: func(doc *document.Map) (*document.Map, error) {
		if given, _ := doc.Get("config"); isText(given) {
			return nil, errPassedOn
		}
		config, err := n.changedConfig(doc.Object("config"), op)
		if err != nil {
			return nil, err
		}
		changed := doc.Copy()
		changed.Set("config", config)
		return changed, nil
	}})
	return err
}

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}

// hitsTemplate reports whether an operation would take the place of a text that stands for
// more than itself: by writing below it, or merging with it.
func hitsTemplate(config any, op variable.Op) bool {
	for i, step := range op.Path {
		config = value.At(config, step.Key)
		if isText(config) && programs.ContainsReference(config) {
			return i < len(op.Path)-1 || op.Kind == variable.Merge
		}
	}
	return false
}

// changedConfig applies an operation to a config, unless that makes it too large.
func (n *Node) changedConfig(config *document.Map, op variable.Op) (*document.Map, error) {
	have := value.From(config)
	if hitsTemplate(have, op) {
		return nil, automation.Invalid("what stands there in the config is a template, and only the whole of it can be replaced")
	}
	next, grown, err := variable.Change(have, op)
	if err != nil {
		return nil, err
	}
	if size, limit := variable.Size(next), int(n.config().Runtime.ContextConfigSize); grown > 0 && size > limit {
		return nil, automation.Raise(automation.ContextTooLarge, "the config is larger than it may be",
			"context", "config", "size", float64(size), "limit", float64(limit))
	}
	o, ok := next.(*value.Object)
	if !ok {
		return document.MapOf(), nil
	}
	changed := document.MapOf()
	return changed, changed.UnmarshalJSON([]byte(value.JSON(o, "")))
}

// registry tells which workspaces the owner of a workspace may read. It implements
// runtime.Registry.
type registry struct{ *Node }

// Known implements runtime.Registry.
func (r registry) Known(_ context.Context, workspaceID string) (list []programs.Workspace, err error) {
	var owners []string
	err = r.models.View(func(rd projections.Reader) error {
		doc, _, _, err := projections.Access{}.Get(rd, workspaceID, 0)
		owners = access.Owners(doc.Shares)
		return err
	})
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	who, ok, err := r.people.identity.PrincipalOf(owners[0])
	if err != nil || !ok {
		return nil, err
	}
	var registered []programs.Workspace
	err = r.models.View(func(rd projections.Reader) error {
		return projections.Workspaces{}.List(rd, false, func(rec projections.Record) bool {
			if rec.Meta.RegisterWorkspace {
				registered = append(registered, programs.Workspace{ID: rec.ID, Slug: rec.Meta.Slug, Name: rec.Meta.Name})
			}
			return true
		})
	})
	if err != nil {
		return nil, err
	}
	for _, w := range registered {
		rights, found, err := r.people.identity.RightsOf(who, w.ID)
		if err != nil {
			return nil, err
		}
		if found && rights.Allows("read", "workspaces", nil) {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b programs.Workspace) int { return strings.Compare(a.Slug, b.Slug) })
	return list, nil
}
