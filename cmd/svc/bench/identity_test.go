//go:build bench

package bench

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node"
	"svc/cmd/settings"
	"svc/commands/signing"
	"svc/http/gateway"
)

// aimIdentity is the least share of the cryptography's own rate.
const aimIdentity = 0.6

// benchIdentity compares what it takes to know a caller, and to decide what they
// may do, with the cryptography that is in it: a signature for a token, a hash
// for an API key. A token that was seen before needs no signature; each check
// still asks whether its key, its session and its user are in force.
func benchIdentity(t *testing.T, _ *history) {
	others := watchOthers(t)
	h := openIdentityNode(t)
	mine, key := h.signInWithKey(t)
	permission := gateway.Action{Action: "read", Subject: "workspaces"}
	ctx := context.Background()
	check := func(c gateway.Credentials) {
		caller, err := h.node.Identity().Authenticate(ctx, c)
		if err == nil {
			_, err = h.node.Identity().Authorize(ctx, caller, permission, h.workspace)
		}
		if err != nil { // a call of require would cost as much as the rest
			t.Fatal(err)
		}
	}
	fresh := h.tokens(t, mine, 20_000)
	next := 0
	signature, hash := h.signature(t, fresh[0]), sha256.Sum256([]byte(key))

	for _, b := range []struct {
		name    string
		ours    func()
		control func()
	}{
		{"identity_jwt_seen", func() { check(gateway.Credentials{Bearer: mine}) }, signature},
		{"identity_jwt_first", func() { check(gateway.Credentials{Bearer: fresh[next]}); next = (next + 1) % len(fresh) }, signature},
		{"identity_api_key", func() { check(gateway.Credentials{APIKey: key}) }, func() {
			sum := sha256.Sum256([]byte(key))
			if subtle.ConstantTimeCompare(sum[:], hash[:]) != 1 {
				t.Fatal("not the key")
			}
			_ = hex.EncodeToString(sum[:])
		}},
	} {
		var ours, control series
		for range runs {
			ours, control = append(ours, repeat(t, b.ours, time.Second)), append(control, repeat(t, b.control, time.Second))
		}
		out := line{
			"runs": runs, "others_cores": others(), "ratios": ours.ratios(control), "aim": aimIdentity, "ratio": ours.ratio(control),
			"ok": ours.ratio(control) >= aimIdentity, "us_each": 1e6 / ours.of(sample.rate), "us_control": 1e6 / control.of(sample.rate),
		}
		out.print(t, b.name)
	}
}

// repeat does the same thing for a time, on one goroutine.
func repeat(t *testing.T, do func(), d time.Duration) sample {
	cpu, start, n := ownCPU(t), time.Now(), 0
	for ; time.Since(start) < d; n++ {
		do()
	}
	return sample{count: n, took: time.Since(start), cpu: ownCPU(t) - cpu}
}

// identityNode is a node in this process, so that its parts can be called.
type identityNode struct {
	node      *node.Node
	base      string
	workspace string
}

func openIdentityNode(t *testing.T) *identityNode {
	t.Helper()
	port := freePort(t)
	env := append(settingsOf(t.TempDir(), port), "ADMIN_PASSWORD=correct horse battery", "NODE_NAME=bench")
	loaded, err := settings.Load(settings.Source{Environ: env, Hostname: "bench"})
	require.NoError(t, err)
	n, err := node.Open(t.Context(), node.Options{Settings: settings.NewLive(loaded), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- n.Serve(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-served) })
	return &identityNode{node: n, base: fmt.Sprintf("http://127.0.0.1:%d", port)}
}

// signInWithKey signs in and makes a workspace with an API key.
func (h *identityNode) signInWithKey(t *testing.T) (token, key string) {
	t.Helper()
	token = h.post(t, "/v2/login", "", `{"email":"admin@localhost","password":"correct horse battery"}`)["token"].(string)
	h.workspace = h.post(t, "/v2/workspaces", token, `{"name":"bench"}`)["id"].(string)
	made := h.post(t, "/v2/workspaces/"+h.workspace+"/security/apikeys", token, `{"name":"k","rules":[{"action":"read","subject":"workspaces"}]}`)
	return token, made["apiKey"].(string)
}

func (h *identityNode) post(t *testing.T, path, token, body string) (fields map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.base+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Less(t, resp.StatusCode, 300, "%s", text)
	require.NoError(t, json.Unmarshal(text, &fields))
	return fields
}

// tokens signs n tokens of the session of one, none of which was seen before.
func (h *identityNode) tokens(t *testing.T, one string, n int) []string {
	t.Helper()
	claims, err := h.node.Keys().Verify(t.Context(), one)
	require.NoError(t, err)
	all := make([]string, n)
	for i := range all {
		all[i], err = h.node.Keys().Sign(t.Context(), signing.Claims{
			Subject: claims.Subject, SessionID: claims.SessionID, Scope: claims.Scope, IssuedAt: claims.IssuedAt, ExpiresAt: claims.ExpiresAt,
		})
		require.NoError(t, err)
	}
	return all
}

// signature returns the bare check of a token's signature.
func (h *identityNode) signature(t *testing.T, token string) func() {
	t.Helper()
	keys, err := h.node.Keys().PublicKeys(t.Context())
	require.NoError(t, err)
	public := keys[0].Key.(*rsa.PublicKey)
	last := strings.LastIndexByte(token, '.')
	signed := []byte(token[:last])
	signature, err := base64.RawURLEncoding.DecodeString(token[last+1:])
	require.NoError(t, err)
	check := func() {
		sum := sha256.Sum256(bytes.Clone(signed))
		if err := rsa.VerifyPKCS1v15(public, crypto.SHA256, sum[:], signature); err != nil {
			t.Fatal(err)
		}
	}
	check()
	return check
}
