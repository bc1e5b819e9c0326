package signing

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"svc/commands"
	"svc/domain"
	"svc/domain/keyring"
	"svc/eventstore"
)

// Claims are the claims of a token.
type Claims struct {
	SessionID string // svcSessionId
	ID        string // jti; made by Sign when empty
	Subject   string // sub, the user
	IssuedAt  time.Time
	ExpiresAt time.Time // zero, or later than allowed: as late as allowed
	Scope     string    // words divided by blanks; empty: not limited
	ClientID  string    // client_id
	Issuer    string    // default Options.Issuer
	Audience  []string  // default Options.Audience

	// Of the tokens that automations call the API with; see runtime.go.
	WorkspaceID   string // whose automation calls; without Subject: who calls
	CorrelationID string
	Depth         int    // automationDepth of what calls
	Role          string // the role of the workspace that is taken
	Visitor       bool   // nobody signed in: Subject is known by SessionID alone
	Narrow        bool   // it gives no rights in the workspace either; see Acting
}

// wire is the JSON form of Claims.
type wire struct {
	SessionID     string `json:"svcSessionId,omitempty"`
	Scope         string `json:"scope,omitempty"`
	ClientID      string `json:"client_id,omitempty"`
	WorkspaceID   string `json:"workspaceId,omitempty"`
	CorrelationID string `json:"correlationId,omitempty"`
	Depth         int    `json:"automationDepth,omitempty"`
	Role          string `json:"svcRole,omitempty"`
	Visitor       bool   `json:"svcVisitor,omitempty"`
	Narrow        bool   `json:"svcNarrow,omitempty"`
	jwt.RegisteredClaims
}

func (c Claims) wire() wire {
	return wire{
		SessionID: c.SessionID, Scope: c.Scope, ClientID: c.ClientID,
		WorkspaceID: c.WorkspaceID, CorrelationID: c.CorrelationID, Depth: c.Depth, Role: c.Role, Visitor: c.Visitor, Narrow: c.Narrow,
		RegisteredClaims: jwt.RegisteredClaims{
			ID: c.ID, Subject: c.Subject, Issuer: c.Issuer, Audience: c.Audience,
			IssuedAt: jwt.NewNumericDate(c.IssuedAt), ExpiresAt: jwt.NewNumericDate(c.ExpiresAt),
		},
	}
}

func (w wire) claims() Claims {
	return Claims{
		SessionID: w.SessionID, Scope: w.Scope, ClientID: w.ClientID,
		WorkspaceID: w.WorkspaceID, CorrelationID: w.CorrelationID, Depth: w.Depth, Role: w.Role, Visitor: w.Visitor, Narrow: w.Narrow,
		ID: w.ID, Subject: w.Subject, Issuer: w.Issuer, Audience: w.Audience,
		IssuedAt: timeOf(w.IssuedAt), ExpiresAt: timeOf(w.ExpiresAt),
	}
}

func timeOf(d *jwt.NumericDate) time.Time {
	if d == nil {
		return time.Time{}
	}
	return d.UTC()
}

// PrivateKey is a key that signs.
type PrivateKey struct {
	KID    string
	Alg    string
	Signer crypto.Signer // *rsa.PrivateKey or *ecdsa.PrivateKey
}

// Format implements fmt.Formatter: a key is shown by its name only.
func (p PrivateKey) Format(s fmt.State, _ rune) { fmt.Fprint(s, "signing key ", p.KID) }

// MarshalText implements encoding.TextMarshaler, for logs and JSON: as Format.
func (p PrivateKey) MarshalText() ([]byte, error) { return fmt.Append(nil, p), nil }

// Sign returns a token with the claims c. Missing claims get defaults: issuer, audience, from now on,
// and the lifetime of tokens.
func (k *Keys) Sign(ctx context.Context, c Claims) (string, error) {
	key, err := k.SigningKey(ctx)
	if err != nil {
		return "", err
	}
	if c.IssuedAt.IsZero() {
		c.IssuedAt = k.o.Now()
	}
	// A token that outlived the longest life would outlive its key.
	if last := c.IssuedAt.Add(k.o.MaxAge); c.ExpiresAt.IsZero() || c.ExpiresAt.After(last) {
		c.ExpiresAt = last
	}
	if c.Audience == nil {
		c.Audience = []string{k.o.Audience}
	}
	c.Issuer = cmp.Or(c.Issuer, k.o.Issuer)
	c.ID = cmp.Or(c.ID, uuid.NewString())
	token := jwt.NewWithClaims(k.alg.method, c.wire())
	token.Header["kid"] = key.KID
	text, err := token.SignedString(key.Signer)
	if err != nil {
		return "", fmt.Errorf("sign a token with key %s: %w", key.KID, err)
	}
	return text, nil
}

// SigningKey returns the current signing key, for other signatures of the platform.
func (k *Keys) SigningKey(ctx context.Context) (PrivateKey, error) {
	set, err := k.startedRing(ctx)
	if err != nil {
		return PrivateKey{}, err
	}
	jwk := set.ring.Signing().JWK
	key, err := k.signerOf(ctx, jwk)
	if !errors.Is(err, eventstore.ErrNoKey) && !errors.Is(err, errOtherAlg) {
		return key, err
	}
	// Its private part is gone because another node has revoked it, or it is for
	// another algorithm because it was replaced a moment ago.
	if set, fault := k.refresh(ctx); fault == nil && set.ring.Signing().JWK != jwk {
		return k.signerOf(ctx, set.ring.Signing().JWK)
	}
	return key, err
}

var errOtherAlg = errors.New("all nodes need the same settings, and a restart after a change")

// signerOf returns the private part of a key, opened once.
func (k *Keys) signerOf(ctx context.Context, jwk keyring.JWK) (PrivateKey, error) {
	if known := k.signer.Load(); known != nil && known.KID == jwk.KID {
		return *known, nil
	}
	if jwk.Alg != k.alg.name {
		return PrivateKey{}, fmt.Errorf("signing key %s is for %s, and JWKS_ALG is %s: %w", jwk.KID, jwk.Alg, k.alg.name, errOtherAlg)
	}
	k.opening.Lock()
	defer k.opening.Unlock()
	if known := k.signer.Load(); known != nil && known.KID == jwk.KID {
		return *known, nil
	}
	private, err := k.open(ctx, jwk)
	if err != nil {
		return PrivateKey{}, err
	}
	key := PrivateKey{KID: jwk.KID, Alg: jwk.Alg, Signer: private}
	k.signer.Store(&key)
	return key, nil
}

// startedRing returns the key ring. Without a signing key it is refreshed first: the node may have
// just started.
func (k *Keys) startedRing(ctx context.Context) (*keySet, error) {
	set, err := k.current()
	if err != nil || set.ring.Started() {
		return set, err
	}
	if set, err = k.refresh(ctx); err != nil {
		return nil, err
	}
	if !set.ring.Started() {
		return nil, commands.Refused(errors.New("there are no signing keys yet"))
	}
	return set, nil
}

// verified is a token with a valid signature and claims. Its key and its expiry are checked each time.
type verified struct {
	claims Claims
	kid    string
}

const (
	maxToken    = 8 << 10  // bytes; ours have less than one
	cachedBytes = 16 << 20 // of tokens that are remembered
	entryBytes  = 512      // what remembering one costs besides
)

func weigh(token string, _ *verified) uint32 { return uint32(len(token) + entryBytes) } //nolint:gosec // it is at most maxToken

// Verify returns the claims of a valid token: signed with JWKS_ALG by a key of the ring, by this
// issuer, for this audience, and not expired. It refuses an expired token with CodeTokenExpired, and
// any other with CodeInvalidToken.
func (k *Keys) Verify(ctx context.Context, token string) (Claims, error) {
	if len(token) > maxToken {
		return Claims{}, invalid("it is too long")
	}
	if strings.ContainsAny(token, "\r\n") { // base64 would skip them: one token has one spelling
		return Claims{}, invalid("it is malformed")
	}
	if known, ok := k.verified.Get(token); ok {
		return k.checkVerified(token, known)
	}
	found, err := k.parse(ctx, token)
	if err != nil {
		return Claims{}, err
	}
	k.verified.Set(strings.Clone(token), found) // it may be a part of more
	return found.claims, nil
}

// checkVerified returns the claims of a token that was verified before, if they are still valid.
func (k *Keys) checkVerified(token string, known *verified) (Claims, error) {
	set, err := k.current()
	if err != nil {
		return Claims{}, err
	}
	if _, there := set.public[known.kid]; !there {
		k.verified.Drop(token)
		return Claims{}, invalid("its key is not in use")
	}
	if isExpired(known.claims.ExpiresAt, k.o.Now()) {
		k.verified.Drop(token)
		return Claims{}, expired()
	}
	return known.claims, nil
}

// isExpired reports whether a token that expires at exp is refused at now.
func isExpired(exp, now time.Time) bool { return !now.Before(exp.Add(tolerance)) }

// parse verifies a token that is seen for the first time.
func (k *Keys) parse(ctx context.Context, token string) (*verified, error) {
	var claims wire
	var kid string
	var failed error // that says nothing about the token
	_, err := k.parser.ParseWithClaims(token, &claims, func(t *jwt.Token) (any, error) {
		kid, _ = t.Header["kid"].(string)
		key, ok, err := k.find(ctx, kid)
		failed = err
		if !ok || key.Alg != k.alg.name {
			return nil, errUnknownKey
		}
		return key.Key, nil
	})
	switch {
	case failed != nil:
		return nil, failed
	case err != nil:
		return nil, refusal(err)
	}
	return &verified{claims: claims.claims(), kid: kid}, nil
}

var errUnknownKey = errors.New("unknown key")

// faults are the errors of a well-formed token, except its expiry, with the messages for callers.
var faults = []struct {
	err error
	why string
}{
	{errUnknownKey, "its key is not in use"},
	{jwt.ErrTokenMalformed, "it is malformed"},
	{jwt.ErrTokenUnverifiable, "it cannot be verified"},
	{jwt.ErrTokenSignatureInvalid, "its signature is wrong"},
	{jwt.ErrTokenRequiredClaimMissing, "a claim is missing"},
	{jwt.ErrTokenInvalidIssuer, "it was issued elsewhere"},
	{jwt.ErrTokenInvalidAudience, "it is for another audience"},
	{jwt.ErrTokenNotValidYet, "it is not valid yet"},
	{jwt.ErrTokenUsedBeforeIssued, "it is not valid yet"},
}

// refusal turns an error of the parser into a refusal. A token is expired only when it has no other
// fault.
func refusal(err error) error {
	for _, f := range faults {
		if errors.Is(err, f.err) {
			return invalid(f.why)
		}
	}
	if errors.Is(err, jwt.ErrTokenExpired) {
		return expired()
	}
	return invalid("it is malformed")
}

func invalid(why string) error {
	return domain.Refuse(domain.CodeInvalidToken, "the token is not valid: %s", why)
}

func expired() error { return domain.Refuse(domain.CodeTokenExpired, "the token has expired") }

// RuntimeAge is the longest lifetime of the tokens of automations for the API.
const RuntimeAge = 60 * time.Second

// Acting says for whom an automation calls the API, and from which run.
type Acting struct {
	// UserID and SessionID are those that the run began with. Without a user the run
	// acts for nobody.
	UserID, SessionID string
	// Visitor says that nobody signed in. SessionID was drawn by the platform for the
	// call then, and serves as the id of the user: what a caller may choose, such as a
	// correlation id, must never be given out as such a session.
	Visitor bool
	// Scopes are those of the credential that the run began with; nil: it has no such
	// claim.
	Scopes []string

	WorkspaceID   string // whose automation it is; required
	CorrelationID string
	Depth         int
	// Narrow says that the rights in the workspace are not lent: an app asks, which is
	// not the workspace, or somebody asks who was lent less. What is left is the name,
	// and for a user the automations that they may execute.
	Narrow bool
}

// SessionToken returns a token of the session of a run. Without a signed-in user it gives no rights,
// and only names the session.
func (k *Keys) SessionToken(ctx context.Context, a Acting, ttl time.Duration) (string, error) {
	if a.isAnonymous() {
		id := a.visitor()
		return k.runtime(ctx, Claims{Subject: id, SessionID: id, Visitor: true}, a, ttl)
	}
	c := Claims{Subject: a.UserID, SessionID: a.SessionID, Scope: strings.Join(a.Scopes, " ")}
	if a.Scopes != nil && c.Scope == "" {
		c.Scope = noScope
	}
	return k.runtime(ctx, c, a, ttl)
}

// noScope gives no access: an empty claim would not limit a token.
const noScope = "none"

// isAnonymous reports whether there is no session of a signed-in user. The session of a visitor has
// the id of the visitor.
func (a Acting) isAnonymous() bool {
	return a.Visitor || a.UserID == "" || a.SessionID == "" || a.UserID == a.SessionID
}

// visitor returns the caller when nobody signed in: the session of the visitor, or the run. The id of
// a run cannot be that of a session, whoever chose its correlation id.
func (a Acting) visitor() string {
	drawn := a.Visitor || a.UserID == a.SessionID
	if !drawn || a.SessionID == "" || a.SessionID == a.CorrelationID {
		return "run:" + a.WorkspaceID + ":" + a.CorrelationID
	}
	return a.SessionID
}

// WorkspaceToken returns a token of a workspace that calls itself, without a user.
func (k *Keys) WorkspaceToken(ctx context.Context, a Acting, ttl time.Duration) (string, error) {
	return k.runtime(ctx, Claims{}, a, ttl)
}

// RoleToken returns a token that is sent as an API key to act with a role of a workspace. It does not
// identify the caller. The receiver checks whether the role may be used.
func (k *Keys) RoleToken(ctx context.Context, workspaceID, role, correlationID string, depth int, ttl time.Duration) (string, error) {
	if role == "" {
		return "", errors.New("signing: a role is required")
	}
	return k.runtime(ctx, Claims{Role: role}, Acting{WorkspaceID: workspaceID, CorrelationID: correlationID, Depth: depth}, ttl)
}

func (k *Keys) runtime(ctx context.Context, c Claims, a Acting, ttl time.Duration) (string, error) {
	if a.WorkspaceID == "" {
		return "", errors.New("signing: a token of the runtime needs a workspace")
	}
	if ttl <= 0 || ttl > RuntimeAge {
		ttl = RuntimeAge
	}
	c.WorkspaceID, c.CorrelationID, c.Depth, c.Narrow = a.WorkspaceID, a.CorrelationID, a.Depth, a.Narrow
	c.IssuedAt = k.o.Now()
	c.ExpiresAt = c.IssuedAt.Add(ttl)
	return k.Sign(ctx, c)
}
