package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
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
	// NoScope lets in a token whatever its scope claim says. A row for users has
	// either a Scope or this.
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
	// NoWait answers without waiting for the read model: what tells whether the
	// read model works must be told when it does not.
	NoWait bool
	// Runs marks a write that runs what was saved: it waits for that, as reads do, but not
	// for what else happens.
	Runs bool
	// LateAuth lets in a caller without a credential whom the permission would refuse,
	// for a stream whose first words are the credential: such a caller has a Grant
	// without Rights, and the handler tells nothing before Introduce.
	LateAuth bool
	// OwnAuth leaves credentials to the handler: none is read or removed.
	OwnAuth bool
	// Shared answers are the same for everybody, and caches may keep them: they tell
	// nobody's session.
	Shared bool
	// BearerKey accepts the internal API key as a bearer token as well.
	BearerKey bool
	// BeforeMFA lets in a session that still owes its second factor.
	BeforeMFA bool
	// OwnSite lets the cookie count in a request that reads only when that comes from
	// this site, or shows the CSRF token: what is read here does what its author wants.
	OwnSite bool
	// ToLent opens a row for users to an automation that acts for one of them.
	ToLent bool
	// NoCSRF exempts sign-in routes and plain forms from the CSRF token.
	NoCSRF bool
	// SecretPath keeps the path out of logs and events: it may hold a key.
	SecretPath bool
	// AnyOrigin lets every web origin read the answer, without credentials.
	AnyOrigin bool
	// When is a further condition, such as a host. Rows with one go first, and
	// meet the whole path: their Surface must be Plain.
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
		for _, place := range rt.places() {
			if seen[place] && rt.When == nil {
				errs = append(errs, fmt.Errorf("route %s: declared twice", name))
			}
			seen[place] = seen[place] || rt.When == nil
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

// places lists where the route is served, for finding duplicates. The names of
// variables do not tell two rows apart.
func (rt *Route) places() []string {
	shape := rt.Method + " " + shape(parseTemplate(rt.Path))
	switch rt.Surface {
	case Versioned:
		return []string{"versioned " + shape}
	case VersionedAndPlain:
		return []string{"versioned " + shape, "plain " + shape}
	}
	return []string{"plain " + shape}
}
