package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"svc/domain"
	"svc/domain/user"
)

// What a token in a mail is for. It opens nothing else.
const (
	purposeReset   = "reset"
	purposeConfirm = "confirm"
)

// linkAge is how long the token of a mail is good.
const linkAge = time.Hour

// link is what is kept of the token of a mail: to whom it was sent, and for
// which password. The log refuses it once either has changed, which is also how
// a reset happens once.
type link struct {
	UserID  string    `json:"userId"`
	Email   string    `json:"email"`
	Was     string    `json:"was"` // fingerprint of the password
	Expires time.Time `json:"expires"`
}

// issueLink returns a new token. Only its hash is kept.
func (a *Accounts) issueLink(ctx context.Context, purpose string, s user.State) (token string, err error) {
	token = randomText()
	body, err := json.Marshal(link{UserID: s.ID, Email: s.Email, Was: s.Credentials.Fingerprint(), Expires: a.o.Now().Add(linkAge).UTC()})
	if err != nil {
		return "", err
	}
	if err := a.o.Links.Put(ctx, linkKey(purpose, token), body, linkAge); err != nil {
		return "", fmt.Errorf("keep the token of a mail: %w", err)
	}
	return token, nil
}

// open returns what a token was issued for, or refuses it.
func (a *Accounts) open(ctx context.Context, purpose, token string) (link, error) {
	body, ok, err := a.o.Links.Get(ctx, linkKey(purpose, token))
	if err != nil {
		return link{}, unavailable(err)
	}
	if !ok {
		return link{}, unknownToken()
	}
	var have link
	if err := json.Unmarshal(body, &have); err != nil {
		return link{}, fmt.Errorf("read the token of a mail: %w", err)
	}
	if !have.Expires.After(a.o.Now()) {
		return link{}, unknownToken()
	}
	return have, nil
}

// spent forgets a token that did its work. If that fails it is only logged: the
// log does not take it again.
func (a *Accounts) spent(ctx context.Context, purpose, token string) {
	if err := a.o.Links.Delete(ctx, linkKey(purpose, token)); err != nil {
		a.o.Log.WarnContext(ctx, "a used mail token was not forgotten", "purpose", purpose, "err", err)
	}
}

func linkKey(purpose, token string) string {
	return purpose + "/" + domain.HashSecret(token)
}

// unknownToken is the one answer to a token that opens nothing.
func unknownToken() error {
	return domain.Invalid(domain.FieldError{Field: "token", Message: "is unknown, used or expired"})
}
