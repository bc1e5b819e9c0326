package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"svc/commands/accounts"
	"svc/domain"
	"svc/http/gateway"
)

// callback handles GET /v2/login/callback: somebody comes back from a provider.
func (s *Service) callback(r *http.Request) (any, error) {
	ctx, query := r.Context(), r.URL.Query()
	d, ok, err := take[departure](ctx, s.o.Store, keyState+digest(query.Get("state")))
	if err != nil {
		return nil, err
	}
	p, known := s.provider(d.Provider)
	if !ok || !known || !sameBrowser(r, d.Browser) {
		return s.stopped(r, http.StatusBadRequest, lostReturn), nil
	}
	if code := query.Get("error"); code != "" {
		return s.turnedAway(r, d, "provider_denied", fmt.Errorf("the provider answered %s", shown(code)))
	}
	who, err := s.identify(ctx, p, d, query)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		problem := "provider_failed"
		if errors.Is(err, errUnreachable) {
			problem = "provider_unavailable"
		}
		return s.turnedAway(r, d, problem, err)
	}
	return s.welcome(r, d, who)
}

// identify exchanges the code of a provider for what it knows.
func (s *Service) identify(ctx context.Context, p *relying, d departure, query url.Values) (accounts.Identity, error) {
	if iss := query.Get("iss"); iss != "" && p.Issuer != "" && iss != p.Issuer {
		return accounts.Identity{}, errors.New("another provider answered")
	}
	at, err := p.ready(ctx)
	if err != nil {
		return accounts.Identity{}, err
	}
	token, err := p.config(at, s.callbackURL()).
		Exchange(oidc.ClientContext(ctx, p.http), query.Get("code"), oauth2.VerifierOption(d.Verifier))
	if err != nil {
		return accounts.Identity{}, exchangeError(err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, claims, err := p.verify(ctx, at, raw)
	if err != nil {
		return accounts.Identity{}, fmt.Errorf("verify the identity token: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(d.Nonce)) != 1 {
		return accounts.Identity{}, errors.New("the identity token is not of this sign-in")
	}
	if err := p.complete(ctx, at, token, id.Subject, claims); err != nil {
		return accounts.Identity{}, fmt.Errorf("ask userinfo: %w", err)
	}
	return p.identity(id.Subject, claims), nil
}

// exchangeError is why a code was not exchanged, without the body of the answer:
// nobody knows what is in it.
func exchangeError(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("exchange the code: %s %s", refused.Response.Status, shown(refused.ErrorCode))
	}
	return fmt.Errorf("%w: exchange the code: %w", errUnreachable, err)
}

// welcome signs in who was identified, and sends them where they wanted to go.
func (s *Service) welcome(r *http.Request, d departure, who accounts.Identity) (any, error) {
	ctx := r.Context()
	var it interaction
	if d.Interaction != "" {
		found, ok, err := get[interaction](ctx, s.o.Store, keyInteraction+d.Interaction)
		if err != nil {
			return nil, err
		}
		if !ok || !sameBrowser(r, found.Browser) {
			return s.stopped(r, http.StatusBadRequest, noInteraction), nil
		}
		it = found
	}
	opened, err := s.o.Accounts.SignInWith(ctx, who, clientOf(r, it.ClientID))
	if refusal, ok := errors.AsType[*domain.Error](err); ok && refusal.Code != domain.CodeInternal {
		return s.turnedAway(r, d, "account_refused", refusal)
	}
	if err != nil {
		return nil, err
	}
	if d.Interaction != "" {
		return s.signedIn(r, it, opened)
	}
	cookie, err := s.loginCookie(r, opened)
	if err != nil {
		return nil, err
	}
	return gateway.Redirect(d.ReturnTo).WithCookie(cookie), nil
}

// turnedAway tells who did not get in why, where they can try again.
func (s *Service) turnedAway(r *http.Request, d departure, problem string, why error) (any, error) {
	s.o.Log.WarnContext(r.Context(), "sign-in with a provider failed", "provider", d.Provider, "problem", problem,
		"correlationId", gateway.CorrelationID(r.Context()), "err", brief(why))
	if d.Interaction != "" {
		return interaction{ID: d.Interaction}.toProblem(s, problem), nil
	}
	code := "access_denied"
	if problem == "provider_unavailable" {
		code = "temporarily_unavailable"
	}
	return gateway.Redirect(withQuery(d.ReturnTo, url.Values{"error": {code}, "error_description": {problems[problem]}})), nil
}
