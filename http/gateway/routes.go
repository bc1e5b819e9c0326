package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"svc/domain"
)

// Route is one row of the API: a method, a path and how they are served.
type Route struct {
	// Method is an HTTP method, or AnyMethod. GET answers HEAD as well, unless it
	// writes.
	Method string
	// Path is a gorilla/mux template without the version prefix, such as
	// /workspaces/{workspaceId}/pages/{slug:.+}. The order of rows does not
	// matter: words go before variables, variables before those with slashes.
	Path string
	// Permission says who may call the route. There is no default.
	Permission Permission
	// Handler answers. A HandlerFunc returns its answer; any other handler
	// writes it itself, and keeps to the deadline and the limits by itself too.
	Handler http.Handler

	// Surface says under which prefixes the path is served.
	Surface Surface
	// Rate is the limit that the route has besides RateRequests.
	Rate RateClass
	// Scope is what a token with a scope claim must hold. Empty: the scope of
	// the permission's subject; for administrators, all scopes.
	Scope string
	// NoScope accepts a token with any scope claim. A row for users has either a Scope or this. The handler of an Action with
	// it decides by the scopes of the caller.
	NoScope bool
	// Body is the kind of body, and so its limit.
	Body Body
	// MaxBody, when set, is the limit in bytes instead of the kind's own.
	MaxBody int64
	// Effect says whether the route writes. Zero: as its method says.
	Effect Effect
	// Streaming routes hold their connection open: they have no request
	// timeout, are never compressed and count as live connections.
	Streaming bool
	// Summary is one line for the API reference.
	Summary string

	// Probe marks a health check: never limited, and logged only on demand.
	Probe bool
	// NoWait answers without waiting for the read model: the health of the read model must be
	// shown also when it has stopped.
	NoWait bool
	// Runs marks a write that runs saved content: like a read, it waits for that content to be
	// in the read model, but not for other events.
	Runs bool
	// LateAuth accepts a caller without a credential although the permission requires one, for a
	// stream whose first message has the credential. Such a caller has a Grant without Rights, and
	// the handler must send nothing before Introduce.
	LateAuth bool
	// OwnAuth leaves credentials to the handler: none is read or removed.
	OwnAuth bool
	// Shared answers are the same for everybody, and caches may store them: they do not depend on
	// the session.
	Shared bool
	// BearerKey accepts the internal API key as a bearer token as well.
	BearerKey bool
	// BeforeMFA accepts a session without its second factor.
	BeforeMFA bool
	// OwnSite ignores the cookie of a read that comes from another site, unless it has the CSRF
	// token: the route runs what the author of a workspace wrote.
	OwnSite bool
	// HeaderAuth is for programs, not for browsers: cookies are ignored, and requests of foreign web origins are refused.
	HeaderAuth bool
	// ToLent allows a row for users to an automation that acts for a user.
	ToLent bool
	// NoCSRF exempts sign-in routes and plain forms from the CSRF token.
	NoCSRF bool
	// AnySite leaves the check of the origin of a plain form to the handler.
	AnySite bool
	// SecretPath omits the path in logs and events: it may contain a key.
	SecretPath bool
	// AnyOrigin lets every web origin read the answer, without credentials.
	AnyOrigin bool
	// When is a further condition on the request as it came, such as its host. Rows with one are tried first, with the whole
	// path: their Surface must be Plain.
	When func(*http.Request) bool
}

// AnyMethod serves every method: for handlers that route by themselves.
const AnyMethod = "*"

// Surface says under which prefixes a path is served.
type Surface int

// The surfaces of a route.
const (
	Plain             Surface = iota // exactly the path
	Versioned                        // under /v2, and every other version
	VersionedAndPlain                // also without prefix, with v2 behaviour
)

// Body is the kind of body that a route takes.
type Body int

// The kinds of bodies.
const (
	JSONBody    Body = iota // REQUEST_MAX_SIZE
	UploadBody              // UPLOADS_MAX_SIZE for each file
	ArchiveBody             // IMPORT_MAX_SIZE
	FormBody                // REQUEST_MAX_SIZE; UPLOADS_MAX_SIZE in all for one of several parts
	FilesBody               // REQUEST_MAX_SIZE; for one of several parts UPLOADS_MAX_SIZE for each file, and ten times that in all
	NoBody                  // not read at all
)

// Effect says whether a route changes anything.
type Effect int

// The effects of a route. A write passes the write gate, may carry an
// Idempotency-Key and is not cut off when its client leaves.
const (
	ByMethod Effect = iota // POST, PUT, PATCH and DELETE write
	Reads                  // never, such as a search by POST
	Writes                 // always, such as a trigger endpoint by GET
)

// writes reports whether a request with this method writes.
func (rt *Route) writes(method string) bool {
	if rt.Effect == ByMethod {
		return slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, method)
	}
	return rt.Effect == Writes
}

// open reports whether the route can be reached without a credential.
func (rt *Route) open() bool {
	action, ok := rt.Permission.(Action)
	return rt.Permission == Public || ok && action.Anyone
}

// check returns everything that is wrong with the table, at once.
func check(routes []Route) error {
	var errs []error
	seen := map[string]bool{}
	for _, rt := range routes {
		name := rt.Method + " " + rt.Path
		if err := rt.check(); err != nil {
			errs = append(errs, fmt.Errorf("route %s: %w", name, err))
		}
		for _, pattern := range rt.patterns() {
			if seen[pattern] && rt.When == nil {
				errs = append(errs, fmt.Errorf("route %s: declared twice", name))
			}
			seen[pattern] = seen[pattern] || rt.When == nil
		}
	}
	return errors.Join(errs...)
}

func (rt *Route) check() error {
	action, isAction := rt.Permission.(Action)
	switch {
	case rt.Method == "" || !strings.HasPrefix(rt.Path, "/"):
		return errors.New("method and absolute path are required")
	case rt.Permission == nil:
		return errors.New("permission is required")
	case isAction && (action.Action == "" || action.Subject == ""):
		return errors.New("action and subject are required")
	case rt.Handler == nil:
		return errors.New("handler is required")
	case (rt.Permission == Auth || rt.Permission == Session) && rt.Scope == "" && !rt.NoScope:
		return errors.New("a route for users needs a scope, or must say that it needs none")
	case rt.Rate != "" && findClass(rt.Rate) == nil:
		return fmt.Errorf("unknown rate class %q", rt.Rate)
	case rt.LateAuth && (!rt.Streaming || !isAction):
		return errors.New("only a stream of a workspace may wait for its credential")
	case rt.When != nil && rt.Surface != Plain:
		return errors.New("a conditional route must be plain")
	}
	if _, _, prefixed := splitVersion(Versions(), rt.Path); prefixed {
		return errors.New("the version prefix comes from the surface")
	}
	return nil
}

// patterns lists the paths of the route, for finding duplicates, without the names of variables.
func (rt *Route) patterns() []string {
	shape := rt.Method + " " + shape(parseTemplate(rt.Path))
	switch rt.Surface {
	case Versioned:
		return []string{"versioned " + shape}
	case VersionedAndPlain:
		return []string{"versioned " + shape, "plain " + shape}
	}
	return []string{"plain " + shape}
}

// Permission says who may call a route. It is one of the constants below, or
// an Action; the nil Permission is refused by New.
type Permission interface {
	// String names the permission as the contract does.
	String() string
	permission()
}

// The permissions that the gateway decides by itself.
const (
	Public          fixedPermission = "none"            // anyone
	Auth            fixedPermission = "auth"            // a user: session or access token
	Session         fixedPermission = "session"         // a user session, no token or key
	Super           fixedPermission = "super"           // a super admin
	Internal        fixedPermission = "internal"        // the internal API key
	SuperOrInternal fixedPermission = "super, internal" // either
)

type fixedPermission string

// String implements Permission.
func (s fixedPermission) String() string { return string(s) }
func (fixedPermission) permission()      {}

// Action is a right in a workspace, which the Authorizer checks. Users and API keys can have it.
type Action struct {
	Action, Subject string
	// Anyone has the Authorizer decide about callers without a credential, too.
	Anyone bool
}

// String implements Permission.
func (a Action) String() string { return a.Action + " " + a.Subject }
func (Action) permission()      {}

// checkFixed checks the fixed permissions: a pure function of the caller.
func checkFixed(c Caller, p Permission) error {
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
		return checkAsk(c, action)
	}
	switch {
	case c.Kind == KindNone:
		return MissingCredential()
	case p == Session:
		return checkSession(c)
	case p == Auth && c.Kind == KindAPIKey:
		return domain.Refuse(domain.CodeMissingToken, "a user is required, not an API key alone")
	case p == Auth, (p == Super || p == SuperOrInternal) && c.Super:
		return nil
	}
	return domain.Refuse(domain.CodePermissionDenied, "this route is not open to you")
}

// AskForCredential returns the handler of a route that anyone may use for some objects: who has no credential is not
// refused, but asked for one.
func AskForCredential(h HandlerFunc) HandlerFunc {
	return func(r *http.Request) (any, error) {
		answer, err := h(r)
		if CallerFrom(r.Context()).Kind == KindNone && statuses[domain.CodeOf(err)] == http.StatusForbidden {
			err = MissingCredential()
		}
		return answer, err
	}
}

// checkAsk refuses a caller without the credential that an action needs.
func checkAsk(c Caller, a Action) error {
	if c.Kind == KindNone && !a.Anyone {
		return MissingCredential()
	}
	return nil
}

func checkSession(c Caller) error {
	if c.Kind != KindUser || c.byAccessToken() {
		return domain.Refuse(domain.CodeInsufficientScope, "this route needs a user session").Reason("session_required")
	}
	return nil
}

// checkScope refuses a token whose scope claim does not include this route.
func checkScope(c Caller, rt *Route, method string) error {
	for _, scope := range rt.scopes(method) {
		if !c.HasScope(scope) {
			return domain.Refuse(domain.CodeInsufficientScope, "the token lacks the scope %s", scope).With("scope", scope)
		}
	}
	return nil
}

// wholeScopes are the scopes of an access token. The routes of administrators need all of them.
var wholeScopes = []string{
	"workspaces:read", "workspaces:write", "events:read", "events:write", "webhooks", "pages:read", "files:read", "files:write",
	"knowledge:read", "knowledge:write", "agents",
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
	if rt.Scope != "" || rt.NoScope || !ok {
		return rt.Scope
	}
	area, verb := "workspaces", "read"
	switch action.Subject {
	case "events", "files":
		area = action.Subject
	case "documents":
		area = "knowledge"
	}
	if rt.writes(method) {
		verb = "write"
	}
	return strings.Join([]string{area, verb}, ":")
}
