package api

import (
	"net/http"

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
	mayShare  = gateway.Action{Action: "manage_permissions", Subject: "workspaces"}
	maySecure = gateway.Action{Action: "manage_security", Subject: "workspaces"}
)

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
		{Method: get, Path: "/openapi.json", Permission: gateway.Public, Handler: doc.asJSON(), Summary: "Read this document as JSON"},
		{Method: get, Path: "/openapi.yaml", Permission: gateway.Public, Handler: doc.asYAML(), Summary: "Read this document as YAML"},
		{Method: get, Path: "/docs", Permission: gateway.Public, Handler: gateway.HandlerFunc(docs.Page), Summary: "Show the reference page"},
		{Method: get, Path: "/docs/{asset}", Permission: gateway.Public, Handler: gateway.HandlerFunc(docs.Asset), Summary: "Load a file of the reference page"},

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
		{Method: get, Path: "/sys/jwks", Permission: gateway.SuperOrInternal, Handler: listSigningKeys(d), Summary: "List the signing keys"},
		{Method: post, Path: "/sys/jwks/rotate", Permission: gateway.SuperOrInternal, Handler: rotateSigningKeys(d), Summary: "Let the next key sign"},
		{Method: del, Path: "/sys/jwks/{kid}", Permission: gateway.SuperOrInternal, Handler: revokeSigningKey(d), Summary: "Revoke a signing key"},
		{Method: post, Path: "/sys/admins/claim", Permission: gateway.Internal, Handler: claimAdmin(d), Summary: "Prove an address by having the host"},

		// Authentication and users
		{Method: get, Path: "/login/providers", Surface: gateway.Versioned, Permission: gateway.Public, NoWait: true, Handler: listLoginProviders(d), Summary: "List the ways to sign in"},
		{Method: post, Path: "/login/anonymous", Surface: gateway.Versioned, Permission: gateway.Public, Rate: gateway.RateAnonymousLogin, NoCSRF: true, Handler: loginAnonymously(d), Summary: "Sign in as a visitor"},
		{Method: post, Path: "/login", Surface: gateway.Versioned, Permission: gateway.Public, Rate: gateway.RateLogin, NoCSRF: true, Handler: login(d), Summary: "Sign in with a password"},
		{Method: post, Path: "/login/mfa", Surface: gateway.Versioned, Permission: gateway.Auth, NoScope: true, Rate: gateway.RateLogin, BeforeMFA: true, Handler: showCode(d), Summary: "Show the second factor"},
		{Method: post, Path: "/login/token-exchange", Surface: gateway.Versioned, Permission: gateway.Public, Rate: gateway.RateTokenExchange, NoCSRF: true, Handler: exchangeToken(d), Summary: "Sign in with the token of a provider"},
		{Method: post, Path: "/logout", Surface: gateway.Versioned, Permission: gateway.Auth, NoScope: true, BeforeMFA: true, Handler: logout(d), Summary: "Sign out"},
		{Method: get, Path: "/me", Surface: gateway.Versioned, Permission: gateway.Auth, NoScope: true, BeforeMFA: true, Handler: getMe(d), Summary: "Read who is signed in"},
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
		{Method: post, Path: "/users", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: createUser(d), Summary: "Make or invite a user"},
		{Method: patch, Path: "/users/{userId}", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "settings", Handler: patchUser(d), Summary: "Change a user"},
		{Method: del, Path: "/users/{userId}", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: deleteUser(d), Summary: "Delete a user"},
		{Method: get, Path: "/users/{userId}/photo", Surface: gateway.Versioned, Permission: gateway.Public, Handler: getPhoto(d), Summary: "Load the picture of a user"},
		{Method: get, Path: "/users/{userId}/sessions", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: listUserSessions(d), Summary: "List the sessions of a user"},
		{Method: del, Path: "/users/{userId}/sessions", Surface: gateway.Versioned, Permission: gateway.Super, Scope: "settings", Handler: endUserSessions(d), Summary: "End the sessions of a user"},

		// Workspaces
		{Method: get, Path: "/workspaces", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "workspaces:read", Handler: listWorkspaces(d), Summary: "List workspaces"},
		{Method: post, Path: "/workspaces", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "workspaces:write", Rate: gateway.RateCreateWorkspace, Handler: createWorkspace(d), Summary: "Create a workspace"},
		{Method: get, Path: "/workspaces/{workspaceId}", Surface: gateway.Versioned, Permission: mayRead, Handler: getWorkspace(d), Summary: "Read a workspace"},
		{Method: patch, Path: "/workspaces/{workspaceId}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: updateWorkspace(d), Summary: "Change a workspace"},

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
	}
	return append(rows, d.OIDC.Routes()...)
}
