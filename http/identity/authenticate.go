package identity

import (
	"context"
	"strings"
	"time"

	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/accesstoken"
	"svc/domain/apikey"
	"svc/domain/user"
	"svc/http/gateway"
	"svc/projections"
)

// Authenticate implements gateway.Authenticator. What this node knows may lag
// behind the other nodes, so it is brought up to date first; and what is unknown
// here may have been made a moment ago, so a refusal is asked for twice.
func (i *Identity) Authenticate(ctx context.Context, c gateway.Credentials) (gateway.Caller, error) {
	if err := i.catchUp(ctx); err != nil {
		return gateway.Caller{}, err
	}
	caller, err := i.identify(ctx, c)
	if code := domain.CodeOf(err); code != domain.CodeInvalidToken && code != domain.CodeInvalidCredentials {
		return caller, err
	}
	if i.o.Fresh(ctx) != nil {
		return caller, err
	}
	return i.identify(ctx, c)
}

// catchUpTimeout limits how long a request waits for what other nodes wrote.
const catchUpTimeout = time.Second

// catchUp waits for the writes of other nodes, so that what was revoked there is refused
// here. When they cannot be found out the node continues with what it knows, as its reads do.
func (i *Identity) catchUp(ctx context.Context) error {
	if i.o.Alone {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	_ = i.o.Fresh(waiting)
	return ctx.Err()
}

// identify finds the user and the key of the credentials.
func (i *Identity) identify(ctx context.Context, c gateway.Credentials) (gateway.Caller, error) {
	caller := gateway.Caller{Principal: &access.Principal{}}
	token := c.Bearer
	if token == "" {
		token = c.Cookie
	}
	var err error
	switch {
	case strings.HasPrefix(token, accesstoken.Prefix):
		err = i.byAccessToken(token, &caller)
	case strings.HasPrefix(token, apikey.Prefix):
		err = domain.Refuse(domain.CodeInvalidToken, "this is an API key: send it in the x-svc-api-key header, not as a bearer token")
	case token != "":
		err = i.byJWT(ctx, token, &caller)
	}
	switch {
	case err != nil || c.APIKey == "":
	case strings.HasPrefix(c.APIKey, accesstoken.Prefix):
		err = domain.Refuse(domain.CodeInvalidCredentials, "this is an access token: send it as Authorization: Bearer, not in the x-svc-api-key header")
	case isToken(c.APIKey):
		err = i.byRole(ctx, c.APIKey, &caller)
	default:
		err = i.byAPIKey(c.APIKey, &caller)
	}
	return caller, err
}

func (i *Identity) byAccessToken(token string, caller *gateway.Caller) error {
	r := i.o.ReadModel.Reader()
	defer r.Close()
	found, known, err := projections.AccessTokens{}.ByHash(r, domain.HashSecret(token))
	if err != nil {
		return err
	}
	return i.admitToken(found, known, caller)
}

// admitToken admits the user of an access token.
func (i *Identity) admitToken(found projections.AccessToken, known bool, caller *gateway.Caller) error {
	switch {
	case !known:
		return domain.Refuse(domain.CodeInvalidToken, "the access token is unknown or was revoked")
	case !found.ExpiresAt.After(i.o.Now()):
		return domain.Refuse(domain.CodeTokenExpired, "the access token has expired")
	}
	caller.SessionID, caller.Scopes = accesstoken.Prefix+found.ID, gateway.WholeScopes()
	if err := i.admit(found.UserID, false, caller); err != nil {
		return err
	}
	caller.Expires = found.ExpiresAt
	i.o.Used(found.ID)
	return nil
}

func (i *Identity) byJWT(ctx context.Context, token string, caller *gateway.Caller) error {
	claims, err := i.o.Tokens.Verify(ctx, token)
	if err != nil {
		return err
	}
	if claims.WorkspaceID != "" || claims.Visitor || claims.Role != "" {
		return i.byRuntime(ctx, claims, caller)
	}
	return i.bySession(ctx, claims, caller)
}

// bySession admits the user of a session that is live.
func (i *Identity) bySession(ctx context.Context, claims signing.Claims, caller *gateway.Caller) error {
	session, live, err := i.o.Sessions.Get(ctx, claims.Subject, claims.SessionID)
	if err != nil {
		return err
	}
	if !live {
		return domain.Refuse(domain.CodeInvalidToken, "the session has ended")
	}
	if claims.Scope != "" {
		caller.Scopes = strings.Fields(claims.Scope)
	}
	caller.SessionID, caller.MFAPending = session.ID, session.MFAPending
	caller.Expires = earlier(claims.ExpiresAt, session.Expires)
	return i.admit(session.UserID, session.Anonymous, caller)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// person is a user as requests need them.
type person struct {
	projections.UserBrief
	authData map[string]map[string]any
}

// validEmail is the address of the user as rules see it: "" while nobody has
// proven it and no super admin vouches for it.
func (p person) validEmail() string {
	if !p.EmailValid {
		return ""
	}
	return p.Email
}

func newPerson(stored []byte) (person, error) {
	brief, err := projections.ParseBrief(stored)
	return person{brief, authData(brief)}, err
}

// find returns a user; ok is false when there is none.
func (i *Identity) find(userID string) (found person, ok bool, err error) {
	r := i.o.ReadModel.Reader()
	defer r.Close()
	stored, ok, err := projections.Users{}.StoredBrief(r, userID)
	if err == nil && ok {
		found, err = i.users.of(userID, stored)
	}
	return found, ok && err == nil, err
}

// admit fills in the user. A visitor has no account as long as they own nothing.
func (i *Identity) admit(userID string, visitor bool, caller *gateway.Caller) error {
	found, known, err := i.find(userID)
	if err != nil {
		return err
	}
	if !known && !visitor || known && found.Status != user.Validated {
		return domain.Refuse(domain.CodeInvalidToken, "the account is not in use")
	}
	caller.Kind, caller.UserID = gateway.KindUser, userID
	caller.Anonymous = visitor || onlyVisitor(found.AuthData)
	caller.Super = known && found.Super(i.o.SuperAdmins())
	if caller.Super {
		caller.Role = "superAdmin"
	}
	*caller.Principal = access.Principal{
		UserID: userID, SessionID: caller.SessionID, Email: found.validEmail(), Super: caller.Super, AuthData: found.authData,
		Key: caller.Principal.Key,
	}
	return nil
}

// onlyVisitor reports whether an account has no other identity than that of a
// visitor.
func onlyVisitor(data map[string]user.Identity) bool {
	_, visitor := data[user.Anonymous]
	return visitor && len(data) == 1
}

// authData is what conditions of roles are tested on. Addresses that providers tell
// are stored only when they verified them; that of a local account is left out until
// it is valid.
func authData(b projections.UserBrief) map[string]map[string]any {
	all := make(map[string]map[string]any, len(b.AuthData))
	for provider, identity := range b.AuthData {
		all[provider] = map[string]any{"id": identity.ID}
		if identity.Email != "" && (provider != user.Local || b.EmailValid) {
			all[provider]["email"] = identity.Email
		}
	}
	return all
}

// apiKey is an API key made ready.
type apiKey struct {
	projections.APIKey
	ready *access.Key
}

func newAPIKey(stored []byte) (apiKey, error) {
	key, err := projections.ParseAPIKey(stored)
	if err != nil {
		return apiKey{}, err
	}
	ready, err := access.CompileKey(key.ID, key.WorkspaceID, key.Rules)
	return apiKey{key, ready}, err
}

func (i *Identity) byAPIKey(value string, caller *gateway.Caller) error {
	r := i.o.ReadModel.Reader()
	defer r.Close()
	hash := domain.HashSecret(value)
	stored, known, err := projections.APIKeys{}.Stored(r, hash)
	var found apiKey
	if err == nil && known {
		found, err = i.keys.of(hash, stored)
	}
	if err != nil {
		return err
	}
	if !known || found.Disabled || !found.ExpiresAt.IsZero() && !found.ExpiresAt.After(i.o.Now()) {
		return badKey()
	}
	caller.KeyID, caller.Principal.Key = found.ID, found.ready
	if caller.Kind == gateway.KindNone {
		caller.Kind, caller.Expires = gateway.KindAPIKey, found.ExpiresAt
	}
	i.o.Used(found.ID)
	return nil
}

func badKey() error {
	return domain.Refuse(domain.CodeInvalidCredentials, "the API key is unknown, disabled or expired")
}

var _ Sessions = (*sessions.Sessions)(nil)
