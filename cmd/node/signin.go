package node

import (
	"context"
	"fmt"
	"time"

	"svc/cmd/settings"
	"svc/commands/accounts"
	"svc/commands/egress"
	"svc/http/api"
	"svc/http/gateway"
	"svc/http/oidc"
	"svc/projections"
)

// providerTimeout bounds one question to an identity provider.
const providerTimeout = 10 * time.Second

// openSignIn opens the OpenID provider, and the way to other providers.
func (n *Node) openSignIn(ctx context.Context) error {
	records, err := n.store.Buckets.OpenRecords(ctx, "OIDC", oidc.ConsentLifetime)
	if err != nil {
		return err
	}
	c := n.config()
	known, err := oidc.ParseProviders([]byte(c.Auth.Providers.Reveal()))
	if err != nil {
		return fmt.Errorf("AUTH_PROVIDERS_CONFIG: %w", err)
	}
	if n.egress, err = egress.New(egressOptions(c.Egress)); err != nil {
		return err
	}
	n.closeWith("outgoing connections", func(context.Context) error {
		n.egress.Close()
		return nil
	})
	n.people.providers = known
	n.people.signIn, err = oidc.New(oidc.Options{
		Issuer: c.HTTP.Issuer(), Keys: n.people.keys, Store: records, Sessions: n.people.sessions, Accounts: n.people.accounts,
		User: n.person, Who: n.who, TokenLifetime: c.Auth.AccessTokenMaxAge, Consoles: c.HTTP.ConsoleURLs, External: externals(c.Auth),
		Providers: known, HTTP: n.egress.Client(providerTimeout),
		DisableSignin: c.Auth.DisableSignin, DisableSignup: c.Auth.DisableSignup, Log: n.log,
	})
	return err
}

// Apply puts live settings in force of which a part keeps a copy. Most parts ask
// for them each time.
func (n *Node) Apply() {
	if err := n.egress.SetRules(egressRules(n.config().Egress)); err != nil {
		n.log.Error("EGRESS_ALLOW_HOSTS, EGRESS_DENY_HOSTS: the old rules stay in force", "err", err)
	}
	if err := n.running.out.SetRules(n.fetchRules()); err != nil {
		n.log.Error("FETCH_ALLOWED_HOSTS, FETCH_FORBIDDEN_HOSTS, or those of EGRESS: the old rules stay in force for fetch", "err", err)
	}
}

func egressOptions(e settings.Egress) egress.Options {
	return egress.Options{
		Rules: egressRules(e), ExtraCAFile: e.ExtraCAFile,
		HTTPProxy: e.HTTPProxy.Reveal(), HTTPSProxy: e.HTTPSProxy.Reveal(), NoProxy: e.NoProxy,
	}
}

func egressRules(e settings.Egress) egress.Rules {
	return egress.Rules{AllowPrivate: e.AllowPrivate, AllowHosts: e.AllowHosts, DenyHosts: e.DenyHosts}
}

func externals(a settings.Auth) (clients []oidc.ExternalClient) {
	for _, c := range a.ExternalClients {
		clients = append(clients, oidc.ExternalClient{ID: c.ClientID, RedirectURIs: c.RedirectURIs})
	}
	return clients
}

// person returns a user as they are now, on whichever node they were changed.
func (n *Node) person(ctx context.Context, id string) (p oidc.Person, ok bool, err error) {
	if err := (reads{n.models, n.store.Log}).fresh(ctx); err != nil {
		return p, false, err
	}
	err = n.models.View(func(r projections.Reader) error {
		found, known, err := projections.Users{}.Get(r, id)
		p, ok = oidc.Person{User: found.User, EmailProven: found.EmailProven}, known
		return err
	})
	return p, ok, err
}

// who returns the session of a token that a person holds themselves, as it is
// now. A token that an application was given says nothing here: it could be
// exchanged for one with more scopes.
func (n *Node) who(ctx context.Context, token string) (userID, sessionID string, ok bool) {
	claims, err := n.people.keys.Verify(ctx, token)
	if err != nil || claims.ClientID != accounts.OwnClient && claims.ClientID != oidc.ConsoleClient {
		return "", "", false
	}
	caller, err := n.people.identity.Authenticate(ctx, gateway.Credentials{Cookie: token})
	return caller.UserID, caller.SessionID, err == nil
}

// providers are the identity providers as the API lists them.
type providers struct {
	known  []oidc.Provider
	signIn *oidc.Service
}

// List implements api.Providers.
func (p providers) List() []api.LoginProvider {
	list := []api.LoginProvider{}
	for _, one := range p.known {
		list = append(list, api.LoginProvider{Slug: one.Slug, Type: "oidc", Name: one.Name, Icon: one.Icon})
	}
	return list
}

// Exchange implements api.Providers.
func (p providers) Exchange(ctx context.Context, provider, token, kind string) (accounts.Identity, error) {
	return p.signIn.ExchangeToken(ctx, provider, token, kind)
}
