package automations_test

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// awsServer is a service that admits what is signed with its keys, by version 4 of the
// signature of AWS: it works every signature out again, from what it received.
type awsServer struct {
	*httptest.Server
	service, region string
	keys            map[string]string // secrets by id

	mu       sync.Mutex
	received []signed
	busy     int // so many requests are to come again
}

// signed is a request that came.
type signed struct {
	line, body, authorization string
	fault                     string // why it was not admitted
}

func newAWSServer(t *testing.T, service, region string, keys map[string]string) *awsServer {
	t.Helper()
	a := &awsServer{service: service, region: region, keys: keys}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

// ServeHTTP implements http.Handler.
func (a *awsServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	got := signed{r.Method + " " + r.RequestURI, string(body), r.Header.Get("Authorization"), ""}
	if err := a.verify(r, body); err != nil {
		got.fault = err.Error()
	}
	a.mu.Lock()
	a.received = append(a.received, got)
	a.busy--
	again := a.busy >= 0
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case again:
		w.WriteHeader(http.StatusServiceUnavailable)
	case got.fault != "":
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `{"fault":%q,"authorization":%q}`, got.fault, got.authorization)
	default:
		_, _ = io.WriteString(w, `"admitted"`)
	}
}

// seen returns what came since it was last asked.
func (a *awsServer) seen() (received []signed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	received, a.received = a.received, nil
	return received
}

// verify works the signature of a request out.
func (a *awsServer) verify(r *http.Request, body []byte) error {
	fields := map[string]string{}
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	for part := range strings.SplitSeq(rest, ",") {
		key, text, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[key] = text
	}
	date := r.Header.Get("X-Amz-Date")
	at, err := time.Parse("20060102T150405Z", date)
	if !ok || err != nil || time.Since(at).Abs() > 5*time.Minute {
		return fmt.Errorf("not signed, or not now, but at %q", date)
	}
	id, scope, _ := strings.Cut(fields["Credential"], "/")
	secret, known := a.keys[id]
	if want := date[:8] + "/" + a.region + "/" + a.service + "/aws4_request"; !known || scope != want {
		return fmt.Errorf("key %s, scope %s", id, scope)
	}
	canonical, err := a.canonical(r, strings.Split(fields["SignedHeaders"], ";"), hashed(body))
	if err != nil {
		return err
	}
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = keyed(key, part)
	}
	want := hex.EncodeToString(keyed(key, "AWS4-HMAC-SHA256\n"+date+"\n"+scope+"\n"+hashed([]byte(canonical))))
	if fields["Signature"] != want {
		return fmt.Errorf("another signature is expected for\n%s", canonical)
	}
	return nil
}

// canonical is a request as it is signed. Those to S3 have the hash of their body in a
// header, and sign their path encoded; for others what was sent is encoded once more.
func (a *awsServer) canonical(r *http.Request, names []string, payload string) (string, error) {
	required := []string{"host", "x-amz-date"}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if a.service == "s3" {
		required = append(required, "x-amz-content-sha256")
		if got := r.Header.Get("X-Amz-Content-Sha256"); got != payload {
			return "", fmt.Errorf("the body is %s, the header says %s", payload, got)
		}
		path = r.URL.Path
	}
	path = escaped(path, "/")
	for name := range r.Header {
		if name := strings.ToLower(name); name == "content-type" || strings.HasPrefix(name, "x-amz-") {
			required = append(required, name)
		}
	}
	for _, name := range required {
		if !slices.Contains(names, name) {
			return "", fmt.Errorf("%s must be signed", name)
		}
	}
	if !slices.IsSorted(names) {
		return "", fmt.Errorf("%v are not in order", names)
	}
	var heads strings.Builder
	for _, name := range names {
		values := r.Header.Values(name)
		if name == "host" {
			values = []string{r.Host}
		}
		heads.WriteString(name + ":" + strings.Join(strings.Fields(strings.Join(values, ",")), " ") + "\n")
	}
	return strings.Join([]string{r.Method, path, sortedQuery(r.URL.RawQuery), heads.String(), strings.Join(names, ";"), payload}, "\n"), nil
}

// sortedQuery is a query as it is signed: each name and value encoded, in order.
func sortedQuery(query string) string {
	var pairs [][2]string
	for part := range strings.SplitSeq(query, "&") {
		if part != "" {
			key, text, _ := strings.Cut(part, "=")
			key, _ = url.QueryUnescape(key)
			text, _ = url.QueryUnescape(text)
			pairs = append(pairs, [2]string{escaped(key, ""), escaped(text, "")})
		}
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1])) })
	texts := make([]string, len(pairs))
	for i, pair := range pairs {
		texts[i] = pair[0] + "=" + pair[1]
	}
	return strings.Join(texts, "&")
}

// escaped encodes all but what RFC 3986 leaves alone, and but.
func escaped(text, but string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	var b strings.Builder
	for _, c := range []byte(text) {
		if strings.IndexByte(plain+but, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func hashed(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text))
	return h.Sum(nil)
}
