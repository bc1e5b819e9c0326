package runtime

import (
	"context"
	"errors"

	"svc/commands"
	"svc/commands/fetch"
	"svc/commands/programs"
	"svc/commands/ratelimit"
	"svc/commands/references"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

// Topics are what users receive events through. It is a commands.Topics.
type Topics interface {
	Create(ctx context.Context, workspaceID, topic string, userIDs []string) error
	Join(ctx context.Context, workspaceID, topic string, userIDs []string, create bool) error
}

// RateLimits count for automations. It is a *ratelimit.Limiter.
type RateLimits interface {
	Take(ctx context.Context, scope ratelimit.Scope, use ratelimit.Use) (*value.Object, error)
}

// Tokens are what automations call the platform with.
type Tokens interface {
	// Token makes one of the session that a run acts for, or of the workspace. Asked
	// says that the automation gets it to see: it lasts longer.
	Token(ctx context.Context, kind fetch.TokenKind, of Acting, asked bool) (string, error)
	// RoleKey makes one for a role of the workspace that automations may take.
	RoleKey(ctx context.Context, role string, of Acting) (string, error)
}

// Acting says for whom an automation calls the platform.
type Acting struct {
	Caller        *Caller
	WorkspaceID   string
	CorrelationID string
	Depth         int
	App           bool // it is one of an app: what the workspace gives is not for it
}

// IsNarrowed reports whether what the session, or the workspace, may do in the workspace is
// not lent with a token: an app asks, or the session itself was lent with less.
func (a Acting) IsNarrowed(kind fetch.TokenKind) bool {
	return a.App || kind == fetch.SessionToken && a.Caller.Lent && a.Caller.LentTo != a.WorkspaceID
}

// References are secrets that automations pass on without seeing them. It is a
// *references.References.
type References interface {
	Resolve(ctx context.Context, of references.Holder, text string) (resolved string, used []string, err error)
	Call(ctx context.Context, of references.Holder, function string, params *value.Object) (any, error)
}

// changeTopic makes a topic, or adds users to one.
func (t *run) changeTopic(r machine.Request) {
	name := t.redact.Text(value.Text(r.Params.At("topic"))) // it is in events, and so are its members
	users := []string{}
	given, listed := r.Params.At("userIds").([]any)
	for _, id := range given {
		users = append(users, t.redact.Text(value.Text(id)))
	}
	join := r.Name == "joinUserTopic"
	if join && !listed && t.world.userID != "" {
		users = append(users, t.world.userID)
	}
	if name == "" || join && len(users) == 0 {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: automation.Invalid("expected a topic and a user")})
		return
	}
	create, as := r.Params.At("create") != false, t.commandRequest(r.Execution)
	t.answerLater(r, func(ctx context.Context) (any, error) {
		ctx = commands.WithRequest(ctx, as)
		var err error
		if join {
			err = t.rt.Effects.Topics.Join(ctx, t.workspaceID(), name, users, create)
		} else {
			err = t.rt.Effects.Topics.Create(ctx, t.workspaceID(), name, users)
		}
		return true, toAutomationError(err)
	})
}

// commandRequest is who asks the platform to record something for an execution.
func (t *run) commandRequest(x *machine.Execution) *commands.Request {
	return &commands.Request{Meta: t.meta(x)}
}

// toAutomationError turns a refusal of the platform into what an instruction raises.
func toAutomationError(err error) error {
	if refused, ok := errors.AsType[*domain.Error](err); ok {
		if refused.Code == domain.CodeLocked {
			return automation.Raise(automation.ResourceLocked, refused.Message)
		}
		return automation.Invalid("%s", refused.Message)
	}
	return err
}

// countRateLimit counts, over all nodes. What break asks for is for the machine to do.
func (t *run) countRateLimit(r machine.Request) {
	use, err := ratelimit.Read(r.Params)
	if err != nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	use.Break = false
	scope := ratelimit.Scope{WorkspaceID: t.workspaceID(), Instance: r.Execution.Program.Instance}
	t.answerLater(r, func(ctx context.Context) (any, error) {
		got, err := t.rt.Effects.RateLimits.Take(ctx, scope, use)
		if err != nil {
			return value.Undefined, err
		}
		return got, nil
	})
}

// issueToken makes a token for calls to the platform.
func (t *run) issueToken(r machine.Request) {
	kind := fetch.SessionToken
	if r.Params.At("workspace") == true {
		kind = fetch.WorkspaceToken
	}
	of := t.actingFor(r.Execution)
	t.answerLaterThen(r, func(ctx context.Context) (any, error) { return t.rt.Effects.Tokens.Token(ctx, kind, of, true) }, func(a machine.Answer) machine.Answer {
		jwt, _ := a.Value.(string)
		if a.Err == nil {
			a.Err = t.addSecrets(jwt)
		}
		if a.Value = value.Undefined; a.Err == nil {
			a.Value = value.NewObject("jwt", jwt)
		}
		return a
	})
}

func (t *run) actingFor(x *machine.Execution) Acting {
	return Acting{
		Caller: &t.start.Caller, WorkspaceID: t.workspaceID(), CorrelationID: t.start.CorrelationID, Depth: x.Depth, App: x.Program.Instance != "",
	}
}

// tokenIssuer makes tokens for an execution.
func (t *run) tokenIssuer(x *machine.Execution) func(context.Context, fetch.TokenKind) (string, error) {
	of := t.actingFor(x)
	return func(ctx context.Context, kind fetch.TokenKind) (string, error) {
		return t.rt.Effects.Tokens.Token(ctx, kind, of, false)
	}
}

// roleKeyIssuer makes keys of roles for an execution. Roles are the workspace's: apps know none.
func (t *run) roleKeyIssuer(x *machine.Execution) func(context.Context, string) (string, error) {
	of := t.actingFor(x)
	if x.Program.Instance != "" {
		return nil
	}
	return func(ctx context.Context, role string) (string, error) {
		key, err := t.rt.Effects.Tokens.RoleKey(ctx, role, of)
		return key, toAutomationError(err)
	}
}

func (t *run) referenceHolder(x *machine.Execution) references.Holder {
	return references.Holder{WorkspaceID: t.workspaceID(), Instance: x.Program.Instance, UserID: t.start.Caller.UserID}
}

// referenceResolver replaces references to secrets in what is sent.
func (t *run) referenceResolver(x *machine.Execution) func(context.Context, string) (string, error) {
	of := t.referenceHolder(x)
	return func(ctx context.Context, text string) (string, error) {
		resolved, used, err := t.rt.Effects.References.Resolve(ctx, of, text)
		if full := t.addSecrets(used...); err == nil {
			err = full
		}
		return resolved, err
	}
}

// errConfigReference says that a value would not stay as it is in the config.
var errConfigReference = automation.Invalid("config cannot be set to a text that refers to config or secrets")

// configure writes to the stored configuration. What stands there is read as a template
// when it is loaded, and values never are: one that would be is refused.
func (t *run) configure(r machine.Request) {
	scope := t.program(r.Execution).Scope
	if programs.ContainsReference(r.Write.Op.Value) {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: errConfigReference})
		return
	}
	as := t.commandRequest(r.Execution)
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		return value.Undefined, toAutomationError(t.rt.Effects.Configure(commands.WithRequest(ctx, as), scope, r.Write.Op, t.redact))
	}, func(a machine.Answer) machine.Answer {
		if a.Err == nil {
			a.Err = t.world.applyConfig(scope, r.Write.Op)
		}
		return a
	})
}
