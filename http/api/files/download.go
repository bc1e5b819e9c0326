package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"svc/commands"
	"svc/domain/file"
	"svc/http/gateway"
	"svc/projections"
)

// DownloadFile handles GET /v2/files/{workspaceId}/{fileId}.{name}. The id alone
// names the file: who had an earlier name finds it too.
func (h *Handlers) DownloadFile(r *http.Request) (any, error) {
	found, err := h.findDownload(r)
	if err != nil {
		return nil, err
	}
	return ContentResponse(r, h.Contents, h.Dir, found, h.Now())
}

// ContentResponse is the content of a file, with headers that make it harmless wherever it is opened.
func ContentResponse(r *http.Request, source Contents, dir string, s file.State, now time.Time) (any, error) {
	content := &fileContent{ctx: r.Context(), source: source, dir: dir, name: s.Checksum, size: s.Size}
	if r.Method == http.MethodGet && !hasContent(r, s.Checksum) {
		if err := content.load(); err != nil { // while it can still be told
			return nil, err
		}
	}
	return gateway.Content{Type: downloadType(s.Mimetype), Reader: content, Header: downloadHeader(s, now)}, nil
}

// hasContent reports whether the client may have the content already.
func hasContent(r *http.Request, checksum string) bool {
	tags := r.Header.Get("If-None-Match")
	return strings.Contains(tags, checksum) || strings.Contains(tags, "*")
}

// findDownload returns the file that the path names, if the caller may have it:
// because it is public, because they may read it, or because they have a link.
func (h *Handlers) findDownload(r *http.Request) (s file.State, err error) {
	q := gateway.NewQuery(r)
	token := q.Text("token")
	if err := q.Err(); err != nil {
		return s, err
	}
	caller := gateway.CallerFrom(r.Context())
	if caller.MFAPending {
		caller = gateway.Caller{} // it is not known yet who they are
	}
	workspace, id := gateway.Var(r, "workspaceId"), gateway.Var(r, "fileId")
	rd := h.ReadModel.Reader()
	defer rd.Close()
	found, ok, err := projections.Files{}.Get(rd, workspace, id, h.Now())
	if err != nil {
		return s, err
	}
	rights, _, err := h.Access.Readable(caller, rd)(workspace)
	if err != nil {
		return s, err
	}
	if !ok || rights == nil {
		return s, noFile(id)
	}
	if s = found.State; s.Public {
		return s, nil
	}
	refusal := rights.Check("read", "files", Object(s))
	if refusal == nil {
		return s, nil
	}
	if token != "" {
		return s, h.Links.Admit(r.Context(), s, token)
	}
	if caller.Kind == gateway.KindNone {
		return s, gateway.MissingCredential()
	}
	return s, refusal
}

// downloadType is the type of a file as a browser is told it.
func downloadType(mimetype string) string {
	if strings.HasPrefix(mimetype, "text/") {
		return mimetype + "; charset=utf-8"
	}
	return mimetype
}

// How long a cache may show a public file without asking.
const publicAge = 5 * time.Minute

// downloadHeader is what makes a file harmless wherever it is opened.
func downloadHeader(s file.State, now time.Time) http.Header {
	h := http.Header{
		"Etag":                         {`"` + s.Checksum + `"`},
		"Content-Disposition":          {disposition(s)},
		"Content-Security-Policy":      {"default-src 'none'; style-src 'unsafe-inline'; sandbox"},
		"Referrer-Policy":              {"no-referrer"}, // a link is a credential
		"Cross-Origin-Resource-Policy": {"same-site"},
		"Cache-Control":                {"private, no-cache"},
		gzhttp.HeaderNoCompression:     {"1"}, // a range is one of the bytes as they are
	}
	if s.Mimetype == typePDF {
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; object-src 'self'") // no reader opens in a sandbox
	}
	if s.Public {
		age := publicAge
		if !s.ExpiresAt.IsZero() {
			age = min(age, s.ExpiresAt.Sub(now))
		}
		h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(age.Seconds())))
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	return h
}

// disposition says how a file is opened and what it is called, by RFC 6266: first
// for those who know ASCII only.
func disposition(s file.State) string {
	kind := "attachment"
	if isInlineType(s.Mimetype) {
		kind = "inline"
	}
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%`, r) {
			return '_'
		}
		return r
	}, s.Name)
	text := kind + `; filename="` + plain + `"`
	if plain != s.Name {
		text += "; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(s.Name), "+", "%20")
	}
	return text
}

// maxInMemory is up to what size a content is held in memory while it is sent.
const maxInMemory = 256 << 10

// fileContent is what a file holds, to be read in any order. It is loaded whole
// and checked before the first byte goes out: a damaged content is never a part
// of an answer.
type fileContent struct {
	ctx    context.Context // of the request, within which the gateway reads it
	source Contents
	dir    string
	name   string
	size   int64

	at     int64
	loaded io.ReadSeeker
	closer io.Closer
}

// load gets the content from where it is kept.
func (c *fileContent) load() error {
	r, size, err := c.source.Open(c.ctx, c.name)
	if err != nil {
		return commands.Refused(fmt.Errorf("read a file: %w", err))
	}
	defer r.Close()
	if size != c.size {
		return fmt.Errorf("file content %s has %d bytes instead of %d", c.name, size, c.size)
	}
	if size <= maxInMemory {
		whole, err := io.ReadAll(r)
		if err != nil {
			return commands.Refused(fmt.Errorf("read a file: %w", err))
		}
		c.loaded = bytes.NewReader(whole)
		return nil
	}
	s, err := spoolToFile(c.dir, r)
	if err != nil {
		return err
	}
	c.loaded, c.closer = s.File, s
	return nil
}

// Read implements io.Reader.
func (c *fileContent) Read(p []byte) (int, error) {
	if c.loaded == nil {
		if err := c.load(); err != nil {
			return 0, err
		}
	}
	if _, err := c.loaded.Seek(c.at, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := c.loaded.Read(p)
	c.at += int64(n)
	return n, err
}

// Seek implements io.Seeker. It needs no content.
func (c *fileContent) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.at
	case io.SeekEnd:
		offset += c.size
	}
	if offset < 0 {
		return 0, errors.New("api: seek before the beginning of a file")
	}
	c.at = offset
	return offset, nil
}

// Close implements io.Closer.
func (c *fileContent) Close() error {
	if c.closer == nil {
		return nil
	}
	return c.closer.Close()
}
