package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"svc/commands/accounts"
	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/user"
	"svc/http/gateway"
	"svc/projections"
)

// me is the answer of GET /v2/me.
type me struct {
	shownUser
	SessionID string   `json:"sessionId"`
	Expires   string   `json:"expires"`
	Scopes    []string `json:"scopes"`
}

// getMe handles GET /v2/me.
func getMe(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		caller := gateway.CallerFrom(r.Context())
		found, err := callerAccount(d, caller)
		if err != nil {
			return nil, err
		}
		shown := me{found, caller.SessionID, caller.Expires.UTC().Format(domain.Timestamp), caller.Scopes}
		if shown.Scopes == nil {
			shown.Scopes = strings.Fields(accounts.Scopes)
		}
		if caller.Lent { // what a page of the session shows is not for automations
			return gateway.OK(shown), nil
		}
		return gateway.OK(shown).With("X-Svc-Csrf-Token", d.CSRFToken(caller.SessionID)), nil
	}
}

// callerAccount is who calls. A visitor who owns nothing yet is shown as the
// account that they would get.
func callerAccount(d Deps, caller gateway.Caller) (shownUser, error) {
	found, err := findUser(d, caller.UserID, "")
	switch {
	case err == nil:
		return showUser(d, found), nil
	case domain.CodeOf(err) == domain.CodeNotFound && caller.Anonymous:
		return shownUser{Account: accounts.Account{User: user.User{
			ID: caller.UserID, Status: user.Validated, Meta: map[string]json.RawMessage{}, MFA: user.MFANone, Groups: []string{},
			AuthData: map[string]user.Identity{user.Anonymous: {ID: caller.UserID}},
		}}}, nil
	case domain.CodeOf(err) == domain.CodeNotFound: // gone since the request came in
		return shownUser{}, domain.Refuse(domain.CodeInvalidToken, "the account is not in use")
	}
	return shownUser{}, err
}

// logout handles POST /v2/logout. An access token is no session: it stays.
func logout(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		caller := gateway.CallerFrom(r.Context())
		if err := d.Accounts.Logout(r.Context(), sessions.Session{UserID: caller.UserID, ID: caller.SessionID}); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return signedOut(r, succeeded), nil
	}
}

// callerSession returns the session of the caller.
func callerSession(d Deps, r *http.Request) (sessions.Session, error) {
	caller := gateway.CallerFrom(r.Context())
	by, live, err := d.Sessions.Get(r.Context(), caller.UserID, caller.SessionID)
	if err == nil && !live {
		err = domain.Refuse(domain.CodeInvalidToken, "the session has ended")
	}
	return by, err
}

// isAccessToken reports whether the caller came with an access token.
func isAccessToken(c gateway.Caller) bool { return strings.HasPrefix(c.SessionID, "at:") }

// mustHaveSession refuses on an open route whom the gateway refuses on one that
// needs a session.
func mustHaveSession(c gateway.Caller) error {
	switch {
	case c.Kind == gateway.KindNone:
		return domain.Refuse(domain.CodeMissingToken, "a credential is required: send Authorization: Bearer with a token, or x-svc-api-key with an API key")
	case c.Kind != gateway.KindUser || isAccessToken(c):
		return domain.Refuse(domain.CodeInsufficientScope, "this needs a user session").Reason("session_required")
	case c.MFAPending:
		return domain.Refuse(domain.CodeInvalidCredentials, "a second factor is required").Reason("mfa_required")
	}
	return nil
}

// countGuess counts a try at the password or the code of an account for the
// limit of logins: it must not matter at which door somebody guesses.
func countGuess(ctx context.Context, d Deps, userID string) error {
	subject := userID
	err := d.ReadModel.View(func(r projections.Reader) error {
		found, _, err := projections.Users{}.Brief(r, userID)
		if found.Email != "" {
			subject = found.Email
		}
		return err
	})
	if err != nil {
		return err
	}
	return gateway.LimitAccount(ctx, subject)
}

// currentPassword returns the password that the caller shows to confirm what
// they ask for. Who has one must show it; others have nothing to show.
func currentPassword(d Deps, r *http.Request, given *string) (string, error) {
	userID := gateway.CallerFrom(r.Context()).UserID
	found, err := findUser(d, userID, "")
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && !found.HasPassword {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if given == nil {
		return "", missing("currentPassword")
	}
	return *given, countGuess(r.Context(), d, userID)
}
