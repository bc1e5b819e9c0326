package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Me is who calls.
type Me struct {
	ID      string    `json:"id"`
	Email   string    `json:"email"`
	Expires time.Time `json:"expires"` // of the token
}

// Me asks who the token is of.
func (c *Client) Me(ctx context.Context) (me Me, err error) {
	return me, c.Get(ctx, "/me", &me)
}

// Credentials are what somebody signs in with.
type Credentials struct {
	Email, Password string
	// Code asks for the code of the second factor. It is asked when the service wants one.
	Code func() (string, error)
}

// sessionTime is how long a session lasts that only makes or revokes a token.
const sessionTime = 5 * time.Minute

// SignIn opens a session, and returns a client that calls in it. Whoever is done
// with it signs out.
func (c *Client) SignIn(ctx context.Context, who Credentials) (*Client, error) {
	body := map[string]any{"email": who.Email, "password": who.Password, "expiresAfter": int(sessionTime / time.Second)}
	var session struct {
		Token string `json:"token"`
	}
	_, err := c.Call(ctx, http.MethodPost, "/login", body, &session)
	if refused, ok := errors.AsType[*Error](err); ok && refused.Reason() == "mfa_required" && who.Code != nil {
		if body["totp"], err = who.Code(); err != nil {
			return nil, err
		}
		_, err = c.Call(ctx, http.MethodPost, "/login", body, &session)
	}
	if err == nil && session.Token == "" {
		err = errLostSecret
	}
	in := *c
	in.Token = session.Token
	return &in, err
}

// errLostSecret says that only the repetition of an answer arrived.
var errLostSecret = errors.New("the answer with the token was lost on the way, and it is shown once: try again")

// SignOut ends the session of the client.
func (c *Client) SignOut(ctx context.Context) error {
	_, err := c.Call(ctx, http.MethodPost, "/logout", nil, nil)
	return err
}

// AccessToken is a token that was made.
type AccessToken struct {
	ID        string    `json:"id"`
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// MakeToken makes an access token of whoever is signed in.
func (c *Client) MakeToken(ctx context.Context, name string, expires time.Time) (made AccessToken, err error) {
	body := map[string]string{"name": name, "expiresAt": expires.UTC().Format(time.RFC3339)}
	_, err = c.Call(ctx, http.MethodPost, "/user/accessTokens", body, &made)
	if err == nil && made.Token == "" {
		err = errLostSecret
	}
	return made, err
}

// RevokeToken ends an access token of whoever is signed in. One that is gone
// already is no error.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	_, err := c.Call(ctx, http.MethodDelete, "/user/accessTokens/"+url.PathEscape(id), nil, nil)
	if refused, ok := errors.AsType[*Error](err); ok && refused.Status == http.StatusNotFound {
		return nil
	}
	return err
}
