package oidc

import (
	"net/http"

	"svc/http/gateway"
)

// Routes is the part of the table that this package answers.
func (s *Service) Routes() []gateway.Route {
	own := func(rt gateway.Route, handle gateway.HandlerFunc) gateway.Route {
		rt.Handler, rt.NoCSRF = handle, true
		return rt
	}
	return []gateway.Route{
		own(gateway.Route{Method: http.MethodGet, Path: "/.well-known/openid-configuration", Permission: gateway.Public, OwnAuth: true, Summary: "Discover the OpenID provider"}, s.discover),
		own(gateway.Route{Method: http.MethodGet, Path: "/oidc/.well-known/openid-configuration", Permission: gateway.Public, OwnAuth: true, Summary: "Discover the OpenID provider, under its other name"}, s.discover),
		own(gateway.Route{Method: http.MethodGet, Path: "/oidc/jwks", Permission: gateway.Public, OwnAuth: true, Summary: "Read the public keys"}, s.jwks),
		own(gateway.Route{Method: http.MethodGet, Path: "/oidc/auth", Permission: gateway.Public, OwnAuth: true, Summary: "Begin the authorization code flow"}, s.authorize),
		own(gateway.Route{Method: http.MethodGet, Path: "/oidc/auth/{uid}", Permission: gateway.Public, OwnAuth: true, Effect: gateway.Writes, Summary: "Resume the flow after the sign-in"}, s.resume),
		own(gateway.Route{Method: http.MethodGet, Path: "/oidc/interaction/{uid}", Permission: gateway.Public, OwnAuth: true, Summary: "Show the sign-in page"}, s.interact),
		own(gateway.Route{Method: http.MethodPost, Path: "/oidc/interaction/{uid}/login", Permission: gateway.Public, OwnAuth: true, Rate: gateway.RateLogin, MaxBody: maxForm, Summary: "Sign in on the page"}, s.signIn),
		own(gateway.Route{Method: http.MethodPost, Path: "/oidc/token", Permission: gateway.Public, OwnAuth: true, MaxBody: maxForm, Summary: "Exchange a code or a refresh token"}, s.token),
		own(gateway.Route{Method: http.MethodGet, Path: "/oidc/session/end", Permission: gateway.Public, OwnAuth: true, Effect: gateway.Writes, Summary: "End the session"}, s.endSession),
		{Method: http.MethodGet, Path: "/oidc/userinfo", Permission: gateway.Auth, NoScope: true, Handler: gateway.HandlerFunc(s.userinfo), Summary: "Read the claims of the user"},
		{Method: http.MethodPost, Path: "/oidc/userinfo", Permission: gateway.Auth, NoScope: true, Effect: gateway.Reads, MaxBody: maxForm, Handler: gateway.HandlerFunc(s.userinfo), Summary: "Read the claims of the user"},

		own(gateway.Route{Method: http.MethodGet, Path: "/login", Surface: gateway.Versioned, Permission: gateway.Public, OwnAuth: true, NoWait: true, Summary: "Go to an identity provider"}, s.login),
		own(gateway.Route{Method: http.MethodGet, Path: "/login/callback", Surface: gateway.Versioned, Permission: gateway.Public, OwnAuth: true, Effect: gateway.Writes, Summary: "Come back from an identity provider"}, s.callback),
	}
}

// maxForm is more than any form of ours needs.
const maxForm = 64 << 10
