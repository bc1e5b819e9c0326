package accounts_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/commands"
	"svc/commands/accounts"
	"svc/commands/seal"
	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain"
	"svc/domain/user"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/livetest"
)

// Some caches of others clean up after themselves once they are collected.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/dgraph-io/badger/v4.(*DB).monitorCache"),
		goleak.IgnoreTopFunction("github.com/dgraph-io/ristretto/v2/z.(*AllocatorPool).freeupAllocators"))
}

// patience bounds every wait of a test.
const patience = time.Minute

var quiet = slog.New(slog.DiscardHandler)

// fixture is a log with read models, and the accounts of one node over them.
type fixture struct {
	*accounts.Accounts
	t        *testing.T
	store    *jetstream.Store
	counted  counted
	models   *projections.Models
	sessions *sessions.Sessions
	keys     *signing.Keys
	box      *seal.Box
	mails    chan sentMail
	log      *strings.Builder // what the accounts log
	dir      string           // of the log and its buckets

	ahead     atomic.Int64 // of the clock
	meanwhile func()       // happens when the clock is looked at, once
	mu        sync.Mutex
	settings  accounts.Settings
	mailer    accounts.Mailer
}

// sentMail is a mail as its reader gets it. fixture is a mailer that hands mails
// to the test.
type sentMail struct{ to, subject, text string }

func (h *fixture) Send(_ context.Context, to, subject, text string) error {
	h.mails <- sentMail{to, subject, text}
	return nil
}

func (h *fixture) now() time.Time {
	if do := h.meanwhile; do != nil {
		h.meanwhile = nil
		do()
	}
	return time.Now().Add(time.Duration(h.ahead.Load()))
}

// pass lets time pass.
func (h *fixture) pass(d time.Duration) { h.ahead.Add(int64(d)) }

// set changes the settings.
func (h *fixture) set(change func(*accounts.Settings)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.settings)
}

func (h *fixture) current() accounts.Settings {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.settings
}

func byMail(s *accounts.Settings) { s.Validation = accounts.ValidationEmail }
func atOnce(s *accounts.Settings) { s.Validation = accounts.ValidationAuto }

// newFixture opens everything. Mails are sent.
func newFixture(t *testing.T, changes ...func(*accounts.Settings)) *fixture {
	t.Helper()
	h := &fixture{t: t, mails: make(chan sentMail, 100), log: &strings.Builder{}}
	h.mailer = h
	h.settings = accounts.Settings{SuperAdmins: []string{"Root@Example.org"}, TokenMaxAge: time.Hour, ConsoleURL: "https://example.org/console/"}
	for _, change := range changes {
		change(&h.settings)
	}
	h.openStore()
	h.models = livetest.Models(t, h.store)
	var err error
	h.box, err = seal.New([]seal.MasterKey{{KID: "k1", Key: []byte("0123456789abcdef0123456789ABCDEF"), Active: true}})
	require.NoError(t, err)
	h.openKeys()
	h.Accounts = h.node()
	return h
}

func (h *fixture) openStore() {
	h.dir = h.t.TempDir()
	store := livetest.Store(h.t, jetstream.Options{Dir: h.dir})
	h.store, h.counted.Store = store, store.Log
}

// counted is a store that counts what is asked of it, and takes no events that
// refuse names.
type counted struct {
	eventstore.Store
	loads, appends atomic.Int32
	refuse         func(domain.Event) bool
}

func (c *counted) Load(ctx context.Context, id domain.StreamID, after uint64) ([]domain.Recorded, error) {
	c.loads.Add(1)
	return c.Store.Load(ctx, id, after)
}

func (c *counted) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	c.appends.Add(1)
	if c.refuse != nil && c.refuse(commits[0].Facts[0].Event) {
		return eventstore.Receipt{}, eventstore.ErrUnavailable
	}
	return c.Store.Append(ctx, commits...)
}

func (h *fixture) engine() *commands.Engine {
	e, err := commands.NewEngine(commands.EngineOptions{Store: &h.counted, Log: quiet})
	require.NoError(h.t, err)
	return e
}

func (h *fixture) openKeys() {
	private, err := h.store.Buckets.Open(h.t.Context(), jetstream.BucketConfig{Name: "KEYS"})
	require.NoError(h.t, err)
	h.keys, err = signing.New(signing.Options{
		Engine: h.engine(), Bucket: private, Box: h.box, Fresh: h.models.Fresh, Issuer: "https://example.org", Audience: "https://example.org/v2",
		Alg: "ES256", Now: h.now, Log: quiet,
		Current: h.models.SigningKeys,
	})
	require.NoError(h.t, err)
	require.NoError(h.t, h.keys.EnsureStarted(h.t.Context()))
}

// node returns the accounts as another node has them, over the same log.
func (h *fixture) node() *accounts.Accounts {
	bucket, err := h.store.Buckets.Open(h.t.Context(), jetstream.BucketConfig{Name: "SESSIONS", TTL: 30 * 24 * time.Hour})
	require.NoError(h.t, err)
	engine := h.engine()
	h.sessions, err = sessions.New(sessions.Options{
		Engine: engine, Bucket: bucket, Now: h.now, MaxAge: func() time.Duration { return 24 * time.Hour },
		Ended: func(id string) (ended bool, err error) {
			err = h.models.View(func(r projections.Reader) error {
				ended, err = projections.Sessions{}.Ended(r, id)
				return err
			})
			return ended, err
		},
	})
	require.NoError(h.t, err)
	links, err := h.store.Buckets.OpenRecords(h.t.Context(), "LINKS", time.Hour)
	require.NoError(h.t, err)
	a, err := accounts.New(accounts.Options{
		Engine: engine, Sessions: h.sessions, Signer: h.keys, Box: h.box, Links: links, Settings: h.current, Mailer: h.mailer,
		Hashing: accounts.Hashing{Memory: 64, Iterations: 1}, Now: h.now, Log: slog.New(slog.NewTextHandler(h.log, nil)),
	})
	require.NoError(h.t, err)
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(h.t, a.Close(ctx))
	})
	return a
}

func (h *fixture) ctx() context.Context {
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	h.t.Cleanup(cancel)
	return ctx
}

// password is one that everybody has who signs up.
const password = "correct horse battery"

// signUp makes a local account, which is pending unless the settings are atOnce.
func (h *fixture) signUp(email string) accounts.Account {
	h.t.Helper()
	made, _, err := h.SignUp(h.ctx(), accounts.SignUp{Email: email, Password: password, FirstName: "Ada", LastName: "Byron", IP: "203.0.113.7"})
	require.NoError(h.t, err)
	return made
}

func (h *fixture) login(email, password, code string) (accounts.LoginResult, error) {
	h.t.Helper()
	return h.Login(h.ctx(), accounts.Login{Email: email, Password: password, TOTP: code, Client: accounts.Client{IP: "203.0.113.7", UserAgent: "test"}})
}

// enter is login that must succeed.
func (h *fixture) enter(email, password, code string) sessions.Session {
	h.t.Helper()
	in, err := h.login(email, password, code)
	require.NoError(h.t, err)
	return in.Session
}

// isSuper reports whether an account is that of a super admin.
func (h *fixture) isSuper(id string) bool {
	h.t.Helper()
	s := h.state(id)
	return h.AccountOf(s.User, s.Credentials.EmailProven).Role == accounts.RoleSuperAdmin
}

// state returns an account as the log has it.
func (h *fixture) state(id string) user.State {
	h.t.Helper()
	events, err := h.store.Log.Load(h.ctx(), user.Stream(id), 0)
	require.NoError(h.t, err)
	var s user.State
	for _, ev := range events {
		s = user.Decider.Evolve(s, ev.Data)
	}
	return s
}

// isSessionValid reports whether a session lives, as every node must see it.
func (h *fixture) isSessionValid(s sessions.Session) bool {
	h.t.Helper()
	require.NoError(h.t, h.models.Fresh(h.ctx()))
	_, ok, err := h.sessions.Get(h.ctx(), s.UserID, s.ID)
	require.NoError(h.t, err)
	return ok
}

// mail returns the next mail and the token in it.
func (h *fixture) mail(to string) (m sentMail, token string) {
	h.t.Helper()
	select {
	case m = <-h.mails:
	case <-h.ctx().Done():
		h.t.Fatal("no mail came")
	}
	require.Equal(h.t, to, m.to)
	_, token, _ = strings.Cut(m.text, "#token=")
	token, _, _ = strings.Cut(token, "\n")
	require.NotEmpty(h.t, token)
	return m, token
}

// awaitBackground waits until everything in the background is done. Nothing more can be
// posted on this node.
func (h *fixture) awaitBackground() {
	h.t.Helper()
	require.NoError(h.t, h.Close(h.ctx()))
}

// secondFactor sets up TOTP for a session and returns the secret.
func (h *fixture) secondFactor(s sessions.Session) (secret string) {
	h.t.Helper()
	offer, err := h.OfferMFA(h.ctx(), s, password)
	require.NoError(h.t, err)
	require.NoError(h.t, h.ConfirmMFA(h.ctx(), s, h.code(offer.Secret), "203.0.113.7"))
	return offer.Secret
}

// code is what an authenticator app shows now.
func (h *fixture) code(secret string) string {
	h.t.Helper()
	code, err := totp.GenerateCode(secret, h.now())
	require.NoError(h.t, err)
	return code
}

// recorded returns all events of a log.
func (h *fixture) recorded(log domain.Log) (all []domain.Recorded) {
	h.t.Helper()
	ctx, done := context.WithCancel(h.ctx())
	defer done()
	err := h.store.Log.Subscribe(ctx, log, 1, func(b eventstore.Batch) error {
		all = append(all, b.Events...)
		if b.Pending == 0 {
			done()
		}
		return nil
	})
	require.NoError(h.t, err)
	return all
}

// countEvents counts the events of a type.
func (h *fixture) countEvents(log domain.Log, ev domain.Event) (n int) {
	for _, r := range h.recorded(log) {
		if r.Data.EventType() == ev.EventType() {
			n++
		}
	}
	return n
}

// requireRefusal checks that err is a refusal with this code and reason.
func requireRefusal(t *testing.T, err error, code domain.Code, reason string) {
	t.Helper()
	require.Equal(t, code, domain.CodeOf(err), "%v", err)
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	if reason == "" {
		require.NotContains(t, refusal.Details, "reason")
		return
	}
	require.Equal(t, reason, refusal.Details["reason"])
}
