package keyring_test

import (
	"crypto"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/domaintest"
	"svc/domain/keyring"
)

type scenario = domaintest.Scenario[keyring.State, keyring.Command]

const month = 30 * 24 * time.Hour

var (
	noon       = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a, b, c, d = jwk("a"), jwk("b"), jwk("c"), jwk("d")
)

// jwk is a public key, as far as the rules can tell.
func jwk(name string) keyring.JWK {
	k := keyring.JWK{Kty: "EC", Alg: "ES256", Use: "sig", Crv: "P-256", X: name, Y: name}
	k.KID = k.Thumbprint()
	return k
}

func next(k keyring.JWK, created time.Time) keyring.Key {
	return keyring.Key{JWK: k, Stage: keyring.Next, CreatedAt: created}
}

func signing(k keyring.JWK, created, from time.Time) keyring.Key {
	return keyring.Key{JWK: k, Stage: keyring.Signing, CreatedAt: created, SignsFrom: from}
}

func retired(k keyring.JWK, created, from, at time.Time) keyring.Key {
	return keyring.Key{JWK: k, Stage: keyring.Retired, CreatedAt: created, SignsFrom: from, RetiredAt: at, ExpiresAt: at.Add(month)}
}

// kids names keys; none is an empty list, never null.
func kids(keys ...keyring.JWK) []string {
	names := []string{}
	for _, k := range keys {
		names = append(names, k.KID)
	}
	return names
}

// updated is the change and its twin.
func updated(created, deleted []string, keys ...keyring.Key) []domain.Event {
	return []domain.Event{
		keyring.Updated{Created: created, Deleted: deleted, Keys: keys},
		keyring.RuntimeUpdated{Created: created, Deleted: deleted},
	}
}

func rotate(believed, fresh keyring.JWK, now time.Time) keyring.Command {
	return keyring.Rotate{Signing: believed.KID, New: fresh, Now: now, VerifyFor: month}
}

var (
	later   = noon.Add(month)
	over    = later.Add(month + time.Minute) // and a minute for clocks that differ
	started = updated(kids(a, b), kids(), signing(a, noon, noon), next(b, noon))
	rotated = append(started[:2:2], updated(kids(c), kids(), retired(a, noon, noon, later), signing(b, noon, later), next(c, later))...)
)

func TestKeyring(t *testing.T) {
	for name, sc := range map[string]scenario{
		"a ring starts with a key that signs and one that waits": {
			When: keyring.Start{Signing: a, Next: b, Now: noon}, Then: started,
		},
		"a ring is started once": {
			Given: started, When: keyring.Start{Signing: c, Next: d, Now: later},
		},
		"one key cannot be both": {
			When: keyring.Start{Signing: a, Next: a, Now: noon}, Refuse: domain.CodeInternal,
		},
		"a key is named by its thumbprint": {
			When: keyring.Start{Signing: keyring.JWK{KID: "mine", Kty: "EC", Alg: "ES256"}, Next: b}, Refuse: domain.CodeInternal,
		},
		"rotation lets the next key sign and retires the other": {
			Given: started, When: rotate(a, c, later),
			Then: updated(kids(c), kids(), retired(a, noon, noon, later), signing(b, noon, later), next(c, later)),
		},
		"a rotation that another node made already is not made twice": {
			Given: rotated, When: rotate(a, d, later),
		},
		"a ring that was not started is not rotated": {
			When: rotate(a, c, noon), Refuse: domain.CodeConflict,
		},
		"a key does not come twice": {
			Given: started, When: rotate(a, b, later), Refuse: domain.CodeInternal,
		},
		"a rotation takes along what is overdue": {
			Given: rotated, When: rotate(b, d, over),
			Then: updated(kids(d), kids(a), retired(b, noon, later, over), signing(c, later, over), next(d, over)),
		},
		"a retired key stays while its tokens live": {
			Given: rotated, When: keyring.Expire{Now: over.Add(-1)},
		},
		"a retired key leaves when its time is over": {
			Given: rotated, When: keyring.Expire{Now: over}, Then: updated(kids(), kids(a)),
		},
		"a key that signs never expires": {
			Given: started, When: keyring.Expire{Now: noon.AddDate(100, 0, 0)},
		},
		"nothing expires without a time": {
			Given: rotated, When: keyring.Expire{},
		},
		"when the signing key is revoked the next one signs": {
			Given: started, When: keyring.Revoke{KID: a.KID, New: c, Now: later},
			Then: updated(kids(c), kids(a), next(c, later), signing(b, noon, later)),
		},
		"the next key is replaced when it is revoked": {
			Given: started, When: keyring.Revoke{KID: b.KID, New: c, Now: later},
			Then: updated(kids(c), kids(b), next(c, later)),
		},
		"a retired key is revoked without a replacement": {
			Given: rotated, When: keyring.Revoke{KID: a.KID, New: d, Now: later}, Then: updated(kids(), kids(a)),
		},
		"an unknown key is not revoked": {
			Given: started, When: keyring.Revoke{KID: "x", New: c, Now: later}, Refuse: domain.CodeNotFound,
		},
		"a revoked key is gone": {
			Given: append(started[:2:2], updated(kids(c), kids(a), next(c, later), signing(b, noon, later))...),
			When:  keyring.Revoke{KID: a.KID, New: d, Now: later}, Refuse: domain.CodeNotFound,
		},
		"part of a commit that never counted changes nothing": {
			Given: []domain.Event{domain.Void{Name: "gateway.jwks.updated"}},
			When:  keyring.Start{Signing: a, Next: b, Now: noon}, Then: started,
		},
		"an unknown command is the operator's fault": {
			Given: started, When: nil, Refuse: domain.CodeInternal,
		},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, keyring.Decider) })
	}
}

func TestTheRefusalOfAnUnknownKeyNamesIt(t *testing.T) {
	_, err := keyring.Decider.Decide(keyring.State{}, keyring.Revoke{KID: "x"})
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, map[string]any{"resource": "jwk", "id": "x"}, refusal.Details)
}

func TestAFullRingIsNotRotatedButAlwaysRevoked(t *testing.T) {
	s := keyring.Decider.Fold(keyring.State{}, started...)
	for i := range 4094 {
		old := jwk(fmt.Sprint(i))
		s.Keys = append(s.Keys, retired(old, noon, noon, noon))
	}
	_, err := keyring.Decider.Decide(s, rotate(a, c, noon))
	require.Equal(t, domain.CodeQuota, domain.CodeOf(err))
	_, err = keyring.Decider.Decide(s, keyring.Revoke{KID: a.KID, New: c, Now: noon})
	require.NoError(t, err)
	_, err = keyring.Decider.Decide(s, rotate(a, c, over))
	require.NoError(t, err, "those whose time is over make room")
}

func TestTheFirstToGoIsKnown(t *testing.T) {
	require.Zero(t, keyring.Decider.Fold(keyring.State{}, started...).NextExpiry())
	s := keyring.Decider.Fold(keyring.State{}, rotated...)
	require.Equal(t, over, s.NextExpiry())
	events, err := keyring.Decider.Decide(s, rotate(b, d, later.Add(time.Hour)))
	require.NoError(t, err)
	require.Equal(t, over, keyring.Decider.Fold(s, events...).NextExpiry())
}

func TestTheCatalogueShowsNamesOnly(t *testing.T) {
	shown, err := json.Marshal(started[0].(domain.PayloadEvent).Payload())
	require.NoError(t, err)
	require.JSONEq(t, fmt.Sprintf(`{"created":[%q,%q],"deleted":[]}`, a.KID, b.KID), string(shown))
}

// Whatever is asked in whatever order, exactly one key signs and one waits, no
// key comes back, and the state is what its JSON says.
func TestOneKeySignsAndOneWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := keyring.Decider.Fold(keyring.State{}, started...)
		now, gone := noon, map[string]bool{}
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "days")) * 24 * time.Hour)
			events, err := keyring.Decider.Decide(s, draw(t, s, jwk(fmt.Sprint("k", i)), now))
			require.NoError(t, err)
			s = keyring.Decider.Fold(s, events...)
			if len(events) > 0 {
				for _, kid := range events[0].(keyring.Updated).Deleted {
					gone[kid] = true
				}
			}
			check(t, s, gone)
		}
	})
}

func draw(t *rapid.T, s keyring.State, fresh keyring.JWK, now time.Time) keyring.Command {
	victim := s.Keys[rapid.IntRange(0, len(s.Keys)-1).Draw(t, "key")].JWK
	return rapid.SampledFrom([]keyring.Command{
		rotate(victim, fresh, now), rotate(s.Signing().JWK, fresh, now), keyring.Expire{Now: now},
		keyring.Revoke{KID: victim.KID, New: fresh, Now: now}, keyring.Start{Signing: fresh, Next: d, Now: now},
	}).Draw(t, "command")
}

func check(t *rapid.T, s keyring.State, gone map[string]bool) {
	for i, k := range s.Keys {
		stage := keyring.Retired
		if i < 2 {
			stage = []keyring.Stage{keyring.Signing, keyring.Next}[i]
		}
		require.Equal(t, stage, k.Stage)
		require.False(t, gone[k.JWK.KID], "a deleted key is in the ring")
	}
	body, err := json.Marshal(s)
	require.NoError(t, err)
	var again keyring.State
	require.NoError(t, json.Unmarshal(body, &again))
	require.Equal(t, s, again)
}

// The example of RFC 7638, section 3.1, and an EC key as another library reads it.
func TestThumbprint(t *testing.T) {
	rsa := keyring.JWK{Kty: "RSA", E: "AQAB", N: "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"}
	require.Equal(t, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs", rsa.Thumbprint())

	ec := keyring.JWK{Kty: "EC", Crv: "P-256", X: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", Y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}
	body, err := json.Marshal(ec)
	require.NoError(t, err)
	var other jose.JSONWebKey
	require.NoError(t, other.UnmarshalJSON(body))
	sum, err := other.Thumbprint(crypto.SHA256)
	require.NoError(t, err)
	require.Equal(t, base64.RawURLEncoding.EncodeToString(sum), ec.Thumbprint())

	require.Empty(t, keyring.JWK{Kty: "oct"}.Thumbprint())
}
