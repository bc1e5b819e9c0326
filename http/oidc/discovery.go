package oidc

import (
	"net/http"

	protocol "github.com/zitadel/oidc/v3/pkg/oidc"

	"svc/http/gateway"
)

// keptFor is how long clients may keep the discovery document and the keys.
const keptFor = "public, max-age=300"

// metadata is the discovery document with what the library does not know of.
type metadata struct {
	protocol.DiscoveryConfiguration
	IssuerInAnswers bool `json:"authorization_response_iss_parameter_supported"` // RFC 9207
}

// discover handles GET /.well-known/openid-configuration.
func (s *Service) discover(r *http.Request) (any, error) {
	key, err := s.o.Keys.SigningKey(r.Context())
	if err != nil {
		return nil, err
	}
	at := func(path string) string { return s.o.Issuer + path }
	doc := metadata{protocol.DiscoveryConfiguration{
		Issuer:                            s.o.Issuer,
		AuthorizationEndpoint:             at("/oidc/auth"),
		TokenEndpoint:                     at("/oidc/token"),
		UserinfoEndpoint:                  at("/oidc/userinfo"),
		EndSessionEndpoint:                at("/oidc/session/end"),
		JwksURI:                           at("/oidc/jwks"),
		ScopesSupported:                   names(identityScopes, apiScopes),
		ResponseTypesSupported:            []string{string(protocol.ResponseTypeCode)},
		ResponseModesSupported:            []string{string(protocol.ResponseModeQuery)},
		GrantTypesSupported:               []protocol.GrantType{protocol.GrantTypeCode, protocol.GrantTypeRefreshToken},
		SubjectTypesSupported:             []string{"public"},
		IDTokenSigningAlgValuesSupported:  []string{key.Alg},
		TokenEndpointAuthMethodsSupported: []protocol.AuthMethod{protocol.AuthMethodNone},
		CodeChallengeMethodsSupported:     []protocol.CodeChallengeMethod{protocol.CodeChallengeMethodS256},
		ClaimsSupported: []string{
			"sub", "iss", "aud", "exp", "iat", "auth_time", "nonce", "amr", "azp", "at_hash", "c_hash", "sid",
			"email", "email_verified", "name", "given_name", "family_name", "picture", "locale",
			"firstName", "lastName", "photo", "language", "mfa", "meta",
		},
	}, true}
	return gateway.OK(doc).With("Cache-Control", keptFor), nil
}

// encoded is JSON that is sent as it is.
type encoded []byte

// Encoded implements gateway.Encoded.
func (e encoded) Encoded() []byte { return e }

// jwks handles GET /oidc/jwks.
func (s *Service) jwks(r *http.Request) (any, error) {
	keys, err := s.o.Keys.JWKS(r.Context())
	if err != nil {
		return nil, err
	}
	return gateway.OK(encoded(keys)).With("Cache-Control", keptFor), nil
}
