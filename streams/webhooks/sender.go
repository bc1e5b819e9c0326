package webhooks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc/commands/egress"
	"svc/domain/feed"
	"svc/domain/subscription"
)

// Secrets returns the secrets that sign deliveries. It is a *subscriptions.Subscriptions.
type Secrets interface {
	Secrets(ctx context.Context, state subscription.State, now time.Time) ([]string, error)
}

// How many bytes of a response are stored, how many are read so that its connection can be reused, and the longest
// error text.
const (
	maxExcerpt      = 1 << 10
	maxResponseRead = 16 << 10
	maxError        = 500
)

// sender makes attempts.
type sender struct {
	transport http.RoundTripper
	timeout   time.Duration // of an attempt; 0: none
	secrets   Secrets
	now       func() time.Time
}

// newSender returns a sender that uses the transport and the timeout of client. No redirect is followed and there are no
// cookies, so that the client itself, which starts goroutines for its timeout and copies the headers, is not needed.
func newSender(client *http.Client, secrets Secrets, now func() time.Time) *sender {
	s := &sender{transport: client.Transport, timeout: client.Timeout, secrets: secrets, now: now}
	if s.transport == nil {
		s.transport = http.DefaultTransport
	}
	return s
}

// timeLimit ends attempts that take too long. It is for attempts one after another: all that end in time have the same
// context and timer.
type timeLimit struct {
	parent  context.Context
	timeout time.Duration // 0: none
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
}

func (s *sender) newTimeLimit(parent context.Context) *timeLimit {
	return &timeLimit{parent: parent, timeout: s.timeout}
}

// begin returns the context of the next attempt.
func (l *timeLimit) begin() context.Context {
	switch {
	case l.timeout <= 0:
		return l.parent
	case l.ctx == nil:
		ctx, cancel := context.WithCancelCause(l.parent)
		l.ctx, l.cancel = ctx, cancel
		l.timer = time.AfterFunc(l.timeout, func() { cancel(context.DeadlineExceeded) })
	default:
		l.timer.Reset(l.timeout)
	}
	return l.ctx
}

// end ends the attempt. A context that has ended, or is about to, is not used again.
func (l *timeLimit) end() {
	if l.ctx != nil && !l.timer.Stop() {
		l.close()
	}
}

// close releases the context.
func (l *timeLimit) close() {
	if l.ctx != nil {
		l.cancel(nil)
		l.ctx = nil
	}
}

// send posts an event once and returns the result.
func (s *sender) send(limit *timeLimit, sub subscription.State, to *receiver, e *feed.Event) subscription.Attempt {
	began := s.now()
	ctx := limit.begin()
	defer limit.end()
	a := subscription.Attempt{At: began.UTC().Truncate(time.Millisecond)}
	answer, err := s.post(ctx, sub, to, e, began)
	if err != nil {
		a.Error = s.errorText(cmp.Or(context.Cause(ctx), err)) // what it makes of the end of its context is of no interest
	} else {
		defer answer.Body.Close()
		a.Status, a.ResponseBody = answer.StatusCode, readExcerpt(answer.Body)
		if !a.OK() {
			a.Error = statusError(answer.StatusCode)
		}
	}
	a.Duration = s.now().Sub(began).Milliseconds()
	return a
}

func (s *sender) post(ctx context.Context, sub subscription.State, to *receiver, e *feed.Event, now time.Time) (*http.Response, error) {
	body := e.JSON()
	r, err := to.request(ctx, sub.URL, body)
	if err != nil {
		return nil, err
	}
	signatures, err := to.sign(ctx, s.secrets, sub, e.ID, now, body)
	if err != nil {
		return nil, err
	}
	setHeaders(r.Header, [...]header{
		{"Content-Type", "application/json; charset=utf-8"}, {"User-Agent", "svc-webhooks"},
		{"Webhook-Id", e.ID}, {"Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10)}, {"Webhook-Signature", signatures},
		{"X-Correlation-Id", e.Source.CorrelationID}, {"Traceparent", traceparent(e.Source.TraceID)},
	})
	return s.transport.RoundTrip(r)
}

// header is a header of a request; its name is in the canonical form.
type header struct{ name, value string }

// setHeaders sets the headers that have a value.
func setHeaders(to http.Header, list [7]header) {
	values := new([len(list)]string) // one allocation for all
	for i, h := range list {
		if values[i] = h.value; h.value != "" {
			to[h.name] = values[i : i+1 : i+1]
		}
	}
}

// receiver is what the requests of one subscription have in common: the address, parsed, and the opened secrets. The
// zero value has neither.
type receiver struct {
	mu      sync.Mutex
	address string
	posting *http.Request // to the address, without a body; others copy it

	of      subscription.Keys
	until   time.Time // they are opened again then
	signers []*signer
}

// openedFor is for how long opened secrets are used: as long as the vault uses the key of a workspace that may have
// been destroyed on another node.
const openedFor = time.Minute

// request returns a request that posts a body to an address. Its header is empty.
func (to *receiver) request(ctx context.Context, address string, body []byte) (*http.Request, error) {
	posting, err := to.requestTo(address)
	if err != nil {
		return nil, err
	}
	r := posting.WithContext(ctx)
	r.Header, r.ContentLength = make(http.Header, 8), int64(len(body))
	r.Body = io.NopCloser(bytes.NewReader(body)) // of a type that the transport knows: it sends body and header at once
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return r, nil
}

// requestTo returns a request without a body. Nobody may change it.
func (to *receiver) requestTo(address string) (*http.Request, error) {
	to.mu.Lock()
	defer to.mu.Unlock()
	if to.posting != nil && to.address == address {
		return to.posting, nil
	}
	posting, err := http.NewRequest(http.MethodPost, address, nil)
	if err == nil {
		to.address, to.posting = address, posting
	}
	return posting, err
}

// sign returns one signature for each valid secret.
func (to *receiver) sign(ctx context.Context, secrets Secrets, sub subscription.State, id string, now time.Time, body []byte) (string, error) {
	signers, err := to.open(ctx, secrets, sub, now)
	if err != nil {
		return "", errUnsigned
	}
	signatures := make([]byte, 0, 128)
	for i, s := range signers {
		if i > 0 {
			signatures = append(signatures, ' ')
		}
		signatures = s.appendSignature(signatures, id, now, body)
	}
	return string(signatures), nil
}

// open returns the secrets that are valid now.
func (to *receiver) open(ctx context.Context, secrets Secrets, sub subscription.State, now time.Time) ([]*signer, error) {
	to.mu.Lock()
	defer to.mu.Unlock()
	if now.Before(to.until) && bytes.Equal(to.of.Sealed, sub.Keys.Sealed) && bytes.Equal(to.of.Previous, sub.Keys.Previous) {
		return to.signers, nil
	}
	texts, err := secrets.Secrets(ctx, sub, now)
	if err != nil {
		return nil, err
	}
	var signers []*signer
	for _, text := range texts {
		s, err := newSigner(text)
		if err != nil {
			return nil, err
		}
		signers = append(signers, s)
	}
	to.of, to.signers, to.until = sub.Keys, signers, now.Add(openedFor)
	if previous := sub.Keys.PreviousUntil; now.Before(previous) && previous.Before(to.until) {
		to.until = previous
	}
	return signers, nil
}

// signer signs deliveries with one secret, as Standard Webhooks prescribe. It is safe for concurrent use.
type signer struct{ hashes sync.Pool } // of *keyedHash

// keyedHash has hashed the key already, which would take most of the time.
type keyedHash struct {
	hash.Hash
	buf []byte
}

func newSigner(secret string) (*signer, error) {
	key, err := subscription.SecretKey(secret)
	if err != nil {
		return nil, err
	}
	return &signer{hashes: sync.Pool{New: func() any { return &keyedHash{Hash: hmac.New(sha256.New, key)} }}}, nil
}

// appendSignature appends the signature of a delivery.
func (s *signer) appendSignature(to []byte, id string, at time.Time, body []byte) []byte {
	mac := s.hashes.Get().(*keyedHash)
	defer s.hashes.Put(mac)
	mac.Reset()
	begin := append(append(mac.buf[:0], id...), '.')
	begin = append(strconv.AppendInt(begin, at.Unix(), 10), '.')
	mac.Write(begin)
	mac.Write(body)
	mac.buf = mac.Sum(begin[:0])
	return base64.StdEncoding.AppendEncode(append(to, "v1,"...), mac.buf)
}

// errUnsigned is the only error about a secret that cannot be decrypted.
var errUnsigned = errors.New("the secret of the subscription does not open: give it a new one with rotateSecret")

// traceparent is the W3C trace context of a step in the trace that caused an event.
func traceparent(traceID string) string {
	if len(traceID) != 32 {
		return ""
	}
	var span [8]byte // only has to differ from others
	binary.BigEndian.PutUint64(span[:], rand.Uint64())
	text := append(append(make([]byte, 0, 64), "00-"...), traceID...)
	text = hex.AppendEncode(append(text, '-'), span[:])
	return string(append(text, "-01"...))
}

// readExcerpt returns the beginning of a response as text, and reads more of it so that the connection can be reused.
func readExcerpt(body io.Reader) string {
	if body == http.NoBody {
		return ""
	}
	excerpt, _ := io.ReadAll(io.LimitReader(body, maxExcerpt)) // a broken response is shown as far as it was read
	_, _ = io.Copy(io.Discard, io.LimitReader(body, maxResponseRead))
	return strings.ToValidUTF8(strings.ReplaceAll(string(excerpt), "\x00", ""), "\uFFFD")
}

// statusError says why a response is a failure.
func statusError(status int) string {
	if status >= 300 && status < 400 {
		return fmt.Sprintf("answered %d: redirects are not followed", status)
	}
	return fmt.Sprintf("answered %d", status)
}

// errorText returns an error as the owner of a subscription sees it: without the URL, which may contain secrets, and
// without resolved addresses and name servers.
func (s *sender) errorText(err error) string {
	if refused, ok := errors.AsType[*egress.Refused](err); ok {
		return refused.Error()
	}
	if late, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && late.Timeout() {
		return fmt.Sprintf("no answer within %s", s.timeout)
	}
	if broken, ok := errors.AsType[tls.RecordHeaderError](err); ok && string(broken.RecordHeader[:]) == "HTTP/" {
		err = http.ErrSchemeMismatch
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		return "the host is not found: " + unknown.Err
	}
	if broken, ok := errors.AsType[*net.OpError](err); ok {
		err = fmt.Errorf("%s: %w", broken.Op, broken.Err)
	}
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "") + "…"
	}
	return text
}
