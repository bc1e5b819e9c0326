package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/cmd/settings"
	"svc/commands"
	"svc/commands/accounts"
	"svc/commands/egress"
	"svc/commands/lastused"
	"svc/commands/mail"
	"svc/commands/seal"
	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/http/identity"
	"svc/http/oidc"
	"svc/projections"
	"svc/streams"
)

// identityServices know users, their credentials and their rights.
type identityServices struct {
	box      *seal.Box
	checks   *jetstream.Bucket // check values of the master keys
	keys     *signing.Keys
	sessions *sessions.Sessions
	accounts *accounts.Accounts
	lastUsed *lastused.Book
	identity *identity.Identity
	leases   *jetstream.Bucket

	providers []oidc.Provider
	signIn    *oidc.Service
}

// startIdentityWork starts the background work of identity.
func (n *Node) startIdentityWork() {
	s := &n.identity
	n.workUnderLeases("signing keys", streams.Rotation{
		Keys: s.keys, Log: n.log,
		Lease: streams.Lease{Bucket: s.leases, Name: "rotation", Log: n.log},
	}.Run)
	n.work("sessions", s.sessions.Run)
	n.work("last uses", s.lastUsed.Run)
	n.work("master keys", seal.Resealing{
		Box: s.box, Checks: s.checks, Log: n.log,
		Steps: []func(context.Context) error{
			n.models.CaughtUp,
			func(ctx context.Context) error { _, err := s.keys.Maintain(ctx); return err },
			n.workspaces.vault.Reseal,
			func(ctx context.Context) error { return s.accounts.ResealAll(ctx, n.models.UserIDs) },
		},
	}.Run)
}

func (n *Node) openBox(ctx context.Context) (err error) {
	var keys []seal.MasterKey
	for _, k := range n.config().Core.MasterKeys {
		keys = append(keys, seal.MasterKey{KID: k.KID, Key: k.Bytes(), Active: k.Active})
	}
	if n.identity.box, err = seal.New(keys); err != nil {
		return err
	}
	n.identity.checks, err = n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "SEALS"})
	return err
}

func (n *Node) openSessions(ctx context.Context) error {
	bucket, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "SESSIONS", TTL: n.config().Auth.SessionCookieMaxAge})
	if err != nil {
		return err
	}
	moments := n.models.MomentsOf(projections.Sessions{})
	n.identity.sessions, err = sessions.New(sessions.Options{
		Engine: n.engine, Bucket: bucket, MaxAge: func() time.Duration { return n.config().Auth.SessionCookieMaxAge }, Ended: n.models.IsSessionEnded,
		Moment: func() uint64 { return uint64(moments.Now()) },
	})
	return err
}

func (n *Node) openSigning(ctx context.Context) error {
	bucket, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "KEYS"})
	if err != nil {
		return err
	}
	if n.identity.leases, err = n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "LEASES"}); err != nil {
		return err
	}
	a, h := n.config().Auth, n.config().HTTP
	n.identity.keys, err = signing.New(signing.Options{
		Engine: n.engine, Bucket: bucket, Box: n.identity.box, Fresh: n.models.Current, Current: n.models.SigningKeys, Log: n.log,
		Issuer: h.Issuer(), Audience: h.APIURL, Alg: a.JWKSAlg, Kty: a.JWKSKty, Size: a.JWKSSize,
		Rotation: a.JWKSRotation, MaxAge: a.AccessTokenMaxAge,
	})
	return err
}

func (n *Node) openAccounts(ctx context.Context) error {
	links, err := n.store.Buckets.OpenRecords(ctx, "LINKS", 24*time.Hour)
	if err != nil {
		return err
	}
	o := accounts.Options{
		Engine: n.engine, Sessions: n.identity.sessions, Signer: n.identity.keys, Box: n.identity.box, Links: links, Log: n.log, Hashing: n.opts.Hashing,
		Settings: func() accounts.Settings { return accountSettings(*n.config()) },
	}
	if m := n.config().Mail; m.Host != "" {
		o.Mailer, err = mail.New(mail.Options{Host: m.Host, Port: m.Port, Secure: m.Secure, User: m.User, Pass: m.Pass.Reveal(), From: m.From})
		if err != nil {
			return err
		}
	}
	if n.identity.accounts, err = accounts.New(o); err != nil {
		return err
	}
	n.closeWith("accounts", n.identity.accounts.Close)
	return nil
}

func accountSettings(c settings.Config) accounts.Settings {
	a := c.Auth
	return accounts.Settings{
		SuperAdmins: a.SuperAdminEmails, AdminPassword: a.AdminPassword.Reveal(), PasswordPattern: a.PasswordPattern,
		Validation: a.AccountValidation, DisableSignin: a.DisableSignin, DisableSignup: a.DisableSignup, ForceMFA: a.ForceMFA,
		TokenMaxAge: a.AccessTokenMaxAge, ConsoleURL: c.HTTP.ConsoleURLs[0],
	}
}

func (n *Node) openAccess(ctx context.Context) error {
	bucket, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "LASTUSED"})
	if err != nil {
		return err
	}
	n.identity.lastUsed = lastused.New(bucket, time.Now)
	n.identity.identity, err = identity.New(identity.Options{
		Tokens: n.identity.keys, Sessions: n.identity.sessions, ReadModel: n.models,
		Alone: n.store.Alone(), Fresh: n.models.Current,
		SuperAdmins: func() []string { return n.config().Auth.SuperAdminEmails },
		CSRFKey:     n.identity.box.Derive("csrf"), Used: n.identity.lastUsed.Note,
	})
	return err
}

// providerTimeout limits one request to an identity provider.
const providerTimeout = 10 * time.Second

// openSignIn opens the OpenID provider, and the client of other providers.
func (n *Node) openSignIn(ctx context.Context) error {
	records, err := n.store.Buckets.OpenRecords(ctx, "OIDC", oidc.ConsentLifetime)
	if err != nil {
		return err
	}
	c, s := n.config(), &n.identity
	if s.providers, err = oidc.ParseProviders([]byte(c.Auth.Providers.Reveal())); err != nil {
		return fmt.Errorf("AUTH_PROVIDERS_CONFIG: %w", err)
	}
	if n.egress, err = egress.New(egressOptions(c.Egress)); err != nil {
		return err
	}
	n.stopWith("outgoing connections", n.egress.Close)
	var clients []oidc.ExternalClient
	for _, c := range c.Auth.ExternalClients {
		clients = append(clients, oidc.ExternalClient{ID: c.ClientID, RedirectURIs: c.RedirectURIs})
	}
	s.signIn, err = oidc.New(oidc.Options{
		Issuer: c.HTTP.Issuer(), Keys: s.keys, Store: records, Sessions: s.sessions, Accounts: s.accounts,
		User: func(ctx context.Context, id string) (oidc.Person, bool, error) {
			if err := n.models.Current(ctx); err != nil {
				return oidc.Person{}, false, err
			}
			u, found, err := n.models.User(id)
			return oidc.Person{User: u.User, EmailProven: u.EmailProven}, found, err
		},
		Who: func(ctx context.Context, token string) (userID, sessionID string, ok bool) {
			return s.identity.OwnSession(ctx, token, accounts.OwnClient, oidc.ConsoleClient)
		},
		TokenLifetime: c.Auth.AccessTokenMaxAge, Consoles: c.HTTP.ConsoleURLs, External: clients,
		Providers: s.providers, HTTP: n.egress.Client(providerTimeout),
		Workspace: n.workspaceClient, DisableSignin: c.Auth.DisableSignin, DisableSignup: c.Auth.DisableSignup, Log: n.log,
	})
	return err
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

// initialize creates what the platform needs: now, or as soon as writes are possible. A disk
// that is almost full does not keep a node from starting.
func (n *Node) initialize(ctx context.Context) error {
	err := n.createFirst(ctx)
	if !isTemporary(err) {
		return err
	}
	n.log.Warn("the first keys and accounts are made when writes are possible", "err", err)
	n.work("first keys and accounts", func(ctx context.Context) error {
		for isTemporary(err) {
			if commands.Sleep(ctx, time.Second) != nil {
				return nil
			}
			err = n.createFirst(ctx)
		}
		return err
	})
	return nil
}

// isTemporary reports whether the log accepts no writes at the moment.
func isTemporary(err error) bool {
	_, refused := errors.AsType[*commands.Unavailable](err)
	return refused || errors.Is(err, eventstore.ErrUnavailable)
}

// createFirst creates the platform workspace, the signing keys and the accounts of the super
// admins, unless they exist. Each node tries it at each start; the log lets one succeed.
func (n *Node) createFirst(ctx context.Context) error {
	if err := n.identity.box.Ensure(ctx, n.identity.checks); err != nil {
		return err
	}
	if err := n.workspaces.workspaces.EnsurePlatform(ctx); err != nil {
		return err
	}
	if err := n.identity.keys.EnsureStarted(ctx); err != nil {
		return fmt.Errorf("the signing keys: %w", err)
	}
	made, err := n.identity.accounts.FirstStart(ctx)
	if len(made) > 0 && n.opts.Announce != nil {
		n.opts.Announce(made, n.config().HTTP.ConsoleURLs[0])
	}
	n.initialised.Store(err == nil)
	return err
}
