package api

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"svc/commands/accounts"
	"svc/domain"
	"svc/http/gateway"
	"svc/projections"
)

// shownToken is an access token as it is answered.
type shownToken struct {
	OldID      string `json:"_id"` // the same as id
	ID         string `json:"id"`
	Name       string `json:"name"`
	ExpiresAt  string `json:"expiresAt"`
	UserID     string `json:"userId"`
	CreatedAt  string `json:"createdAt"`
	LastUsedAt string `json:"lastUsedAt,omitempty"`
	Token      string `json:"token,omitempty"` // once
}

// Replayable implements gateway.Replayable: a repeat does not see the value.
func (t shownToken) Replayable() any {
	t.Token = ""
	return t
}

func showToken(id, userID, name string, expires, created time.Time) shownToken {
	return shownToken{
		OldID: id, ID: id, Name: name, UserID: userID,
		ExpiresAt: expires.UTC().Format(domain.Timestamp), CreatedAt: created.UTC().Format(domain.Timestamp),
	}
}

// listAccessTokens handles GET /v2/user/accessTokens.
func listAccessTokens(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var tokens []projections.AccessToken
		err := d.ReadModel.View(func(rd projections.Reader) (err error) {
			tokens, err = projections.AccessTokens{}.Of(rd, gateway.CallerFrom(r.Context()).UserID)
			return err
		})
		if err != nil {
			return nil, err
		}
		shown := []shownToken{}
		for _, t := range tokens {
			item := showToken(t.ID, t.UserID, t.Name, t.ExpiresAt, t.CreatedAt)
			if item.LastUsedAt, err = lastUsed(r.Context(), d, t.ID); err != nil {
				return nil, err
			}
			shown = append(shown, item)
		}
		return wholeList(r, shown, nil)
	}
}

// createAccessToken handles POST /v2/user/accessTokens.
func createAccessToken(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in struct {
			Name      *string `json:"name"`
			ExpiresAt *string `json:"expiresAt"`
		}
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if err := needed(text{"name", in.Name}, text{"expiresAt", in.ExpiresAt}); err != nil {
			return nil, err
		}
		by, err := callerSession(d, r)
		if err != nil {
			return nil, err
		}
		made, err := d.Accounts.CreateAccessToken(r.Context(), by, *in.Name, *in.ExpiresAt)
		if err != nil {
			return nil, err
		}
		return gateway.Created(tokenAfter(d, r, made), strings.TrimRight(r.URL.Path, "/")+"/"+made.ID), nil
	}
}

// tokenAfter is a new token as a list shows it now, with its value.
func tokenAfter(d Deps, r *http.Request, made accounts.AccessToken) shownToken {
	settle(r.Context(), d.ReadModel)
	_ = d.ReadModel.View(func(rd projections.Reader) error { // the write has happened: with our own time then
		if found, ok, err := (projections.AccessTokens{}).ByHash(rd, domain.HashSecret(made.Token)); err == nil && ok {
			made.CreatedAt = found.CreatedAt
		}
		return nil
	})
	shown := showToken(made.ID, made.UserID, made.Name, made.ExpiresAt, made.CreatedAt)
	shown.Token = made.Token
	return shown
}

// tokenName is the id of an access token, or its value.
var tokenName = regexp.MustCompile(`^(tok_[0-9a-f]{24}|at:[0-9a-f]{24}[0-9A-Za-z_-]{43})$`)

// deleteAccessToken handles DELETE /v2/user/accessTokens/{idOrToken}.
func deleteAccessToken(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		name := gateway.Var(r, "idOrToken")
		if !tokenName.MatchString(name) { // not repeated in the answer: it may be part of one
			return nil, domain.Refuse(domain.CodeNotFound, "there is no such access token").With("resource", "accessToken")
		}
		id, err := d.Accounts.DeleteAccessToken(r.Context(), gateway.CallerFrom(r.Context()).UserID, name)
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return idOf(id), nil
	}
}
