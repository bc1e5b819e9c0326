package oidc

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"svc/commands"
)

// The kinds of keys in the store. What is a secret stands there as its digest.
const (
	keyInteraction = "interaction/"
	keyCode        = "code/"
	keyRefresh     = "refresh/"
	keyOrigin      = "origin/" // whose session a code or refresh token is of, also after its use
	keyState       = "state/"
	keyConsent     = "consent/"
)

// newSecret returns a text that nobody can guess.
func newSecret() string { return rand.Text() }

// digest is how a secret is known without being kept.
func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// put remembers v under key.
func put(ctx context.Context, s Store, key string, v any, ttl time.Duration) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := s.Put(ctx, key, value, ttl); err != nil {
		return commands.Refused(fmt.Errorf("remember a sign-in: %w", err))
	}
	return nil
}

// get returns what is remembered under key; false when nothing is.
func get[T any](ctx context.Context, s Store, key string) (v T, ok bool, err error) {
	value, ok, err := s.Get(ctx, key)
	return decode[T](value, ok, err)
}

// take is get, and forgets it: one who asks gets it.
func take[T any](ctx context.Context, s Store, key string) (v T, ok bool, err error) {
	value, ok, err := s.Consume(ctx, key)
	return decode[T](value, ok, err)
}

func decode[T any](value []byte, ok bool, err error) (v T, _ bool, _ error) {
	if err != nil {
		return v, false, commands.Refused(fmt.Errorf("recall a sign-in: %w", err))
	}
	if !ok {
		return v, false, nil
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return v, false, fmt.Errorf("recall a sign-in: %w", err)
	}
	return v, true, nil
}

// asked is what a client asks for at /oidc/auth.
type asked struct {
	ClientID    string   `json:"clientId"`
	RedirectURI string   `json:"redirectUri"`
	State       string   `json:"state,omitempty"`
	Nonce       string   `json:"nonce,omitempty"`
	Challenge   string   `json:"challenge"`
	Scopes      []string `json:"scopes"`
	LoginHint   string   `json:"loginHint,omitempty"`
	Subject     string   `json:"subject,omitempty"` // who must sign in, by the id_token_hint
	MaxAge      *uint    `json:"maxAge,omitempty"`  // seconds since the sign-in; zero: sign in now
	Consent     bool     `json:"consent,omitempty"` // must be asked for
	silent      bool     // no page may be shown
}

// interaction is a sign-in on the page, from /oidc/auth until it resumes.
type interaction struct {
	asked
	ID      string `json:"id"`
	Browser string `json:"browser"` // digest of the secret that the browser holds

	// Who signed in; empty as long as nobody did.
	UserID    string `json:"userId,omitempty"`
	SessionID string `json:"sessionId,omitempty"`

	// A password that was right and waits for the code of the second factor. It
	// opens only with the secret that the browser holds.
	Email  string `json:"email,omitempty"`
	Sealed []byte `json:"sealed,omitempty"`
}

// grant is what a code or a refresh token stands for.
type grant struct {
	ClientID    string   `json:"clientId"`
	RedirectURI string   `json:"redirectUri,omitempty"`
	Nonce       string   `json:"nonce,omitempty"`
	Challenge   string   `json:"challenge,omitempty"`
	Scopes      []string `json:"scopes"`
	UserID      string   `json:"userId"`
	SessionID   string   `json:"sessionId"`
}

// origin is whose session a code or refresh token belongs to.
type origin struct {
	UserID    string `json:"userId"`
	SessionID string `json:"sessionId"`
}

// emit makes a code or a refresh token for g. Its origin is written first and
// so forgotten first: when the one is gone and the other is not, it was used.
func (s *Service) emit(ctx context.Context, kind string, g grant, ttl time.Duration) (string, error) {
	secret := newSecret() + newSecret()
	id := digest(secret)
	if err := put(ctx, s.o.Store, keyOrigin+id, origin{g.UserID, g.SessionID}, ttl); err != nil {
		return "", err
	}
	return secret, put(ctx, s.o.Store, kind+id, g, ttl)
}
