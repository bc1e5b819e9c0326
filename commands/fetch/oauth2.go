package fetch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"svc/domain/automation"
)

const (
	// maxTokens is how many tokens are remembered.
	maxTokens = 1000
	// tokenMargin is how long before its end a token is not used any more.
	tokenMargin = 10 * time.Second
)

// credentials are what a token is asked for with. Workspaces share no token,
// even with the same credentials.
type credentials struct{ workspaceID, tokenURL, clientID, clientSecret, scope string }

func (c credentials) key() [sha256.Size]byte {
	parts := []string{c.workspaceID, c.tokenURL, c.clientID, c.clientSecret, c.scope}
	return sha256.Sum256([]byte(strings.Join(parts, "\x00")))
}

// tokens remembers tokens until they expire.
type tokens struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]*oauth2.Token
}

func newTokens() *tokens { return &tokens{all: map[[sha256.Size]byte]*oauth2.Token{}} }

func (t *tokens) get(c credentials, now time.Time) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	token, ok := t.all[c.key()]
	if !ok || !token.Expiry.After(now.Add(tokenMargin)) {
		return "", false
	}
	return token.AccessToken, true
}

// forget drops a token that a server did not accept.
func (t *tokens) forget(c credentials) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, c.key())
}

// put remembers a token that says when it expires.
func (t *tokens) put(c credentials, token *oauth2.Token, now time.Time) {
	if token.Expiry.IsZero() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.all) >= maxTokens {
		for key, old := range t.all {
			if !old.Expiry.After(now) {
				delete(t.all, key)
			}
		}
	}
	if len(t.all) >= maxTokens {
		clear(t.all) // all are in use: each is asked for once more
	}
	t.all[c.key()] = token
}

// clientToken returns a token for credentials, of the same way out and under the
// same rules as the request that it is for.
func (x *exchange) clientToken(ctx context.Context, c credentials) (string, error) {
	if token, ok := x.tokens.get(c, x.Now()); ok {
		return token, nil
	}
	address, err := readAddress(c.tokenURL, nil)
	if err != nil {
		return "", automation.Invalid("fetch.auth.oauth2.tokenUrl: expected an absolute http or https address")
	}
	grant := clientcredentials.Config{
		ClientID: c.clientID, ClientSecret: c.clientSecret, TokenURL: address.String(), Scopes: strings.Fields(c.scope),
	}
	token, err := grant.Token(context.WithValue(ctx, oauth2.HTTPClient, x.careful))
	if err != nil {
		return "", &grantError{err}
	}
	x.tokens.put(c, token, x.Now())
	return token.AccessToken, nil
}

// grantError is why there is no token.
type grantError struct{ error }

// Unwrap returns what happened.
func (e *grantError) Unwrap() error { return e.error }

// authorizationFault returns why a request could not be given its credentials,
// as an automation is told it.
func (x *exchange) authorizationFault(w *watch, err error) error {
	failed, ok := errors.AsType[*grantError](err)
	if w.ctx.Err() != nil {
		return x.fault(w, err)
	}
	if !ok {
		return err
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil {
		return x.raise(reasonGrant, fmt.Sprintf("the server of auth.oauth2 gives no token: it answers with status %d", refused.Response.StatusCode))
	}
	if strings.HasPrefix(failed.Error(), "oauth2: ") {
		return x.raise(reasonGrant, "the server of auth.oauth2 gives no token")
	}
	return x.fault(w, failed.error)
}
