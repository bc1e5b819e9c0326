package oidc

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"svc/commands/accounts"
	"svc/domain"
	"svc/domain/user"
	"svc/http/gateway"
)

// claims are those that scopes give access to, under the names of the contract
// and under those that every client knows.
func (p Person) claims(id string, scopes []string) map[string]any {
	claims := map[string]any{"sub": id}
	set := func(value string, names ...string) {
		for _, name := range names {
			if value != "" {
				claims[name] = value
			}
		}
	}
	if slices.Contains(scopes, "profile") {
		set(p.FirstName, "firstName", "given_name")
		set(p.LastName, "lastName", "family_name")
		set(strings.TrimSpace(p.FirstName+" "+p.LastName), "name")
		set(p.Photo, "photo", "picture")
		set(p.Language, "language", "locale")
	}
	if slices.Contains(scopes, "email") && p.Email != "" {
		claims["email"], claims["email_verified"] = p.Email, p.EmailProven
	}
	if slices.Contains(scopes, "settings") {
		claims["mfa"], claims["meta"] = cmp.Or(p.MFA, user.MFANone), map[string]json.RawMessage{}
		if p.Meta != nil {
			claims["meta"] = p.Meta
		}
	}
	return claims
}

// without returns list without one item.
func without(list []string, item string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == item })
}

// userinfo handles GET and POST /oidc/userinfo. Who asks is known to the
// gateway; a token without a scope claim is not limited.
func (s *Service) userinfo(r *http.Request) (any, error) {
	caller := gateway.CallerFrom(r.Context())
	person, ok, err := s.o.User(r.Context(), caller.UserID)
	if err != nil {
		return nil, err
	}
	if !ok && !caller.Anonymous { // a visitor has no account, and is known by their id alone
		return nil, domain.Refuse(domain.CodeInvalidToken, "the account of this token is gone")
	}
	scopes := caller.Scopes
	if scopes == nil {
		scopes = strings.Fields(accounts.Scopes)
	}
	return person.claims(caller.UserID, scopes), nil
}
