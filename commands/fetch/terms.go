package fetch

import (
	"slices"
	"strings"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

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

// chunkTerms are the parameters below stream that say what is emitted.
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
	t.report = r.yes("emitErrors", true, &err)
	t.trusting = r.yes("allowSelfSignedCert", false, &err)
	auth := r.below("auth", &err)
	svc := auth.below("svc", &err)
	t.forward = svc.yes("forwardWorkspaceAuth", false, &err)
	if key := r.below("svcApiKey", &err); !automation.IsBlank(key.Object) {
		t.keyed, t.role = true, key.text("name", "", &err)
	}
	if stream := r.below("stream", &err); Streams(stream.Object) {
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
	gather := r.below("concatenate", err)
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

func (r reader) yes(key string, otherwise bool, err *error) bool {
	return member(r, key, otherwise, "true or false", err)
}

func (r reader) below(key string, err *error) reader {
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
