package signing_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/signing"
)

func rsaToken(b *testing.B) (*signing.Keys, string) {
	b.Helper()
	h := newFixture(b)
	k := h.started(b, func(o *signing.Options) { o.Alg = "RS256" })
	return k, sign(b, k, signing.Claims{
		SessionID: "5c0b1e6c-98a4-4b5d-9f5e-0c9f4a1d2e3f", Subject: "64f0c0ffee64f0c0ffee6400", ClientID: "svc-console",
		Scope: "workspaces:read workspaces:write events:read events:write webhooks pages:read files:read files:write settings",
	})
}

// BenchmarkVerify is the check of a token that was seen before, as nearly all are.
func BenchmarkVerify(b *testing.B) {
	k, token := rsaToken(b)
	for b.Loop() {
		if _, err := k.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerifyFirst is the check of tokens that were never seen: each differs,
// so that none is remembered.
func BenchmarkVerifyFirst(b *testing.B) {
	k, _ := rsaToken(b)
	tokens := make([]string, 500)
	for i := range tokens {
		tokens[i] = sign(b, k, signing.Claims{SessionID: "s1", Subject: "u1"})
	}
	i := 0
	for b.Loop() {
		if i == len(tokens) {
			b.StopTimer()
			k.Forget()
			i = 0
			b.StartTimer()
		}
		if _, err := k.Verify(b.Context(), tokens[i]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkRSAVerifyAlone is the control: the signature and nothing else.
func BenchmarkRSAVerifyAlone(b *testing.B) {
	k, token := rsaToken(b)
	keys, err := k.PublicKeys(b.Context())
	require.NoError(b, err)
	public := keys[0].Key.(*rsa.PublicKey)
	cut := strings.LastIndexByte(token, '.')
	sig, err := base64.RawURLEncoding.DecodeString(token[cut+1:])
	require.NoError(b, err)
	for b.Loop() {
		sum := sha256.Sum256([]byte(token[:cut]))
		if err := rsa.VerifyPKCS1v15(public, crypto.SHA256, sum[:], sig); err != nil {
			b.Fatal(err)
		}
	}
}
