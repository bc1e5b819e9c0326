package handler

import (
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"
)

// streamPatience is how long a reader may take nothing of a stream.
const streamPatience = 30 * time.Second

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

// WantsStream reports whether the client names a stream of events before JSON.
func WantsStream(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		switch media, _, _ := mime.ParseMediaType(part); media {
		case eventStream:
			return true
		case "application/json", "application/*", "*/*":
			return false
		}
	}
	return false
}

// SetStreamHeaders sets the headers of a stream of events, which no proxy may hold back.
func SetStreamHeaders(h http.Header) {
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
}

// StreamWriter writes to a caller who is given up when they take nothing for a while.
type StreamWriter struct {
	w        http.ResponseWriter
	out      *http.ResponseController
	patience time.Duration
	shared   bool      // the connection carries other streams too
	boundAt  time.Time // when they were given that while
}

// NewStreamWriter returns a writer to the sender of a request.
func NewStreamWriter(w http.ResponseWriter, r *http.Request) *StreamWriter {
	return &StreamWriter{w: w, out: http.NewResponseController(w), patience: streamPatience, shared: r.ProtoMajor > 1}
}

// SendData sends one chunk.
func (d *StreamWriter) SendData(chunk []byte) error {
	return d.Send([]byte("data: " + string(chunk) + "\n\n"))
}

// Send writes, and waits until it is on its way.
func (d *StreamWriter) Send(content []byte) error {
	if now := time.Now(); now.Sub(d.boundAt) > d.patience/6 { // not each time: it costs as much as a write
		d.boundAt = now
		if err := d.SetDeadline(now.Add(d.patience)); err != nil {
			return err
		}
	}
	if _, err := d.w.Write(content); err != nil {
		return err
	}
	if err := d.out.Flush(); err != nil || !d.shared {
		return err
	}
	d.boundAt = time.Time{} // over HTTP/2 a deadline ends the stream even when nothing is written
	return d.SetDeadline(d.boundAt)
}

// SetDeadline sets until when the caller is to take what is sent; zero: for ever.
func (d *StreamWriter) SetDeadline(at time.Time) error {
	if err := d.out.SetWriteDeadline(at); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
