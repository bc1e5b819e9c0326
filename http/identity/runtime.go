package identity

import (
	"context"
	"slices"
	"strings"

	"svc/commands/signing"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/accesstoken"
	"svc/http/gateway"
	"svc/projections"
)

// byRuntime admits whoever an automation calls for: a user whose session is live, a
// visitor, or its workspace itself. That a workspace sent the token of a user gives
// the user none of its rights; and it is lent what the user may do in that workspace,
// never the rights of an administrator.
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
	caller.Expires, caller.Scopes = earlier(claims.ExpiresAt, caller.Expires), lent(caller.Scopes)
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

// lent is what scopes are worth in the hands of an automation: whoever calls one does
// not hand over their account.
func lent(scopes []string) []string {
	if scopes == nil {
		return gateway.WholeScopes()
	}
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return !slices.Contains(gateway.WholeScopes(), s) })
}

// byVisitor lets somebody in who showed no credential to the automation that calls for
// them. They are nobody still; but events that are for their session are theirs.
func (i *Identity) byVisitor(claims signing.Claims, caller *gateway.Caller) error {
	_, known, err := i.find(claims.Subject)
	if err != nil {
		return err
	}
	if known || claims.Subject == "" || claims.Subject != claims.SessionID {
		return domain.Refuse(domain.CodeInvalidToken, "the token is of no visitor")
	}
	caller.UserID, caller.SessionID, caller.Anonymous = claims.Subject, claims.SessionID, true
	caller.Expires = claims.ExpiresAt
	*caller.Principal = access.Principal{UserID: claims.Subject, SessionID: claims.SessionID}
	return nil
}

// isToken tells a token from the value of an API key, which has no dots.
func isToken(key string) bool { return strings.Contains(key, ".") }

// byRole adds a role that an automation takes, in the place of an API key.
func (i *Identity) byRole(ctx context.Context, key string, caller *gateway.Caller) error {
	claims, err := i.o.Tokens.Verify(ctx, key)
	switch code := domain.CodeOf(err); {
	case code == domain.CodeInvalidToken || code == domain.CodeTokenExpired:
		return badKey()
	case err != nil:
		return err
	case claims.Role == "" || claims.WorkspaceID == "" || claims.Subject != "":
		return badKey()
	}
	caller.KeyID, caller.Principal.KeyRole = "role:"+claims.Role, roleOf(claims.WorkspaceID, claims.Role)
	caller.SourceWorkspaceID, caller.Depth = claims.WorkspaceID, max(caller.Depth, claims.Depth)
	if caller.Kind == gateway.KindNone {
		caller.Kind, caller.Expires = gateway.KindAPIKey, claims.ExpiresAt
	}
	return nil
}

// HasKeyRole reports whether automations of a workspace may take a role: whether the
// security document binds it to API keys.
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
