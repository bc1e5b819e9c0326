package signing_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
)

func TestBadSettingsAreRefused(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	engine, err := commands.NewEngine(commands.EngineOptions{Store: h.store.Log})
	require.NoError(t, err)
	good := signing.Options{
		Engine: engine, Bucket: h.bucket, Box: box(t, masterKey("k1", 1, true)), Issuer: issuer, Audience: audience,
		Current: func(uint64) (keyring.State, uint64, error) { return keyring.State{}, 0, nil },
		Fresh:   func(context.Context) error { return nil },
	}
	_, err = signing.New(good)
	require.NoError(t, err)
	for name, edit := range map[string]func(*signing.Options){
		"JWKS_ALG":  func(o *signing.Options) { o.Alg = "HS256" },
		"JWKS_KTY":  func(o *signing.Options) { o.Kty = "EC" },
		"needs EC":  func(o *signing.Options) { o.Alg, o.Kty = "ES384", "RSA" },
		"JWKS_SIZE": func(o *signing.Options) { o.Size = 1024 },
		"8192":      func(o *signing.Options) { o.Size = 8192 },
		"required":  func(o *signing.Options) { o.Audience = "" },
	} {
		o := good
		edit(&o)
		_, err := signing.New(o)
		require.ErrorContains(t, err, name)
	}
}

func TestNodesThatStartTogetherMakeOneRing(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var nodes []*signing.Keys
	for range 4 {
		nodes = append(nodes, h.node(t))
	}
	var wg sync.WaitGroup
	for _, k := range nodes {
		wg.Go(func() {
			if err := k.EnsureStarted(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ring := h.ring(t)
	require.Len(t, ring.Keys, 2)
	require.ElementsMatch(t, kidsOf(ring), h.parts(t), "what the others made is gone")
	token := sign(t, nodes[0], signing.Claims{Subject: "u1"})
	for _, k := range nodes {
		require.Equal(t, domain.CodeNone, verdict(t, k, token))
	}
}

func TestNothingSignsBeforeTheStart(t *testing.T) {
	t.Parallel()
	k := newFixture(t).node(t)
	_, err := k.Sign(t.Context(), signing.Claims{Subject: "u1"})
	var refused *commands.Unavailable
	require.ErrorAs(t, err, &refused)
	_, _, err = k.Rotate(t.Context())
	require.Equal(t, domain.CodeConflict, domain.CodeOf(err))
}

func TestRotation(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k, there := h.started(t), h.node(t)
	before := h.ring(t)
	old := sign(t, k, signing.Claims{Subject: "u1"})

	created, deleted, err := k.Rotate(t.Context())
	require.NoError(t, err)
	after := h.ring(t)
	require.Equal(t, []string{after.Next().JWK.KID}, created)
	require.Empty(t, deleted)
	require.Equal(t, before.Next().JWK, after.Signing().JWK, "the key that waited signs")

	key, err := k.SigningKey(t.Context())
	require.NoError(t, err)
	require.Equal(t, after.Signing().JWK.KID, key.KID, "the node that rotated signs with the new key at once")
	require.Eventually(t, func() bool { // another one as soon as it hears of it
		key, err := there.SigningKey(t.Context())
		return err == nil && key.KID == after.Signing().JWK.KID
	}, patience, time.Millisecond)
	for _, node := range []*signing.Keys{k, there} {
		key, err := node.SigningKey(t.Context())
		require.NoError(t, err)
		require.Equal(t, "ES256", key.Alg)
		require.Equal(t, domain.CodeNone, verdict(t, node, old), "what the rotated key signed counts")
		require.Equal(t, domain.CodeNone, verdict(t, node, sign(t, k, signing.Claims{Subject: "u1"})))
		public, err := node.PublicKeys(t.Context())
		require.NoError(t, err)
		require.Len(t, public, 3)
		require.Equal(t, key.Signer.Public(), public[0].Key)
	}
}

func TestARepeatedRequestRotatesOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.started(t)
	for range 3 {
		ctx := commands.WithRequest(t.Context(), &commands.Request{Seed: "u1/key-1"})
		_, _, err := h.node(t).Rotate(ctx)
		require.NoError(t, err)
	}
	require.Len(t, h.ring(t).Keys, 3)
	require.ElementsMatch(t, kidsOf(h.ring(t)), h.parts(t))
}

func TestNodesThatRotateTogetherLoseNoKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	nodes := []*signing.Keys{h.started(t), h.node(t), h.node(t)}
	var made atomic.Int64
	var wg sync.WaitGroup
	for _, k := range nodes {
		wg.Go(func() {
			for range 5 {
				created, _, err := k.Rotate(t.Context())
				if err != nil {
					t.Error(err)
				}
				made.Add(int64(len(created)))
			}
		})
	}
	wg.Wait()
	require.Len(t, h.ring(t).Keys, 2+int(made.Load()))
	require.ElementsMatch(t, kidsOf(h.ring(t)), h.parts(t))
}

// Two nodes sign and verify for each other while a third rotates as fast as it
// can: nobody is refused.
func TestRotationRefusesNobody(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	a, b, rotator := h.started(t), h.node(t), h.node(t)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, pair := range [][2]*signing.Keys{{a, b}, {b, a}} {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				token, err := pair[0].Sign(t.Context(), signing.Claims{Subject: fmt.Sprint(i)})
				if err == nil {
					_, err = pair[1].Verify(t.Context(), token)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 30 {
		_, _, err := rotator.Rotate(t.Context())
		require.NoError(t, err)
	}
	stop()
	wg.Wait()
}

func TestRevocation(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k, there := h.started(t), h.node(t)
	token := sign(t, k, signing.Claims{Subject: "u1"})
	require.Equal(t, domain.CodeNone, verdict(t, k, token))
	require.Equal(t, domain.CodeNone, verdict(t, there, token))
	before := h.ring(t)

	require.NoError(t, k.Revoke(t.Context(), before.Signing().JWK.KID))
	require.Equal(t, domain.CodeInvalidToken, verdict(t, k, token), "at once, though it was remembered")
	require.Eventually(t, func() bool { return verdict(t, there, token) == domain.CodeInvalidToken }, time.Minute, time.Millisecond)
	after := h.ring(t)
	require.Equal(t, before.Next().JWK, after.Signing().JWK)
	require.ElementsMatch(t, kidsOf(after), h.parts(t))
	require.Equal(t, domain.CodeNone, verdict(t, there, sign(t, k, signing.Claims{Subject: "u1"})))

	require.NoError(t, k.Revoke(t.Context(), after.Next().JWK.KID))
	require.NotEqual(t, after.Next().JWK, h.ring(t).Next().JWK)
	require.Equal(t, after.Signing().JWK, h.ring(t).Signing().JWK)

	_, _, err := k.Rotate(t.Context())
	require.NoError(t, err)
	require.NoError(t, there.Revoke(t.Context(), after.Signing().JWK.KID), "a retired one, on another node")
	require.Len(t, h.ring(t).Keys, 2)
	require.ElementsMatch(t, kidsOf(h.ring(t)), h.parts(t))

	err = k.Revoke(t.Context(), "x")
	require.Equal(t, domain.CodeNotFound, domain.CodeOf(err))
}

// A node that has not heard of a revocation finds no private part, and looks
// again before it gives up.
func TestSigningSurvivesARevocationElsewhere(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k := h.started(t)
	stale := h.ring(t)
	var heard atomic.Bool
	late := h.node(t, func(o *signing.Options) {
		current, fresh := o.Current, o.Fresh
		o.Current = func(known uint64) (keyring.State, uint64, error) {
			if heard.Load() {
				return current(known)
			}
			return stale, 1, nil
		}
		o.Fresh = func(ctx context.Context) error { heard.Store(true); return fresh(ctx) }
	})
	require.NoError(t, k.Revoke(t.Context(), stale.Signing().JWK.KID))
	require.Equal(t, domain.CodeNone, verdict(t, k, sign(t, late, signing.Claims{Subject: "u1"})))
}

func TestUpkeep(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k := h.node(t, func(o *signing.Options) { o.Rotation, o.MaxAge = 7*day, 3*day })
	_, err := k.Maintain(t.Context())
	require.NoError(t, err)
	first := h.ring(t).Signing().JWK.KID
	require.NotEmpty(t, first, "a start that was not possible before is made up for")

	next, err := k.Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, noon.Add(7*day), next)
	require.Len(t, h.ring(t).Keys, 2, "nothing is due")

	h.pass(7 * day)
	next, err = k.Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, noon.Add(10*day+time.Minute), next, "when the rotated key has to go")
	require.Len(t, h.ring(t).Keys, 3)
	rotated, _ := h.ring(t).Find(first)
	require.Equal(t, keyring.Retired, rotated.Stage)
	require.Equal(t, noon.Add(10*day), rotated.ExpiresAt)

	h.pass(3*day + time.Minute)
	next, err = k.Maintain(t.Context())
	require.NoError(t, err)
	require.Equal(t, noon.Add(14*day), next)
	require.Len(t, h.ring(t).Keys, 2)
	require.ElementsMatch(t, kidsOf(h.ring(t)), h.parts(t), "the private part is gone with the key")
}

func TestTheListTellsTheCourseOfKeys(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k := h.started(t, func(o *signing.Options) { o.Rotation, o.MaxAge = 7*day, 3*day })
	h.pass(day)
	_, _, err := k.Rotate(t.Context())
	require.NoError(t, err)
	list, err := k.List(t.Context())
	require.NoError(t, err)
	kids := kidsOf(h.ring(t))
	require.Equal(t, []signing.Entry{
		{KID: kids[0], State: keyring.Signing, CreatedAt: noon, RotatesAt: noon.Add(8 * day), ExpiresAt: noon.Add(11 * day)},
		{KID: kids[1], State: keyring.Next, CreatedAt: noon.Add(day), RotatesAt: noon.Add(15 * day), ExpiresAt: noon.Add(18 * day)},
		{KID: kids[2], State: keyring.Retired, CreatedAt: noon, RotatesAt: noon.Add(day), ExpiresAt: noon.Add(4 * day)},
	}, list)
}

func TestAnotherAlgorithmReplacesTheKeys(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	old := h.started(t)
	token := sign(t, old, signing.Claims{Subject: "u1"})
	es384 := func(o *signing.Options) { o.Alg = "ES384" }
	nodes := []*signing.Keys{h.node(t, es384), h.node(t, es384)}
	var wg sync.WaitGroup
	for _, k := range nodes {
		wg.Go(func() {
			if err := k.EnsureStarted(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ring := h.ring(t)
	require.Equal(t, "ES384", ring.Signing().JWK.Alg)
	require.Equal(t, "ES384", ring.Next().JWK.Alg)
	require.Equal(t, domain.CodeNone, verdict(t, nodes[0], sign(t, nodes[1], signing.Claims{Subject: "u1"})))
	require.Equal(t, domain.CodeInvalidToken, verdict(t, nodes[0], token), "JWKS_ALG only")
	_, err := old.Sign(t.Context(), signing.Claims{Subject: "u1"})
	require.ErrorContains(t, err, "JWKS_ALG")
}

func TestAWrongMasterKeyIsNamed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.started(t)
	kid := h.ring(t).Signing().JWK.KID
	for want, keys := range map[error]seal.MasterKey{
		seal.ErrDamaged:    masterKey("k1", 2, true),
		seal.ErrUnknownKey: masterKey("k2", 1, true),
	} {
		wrong := h.node(t, func(o *signing.Options) { o.Box = box(t, keys) })
		_, err := wrong.Sign(t.Context(), signing.Claims{Subject: "u1"})
		require.ErrorIs(t, err, want)
		err = wrong.EnsureStarted(t.Context())
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, kid)
		require.ErrorContains(t, err, "SECRETS_MASTER_KEYS")
	}
	require.Len(t, h.ring(t).Keys, 2)
}

func TestAnotherPrivatePartIsNotSignedWith(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.started(t)
	ring := h.ring(t)
	other, _, err := h.bucket.Get(t.Context(), "jwk/"+ring.Next().JWK.KID)
	require.NoError(t, err)
	_, err = h.bucket.Put(t.Context(), "jwk/"+ring.Signing().JWK.KID, other)
	require.NoError(t, err)
	_, err = h.node(t).Sign(t.Context(), signing.Claims{Subject: "u1"})
	require.ErrorIs(t, err, seal.ErrDamaged, "it is sealed for its own place")
}

func TestUpkeepSealsAgainAndTakesAwayWhatWasLeft(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.started(t)
	orphan, err := json.Marshal(map[string]any{"kid": "orphan", "createdAt": noon, "sealed": []byte{1}})
	require.NoError(t, err)
	_, err = h.bucket.Put(t.Context(), "jwk/orphan", orphan)
	require.NoError(t, err)

	k2 := masterKey("k2", 2, true)
	both := h.node(t, func(o *signing.Options) { o.Box = box(t, k2, masterKey("k1", 1, false)) })
	_, err = both.Maintain(t.Context())
	require.NoError(t, err)
	require.Contains(t, h.parts(t), "orphan", "another node may be about to use it")
	h.pass(2 * time.Hour)
	_, err = both.Maintain(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, kidsOf(h.ring(t)), h.parts(t))

	only := h.node(t, func(o *signing.Options) { o.Box = box(t, k2) })
	require.NoError(t, only.EnsureStarted(t.Context()), "k1 can go")
}

// The log, the bucket and everything else on disk hold no private part in clear,
// and printing one shows its name.
func TestNoPrivatePartIsInClear(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k := h.started(t)
	key, err := k.SigningKey(t.Context())
	require.NoError(t, err)
	d, err := key.Signer.(*ecdsa.PrivateKey).Bytes()
	require.NoError(t, err)
	shown, err := json.Marshal([]any{key, &key})
	require.NoError(t, err)
	require.Equal(t, `["signing key `+key.KID+`","signing key `+key.KID+`"]`, string(shown))
	require.Equal(t, "signing key "+key.KID, fmt.Sprintf("%#v", key))
	der, err := x509.MarshalPKCS8PrivateKey(key.Signer)
	require.NoError(t, err)
	secrets := map[string][]byte{
		"raw": d, "hex": []byte(hex.EncodeToString(d)), "jwk": []byte(base64.RawURLEncoding.EncodeToString(d)), "der": der,
		"base64": []byte(base64.StdEncoding.EncodeToString(der)),
	}
	found := false
	require.NoError(t, filepath.WalkDir(h.dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		for name, secret := range secrets {
			require.False(t, bytes.Contains(text, secret), "%s has the key as %s", file, name)
		}
		found = found || bytes.Contains(text, []byte(key.KID))
		return err
	}))
	require.True(t, found, "the right place was searched")
}
