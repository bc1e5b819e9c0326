package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// The shape of multipart bodies.
const (
	maxParts    = 50
	maxTextPart = megabyte
)

// limitBody is the step that bounds the body: by what the client announces,
// before anything is read, and again while it is read.
func (g *Gateway) limitBody(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if ex.route.Body == NoBody {
		r.Body = http.NoBody
		return nil
	}
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	most := ex.bodyLimit(r)
	if r.ContentLength > most {
		return tooLarge(r.ContentLength, most)
	}
	r.Body = http.MaxBytesReader(nil, r.Body, most)
	return nil
}

// bodyLimit returns the limit of the route's body. A multipart body has more
// parts than one; each is bounded again by who reads it.
func (ex *exchange) bodyLimit(r *http.Request) int64 {
	multipart := strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "multipart/")
	switch {
	case ex.route.MaxBody > 0:
		return ex.route.MaxBody
	case ex.route.Body == UploadBody && multipart:
		return maxParts * max(ex.settings.UploadsMaxSize, maxTextPart)
	case ex.route.Body == UploadBody:
		return ex.settings.UploadsMaxSize
	case ex.route.Body == FormBody && multipart:
		return ex.settings.UploadsMaxSize + megabyte
	case ex.route.Body == ArchiveBody && multipart:
		return ex.settings.ImportMaxSize + megabyte
	case ex.route.Body == ArchiveBody:
		return ex.settings.ImportMaxSize
	}
	return ex.settings.RequestMaxSize
}

// readBody reads a body to its end. Whatever stops it is the client's fault:
// too much, too little, too late, or a connection that broke.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(BodyReader(r))
	if err != nil {
		return nil, err
	}
	return body, nil
}

// BodyReader returns the body of r to be read bit by bit. What stops it is a refusal, as
// that of ReadBody.
func BodyReader(r *http.Request) io.Reader {
	if r.Body == nil {
		return http.NoBody
	}
	return bodyReader{r}
}

type bodyReader struct{ r *http.Request }

// Read implements io.Reader.
func (b bodyReader) Read(p []byte) (int, error) {
	n, err := b.r.Body.Read(p)
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return n, tooLarge(max(b.r.ContentLength, large.Limit+1), large.Limit)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return n, err
	}
	return n, badBody("the body could not be read to its end")
}

// ReadBody returns the body of r, bounded as its route says.
func ReadBody(r *http.Request) ([]byte, error) { return readBody(r) }
