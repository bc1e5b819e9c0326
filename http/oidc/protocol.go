package oidc

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/op"

	protocol "github.com/zitadel/oidc/v3/pkg/oidc"

	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain/user"
)

// library is the part of zitadel's storage that the functions we call ask for.
// The rest is nil: it belongs to handlers that are not used.
type library struct {
	op.Storage
	keys Keys
	user func(ctx context.Context, id string) (Person, bool, error)
}

// SigningKey implements op.Storage.
func (l library) SigningKey(ctx context.Context) (op.SigningKey, error) {
	key, err := l.keys.SigningKey(ctx)
	return privateKey{key}, err
}

// KeySet implements op.Storage.
func (l library) KeySet(ctx context.Context) ([]op.Key, error) {
	keys, err := l.keys.PublicKeys(ctx)
	all := make([]op.Key, len(keys))
	for i, key := range keys {
		all[i] = publicKey{key}
	}
	return all, err
}

// SetUserinfoFromScopes implements op.Storage; SetUserinfoFromRequest does it.
func (library) SetUserinfoFromScopes(context.Context, *protocol.UserInfo, string, string, []string) error {
	return nil
}

// SetUserinfoFromRequest fills in the claims of an identity token. Those of the
// settings scope may be large, and are left to userinfo.
func (l library) SetUserinfoFromRequest(ctx context.Context, info *protocol.UserInfo, r op.IDTokenRequest, scopes []string) error {
	person, ok, err := l.user(ctx, r.GetSubject())
	if err != nil {
		return err
	}
	if !ok {
		return errNoUser
	}
	for name, value := range person.claims(r.GetSubject(), without(scopes, "settings")) {
		info.AppendClaims(name, value)
	}
	info.Subject = r.GetSubject()
	if request, ok := r.(signedIn); ok {
		info.AppendClaims("sid", request.session.ID)
	}
	return nil
}

// errNoUser says that a token is asked for an account that is gone.
var errNoUser = errors.New("oidc: there is no such user")

type privateKey struct{ key signing.PrivateKey }

// SignatureAlgorithm implements op.SigningKey.
func (k privateKey) SignatureAlgorithm() jose.SignatureAlgorithm {
	return jose.SignatureAlgorithm(k.key.Alg)
}

// Key implements op.SigningKey.
func (k privateKey) Key() any { return k.key.Signer }

// ID implements op.SigningKey.
func (k privateKey) ID() string { return k.key.KID }

type publicKey struct{ key signing.PublicKey }

// ID implements op.Key.
func (k publicKey) ID() string { return k.key.KID }

// Algorithm implements op.Key.
func (k publicKey) Algorithm() jose.SignatureAlgorithm { return jose.SignatureAlgorithm(k.key.Alg) }

// Use implements op.Key.
func (k publicKey) Use() string { return protocol.KeyUseSignature }

// Key implements op.Key.
func (k publicKey) Key() any { return k.key.Key }

// publicClient is a Client as zitadel asks about it.
type publicClient struct {
	op.Client // what is not asked
	client    Client
}

// GetID implements op.Client.
func (c publicClient) GetID() string { return c.client.ID }

// ResponseTypes implements op.Client: the code flow only.
func (c publicClient) ResponseTypes() []protocol.ResponseType {
	return []protocol.ResponseType{protocol.ResponseTypeCode}
}

// RestrictAdditionalIdTokenScopes implements op.Client: it restricts nothing.
func (c publicClient) RestrictAdditionalIdTokenScopes() func([]string) []string {
	return func(scopes []string) []string { return scopes }
}

// IDTokenUserinfoClaimsAssertion implements op.Client: identity tokens say what
// userinfo says.
func (c publicClient) IDTokenUserinfoClaimsAssertion() bool { return true }

// ClockSkew implements op.Client.
func (c publicClient) ClockSkew() time.Duration { return 0 }

// signedIn is a grant with its session, as zitadel asks about it for an
// identity token. That is for the client alone: never for the API.
type signedIn struct {
	op.AuthRequest // what is not asked
	grant          grant
	session        sessions.Session
}

// GetSubject implements op.IDTokenRequest.
func (r signedIn) GetSubject() string { return r.grant.UserID }

// GetAudience implements op.IDTokenRequest.
func (r signedIn) GetAudience() []string { return []string{r.grant.ClientID} }

// GetClientID implements op.IDTokenRequest.
func (r signedIn) GetClientID() string { return r.grant.ClientID }

// GetScopes implements op.IDTokenRequest.
func (r signedIn) GetScopes() []string { return r.grant.Scopes }

// GetAuthTime implements op.IDTokenRequest.
func (r signedIn) GetAuthTime() time.Time { return r.session.CreatedAt }

// GetNonce implements op.AuthRequest.
func (r signedIn) GetNonce() string { return r.grant.Nonce }

// GetACR implements op.AuthRequest.
func (r signedIn) GetACR() string { return "" }

// GetAMR implements op.IDTokenRequest (RFC 8176).
func (r signedIn) GetAMR() []string {
	var methods []string
	if r.session.Provider == user.Local {
		methods = append(methods, "pwd")
	}
	if r.session.MFA {
		methods = append(methods, "otp", "mfa")
	}
	return methods
}

// idToken makes the identity token that goes with an access token.
func (s *Service) idToken(ctx context.Context, c Client, g grant, session sessions.Session, access, code string) (string, error) {
	storage := library{keys: s.o.Keys, user: s.o.User}
	return op.CreateIDToken(ctx, s.o.Issuer, signedIn{grant: g, session: session}, idTokenLifetime, access, code, storage, publicClient{client: c})
}

// algorithms are all that JWKS_ALG can be.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "ES256", "ES384"}

// hint reads an id_token_hint: whose it is, of which client and session. It may
// have expired, but must have been made here for one client.
func (s *Service) hint(ctx context.Context, token string) (claims *protocol.IDTokenClaims, ok bool, err error) {
	if token == "" {
		return nil, false, nil
	}
	var broken error // that says nothing about the token
	keys := keySet{&op.OpenIDKeySet{Storage: library{keys: s.o.Keys}}, &broken}
	verifier := op.NewIDTokenHintVerifier(s.o.Issuer, keys, op.WithSupportedIDTokenHintSigningAlgorithms(algorithms...))
	claims, err = op.VerifyIDTokenHint[*protocol.IDTokenClaims](ctx, token, verifier)
	if broken != nil {
		return nil, false, broken
	}
	if _, expired := errors.AsType[op.IDTokenHintExpiredError](err); err != nil && !expired {
		return nil, false, nil
	}
	return claims, claims.Subject != "" && slices.Equal(claims.Audience, []string{claims.AuthorizedParty}), nil
}

// keySet tells keys that cannot be read from a signature that is wrong.
type keySet struct {
	*op.OpenIDKeySet
	broken *error
}

// VerifySignature implements the library's KeySet.
func (k keySet) VerifySignature(ctx context.Context, jws *jose.JSONWebSignature) ([]byte, error) {
	if _, *k.broken = k.Storage.KeySet(ctx); *k.broken != nil {
		return nil, *k.broken
	}
	return k.OpenIDKeySet.VerifySignature(ctx, jws)
}
