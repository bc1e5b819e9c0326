package oidc

import (
	"mime"
	"net/http"
	"net/url"
	"strings"

	"svc/commands/accounts"
	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/user"
	"svc/http/gateway"
)

// attempt is one POST of the sign-in form.
type attempt struct {
	s      *Service
	r      *http.Request
	it     interaction
	client Client
	form   url.Values
}

// signIn handles POST /oidc/interaction/{uid}/login.
func (s *Service) signIn(r *http.Request) (any, error) {
	it, client, answer, err := s.open(r)
	if err != nil || answer != nil {
		return answer, err
	}
	if !sameSite(r) {
		return s.stopped(r, http.StatusForbidden, foreignForm), nil
	}
	form, err := readForm(r)
	if err != nil {
		return nil, err
	}
	a := attempt{s, r, it, client, form}
	switch {
	case form.Get("consent") != "":
		return a.consent()
	case it.SessionID != "" && form.Get("password") == "":
		return a.confirm()
	}
	return a.password()
}

// readForm reads a body as forms are sent.
func readForm(r *http.Request) (url.Values, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return nil, gateway.RefuseStatus(http.StatusUnsupportedMediaType, "the body must be application/x-www-form-urlencoded")
	}
	if err := r.ParseForm(); err != nil {
		if _, tooLarge := asTooLarge(err); tooLarge {
			return nil, err
		}
		return nil, domain.Refuse(domain.CodeInvalidRequest, "the form is malformed")
	}
	return r.PostForm, nil
}

// again shows the form once more, with what was wrong.
func (a attempt) again(status int, step, problem string) (any, error) {
	v := a.s.view(a.r, a.it, a.client, step)
	v.Email, v.Problem = strings.TrimSpace(a.form.Get("login")), problems[problem]
	return a.s.show(status, v), nil
}

// password signs in with what the form says. A password that was right, and
// waits for its code, is kept for the next step where only this browser opens it.
func (a attempt) password() (any, error) {
	email, password := strings.TrimSpace(a.form.Get("login")), a.form.Get("password")
	code := strings.ReplaceAll(a.form.Get("totp"), " ", "")
	step, secret := stepPassword, browserSecret(a.r)
	if kept, ok := unsealed(secret, a.it.ID, a.it.Sealed); ok && password == "" && user.NormalEmail(email) == a.it.Email {
		password, step = kept, stepCode
	}
	if email == "" || password == "" || step == stepCode && code == "" {
		return a.again(http.StatusBadRequest, step, "incomplete")
	}
	known, err := gateway.LimitLogin(a.r, user.NormalEmail(email))
	if err != nil {
		return a.limited(step, err)
	}
	opened, err := a.s.o.Accounts.SignIn(a.r.Context(), accounts.Login{
		Email: email, Password: password, TOTP: code, Client: clientOf(a.r, a.it.ClientID), Known: known,
		LimitCode: func() error { return gateway.LimitAccount(a.r.Context(), user.NormalEmail(email)) },
	})
	switch reason := reasonOf(err); {
	case err == nil:
		answer, err := a.s.signedIn(a.r, a.it, opened)
		if err != nil {
			return nil, err
		}
		return answer.WithCookie(gateway.RememberDevice(a.r, user.NormalEmail(email))), nil
	case domain.CodeOf(err) == domain.CodeRateLimit:
		return a.limited(step, err)
	case domain.CodeOf(err) == domain.CodePermissionDenied:
		return a.again(http.StatusForbidden, stepPassword, "local_disabled")
	case domain.CodeOf(err) != domain.CodeInvalidCredentials:
		return nil, err
	case reason == "mfa_required" && step == stepPassword:
		return a.askCode(secret, email, password)
	case reason == "email_not_validated" || reason == "manual_validation":
		return a.again(http.StatusUnauthorized, stepPassword, reason)
	case step == stepCode:
		return a.again(http.StatusUnauthorized, stepCode, "code")
	}
	return a.again(http.StatusUnauthorized, stepPassword, "credentials")
}

// askCode keeps the password for the next step and goes there.
func (a attempt) askCode(secret, email, password string) (any, error) {
	text, err := sealed(secret, a.it.ID, password)
	if err != nil {
		return nil, err
	}
	a.it.Email, a.it.Sealed = user.NormalEmail(email), text
	return gateway.Redirect(a.it.page(a.s)), a.s.keep(a.r.Context(), a.it)
}

// confirm takes the second factor of a session that was opened elsewhere.
func (a attempt) confirm() (any, error) {
	ctx, code := a.r.Context(), strings.ReplaceAll(a.form.Get("totp"), " ", "")
	session, ok, err := a.s.o.Sessions.Get(ctx, a.it.UserID, a.it.SessionID)
	if err != nil {
		return nil, err
	}
	if !ok || !session.MFAPending {
		return gateway.Redirect(a.it.end(a.s)), nil
	}
	if code == "" {
		return a.again(http.StatusBadRequest, stepCode, "incomplete")
	}
	if err := a.limitUser(session); err != nil {
		return a.limited(stepCode, err)
	}
	err = a.s.o.Accounts.ShowCode(ctx, session, code, gateway.ClientIP(a.r).String())
	if domain.CodeOf(err) == domain.CodeInvalidCredentials {
		return a.again(http.StatusUnauthorized, stepCode, "code")
	}
	return gateway.Redirect(a.it.end(a.s)), err
}

// limitUser counts a code like a password: by the address of its account.
func (a attempt) limitUser(session sessions.Session) error {
	person, _, err := a.s.o.User(a.r.Context(), session.UserID)
	if err != nil {
		return err
	}
	subject := person.Email
	if subject == "" {
		subject = session.UserID
	}
	return gateway.LimitAccount(a.r.Context(), subject)
}

// consent lets somebody who is signed in go on as they are.
func (a attempt) consent() (any, error) {
	session, ok, err := a.s.viewer(a.r)
	if err != nil {
		return nil, err
	}
	if !ok || !a.s.satisfies(session, a.it.asked) {
		return gateway.Redirect(a.it.page(a.s) + "?step=" + stepPassword), nil
	}
	a.it.UserID, a.it.SessionID = session.UserID, session.ID
	return gateway.Redirect(a.it.end(a.s)), a.s.keep(a.r.Context(), a.it)
}

// end is where an interaction ends.
func (it interaction) end(s *Service) string { return s.path("/oidc/auth/", it.ID) }

// signedIn notes who signed in and goes on. The browser is signed in as well.
func (s *Service) signedIn(r *http.Request, it interaction, session sessions.Session) (*gateway.Answer, error) {
	it.UserID, it.SessionID, it.Email, it.Sealed = session.UserID, session.ID, "", nil
	if err := s.keep(r.Context(), it); err != nil {
		return nil, err
	}
	cookie, err := s.loginCookie(r, session)
	if err != nil {
		return nil, err
	}
	return gateway.Redirect(it.end(s)).WithCookie(cookie), nil
}

// limited is the form for who tries too often.
func (a attempt) limited(step string, err error) (any, error) {
	if domain.CodeOf(err) != domain.CodeRateLimit {
		return nil, err
	}
	answer, _ := a.again(http.StatusTooManyRequests, step, "limit")
	return withRetry(answer, err), nil
}

// clientOf is where a sign-in comes from.
func clientOf(r *http.Request, clientID string) accounts.Client {
	return accounts.Client{IP: gateway.ClientIP(r).String(), UserAgent: r.UserAgent(), ClientID: clientID}
}
