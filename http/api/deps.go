package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"svc/commands"
	"svc/commands/accounts"
	"svc/commands/apps"
	"svc/commands/bulk"
	"svc/commands/content"
	"svc/commands/repositories"
	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/apikey"
	"svc/domain/automation/redact"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/http/console"
	"svc/http/gateway"
	"svc/http/oidc"
	"svc/projections"
	"svc/streams/feed"
)

// Deps are what the handlers ask of the rest of the platform. Every field
// without a default is required.
type Deps struct {
	Version string                // of the build, for GET /
	Now     func() time.Time      // default time.Now
	Log     *slog.Logger          // default slog.Default
	Zone    func() *time.Location // of schedules; default UTC

	Healthy     func() bool      // whether everything works: GET / says ok or degraded
	Ready       func() bool      // whether the log and the read model are usable, for /readyz
	Config      func() any       // the effective settings in their JSON form, secrets masked
	SetLogLevel func(slog.Level) // changes what is logged, at once

	Metrics       http.Handler // Prometheus text
	MetricsPublic bool         // METRICS_PUBLIC: no credential is needed

	Checks           []Check           // what readiness tests, in the order of its report
	DisabledServices []string          // DISABLED_SERVICES: left out of the report
	ReadinessTTL     time.Duration     // READINESS_CACHE_TTL_MS; 0: every call tests anew
	InternalURL      string            // INTERNAL_API_URL; credentials in it are not used
	InternalKey      func() string     // INTERNAL_API_KEY, shown to the services
	Transport        http.RoundTripper // asks the services; default one without a proxy

	ReadModel  ReadModel
	Keeper     Keeper
	Workspaces Workspaces
	Content    *content.Content
	Library    content.Library // documents of workspaces, at any time
	Versioning *versioning.Versioning
	Bulk       *bulk.Runs
	Vault      commands.Vault
	// SecretDefaults returns the names of the secrets that the settings give the workspace of
	// a slug. Default: none.
	SecretDefaults func(workspaceSlug string) map[string]bool
	Apps           Apps        // published workspaces
	Shelf          *apps.Shelf // what they consist of
	APIKeys        Keys
	NATSUsers      NATSUsers // programs of others that watch events
	// NATSListening tells whether those have where to connect to.
	NATSListening bool
	// Repositories saves, finds and tests those of workspaces.
	Repositories *repositories.Repositories

	Access      Access
	SigningKeys SigningKeys
	LastUsed    func(ctx context.Context, id string) (time.Time, error) // of an access token or an API key
	// Claim gives the account with an address to whoever has the host.
	Claim func(ctx context.Context, email string, newPassword bool) (made accounts.NewAccount, super bool, err error)

	Accounts  *accounts.Accounts
	Sessions  Sessions
	Local     func() (signin, signup bool)  // whether people sign in, and up, with a password
	Providers Providers                     // of identities; nil: there are none
	CSRFToken func(sessionID string) string // what a cookie of the session must come with
	Blobs     Blobs                         // keeps pictures
	OIDC      *oidc.Service                 // answers its own routes
	Console   *console.Console              // answers its own routes; default one that is told nothing
	Files     FilesDeps                     // files of workspaces

	Operations OperationsDeps // of workspaces
	Cleanup    CleanupDeps    // of events

	Collections Collections // rows of workspaces
	Contexts    Contexts    // what automations remember
	// Redactor knows the secrets of a workspace.
	Redactor func(ctx context.Context, workspaceID string) (*redact.Set, error)

	Programs Programs // what can run
	Runtime  Runtime  // runs it
	Replays  Replays  // executes what was recorded of that again; nil: nothing is recorded
	// CancelRun stops a run, on whichever nodes it is.
	CancelRun func(workspaceID, correlationID string) error

	Subscriptions SubscriptionsDeps // of workspaces
	Emitter       Emitter           // of events
	Feed          *feed.Feed        // shows them
	Heartbeat     time.Duration     // between signs of life of a stream; default 15 s
	SearchTime    time.Duration     // that a search may take; default 10 s
	turns         chan struct{}     // taken by searches that run
}

// Sessions finds live sessions. It is a *sessions.Sessions.
type Sessions interface {
	Get(ctx context.Context, userID, id string) (sessions.Session, bool, error)
}

// LoginProvider is an identity provider, as the sign-in page shows it.
type LoginProvider struct {
	Slug string `json:"slug"`
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
	Icon string `json:"icon,omitempty"`
}

// Providers are the identity providers of AUTH_PROVIDERS_CONFIG.
type Providers interface {
	List() []LoginProvider
	// Exchange returns who the token of a provider is about. It refuses a token
	// that does not hold with invalid_token, and permission_denied when the
	// provider does not allow it.
	Exchange(ctx context.Context, provider, subjectToken, subjectTokenType string) (accounts.Identity, error)
}

// Blobs keeps contents by their name, the SHA-256 in hex. It is a
// *jetstream.Blobs.
type Blobs interface {
	Put(ctx context.Context, content []byte) (name string, err error)
	Get(ctx context.Context, name string) (content []byte, err error)
}

// Access decides who may do what. It is an *identity.Identity.
type Access interface {
	// RightsOf returns the rights of somebody in a workspace, if there is one.
	RightsOf(p access.Principal, workspaceID string) (rights *access.Rights, found bool, err error)
	// FormerRights returns the rights of somebody in a workspace until it was deleted.
	FormerRights(p access.Principal, workspaceID string) (rights *access.Rights, found bool, err error)
	// PrincipalOf returns whom the evaluator takes a user for.
	PrincipalOf(userID string) (p access.Principal, ok bool, err error)
	// Readable returns a filter of the workspaces that c may read.
	Readable(c gateway.Caller, r projections.Reader) func(workspaceID string) (*access.Rights, bool, error)
}

// Apps publishes workspaces. It is an apps.Apps.
type Apps interface {
	Publish(ctx context.Context, p apps.Publication) (done apps.App, first bool, err error)
	Delete(ctx context.Context, slug, workspaceID string) (apps.App, error)
}

// Keys changes API keys. It is a commands.APIKeys.
type Keys interface {
	Create(ctx context.Context, workspaceID string, terms apikey.Terms) (made commands.APIKey, value string, err error)
	Change(ctx context.Context, workspaceID, id string, terms apikey.Terms) (commands.APIKey, error)
	Delete(ctx context.Context, workspaceID, id string) (commands.APIKey, error)
}

// SigningKeys are the keys that sign tokens. It is a *signing.Keys.
type SigningKeys interface {
	List(ctx context.Context) ([]signing.Entry, error)
	Rotate(ctx context.Context) (created, deleted []string, err error)
	Revoke(ctx context.Context, kid string) error
}

// ReadModel is what is read. It is a *projections.Models.
type ReadModel interface {
	// View calls fn with a reader of one moment.
	View(fn func(projections.Reader) error) error
	// Moment tells whether what was viewed before is what would be viewed now.
	Moment() projections.Moment
	// Reach waits until the read model has everything up to pos.
	Reach(ctx context.Context, pos domain.Position) error
}

// Keeper looks after the read models. It is a *projections.Models.
type Keeper interface {
	// Rebuild builds the read models anew beside those that serve.
	Rebuild(ctx context.Context, progress projections.Progress) (projections.Report, error)
	// Verify compares the read models with what the logs make of them.
	Verify(ctx context.Context, progress projections.Progress) (projections.VerifyReport, error)
}

// Workspaces changes workspaces. It is a commands.Workspaces. An ifMatch that is
// not empty must be the tag of what is changed.
type Workspaces interface {
	Create(ctx context.Context, settings workspace.Settings) (commands.Workspace, error)
	Update(ctx context.Context, id string, patch *document.Map, ifMatch string) (commands.Workspace, error)
	PutBlock(ctx context.Context, id string, put workspace.PutBlock, ifMatch string) (commands.Workspace, error)
	Secure(ctx context.Context, id string, security access.Security, source *document.Map, ifMatch string) (commands.Workspace, error)
	Share(ctx context.Context, id string, entry access.Share) (commands.Workspace, error)
	Unshare(ctx context.Context, id, target string) (commands.Workspace, error)
	Delete(ctx context.Context, id, ifMatch string) (commands.Workspace, error)
	Undelete(ctx context.Context, id, slug string) (commands.Workspace, error)
	Lock(ctx context.Context, id, reason string) (commands.Workspace, error)
	Unlock(ctx context.Context, id string) (commands.Workspace, error)
	SetSecrets(ctx context.Context, id string, change workspace.SetSecrets) (commands.Workspace, error)
}

func (d Deps) withDefaults() Deps {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Log == nil {
		d.Log = slog.Default()
	}
	if d.Zone == nil {
		d.Zone = func() *time.Location { return time.UTC }
	}
	if d.SecretDefaults == nil {
		d.SecretDefaults = func(string) map[string]bool { return nil }
	}
	if d.Transport == nil {
		d.Transport = &http.Transport{MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute}
	}
	if d.Console == nil {
		d.Console = console.New(console.Options{})
	}
	d.Heartbeat = cmp.Or(d.Heartbeat, 15*time.Second)
	d.turns = newTurns()
	return d
}
