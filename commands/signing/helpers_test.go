package signing_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/seal"
	"svc/commands/signing"
	"svc/domain"
	"svc/domain/keyring"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/livetest"
)

const (
	issuer   = "https://svc.example"
	audience = issuer + "/v2"
	day      = 24 * time.Hour
	patience = time.Minute
)

var (
	quiet = slog.New(slog.DiscardHandler)
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// clock is a time that a test moves.
type clock struct{ atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.Store(noon.UnixNano())
	return c
}

func (c *clock) now() time.Time              { return time.Unix(0, c.Load()).UTC() }
func (c *clock) pass(d time.Duration) *clock { c.Add(int64(d)); return c }

// fixture is a log and a bucket that nodes share.
type fixture struct {
	store  *jetstream.Store
	bucket *jetstream.Bucket
	dir    string
	*clock
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	h := &fixture{dir: t.TempDir(), clock: newClock()}
	h.store = livetest.Store(t, jetstream.Options{Dir: h.dir})
	var err error
	h.bucket, err = h.store.Buckets.Open(context.Background(), jetstream.BucketConfig{Name: "KEYS"})
	require.NoError(t, err)
	return h
}

func masterKey(kid string, number byte, active bool) seal.MasterKey {
	return seal.MasterKey{KID: kid, Key: bytes.Repeat([]byte{number, 0x5a}, 16), Active: active}
}

func box(t testing.TB, keys ...seal.MasterKey) *seal.Box {
	t.Helper()
	b, err := seal.New(keys)
	require.NoError(t, err)
	return b
}

// node returns the keys as one more node of the fixture has them, with read models
// of its own. Edits change its options.
func (h *fixture) node(t testing.TB, edits ...func(*signing.Options)) *signing.Keys {
	t.Helper()
	engine, err := commands.NewEngine(commands.EngineOptions{Store: h.store.Log, Log: quiet})
	require.NoError(t, err)
	models := h.models(t)
	o := signing.Options{
		Engine: engine, Bucket: h.bucket, Box: box(t, masterKey("k1", 1, true)),
		Current: models.SigningKeys, Fresh: models.Fresh,
		Issuer: issuer, Audience: audience, Alg: "ES256", Now: h.now, Log: quiet,
	}
	for _, edit := range edits {
		edit(&o)
	}
	keys, err := signing.New(o)
	require.NoError(t, err)
	return keys
}

func (h *fixture) models(t testing.TB) *projections.Models {
	t.Helper()
	db, err := projections.OpenDB(projections.DBOptions{Dir: t.TempDir(), Log: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	m, err := projections.New(projections.Options{
		DB: db, Store: h.store.Log, Projections: []projections.Projection{projections.Keyring{}}, Known: h.store.Log.Known, Log: quiet,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return m
}

// started is a node whose fixture has keys.
func (h *fixture) started(t testing.TB, edits ...func(*signing.Options)) *signing.Keys {
	t.Helper()
	k := h.node(t, edits...)
	require.NoError(t, k.EnsureStarted(context.Background()))
	return k
}

// ring is the key ring as the log has it.
func (h *fixture) ring(t testing.TB) (s keyring.State) {
	t.Helper()
	events, err := h.store.Log.Load(t.Context(), keyring.Stream(), 0)
	require.NoError(t, err)
	for _, ev := range events {
		s = keyring.Decider.Evolve(s, ev.Data)
	}
	return s
}

func kidsOf(s keyring.State) (kids []string) {
	for _, k := range s.Keys {
		kids = append(kids, k.JWK.KID)
	}
	return kids
}

// parts are the kids of the private parts that are kept.
func (h *fixture) parts(t testing.TB) (kids []string) {
	t.Helper()
	bodies, err := h.bucket.List(t.Context(), "jwk")
	require.NoError(t, err)
	for _, body := range bodies {
		var p struct{ KID string }
		require.NoError(t, json.Unmarshal(body, &p))
		kids = append(kids, p.KID)
	}
	return kids
}

func sign(t testing.TB, k *signing.Keys, c signing.Claims) string {
	t.Helper()
	token, err := k.Sign(context.Background(), c)
	require.NoError(t, err)
	return token
}

// verdict is the code that a token is refused with.
func verdict(t testing.TB, k *signing.Keys, token string) domain.Code {
	t.Helper()
	_, err := k.Verify(t.Context(), token)
	return domain.CodeOf(err)
}
