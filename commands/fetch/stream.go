package fetch

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"svc/domain/automation/sse"
	"svc/domain/value"
)

// packet is how much is read of a stream at once.
const packet = 32 << 10

// Stream is the live body of an answer: server-sent events, read one at a time.
// Nothing is read ahead, so the other side is slowed down by a slow reader. It
// holds a connection until it ends, is closed or is not read for a while.
type Stream struct {
	x     *exchange
	watch *deadline // nil: the body is in memory
	body  io.Reader
	close func()
	split *sse.Parser

	mu     sync.Mutex // held while the body is read
	buffer []byte
	ready  []*value.Object
	fate   error // why there is nothing more to read: io.EOF, or what happened; nil: there may be
	failed *Failed
	idle   *time.Timer // ends the stream when it is not read
}

// LiveStream implements value.Stream.
func (s *Stream) LiveStream() {}

// openStream returns an answer whose body is read later. The text of one that
// failed is read at once, because it is told.
func (x *exchange) openStream(a *answer) (any, *Failed, error) {
	s := &Stream{x: x, body: a.content, watch: a.watch, close: a.close, split: sse.New(int(x.MaxResponse)), buffer: make([]byte, packet)}
	var failed *Failed
	if a.StatusCode >= http.StatusBadRequest {
		defer a.close()
		p := &largeSlot{exchange: x}
		defer p.release()
		raw, err := p.read(a)
		if err != nil {
			err = x.fault(a.watch, err)
			return value.Undefined, x.failed(a, nil, err), err
		}
		failed = x.failed(a, raw, nil)
		s.body, s.watch, s.close = bytes.NewReader(raw), nil, func() {}
	} else {
		a.watch.pause()
		a.watch.detach() // it outlives the call that opened it
	}
	s.mu.Lock()
	s.idle = time.AfterFunc(x.Unread, s.expire)
	s.mu.Unlock()
	return a.detailedOutput(s, true), failed, nil
}

// Next returns the next item, and false after the last. It waits as long as the
// other side is not silent for longer than the timeout of the fetch. A stream
// whose ctx ends while it waits is closed.
func (s *Stream) Next(ctx context.Context) (item any, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.idle.Stop() && s.fate == nil {
		s.end(s.cutOff(errUnread))
	}
	if s.watch != nil {
		stop := context.AfterFunc(ctx, func() { s.watch.cancel(context.Cause(ctx)) })
		defer stop()
	}
	for len(s.ready) == 0 && s.fate == nil {
		s.read()
	}
	if len(s.ready) > 0 {
		item, s.ready = s.ready[0], s.ready[1:]
		s.idle.Reset(s.x.Unread)
		return item, true, nil
	}
	if isCompleteBody(s.fate) {
		return nil, false, nil
	}
	return nil, false, s.fate
}

// read takes one packet.
func (s *Stream) read() {
	if s.watch != nil {
		s.watch.resume()
	}
	n, err := s.body.Read(s.buffer)
	if s.watch != nil {
		s.watch.pause()
	}
	var parseErr error
	s.ready, parseErr = s.split.Feed(s.buffer[:n])
	switch {
	case parseErr != nil:
		s.end(parseErr)
	case isCompleteBody(err):
		s.ready = append(s.ready, s.split.End()...)
		s.end(io.EOF)
	case err != nil:
		s.end(err)
	}
}

// end gives the connection back. What happened is told by every Next from then
// on.
func (s *Stream) end(err error) {
	if s.fate == nil && !isCompleteBody(err) {
		err = s.x.fault(s.watch, err)
		s.failed = s.x.failed(nil, nil, err)
	}
	if s.fate == nil {
		s.fate = err
	}
	s.buffer = nil
	s.idle.Stop()
	s.close()
}

// cutOff interrupts the reader.
func (s *Stream) cutOff(why error) error {
	if s.watch != nil {
		s.watch.cancel(why)
	}
	return why
}

// expire ends a stream that is not read.
func (s *Stream) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fate != nil && len(s.ready) == 0 {
		return
	}
	s.fate, s.ready = nil, nil // items are lost: that is no good end
	s.end(s.cutOff(errUnread))
}

// Close ends the stream and interrupts its reader. Closing twice does
// nothing.
func (s *Stream) Close() {
	why := s.cutOff(errClosed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fate == nil {
		s.fate = s.x.raise(reasonReset, why.Error())
	}
	s.ready = nil
	s.end(why)
}

// Failed returns what runtime.fetch.failed tells of a stream that broke off; nil
// when there is nothing to tell.
func (s *Stream) Failed() *Failed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}
