// Package oidc signs people in by OpenID Connect, in both roles.
//
// As a provider it serves /oidc/*: the authorization code flow with PKCE for
// public clients, and the page on which people sign in. As a relying party it
// serves GET /v2/login: it sends people to the providers of the operator and
// takes in who comes back. The two meet in an interaction: a sign-in that began
// with a client of ours may end with a provider of somebody else.
//
// Nothing is kept in memory: what a flow must remember between two requests
// lies in a durable store for its time, so that every request may meet another
// node. Codes, refresh tokens and states lie there under their digest only.
//
// The rules of the protocol come from zitadel/oidc: its validations, its
// identity tokens and its words. Its router and its handlers are not used,
// because every path of ours is a row of the gateway's table.
package oidc
