package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
)

// Part is one field of a multipart body. Files are read by whoever takes the
// part; reading past the limit is refused with 413.
type Part struct {
	Name     string
	Filename string // empty: a text field
	Type     string
	Text     string    // of a text field
	File     io.Reader // of a file
}

// Parts calls take for each part of a multipart body, in order. Files may have
// maxFile bytes each (zero: UPLOADS_MAX_SIZE), text fields 1 MB, and there may
// be 50 parts.
func Parts(r *http.Request, maxFile int64, take func(Part) error) error {
	end := newClosing(r)
	r.Body = end
	reader, err := r.MultipartReader()
	if err != nil {
		return RefuseStatus(http.StatusUnsupportedMediaType, "the body must be multipart/form-data")
	}
	if maxFile <= 0 {
		maxFile = exchangeOf(r).settings.UploadsMaxSize
	}
	for n := 0; ; n++ {
		raw, err := reader.NextPart()
		if err == io.EOF && end.seen { //nolint:errorlint // a wrapped EOF is a body cut short
			return nil
		}
		if err != nil {
			return badPart(err)
		}
		if n == maxParts {
			return badBody("the body has too many parts")
		}
		part, err := readPart(raw, maxFile)
		if err != nil {
			return err
		}
		if err := take(part); err != nil {
			return err
		}
	}
}

// closing is a multipart body that notes whether its last boundary came: to who reads its
// parts, one that ends within the headers of a part looks as if it had ended.
type closing struct {
	io.ReadCloser
	mark []byte // the boundary at its end, at the beginning of a line
	last []byte // of what was read, less than a mark
	seen bool
}

func newClosing(r *http.Request) *closing {
	_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return &closing{ReadCloser: r.Body, mark: []byte("\n--" + params["boundary"] + "--"), last: []byte("\n")}
}

// Read implements io.Reader.
func (c *closing) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	if !c.seen {
		c.last = append(c.last, b[:n]...)
		c.seen = bytes.Contains(c.last, c.mark)
		c.last = append(c.last[:0], c.last[max(0, len(c.last)-len(c.mark)+1):]...)
	}
	return n, err
}

func readPart(raw *multipart.Part, maxFile int64) (Part, error) {
	part := Part{Name: raw.FormName(), Filename: raw.FileName(), Type: raw.Header.Get("Content-Type")}
	if !printable(part.Name) || !printable(part.Filename) {
		return part, badBody("the name of a part is not acceptable text")
	}
	if part.Filename != "" {
		part.File = partReader{http.MaxBytesReader(nil, raw, maxFile)}
		return part, nil
	}
	text, err := io.ReadAll(partReader{http.MaxBytesReader(nil, raw, maxTextPart)})
	part.Text = string(text)
	return part, err
}

// partReader turns what stops the reading of a part into a refusal.
type partReader struct{ io.Reader }

// Read implements io.Reader.
func (p partReader) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = badPart(err)
	}
	return n, err
}

func badPart(err error) error {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(large.Limit+1, large.Limit)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return badBody("the multipart body is malformed")
}
