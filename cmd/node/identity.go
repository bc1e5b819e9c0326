package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc/cmd/settings"
	"svc/commands"
	"svc/commands/accounts"
	"svc/commands/lastused"
	"svc/commands/mail"
	"svc/commands/seal"
	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain/keyring"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/http/identity"
	"svc/http/oidc"
	"svc/projections"
	"svc/streams"
)

// people are the parts that know who is who.
type people struct {
	box      *seal.Box
	checks   *jetstream.Bucket // check values of the master keys
	keys     *signing.Keys
	sessions *sessions.Sessions
	accounts *accounts.Accounts
	used     *lastused.Book
	identity *identity.Identity
	leases   *jetstream.Bucket

	providers []oidc.Provider
	signIn    *oidc.Service
}

// openIdentity opens the parts that know who is who, and starts what they do in
// the background.
func (n *Node) openIdentity(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		n.openBox, n.openSessions, n.openSigning, n.openPlaces, n.openOperations, n.openVersioning, n.openBulk, n.openFiles, n.openAccounts, n.openAccess, n.openSignIn, n.openWebhooks, n.ensureFirst,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	n.workUnderLeases("signing keys", streams.Rotation{
		Keys: n.people.keys, Log: n.log,
		Lease: streams.Lease{Bucket: n.people.leases, Name: "rotation", Log: n.log},
	}.Run)
	n.work("sessions", n.people.sessions.Run)
	n.work("last uses", n.people.used.Run)
	n.work("master keys", n.reseal)
	n.repeat("write locks", time.Second, "a lock that has run out could not be released yet", n.expireLocks)
	n.repeat("operations", time.Second, "operations that were left behind could not be looked for", n.adoptOperations)
	n.repeat("files", time.Minute, "files whose time is over are not all deleted yet", n.sweepFiles)
	return nil
}

// work runs do until the node closes.
func (n *Node) work(name string, do func(context.Context) error) {
	stop, wait := n.begin(name, do)
	n.closeWith(name, func(context.Context) error {
		stop()
		wait()
		return nil
	})
}

// workUnderLeases is work that holds leases. To give them back takes a while when the
// other nodes are gone, so that all such work stops at once.
func (n *Node) workUnderLeases(name string, do func(context.Context) error) {
	stop, wait := n.begin(name, do)
	n.shared = append(n.shared, stop)
	n.closeWith(name, func(context.Context) error {
		for _, stop := range n.shared {
			stop()
		}
		wait()
		return nil
	})
}

// begin runs do until stop is called; wait waits for its end.
func (n *Node) begin(name string, do func(context.Context) error) (stop, wait func()) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			n.log.Error("stopped: "+name, "err", err)
		}
	})
	return stop, running.Wait
}

// repeat runs do once in every period until the node closes. What fails is told in
// the words of failed, and done again the next time.
func (n *Node) repeat(name string, period time.Duration, failed string, do func(context.Context) error) {
	n.work(name, func(ctx context.Context) error {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			if err := do(ctx); err != nil && ctx.Err() == nil {
				n.log.Warn(failed, "err", err)
			}
		}
	})
}

func (n *Node) openBox(ctx context.Context) (err error) {
	var keys []seal.MasterKey
	for _, k := range n.config().Core.MasterKeys {
		keys = append(keys, seal.MasterKey{KID: k.KID, Key: k.Bytes(), Active: k.Active})
	}
	if n.people.box, err = seal.New(keys); err != nil {
		return err
	}
	n.people.checks, err = n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "SEALS"})
	return err
}

func (n *Node) openSessions(ctx context.Context) error {
	bucket, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "SESSIONS", TTL: n.config().Auth.SessionCookieMaxAge})
	if err != nil {
		return err
	}
	n.people.sessions, err = sessions.New(sessions.Options{
		Engine: n.engine, Bucket: bucket, MaxAge: func() time.Duration { return n.config().Auth.SessionCookieMaxAge },
		Ended: func(id string) (ended bool, err error) {
			err = n.models.View(func(r projections.Reader) error {
				ended, err = projections.Sessions{}.Ended(r, id)
				return err
			})
			return ended, err
		},
	})
	return err
}

func (n *Node) openSigning(ctx context.Context) error {
	bucket, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "KEYS"})
	if err != nil {
		return err
	}
	if n.people.leases, err = n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "LEASES"}); err != nil {
		return err
	}
	a, h := n.config().Auth, n.config().HTTP
	n.people.keys, err = signing.New(signing.Options{
		Engine: n.engine, Bucket: bucket, Box: n.people.box, Fresh: reads{n.models, n.store.Log}.fresh, Log: n.log,
		Current: func(known uint64) (ring keyring.State, seq uint64, err error) {
			err = n.models.View(func(r projections.Reader) error {
				ring, seq, err = projections.Keyring{}.Keys(r, known)
				return err
			})
			return ring, seq, err
		},
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
		Engine: n.engine, Sessions: n.people.sessions, Signer: n.people.keys, Box: n.people.box, Links: links, Log: n.log, Hashing: n.opts.Hashing,
		Settings: func() accounts.Settings { return accountSettings(*n.config()) },
	}
	if m := n.config().Mail; m.Host != "" {
		o.Mailer, err = mail.New(mail.Options{Host: m.Host, Port: m.Port, Secure: m.Secure, User: m.User, Pass: m.Pass.Reveal(), From: m.From})
		if err != nil {
			return err
		}
	}
	if n.people.accounts, err = accounts.New(o); err != nil {
		return err
	}
	n.closeWith("accounts", n.people.accounts.Close)
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
	n.people.used = lastused.New(bucket, time.Now)
	n.people.identity, err = identity.New(identity.Options{
		Tokens: n.people.keys, Sessions: n.people.sessions, ReadModel: n.models,
		Current: n.current, Fresh: reads{n.models, n.store.Log}.fresh,
		SuperAdmins: func() []string { return n.config().Auth.SuperAdminEmails },
		CSRFKey:     n.people.box.Derive("csrf"), Used: n.people.used.Note,
	})
	return err
}

// currentWait bounds how long a request waits to learn what other nodes wrote.
const currentWait = time.Second

// current brings this node up to date with the others, so that what was revoked
// there is refused here. When that cannot be learned the node goes on with what
// it knows, as its reads do.
func (n *Node) current(ctx context.Context) error {
	if n.store.Alone() {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, currentWait)
	defer cancel()
	_ = (reads{n.models, n.store.Log}).fresh(waiting)
	return ctx.Err()
}

// ensureFirst makes what the platform cannot be without: now, or as soon as
// writes are possible. A low disk does not keep a service from starting.
func (n *Node) ensureFirst(ctx context.Context) error {
	err := n.first(ctx)
	if !later(err) {
		return err
	}
	n.log.Warn("the first keys and accounts are made when writes are possible", "err", err)
	n.work("first keys and accounts", func(ctx context.Context) error {
		for later(err) {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Second):
				err = n.first(ctx)
			}
		}
		return err
	})
	return nil
}

func later(err error) bool {
	_, refused := errors.AsType[*commands.Unavailable](err)
	return refused || errors.Is(err, eventstore.ErrUnavailable)
}

// first makes the platform workspace, the signing keys and the accounts of the
// super admins. Every node asks at every start; the log lets one make them.
func (n *Node) first(ctx context.Context) error {
	if err := n.people.box.Ensure(ctx, n.people.checks); err != nil {
		return err
	}
	if err := n.places.workspaces.EnsurePlatform(ctx); err != nil {
		return err
	}
	if err := n.people.keys.EnsureStarted(ctx); err != nil {
		return fmt.Errorf("the signing keys: %w", err)
	}
	made, err := n.people.accounts.FirstStart(ctx)
	if len(made) > 0 && n.opts.Announce != nil {
		n.opts.Announce(made, n.config().HTTP.ConsoleURLs[0])
	}
	n.begun.Store(err == nil)
	return err
}
