package fetch

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"svc/domain/automation"
	"svc/domain/value"
)

const (
	headerAuthorization = "Authorization"
	headerAPIKey        = "X-Svc-Api-Key"
)

// authorize adds the credentials that were asked for: a method whose every field is empty
// is none. Those of the platform go to the platform alone.
func (x *exchange) authorize(ctx context.Context, r *http.Request) error {
	var err error
	if basic := x.request.auth.member("basic", &err); !automation.IsBlank(basic.Object) {
		r.SetBasicAuth(basic.scalar("user"), basic.scalar("password"))
	}
	if grant := x.request.auth.member("oauth2", &err); !automation.IsBlank(grant.Object) && err == nil {
		err = x.addOAuthToken(ctx, r, grant)
	}
	if err == nil && x.Egress != nil && x.Egress.Own(r.URL) {
		err = x.addPlatformCredentials(ctx, r)
	}
	if key := x.request.auth.member("awsv4", &err); !automation.IsBlank(key.Object) && err == nil {
		awsKey{key.scalar("accessKeyId"), key.scalar("secretAccessKey"), key.scalar("service"), key.scalar("region")}.sign(r, x.request.body, x.Now())
	}
	return err
}

// scalar returns a member as text: a password may be written as a number.
func (r reader) scalar(key string) string { return value.Text(r.At(key)) }

// addOAuthToken adds the token of an OAuth 2 server.
func (x *exchange) addOAuthToken(ctx context.Context, r *http.Request, g reader) error {
	x.granted = credentials{x.call.WorkspaceID, g.scalar("tokenUrl"), g.scalar("clientId"), g.scalar("clientSecret"), g.scalar("scope")}
	token, err := x.clientToken(ctx, x.granted)
	if err != nil {
		return err
	}
	if x.call.Granted != nil {
		if err := x.call.Granted(token); err != nil {
			return err
		}
	}
	r.Header.Set(headerAuthorization, "Bearer "+token)
	return nil
}

// addPlatformCredentials adds the credentials of a request to the platform itself: what was
// asked for, and a token of the session when that leaves it without any.
func (x *exchange) addPlatformCredentials(ctx context.Context, r *http.Request) error {
	if x.terms.keyed {
		if x.call.APIKey == nil {
			return automation.Invalid("fetch.svcApiKey: there is no role %s with an API key", x.terms.role)
		}
		key, err := x.call.APIKey(ctx, x.terms.role)
		if err != nil {
			return err
		}
		r.Header.Set(headerAPIKey, key)
	}
	kind := SessionToken
	switch {
	case x.call.Token == nil:
		return nil
	case x.terms.forward:
		kind = WorkspaceToken
	case r.URL.User != nil:
		return nil
	default:
		for _, name := range []string{headerAuthorization, "Cookie", headerAPIKey} {
			if r.Header.Get(name) != "" {
				return nil
			}
		}
	}
	token, err := x.call.Token(ctx, kind)
	if err == nil {
		r.Header.Set(headerAuthorization, "Bearer "+token)
	}
	return err
}

const (
	awsAlgorithm = "AWS4-HMAC-SHA256"
	awsTime      = "20060102T150405Z"
	awsContent   = "X-Amz-Content-Sha256"
	awsDate      = "X-Amz-Date"
	awsStorage   = "s3"
)

// awsUnsigned are headers that proxies add and change, or that we add to every
// request.
var awsUnsigned = []string{headerAuthorization, "User-Agent", "X-Correlation-Id", "X-Svc-Workspace-Id", "Accept-Encoding"}

// awsKey signs requests to services of AWS, and to those that follow it (version
// 4 of its signature).
type awsKey struct{ id, secret, service, region string }

// sign adds the signature of a request with a body at a time.
func (k awsKey) sign(r *http.Request, body []byte, now time.Time) {
	at, digest := now.UTC().Format(awsTime), hexSum(body)
	r.Header.Set(awsDate, at)
	if k.service == awsStorage {
		r.Header.Set(awsContent, digest)
	}
	names, headers := canonicalHeaders(r)
	canonical := strings.Join([]string{
		r.Method, k.canonicalPath(r.URL), canonicalQuery(r.URL.RawQuery), headers, names, digest,
	}, "\n")
	scope := strings.Join([]string{at[:8], k.region, k.service, "aws4_request"}, "/")
	text := strings.Join([]string{awsAlgorithm, at, scope, hexSum([]byte(canonical))}, "\n")
	key := []byte("AWS4" + k.secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = keyedSum(key, part)
	}
	r.Header.Set(headerAuthorization, fmt.Sprintf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		awsAlgorithm, k.id, scope, names, hex.EncodeToString(keyedSum(key, text))))
}

func hexSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func keyedSum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonicalHeaders returns the names of the headers that are signed, and the
// headers, one per line.
func canonicalHeaders(r *http.Request) (names, lines string) {
	values := map[string]string{"host": r.URL.Host}
	list := []string{"host"}
	for name, all := range r.Header {
		if slices.Contains(awsUnsigned, name) {
			continue
		}
		texts := make([]string, len(all))
		for i, text := range all {
			texts[i] = strings.Join(strings.Fields(text), " ")
		}
		name = strings.ToLower(name)
		values[name] = strings.Join(texts, ",")
		list = append(list, name)
	}
	slices.Sort(list)
	var b strings.Builder
	for _, name := range list {
		b.WriteString(name + ":" + values[name] + "\n")
	}
	return strings.Join(list, ";"), b.String()
}

// canonicalPath returns the path as it is signed. S3 signs the names of its
// objects as they are; all other services a tidy path, encoded once more.
func (k awsKey) canonicalPath(u *url.URL) string {
	if k.service == awsStorage {
		return awsEscape("/"+strings.TrimPrefix(u.Path, "/"), true)
	}
	sent := u.EscapedPath()
	tidy := path.Clean("/" + sent)
	if strings.HasSuffix(sent, "/") && tidy != "/" {
		tidy += "/"
	}
	return awsEscape(tidy, true)
}

// canonicalQuery returns the pairs of a query, encoded and in order.
func canonicalQuery(query string) string {
	var pairs [][2]string
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		key, text, _ := strings.Cut(pair, "=")
		pairs = append(pairs, [2]string{awsEscape(unescape(key), false), awsEscape(unescape(text), false)})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	texts := make([]string, len(pairs))
	for i, pair := range pairs {
		texts[i] = pair[0] + "=" + pair[1]
	}
	return strings.Join(texts, "&")
}

func unescape(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// awsEscape encodes everything but letters, digits and -._~, and slashes where
// they separate.
func awsEscape(text string, slashes bool) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~", c) >= 0, c == '/' && slashes:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

const (
	// maxTokens is how many tokens are remembered.
	maxTokens = 1000
	// tokenMargin is how long before its end a token is not used any more.
	tokenMargin = 10 * time.Second
)

// credentials are what a token is asked for with. Workspaces share no token,
// even with the same credentials.
type credentials struct{ workspaceID, tokenURL, clientID, clientSecret, scope string }

func (c credentials) key() [sha256.Size]byte {
	parts := []string{c.workspaceID, c.tokenURL, c.clientID, c.clientSecret, c.scope}
	return sha256.Sum256([]byte(strings.Join(parts, "\x00")))
}

// tokens remembers tokens until they expire.
type tokens struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]*oauth2.Token
}

func newTokens() *tokens { return &tokens{all: map[[sha256.Size]byte]*oauth2.Token{}} }

func (t *tokens) get(c credentials, now time.Time) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	token, ok := t.all[c.key()]
	if !ok || !token.Expiry.After(now.Add(tokenMargin)) {
		return "", false
	}
	return token.AccessToken, true
}

// delete drops a token that a server did not accept.
func (t *tokens) delete(c credentials) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, c.key())
}

// put remembers a token that says when it expires.
func (t *tokens) put(c credentials, token *oauth2.Token, now time.Time) {
	if token.Expiry.IsZero() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.all) >= maxTokens {
		for key, old := range t.all {
			if !old.Expiry.After(now) {
				delete(t.all, key)
			}
		}
	}
	if len(t.all) >= maxTokens {
		clear(t.all) // all are in use: each is asked for once more
	}
	t.all[c.key()] = token
}

// clientToken returns a token for credentials, of the same way out and under the
// same rules as the request that it is for.
func (x *exchange) clientToken(ctx context.Context, c credentials) (string, error) {
	if token, ok := x.tokens.get(c, x.Now()); ok {
		return token, nil
	}
	address, err := readAddress(c.tokenURL, nil)
	if err != nil {
		return "", automation.Invalid("fetch.auth.oauth2.tokenUrl: expected an absolute http or https address")
	}
	grant := clientcredentials.Config{
		ClientID: c.clientID, ClientSecret: c.clientSecret, TokenURL: address.String(), Scopes: strings.Fields(c.scope),
	}
	token, err := grant.Token(context.WithValue(ctx, oauth2.HTTPClient, x.careful))
	if err != nil {
		return "", &grantError{err}
	}
	x.tokens.put(c, token, x.Now())
	return token.AccessToken, nil
}

// grantError is why there is no token.
type grantError struct{ error }

// Unwrap returns what happened.
func (e *grantError) Unwrap() error { return e.error }

// authorizationFault returns why a request could not be given its credentials,
// as an automation is told it.
func (x *exchange) authorizationFault(w *deadline, err error) error {
	failed, ok := errors.AsType[*grantError](err)
	if w.ctx.Err() != nil {
		return x.fault(w, err)
	}
	if !ok {
		return err
	}
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil {
		return x.raise(reasonGrant, fmt.Sprintf("the server of auth.oauth2 gives no token: it answers with status %d", refused.Response.StatusCode))
	}
	if strings.HasPrefix(failed.Error(), "oauth2: ") {
		return x.raise(reasonGrant, "the server of auth.oauth2 gives no token")
	}
	return x.fault(w, failed.error)
}
