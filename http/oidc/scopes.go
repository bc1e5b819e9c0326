package oidc

import "slices"

// scope is what a client may ask for, and what the page says of it.
type scope struct {
	name    string
	meaning string // to a person; empty: nothing worth asking about
}

// identityScopes are those of OpenID Connect, apiScopes those of the API.
var (
	identityScopes = []scope{
		{"openid", "know who you are"},
		{"profile", "see your name, photo and language"},
		{"email", "see your e-mail address"},
		{"offline_access", "do so for a day without you"},
	}
	apiScopes = []scope{
		{"workspaces:read", "see your workspaces"},
		{"workspaces:write", "change your workspaces"},
		{"events:read", "read events"},
		{"events:write", "send events"},
		{"webhooks", "call your endpoints"},
		{"pages:read", "open your pages"},
		{"files:read", "read your files"},
		{"files:write", "change your files"},
		{"settings", "change your account and its access tokens"},
	}
)

func names(lists ...[]scope) []string {
	var all []string
	for _, list := range lists {
		for _, s := range list {
			all = append(all, s.name)
		}
	}
	return all
}

// grantable are the scopes that a client gets of those it asks for, in our order
// and each once. What nobody knows is left out.
func grantable(c Client, wanted []string) []string {
	var granted []string
	for _, name := range names(identityScopes) {
		if slices.Contains(wanted, name) {
			granted = append(granted, name)
		}
	}
	for _, name := range names(apiScopes) {
		if c.AllScopes || slices.Contains(wanted, name) {
			granted = append(granted, name)
		}
	}
	return granted
}

// meanings says what scopes let a client do.
func meanings(scopes []string) []string {
	var all []string
	for _, s := range slices.Concat(identityScopes, apiScopes) {
		if slices.Contains(scopes, s.name) {
			all = append(all, s.meaning)
		}
	}
	return all
}
