package api

import (
	"net/http"
	"slices"

	"svc/http/gateway"
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
	mayRead   = gateway.Action{Action: "read", Subject: "workspaces"}
	mayUpdate = gateway.Action{Action: "update", Subject: "workspaces"}
	mayDelete = gateway.Action{Action: "delete", Subject: "workspaces"}
	mayShare  = gateway.Action{Action: "manage_permissions", Subject: "workspaces"}
	maySecure = gateway.Action{Action: "manage_security", Subject: "workspaces"}
	// mayConnect is for what connects a workspace with the outside.
	mayConnect = gateway.Action{Action: "manage_repositories", Subject: "workspaces"}
)

// filesMay is a right on files.
func filesMay(action string) gateway.Action { return gateway.Action{Action: action, Subject: "files"} }

// Routes is the table of the API. openapi.yaml has one operation for each row.
func Routes(d Deps) []gateway.Route {
	d = d.withDefaults()
	doc, docs := newDocument(), reference.New()
	ready, keep := newReadiness(d), &upkeep{models: d.Keeper, now: d.Now, log: d.Log}
	metrics := gateway.Permission(gateway.Internal)
	if d.MetricsPublic {
		metrics = gateway.Public
	}
	rows := []gateway.Route{
		// System and discovery
		{Method: get, Path: "/", Permission: gateway.Public, Handler: index(d), Summary: "Name the service and its API versions"},
		{Method: get, Path: "/healthz", Permission: gateway.Public, Probe: true, Handler: alive(), Summary: "Tell that the process is alive"},
		{Method: get, Path: "/sys/healthcheck", Permission: gateway.Public, Probe: true, Handler: alive(), Summary: "Tell that the process is alive, under its other name"},
		{Method: get, Path: "/readyz", Permission: gateway.Public, Probe: true, Handler: serving(d.Ready), Summary: "Tell whether requests can be served"},
		{Method: get, Path: "/metrics", Permission: metrics, BearerKey: true, Handler: d.Metrics, Summary: "Read the metrics"},
		{Method: get, Path: "/openapi.json", Permission: gateway.Public, Shared: true, Handler: doc.asJSON(), Summary: "Read this document as JSON"},
		{Method: get, Path: "/openapi.yaml", Permission: gateway.Public, Shared: true, Handler: doc.asYAML(), Summary: "Read this document as YAML"},
		{Method: get, Path: "/docs", Permission: gateway.Public, Shared: true, Handler: gateway.HandlerFunc(docs.Page), Summary: "Show the reference page"},
		{Method: get, Path: "/docs/{asset}", Permission: gateway.Public, Shared: true, Handler: gateway.HandlerFunc(docs.Asset), Summary: "Load a file of the reference page"},

		// Readiness
		{Method: get, Path: "/readiness", Surface: gateway.Versioned, Permission: gateway.SuperOrInternal, NoWait: true, Handler: ready.report(), Summary: "Test the services"},
		{Method: get, Path: "/runtime/readiness", Surface: gateway.Versioned, Permission: gateway.Internal, NoWait: true, Handler: ready.service("runtime"), Summary: "Test the modules of the runtime service"},
		{Method: get, Path: "/events/readiness", Surface: gateway.Versioned, Permission: gateway.Internal, NoWait: true, Handler: ready.service("events"), Summary: "Test the modules of the events service"},
		{Method: get, Path: "/workspaces/readiness", Surface: gateway.Versioned, Permission: gateway.Internal, NoWait: true, Handler: ready.service("workspaces"), Summary: "Test the modules of the workspaces service"},
		{Method: get, Path: "/searchengine/readiness", Surface: gateway.Versioned, Permission: gateway.Internal, NoWait: true, Handler: ready.service("searchengine"), Summary: "Test the modules of the search engine"},
		{Method: get, Path: "/crawler/readiness", Surface: gateway.Versioned, Permission: gateway.Internal, NoWait: true, Handler: ready.service("crawler"), Summary: "Test the modules of the crawler"},

		// System maintenance
		{Method: get, Path: "/sys/config", Permission: gateway.SuperOrInternal, Handler: config(d.Config), Summary: "Read the effective settings"},
		{Method: put, Path: "/sys/logging", Permission: gateway.SuperOrInternal, Handler: setLogging(d.SetLogLevel), Summary: "Change the log level"},
		{Method: post, Path: "/sys/readmodels/rebuild", Permission: gateway.SuperOrInternal, Body: gateway.NoBody, Streaming: true, Handler: keep.rebuild(), Summary: "Rebuild the read models"},
		{Method: post, Path: "/sys/readmodels/verify", Permission: gateway.SuperOrInternal, Body: gateway.NoBody, Streaming: true, Handler: keep.verify(), Summary: "Verify the read models"},
		{Method: post, Path: "/sys/cleanup/indices", Permission: gateway.SuperOrInternal, Streaming: true, Handler: cleanIndices(d), Summary: "Erase events that are too old"},
		{Method: post, Path: "/sys/cleanup/executions", Permission: gateway.SuperOrInternal, Streaming: true, Handler: cleanExecutions(d), Summary: "Erase payloads of executions that are too old"},
		{Method: get, Path: "/sys/jwks", Permission: gateway.SuperOrInternal, Handler: listSigningKeys(d), Summary: "List the signing keys"},
		{Method: post, Path: "/sys/jwks/rotate", Permission: gateway.SuperOrInternal, Handler: rotateSigningKeys(d), Summary: "Let the next key sign"},
		{Method: del, Path: "/sys/jwks/{kid}", Permission: gateway.SuperOrInternal, Handler: revokeSigningKey(d), Summary: "Revoke a signing key"},
		{Method: post, Path: "/sys/admins/claim", Permission: gateway.Internal, Handler: claimAdmin(d), Summary: "Prove an address by having the host"},
		{Method: get, Path: "/sys/nats/users", Permission: gateway.SuperOrInternal, Handler: listNATSUsers(d), Summary: "List who watches events over NATS"},
		{Method: post, Path: "/sys/nats/users", Permission: gateway.SuperOrInternal, Handler: createNATSUser(d), Summary: "Let a program watch events over NATS"},
		{Method: del, Path: "/sys/nats/users/{id}", Permission: gateway.SuperOrInternal, Handler: deleteNATSUser(d), Summary: "Shut a program out that watches events"},

		// Authentication and users
		{Method: get, Path: "/login/providers", Surface: gateway.Versioned, Permission: gateway.Public, NoWait: true, Handler: listLoginProviders(d), Summary: "List the ways to sign in"},
		{Method: post, Path: "/login/anonymous", Surface: gateway.Versioned, Permission: gateway.Public, Rate: gateway.RateAnonymousLogin, NoCSRF: true, Handler: loginAnonymously(d), Summary: "Sign in as a visitor"},
		{Method: post, Path: "/login", Surface: gateway.Versioned, Permission: gateway.Public, Rate: gateway.RateLogin, NoCSRF: true, Handler: login(d), Summary: "Sign in with a password"},
		{Method: post, Path: "/login/mfa", Surface: gateway.Versioned, Permission: gateway.Auth, NoScope: true, Rate: gateway.RateLogin, BeforeMFA: true, Handler: showCode(d), Summary: "Show the second factor"},
		{Method: post, Path: "/login/token-exchange", Surface: gateway.Versioned, Permission: gateway.Public, Rate: gateway.RateTokenExchange, NoCSRF: true, Handler: exchangeToken(d), Summary: "Sign in with the token of a provider"},
		{Method: post, Path: "/logout", Surface: gateway.Versioned, Permission: gateway.Auth, NoScope: true, BeforeMFA: true, Handler: logout(d), Summary: "Sign out"},
		{Method: get, Path: "/me", Surface: gateway.Versioned, Permission: gateway.Auth, NoScope: true, BeforeMFA: true, ToLent: true, Handler: getMe(d), Summary: "Read who is signed in"},
		{Method: post, Path: "/signup", Surface: gateway.Versioned, Permission: gateway.Public, Rate: gateway.RateSignup, Handler: signUp(d), Summary: "Make an account"},
		{Method: post, Path: "/user/password", Surface: gateway.Versioned, Permission: gateway.Public, Scope: "settings", Rate: gateway.RatePasswordReset, Handler: setPassword(d), Summary: "Reset or change a password"},
		{Method: post, Path: "/user/validate", Surface: gateway.Versioned, Permission: gateway.Public, Scope: "settings", Rate: gateway.RatePasswordReset, Handler: validateUser(d), Summary: "Prove a mail address"},
		{Method: patch, Path: "/user", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: updateUser(d), Summary: "Change one's profile"},
		{Method: del, Path: "/user", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: deleteSelf(d), Summary: "Delete one's account"},
		{Method: post, Path: "/user/photo", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Body: gateway.UploadBody, MaxBody: maxPhotoBody, Handler: setPhoto(d), Summary: "Upload one's picture"},
		{Method: post, Path: "/user/meta", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: mergeMeta(d), Summary: "Add to one's own data"},
		{Method: del, Path: "/user/meta/{key}", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: deleteMeta(d), Summary: "Remove from one's own data"},
		{Method: post, Path: "/user/mfa", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", BeforeMFA: true, Handler: setMFA(d), Summary: "Set up the second factor"},
		{Method: get, Path: "/user/accessTokens", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: listAccessTokens(d), Summary: "List one's access tokens"},
		{Method: post, Path: "/user/accessTokens", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: createAccessToken(d), Summary: "Make an access token"},
		{Method: del, Path: "/user/accessTokens/{idOrToken}", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", SecretPath: true, Handler: deleteAccessToken(d), Summary: "Revoke an access token"},
		{Method: get, Path: "/user/sessions", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: listSessions(d), Summary: "List one's sessions"},
		{Method: del, Path: "/user/sessions/{id}", Surface: gateway.Versioned, Permission: gateway.Session, Scope: "settings", Handler: endSession(d), Summary: "End one of one's sessions"},
		{Method: post, Path: "/contacts", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "settings", Effect: gateway.Reads, Handler: findContacts(d), Summary: "Find people"},
		{Method: get, Path: "/users", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: listUsers(d), Summary: "List the users"},
		{Method: post, Path: "/users", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: createUser(d), Summary: "Make or invite a user"},
		{Method: patch, Path: "/users/{userId}", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "settings", Handler: patchUser(d), Summary: "Change a user"},
		{Method: del, Path: "/users/{userId}", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: deleteUser(d), Summary: "Delete a user"},
		{Method: get, Path: "/users/{userId}/photo", Surface: gateway.Versioned, Permission: gateway.Public, Handler: getPhoto(d), Summary: "Load the picture of a user"},
		{Method: get, Path: "/users/{userId}/sessions", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: listUserSessions(d), Summary: "List the sessions of a user"},
		{Method: del, Path: "/users/{userId}/sessions", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: endUserSessions(d), Summary: "End the sessions of a user"},

		// Workspaces
		{Method: get, Path: "/workspaces", Surface: gateway.Versioned, Permission: mayRead, Handler: listWorkspaces(d), Summary: "List workspaces"},
		{Method: post, Path: "/workspaces", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "workspaces:write", Rate: gateway.RateCreateWorkspace, Handler: createWorkspace(d), Summary: "Create a workspace"},
		{Method: get, Path: "/workspaces/labels", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "workspaces:read", Handler: listLabels(d), Summary: "List the labels in use"},
		{Method: get, Path: "/workspaces/{workspaceId}", Surface: gateway.Versioned, Permission: mayRead, Handler: getWorkspace(d), Summary: "Read a workspace"},
		{Method: patch, Path: "/workspaces/{workspaceId}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: updateWorkspace(d), Summary: "Change a workspace"},
		{Method: del, Path: "/workspaces/{workspaceId}", Surface: gateway.Versioned, Permission: mayDelete, Handler: deleteWorkspace(d), Summary: "Delete a workspace"},
		{Method: post, Path: "/workspaces/{workspaceId}/undelete", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "workspaces:write", Handler: undeleteWorkspace(d), Summary: "Bring a deleted workspace back"},
		{Method: post, Path: "/workspaces/{workspaceId}/writeLock", Surface: gateway.VersionedAndPlain, Permission: maySecure, Handler: lockWorkspace(d), Summary: "Lock a workspace for writing"},
		{Method: del, Path: "/workspaces/{workspaceId}/writeLock", Surface: gateway.VersionedAndPlain, Permission: maySecure, Handler: unlockWorkspace(d), Summary: "Clear the write lock"},
		{Method: post, Path: "/workspaces/{workspaceId}/repositories/{repositoryId}/test", Surface: gateway.VersionedAndPlain, Permission: mayConnect, Effect: gateway.Reads, Body: gateway.NoBody, Handler: testRepository(d), Summary: "Test the connection to a repository"},

		// Apps and app instances
		{Method: get, Path: "/apps", Surface: gateway.Versioned, Permission: gateway.Action{Action: "read", Subject: "apps"}, Handler: listApps(d), Summary: "List published apps"},
		{Method: post, Path: "/apps", Surface: gateway.Versioned, Permission: gateway.Action{Action: "create", Subject: "apps"}, Handler: publishApp(d), Summary: "Publish a workspace as an app"},
		{Method: get, Path: "/apps/{appSlug}", Surface: gateway.Versioned, Permission: gateway.Action{Action: "read", Subject: "apps"}, Handler: getApp(d), Summary: "Read an app"},
		{Method: del, Path: "/apps/{appSlug}", Surface: gateway.Versioned, Permission: gateway.Action{Action: "delete", Subject: "apps"}, Handler: deleteApp(d), Summary: "Take an app back"},
		{Method: get, Path: "/workspaces/{workspaceId}/apps", Surface: gateway.Versioned, Permission: mayRead, Handler: listInstances(d), Summary: "List the app instances"},
		{Method: post, Path: "/workspaces/{workspaceId}/apps", Surface: gateway.Versioned, Permission: mayUpdate, Handler: installApp(d), Summary: "Install an app"},
		{Method: get, Path: "/workspaces/{workspaceId}/apps/{slug}", Surface: gateway.Versioned, Permission: mayRead, Handler: getInstance(d), Summary: "Read an app instance"},
		{Method: patch, Path: "/workspaces/{workspaceId}/apps/{slug}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: updateInstance(d), Summary: "Change an app instance"},
		{Method: put, Path: "/workspaces/{workspaceId}/apps/{slug}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: updateInstance(d), Summary: "Replace an app instance"},
		{Method: del, Path: "/workspaces/{workspaceId}/apps/{slug}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: uninstallApp(d), Summary: "Uninstall an app"},
		{Method: get, Path: "/workspaces/{workspaceId}/apps/{slug}/config", Surface: gateway.Versioned, Permission: mayRead, Handler: getInstanceConfig(d), Summary: "Read the config of an app instance"},
		{Method: patch, Path: "/workspaces/{workspaceId}/apps/{slug}/config", Surface: gateway.Versioned, Permission: mayUpdate, Handler: updateInstanceConfig(d), Summary: "Change the config of an app instance"},

		// Archives
		{Method: get, Path: "/workspaces/{workspaceId}/export", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: exportWorkspace(d), Summary: "Export a workspace"},
		{Method: get, Path: "/workspaces/{workspaceId}/versions/{name}/export", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: exportVersion(d), Summary: "Export a version"},
		{Method: post, Path: "/workspaces/{workspaceId}/versions/{name}/export", Surface: gateway.VersionedAndPlain, Permission: mayRead, Effect: gateway.Reads, Body: gateway.NoBody, Handler: exportVersion(d), Summary: "Export a version, by POST"},
		{Method: post, Path: "/workspaces/{workspaceId}/import", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Rate: gateway.RateImportWorkspace, Body: gateway.ArchiveBody, Handler: importWorkspace(d), Summary: "Import an archive into a workspace"},
		{Method: post, Path: "/workspaces/import", Surface: gateway.VersionedAndPlain, Permission: gateway.Auth, Scope: "workspaces:write", Rate: gateway.RateImportWorkspace, Body: gateway.ArchiveBody, Handler: importNew(d), Summary: "Import an archive into new workspaces"},
		{Method: post, Path: "/workspaces/export", Surface: gateway.VersionedAndPlain, Permission: gateway.Auth, Scope: "workspaces:read", Effect: gateway.Reads, Handler: exportMany(d), Summary: "Export many workspaces"},

		// Versions
		{Method: get, Path: "/workspaces/{workspaceId}/versions", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: listVersions(d), Summary: "List the versions"},
		{Method: post, Path: "/workspaces/{workspaceId}/versions", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Rate: gateway.RateImportWorkspace, Handler: pushWorkspace(d), Summary: "Save a version, to a repository if one is named"},
		{Method: post, Path: "/workspaces/{workspaceId}/push", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Rate: gateway.RateImportWorkspace, Handler: pushWorkspace(d), Summary: "Save a version, by its other name"},
		{Method: del, Path: "/workspaces/{workspaceId}/versions/{name}", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Handler: deleteVersion(d), Summary: "Forget a version"},
		{Method: post, Path: "/workspaces/{workspaceId}/versions/{name}/pull", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Rate: gateway.RateImportWorkspace, Handler: pullVersion(d), Summary: "Bring what a version or a repository has"},
		{Method: post, Path: "/workspaces/{workspaceId}/pull", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Rate: gateway.RateImportWorkspace, Handler: pullVersion(d), Summary: "Bring what a repository has"},
		{Method: get, Path: "/workspaces/{workspaceId}/status", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: getStatus(d), Summary: "Compare a workspace with its repositories"},
		{Method: get, Path: "/workspaces/{workspaceId}/conflicts", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Handler: getConflicts(d), Summary: "List the files in conflict"},
		{Method: post, Path: "/workspaces/{workspaceId}/conflicts/resolve", Surface: gateway.VersionedAndPlain, Permission: mayUpdate, Handler: resolveConflicts(d), Summary: "Resolve a conflict"},

		// Operations
		{Method: get, Path: "/workspaces/{workspaceId}/operations", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: listOperations(d), Summary: "List the operations"},
		{Method: get, Path: "/workspaces/{workspaceId}/operations/{opId}", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: getOperation(d), Summary: "Read an operation"},
		{Method: get, Path: "/workspaces/{workspaceId}/operations/{opId}/events", Surface: gateway.VersionedAndPlain, Permission: mayRead, Handler: streamOperation(d), Summary: "Follow an operation"},
		{Method: post, Path: "/workspaces/{workspaceId}/operations/{opId}/cancel", Surface: gateway.VersionedAndPlain, Permission: mayRead, Body: gateway.NoBody, Handler: cancelOperation(d), Summary: "Cancel an operation"},

		// Events
		{Method: get, Path: "/events/stream", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "events:read", Rate: gateway.RateSearchEvents, Handler: streamAllEvents(d), Summary: "Follow the events of all workspaces"},
		{Method: get, Path: "/workspaces/{workspaceId}/events", Surface: gateway.Versioned, Permission: mayReadEvents, Rate: gateway.RateSearchEvents, Handler: listEvents(d), Summary: "List events"},
		{Method: get, Path: "/workspaces/{workspaceId}/events/stream", Surface: gateway.Versioned, Permission: mayReadEvents, Rate: gateway.RateSearchEvents, Handler: streamEvents(d), Summary: "Follow events"},
		{Method: get, Path: "/workspaces/{workspaceId}/events/ws", Surface: gateway.Versioned, Permission: mayReadEvents, Rate: gateway.RateSearchEvents, Streaming: true, LateAuth: true, Handler: eventSocket(d), Summary: "Follow and emit events over a WebSocket"},
		{Method: get, Path: "/workspaces/{workspaceId}/events/{eventId}", Surface: gateway.Versioned, Permission: mayReadEvents, Rate: gateway.RateSearchEvents, Handler: getEvent(d), Summary: "Read an event"},
		{Method: post, Path: "/workspaces/{workspaceId}/events", Surface: gateway.Versioned, Permission: mayEmit, Handler: emitEvents(d), Summary: "Emit events"},
		{Method: post, Path: "/search", Surface: gateway.Versioned, Permission: gateway.Super, Rate: gateway.RateSearchEvents, Effect: gateway.Reads, Handler: searchAllEvents(d), Summary: "Search the events of all workspaces"},
		{Method: post, Path: "/workspaces/{workspaceId}/search", Surface: gateway.Versioned, Permission: gateway.Action{Action: "read", Subject: "events"}, Rate: gateway.RateSearchEvents, Effect: gateway.Reads, Handler: searchEvents(d), Summary: "Search events"},
		{Method: get, Path: "/workspaces/{workspaceId}/usage", Surface: gateway.Versioned, Permission: mayGetUsage, Scope: "events:read", Rate: gateway.RateSearchEvents, Handler: getUsage(d), Summary: "Read how much a workspace is used"},

		// Runs of automations
		{Method: get, Path: "/workspaces/{workspaceId}/waits", Surface: gateway.Versioned, Permission: mayReadEvents, Handler: listWaits(d), Summary: "List who waits for what"},
		{Method: post, Path: "/workspaces/{workspaceId}/waits/{waitId}/answer", Surface: gateway.Versioned, Permission: mayTest, Handler: answerWait(d), Summary: "End a wait by the event that it is for"},
		{Method: get, Path: "/workspaces/{workspaceId}/webhooks/{endpoint:.+}", Surface: gateway.Versioned, Permission: mayExecute, AnyOrigin: true, OwnSite: true, Scope: "webhooks", Runs: true, Rate: gateway.RateWebhooks, Effect: gateway.Writes, Body: gateway.FormBody, Handler: callEndpoint(d), Summary: "Call the endpoint of an automation"},
		{Method: post, Path: "/workspaces/{workspaceId}/webhooks/{endpoint:.+}", Surface: gateway.Versioned, Permission: mayExecute, AnyOrigin: true, Scope: "webhooks", Runs: true, Rate: gateway.RateWebhooks, Body: gateway.FormBody, Handler: callEndpoint(d), Summary: "Call the endpoint of an automation, by POST"},
		{Method: put, Path: "/workspaces/{workspaceId}/webhooks/{endpoint:.+}", Surface: gateway.Versioned, Permission: mayExecute, AnyOrigin: true, Scope: "webhooks", Runs: true, Rate: gateway.RateWebhooks, Body: gateway.FormBody, Handler: callEndpoint(d), Summary: "Call the endpoint of an automation, by PUT"},
		{Method: patch, Path: "/workspaces/{workspaceId}/webhooks/{endpoint:.+}", Surface: gateway.Versioned, Permission: mayExecute, AnyOrigin: true, Scope: "webhooks", Runs: true, Rate: gateway.RateWebhooks, Body: gateway.FormBody, Handler: callEndpoint(d), Summary: "Call the endpoint of an automation, by PATCH"},
		{Method: del, Path: "/workspaces/{workspaceId}/webhooks/{endpoint:.+}", Surface: gateway.Versioned, Permission: mayExecute, AnyOrigin: true, Scope: "webhooks", Runs: true, Rate: gateway.RateWebhooks, Body: gateway.FormBody, Handler: callEndpoint(d), Summary: "Call the endpoint of an automation, by DELETE"},
		{Method: post, Path: "/workspaces/{workspaceId}/test/{slug:.+}", Surface: gateway.Versioned, Permission: mayTest, Scope: "webhooks", Runs: true, Rate: gateway.RateWebhooks, Body: gateway.FormBody, Handler: testAutomation(d), Summary: "Run an automation with a payload"},

		{Method: get, Path: "/workspaces/{workspaceId}/runs", Surface: gateway.Versioned, Permission: mayReadEvents, Rate: gateway.RateSearchEvents, Handler: listRuns(d), Summary: "List the runs"},
		{Method: get, Path: "/workspaces/{workspaceId}/runs/{correlationId}", Surface: gateway.Versioned, Permission: mayReadEvents, Rate: gateway.RateSearchEvents, Handler: getRun(d), Summary: "Read a run"},
		{Method: post, Path: "/workspaces/{workspaceId}/runs/{correlationId}/replay", Surface: gateway.Versioned, Permission: mayTest, Rate: gateway.RateSearchEvents, Handler: replayRun(d), Summary: "Replay a recorded run"},
		{Method: post, Path: "/workspaces/{workspaceId}/runs/{correlationId}/cancel", Surface: gateway.Versioned, Permission: mayTest, Body: gateway.NoBody, Handler: cancelRun(d), Summary: "Cancel a run"},

		// History
		{Method: get, Path: "/history", Surface: gateway.Versioned, Permission: gateway.Super, Handler: getAllHistory(d), Summary: "List what happened on the platform"},
		{Method: get, Path: "/workspaces/{workspaceId}/history", Surface: gateway.Versioned, Permission: mayRead, Handler: getHistory(d), Summary: "List what happened to a workspace"},
		{Method: get, Path: "/workspaces/{workspaceId}/diff", Surface: gateway.Versioned, Permission: mayRead, Handler: getDiff(d), Summary: "Compare two moments of a workspace"},
		{Method: post, Path: "/workspaces/{workspaceId}/restore", Surface: gateway.Versioned, Permission: mayUpdate, Handler: restoreWorkspace(d), Summary: "Put an earlier content back"},
		{Method: post, Path: "/workspaces/{workspaceId}/undo", Surface: gateway.Versioned, Permission: mayUpdate, Handler: undoChange(d), Summary: "Undo a change of the content"},
		{Method: post, Path: "/workspaces/{workspaceId}/versions/{name}/duplicate", Surface: gateway.VersionedAndPlain, Permission: mayRead, Rate: gateway.RateImportWorkspace, Handler: duplicateWorkspace(d), Summary: "Make a copy of a workspace"},

		// Documents
		{Method: get, Path: "/workspaces/{workspaceId}/automations", Surface: gateway.Versioned, Permission: automationFolder.may("read"), Handler: listDocuments(d, automationFolder), Summary: "List the automations"},
		{Method: post, Path: "/workspaces/{workspaceId}/automations", Surface: gateway.Versioned, Permission: automationFolder.may("create"), Handler: createDocument(d, automationFolder), Summary: "Create an automation"},
		{Method: get, Path: "/workspaces/{workspaceId}/automations/{slug:.+}", Surface: gateway.Versioned, Permission: automationFolder.may("read"), Handler: getDocument(d, automationFolder), Summary: "Read an automation"},
		{Method: patch, Path: "/workspaces/{workspaceId}/automations/{slug:.+}", Surface: gateway.Versioned, Permission: automationFolder.may("update"), Handler: updateDocument(d, automationFolder), Summary: "Change an automation"},
		{Method: put, Path: "/workspaces/{workspaceId}/automations/{slug:.+}", Surface: gateway.Versioned, Permission: automationFolder.may("update"), Handler: updateDocument(d, automationFolder), Summary: "Replace an automation"},
		{Method: del, Path: "/workspaces/{workspaceId}/automations/{slug:.+}", Surface: gateway.Versioned, Permission: automationFolder.may("delete"), Handler: deleteDocument(d, automationFolder), Summary: "Delete an automation"},
		{Method: get, Path: "/workspaces/{workspaceId}/pages", Surface: gateway.Versioned, Permission: pageFolder.may("read"), Handler: listDocuments(d, pageFolder), Summary: "List the pages"},
		{Method: post, Path: "/workspaces/{workspaceId}/pages", Surface: gateway.Versioned, Permission: pageFolder.may("create"), Handler: createDocument(d, pageFolder), Summary: "Create a page"},
		{Method: get, Path: "/workspaces/{workspaceId}/pages/{slug:.+}", Surface: gateway.Versioned, Permission: pageFolder.may("read"), Handler: getDocument(d, pageFolder), Summary: "Read a page"},
		{Method: patch, Path: "/workspaces/{workspaceId}/pages/{slug:.+}", Surface: gateway.Versioned, Permission: pageFolder.may("update"), Handler: updateDocument(d, pageFolder), Summary: "Change a page"},
		{Method: put, Path: "/workspaces/{workspaceId}/pages/{slug:.+}", Surface: gateway.Versioned, Permission: pageFolder.may("update"), Handler: updateDocument(d, pageFolder), Summary: "Replace a page"},
		{Method: del, Path: "/workspaces/{workspaceId}/pages/{slug:.+}", Surface: gateway.Versioned, Permission: pageFolder.may("delete"), Handler: deleteDocument(d, pageFolder), Summary: "Delete a page"},
		{Method: get, Path: "/pages/{workspaceSlug}/{pageSlug:.+}", Surface: gateway.Versioned, Permission: gateway.Public, Scope: "pages:read", Handler: visitPage(d), Summary: "Read a page as its visitors do"},
		{Method: get, Path: "/pages/{pageId}/permissions", Surface: gateway.Versioned, Permission: pageFolder.may("manage_permissions"), Handler: listPageShares(d), Summary: "List with whom a page is shared"},
		{Method: post, Path: "/pages/{pageId}/permissions", Surface: gateway.Versioned, Permission: pageFolder.may("manage_permissions"), Handler: sharePage(d), Summary: "Share a page"},
		{Method: del, Path: "/pages/{pageId}/permissions/{target}", Surface: gateway.Versioned, Permission: pageFolder.may("manage_permissions"), Handler: unsharePage(d), Summary: "Stop sharing a page"},
		{Method: get, Path: "/workspaces/{workspaceId}/blocks", Surface: gateway.Versioned, Permission: mayRead, Handler: listBlocks(d), Summary: "List the blocks"},
		{Method: put, Path: "/workspaces/{workspaceId}/blocks/{slug}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: putBlock(d), Summary: "Set a block"},
		{Method: patch, Path: "/workspaces/{workspaceId}/blocks/{slug}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: putBlock(d), Summary: "Change a block"},
		{Method: del, Path: "/workspaces/{workspaceId}/blocks/{slug}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: deleteBlock(d), Summary: "Remove a block"},
		{Method: get, Path: "/workspaces/{workspaceId}/config", Surface: gateway.Versioned, Permission: mayRead, Handler: getConfig(d), Summary: "Read the config"},
		{Method: patch, Path: "/workspaces/{workspaceId}/config", Surface: gateway.Versioned, Permission: mayUpdate, Handler: updateConfig(d), Summary: "Change the config"},
		{Method: get, Path: "/workspaces/{workspaceId}/security/secrets", Surface: gateway.Versioned, Permission: secretsMay("read"), Handler: listSecrets(d), Summary: "List the secrets, without values"},
		{Method: patch, Path: "/workspaces/{workspaceId}/security/secrets", Surface: gateway.Versioned, Permission: secretsMay("update"), Handler: patchSecrets(d), Summary: "Set secrets"},
		{Method: put, Path: "/workspaces/{workspaceId}/security/secrets", Surface: gateway.Versioned, Permission: secretsMay("update"), Handler: putSecrets(d), Summary: "Set the secrets, and remove all others"},
		{Method: del, Path: "/workspaces/{workspaceId}/security/secrets/{name}", Surface: gateway.Versioned, Permission: secretsMay("delete"), Handler: deleteSecret(d), Summary: "Remove a secret"},
		{Method: get, Path: "/workspaces/{workspaceId}/problems", Surface: gateway.Versioned, Permission: mayRead, Handler: listProblems(d), Summary: "List what is wrong with the content"},
		{Method: get, Path: "/schemas/{name}", Surface: gateway.Versioned, Permission: gateway.Public, NoWait: true, Handler: getSchema(), Summary: "Read the JSON Schema of a sort of documents"},

		// Security of a workspace
		{Method: get, Path: "/workspaces/{workspaceId}/security", Surface: gateway.Versioned, Permission: mayRead, Handler: getSecurity(d), Summary: "Read the security document"},
		{Method: put, Path: "/workspaces/{workspaceId}/security", Surface: gateway.Versioned, Permission: maySecure, Handler: putSecurity(d), Summary: "Replace the security document"},
		{Method: get, Path: "/workspaces/{workspaceId}/security/roles", Surface: gateway.Versioned, Permission: mayShare, Handler: listRoles(d), Summary: "List the roles"},
		{Method: get, Path: "/workspaces/{workspaceId}/security/explain", Surface: gateway.Versioned, Permission: maySecure, Handler: explain(d), Summary: "Explain who may do what"},
		{Method: get, Path: "/workspaces/{workspaceId}/security/apikeys", Surface: gateway.Versioned, Permission: mayShare, Handler: listAPIKeys(d), Summary: "List the API keys"},
		{Method: post, Path: "/workspaces/{workspaceId}/security/apikeys", Surface: gateway.Versioned, Permission: mayShare, Handler: createAPIKey(d), Summary: "Make an API key"},
		{Method: put, Path: "/workspaces/{workspaceId}/security/apikeys/{idOrValue}", Surface: gateway.Versioned, Permission: mayShare, SecretPath: true, Handler: updateAPIKey(d), Summary: "Change an API key"},
		{Method: del, Path: "/workspaces/{workspaceId}/security/apikeys/{idOrValue}", Surface: gateway.Versioned, Permission: mayShare, SecretPath: true, Handler: deleteAPIKey(d), Summary: "Revoke an API key"},
		{Method: get, Path: "/workspaces/{workspaceId}/permissions", Surface: gateway.Versioned, Permission: mayShare, Handler: listShares(d), Summary: "List with whom a workspace is shared"},
		{Method: post, Path: "/workspaces/{workspaceId}/permissions", Surface: gateway.Versioned, Permission: mayShare, Handler: share(d), Summary: "Share a workspace"},
		{Method: del, Path: "/workspaces/{workspaceId}/permissions/{target}", Surface: gateway.Versioned, Permission: mayShare, Handler: unshare(d), Summary: "Stop sharing a workspace"},

		// Subscriptions
		{Method: get, Path: "/workspaces/{workspaceId}/subscriptions", Surface: gateway.Versioned, Permission: maySecure, Handler: listSubscriptions(d), Summary: "List the subscriptions"},
		{Method: post, Path: "/workspaces/{workspaceId}/subscriptions", Surface: gateway.Versioned, Permission: maySecure, Handler: createSubscription(d), Summary: "Subscribe to events"},
		{Method: get, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}", Surface: gateway.Versioned, Permission: maySecure, Handler: getSubscription(d), Summary: "Read a subscription"},
		{Method: patch, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}", Surface: gateway.Versioned, Permission: maySecure, Handler: updateSubscription(d), Summary: "Change a subscription"},
		{Method: del, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}", Surface: gateway.Versioned, Permission: maySecure, Handler: deleteSubscription(d), Summary: "Delete a subscription"},
		{Method: get, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}/deliveries", Surface: gateway.Versioned, Permission: maySecure, Handler: listDeliveries(d), Summary: "List the deliveries"},
		{Method: post, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}/deliveries/{deliveryId}/redeliver", Surface: gateway.Versioned, Permission: maySecure, Body: gateway.NoBody, Handler: redeliver(d), Summary: "Deliver an event once more"},
		{Method: post, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}/replay", Surface: gateway.Versioned, Permission: maySecure, Handler: replaySubscription(d), Summary: "Deliver a part of the past once more"},
		{Method: post, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}/rotateSecret", Surface: gateway.Versioned, Permission: maySecure, Handler: rotateSecret(d), Summary: "Sign with another secret"},
		{Method: post, Path: "/workspaces/{workspaceId}/subscriptions/{subscriptionId}/test", Surface: gateway.Versioned, Permission: maySecure, Body: gateway.NoBody, Handler: testSubscription(d), Summary: "Test a subscription"},

		// Data
		{Method: get, Path: "/workspaces/{workspaceId}/collections", Surface: gateway.Versioned, Permission: collectionsMay("read"), Handler: listCollections(d), Summary: "List the collections"},
		{Method: del, Path: "/workspaces/{workspaceId}/collections/{name}", Surface: gateway.Versioned, Permission: collectionsMay("delete"), Handler: deleteCollection(d), Summary: "Delete a collection and its rows"},
		{Method: get, Path: "/workspaces/{workspaceId}/collections/{name}/schema", Surface: gateway.Versioned, Permission: collectionsMay("read"), Handler: getCollectionSchema(d), Summary: "Read the declaration of a collection"},
		{Method: put, Path: "/workspaces/{workspaceId}/collections/{name}/schema", Surface: gateway.Versioned, Permission: collectionsMay("update"), Handler: putCollectionSchema(d), Summary: "Declare a collection"},
		{Method: get, Path: "/workspaces/{workspaceId}/collections/{name}/rows", Surface: gateway.Versioned, Permission: collectionsMay("read"), Handler: listRows(d), Summary: "List rows, or export all of them"},
		{Method: post, Path: "/workspaces/{workspaceId}/collections/{name}/rows", Surface: gateway.Versioned, Permission: collectionsMay("create"), Handler: createRow(d), Summary: "Create a row"},
		{Method: get, Path: "/workspaces/{workspaceId}/collections/{name}/rows/{id}", Surface: gateway.Versioned, Permission: collectionsMay("read"), Handler: getRow(d), Summary: "Read a row"},
		{Method: patch, Path: "/workspaces/{workspaceId}/collections/{name}/rows/{id}", Surface: gateway.Versioned, Permission: collectionsMay("update"), Handler: updateRow(d), Summary: "Change a row"},
		{Method: del, Path: "/workspaces/{workspaceId}/collections/{name}/rows/{id}", Surface: gateway.Versioned, Permission: collectionsMay("delete"), Handler: deleteRow(d), Summary: "Delete a row"},
		{Method: post, Path: "/workspaces/{workspaceId}/collections/{name}/query", Surface: gateway.Versioned, Permission: collectionsMay("read"), Effect: gateway.Reads, Handler: queryRows(d), Summary: "Find or aggregate rows"},
		{Method: post, Path: "/workspaces/{workspaceId}/collections/{name}/import", Surface: gateway.Versioned, Permission: collectionsMay("create"), Rate: gateway.RateUploadFile, Body: gateway.ArchiveBody, Streaming: true, Handler: importRows(d), Summary: "Import rows from a file"},
		{Method: get, Path: "/workspaces/{workspaceId}/contexts/global", Surface: gateway.Versioned, Permission: mayTest, Scope: "workspaces:read", Handler: getContext(d, "global", ""), Summary: "Read the global context"},
		{Method: get, Path: "/workspaces/{workspaceId}/contexts/user/{userId}", Surface: gateway.Versioned, Permission: mayTest, Scope: "workspaces:read", Handler: getContext(d, "user", "userId"), Summary: "Read the context of a user"},
		{Method: get, Path: "/workspaces/{workspaceId}/contexts/session/{sessionId}", Surface: gateway.Versioned, Permission: mayTest, Scope: "workspaces:read", Handler: getContext(d, "session", "sessionId"), Summary: "Read the context of a session"},

		// Files
		{Method: post, Path: "/workspaces/{workspaceId}/files", Surface: gateway.Versioned, Permission: filesMay("create"), Rate: gateway.RateUploadFile, Body: gateway.UploadBody, Handler: createFiles(d), Summary: "Upload files"},
		{Method: get, Path: "/workspaces/{workspaceId}/files", Surface: gateway.Versioned, Permission: filesMay("read"), Handler: listFiles(d), Summary: "List files"},
		{Method: get, Path: "/workspaces/{workspaceId}/files/{id}", Surface: gateway.Versioned, Permission: filesMay("read"), Handler: getFile(d), Summary: "Read what is known of a file"},
		{Method: patch, Path: "/workspaces/{workspaceId}/files/{id}", Surface: gateway.Versioned, Permission: filesMay("update"), Handler: updateFile(d), Summary: "Change a file"},
		{Method: put, Path: "/workspaces/{workspaceId}/files/{id}", Surface: gateway.Versioned, Permission: filesMay("update"), Rate: gateway.RateUploadFile, Body: gateway.UploadBody, Handler: replaceFile(d), Summary: "Replace the content of a file"},
		{Method: del, Path: "/workspaces/{workspaceId}/files/{id}", Surface: gateway.Versioned, Permission: filesMay("delete"), Handler: deleteFile(d), Summary: "Delete a file"},
		{Method: post, Path: "/workspaces/{workspaceId}/files/{id}/share", Surface: gateway.Versioned, Permission: filesMay("update"), Handler: shareFile(d), Summary: "Make a link to a file"},
		{Method: get, Path: "/files/{workspaceId}/{fileId:[0-9A-Za-z_-]{21}}.{name}", Surface: gateway.Versioned, Permission: gateway.Public, Scope: "files:read", AnyOrigin: true, Handler: downloadFile(d), Summary: "Download a file"},
	}
	return slices.Concat(rows, d.Console.Routes(), d.OIDC.Routes())
}
