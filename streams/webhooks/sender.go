package webhooks

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

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
	client  *http.Client
	secrets Secrets
	now     func() time.Time
}

// newSender returns a sender that uses client, but follows no redirect.
func newSender(client *http.Client, secrets Secrets, now func() time.Time) *sender {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &sender{client: &own, secrets: secrets, now: now}
}

// send posts an event once and returns the result.
func (s *sender) send(ctx context.Context, sub subscription.State, keys *signingKeys, e *feed.Event) subscription.Attempt {
	began := s.now()
	a := subscription.Attempt{At: began.UTC().Truncate(time.Millisecond)}
	answer, err := s.post(ctx, sub, keys, e, began)
	if err != nil {
		a.Error = s.errorText(err)
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

func (s *sender) post(ctx context.Context, sub subscription.State, keys *signingKeys, e *feed.Event, now time.Time) (*http.Response, error) {
	body := e.JSON()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, sub.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	signatures, err := keys.sign(ctx, s.secrets, sub, e.ID, now, body)
	if err != nil {
		return nil, err
	}
	for _, h := range [...]struct{ name, value string }{
		{"Content-Type", "application/json; charset=utf-8"}, {"User-Agent", "svc-webhooks"},
		{standardwebhooks.HeaderWebhookID, e.ID},
		{standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10)},
		{standardwebhooks.HeaderWebhookSignature, signatures},
		{"X-Correlation-Id", e.Source.CorrelationID}, {"Traceparent", traceparent(e.Source.TraceID)},
	} {
		if h.value != "" {
			r.Header.Set(h.name, h.value)
		}
	}
	return s.client.Do(r)
}

// signingKeys are the opened secrets of one subscription. The zero value has none.
type signingKeys struct {
	mu    sync.Mutex
	of    subscription.Keys
	until time.Time // they are opened again then
	hooks []*standardwebhooks.Webhook
}

// openedFor is for how long opened secrets are used: as long as the vault uses the key of a workspace that may have
// been destroyed on another node.
const openedFor = time.Minute

// sign returns one signature for each valid secret.
func (k *signingKeys) sign(ctx context.Context, secrets Secrets, sub subscription.State, id string, now time.Time, body []byte) (string, error) {
	hooks, err := k.open(ctx, secrets, sub, now)
	if err != nil {
		return "", errUnsigned
	}
	var signatures []string
	for _, hook := range hooks {
		signature, err := hook.Sign(id, now, body)
		if err != nil {
			return "", errUnsigned
		}
		signatures = append(signatures, signature)
	}
	return strings.Join(signatures, " "), nil
}

// open returns the secrets that are valid now.
func (k *signingKeys) open(ctx context.Context, secrets Secrets, sub subscription.State, now time.Time) ([]*standardwebhooks.Webhook, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Before(k.until) && bytes.Equal(k.of.Sealed, sub.Keys.Sealed) && bytes.Equal(k.of.Previous, sub.Keys.Previous) {
		return k.hooks, nil
	}
	texts, err := secrets.Secrets(ctx, sub, now)
	if err != nil {
		return nil, err
	}
	var hooks []*standardwebhooks.Webhook
	for _, text := range texts {
		hook, err := standardwebhooks.NewWebhook(text)
		if err != nil {
			return nil, err
		}
		hooks = append(hooks, hook)
	}
	k.of, k.hooks, k.until = sub.Keys, hooks, now.Add(openedFor)
	if previous := sub.Keys.PreviousUntil; now.Before(previous) && previous.Before(k.until) {
		k.until = previous
	}
	return hooks, nil
}

// errUnsigned is the only error about a secret that cannot be decrypted.
var errUnsigned = errors.New("the secret of the subscription does not open: give it a new one with rotateSecret")

// traceparent is the W3C trace context of a step in the trace that caused an event.
func traceparent(traceID string) string {
	if len(traceID) != 32 {
		return ""
	}
	var span [8]byte
	_, _ = rand.Read(span[:]) // never fails: crypto/rand ends the process instead
	return "00-" + traceID + "-" + hex.EncodeToString(span[:]) + "-01"
}

// readExcerpt returns the beginning of a response as text, and reads more of it so that the connection can be reused.
func readExcerpt(body io.Reader) string {
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
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		if wrapped.Timeout() {
			return fmt.Sprintf("no answer within %s", s.client.Timeout)
		}
		err = wrapped.Err
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
