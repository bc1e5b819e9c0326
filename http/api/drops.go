package api

import (
	"errors"
	"net/http"
	"time"
)

// drops writes to a caller who is given up when they take nothing for a while.
type drops struct {
	w        http.ResponseWriter
	out      *http.ResponseController
	patience time.Duration
	shared   bool      // the connection carries other streams too
	bound    time.Time // when they were given that while
}

// dropsTo are the drops of an answer.
func dropsTo(w http.ResponseWriter, r *http.Request) *drops {
	return &drops{w: w, out: http.NewResponseController(w), patience: livePatience, shared: r.ProtoMajor > 1}
}

// piece sends one chunk.
func (d *drops) piece(chunk []byte) error { return d.send([]byte("data: " + string(chunk) + "\n\n")) }

// send writes, and waits until it is on its way.
func (d *drops) send(content []byte) error {
	if now := time.Now(); now.Sub(d.bound) > d.patience/6 { // not each time: it costs as much as a write
		d.bound = now
		if err := d.limit(now.Add(d.patience)); err != nil {
			return err
		}
	}
	if _, err := d.w.Write(content); err != nil {
		return err
	}
	if err := d.out.Flush(); err != nil || !d.shared {
		return err
	}
	d.bound = time.Time{} // over HTTP/2 a deadline ends the stream even when nothing is written
	return d.limit(d.bound)
}

// limit sets until when the caller is to take what is sent; zero: for ever.
func (d *drops) limit(at time.Time) error {
	if err := d.out.SetWriteDeadline(at); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
