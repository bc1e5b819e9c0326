package gateway

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// AddHeader adds the headers of a handler to those that the gateway has set. Who may read
// the answer of another origin the handler says only where the gateway has not.
func AddHeader(to, more http.Header) {
	decided := to.Get("Access-Control-Allow-Origin") != ""
	for key, values := range more {
		key = http.CanonicalHeaderKey(key)
		switch {
		case key == "Link" || key == "Vary": // a version on its way out has set the one, the origin of the request the other
			values = slices.Concat(to[key], values)
		case decided && strings.HasPrefix(key, "Access-Control-"):
			continue
		}
		to[key] = values
	}
}

// send writes the reply. It is the only place that writes a body, streams and
// handlers that are no HandlerFunc excepted.
// An error means that a stream failed before it wrote anything.
func (rp *reply) send(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	AddHeader(h, rp.header)
	switch {
	case rp.stream != nil:
		return rp.serveStream(w, r)
	case rp.reader != nil:
		rp.copy(w, r)
	default:
		if rp.status != http.StatusNotModified && rp.status != http.StatusNoContent {
			h.Set("Content-Length", strconv.Itoa(len(rp.body)))
		}
		w.WriteHeader(rp.status)
		_, _ = w.Write(rp.body) // the client left: nobody to tell
	}
	return nil
}

// copy sends a reader, with ranges when it can seek.
func (rp *reply) copy(w http.ResponseWriter, r *http.Request) {
	if closer, ok := rp.reader.(io.Closer); ok {
		defer closer.Close()
	}
	if seeker, ok := rp.reader.(io.ReadSeeker); ok && rp.status == http.StatusOK {
		http.ServeContent(w, r, "", rp.modified, seeker)
		return
	}
	w.WriteHeader(rp.status)
	if r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(w, rp.reader); err != nil {
		panic(http.ErrAbortHandler) // a short answer must not look whole
	}
}

// serveStream hands the connection over to a stream.
func (rp *reply) serveStream(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set(gzhttp.HeaderNoCompression, "1")
	rec := &recorder{ResponseWriter: w}
	err := errCutOff
	var last any
	defer func() { rp.end(last, err) }()
	if last, err = rp.stream.Serve(rec, r); rec.wrote() {
		return nil
	}
	return err
}

// errCutOff is what became of a stream that did not say.
var errCutOff = errors.New("gateway: stream cut off")

// end tells who waits for a stream that it is over.
func (rp *reply) end(last any, err error) {
	if rp.settle != nil {
		rp.settle(last, err)
	}
}

// abandon lets go of a reply that nobody will send.
func (rp *reply) abandon() {
	rp.end(nil, errCutOff)
	if closer, ok := rp.reader.(io.Closer); ok {
		_ = closer.Close()
	}
}

// recorder notes the status and size of an answer for metrics and logs, and
// looks after a body that was not read when the answer begins.
type recorder struct {
	http.ResponseWriter
	incoming *incoming // the request's body; nil: none to look after
	status   int
	bytes    int64
}

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 || w.status == http.StatusContinue || w.status == http.StatusEarlyHints {
		w.status = status
	}
	if status >= http.StatusOK {
		w.incoming.settle(w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(b []byte) (int, error) {
	w.start()
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// start notes that an answer begins without a status.
func (w *recorder) start() {
	if w.status == 0 {
		w.status = http.StatusOK
		w.incoming.settle(w.Header())
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *recorder) Flush() {
	w.start()
	_ = http.NewResponseController(w.ResponseWriter).Flush() // a writer that cannot has nothing to flush
}

// Hijack implements http.Hijacker, for WebSockets.
func (w *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.status = http.StatusSwitchingProtocols
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

func (w *recorder) wrote() bool { return w.status != 0 }
