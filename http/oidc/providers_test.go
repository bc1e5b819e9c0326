package oidc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/http/oidc"
)

func TestParseProviders(t *testing.T) {
	t.Parallel()
	all, err := oidc.ParseProviders([]byte(`{"providers": {
		"z": {"type": "oidc", "name": "Zed", "icon": "key", "domains": ["Z.example"], "attributesMapping": {"email": "upn"},
			"config": {"client_id": "c", "client_secret": "s3cret", "issuer": "https://z.example", "scopes": "openid email profile", "allowTokenExchange": true}},
		"a": {"type": "oidc", "config": {"client_id": "c", "authorization_endpoint": "https://a.example/auth", "token_endpoint": "https://a.example/token", "jwks_uri": "https://a.example/keys"}}
	}}`))
	require.NoError(t, err)
	require.Equal(t, []oidc.Provider{
		{
			Slug: "a", ClientID: "c", Scopes: []string{"openid", "email"}, FirstNameClaim: "given_name", LastNameClaim: "family_name", EmailClaim: "email",
			AuthURL: "https://a.example/auth", TokenURL: "https://a.example/token", JWKSURL: "https://a.example/keys",
		},
		{
			Slug: "z", Name: "Zed", Icon: "key", Domains: []string{"z.example"}, ClientID: "c", ClientSecret: "s3cret", Issuer: "https://z.example",
			FirstNameClaim: "given_name", LastNameClaim: "family_name", EmailClaim: "upn", Scopes: []string{"openid", "email", "profile"}, Exchange: true,
		},
	}, all)
	none, err := oidc.ParseProviders(nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestAllFaultsOfProvidersAreNamedAndNoSecrets(t *testing.T) {
	t.Parallel()
	_, err := oidc.ParseProviders([]byte(`{"providers": {
		"svc": {"type": "oidc", "config": {"client_id": "c", "issuer": "https://x.example"}},
		"b d": {"type": "oidc", "config": {"client_id": "c", "issuer": "https://x.example"}},
		"c": {"type": "saml", "config": {"client_secret": "hunter2", "issuer": "x.example", "scopes": "email"}},
		"d": {"type": "oidc", "domains": ["same.example", "not a domain"], "config": {"client_id": "c", "authorization_endpoint": "https://x.example"}},
		"e": {"type": "oidc", "domains": ["same.example"], "config": {"client_id": "c", "issuer": "https://x.example"}},
		"f": {"type": "oidc", "config": {"client_id": 7, "client_secret": "hunter2"}},
		"g": {"type": "oidc", "config": {"client_id": "c", "clientSecret": "hunter2"}}
	}}`))
	for _, want := range []string{
		"providers.svc.slug", "providers.b d.slug", "providers.c.type", "providers.c.config.client_id", "providers.c.config.issuer",
		"providers.c.config.scopes", "providers.d.domains", "providers.d.config: needs", "providers.e.domains: same.example is also of d",
		"providers.f.entry", "providers.g.entry", `unknown field "clientSecret"`,
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "hunter2")
	for _, text := range []string{`[]`, `{"provider": {}}`, `{"providers": {"a": "hunter2"}}`, `{`, `{} {}`} {
		_, err = oidc.ParseProviders([]byte(text))
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
