package fetch

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/value"
)

// request is what is sent, references to secrets replaced, but for what each
// attempt adds.
type request struct {
	address *url.URL
	header  http.Header
	body    []byte // nil: none
	auth    reader // how to authenticate
}

func newRequest(method string, params *value.Object) (*request, error) {
	r := reader{params, "fetch"}
	var err error
	q := &request{auth: r.member("auth", &err)}
	address, query, headers := r.text("url", "", &err), r.member("query", &err), r.member("headers", &err)
	if err != nil {
		return nil, err
	}
	if q.address, err = readAddress(address, query.Object); err != nil {
		return nil, err
	}
	if q.header, err = readHeaders(headers.Object); err != nil {
		return nil, err
	}
	if method == http.MethodGet || method == http.MethodHead {
		return q, nil
	}
	q.body, err = encodeBody(params, q.header)
	return q, err
}

// Target returns the method and the address that a request with these parameters is sent to.
func Target(params *value.Object) (method, address string, err error) {
	r := reader{params, "fetch"}
	method = strings.ToUpper(r.text("method", "get", &err))
	text, query := r.text("url", "", &err), r.member("query", &err)
	if err != nil {
		return "", "", err
	}
	u, err := readAddress(text, query.Object)
	if err != nil {
		return "", "", err
	}
	return method, u.String(), nil
}

// readAddress returns the address with a query joined to its own. Errors do not contain the
// address, because secrets are resolved in it.
func readAddress(text string, query *value.Object) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, automation.Invalid("fetch.url: expected an absolute http or https address")
	}
	more, err := encodePairs(query, "fetch.query")
	if err != nil {
		return nil, err
	}
	u.RawQuery = joinQuery(escapeInvalid(u.RawQuery), more)
	return u, nil
}

func joinQuery(one, other string) string {
	if one == "" || other == "" {
		return one + other
	}
	return one + "&" + other
}

// escapeInvalid percent-encodes characters that a query must not contain: authors write spaces
// and letters as they are.
func escapeInvalid(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>`", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(query[i])
	}
	return b.String()
}

// encodePairs writes an object as a query or a form: an array repeats its key,
// nothing is left out, an object is JSON.
func encodePairs(o *value.Object, at string) (string, error) {
	var pairs []string
	for _, key := range o.Keys() {
		texts, err := textsOf(o.At(key))
		if err != nil {
			return "", automation.Invalid("%s.%s: %v", at, key, err)
		}
		for _, text := range texts {
			pairs = append(pairs, escapePart(key)+"="+escapePart(text))
		}
	}
	return strings.Join(pairs, "&"), nil
}

func escapePart(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// textsOf returns the texts of a value whose key may be repeated.
func textsOf(v any) (texts []string, err error) {
	items, list := v.([]any)
	if !list {
		items = []any{v}
	}
	for _, item := range items {
		switch item.(type) {
		case value.Stream:
			return nil, fmt.Errorf("a stream has no text")
		case []any, *value.Object:
			texts = append(texts, value.JSON(item, ""))
		default:
			if !value.IsNothing(item) {
				texts = append(texts, value.Text(item))
			}
		}
	}
	return texts, nil
}

// notTheirs are headers that belong to the connection, or that are always added:
// what an author says about them does not count.
var notTheirs = []string{
	"Host", "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Connection", "Keep-Alive", "Upgrade", "Expect",
	"Proxy-Authorization", "Proxy-Connection", "User-Agent", "X-Correlation-Id", "X-Svc-Workspace-Id",
}

func readHeaders(o *value.Object) (http.Header, error) {
	header := http.Header{}
	for _, key := range o.Keys() {
		name := http.CanonicalHeaderKey(key)
		if !httpguts.ValidHeaderFieldName(key) {
			return nil, automation.Invalid("fetch.headers: %q is not a valid header name", key)
		}
		texts, err := textsOf(o.At(key))
		if err != nil || slices.ContainsFunc(texts, badHeaderValue) {
			return nil, automation.Invalid("fetch.headers.%s: expected a text without control characters", key)
		}
		if slices.Contains(notTheirs, name) {
			continue
		}
		for _, text := range texts {
			header.Add(name, strings.TrimSpace(text))
		}
	}
	return header, nil
}

func badHeaderValue(text string) bool {
	return !httpguts.ValidHeaderFieldValue(strings.TrimSpace(text))
}

const (
	contentType = "Content-Type"
	typeJSON    = "application/json"
	typeForm    = "application/x-www-form-urlencoded"
	typeOther   = "application/octet-stream"
)

// encodeBody returns what is sent, and says in header what type it is of.
func encodeBody(params *value.Object, header http.Header) ([]byte, error) {
	if parts := params.At("multipart"); !value.IsNothing(parts) {
		return encodeParts(parts, header)
	}
	body := params.At("body")
	if value.IsNothing(body) {
		return nil, nil
	}
	if header.Get(contentType) == "" {
		header.Set(contentType, typeJSON)
	}
	switch body := body.(type) {
	case string:
		return []byte(body), nil
	case value.Bytes:
		return body, nil
	case value.Stream:
		return nil, automation.Invalid("fetch.body: a stream cannot be sent")
	}
	if mediaOf(header.Get(contentType)) == typeForm {
		o, ok := body.(*value.Object)
		if !ok {
			return nil, automation.Invalid("fetch.body: a form is an object, not %s", value.TypeName(body))
		}
		text, err := encodePairs(o, "fetch.body")
		return []byte(text), err
	}
	return []byte(value.JSON(body, "")), nil
}

// mediaOf returns the type that a content-type names, without its parameters.
func mediaOf(header string) string {
	media, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// charsetOf returns the character set that a content-type names.
func charsetOf(header string) string {
	_, params, err := mime.ParseMediaType(header)
	if err != nil {
		return ""
	}
	return strings.ToLower(params["charset"])
}

func encodeParts(v any, header http.Header) ([]byte, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, automation.Invalid("fetch.multipart: expected a list, got %s", value.TypeName(v))
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i, item := range list {
		if err := writePart(w, item); err != nil {
			return nil, automation.Invalid("fetch.multipart[%d]%s", i, err.Message)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	header.Set(contentType, w.FormDataContentType())
	return b.Bytes(), nil
}

// writePart adds one part. The message of its error goes on where the path of
// the part ends.
func writePart(w *multipart.Writer, item any) *automation.Error {
	part, ok := item.(*value.Object)
	if !ok {
		return automation.Invalid(": expected an object, got %s", value.TypeName(item))
	}
	r, err := reader{part, ""}, error(nil)
	field, file, media := r.text("fieldname", "", &err), r.text("filename", "", &err), r.text("contentType", "", &err)
	switch {
	case err != nil:
		return automation.ErrorOf(err)
	case field == "":
		return automation.Invalid(".fieldname: expected a name")
	case !httpguts.ValidHeaderFieldValue(media):
		return automation.Invalid(".contentType: expected a type")
	}
	content, known := partContent(part.At("value"), file != "")
	if !known {
		return automation.Invalid(".value: expected a text or bytes, got %s", value.TypeName(part.At("value")))
	}
	// Writing to memory does not fail.
	to, _ := w.CreatePart(partHeader(field, file, media))
	_, _ = to.Write(content)
	return nil
}

func partHeader(field, file, media string) textproto.MIMEHeader {
	disposition := multipart.FileContentDisposition(field, file)
	if file == "" {
		disposition = strings.TrimSuffix(disposition, `; filename=""`)
	} else if media == "" {
		media = typeOther
	}
	header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
	if media != "" {
		header.Set(contentType, media)
	}
	return header
}

// partContent returns the bytes of a part: bytes and lists of them as they are,
// base64 of a file decoded, everything else as text.
func partContent(v any, file bool) ([]byte, bool) {
	switch v := v.(type) {
	case value.Bytes:
		return v, true
	case []any:
		if raw, ok := byteNumbers(v); ok {
			return raw, true
		}
		return []byte(value.JSON(v, "")), true
	case string:
		if raw, err := base64.StdEncoding.DecodeString(v); file && err == nil {
			return raw, true
		}
		return []byte(v), true
	case *value.Object:
		return []byte(value.JSON(v, "")), true
	case float64, bool:
		return []byte(value.Text(v)), true
	}
	return nil, false
}

func byteNumbers(list []any) ([]byte, bool) {
	raw := make([]byte, len(list))
	for i, item := range list {
		n, ok := item.(float64)
		if !ok || n < 0 || n > 255 || n != float64(byte(n)) {
			return nil, false
		}
		raw[i] = byte(n)
	}
	return raw, true
}

// The values of outputMode.
const (
	modeBody     = "body"
	modeDetailed = "detailed_response"
	modeBase64   = "base64"
	modeDataURL  = "data_url"
)

// maxTimeout is the longest timeout that a fetch may set.
const maxTimeout = 600 * time.Second

var (
	methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}
	modes   = []string{modeBody, modeDetailed, modeBase64, modeDataURL}
)

// terms are the parameters that are not sent.
type terms struct {
	method   string
	mode     string
	timeout  time.Duration
	report   bool // emitErrors
	trusting bool // allowSelfSignedCert
	forward  bool // auth.svc.forwardWorkspaceAuth
	keyed    bool // svcApiKey is given
	role     string
	chunks   *chunkTerms // stream; nil: none
}

// chunkTerms are the parameters of stream.
type chunkTerms struct {
	payload, endChunk any
	path              []string // of what is concatenated; nil: nothing
	throttle          time.Duration
}

func (c *Client) readTerms(params *value.Object) (t terms, err error) {
	r := reader{params, "fetch"}
	t.method = strings.ToUpper(r.text("method", "get", &err))
	if err == nil && !slices.Contains(methods, t.method) {
		err = automation.Invalid("fetch.method: must be one of: get, post, put, patch, delete, head; got %s", strings.ToLower(t.method))
	}
	t.mode = r.text("outputMode", modeBody, &err)
	if err == nil && !slices.Contains(modes, t.mode) {
		err = automation.Invalid("fetch.outputMode: must be one of: %s; got %s", strings.Join(modes, ", "), t.mode)
	}
	t.timeout = time.Duration(r.number("timeout", c.Timeout.Seconds(), &err) * float64(time.Second))
	if err == nil && (t.timeout <= 0 || t.timeout > max(maxTimeout, c.Timeout)) {
		err = automation.Invalid("fetch.timeout: expected more than 0 and at most 600 seconds")
	}
	t.report = r.boolean("emitErrors", true, &err)
	t.trusting = r.boolean("allowSelfSignedCert", false, &err)
	auth := r.member("auth", &err)
	svc := auth.member("svc", &err)
	t.forward = svc.boolean("forwardWorkspaceAuth", false, &err)
	if key := r.member("svcApiKey", &err); !automation.IsBlank(key.Object) {
		t.keyed, t.role = true, key.text("name", "", &err)
	}
	if stream := r.member("stream", &err); Streams(stream.Object) {
		t.chunks = readChunkTerms(stream, &err)
	}
	return t, err
}

// Streams reports whether the answer is emitted piece by piece: the parameters below stream
// name an event. Editors leave empty forms behind.
func Streams(stream *value.Object) bool {
	return stream != nil && !automation.IsBlank(stream.At("event"))
}

func readChunkTerms(r reader, err *error) *chunkTerms {
	t := &chunkTerms{payload: r.At("payload"), endChunk: r.At("endChunk")}
	r.text("event", "", err)
	gather := r.member("concatenate", err)
	t.throttle = time.Duration(gather.number("throttle", 0, err) * float64(time.Millisecond))
	path := gather.text("path", "", err)
	if path == "" {
		return t
	}
	steps, ok := expr.PlainPath(path)
	if !ok && *err == nil {
		*err = automation.Invalid("fetch.stream.concatenate.path: expected a path")
	}
	for _, step := range steps {
		t.path = append(t.path, step.Key)
	}
	return t
}

// reader reads the members of an object of parameters. The first that is not of
// its type is the error; what is absent or null has its default.
type reader struct {
	*value.Object
	at string // its path, for messages
}

func (r reader) text(key, otherwise string, err *error) string {
	return member(r, key, otherwise, "a text", err)
}

func (r reader) number(key string, otherwise float64, err *error) float64 {
	return member(r, key, otherwise, "a number", err)
}

func (r reader) boolean(key string, otherwise bool, err *error) bool {
	return member(r, key, otherwise, "true or false", err)
}

func (r reader) member(key string, err *error) reader {
	return reader{member[*value.Object](r, key, nil, "an object", err), r.at + "." + key}
}

func member[T any](r reader, key string, otherwise T, expected string, err *error) T {
	v := r.At(key)
	if value.IsNothing(v) {
		return otherwise
	}
	got, ok := v.(T)
	if !ok && *err == nil {
		*err = automation.Invalid("%s.%s: expected %s, got %s", r.at, key, expected, value.TypeName(v))
	}
	return got
}

// resolved returns the parameters with the references to secrets in what is sent
// replaced. Keys are left as they are.
func (c Call) resolved(ctx context.Context) (*value.Object, error) {
	if c.Resolve == nil {
		return c.Params, nil
	}
	params := c.Params.Copy()
	for _, key := range automation.SentParams {
		v, err := c.replace(ctx, params.At(key))
		if err != nil {
			return nil, err
		}
		params.Set(key, v)
	}
	return params, nil
}

func (c Call) replace(ctx context.Context, v any) (any, error) {
	switch v := v.(type) {
	case string:
		return c.Resolve(ctx, v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			changed, err := c.replace(ctx, item)
			if err != nil {
				return nil, err
			}
			list[i] = changed
		}
		return list, nil
	case *value.Object:
		o := &value.Object{}
		for _, key := range v.Keys() {
			changed, err := c.replace(ctx, v.At(key))
			if err != nil {
				return nil, err
			}
			o.Set(key, changed)
		}
		return o, nil
	}
	return v, nil
}
