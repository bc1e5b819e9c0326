package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
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

// Profile is a service with the credentials for it.
type Profile struct {
	URL       string    `json:"url"`
	Email     string    `json:"email,omitempty"`
	UserID    string    `json:"userId"`
	Token     string    `json:"token"`
	TokenID   string    `json:"tokenId,omitempty"` // of an access token that was made for this profile
	ExpiresAt time.Time `json:"expiresAt"`
}

// Profiles are the profiles of a user of this machine, by their name.
type Profiles map[string]Profile

// profilesFile is the form of the file. The profiles are below a key, so that other keys can be
// added.
type profilesFile struct {
	Profiles Profiles `json:"profiles"`
}

const (
	profilesDirMode  = 0o700
	profilesFileMode = 0o600 // it holds tokens
)

// ReadProfiles reads the profiles in a file. There are none when there is no file.
// A file that others may read is refused.
func ReadProfiles(path string) (Profiles, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return Profiles{}, nil
	}
	if err != nil {
		return nil, err
	}
	if got := info.Mode().Perm(); got&^profilesFileMode != 0 {
		return nil, fmt.Errorf("%s has access rights %04o and holds tokens; if nobody else has read it, fix it with: chmod 0600 %s", path, got, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file profilesFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s cannot be read as profiles: mend it, or remove it and sign in again", path) // the parser's words may hold part of a token
	}
	if file.Profiles == nil {
		file.Profiles = Profiles{}
	}
	return file.Profiles, nil
}

// Write writes the profiles to a file that only its owner may read, atomically.
func (p Profiles) Write(path string) error {
	text, err := json.MarshalIndent(profilesFile{p}, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, profilesDirMode); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".profiles-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // gone already after the rename
	_, err = temp.Write(append(text, '\n'))
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// Workspace returns the name of a workspace in paths of the API, by its id or its slug. A name that
// could be both is the id of a workspace that the caller may read, else a slug; slug:{slug} is always
// a slug.
func (c *Client) Workspace(ctx context.Context, name string) (string, error) {
	if strings.HasPrefix(name, slugPrefix) || name == "platform" {
		return name, nil
	}
	if !couldBeID(name) {
		return slugPrefix + name, nil
	}
	var found []struct {
		ID string `json:"id"`
	}
	if err := c.Get(ctx, "/workspaces?limit=1&ids="+url.QueryEscape(name), &found); err != nil {
		return "", err
	}
	if len(found) == 0 {
		return slugPrefix + name, nil
	}
	return found[0].ID, nil
}

const (
	slugPrefix = "slug:"
	idLength   = 7
)

func couldBeID(name string) bool {
	return len(name) == idLength && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
