package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"svc/commands"
	"svc/commands/egress"
)

// otlpClient sends spans to a collector, as OTLP over HTTP. That of OpenTelemetry brings all of gRPC along.
type otlpClient struct {
	url     string
	headers map[string]string
	http    http.Client
	stopped context.Context
	stop    context.CancelFunc
}

// Bounds of one attempt, of what is read of an answer, and of the pause before the next attempt. The spans that could not be
// sent in time are lost: the processor of spans ends the context.
const (
	otlpTimeout  = 10 * time.Second
	otlpAnswer   = 4 << 10
	otlpPause    = time.Second
	otlpMaxPause = 30 * time.Second
)

func newOTLPClient(url string, headers map[string]string) *otlpClient {
	c := &otlpClient{url: url, headers: headers, http: http.Client{Timeout: otlpTimeout}}
	c.stopped, c.stop = context.WithCancel(context.Background())
	return c
}

// Start implements otlptrace.Client. A wrong address is an error now, and not when the first spans are sent.
func (c *otlpClient) Start(ctx context.Context) error {
	_, err := c.request(ctx, nil)
	return err
}

// Stop implements otlptrace.Client. It ends what is being sent.
func (c *otlpClient) Stop(context.Context) error {
	c.stop()
	return nil
}

// UploadTraces implements otlptrace.Client. It tries again while the collector says that it may help.
func (c *otlpClient) UploadTraces(ctx context.Context, list []*spans.ResourceSpans) error {
	body, err := proto.Marshal(&spans.TracesData{ResourceSpans: list}) // it has the same form as an ExportTraceServiceRequest
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.stopped, cancel)()
	for pause := otlpPause; ; pause = min(2*pause, otlpMaxPause) {
		wait, err := c.post(ctx, body)
		if wait < 0 {
			return err
		}
		if commands.Sleep(ctx, max(pause, wait)) != nil {
			return err
		}
	}
}

// post makes one attempt, and returns how long the collector wants to be left alone before the next one; less than zero: there
// is none.
func (c *otlpClient) post(ctx context.Context, body []byte) (wait time.Duration, err error) {
	r, err := c.request(ctx, body)
	if err != nil {
		return -1, err
	}
	answer, err := c.http.Do(r)
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return 0, err
	}
	if err != nil {
		return -1, err
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, otlpAnswer)) // a broken answer is shown as far as it was read
	if answer.StatusCode/100 == 2 {
		return -1, nil
	}
	err = fmt.Errorf("the collector at %s answered %s: %q", r.URL.Redacted(), answer.Status, said)
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		wait, _ = egress.RetryAfter(answer.Header.Get("Retry-After"), time.Now())
		return wait, err
	}
	return -1, err
}

func (c *otlpClient) request(ctx context.Context, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", "svc")
	for name, value := range c.headers {
		r.Header.Set(name, value)
	}
	return r, nil
}
