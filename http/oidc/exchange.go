package oidc

import (
	"context"
	"errors"

	"svc/commands/accounts"
	"svc/domain"
	"svc/http/gateway"
)

// The types of tokens that can be exchanged (RFC 8693). Both are an identity
// token of the provider: an access token does not tell for whom it was issued.
const (
	typeIDToken = "urn:ietf:params:oauth:token-type:id_token"
	typeJWT     = "urn:ietf:params:oauth:token-type:jwt"
)

// ExchangeToken returns who the token of a provider is about, for
// POST /v2/login/token-exchange. It refuses with validation_failed an unknown
// provider or type, with permission_denied a provider that does not allow it,
// and with invalid_token a token that does not hold.
func (s *Service) ExchangeToken(ctx context.Context, provider, token, kind string) (accounts.Identity, error) {
	var none accounts.Identity
	p, ok := s.provider(provider)
	if !ok {
		return none, domain.Invalid(domain.FieldError{Field: "provider", Message: "there is no such provider"})
	}
	if kind != "" && kind != typeIDToken && kind != typeJWT {
		return none, domain.Invalid(domain.FieldError{Field: "subject_token_type", Message: "must be " + typeIDToken})
	}
	if !p.Exchange {
		return none, domain.Refuse(domain.CodePermissionDenied, "tokens of %s are not exchanged", p.name())
	}
	at, err := p.ready(ctx)
	if err == nil {
		id, claims, err := p.verify(ctx, at, token)
		if err != nil {
			return none, s.notExchanged(ctx, p, err)
		}
		return p.identity(id.Subject, claims), nil
	}
	if errors.Is(err, errUnreachable) {
		err = domain.Refuse(domain.CodeUnavailable, "%s did not answer, try again later", p.name()).With("retryAfter", 10)
	}
	return none, err
}

// notExchanged tells the operator more than whoever sent the token.
func (s *Service) notExchanged(ctx context.Context, p *relying, why error) error {
	if ctx.Err() != nil {
		return why
	}
	s.o.Log.WarnContext(ctx, "token of a provider not exchanged", "provider", p.Slug,
		"correlationId", gateway.CorrelationID(ctx), "err", brief(why))
	return domain.Refuse(domain.CodeInvalidToken, "the token is not one of %s for this platform, or it has expired", p.name())
}
