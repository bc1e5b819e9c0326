package oidc

import (
	"context"
	"net/http"
	"net/url"

	"svc/commands/sessions"
	"svc/domain/user"
	"svc/http/gateway"
)

// open finds the interaction of a request, for the browser in which it began.
// When there is none, the answer says so.
func (s *Service) open(r *http.Request) (it interaction, client Client, answer any, err error) {
	ctx := r.Context()
	it, ok, err := get[interaction](ctx, s.o.Store, keyInteraction+gateway.Var(r, "uid"))
	if err != nil {
		return it, client, nil, err
	}
	if !ok || !sameBrowser(r, it.Browser) {
		return it, client, s.stopped(r, http.StatusBadRequest, noInteraction), nil
	}
	if client, ok, err = s.client(ctx, it.ClientID); err == nil && !ok {
		answer = s.stopped(r, http.StatusBadRequest, wrongClient)
	}
	return it, client, answer, err
}

// page is where the browser does what is left to do.
func (it interaction) page(s *Service) string { return s.path("/oidc/interaction/", it.ID) }

// interact handles GET /oidc/interaction/{uid}.
func (s *Service) interact(r *http.Request) (any, error) {
	it, client, answer, err := s.open(r)
	if err != nil || answer != nil {
		return answer, err
	}
	query := r.URL.Query()
	v := s.view(r, it, client, stepPassword)
	v.Problem = problems[query.Get("problem")]
	switch {
	case query.Get("step") == stepPassword:
	case it.SessionID != "":
		session, ok, err := s.o.Sessions.Get(r.Context(), it.UserID, it.SessionID)
		if err != nil {
			return nil, err
		}
		if ok && session.MFAPending {
			v.Step, v.Email = stepCode, ""
		}
	case it.Sealed != nil:
		v.Step, v.Email = stepCode, it.Email
	default:
		return s.offer(r, it, client, v)
	}
	return s.show(http.StatusOK, v), nil
}

// offer lets somebody who is signed in go on as they are, when only their
// consent is missing.
func (s *Service) offer(r *http.Request, it interaction, client Client, v view) (any, error) {
	session, ok, err := s.viewer(r)
	if err != nil {
		return nil, err
	}
	if !ok || client.Trusted || !s.satisfies(session, it.asked) {
		return s.show(http.StatusOK, v), nil
	}
	person, ok, err := s.o.User(r.Context(), session.UserID)
	if err == nil && ok {
		v.Step, v.Account = stepConsent, person.Email
	}
	return s.show(http.StatusOK, v), err
}

// resume handles GET /oidc/auth/{uid}: the end of an interaction.
func (s *Service) resume(r *http.Request) (any, error) {
	it, client, answer, err := s.open(r)
	if err != nil || answer != nil {
		return answer, err
	}
	if it.SessionID == "" {
		return gateway.Redirect(it.page(s)), nil
	}
	ctx := r.Context()
	session, ok, err := s.o.Sessions.Get(ctx, it.UserID, it.SessionID)
	if err != nil {
		return nil, err
	}
	if !ok { // it ended meanwhile
		it.UserID, it.SessionID = "", ""
		return gateway.Redirect(it.page(s)), s.keep(ctx, it)
	}
	if f, wait, err := s.owes(ctx, client, session); err != nil || wait {
		return gateway.Redirect(it.page(s)), err
	} else if f != nil {
		return s.refuse(it.asked, *f), nil
	}
	if it.Subject != "" && it.Subject != session.UserID {
		return s.refuse(it.asked, fault{"login_required", "somebody else signed in than the id_token_hint names"}), nil
	}
	return s.finish(r, it, client, session)
}

// owes finds out what becomes of a session without its second factor: the page
// asks for the code (wait). Who has no code yet, but must, sets it up in the
// console, and is nobody to other clients until then.
func (s *Service) owes(ctx context.Context, client Client, session sessions.Session) (f *fault, wait bool, err error) {
	if !session.MFAPending {
		return nil, false, nil
	}
	person, ok, err := s.o.User(ctx, session.UserID)
	if err != nil || ok && person.MFA == user.MFATOTP {
		return nil, true, err
	}
	if client.ID == ConsoleClient {
		return nil, false, nil
	}
	return &fault{"access_denied", "the account needs a second factor, which is set up in the console"}, false, nil
}

// finish ends an interaction with a code, once. Who came this far was on a page
// that names the client and what it gets.
func (s *Service) finish(r *http.Request, it interaction, client Client, session sessions.Session) (any, error) {
	ctx := r.Context()
	_, ok, err := take[interaction](ctx, s.o.Store, keyInteraction+it.ID)
	if err != nil {
		return nil, err
	}
	if !ok {
		return s.stopped(r, http.StatusBadRequest, noInteraction), nil
	}
	if !client.Trusted {
		if err := put(ctx, s.o.Store, consentKey(session.UserID, client.ID), consent{it.Scopes}, ConsentLifetime); err != nil {
			return nil, err
		}
	}
	return s.sendCode(ctx, it.asked, session)
}

// toProblem is the page with a problem that happened elsewhere.
func (it interaction) toProblem(s *Service, problem string) *gateway.Answer {
	return gateway.Redirect(it.page(s) + "?" + url.Values{"problem": {problem}}.Encode())
}
