package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/client"
	"svc/domain"
)

// login is how `svc login` is asked.
type login struct {
	remote
	url, email, token string
	days              int
	list              bool
}

// localService is where a service is that was started without any setting.
const localService = "http://localhost:3001"

func loginCommand(w environment) *cobra.Command {
	l := &login{remote: remote{environment: w}}
	c := &cobra.Command{
		Use: "login", Short: "Sign in to a service, and keep an access token for the other commands",
		Long: "Sign in to a service with a mail address and a password, and the code of the second factor where one is asked for.\n" +
			"An access token is made and kept in a profile, in $XDG_CONFIG_HOME/svc/profiles.json; the password is not.\n" +
			"Scripts give the password on standard input, or a token: --token - reads it there.",
		RunE: func(c *cobra.Command, _ []string) error {
			if l.list {
				return l.profiles()
			}
			return l.explain(c.Context(), l.run(c.Context()))
		},
	}
	l.flags(c)
	c.Flags().StringVar(&l.url, "url", "", "address of the service (default $SVC_URL, else that of the profile, else "+localService+")")
	c.Flags().StringVar(&l.email, "email", "", "mail address (default: it is asked for)")
	c.Flags().StringVar(&l.token, "token", "", "keep this token instead of making one; - reads it from standard input")
	c.Flags().IntVar(&l.days, "days", 90, "how long the access token is valid")
	c.Flags().BoolVar(&l.list, "list", false, "list the profiles")
	return c
}

var profileNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$`)

// run signs in and keeps the profile.
func (l *login) run(ctx context.Context) error {
	if !profileNames.MatchString(l.profileName()) || l.days < 1 || l.days > 3650 {
		return fmt.Errorf("%w: a profile is named with letters, digits and -_. and --days is a number from 1 to 3650", errUsage)
	}
	path, all, err := l.stored()
	if err != nil {
		return err
	}
	old := all[l.profileName()]
	address, err := client.ServiceURL(cmp.Or(l.url, l.env(urlVariable), old.URL, localService))
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if client.Exposed(address) {
		warn(l.environment, []string{address + " is not encrypted: others on the way can read passwords and tokens"})
	}
	l.Client = &client.Client{URL: address}
	keep := func(p client.Profile) error {
		all[l.profileName()] = p
		return all.Write(path)
	}
	if l.token != "" {
		return l.withToken(ctx, keep)
	}
	return l.withPassword(ctx, old, keep)
}

// withToken keeps a token that somebody has, once the service has said whose it is.
func (l *login) withToken(ctx context.Context, keep func(client.Profile) error) (err error) {
	if l.token == "-" {
		if l.token, err = l.ask(ctx, "Token", true); err != nil {
			return err
		}
	}
	l.Token = l.token
	me, err := l.Me(ctx)
	if err != nil {
		return err
	}
	p := client.Profile{URL: l.URL, Email: me.Email, UserID: me.ID, Token: l.token, ExpiresAt: me.Expires}
	if err := keep(p); err != nil {
		return err
	}
	return l.done(p)
}

// withPassword makes an access token in a session that ends with that. The one that
// the profile had is revoked.
func (l *login) withPassword(ctx context.Context, old client.Profile, keep func(client.Profile) error) (err error) {
	if l.email == "" {
		if l.email, err = l.ask(ctx, "Mail address", false); err != nil {
			return err
		}
	}
	session, err := l.signIn(ctx, l.email)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.SignOut(ctx)) }()
	me, err := session.Me(ctx)
	if err != nil {
		return err
	}
	made, err := session.MakeToken(ctx, "svc on "+cmp.Or(l.source.Hostname, "a terminal"), time.Now().AddDate(0, 0, l.days))
	if err != nil {
		return err
	}
	p := client.Profile{URL: l.URL, Email: me.Email, UserID: me.ID, Token: made.Token, TokenID: made.ID, ExpiresAt: made.ExpiresAt}
	if err := keep(p); err != nil {
		return errors.Join(err, session.RevokeToken(ctx, made.ID))
	}
	if old.TokenID != "" && old.URL == p.URL && old.UserID == p.UserID {
		if err := session.RevokeToken(ctx, old.TokenID); err != nil {
			return err
		}
	}
	return l.done(p)
}

// signIn opens a session of somebody who has the password.
func (r *remote) signIn(ctx context.Context, email string) (*client.Client, error) {
	password, err := r.ask(ctx, "Password of "+email, true)
	if err != nil {
		return nil, err
	}
	return r.SignIn(ctx, client.Credentials{Email: email, Password: password, Code: func() (string, error) {
		return r.ask(ctx, "Code of the second factor", true)
	}})
}

// inSession does something that an access token may not, in a session of whoever the token is of. The password is
// asked for; the session ends with that.
func (r *remote) inSession(ctx context.Context, do func() error) (err error) {
	me, err := r.Me(ctx)
	if err != nil {
		return err
	}
	token := r.Client
	r.Client = &client.Client{URL: token.URL, HTTP: token.HTTP}
	defer func() { r.Client = token }()
	session, err := r.signIn(ctx, me.Email)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.SignOut(ctx)) }()
	r.Client = session
	return do()
}

// profileOutput is a profile without its token.
type profileOutput struct {
	Name      string `json:"name"`
	URL       string `json:"url"`
	Email     string `json:"email"`
	UserID    string `json:"userId"`
	ExpiresAt string `json:"expiresAt"`
}

func toProfileOutput(name string, p client.Profile) profileOutput {
	return profileOutput{name, p.URL, p.Email, p.UserID, domain.FormatTime(p.ExpiresAt)}
}

func (l *login) done(p client.Profile) error {
	profile := toProfileOutput(l.profileName(), p)
	if l.asJSON {
		return writeJSON(l.environment, profile)
	}
	_, err := fmt.Fprintf(l.out, "signed in to %s as %s: profile %s is good until %s\n", profile.URL, clean(cmp.Or(profile.Email, profile.UserID)), profile.Name, profile.ExpiresAt)
	return err
}

// stored returns the profiles, and where they are kept.
func (l *login) stored() (path string, all client.Profiles, err error) {
	if path, err = l.profilesPath(); err == nil {
		all, err = client.ReadProfiles(path)
	}
	return path, all, err
}

// profiles lists the profiles.
func (l *login) profiles() error {
	_, all, err := l.stored()
	if err != nil {
		return err
	}
	list, rows := []profileOutput{}, [][]string{{"PROFILE", "URL", "ACCOUNT", "UNTIL"}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := toProfileOutput(name, all[name])
		list, rows = append(list, p), append(rows, []string{p.Name, p.URL, cmp.Or(p.Email, p.UserID), p.ExpiresAt})
	}
	if l.asJSON {
		return writeJSON(l.environment, list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(l.out, "there are no profiles: sign in with `svc login`")
		return err
	}
	_, err = fmt.Fprint(l.out, table(rows...))
	return err
}

func logoutCommand(w environment) *cobra.Command {
	r, revoke := &remote{environment: w}, false
	c := &cobra.Command{
		Use: "logout", Short: "Forget a profile and its token",
		Long: "Forget a profile and its token. With --revoke the token is ended at the service too, which takes the password:\na token may not end tokens.",
		RunE: func(c *cobra.Command, _ []string) error {
			return r.explain(c.Context(), r.forget(c.Context(), revoke))
		},
	}
	r.flags(c)
	c.Flags().BoolVar(&revoke, "revoke", false, "end the access token at the service, too")
	return c
}

// forget removes the profile from the file.
func (r *remote) forget(ctx context.Context, revoke bool) error {
	p, err := r.storedProfile()
	if err != nil {
		return err
	}
	if revoke {
		if err := r.revoke(ctx, p); err != nil {
			return err
		}
	}
	path, err := r.profilesPath()
	if err != nil {
		return err
	}
	all, err := client.ReadProfiles(path)
	if err != nil {
		return err
	}
	delete(all, r.profileName())
	if err := all.Write(path); err != nil {
		return err
	}
	return r.printLogout(p, revoke)
}

// revoke ends the token of a profile in a session.
func (r *remote) revoke(ctx context.Context, p client.Profile) (err error) {
	if p.TokenID == "" {
		return errors.New("the token of this profile was not made by `svc login`: revoke it where it was made")
	}
	r.Client = &client.Client{URL: p.URL}
	session, err := r.signIn(ctx, p.Email)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.SignOut(ctx)) }()
	return session.RevokeToken(ctx, p.TokenID)
}

func (r *remote) printLogout(p client.Profile, revoked bool) error {
	if r.asJSON {
		return writeJSON(r.environment, map[string]any{"name": r.profileName(), "revoked": revoked})
	}
	text := "its token is revoked"
	if !revoked {
		text = "its token is valid until " + domain.FormatTime(p.ExpiresAt) + ", unless somebody revokes it"
	}
	_, err := fmt.Fprintf(r.out, "profile %s is forgotten; %s\n", r.profileName(), text)
	return err
}
