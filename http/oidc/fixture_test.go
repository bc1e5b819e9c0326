package oidc_test

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/accounts"
	"svc/commands/seal"
	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain"
	"svc/domain/keyring"
	"svc/domain/user"
	"svc/eventstore/jetstream"
	"svc/http/gateway"
	"svc/http/oidc"
	"svc/projections"
	"svc/projections/livetest"
)

const (
	patience = time.Minute
	console  = "https://console.example/console/"
	spa      = "shop" // an external client
	spaHome  = "https://shop.example/cb"
	adaMail  = "ada@example.org"
	adaPass  = "correct horse battery"
)

var quiet = slog.New(slog.DiscardHandler)

// fixture is a platform with everything that signs people in, over real HTTP.
type fixture struct {
	t        *testing.T
	url      string // also the issuer
	dir      string // of the log
	store    *jetstream.Store
	models   *projections.Models
	records  *jetstream.Records
	keys     *signing.Keys
	sessions *sessions.Sessions
	accounts *accounts.Accounts
	service  *oidc.Service
	options  oidc.Options
	settings accounts.Settings
	ahead    atomic.Int64
	ada      string // id of the user with adaMail
}

func (h *fixture) now() time.Time       { return time.Now().Add(time.Duration(h.ahead.Load())) }
func (h *fixture) pass(d time.Duration) { h.ahead.Add(int64(d)) }

// nextMinute passes the time until limits count from the beginning.
func (h *fixture) nextMinute() {
	h.pass(time.Minute - time.Duration(h.now().UnixNano()%int64(time.Minute)))
}

func newFixture(t *testing.T, edits ...func(*oidc.Options, *accounts.Settings)) *fixture {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h := &fixture{t: t, url: "http://" + listener.Addr().String()}
	h.openLog()
	o := oidc.Options{
		Issuer: h.url, TokenLifetime: time.Hour, Consoles: []string{console}, Now: h.now, Log: quiet, Who: h.who, User: h.user,
		External: []oidc.ExternalClient{{ID: spa, RedirectURIs: []string{spaHome, "http://127.0.0.1/native", "com.shop:/cb"}}},
	}
	h.settings = accounts.Settings{Validation: accounts.ValidationAuto, TokenMaxAge: time.Hour, ConsoleURL: console}
	for _, edit := range edits {
		edit(&o, &h.settings)
	}
	h.openCommands()
	h.records = h.openRecords("OIDC", oidc.ConsentLifetime)
	// A look at the files while a bucket is made may find it half there, and have
	// the log opened anew.
	require.Eventually(t, func() bool { return h.store.Writable() == nil }, patience, time.Millisecond)
	o.Keys, o.Store, o.Sessions, o.Accounts = h.keys, h.records, h.sessions, h.accounts
	h.options = o
	h.service, err = oidc.New(o)
	require.NoError(t, err)
	h.serve(listener, h.service)
	h.ada = h.signUp(adaMail, adaPass)
	return h
}

func (h *fixture) openLog() {
	h.dir = h.t.TempDir()
	h.store = livetest.Store(h.t, jetstream.Options{Dir: h.dir, Now: h.now})
	h.models = livetest.Models(h.t, h.store)
}

// requireAbsent looks for secrets in everything that is on disk.
func (h *fixture) requireAbsent(secrets ...string) {
	h.t.Helper()
	control := false // that what is looked for would be found
	require.NoError(h.t, filepath.WalkDir(h.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(name)
		for _, secret := range secrets {
			require.False(h.t, bytes.Contains(content, []byte(secret)), "%s holds a secret", name)
		}
		control = control || bytes.Contains(content, []byte(adaMail))
		return err
	}))
	require.True(h.t, control)
}

func (h *fixture) openRecords(name string, keep time.Duration) *jetstream.Records {
	records, err := h.store.Buckets.OpenRecords(h.t.Context(), name, keep)
	require.NoError(h.t, err)
	return records
}

func (h *fixture) openBucket(name string) *jetstream.Bucket {
	b, err := h.store.Buckets.Open(h.t.Context(), jetstream.BucketConfig{Name: name})
	require.NoError(h.t, err)
	return b
}

func (h *fixture) openCommands() {
	engine, err := commands.NewEngine(commands.EngineOptions{Store: h.store.Log, Log: quiet})
	require.NoError(h.t, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: []byte("0123456789abcdef0123456789ABCDEF"), Active: true}})
	require.NoError(h.t, err)
	h.keys, err = signing.New(signing.Options{
		Engine: engine, Bucket: h.openBucket("KEYS"), Box: box, Fresh: h.models.Fresh, Log: quiet, Now: h.now,
		Issuer: h.url, Audience: h.url + "/v2", MaxAge: 24 * time.Hour,
		Current: func(known uint64) (ring keyring.State, seq uint64, err error) {
			err = h.models.View(func(r projections.Reader) (err error) {
				ring, seq, err = projections.Keyring{}.Keys(r, known)
				return err
			})
			return ring, seq, err
		},
	})
	require.NoError(h.t, err)
	require.NoError(h.t, h.keys.EnsureStarted(h.t.Context()))
	h.sessions, err = sessions.New(sessions.Options{
		Engine: engine, Bucket: h.openBucket("SESSIONS"), MaxAge: func() time.Duration { return 24 * time.Hour }, Now: h.now,
		Ended: func(id string) (ended bool, err error) {
			if err = h.models.Fresh(h.t.Context()); err != nil {
				return false, err
			}
			err = h.models.View(func(r projections.Reader) (err error) {
				ended, err = projections.Sessions{}.Ended(r, id)
				return err
			})
			return ended, err
		},
	})
	require.NoError(h.t, err)
	h.accounts, err = accounts.New(accounts.Options{
		Engine: engine, Sessions: h.sessions, Signer: h.keys, Box: box, Links: h.openRecords("LINKS", time.Hour), Log: quiet, Now: h.now,
		Settings: func() accounts.Settings { return h.settings },
		Hashing:  accounts.Hashing{Memory: 64, Iterations: 1, Parallelism: 1},
	})
	require.NoError(h.t, err)
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(h.t, h.accounts.Close(ctx))
	})
}

// another opens one more node of the fixture and returns its address.
func (h *fixture) another() string {
	service, err := oidc.New(h.options)
	require.NoError(h.t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(h.t, err)
	h.serve(listener, service)
	return "http://" + listener.Addr().String()
}

func (h *fixture) serve(listener net.Listener, service *oidc.Service) {
	g, err := gateway.New(gateway.Options{Routes: service.Routes(), Authenticator: h, Log: quiet, Now: h.now})
	require.NoError(h.t, err)
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: g, ReadHeaderTimeout: patience}}
	server.Start()
	h.t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(h.t, g.Close(ctx))
	})
}

// Authenticate implements gateway.Authenticator for the tokens of sessions.
func (h *fixture) Authenticate(ctx context.Context, c gateway.Credentials) (gateway.Caller, error) {
	claims, err := h.keys.Verify(ctx, c.Bearer+c.Cookie)
	if err != nil {
		return gateway.Caller{}, err
	}
	if _, ok, err := h.sessions.Get(ctx, claims.Subject, claims.SessionID); err != nil || !ok {
		return gateway.Caller{}, domain.Refuse(domain.CodeInvalidToken, "the session is over")
	}
	return gateway.Caller{Kind: gateway.KindUser, UserID: claims.Subject, SessionID: claims.SessionID, Scopes: strings.Fields(claims.Scope)}, nil
}

func (h *fixture) who(ctx context.Context, token string) (userID, sessionID string, ok bool) {
	claims, err := h.keys.Verify(ctx, token)
	return claims.Subject, claims.SessionID, err == nil
}

func (h *fixture) user(ctx context.Context, id string) (p oidc.Person, ok bool, err error) {
	if err := h.models.Fresh(ctx); err != nil {
		return p, false, err
	}
	err = h.models.View(func(r projections.Reader) error {
		var u projections.User
		u, ok, err = projections.Users{}.Get(r, id)
		p = oidc.Person{User: u.User, EmailProven: u.EmailProven}
		return err
	})
	return p, ok, err
}

func (h *fixture) signUp(email, password string) (id string) {
	made, _, err := h.accounts.SignUp(h.t.Context(), accounts.SignUp{Email: email, Password: password, FirstName: "Ada", LastName: "Lovelace", Language: "en"})
	require.NoError(h.t, err)
	return made.ID
}

// live reports whether a session is.
func (h *fixture) live(userID, id string) bool {
	_, ok, err := h.sessions.Get(h.t.Context(), userID, id)
	require.NoError(h.t, err)
	return ok
}

func (h *fixture) person(id string) user.User {
	p, ok, err := h.user(h.t.Context(), id)
	require.NoError(h.t, err)
	require.True(h.t, ok)
	return p.User
}
