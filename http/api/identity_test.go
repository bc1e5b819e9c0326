package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/accounts"
	"svc/commands/lastused"
	"svc/commands/repositories"
	"svc/commands/seal"
	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/http/api"
	accountsapi "svc/http/api/accounts"
	"svc/http/api/documents"
	"svc/http/api/system"
	"svc/http/api/workspaces"
	"svc/http/gateway"
	"svc/http/identity"
	"svc/projections"
	"svc/projections/livetest"
)

// identityService is a testService with the real identity: its callers have accounts, sessions
// and keys. Its clock stands still unless it is told to pass.
type identityService struct {
	*testService
	accounts *accounts.Accounts
	keys     *signing.Keys
	box      *seal.Box
	mails    chan sentMail
	engine   *commands.Engine
	blobs    blobs
	access   *identity.Identity

	began time.Time
	ahead atomic.Int64

	mu       sync.Mutex
	settings accounts.Settings
	limits   gateway.Settings
	secrets  []string // what nobody may see any more
}

// sentMail is a mail as its reader gets it.
type sentMail struct{ to, subject, text string }

// Send implements accounts.Mailer.
func (h *identityService) Send(_ context.Context, to, subject, text string) error {
	h.mails <- sentMail{to, subject, text}
	return nil
}

func (h *identityService) now() time.Time       { return h.began.Add(time.Duration(h.ahead.Load())) }
func (h *identityService) pass(d time.Duration) { h.ahead.Add(int64(d)) }

// set changes the settings of the accounts.
func (h *identityService) set(change func(*accounts.Settings)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.settings)
}

func (h *identityService) current() accounts.Settings {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.settings
}

// limit switches the rate limits on.
func (h *identityService) limit() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limits.DisableRateLimit = false
}

func (h *identityService) gatewaySettings() gateway.Settings {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.limits
}

// What everybody has who signs up, and what the super admin has.
const (
	password      = "correct horse battery"
	adminPassword = "tr0ub4dor and three"
	rootEmail     = "root@example.org"
)

// openIdentity builds an identityService; each change is made to its parts before they are
// wired. Accounts are valid at once, nothing is limited, and there is one super
// admin.
func openIdentity(t *testing.T, changes ...func(*api.Handlers)) *identityService {
	t.Helper()
	h := &identityService{
		testService: &testService{t: t, client: &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}},
		mails:       make(chan sentMail, 100), began: time.Now().UTC().Truncate(time.Minute), secrets: []string{password, adminPassword},
		limits: gateway.Settings{InternalKey: internalKey, DisableRateLimit: true},
		settings: accounts.Settings{
			SuperAdmins: []string{"Root@Example.org"}, AdminPassword: adminPassword, Validation: accounts.ValidationAuto,
			TokenMaxAge: time.Hour, ConsoleURL: "https://example.org/console/",
		},
	}
	h.log = livetest.Store(t, jetstream.Options{})
	for _, name := range []string{"KEYS", "SESSIONS", "LASTUSED", "LINKS"} {
		h.bucket(name) // before anything else: the store takes one that is just being made for a broken one
	}
	h.models = livetest.Models(t, h.log)
	t.Cleanup(h.searchEvents)
	var err error
	h.box, err = seal.New([]seal.MasterKey{{KID: "k1", Key: []byte("0123456789abcdef0123456789ABCDEF"), Active: true}})
	require.NoError(t, err)
	h.engine, err = commands.NewEngine(commands.EngineOptions{Store: h.log.Log, Log: quiet})
	require.NoError(t, err)
	h.openKeys()
	h.openGateway(h.openAccounts(), changes)
	_, err = h.accounts.FirstStart(t.Context())
	require.NoError(t, err)
	return h
}

// bucket opens a bucket of the log.
func (h *identityService) bucket(name string) *jetstream.Bucket {
	b, err := h.log.Buckets.Open(h.t.Context(), jetstream.BucketConfig{Name: name})
	require.NoError(h.t, err)
	return b
}

func (h *identityService) openKeys() {
	var err error
	h.keys, err = signing.New(signing.Options{
		Engine: h.engine, Bucket: h.bucket("KEYS"), Box: h.box, Fresh: h.models.Fresh, Issuer: "https://example.org", Audience: "https://example.org/v2",
		Alg: "ES256", Now: h.now, Log: quiet,
		Current: h.models.SigningKeys,
	})
	require.NoError(h.t, err)
	require.NoError(h.t, h.keys.EnsureStarted(h.t.Context()))
}

func (h *identityService) openAccounts() *sessions.Sessions {
	opened, err := sessions.New(sessions.Options{
		Engine: h.engine, Bucket: h.bucket("SESSIONS"), Now: h.now, MaxAge: func() time.Duration { return 24 * time.Hour },
		Ended: func(id string) (ended bool, err error) {
			err = h.models.View(func(r projections.Reader) error {
				ended, err = projections.Sessions{}.Ended(r, id)
				return err
			})
			return ended, err
		},
	})
	require.NoError(h.t, err)
	links, err := h.log.Buckets.OpenRecords(h.t.Context(), "LINKS", time.Hour)
	require.NoError(h.t, err)
	h.accounts, err = accounts.New(accounts.Options{
		Engine: h.engine, Sessions: opened, Signer: h.keys, Box: h.box, Links: links, Settings: h.current, Mailer: h,
		Hashing: accounts.Hashing{Memory: 64, Iterations: 1}, Now: h.now, Log: quiet,
	})
	require.NoError(h.t, err)
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(h.t, h.accounts.Close(ctx))
	})
	return opened
}

// openGateway serves the API with everything real behind it.
func (h *identityService) openGateway(opened *sessions.Sessions, changes []func(*api.Handlers)) {
	book := lastused.New(h.bucket("LASTUSED"), h.now)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = book.Run(ctx) })
	h.t.Cleanup(func() { stop(); running.Wait() })
	who, err := identity.New(identity.Options{
		Tokens: h.keys, Sessions: opened, ReadModel: h.models, Alone: true, Fresh: h.models.Fresh,
		SuperAdmins: func() []string { return h.current().SuperAdmins }, CSRFKey: h.box.Derive("csrf"), Used: book.Note, Now: h.now,
	})
	require.NoError(h.t, err)
	h.access = who
	docs := &documents.Handlers{ReadModel: h.models, Access: who, CSRFToken: who.CSRFToken, Now: h.now}
	handlers := api.Handlers{
		System: &system.Handlers{
			ReadModel: h.models, Metrics: http.NotFoundHandler(), InternalURL: "http://127.0.0.1:1/v2", InternalKey: func() string { return internalKey },
			ReadModels: h.models, SigningKeys: h.keys, Now: h.now, Log: quiet,
		},
		Accounts: &accountsapi.Handlers{
			ReadModel: h.models, Accounts: h.accounts, Sessions: opened, Blobs: &h.blobs, CSRFToken: who.CSRFToken, LastUsed: book.At, Now: h.now,
			Local: func() (signin, signup bool) { s := h.current(); return !s.DisableSignin, !s.DisableSignup },
		},
		Documents: docs,
		Workspaces: &workspaces.Handlers{
			ReadModel: h.models, Access: who, Documents: docs, Workspaces: commands.Workspaces{Engine: h.engine},
			APIKeys: commands.APIKeys{Engine: h.engine, Now: h.now}, Repositories: &repositories.Repositories{}, LastUsed: book.At, Now: h.now,
		},
		Pages: noPages(),
	}
	for _, change := range changes {
		change(&handlers)
	}
	g, err := gateway.New(gateway.Options{
		Routes: api.Routes(handlers), Authenticator: who, Authorizer: who, CheckCSRF: who.CheckCSRF, ReadModel: h.models, Known: h.log.Log.Known,
		Idempotency: &answers{records: map[string][]byte{}}, Settings: h.gatewaySettings, Now: h.now, Devices: &ips{records: map[string][]byte{}}, DeviceKey: []byte("device key"), Host: domain.Host{Service: "api-gateway"},
	})
	require.NoError(h.t, err)
	server := httptest.NewServer(g)
	h.url = server.URL
	h.t.Cleanup(func() {
		h.client.CloseIdleConnections()
		server.Close()
		require.NoError(h.t, g.Close(context.Background()))
	})
}

// hide adds to what nobody may see from now on.
func (h *identityService) hide(secret string) string {
	h.t.Helper()
	require.NotEmpty(h.t, secret)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.secrets = append(h.secrets, secret)
	return secret
}

// check fails the test when text holds a secret.
func (h *identityService) check(text, where string) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, secret := range h.secrets {
		require.NotContains(h.t, text, secret, where)
	}
}

// do sends a request. Its answer must not show what was shown once.
func (h *identityService) do(method, path string, options ...option) answer {
	h.t.Helper()
	got := h.testService.do(method, path, options...)
	head, err := json.Marshal(got.header)
	require.NoError(h.t, err)
	h.check(got.body+string(head), method+" "+path)
	return got
}

// recorded returns all events of a log.
func (h *identityService) recorded(log domain.Log) (all []domain.Recorded) {
	h.t.Helper()
	ctx, done := context.WithTimeout(context.Background(), patience)
	defer done()
	info, err := h.log.Log.Info(ctx, log)
	require.NoError(h.t, err)
	if info.Last == 0 {
		return nil
	}
	whole := false
	_ = h.log.Log.Subscribe(ctx, log, 1, func(b eventstore.Batch) error {
		all = append(all, b.Events...)
		if whole = len(all) > 0 && all[len(all)-1].Seq >= info.Last; whole {
			done()
		}
		return nil
	})
	require.True(h.t, whole, "the log was not read to its end")
	return all
}

// eventsOf returns the events of a kind, in order.
func eventsOf[E domain.Event](h *identityService, log domain.Log) (found []E) {
	h.t.Helper()
	for _, r := range h.recorded(log) {
		if e, ok := r.Data.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// searchEvents looks for secrets in everything that was recorded.
func (h *identityService) searchEvents() {
	for _, log := range []domain.Log{domain.State, domain.Activity} {
		for _, r := range h.recorded(log) {
			data, err := json.Marshal(r)
			require.NoError(h.t, err)
			h.check(string(data), r.Data.EventType())
			if shown, ok := r.Data.(domain.PayloadEvent); ok {
				payload, err := json.Marshal(shown.Payload())
				require.NoError(h.t, err)
				require.NotRegexp(h.t, `(?i)hash[a-z]*":`, string(payload), r.Data.EventType()) // a field, not a random id
			}
		}
	}
}
