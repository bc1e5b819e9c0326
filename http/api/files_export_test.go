package api

import "svc/http/gateway"

// MimetypeOf is mimetypeOf.
var MimetypeOf = mimetypeOf

// FileRoutes are the rows of files, for a gateway that serves nothing else.
func FileRoutes(d Deps) []gateway.Route {
	d = d.withDefaults()
	may := func(action string) gateway.Action { return gateway.Action{Action: action, Subject: "files"} }
	return []gateway.Route{
		{Method: post, Path: "/workspaces/{workspaceId}/files", Surface: gateway.Versioned, Permission: may("create"), Rate: gateway.RateUploadFile, Body: gateway.UploadBody, Handler: createFiles(d), Summary: "Upload files"},
		{Method: get, Path: "/workspaces/{workspaceId}/files", Surface: gateway.Versioned, Permission: may("read"), Handler: listFiles(d), Summary: "List files"},
		{Method: get, Path: "/workspaces/{workspaceId}/files/{id}", Surface: gateway.Versioned, Permission: may("read"), Handler: getFile(d), Summary: "Read what is known of a file"},
		{Method: patch, Path: "/workspaces/{workspaceId}/files/{id}", Surface: gateway.Versioned, Permission: may("update"), Handler: updateFile(d), Summary: "Change a file"},
		{Method: put, Path: "/workspaces/{workspaceId}/files/{id}", Surface: gateway.Versioned, Permission: may("update"), Rate: gateway.RateUploadFile, Body: gateway.UploadBody, Handler: replaceFile(d), Summary: "Replace the content of a file"},
		{Method: del, Path: "/workspaces/{workspaceId}/files/{id}", Surface: gateway.Versioned, Permission: may("delete"), Handler: deleteFile(d), Summary: "Delete a file"},
		{Method: post, Path: "/workspaces/{workspaceId}/files/{id}/share", Surface: gateway.Versioned, Permission: may("update"), Handler: shareFile(d), Summary: "Make a link to a file"},
		{Method: get, Path: "/files/{workspaceId}/{fileId:[0-9A-Za-z_-]{21}}.{name}", Surface: gateway.Versioned, Permission: gateway.Public, Scope: "files:read", AnyOrigin: true, Handler: downloadFile(d), Summary: "Download a file"},
	}
}
