package gateway

import (
	"slices"
	"strings"

	"svc/domain"
)

// Permission says who may call a route. It is one of the constants below, or
// an Action; the nil Permission is refused by New.
type Permission interface {
	// String names the permission as the contract does.
	String() string
	permission()
}

// The permissions that the gateway decides by itself.
const (
	Public          standing = "none"            // anyone
	Auth            standing = "auth"            // a user: session or access token
	Session         standing = "session"         // a user session, no token or key
	Super           standing = "super"           // a super admin
	Internal        standing = "internal"        // the internal API key
	SuperOrInternal standing = "super, internal" // either
)

type standing string

// String implements Permission.
func (s standing) String() string { return string(s) }
func (standing) permission()      {}

// Action is a right in a workspace, decided by the Authorizer. It is met by a
// user or an API key.
type Action struct {
	Action, Subject string
	// Anyone lets callers without a credential reach the Authorizer as well.
	Anyone bool
}

// String implements Permission.
func (a Action) String() string { return a.Action + " " + a.Subject }
func (Action) permission()      {}

// may decides the standing permissions: a pure function of who asks.
func may(c Caller, p Permission) error {
	if p == Public {
		return nil
	}
	if c.Kind == KindInternal {
		if p == Internal || p == SuperOrInternal {
			return nil
		}
		return domain.Refuse(domain.CodePermissionDenied, "the internal API key does not open this route")
	}
	if action, ok := p.(Action); ok {
		return mayAsk(c, action)
	}
	switch {
	case c.Kind == KindNone:
		return domain.Refuse(domain.CodeMissingToken, "a credential is required: send Authorization: Bearer with a token, or x-svc-api-key with an API key")
	case p == Session:
		return mayWithSession(c)
	case p == Auth && c.Kind == KindAPIKey:
		return domain.Refuse(domain.CodeMissingToken, "a user is required, not an API key alone")
	case p == Auth, (p == Super || p == SuperOrInternal) && c.Super:
		return nil
	}
	return domain.Refuse(domain.CodePermissionDenied, "this route is not open to you")
}

// mayAsk reports whether c can be known well enough to ask the Authorizer.
func mayAsk(c Caller, a Action) error {
	if c.Kind == KindNone && !a.Anyone {
		return domain.Refuse(domain.CodeMissingToken, "a credential is required: send Authorization: Bearer with a token, or x-svc-api-key with an API key")
	}
	return nil
}

func mayWithSession(c Caller) error {
	if c.Kind != KindUser || c.byAccessToken() {
		return domain.Refuse(domain.CodeInsufficientScope, "this route needs a user session").Reason("session_required")
	}
	return nil
}

// holdsScope refuses a token whose scope claim leaves this route out.
func holdsScope(c Caller, rt *Route, method string) error {
	if c.Kind != KindUser || c.Scopes == nil {
		return nil
	}
	for _, scope := range rt.scopes(method) {
		if !slices.Contains(c.Scopes, scope) {
			return domain.Refuse(domain.CodeInsufficientScope, "the token lacks the scope %s", scope).With("scope", scope)
		}
	}
	return nil
}

// wholeScopes are those of a token that is not narrowed: what an access token
// has. The routes of administrators need them all.
var wholeScopes = []string{
	"workspaces:read", "workspaces:write", "events:read", "events:write", "webhooks", "pages:read", "files:read", "files:write",
}

// WholeScopes returns the scopes of an access token: all but settings. It must
// not be changed.
func WholeScopes() []string { return wholeScopes }

// scopes returns the scopes that the route asks for.
func (rt *Route) scopes(method string) []string {
	if scope := rt.scope(method); scope != "" {
		return []string{scope}
	}
	if rt.Permission == Super || rt.Permission == SuperOrInternal {
		return wholeScopes
	}
	return nil
}

// scope returns the scope of contract 3.2 that the route asks for.
func (rt *Route) scope(method string) string {
	action, ok := rt.Permission.(Action)
	if rt.Scope != "" || !ok {
		return rt.Scope
	}
	area, verb := "workspaces", "read"
	if action.Subject == "events" || action.Subject == "files" {
		area = action.Subject
	}
	if rt.writes(method) {
		verb = "write"
	}
	return strings.Join([]string{area, verb}, ":")
}
