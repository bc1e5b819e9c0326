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
)

var (
	mayRead   = gateway.Action{Action: "read", Subject: "workspaces"}
	mayUpdate = gateway.Action{Action: "update", Subject: "workspaces"}
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
	return []gateway.Route{
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

		// Workspaces
		{Method: post, Path: "/workspaces", Surface: gateway.Versioned, Permission: gateway.Auth, Scope: "workspaces:write", Rate: gateway.RateCreateWorkspace, Handler: createWorkspace(d), Summary: "Create a workspace"},
		{Method: get, Path: "/workspaces/{workspaceId}", Surface: gateway.Versioned, Permission: mayRead, Handler: getWorkspace(d), Summary: "Read a workspace"},
		{Method: patch, Path: "/workspaces/{workspaceId}", Surface: gateway.Versioned, Permission: mayUpdate, Handler: updateWorkspace(d), Summary: "Change a workspace"},
	}
}
