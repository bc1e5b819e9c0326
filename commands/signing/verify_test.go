package signing_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/signing"
	"svc/domain"
)

func TestEveryAlgorithmSignsAndVerifies(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{"RS256", "RS384", "RS512", "PS256", "ES256", "ES384"} {
		t.Run(alg, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			k := h.started(t, func(o *signing.Options) { o.Alg = alg })
			said := signing.Claims{
				SessionID: "s1", ID: "j1", Subject: "u1", Scope: "events:read files:read", ClientID: "svc-console",
				WorkspaceID: "w1", CorrelationID: "c1", ExpiresAt: noon.Add(time.Hour),
			}
			token := sign(t, k, said)
			said.IssuedAt, said.Issuer, said.Audience = noon, issuer, []string{audience}
			for range 2 { // verified, then remembered
				got, err := k.Verify(t.Context(), token)
				require.NoError(t, err)
				require.Equal(t, said, got)
			}
			requireForeignVerification(t, k, token, alg)
		})
	}
}

// requireForeignVerification checks token with another library and the published
// keys alone.
func requireForeignVerification(t *testing.T, k *signing.Keys, token, alg string) {
	t.Helper()
	text, err := k.JWKS(t.Context())
	require.NoError(t, err)
	require.NotContains(t, string(text), `"d"`)
	var set jose.JSONWebKeySet
	require.NoError(t, json.Unmarshal(text, &set))
	require.Len(t, set.Keys, 2)
	signed, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(alg)})
	require.NoError(t, err)
	kid := signed.Signatures[0].Header.KeyID
	found := set.Key(kid)
	require.Len(t, found, 1)
	payload, err := signed.Verify(found[0])
	require.NoError(t, err)
	require.Contains(t, string(payload), `"svcSessionId":"s1"`)
}

// forge signs claims with the platform's own key, whatever they say.
func forge(t testing.TB, k *signing.Keys, method jwt.SigningMethod, key any, header map[string]any, edit map[string]any) string {
	t.Helper()
	own, err := k.SigningKey(context.Background())
	require.NoError(t, err)
	claims := jwt.MapClaims{
		"iss": issuer, "aud": audience, "sub": "u1", "jti": "j1", "svcSessionId": "s1",
		"iat": noon.Unix(), "exp": noon.Add(time.Hour).Unix(),
	}
	for name, value := range edit {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = own.KID
	for name, value := range header {
		token.Header[name] = value
		if value == nil {
			delete(token.Header, name)
		}
	}
	if key == nil {
		key = own.Signer
	}
	text, err := token.SignedString(key)
	require.NoError(t, err)
	return text
}

func TestBadTokensAreRefused(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k := h.started(t)
	stranger := newFixture(t).started(t)
	own, err := k.SigningKey(t.Context())
	require.NoError(t, err)
	foreign, err := stranger.SigningKey(t.Context())
	require.NoError(t, err)
	der, err := x509.MarshalPKIXPublicKey(own.Signer.Public())
	require.NoError(t, err)
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	jwks, err := k.JWKS(t.Context())
	require.NoError(t, err)

	es := jwt.SigningMethodES256
	at := func(d time.Duration) int64 { return noon.Add(d).Unix() }
	says := func(edit map[string]any) string { return forge(t, k, es, nil, nil, edit) }
	heads := func(header map[string]any) string { return forge(t, k, es, nil, header, nil) }
	good := says(nil)
	parts := strings.Split(good, ".")
	for name, bad := range map[string]struct {
		token string
		code  domain.Code
	}{
		"good":                          {good, domain.CodeNone},
		"for several audiences":         {says(map[string]any{"aud": []string{"x", audience}}), domain.CodeNone},
		"alg none":                      {forge(t, k, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, nil), domain.CodeInvalidToken},
		"HS256 with the public key":     {forge(t, k, jwt.SigningMethodHS256, public, nil, nil), domain.CodeInvalidToken},
		"HS256 with the DER key":        {forge(t, k, jwt.SigningMethodHS256, der, nil, nil), domain.CodeInvalidToken},
		"HS256 with the JWKS":           {forge(t, k, jwt.SigningMethodHS256, jwks, nil, nil), domain.CodeInvalidToken},
		"alg of another kind":           {heads(map[string]any{"alg": "RS256"}), domain.CodeInvalidToken},
		"alg unknown":                   {heads(map[string]any{"alg": "ES999"}), domain.CodeInvalidToken},
		"alg no text":                   {heads(map[string]any{"alg": 1}), domain.CodeInvalidToken},
		"no alg":                        {heads(map[string]any{"alg": nil}), domain.CodeInvalidToken},
		"foreign key under its own kid": {forge(t, k, es, foreign.Signer, map[string]any{"kid": foreign.KID}, nil), domain.CodeInvalidToken},
		"foreign key under our kid":     {forge(t, k, es, foreign.Signer, nil, nil), domain.CodeInvalidToken},
		"unknown kid":                   {heads(map[string]any{"kid": "x"}), domain.CodeInvalidToken},
		"unknown kid of our form":       {heads(map[string]any{"kid": strings.Repeat("x", 43)}), domain.CodeInvalidToken},
		"kid no text":                   {heads(map[string]any{"kid": []int{1}}), domain.CodeInvalidToken},
		"no kid":                        {heads(map[string]any{"kid": nil}), domain.CodeInvalidToken},
		"key in the header":             {forge(t, k, es, foreign.Signer, map[string]any{"jwk": map[string]any{"kty": "EC"}, "jku": "https://evil.example"}, nil), domain.CodeInvalidToken},
		"wrong issuer":                  {says(map[string]any{"iss": issuer + "/"}), domain.CodeInvalidToken},
		"no issuer":                     {says(map[string]any{"iss": nil}), domain.CodeInvalidToken},
		"wrong audience":                {says(map[string]any{"aud": "svc-console"}), domain.CodeInvalidToken},
		"no audience":                   {says(map[string]any{"aud": nil}), domain.CodeInvalidToken},
		"audience no text":              {says(map[string]any{"aud": 7}), domain.CodeInvalidToken},
		"expired":                       {says(map[string]any{"exp": at(-30 * time.Second)}), domain.CodeTokenExpired},
		"expired within the tolerance":  {says(map[string]any{"exp": at(-29 * time.Second)}), domain.CodeNone},
		"expired long ago":              {says(map[string]any{"iat": 0, "exp": 1}), domain.CodeTokenExpired},
		"expired, and for another":      {says(map[string]any{"exp": 1, "aud": "x"}), domain.CodeInvalidToken},
		"expired, and issued elsewhere": {says(map[string]any{"exp": 1, "iss": "x"}), domain.CodeInvalidToken},
		"expired, with a foreign key":   {forge(t, k, es, foreign.Signer, nil, map[string]any{"exp": 1}), domain.CodeInvalidToken},
		"expired, and not valid yet":    {says(map[string]any{"exp": 1, "nbf": at(time.Hour)}), domain.CodeInvalidToken},
		"never expires":                 {says(map[string]any{"exp": nil}), domain.CodeInvalidToken},
		"expires in words":              {says(map[string]any{"exp": "tomorrow"}), domain.CodeInvalidToken},
		"not valid yet":                 {says(map[string]any{"nbf": at(31 * time.Second)}), domain.CodeInvalidToken},
		"valid within the tolerance":    {says(map[string]any{"nbf": at(30 * time.Second)}), domain.CodeNone},
		"issued in the future":          {says(map[string]any{"iat": at(31 * time.Second)}), domain.CodeInvalidToken},
		"empty":                         {"", domain.CodeInvalidToken},
		"dots":                          {"..", domain.CodeInvalidToken},
		"many dots":                     {strings.Repeat(".", 8000), domain.CodeInvalidToken},
		"an access token":               {"at:0123456789", domain.CodeInvalidToken},
		"truncated signature":           {good[:len(good)-4], domain.CodeInvalidToken},
		"truncated to two parts":        {parts[0] + "." + parts[1], domain.CodeInvalidToken},
		"without signature":             {parts[0] + "." + parts[1] + ".", domain.CodeInvalidToken},
		"a part too many":               {good + ".x", domain.CodeInvalidToken},
		"padded":                        {good + "=", domain.CodeInvalidToken},
		"with a blank":                  {" " + good, domain.CodeInvalidToken},
		"with a line break":             {good + "\n", domain.CodeInvalidToken},
		"with a NUL":                    {good + "\x00", domain.CodeInvalidToken},
		"other claims":                  {parts[0] + "." + encode(`{"sub":"admin"}`) + "." + parts[2], domain.CodeInvalidToken},
		"claims no object":              {parts[0] + "." + encode(`[1]`) + "." + parts[2], domain.CodeInvalidToken},
		"claims null":                   {parts[0] + "." + encode(`null`) + "." + parts[2], domain.CodeInvalidToken},
		"header null":                   {encode(`null`) + "." + parts[1] + "." + parts[2], domain.CodeInvalidToken},
		"oversized but signed":          {says(map[string]any{"scope": strings.Repeat("x ", 4096)}), domain.CodeInvalidToken},
		"oversized garbage":             {strings.Repeat("A", 1<<20), domain.CodeInvalidToken},
		"deep":                          {encode(strings.Repeat("[", 3000)) + "." + parts[1] + "." + parts[2], domain.CodeInvalidToken},
		"not UTF-8":                     {"\xff.\xfe.\xfd", domain.CodeInvalidToken},
		"last bit of the signature":     {flipLast(good), domain.CodeInvalidToken},
		"signature spelled another way": {respell(good), domain.CodeInvalidToken},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				require.Equal(t, bad.code, verdict(t, k, bad.token))
			}
		})
	}
}

// RSA keys can sign in several ways. Only the one of JWKS_ALG counts, and only
// with keys that were made for it.
func TestOneAlgorithmCounts(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k := h.started(t, func(o *signing.Options) { o.Alg = "RS256" })
	old, err := k.SigningKey(t.Context())
	require.NoError(t, err)
	require.Equal(t, domain.CodeNone, verdict(t, k, forge(t, k, jwt.SigningMethodRS256, nil, nil, nil)))
	require.Equal(t, domain.CodeInvalidToken, verdict(t, k, forge(t, k, jwt.SigningMethodRS384, nil, nil, nil)))
	require.Equal(t, domain.CodeInvalidToken, verdict(t, k, forge(t, k, jwt.SigningMethodPS256, nil, nil, nil)))

	k = h.started(t, func(o *signing.Options) { o.Alg = "PS256" })
	require.Equal(t, domain.CodeNone, verdict(t, k, forge(t, k, jwt.SigningMethodPS256, nil, nil, nil)))
	require.Equal(t, domain.CodeInvalidToken, verdict(t, k, forge(t, k, jwt.SigningMethodPS256, old.Signer, map[string]any{"kid": old.KID}, nil)))
}

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// flipLast changes one bit that counts of the signature.
func flipLast(token string) string {
	cut := strings.LastIndexByte(token, '.') + 1
	sig, _ := base64.RawURLEncoding.DecodeString(token[cut:])
	sig[len(sig)-1] ^= 1
	return token[:cut] + base64.RawURLEncoding.EncodeToString(sig)
}

// respell changes bits of the last letter that stand for nothing.
func respell(token string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(letters, token[len(token)-1])
	return token[:len(token)-1] + string(letters[last^1])
}

func TestWhatIsRememberedStillExpires(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k := h.started(t)
	token := sign(t, k, signing.Claims{Subject: "u1", ExpiresAt: noon.Add(time.Minute)})
	require.Equal(t, domain.CodeNone, verdict(t, k, token))
	h.pass(time.Minute + 29*time.Second)
	require.Equal(t, domain.CodeNone, verdict(t, k, token))
	h.pass(time.Second)
	require.Equal(t, domain.CodeTokenExpired, verdict(t, k, token))
	require.Equal(t, domain.CodeTokenExpired, verdict(t, k, token))
}

func TestATokenDoesNotOutliveItsKey(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k := h.started(t, func(o *signing.Options) { o.MaxAge = time.Hour })
	for _, until := range []time.Time{{}, noon.Add(2 * time.Hour)} {
		got, err := k.Verify(t.Context(), sign(t, k, signing.Claims{Subject: "u1", ExpiresAt: until}))
		require.NoError(t, err)
		require.Equal(t, noon.Add(time.Hour), got.ExpiresAt)
		require.NotEmpty(t, got.ID)
	}
}

// A token that this node cannot judge is not called invalid.
func TestAnUnknownKeyIsNotRefusedBlindly(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var down error
	k := h.started(t, func(o *signing.Options) {
		fresh := o.Fresh
		o.Fresh = func(ctx context.Context) error { return errors.Join(down, fresh(ctx)) }
	})
	token := forge(t, k, jwt.SigningMethodES256, nil, map[string]any{"kid": strings.Repeat("x", 43)}, nil)
	down = errors.New("the log has stopped")
	_, err := k.Verify(t.Context(), token)
	var refused *commands.Unavailable
	require.ErrorAs(t, err, &refused)
	down = nil
	require.Equal(t, domain.CodeInvalidToken, verdict(t, k, token))
}

func FuzzVerify(f *testing.F) {
	h := newFixture(f)
	k := h.started(f)
	good := sign(f, k, signing.Claims{Subject: "u1"})
	f.Add(good)
	f.Add(forge(f, k, jwt.SigningMethodES256, nil, nil, map[string]any{"exp": 1}))
	f.Add(forge(f, k, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, nil))
	f.Add(encode(`{"alg":"ES256","kid":7}`) + "." + encode(`{"exp":1e400}`) + ".AA")
	f.Fuzz(func(t *testing.T, token string) {
		_, err := k.Verify(context.Background(), token)
		switch code := domain.CodeOf(err); {
		case code == domain.CodeInvalidToken, code == domain.CodeTokenExpired:
		case code == domain.CodeNone && token == good:
		default:
			t.Fatalf("%q: %v", token, err)
		}
	})
}
