package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// The patience with a body that nobody will use.
const (
	drainMost  = 256 << 10              // what is read of it to keep the connection
	drainWait  = 20 * time.Millisecond  // how long its bytes may take before the answer goes out
	lingerWait = 500 * time.Millisecond // how long the connection stays open after the answer
)

// errSlowBody is why the reading of a body ended: its time was up.
var errSlowBody = fmt.Errorf("the body did not come in time: %w", context.DeadlineExceeded)

// incoming is a request body on its way. Its bytes must come within the request
// timeout; those of a streaming route may take longer, as long as they come. A
// client that holds them back would hold the connection otherwise, and with it
// the answer, because net/http reads a body to its end before it answers.
//
// Deadlines belong to the socket, so they are of the real clock.
type incoming struct {
	io.ReadCloser
	conn    *http.ResponseController
	idle    time.Duration // each read begins it anew; zero: the first deadline stands
	unasked bool          // the client waits for 100 Continue before it sends
	length  int64         // -1: not announced

	whole   atomic.Bool // read to its end
	settled atomic.Bool // the answer has begun: nobody reads on
}

// receive sets the deadline for the body of r, and tells rec to look after it.
func receive(rec *recorder, r *http.Request, ex *exchange) {
	if r.Body == nil || r.Body == http.NoBody || r.ProtoMajor != 1 {
		return
	}
	b := &incoming{
		ReadCloser: r.Body, conn: http.NewResponseController(rec.ResponseWriter),
		unasked: strings.EqualFold(r.Header.Get("Expect"), "100-continue"), length: r.ContentLength,
	}
	if ex.route != nil && ex.route.Streaming {
		b.idle = ex.settings.RequestTimeout
	}
	b.allow(ex.settings.RequestTimeout)
	r.Body, rec.incoming = b, b
}

// allow gives the bytes to come some time. A writer without a connection, in
// tests, has no deadline.
func (b *incoming) allow(d time.Duration) { _ = b.conn.SetReadDeadline(time.Now().Add(d)) }

// Read implements io.Reader.
func (b *incoming) Read(p []byte) (int, error) {
	if b.settled.Load() {
		return 0, errSlowBody
	}
	if b.idle > 0 {
		b.allow(b.idle)
	}
	n, err := b.take(p)
	if err != nil && b.settled.Load() {
		err = errSlowBody // an end that settle may have reached: it would look whole
	}
	return n, err
}

// take reads, and notes when the body is whole. The deadline ends with it: at the
// end of a body net/http lifts it to watch the connection, and would wait for
// ever if we did so at a moment of our own.
func (b *incoming) take(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.whole.Store(true)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errSlowBody
	}
	return n, err
}

// settle is called before an answer goes out. A body that nobody has read to
// its end must not hold the answer back: what has come already is read, so that
// the connection can be kept; else it is closed after the answer, with a moment
// for the client to read it.
func (b *incoming) settle(h http.Header) {
	if b == nil || b.whole.Load() || b.settled.Swap(true) {
		return
	}
	if !b.unasked && b.length <= drainMost {
		b.allow(drainWait)
		_, _ = io.CopyN(io.Discard, readerFunc(b.take), drainMost)
		if b.whole.Load() {
			return
		}
	}
	h.Set("Connection", "close")
	b.allow(lingerWait)
}

type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
