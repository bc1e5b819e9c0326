package api

import (
	"net/http"
	"slices"

	"svc/http/api/accounts"
	"svc/http/api/agents"
	"svc/http/api/collections"
	"svc/http/api/documents"
	"svc/http/api/events"
	"svc/http/api/files"
	"svc/http/api/knowledge"
	"svc/http/api/llm"
	"svc/http/api/mcp"
	"svc/http/api/runs"
	"svc/http/api/suites"
	"svc/http/api/system"
	"svc/http/api/versioning"
	"svc/http/api/workspaces"
	"svc/http/console"
	"svc/http/gateway"
	"svc/http/oidc"
	"svc/http/pages"
	"svc/http/reference"
)

// The words of the table.
const (
	get   = http.MethodGet
	post  = http.MethodPost
	put   = http.MethodPut
	patch = http.MethodPatch
	del   = http.MethodDelete
)

var (
	mayRead   = may("read", "workspaces")
	mayUpdate = may("update", "workspaces")
	mayDelete = may("delete", "workspaces")
	mayShare  = may("manage_permissions", "workspaces")
	maySecure = may("manage_security", "workspaces")
	// mayConnect is for what connects a workspace with the outside.
	mayConnect  = may("manage_repositories", "workspaces")
	mayGetUsage = may("get_usage", "workspaces")
	mayTest     = may("test", "automations")
	// Those that anyone may have are checked again when the object is known: the automation,
	// or each event.
	mayExecute = gateway.Action{Action: "execute", Subject: "automations", Anyone: true}
	// A base may be shared with everyone.
	mayReadBase      = gateway.Action{Action: "read", Subject: "knowledgeBases", Anyone: true}
	mayReadDocuments = gateway.Action{Action: "read", Subject: "documents", Anyone: true}
	mayExecuteAgents = gateway.Action{Action: "execute", Subject: "agents", Anyone: true}
	// Tools are of several subjects, and each decides by itself. This right is one that a share may give, so the row lets
	// everybody in whom some tool may be for.
	mayUseTools   = mayReadDocuments
	mayReadEvents = gateway.Action{Action: "read", Subject: "events", Anyone: true}
	mayEmit       = gateway.Action{Action: "create", Subject: "events", Anyone: true}
)

// may is the right to an action on a subject.
func may(action, subject string) gateway.Action {
	return gateway.Action{Action: action, Subject: subject}
}

// Handlers are those of all subjects.
type Handlers struct {
	System      *system.Handlers
	Accounts    *accounts.Handlers
	Documents   *documents.Handlers
	Workspaces  *workspaces.Handlers
	Versioning  *versioning.Handlers
	Events      *events.Handlers
	Runs        *runs.Handlers
	Suites      *suites.Handlers
	Collections *collections.Handlers
	Files       *files.Handlers
	Knowledge   *knowledge.Handlers
	Models      *llm.Handlers
	Agents      *agents.Handlers
	MCP         *mcp.Handlers
	OIDC        *oidc.Service    // has routes of its own
	Console     *console.Console // has routes of its own
	Pages       *pages.Pages     // has routes of its own
}

// handle is how a row names its handler.
type handle = gateway.HandlerFunc

// Routes is the table of the API. openapi.yaml has one operation for each row.
func Routes(h Handlers) []gateway.Route {
	docs := reference.New()
	readiness, maintenance := h.System.NewReadiness(), h.System.NewMaintenance()
	metrics := gateway.Permission(gateway.Internal)
	if h.System.MetricsPublic {
		metrics = gateway.Public
	}
	rows := []gateway.Route{
		// System and discovery
		{Method: get, Path: "/", Permission: gateway.Public, Handler: handle(h.System.GetIndex), Summary: "Name the service and its API versions"},
		{Method: get, Path: "/healthz", Permission: gateway.Public, Probe: true, Handler: handle(system.GetHealthz), Summary: "Tell that the process is alive"},
		{Method: get, Path: "/sys/healthcheck", Permission: gateway.Public, Probe: true, Handler: handle(system.GetHealthz), Summary: "Tell that the process is alive, under its other name"},
		{Method: get, Path: "/readyz", Permission: gateway.Public, Probe: true, Handler: handle(h.System.GetReadyz), Summary: "Tell whether requests can be served"},
		{Method: get, Path: "/metrics", Permission: metrics, BearerKey: true, Handler: h.System.Metrics, Summary: "Read the metrics"},
		{Method: get, Path: "/openapi.json", Permission: gateway.Public, Shared: true, Handler: documentAsJSON(), Summary: "Read this document as JSON"},
		{Method: get, Path: "/openapi.yaml", Permission: gateway.Public, Shared: true, Handler: documentAsYAML(), Summary: "Read this document as YAML"},
		{Method: get, Path: "/docs", Permission: gateway.Public, Shared: true, Handler: handle(docs.Page), Summary: "Show the reference page"},
		{Method: get, Path: "/docs/{asset}", Permission: gateway.Public, Shared: true, Handler: handle(docs.Asset), Summary: "Load a file of the reference page"},

		// Readiness
		{Method: get, Path: "/readiness", Surface: gateway.Versioned, Permission: gateway.SuperOrInternal, NoWait: true, Handler: readiness.Report(), Summary: "Test the services"},
		{Method: get, Path: "/runtime/readiness", Surface: gateway.Versioned, Permission: gateway.Internal, NoWait: true, Handler: readiness.Service("runtime"), Summary: "Test the modules of the runtime service"},
		{Method: get, Path: "/events/readiness", Surface: gateway.Versioned, Permission: gateway.Internal, NoWait: true, Handler: readiness.Service("events"), Summary: "Test the modules of the events service"},
		{Method: get, Path: "/workspaces/readiness", Surface: gateway.Versioned, Permission: gateway.Internal, NoWait: true, Handler: readiness.Service("workspaces"), Summary: "Test the modules of the workspaces service"},
		{Method: get, Path: "/searchengine/readiness", Surface: gateway.Versioned, Permission: gateway.Internal, NoWait: true, Handler: readiness.Service("searchengine"), Summary: "Test the modules of the search engine"},
		{Method: get, Path: "/crawler/readiness", Surface: gateway.Versioned, Permission: gateway.Internal, NoWait: true, Handler: readiness.Service("crawler"), Summary: "Test the modules of the crawler"},

		// System maintenance
		{Method: get, Path: "/sys/config", Permission: gateway.SuperOrInternal, Handler: handle(h.System.GetConfig), Summary: "Read the effective settings"},
		{Method: put, Path: "/sys/logging", Permission: gateway.SuperOrInternal, Handler: handle(h.System.SetLogging), Summary: "Change the log level"},
		{Method: post, Path: "/sys/readmodels/rebuild", Permission: gateway.SuperOrInternal, Body: gateway.NoBody, Streaming: true, Handler: maintenance.Rebuild(), Summary: "Rebuild the read models"},
		{Method: post, Path: "/sys/search/rebuild", Permission: gateway.SuperOrInternal, Body: gateway.NoBody, Streaming: true, Handler: maintenance.RebuildSearch(), Summary: "Rebuild the search index of knowledge bases"},
		{Method: post, Path: "/sys/readmodels/verify", Permission: gateway.SuperOrInternal, Body: gateway.NoBody, Streaming: true, Handler: maintenance.Verify(), Summary: "Verify the read models"},
		{Method: post, Path: "/sys/cleanup/indices", Permission: gateway.SuperOrInternal, Streaming: true, Handler: h.System.CleanIndices(), Summary: "Erase events that are too old"},
		{Method: post, Path: "/sys/cleanup/executions", Permission: gateway.SuperOrInternal, Streaming: true, Handler: h.System.CleanExecutions(), Summary: "Erase payloads of executions that are too old"},
		{Method: get, Path: "/sys/jwks", Permission: gateway.SuperOrInternal, Handler: handle(h.System.ListSigningKeys), Summary: "List the signing keys"},
		{Method: post, Path: "/sys/jwks/rotate", Permission: gateway.SuperOrInternal, Handler: handle(h.System.RotateSigningKeys), Summary: "Let the next key sign"},
		{Method: del, Path: "/sys/jwks/{kid}", Permission: gateway.SuperOrInternal, Handler: handle(h.System.RevokeSigningKey), Summary: "Revoke a signing key"},
		{Method: post, Path: "/sys/admins/claim", Permission: gateway.Internal, Handler: handle(h.System.ClaimAdmin), Summary: "Prove an address by having the host"},
		{Method: get, Path: "/sys/nats/users", Permission: gateway.SuperOrInternal, Handler: handle(h.System.ListNATSUsers), Summary: "List who watches events over NATS"},
		{Method: post, Path: "/sys/nats/users", Permission: gateway.SuperOrInternal, Handler: handle(h.System.CreateNATSUser), Summary: "Let a program watch events over NATS"},
		{Method: del, Path: "/sys/nats/users/{id}", Permission: gateway.SuperOrInternal, Handler: handle(h.System.DeleteNATSUser), Summary: "Shut a program out that watches events"},

		// Authentication and users
		{Method: get, Path: "/login/providers", Surface: gateway.Versioned, Permission: gateway.Public, NoWait: true, Handler: handle(h.Accounts.ListLoginProviders), Summary: "List the ways to sign in"},
		{Method: post, Path: "/login/anonymous", Surface: gateway.Versioned, Permission: gateway.Public, Rate: gateway.RateAnonymousLogin, NoCSRF: true, Handler: handle(h.Accounts.LoginAnonymously), Summary: "Sign in as a visitor"},
		{Method: post, Path: "/login", Surface: gateway.Versioned, Permission: gateway.Public, Rate: gateway.RateLogin, NoCSRF: true, Handler: handle(h.Accounts.Login), Summary: "Sign in with a password"},
		{Method: post, Path: "/login/mfa", Surface: gateway.Versioned, Permission: gateway.Auth, NoScope: true, Rate: gateway.RateLogin, BeforeMFA: true, Handler: handle(h.Accounts.VerifyMFA), Summary: "Show the second factor"},
		{Method: post, Path: "/login/token-exchange", Surface: gateway.Versioned, Permission: gateway.Public, Rate: gateway.RateTokenExchange, NoCSRF: true, Handler: handle(h.Accounts.ExchangeToken), Summary: "Sign in with the token of a provider"},
		{Method: post, Path: "/logout", Surface: gateway.Versioned, Permission: gateway.Auth, NoScope: true, BeforeMFA: true, Handler: handle(h.Accounts.Logout), Summary: "Sign out"},
		{Method: get, Path: "/me", Surface: gateway.Versioned, Permission: gateway.Auth, NoScope: true, BeforeMFA: true, ToLent: true, Handler: handle(h.Accounts.GetMe), Summary: "Read who is signed in"},
		{Method: post, Path: "/signup", Surface: gateway.Versioned, Permission: gateway.Public, Rate: gateway.RateSignup, Handler: handle(h.Accounts.SignUp), Summary: "Make an account"},
		{Method: post, Path: "/user/password", Surface: gateway.Versioned, Permission: gateway.Public, Scope: "settings", Rate: gateway.RatePasswordReset, Handler: handle(h.Accounts.SetPassword), Summary: "Reset or change a password"},
		{Method: post, Path: "/user/validate", Surface: gateway.Versioned, Permission: gateway.Public, Scope: "settings", Rate: gateway.RatePasswordReset, Handler: handle(h.Accounts.ValidateUser), Summary: "Prove a mail address"},
		{Method: patch, Path: "/user", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: handle(h.Accounts.UpdateUser), Summary: "Change one's profile"},
		{Method: del, Path: "/user", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: handle(h.Accounts.DeleteSelf), Summary: "Delete one's account"},
		{Method: post, Path: "/user/photo", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Body: gateway.UploadBody, MaxBody: accounts.MaxPhotoBody, Handler: handle(h.Accounts.SetPhoto), Summary: "Upload one's picture"},
		{Method: post, Path: "/user/meta", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: handle(h.Accounts.MergeMeta), Summary: "Add to one's own data"},
		{Method: del, Path: "/user/meta/{key}", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: handle(h.Accounts.DeleteMeta), Summary: "Remove from one's own data"},
		{Method: post, Path: "/user/mfa", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", BeforeMFA: true, Handler: handle(h.Accounts.SetMFA), Summary: "Set up the second factor"},
		{Method: get, Path: "/user/accessTokens", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: handle(h.Accounts.ListAccessTokens), Summary: "List one's access tokens"},
		{Method: post, Path: "/user/accessTokens", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: handle(h.Accounts.CreateAccessToken), Summary: "Make an access token"},
		{Method: del, Path: "/user/accessTokens/{idOrToken}", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", SecretPath: true, Handler: handle(h.Accounts.DeleteAccessToken), Summary: "Revoke an access token"},
		{Method: get, Path: "/user/sessions", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: handle(h.Accounts.ListSessions), Summary: "List one's sessions"},
		{Method: del, Path: "/user/sessions/{id}", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: handle(h.Accounts.EndSession), Summary: "End one of one's sessions"},
		{Method: post, Path: "/contacts", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "settings", Effect: gateway.Reads, Handler: handle(h.Accounts.FindContacts), Summary: "Find people"},
		{Method: get, Path: "/users", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: handle(h.Accounts.ListUsers), Summary: "List the users"},
		{Method: post, Path: "/users", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: handle(h.Accounts.CreateUser), Summary: "Make or invite a user"},
		{Method: patch, Path: "/users/{userId}", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "settings", Handler: handle(h.Accounts.PatchUser), Summary: "Change a user"},
		{Method: del, Path: "/users/{userId}", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: handle(h.Accounts.DeleteUser), Summary: "Delete a user"},
		{Method: get, Path: "/users/{userId}/photo", Surface: gateway.Versioned, Permission: gateway.Public, Handler: handle(h.Accounts.GetPhoto), Summary: "Load the picture of a user"},
		{Method: get, Path: "/users/{userId}/sessions", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: handle(h.Accounts.ListUserSessions), Summary: "List the sessions of a user"},
		{Method: del, Path: "/users/{userId}/sessions", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: handle(h.Accounts.EndUserSessions), Summary: "End the sessions of a user"},

		// Workspaces
		{Method: get, Path: "/workspaces", Surface: gateway.Versioned, Permission: mayRead, Handler: handle(h.Workspaces.ListWorkspaces), Summary: "List workspaces"},
		{Method: post, Path: "/workspaces", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "workspaces:write", Rate: gateway.RateCreateWorkspace, Handler: handle(h.Workspaces.CreateWorkspace), Summary: "Create a workspace"},
		{Method: get, Path: "/workspaces/labels", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "workspaces:read", Handler: handle(h.Workspaces.ListLabels), Summary: "List the labels in use"},
		{Method: get, Path: "/workspaces/{workspaceId}", Surface: gateway.Versioned, Permission: mayRead, Handler: h.Workspaces.GetWorkspace(), Summary: "Read a workspace"},
		{Method: patch, Path: "/workspaces/{workspaceId}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: handle(h.Workspaces.UpdateWorkspace), Summary: "Change a workspace"},
		{Method: del, Path: "/workspaces/{workspaceId}", Surface: gateway.Versioned, Permission: mayDelete, Handler: handle(h.Workspaces.DeleteWorkspace), Summary: "Delete a workspace"},
		{Method: post, Path: "/workspaces/{workspaceId}/undelete", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "workspaces:write", Handler: handle(h.Workspaces.UndeleteWorkspace), Summary: "Bring a deleted workspace back"},
		{Method: post, Path: "/workspaces/{workspaceId}/writeLock", Surface: gateway.VersionedAndPlain, Permission: maySecure, Handler: handle(h.Workspaces.LockWorkspace), Summary: "Lock a workspace for writing"},
		{Method: del, Path: "/workspaces/{workspaceId}/writeLock", Surface: gateway.VersionedAndPlain, Permission: maySecure, Handler: handle(h.Workspaces.UnlockWorkspace), Summary: "Clear the write lock"},
		{Method: post, Path: "/workspaces/{workspaceId}/repositories/{repositoryId}/test", Surface: gateway.VersionedAndPlain, Permission: mayConnect, Effect: gateway.Reads, Body: gateway.NoBody, Handler: handle(h.Workspaces.TestRepository), Summary: "Test the connection to a repository"},

		// Apps and app instances
		{Method: get, Path: "/apps", Surface: gateway.Versioned, Permission: may("read", "apps"), Handler: handle(h.Documents.ListApps), Summary: "List published apps"},
		{Method: post, Path: "/apps", Surface: gateway.Versioned, Permission: may("create", "apps"), Handler: handle(h.Documents.PublishApp), Summary: "Publish a workspace as an app"},
		{Method: get, Path: "/apps/{appSlug}", Surface: gateway.Versioned, Permission: may("read", "apps"), Handler: handle(h.Documents.GetApp), Summary: "Read an app"},
		{Method: del, Path: "/apps/{appSlug}", Surface: gateway.Versioned, Permission: may("delete", "apps"), Handler: handle(h.Documents.DeleteApp), Summary: "Take an app back"},
		{Method: get, Path: "/workspaces/{workspaceId}/apps", Surface: gateway.Versioned, Permission: mayRead, Handler: handle(h.Documents.ListInstances), Summary: "List the app instances"},
		{Method: post, Path: "/workspaces/{workspaceId}/apps", Surface: gateway.Versioned, Permission: mayUpdate, Handler: handle(h.Documents.InstallApp), Summary: "Install an app"},
		{Method: get, Path: "/workspaces/{workspaceId}/apps/{slug}", Surface: gateway.Versioned, Permission: mayRead, Handler: handle(h.Documents.GetInstance), Summary: "Read an app instance"},
		{Method: patch, Path: "/workspaces/{workspaceId}/apps/{slug}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: handle(h.Documents.UpdateInstance), Summary: "Change an app instance"},
		{Method: put, Path: "/workspaces/{workspaceId}/apps/{slug}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: handle(h.Documents.UpdateInstance), Summary: "Replace an app instance"},
		{Method: del, Path: "/workspaces/{workspaceId}/apps/{slug}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: handle(h.Documents.UninstallApp), Summary: "Uninstall an app"},
		{Method: get, Path: "/workspaces/{workspaceId}/apps/{slug}/config", Surface: gateway.Versioned, Permission: mayRead, Handler: handle(h.Documents.GetInstanceConfig), Summary: "Read the config of an app instance"},
		{Method: patch, Path: "/workspaces/{workspaceId}/apps/{slug}/config", Surface: gateway.Versioned, Permission: mayUpdate, Handler: handle(h.Documents.UpdateInstanceConfig), Summary: "Change the config of an app instance"},

		// Archives
		{Method: get, Path: "/workspaces/{workspaceId}/export", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: handle(h.Versioning.ExportWorkspace), Summary: "Export a workspace"},
		{Method: get, Path: "/workspaces/{workspaceId}/versions/{name}/export", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: handle(h.Versioning.ExportVersion), Summary: "Export a version"},
		{Method: post, Path: "/workspaces/{workspaceId}/versions/{name}/export", Surface: gateway.VersionedAndPlain, Permission: mayRead, Effect: gateway.Reads, Body: gateway.NoBody, Handler: handle(h.Versioning.ExportVersion), Summary: "Export a version, by POST"},
		{Method: post, Path: "/workspaces/{workspaceId}/import", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Rate: gateway.RateImportWorkspace, Body: gateway.ArchiveBody, Handler: handle(h.Versioning.ImportWorkspace), Summary: "Import an archive into a workspace"},
		{Method: post, Path: "/workspaces/import", Surface: gateway.VersionedAndPlain, Permission: gateway.Auth, Scope: "workspaces:write", Rate: gateway.RateImportWorkspace, Body: gateway.ArchiveBody, Handler: handle(h.Versioning.ImportNew), Summary: "Import an archive into new workspaces"},
		{Method: post, Path: "/workspaces/export", Surface: gateway.VersionedAndPlain, Permission: gateway.Auth, Scope: "workspaces:read", Effect: gateway.Reads, Handler: handle(h.Versioning.ExportMany), Summary: "Export many workspaces"},

		// Versions
		{Method: get, Path: "/workspaces/{workspaceId}/versions", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: handle(h.Versioning.ListVersions), Summary: "List the versions"},
		{Method: post, Path: "/workspaces/{workspaceId}/versions", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Rate: gateway.RateImportWorkspace, Handler: handle(h.Versioning.PushWorkspace), Summary: "Save a version, to a repository if one is named"},
		{Method: post, Path: "/workspaces/{workspaceId}/push", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Rate: gateway.RateImportWorkspace, Handler: handle(h.Versioning.PushWorkspace), Summary: "Save a version, by its other name"},
		{Method: del, Path: "/workspaces/{workspaceId}/versions/{name}", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Handler: handle(h.Versioning.DeleteVersion), Summary: "Forget a version"},
		{Method: post, Path: "/workspaces/{workspaceId}/versions/{name}/pull", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Rate: gateway.RateImportWorkspace, Handler: handle(h.Versioning.PullVersion), Summary: "Bring what a version or a repository has"},
		{Method: post, Path: "/workspaces/{workspaceId}/pull", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Rate: gateway.RateImportWorkspace, Handler: handle(h.Versioning.PullVersion), Summary: "Bring what a repository has"},
		{Method: get, Path: "/workspaces/{workspaceId}/status", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: handle(h.Versioning.GetStatus), Summary: "Compare a workspace with its repositories"},
		{Method: get, Path: "/workspaces/{workspaceId}/conflicts", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Handler: handle(h.Versioning.GetConflicts), Summary: "List the files in conflict"},
		{Method: post, Path: "/workspaces/{workspaceId}/conflicts/resolve", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Handler: handle(h.Versioning.ResolveConflicts), Summary: "Resolve a conflict"},

		// Operations
		{Method: get, Path: "/workspaces/{workspaceId}/operations", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: handle(h.Versioning.ListOperations), Summary: "List the operations"},
		{Method: get, Path: "/workspaces/{workspaceId}/operations/{opId}", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: handle(h.Versioning.GetOperation), Summary: "Read an operation"},
		{Method: get, Path: "/workspaces/{workspaceId}/operations/{opId}/events", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: handle(h.Versioning.StreamOperation), Summary: "Follow an operation"},
		{Method: post, Path: "/workspaces/{workspaceId}/operations/{opId}/cancel", Surface: gateway.VersionedAndPlain, Permission: mayRead, Body: gateway.NoBody, Handler: handle(h.Versioning.CancelOperation), Summary: "Cancel an operation"},

		// Events
		{Method: get, Path: "/events/stream", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "events:read", Rate: gateway.RateSearchEvents, Handler: handle(h.Events.StreamAllEvents), Summary: "Follow the events of all workspaces"},
		{Method: get, Path: "/workspaces/{workspaceId}/events", Surface: gateway.Versioned, Permission: mayReadEvents, Rate: gateway.RateSearchEvents, Handler: handle(h.Events.ListEvents), Summary: "List events"},
		{Method: get, Path: "/workspaces/{workspaceId}/events/stream", Surface: gateway.Versioned, Permission: mayReadEvents, Rate: gateway.RateSearchEvents, Handler: handle(h.Events.StreamEvents), Summary: "Follow events"},
		{Method: get, Path: "/workspaces/{workspaceId}/events/ws", Surface: gateway.Versioned, Permission: mayReadEvents, Rate: gateway.RateSearchEvents, Streaming: true, LateAuth: true, Handler: h.Events.EventSocket(), Summary: "Follow and emit events over a WebSocket"},
		{Method: get, Path: "/workspaces/{workspaceId}/events/{eventId}", Surface: gateway.Versioned, Permission: mayReadEvents, Rate: gateway.RateSearchEvents, Handler: handle(h.Events.GetEvent), Summary: "Read an event"},
		{Method: post, Path: "/workspaces/{workspaceId}/events", Surface: gateway.Versioned, Permission: mayEmit, Handler: handle(h.Events.EmitEvents), Summary: "Emit events"},
		{Method: post, Path: "/search", Surface: gateway.Versioned, Permission: gateway.Super, Rate: gateway.RateSearchEvents, Effect: gateway.Reads, Handler: handle(h.Events.SearchAllEvents), Summary: "Search the events of all workspaces"},
		{Method: post, Path: "/workspaces/{workspaceId}/search", Surface: gateway.Versioned, Permission: gateway.Action{Action: "read", Subject: "events"}, Rate: gateway.RateSearchEvents, Effect: gateway.Reads, Handler: handle(h.Events.SearchEvents), Summary: "Search events"},
		{Method: get, Path: "/workspaces/{workspaceId}/usage", Surface: gateway.Versioned, Permission: mayGetUsage, Scope: "events:read", Rate: gateway.RateSearchEvents, Handler: handle(h.Events.GetUsage), Summary: "Read how much a workspace is used"},

		// Runs of automations
		{Method: get, Path: "/workspaces/{workspaceId}/waits", Surface: gateway.Versioned, Permission: mayReadEvents, Handler: handle(h.Runs.ListWaits), Summary: "List who waits for what"},
		{Method: post, Path: "/workspaces/{workspaceId}/waits/{waitId}/answer", Surface: gateway.Versioned, Permission: mayTest, Handler: handle(h.Runs.AnswerWait), Summary: "End a wait by the event that it is for"},
		{Method: get, Path: "/workspaces/{workspaceId}/webhooks/{endpoint:.+}", Surface: gateway.Versioned, Permission: mayExecute, AnyOrigin: true, OwnSite: true, Scope: "webhooks", Runs: true, Rate: gateway.RateWebhooks, Effect: gateway.Writes, Body: gateway.FormBody, Handler: handle(h.Runs.CallEndpoint), Summary: "Call the endpoint of an automation"},
		{Method: post, Path: "/workspaces/{workspaceId}/webhooks/{endpoint:.+}", Surface: gateway.Versioned, Permission: mayExecute, AnyOrigin: true, Scope: "webhooks", Runs: true, Rate: gateway.RateWebhooks, Body: gateway.FormBody, Handler: handle(h.Runs.CallEndpoint), Summary: "Call the endpoint of an automation, by POST"},
		{Method: put, Path: "/workspaces/{workspaceId}/webhooks/{endpoint:.+}", Surface: gateway.Versioned, Permission: mayExecute, AnyOrigin: true, Scope: "webhooks", Runs: true, Rate: gateway.RateWebhooks, Body: gateway.FormBody, Handler: handle(h.Runs.CallEndpoint), Summary: "Call the endpoint of an automation, by PUT"},
		{Method: patch, Path: "/workspaces/{workspaceId}/webhooks/{endpoint:.+}", Surface: gateway.Versioned, Permission: mayExecute, AnyOrigin: true, Scope: "webhooks", Runs: true, Rate: gateway.RateWebhooks, Body: gateway.FormBody, Handler: handle(h.Runs.CallEndpoint), Summary: "Call the endpoint of an automation, by PATCH"},
		{Method: del, Path: "/workspaces/{workspaceId}/webhooks/{endpoint:.+}", Surface: gateway.Versioned, Permission: mayExecute, AnyOrigin: true, Scope: "webhooks", Runs: true, Rate: gateway.RateWebhooks, Body: gateway.FormBody, Handler: handle(h.Runs.CallEndpoint), Summary: "Call the endpoint of an automation, by DELETE"},
		{Method: post, Path: "/workspaces/{workspaceId}/test/{slug:.+}", Surface: gateway.Versioned, Permission: mayTest, Scope: "webhooks", Runs: true, Rate: gateway.RateWebhooks, Body: gateway.FormBody, Handler: handle(h.Runs.TestAutomation), Summary: "Run an automation with a payload"},

		{Method: get, Path: "/workspaces/{workspaceId}/runs", Surface: gateway.Versioned, Permission: mayReadEvents, Rate: gateway.RateSearchEvents, Handler: handle(h.Runs.ListRuns), Summary: "List the runs"},
		{Method: get, Path: "/workspaces/{workspaceId}/runs/{correlationId}", Surface: gateway.Versioned, Permission: mayReadEvents, Rate: gateway.RateSearchEvents, Handler: handle(h.Runs.GetRun), Summary: "Read a run"},
		{Method: post, Path: "/workspaces/{workspaceId}/runs/{correlationId}/replay", Surface: gateway.Versioned, Permission: mayTest, Rate: gateway.RateSearchEvents, Handler: handle(h.Runs.ReplayRun), Summary: "Replay a recorded run"},
		{Method: post, Path: "/workspaces/{workspaceId}/runs/{correlationId}/cancel", Surface: gateway.Versioned, Permission: mayTest, Body: gateway.NoBody, Handler: handle(h.Runs.CancelRun), Summary: "Cancel a run"},

		// History
		{Method: get, Path: "/history", Surface: gateway.Versioned, Permission: gateway.Super, Handler: handle(h.Versioning.GetAllHistory), Summary: "List what happened on the platform"},
		{Method: get, Path: "/workspaces/{workspaceId}/history", Surface: gateway.Versioned, Permission: mayRead, Handler: handle(h.Versioning.GetHistory), Summary: "List what happened to a workspace"},
		{Method: get, Path: "/workspaces/{workspaceId}/diff", Surface: gateway.Versioned, Permission: mayRead, Handler: handle(h.Versioning.GetDiff), Summary: "Compare two moments of a workspace"},
		{Method: post, Path: "/workspaces/{workspaceId}/restore", Surface: gateway.Versioned, Permission: mayUpdate, Handler: handle(h.Versioning.RestoreWorkspace), Summary: "Put an earlier content back"},
		{Method: post, Path: "/workspaces/{workspaceId}/undo", Surface: gateway.Versioned, Permission: mayUpdate, Handler: handle(h.Versioning.UndoChange), Summary: "Undo a change of the content"},
		{Method: post, Path: "/workspaces/{workspaceId}/versions/{name}/duplicate", Surface: gateway.VersionedAndPlain, Permission: mayRead, Rate: gateway.RateImportWorkspace, Handler: handle(h.Versioning.DuplicateWorkspace), Summary: "Make a copy of a workspace"},

		// Documents
		{Method: get, Path: "/workspaces/{workspaceId}/automations", Surface: gateway.Versioned, Permission: may("read", "automations"), Handler: h.Documents.ListDocuments(documents.Automations), Summary: "List the automations"},
		{Method: post, Path: "/workspaces/{workspaceId}/automations", Surface: gateway.Versioned, Permission: may("create", "automations"), Handler: h.Documents.CreateDocument(documents.Automations), Summary: "Create an automation"},
		{Method: get, Path: "/workspaces/{workspaceId}/automations/{slug:.+}", Surface: gateway.Versioned, Permission: may("read", "automations"), Handler: h.Documents.GetDocument(documents.Automations), Summary: "Read an automation"},
		{Method: patch, Path: "/workspaces/{workspaceId}/automations/{slug:.+}", Surface: gateway.Versioned, Permission: may("update", "automations"), Handler: h.Documents.UpdateDocument(documents.Automations), Summary: "Change an automation"},
		{Method: put, Path: "/workspaces/{workspaceId}/automations/{slug:.+}", Surface: gateway.Versioned, Permission: may("update", "automations"), Handler: h.Documents.UpdateDocument(documents.Automations), Summary: "Replace an automation"},
		{Method: del, Path: "/workspaces/{workspaceId}/automations/{slug:.+}", Surface: gateway.Versioned, Permission: may("delete", "automations"), Handler: h.Documents.DeleteDocument(documents.Automations), Summary: "Delete an automation"},
		{Method: get, Path: "/workspaces/{workspaceId}/pages", Surface: gateway.Versioned, Permission: may("read", "pages"), Handler: h.Documents.ListDocuments(documents.Pages), Summary: "List the pages"},
		{Method: post, Path: "/workspaces/{workspaceId}/pages", Surface: gateway.Versioned, Permission: may("create", "pages"), Handler: h.Documents.CreateDocument(documents.Pages), Summary: "Create a page"},
		{Method: post, Path: "/workspaces/{workspaceId}/pages/preview", Surface: gateway.Versioned, Permission: may("update", "pages"), Handler: handle(h.Documents.PreviewPage), Summary: "Look at a page that is not saved"},
		{Method: get, Path: "/workspaces/{workspaceId}/pages/{slug:.+}", Surface: gateway.Versioned, Permission: may("read", "pages"), Handler: h.Documents.GetDocument(documents.Pages), Summary: "Read a page"},
		{Method: patch, Path: "/workspaces/{workspaceId}/pages/{slug:.+}", Surface: gateway.Versioned, Permission: may("update", "pages"), Handler: h.Documents.UpdateDocument(documents.Pages), Summary: "Change a page"},
		{Method: put, Path: "/workspaces/{workspaceId}/pages/{slug:.+}", Surface: gateway.Versioned, Permission: may("update", "pages"), Handler: h.Documents.UpdateDocument(documents.Pages), Summary: "Replace a page"},
		{Method: del, Path: "/workspaces/{workspaceId}/pages/{slug:.+}", Surface: gateway.Versioned, Permission: may("delete", "pages"), Handler: h.Documents.DeleteDocument(documents.Pages), Summary: "Delete a page"},
		{Method: get, Path: "/pages/{workspaceSlug}/{pageSlug:.+}", Surface: gateway.Versioned, Permission: gateway.Public, Scope: "pages:read", Handler: handle(h.Documents.VisitPage), Summary: "Read a page as its visitors do"},
		{Method: get, Path: "/pages/{pageId}/permissions", Surface: gateway.Versioned, Permission: may("manage_permissions", "pages"), Handler: h.Workspaces.ListDocumentShares(h.Documents.PageToShare), Summary: "List with whom a page is shared"},
		{Method: post, Path: "/pages/{pageId}/permissions", Surface: gateway.Versioned, Permission: may("manage_permissions", "pages"), Handler: h.Workspaces.ShareDocument(h.Documents.PageToShare), Summary: "Share a page"},
		{Method: del, Path: "/pages/{pageId}/permissions/{target}", Surface: gateway.Versioned, Permission: may("manage_permissions", "pages"), Handler: h.Workspaces.UnshareDocument(h.Documents.PageToShare), Summary: "Stop sharing a page"},
		{Method: get, Path: "/workspaces/{workspaceId}/knowledgeBases", Surface: gateway.Versioned, Permission: may("read", "knowledgeBases"), Handler: h.Documents.ListDocuments(documents.KnowledgeBases), Summary: "List the knowledge bases"},
		{Method: post, Path: "/workspaces/{workspaceId}/knowledgeBases", Surface: gateway.Versioned, Permission: may("create", "knowledgeBases"), Handler: h.Documents.CreateDocument(documents.KnowledgeBases), Summary: "Create a knowledge base"},
		{Method: get, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}", Surface: gateway.Versioned, Permission: mayReadBase, Handler: gateway.AskForCredential(h.Documents.GetDocument(documents.KnowledgeBases)), Summary: "Read a knowledge base"},
		{Method: patch, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}", Surface: gateway.Versioned, Permission: may("update", "knowledgeBases"), Handler: h.Documents.UpdateDocument(documents.KnowledgeBases), Summary: "Change a knowledge base"},
		{Method: del, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}", Surface: gateway.Versioned, Permission: may("delete", "knowledgeBases"), Handler: h.Documents.DeleteDocument(documents.KnowledgeBases), Summary: "Delete a knowledge base"},
		{Method: post, Path: "/workspaces/{workspaceId}/knowledgeBases/search", Surface: gateway.Versioned, Permission: mayReadDocuments, Rate: gateway.RateSearchKnowledge, Effect: gateway.Reads, Handler: gateway.AskForCredential(handle(h.Knowledge.SearchBases)), Summary: "Search knowledge bases"},
		{Method: post, Path: "/workspaces/{workspaceId}/knowledgeBases/ask", Surface: gateway.Versioned, Permission: mayReadDocuments, Rate: gateway.RateAskModels, Effect: gateway.Reads, Handler: gateway.AskForCredential(handle(h.Knowledge.AskBases)), Summary: "Ask knowledge bases a question"},
		{Method: post, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/ask", Surface: gateway.Versioned, Permission: mayReadDocuments, Rate: gateway.RateAskModels, Effect: gateway.Reads, Handler: gateway.AskForCredential(handle(h.Knowledge.AskBase)), Summary: "Ask a knowledge base a question"},
		{Method: get, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/search", Surface: gateway.Versioned, Permission: mayReadDocuments, Rate: gateway.RateSearchKnowledge, Handler: gateway.AskForCredential(handle(h.Knowledge.FindInBase)), Summary: "Search a knowledge base by an address"},
		{Method: post, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/search", Surface: gateway.Versioned, Permission: mayReadDocuments, Rate: gateway.RateSearchKnowledge, Effect: gateway.Reads, Handler: gateway.AskForCredential(handle(h.Knowledge.SearchBase)), Summary: "Search a knowledge base"},
		{Method: get, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/permissions", Surface: gateway.Versioned, Permission: may("manage_permissions", "knowledgeBases"), Handler: h.Workspaces.ListDocumentShares(h.Documents.DocumentToShare(documents.KnowledgeBases)), Summary: "List with whom a knowledge base is shared"},
		{Method: post, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/permissions", Surface: gateway.Versioned, Permission: may("manage_permissions", "knowledgeBases"), Handler: h.Workspaces.ShareDocument(h.Documents.DocumentToShare(documents.KnowledgeBases)), Summary: "Share a knowledge base"},
		{Method: del, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/permissions/{target}", Surface: gateway.Versioned, Permission: may("manage_permissions", "knowledgeBases"), Handler: h.Workspaces.UnshareDocument(h.Documents.DocumentToShare(documents.KnowledgeBases)), Summary: "Stop sharing a knowledge base"},
		{Method: get, Path: "/workspaces/{workspaceId}/agents", Surface: gateway.Versioned, Permission: may("read", "agents"), Handler: h.Documents.ListDocuments(documents.Agents), Summary: "List the agents"},
		{Method: post, Path: "/workspaces/{workspaceId}/agents", Surface: gateway.Versioned, Permission: may("create", "agents"), Handler: h.Documents.CreateDocument(documents.Agents), Summary: "Create an agent"},
		{Method: get, Path: "/workspaces/{workspaceId}/agents/{slug}", Surface: gateway.Versioned, Permission: may("read", "agents"), Handler: h.Documents.GetDocument(documents.Agents), Summary: "Read an agent"},
		{Method: patch, Path: "/workspaces/{workspaceId}/agents/{slug}", Surface: gateway.Versioned, Permission: may("update", "agents"), Handler: h.Documents.UpdateDocument(documents.Agents), Summary: "Change an agent"},
		{Method: del, Path: "/workspaces/{workspaceId}/agents/{slug}", Surface: gateway.Versioned, Permission: may("delete", "agents"), Handler: h.Documents.DeleteDocument(documents.Agents), Summary: "Delete an agent"},
		{Method: post, Path: "/workspaces/{workspaceId}/agents/{slug}/publish", Surface: gateway.Versioned, Permission: may("update", "agents"), Handler: handle(h.Documents.PublishAgent), Summary: "Publish an agent as it is"},
		{Method: post, Path: "/workspaces/{workspaceId}/agents/{slug}/unpublish", Surface: gateway.Versioned, Permission: may("update", "agents"), Handler: handle(h.Documents.UnpublishAgent), Summary: "Take back what is published of an agent"},
		{Method: post, Path: "/workspaces/{workspaceId}/agents/{slug}/messages", Surface: gateway.Versioned, Permission: mayExecuteAgents, Scope: "agents", Runs: true, Rate: gateway.RateAskModels, Handler: gateway.AskForCredential(h.Agents.Send), Summary: "Send a message to an agent"},
		{Method: get, Path: "/workspaces/{workspaceId}/agents/{slug}/messages/{id}", Surface: gateway.Versioned, Permission: mayExecuteAgents, Scope: "agents", Handler: gateway.AskForCredential(h.Agents.GetMessage), Summary: "Read a message"},
		{Method: get, Path: "/workspaces/{workspaceId}/agents/{slug}/messages/{id}/stream", Surface: gateway.Versioned, Permission: mayExecuteAgents, Scope: "agents", Handler: gateway.AskForCredential(h.Agents.StreamMessage), Summary: "Follow the answer to a message"},
		{Method: post, Path: "/workspaces/{workspaceId}/agents/{slug}/messages/{id}/cancel", Surface: gateway.Versioned, Permission: mayExecuteAgents, Scope: "agents", Body: gateway.NoBody, Handler: gateway.AskForCredential(h.Agents.CancelMessage), Summary: "Cancel the answer to a message"},
		{Method: post, Path: "/workspaces/{workspaceId}/agents/{slug}/messages/{id}/approve", Surface: gateway.Versioned, Permission: mayExecuteAgents, Scope: "agents", Runs: true, Handler: gateway.AskForCredential(h.Agents.Approve), Summary: "Approve or refuse a call of a function"},
		{Method: get, Path: "/workspaces/{workspaceId}/agents/{slug}/conversations", Surface: gateway.Versioned, Permission: mayExecuteAgents, Scope: "agents", Handler: gateway.AskForCredential(h.Agents.ListConversations), Summary: "List the conversations with an agent"},
		{Method: get, Path: "/workspaces/{workspaceId}/agents/{slug}/conversations/{id}", Surface: gateway.Versioned, Permission: mayExecuteAgents, Scope: "agents", Handler: gateway.AskForCredential(h.Agents.GetConversation), Summary: "Read a conversation"},
		{Method: patch, Path: "/workspaces/{workspaceId}/agents/{slug}/conversations/{id}", Surface: gateway.Versioned, Permission: mayExecuteAgents, Scope: "agents", Handler: gateway.AskForCredential(h.Agents.RenameConversation), Summary: "Rename a conversation"},
		{Method: del, Path: "/workspaces/{workspaceId}/agents/{slug}/conversations/{id}", Surface: gateway.Versioned, Permission: mayExecuteAgents, Scope: "agents", Handler: gateway.AskForCredential(h.Agents.DeleteConversation), Summary: "Delete a conversation"},
		{Method: post, Path: "/workspaces/{workspaceId}/mcp", Surface: gateway.Versioned, Permission: mayUseTools, NoScope: true, HeaderAuth: true, Rate: gateway.RateAskModels, Effect: gateway.Reads, Handler: gateway.AskForCredential(h.MCP.Serve), Summary: "Answer an MCP client"},
		{Method: get, Path: "/workspaces/{workspaceId}/agents/{slug}/permissions", Surface: gateway.Versioned, Permission: may("manage_permissions", "agents"), Handler: h.Workspaces.ListDocumentShares(h.Documents.DocumentToShare(documents.Agents)), Summary: "List with whom an agent is shared"},
		{Method: post, Path: "/workspaces/{workspaceId}/agents/{slug}/permissions", Surface: gateway.Versioned, Permission: may("manage_permissions", "agents"), Handler: h.Workspaces.ShareDocument(h.Documents.DocumentToShare(documents.Agents)), Summary: "Share an agent"},
		{Method: del, Path: "/workspaces/{workspaceId}/agents/{slug}/permissions/{target}", Surface: gateway.Versioned, Permission: may("manage_permissions", "agents"), Handler: h.Workspaces.UnshareDocument(h.Documents.DocumentToShare(documents.Agents)), Summary: "Stop sharing an agent"},
		{Method: get, Path: "/workspaces/{workspaceId}/tests", Surface: gateway.Versioned, Permission: may("read", "automations"), Handler: h.Documents.ListDocuments(documents.Tests), Summary: "List the test suites"},
		{Method: post, Path: "/workspaces/{workspaceId}/tests", Surface: gateway.Versioned, Permission: may("update", "automations"), Handler: h.Documents.CreateDocument(documents.Tests), Summary: "Create a test suite"},
		{Method: post, Path: "/workspaces/{workspaceId}/tests/run", Surface: gateway.Versioned, Permission: mayTest, Rate: gateway.RateSearchEvents, Handler: handle(h.Suites.Run), Summary: "Run test suites"},
		{Method: post, Path: "/workspaces/{workspaceId}/tests/check", Surface: gateway.Versioned, Permission: mayTest, Rate: gateway.RateSearchEvents, Handler: handle(h.Suites.Check), Summary: "Compare a draft of an automation with recorded runs"},
		{Method: post, Path: "/workspaces/{workspaceId}/tests/fromRuns", Surface: gateway.Versioned, Permission: mayTest, Rate: gateway.RateSearchEvents, Handler: handle(h.Suites.FromRuns), Summary: "Make a test suite of recorded runs"},
		{Method: get, Path: "/workspaces/{workspaceId}/tests/{slug:.+}", Surface: gateway.Versioned, Permission: may("read", "automations"), Handler: h.Documents.GetDocument(documents.Tests), Summary: "Read a test suite"},
		{Method: patch, Path: "/workspaces/{workspaceId}/tests/{slug:.+}", Surface: gateway.Versioned, Permission: may("update", "automations"), Handler: h.Documents.UpdateDocument(documents.Tests), Summary: "Change a test suite"},
		{Method: put, Path: "/workspaces/{workspaceId}/tests/{slug:.+}", Surface: gateway.Versioned, Permission: may("update", "automations"), Handler: h.Documents.UpdateDocument(documents.Tests), Summary: "Replace a test suite"},
		{Method: del, Path: "/workspaces/{workspaceId}/tests/{slug:.+}", Surface: gateway.Versioned, Permission: may("update", "automations"), Handler: h.Documents.DeleteDocument(documents.Tests), Summary: "Delete a test suite"},
		{Method: get, Path: "/workspaces/{workspaceId}/models", Surface: gateway.Versioned, Permission: mayRead, Handler: handle(h.Models.List), Summary: "List the language models"},
		{Method: post, Path: "/workspaces/{workspaceId}/models/test", Surface: gateway.Versioned, Permission: mayUpdate, Rate: gateway.RateAskModels, Handler: handle(h.Models.Test), Summary: "Test a language model"},
		{Method: get, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/documents", Surface: gateway.Versioned, Permission: mayReadDocuments, Handler: gateway.AskForCredential(handle(h.Knowledge.ListDocuments)), Summary: "List the documents of a knowledge base"},
		{Method: post, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/documents", Surface: gateway.Versioned, Permission: may("create", "documents"), Rate: gateway.RateUploadFile, Body: gateway.FilesBody, Handler: handle(h.Knowledge.CreateDocuments), Summary: "Add a document, or files"},
		{Method: post, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/bulk", Surface: gateway.Versioned, Permission: may("create", "documents"), Handler: handle(h.Knowledge.CreateMany), Summary: "Add documents"},
		{Method: post, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/delete", Surface: gateway.Versioned, Permission: may("delete", "documents"), Handler: handle(h.Knowledge.DeleteMany), Summary: "Delete documents"},
		{Method: get, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}", Surface: gateway.Versioned, Permission: mayReadDocuments, Handler: gateway.AskForCredential(handle(h.Knowledge.GetDocument)), Summary: "Read what is known of a document"},
		{Method: patch, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}", Surface: gateway.Versioned, Permission: may("update", "documents"), Handler: handle(h.Knowledge.UpdateDocument), Summary: "Change what is said about a document"},
		{Method: del, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}", Surface: gateway.Versioned, Permission: may("delete", "documents"), Handler: handle(h.Knowledge.DeleteDocument), Summary: "Delete a document"},
		{Method: put, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}/content", Surface: gateway.Versioned, Permission: may("update", "documents"), Rate: gateway.RateUploadFile, Body: gateway.FilesBody, Handler: handle(h.Knowledge.ReplaceContent), Summary: "Replace the content of a document"},
		{Method: get, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}/content", Surface: gateway.Versioned, Permission: mayReadDocuments, Handler: gateway.AskForCredential(handle(h.Knowledge.GetContent)), Summary: "Download the content of a document"},
		{Method: get, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}/text", Surface: gateway.Versioned, Permission: mayReadDocuments, Handler: gateway.AskForCredential(handle(h.Knowledge.GetText)), Summary: "Read the text of a document"},
		{Method: get, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}/chunks", Surface: gateway.Versioned, Permission: mayReadDocuments, Handler: gateway.AskForCredential(handle(h.Knowledge.ListChunks)), Summary: "List the passages of a document"},
		{Method: get, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}/revisions", Surface: gateway.Versioned, Permission: mayReadDocuments, Handler: gateway.AskForCredential(handle(h.Knowledge.ListRevisions)), Summary: "List the revisions of a document"},
		{Method: post, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/documents/{id}/reindex", Surface: gateway.Versioned, Permission: may("update", "documents"), Handler: handle(h.Knowledge.ReindexDocument), Summary: "Process a document again"},
		{Method: post, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/reindex", Surface: gateway.Versioned, Permission: may("update", "knowledgeBases"), Handler: handle(h.Knowledge.ReindexBase), Summary: "Process the documents of a knowledge base again"},
		{Method: post, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/sources/{sourceId}/crawl", Surface: gateway.Versioned, Permission: may("update", "knowledgeBases"), Handler: handle(h.Knowledge.StartCrawl), Summary: "Read a source"},
		{Method: get, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/crawls", Surface: gateway.Versioned, Permission: may("read", "knowledgeBases"), Handler: handle(h.Knowledge.ListCrawls), Summary: "List the crawls of a knowledge base"},
		{Method: get, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/crawls/{opId}", Surface: gateway.Versioned, Permission: may("read", "knowledgeBases"), Handler: handle(h.Knowledge.GetCrawl), Summary: "Read a crawl"},
		{Method: get, Path: "/workspaces/{workspaceId}/knowledgeBases/{slug}/crawls/{opId}/pages", Surface: gateway.Versioned, Permission: may("read", "knowledgeBases"), Handler: handle(h.Knowledge.ListCrawlPages), Summary: "List the pages of a crawl"},
		{Method: get, Path: "/workspaces/{workspaceId}/blocks", Surface: gateway.Versioned, Permission: mayRead, Handler: handle(h.Workspaces.ListBlocks), Summary: "List the blocks"},
		{Method: put, Path: "/workspaces/{workspaceId}/blocks/{slug}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: handle(h.Workspaces.PutBlock), Summary: "Set a block"},
		{Method: patch, Path: "/workspaces/{workspaceId}/blocks/{slug}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: handle(h.Workspaces.PutBlock), Summary: "Change a block"},
		{Method: del, Path: "/workspaces/{workspaceId}/blocks/{slug}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: handle(h.Workspaces.DeleteBlock), Summary: "Remove a block"},
		{Method: get, Path: "/workspaces/{workspaceId}/config", Surface: gateway.Versioned, Permission: mayRead, Handler: handle(h.Workspaces.GetConfig), Summary: "Read the config"},
		{Method: patch, Path: "/workspaces/{workspaceId}/config", Surface: gateway.Versioned, Permission: mayUpdate, Handler: handle(h.Workspaces.UpdateConfig), Summary: "Change the config"},
		{Method: get, Path: "/workspaces/{workspaceId}/security/secrets", Surface: gateway.Versioned, Permission: may("read", "secrets"), Handler: handle(h.Workspaces.ListSecrets), Summary: "List the secrets, without values"},
		{Method: patch, Path: "/workspaces/{workspaceId}/security/secrets", Surface: gateway.Versioned, Permission: may("update", "secrets"), Handler: h.Workspaces.PatchSecrets(), Summary: "Set secrets"},
		{Method: put, Path: "/workspaces/{workspaceId}/security/secrets", Surface: gateway.Versioned, Permission: may("update", "secrets"), Handler: h.Workspaces.PutSecrets(), Summary: "Set the secrets, and remove all others"},
		{Method: del, Path: "/workspaces/{workspaceId}/security/secrets/{name}", Surface: gateway.Versioned, Permission: may("delete", "secrets"), Handler: handle(h.Workspaces.DeleteSecret), Summary: "Remove a secret"},
		{Method: get, Path: "/workspaces/{workspaceId}/problems", Surface: gateway.Versioned, Permission: mayRead, Handler: handle(h.Documents.ListProblems), Summary: "List what is wrong with the content"},
		{Method: get, Path: "/workspaces/{workspaceId}/references", Surface: gateway.Versioned, Permission: mayRead, Handler: handle(h.Documents.ListReferences), Summary: "List what documents use of each other"},
		{Method: get, Path: "/schemas/{name}", Surface: gateway.Versioned, Permission: gateway.Public, NoWait: true, Handler: system.GetSchema(), Summary: "Read the JSON Schema of a sort of documents"},

		// Security of a workspace
		{Method: get, Path: "/workspaces/{workspaceId}/security", Surface: gateway.Versioned, Permission: mayRead, Handler: handle(h.Workspaces.GetSecurity), Summary: "Read the security document"},
		{Method: put, Path: "/workspaces/{workspaceId}/security", Surface: gateway.Versioned, Permission: maySecure, Handler: handle(h.Workspaces.PutSecurity), Summary: "Replace the security document"},
		{Method: get, Path: "/workspaces/{workspaceId}/security/roles", Surface: gateway.Versioned, Permission: mayShare, Handler: handle(h.Workspaces.ListRoles), Summary: "List the roles"},
		{Method: get, Path: "/workspaces/{workspaceId}/security/explain", Surface: gateway.Versioned, Permission: maySecure, Handler: handle(h.Workspaces.ExplainAccess), Summary: "Explain who may do what"},
		{Method: get, Path: "/workspaces/{workspaceId}/security/apikeys", Surface: gateway.Versioned, Permission: mayShare, Handler: handle(h.Workspaces.ListAPIKeys), Summary: "List the API keys"},
		{Method: post, Path: "/workspaces/{workspaceId}/security/apikeys", Surface: gateway.Versioned, Permission: mayShare, Handler: handle(h.Workspaces.CreateAPIKey), Summary: "Make an API key"},
		{Method: put, Path: "/workspaces/{workspaceId}/security/apikeys/{idOrValue}", Surface: gateway.Versioned, Permission: mayShare, SecretPath: true, Handler: handle(h.Workspaces.UpdateAPIKey), Summary: "Change an API key"},
		{Method: del, Path: "/workspaces/{workspaceId}/security/apikeys/{idOrValue}", Surface: gateway.Versioned, Permission: mayShare, SecretPath: true, Handler: handle(h.Workspaces.DeleteAPIKey), Summary: "Revoke an API key"},
		{Method: get, Path: "/workspaces/{workspaceId}/permissions", Surface: gateway.Versioned, Permission: mayShare, Handler: handle(h.Workspaces.ListShares), Summary: "List with whom a workspace is shared"},
		{Method: post, Path: "/workspaces/{workspaceId}/permissions", Surface: gateway.Versioned, Permission: mayShare, Handler: handle(h.Workspaces.ShareWorkspace), Summary: "Share a workspace"},
		{Method: del, Path: "/workspaces/{workspaceId}/permissions/{target}", Surface: gateway.Versioned, Permission: mayShare, Handler: handle(h.Workspaces.UnshareWorkspace), Summary: "Stop sharing a workspace"},

		// Subscriptions
		{Method: get, Path: "/workspaces/{workspaceId}/subscriptions", Surface: gateway.Versioned, Permission: maySecure, Handler: handle(h.Events.ListSubscriptions), Summary: "List the subscriptions"},
		{Method: post, Path: "/workspaces/{workspaceId}/subscriptions", Surface: gateway.Versioned, Permission: maySecure, Handler: handle(h.Events.CreateSubscription), Summary: "Subscribe to events"},
		{Method: get, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}", Surface: gateway.Versioned, Permission: maySecure, Handler: handle(h.Events.GetSubscription), Summary: "Read a subscription"},
		{Method: patch, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}", Surface: gateway.Versioned, Permission: maySecure, Handler: handle(h.Events.UpdateSubscription), Summary: "Change a subscription"},
		{Method: del, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}", Surface: gateway.Versioned, Permission: maySecure, Handler: handle(h.Events.DeleteSubscription), Summary: "Delete a subscription"},
		{Method: get, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}/deliveries", Surface: gateway.Versioned, Permission: maySecure, Handler: handle(h.Events.ListDeliveries), Summary: "List the deliveries"},
		{Method: post, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}/deliveries/{deliveryId}/redeliver", Surface: gateway.Versioned, Permission: maySecure, Body: gateway.NoBody, Handler: handle(h.Events.Redeliver), Summary: "Deliver an event once more"},
		{Method: post, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}/replay", Surface: gateway.Versioned, Permission: maySecure, Handler: handle(h.Events.ReplaySubscription), Summary: "Deliver a part of the past once more"},
		{Method: post, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}/rotateSecret", Surface: gateway.Versioned, Permission: maySecure, Handler: handle(h.Events.RotateSecret), Summary: "Sign with another secret"},
		{Method: post, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}/test", Surface: gateway.Versioned, Permission: maySecure, Body: gateway.NoBody, Handler: handle(h.Events.TestSubscription), Summary: "Test a subscription"},

		// Data
		{Method: get, Path: "/workspaces/{workspaceId}/collections", Surface: gateway.Versioned, Permission: may("read", "collections"), Handler: handle(h.Collections.ListCollections), Summary: "List the collections"},
		{Method: del, Path: "/workspaces/{workspaceId}/collections/{name}", Surface: gateway.Versioned, Permission: may("delete", "collections"), Handler: handle(h.Collections.DeleteCollection), Summary: "Delete a collection and its rows"},
		{Method: get, Path: "/workspaces/{workspaceId}/collections/{name}/schema", Surface: gateway.Versioned, Permission: may("read", "collections"), Handler: handle(h.Collections.GetCollectionSchema), Summary: "Read the declaration of a collection"},
		{Method: put, Path: "/workspaces/{workspaceId}/collections/{name}/schema", Surface: gateway.Versioned, Permission: may("update", "collections"), Handler: handle(h.Collections.PutCollectionSchema), Summary: "Declare a collection"},
		{Method: get, Path: "/workspaces/{workspaceId}/collections/{name}/rows", Surface: gateway.Versioned, Permission: may("read", "collections"), Handler: handle(h.Collections.ListRows), Summary: "List rows, or export all of them"},
		{Method: post, Path: "/workspaces/{workspaceId}/collections/{name}/rows", Surface: gateway.Versioned, Permission: may("create", "collections"), Handler: handle(h.Collections.CreateRow), Summary: "Create a row"},
		{Method: get, Path: "/workspaces/{workspaceId}/collections/{name}/rows/{id}", Surface: gateway.Versioned, Permission: may("read", "collections"), Handler: handle(h.Collections.GetRow), Summary: "Read a row"},
		{Method: patch, Path: "/workspaces/{workspaceId}/collections/{name}/rows/{id}", Surface: gateway.Versioned, Permission: may("update", "collections"), Handler: handle(h.Collections.UpdateRow), Summary: "Change a row"},
		{Method: del, Path: "/workspaces/{workspaceId}/collections/{name}/rows/{id}", Surface: gateway.Versioned, Permission: may("delete", "collections"), Handler: handle(h.Collections.DeleteRow), Summary: "Delete a row"},
		{Method: post, Path: "/workspaces/{workspaceId}/collections/{name}/query", Surface: gateway.Versioned, Permission: may("read", "collections"), Effect: gateway.Reads, Handler: handle(h.Collections.QueryRows), Summary: "Find or aggregate rows"},
		{Method: post, Path: "/workspaces/{workspaceId}/collections/{name}/import", Surface: gateway.Versioned, Permission: may("create", "collections"), Rate: gateway.RateUploadFile, Body: gateway.ArchiveBody, Streaming: true, Handler: handle(h.Collections.ImportRows), Summary: "Import rows from a file"},
		{Method: get, Path: "/workspaces/{workspaceId}/contexts/global", Surface: gateway.Versioned, Permission: mayTest, Scope: "workspaces:read", Handler: h.Runs.GetContext("global", ""), Summary: "Read the global context"},
		{Method: get, Path: "/workspaces/{workspaceId}/contexts/user/{userId}", Surface: gateway.Versioned, Permission: mayTest, Scope: "workspaces:read", Handler: h.Runs.GetContext("user", "userId"), Summary: "Read the context of a user"},
		{Method: get, Path: "/workspaces/{workspaceId}/contexts/session/{sessionId}", Surface: gateway.Versioned, Permission: mayTest, Scope: "workspaces:read", Handler: h.Runs.GetContext("session", "sessionId"), Summary: "Read the context of a session"},

		// Files
		{Method: post, Path: "/workspaces/{workspaceId}/files", Surface: gateway.Versioned, Permission: may("create", "files"), Rate: gateway.RateUploadFile, Body: gateway.UploadBody, Handler: handle(h.Files.CreateFiles), Summary: "Upload files"},
		{Method: get, Path: "/workspaces/{workspaceId}/files", Surface: gateway.Versioned, Permission: may("read", "files"), Handler: handle(h.Files.ListFiles), Summary: "List files"},
		{Method: get, Path: "/workspaces/{workspaceId}/files/{id}", Surface: gateway.Versioned, Permission: may("read", "files"), Handler: handle(h.Files.GetFile), Summary: "Read what is known of a file"},
		{Method: patch, Path: "/workspaces/{workspaceId}/files/{id}", Surface: gateway.Versioned, Permission: may("update", "files"), Handler: handle(h.Files.UpdateFile), Summary: "Change a file"},
		{Method: put, Path: "/workspaces/{workspaceId}/files/{id}", Surface: gateway.Versioned, Permission: may("update", "files"), Rate: gateway.RateUploadFile, Body: gateway.UploadBody, Handler: handle(h.Files.ReplaceFile), Summary: "Replace the content of a file"},
		{Method: del, Path: "/workspaces/{workspaceId}/files/{id}", Surface: gateway.Versioned, Permission: may("delete", "files"), Handler: handle(h.Files.DeleteFile), Summary: "Delete a file"},
		{Method: post, Path: "/workspaces/{workspaceId}/files/{id}/share", Surface: gateway.Versioned, Permission: may("update", "files"), Handler: handle(h.Files.ShareFile), Summary: "Make a link to a file"},
		{Method: get, Path: "/files/{workspaceId}/{fileId:[0-9A-Za-z_-]{21}}.{name}", Surface: gateway.Versioned, Permission: gateway.Public, Scope: "files:read", AnyOrigin: true, Handler: handle(h.Files.DownloadFile), Summary: "Download a file"},
	}
	return slices.Concat(rows, h.Console.Routes(), h.OIDC.Routes(), h.Pages.Routes())
}
