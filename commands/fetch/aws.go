package fetch

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

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
