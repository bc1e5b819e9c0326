package identity

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
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

// Authenticate implements gateway.Authenticator. The read models of this node may be behind
// the other nodes, so it catches up first; and an unknown credential may be new, so a refusal
// is checked twice.
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
	caller.Expires = earliest(claims.ExpiresAt, session.Expires)
	return i.admit(session.UserID, session.Anonymous, caller)
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// person is the data of a user that requests need.
type person struct {
	projections.UserBrief
	authData map[string]map[string]any
}

// validEmail returns the mail address of the user for rules: "" until it is proven, or a super
// admin vouches for it.
func (p *person) validEmail() string {
	if !p.EmailValid {
		return ""
	}
	return p.Email
}

func newPerson(stored []byte) (*person, error) {
	brief, err := projections.ParseBrief(stored)
	return &person{brief, authData(brief)}, err
}

// find returns a user; nil when there is none.
func (i *Identity) find(userID string) (*person, error) {
	return i.users.get(userID, func(r projections.Reader) ([]byte, bool, error) {
		return projections.Users{}.StoredBrief(r, userID)
	})
}

// admit sets the user of a caller. A visitor has no account while they own nothing.
func (i *Identity) admit(userID string, visitor bool, caller *gateway.Caller) error {
	found, err := i.find(userID)
	if err != nil {
		return err
	}
	known := found != nil
	if !known && !visitor || known && found.Status != user.Validated {
		return domain.Refuse(domain.CodeInvalidToken, "the account is not in use")
	}
	if !known {
		found = &person{}
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

// onlyVisitor reports whether an account has only the identity of a visitor.
func onlyVisitor(data map[string]user.Identity) bool {
	_, visitor := data[user.Anonymous]
	return visitor && len(data) == 1
}

// authData returns the data for the conditions of roles. Addresses of providers are stored only
// when they are verified; that of a local account is left out until it is valid.
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

// apiKey is a decoded API key.
type apiKey struct {
	projections.APIKey
	ready *access.Key
	used  atomic.Int64 // Unix time at which its use was last reported to Options.Used
}

func newAPIKey(stored []byte) (*apiKey, error) {
	key, err := projections.ParseAPIKey(stored)
	if err != nil {
		return nil, err
	}
	ready, err := access.CompileKey(key.ID, key.WorkspaceID, key.Rules)
	return &apiKey{APIKey: key, ready: ready}, err
}

// inForce reports whether the key may be used.
func (k *apiKey) inForce(now time.Time) bool {
	return k != nil && !k.Disabled && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(now))
}

// byAPIKey admits who sends an API key. A key that was sent before is known by itself, not by its hash.
func (i *Identity) byAPIKey(value string, caller *gateway.Caller) error {
	found, err := i.keys.get(value, func(r projections.Reader) ([]byte, bool, error) {
		return projections.APIKeys{}.Stored(r, domain.HashSecret(value))
	})
	if err != nil {
		return err
	}
	now := i.o.Now()
	if !found.inForce(now) {
		return invalidKey()
	}
	caller.KeyID, caller.Principal.Key = found.ID, found.ready
	if caller.Kind == gateway.KindNone {
		caller.Kind, caller.Expires = gateway.KindAPIKey, found.ExpiresAt
	}
	if second := now.Unix(); found.used.Load() != second {
		found.used.Store(second)
		i.o.Used(found.ID)
	}
	return nil
}

func invalidKey() error {
	return domain.Refuse(domain.CodeInvalidCredentials, "the API key is unknown, disabled or expired")
}

var _ Sessions = (*sessions.Sessions)(nil)

// byRuntime admits the caller for whom an automation acts: a user with a live session, a visitor, or
// the workspace itself. The user gets no rights of the workspace; and the automation gets only the
// rights of the user in that workspace, never those of an administrator.
func (i *Identity) byRuntime(ctx context.Context, claims signing.Claims, caller *gateway.Caller) error {
	caller.SourceWorkspaceID, caller.Depth = claims.WorkspaceID, claims.Depth
	switch {
	case claims.WorkspaceID == "" || claims.Role != "":
		return domain.Refuse(domain.CodeInvalidToken, "the token is not one of a caller")
	case claims.Visitor:
		return i.byVisitor(claims, caller)
	case claims.Subject == "" && claims.SessionID == "":
		caller.Kind, caller.WorkspaceID, caller.Expires = gateway.KindAPIKey, claims.WorkspaceID, claims.ExpiresAt
		caller.KeyID = "workspace:" + claims.WorkspaceID // limits and histories name it so
		if !claims.Narrow {
			caller.Principal.Workspace = claims.WorkspaceID
		}
		return nil
	}
	if err := i.byUser(ctx, claims, caller); err != nil {
		return err
	}
	caller.Expires, caller.Scopes = earliest(claims.ExpiresAt, caller.Expires), lentScopes(caller.Scopes)
	caller.Lent, caller.Super, caller.Role = true, false, ""
	if !claims.Narrow {
		caller.LentTo = claims.WorkspaceID
	}
	caller.Principal.Super, caller.Principal.Lent, caller.Principal.LentTo = false, true, caller.LentTo
	return nil
}

// byUser admits a user whose session, or access token, called the automation.
func (i *Identity) byUser(ctx context.Context, claims signing.Claims, caller *gateway.Caller) error {
	id, byToken := strings.CutPrefix(claims.SessionID, accesstoken.Prefix)
	if !byToken {
		return i.bySession(ctx, claims, caller)
	}
	r := i.o.ReadModel.Reader()
	defer r.Close()
	tokens, err := projections.AccessTokens{}.Of(r, claims.Subject)
	if err != nil {
		return err
	}
	var found projections.AccessToken
	at := slices.IndexFunc(tokens, func(t projections.AccessToken) bool { return t.ID == id })
	if at >= 0 {
		found = tokens[at]
	}
	return i.admitToken(found, at >= 0, caller)
}

// lentScopes returns the scopes that an automation gets: without those for the account of the user.
func lentScopes(scopes []string) []string {
	if scopes == nil {
		return gateway.WholeScopes()
	}
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return !slices.Contains(gateway.WholeScopes(), s) })
}

// byVisitor admits a caller without a credential for whom an automation acts. They have no account,
// but get the events for their session.
func (i *Identity) byVisitor(claims signing.Claims, caller *gateway.Caller) error {
	known, err := i.find(claims.Subject)
	if err != nil {
		return err
	}
	if known != nil || claims.Subject == "" || claims.Subject != claims.SessionID {
		return domain.Refuse(domain.CodeInvalidToken, "the token is of no visitor")
	}
	caller.UserID, caller.SessionID, caller.Anonymous = claims.Subject, claims.SessionID, true
	caller.Expires = claims.ExpiresAt
	*caller.Principal = access.Principal{UserID: claims.Subject, SessionID: claims.SessionID}
	return nil
}

// isToken reports whether a key is a token: API keys have no dots.
func isToken(key string) bool { return strings.Contains(key, ".") }

// byRole adds the role of an automation, instead of an API key.
func (i *Identity) byRole(ctx context.Context, key string, caller *gateway.Caller) error {
	claims, err := i.o.Tokens.Verify(ctx, key)
	switch code := domain.CodeOf(err); {
	case code == domain.CodeInvalidToken || code == domain.CodeTokenExpired:
		return invalidKey()
	case err != nil:
		return err
	case claims.Role == "" || claims.WorkspaceID == "" || claims.Subject != "":
		return invalidKey()
	}
	caller.KeyID, caller.Principal.KeyRole = "role:"+claims.Role, roleOf(claims.WorkspaceID, claims.Role)
	caller.SourceWorkspaceID, caller.Depth = claims.WorkspaceID, max(caller.Depth, claims.Depth)
	if caller.Kind == gateway.KindNone {
		caller.Kind, caller.Expires = gateway.KindAPIKey, claims.ExpiresAt
	}
	return nil
}

// HasKeyRole reports whether automations of a workspace may use a role: whether the security
// document binds it to API keys.
func (i *Identity) HasKeyRole(workspaceID, role string) (bool, error) {
	r := i.o.ReadModel.Reader()
	defer r.Close()
	doc, _, found, err := projections.Access{}.Get(r, workspaceID, 0)
	if err != nil || !found {
		return false, err
	}
	_, has := doc.Security.Authorizations.Roles[role].Auth["apiKey"]
	return has, nil
}

// Acting returns the principal for whom an automation of a workspace acts, after its request
// has ended. A workspace that acts for itself has no other principal; a deactivated account or
// API key gives no rights.
func (i *Identity) Acting(a domain.Actor, workspaceID string) (who access.Principal, err error) {
	who = access.Principal{UserID: a.UserID, SessionID: a.SessionID}
	switch {
	case a.WorkspaceID != "":
		who = access.Principal{SessionID: a.SessionID}
		if !a.Lent {
			who.Workspace = a.WorkspaceID
		}
	case a.UserID != "" && a.UserID != a.SessionID: // the id of a visitor's session is that of the visitor
		known, ok, err := i.PrincipalOf(a.UserID)
		if err != nil {
			return who, err
		}
		if ok {
			known.SessionID = a.SessionID
			who = known
		}
	}
	if a.Lent {
		who.Super, who.Lent, who.LentTo = false, true, a.LentTo
	}
	if a.KeyRole != "" {
		who.KeyRole = roleOf(workspaceID, a.KeyRole)
	}
	if a.KeyID != "" {
		who.Key, err = i.keyOf(a.KeyID)
	}
	return who, err
}

// keyOf returns an API key by its id; nil when it is not in use.
func (i *Identity) keyOf(id string) (*access.Key, error) {
	r := i.o.ReadModel.Reader()
	defer r.Close()
	key, ok, err := projections.APIKeys{}.Get(r, id)
	if err != nil || !ok {
		return nil, err
	}
	found, err := i.keys.get(key.Hash, func(r projections.Reader) ([]byte, bool, error) {
		return projections.APIKeys{}.Stored(r, key.Hash)
	})
	if err != nil || !found.inForce(i.o.Now()) {
		return nil, err
	}
	return found.ready, nil
}
