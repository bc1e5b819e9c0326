// Package reference serves the API reference page from the binary: a small
// page, a small script, and the viewer they start. Nothing is asked of another
// host, and the page's policy lets the browser refuse to.
package reference

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"svc/domain"
	"svc/http/gateway"
)

//go:embed dist
var dist embed.FS

// policy lets the page run its own two scripts and talk to its own host, and
// nothing else. The viewer writes its styles into the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data: blob:; " +
	"font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Reference serves the page and what it loads. Both are read for the first who asks: most services are never asked.
type Reference struct{ files func() *files }

// files are the page and what it loads.
type files struct {
	page   []byte
	assets map[string]asset // by the name in the URL
}

// asset is a file that never changes under its name.
type asset struct {
	kind string
	gzip []byte
}

// New returns the reference that the binary holds.
func New() *Reference { return &Reference{files: sync.OnceValue(load)} }

// load prepares the page. It panics when the binary does not hold all of it: a fault of the build, which a test finds.
func load() *files {
	ref := &files{assets: map[string]asset{}}
	page := mustRead("page.html")
	for _, name := range []string{"scalar.js", "page.js"} {
		packed := mustPack(name)
		hashed := hashedName(name, packed)
		ref.assets[hashed] = asset{kind: "text/javascript; charset=utf-8", gzip: packed}
		page = bytes.ReplaceAll(page, []byte("{{"+name+"}}"), []byte(hashed))
	}
	ref.page = page
	return ref
}

func mustRead(name string) []byte {
	content, err := dist.ReadFile("dist/" + name)
	if err != nil {
		panic("reference: " + err.Error())
	}
	return content
}

// mustPack returns a file compressed: as it is embedded, or done now.
func mustPack(name string) []byte {
	if packed, err := dist.ReadFile("dist/" + name + ".gz"); err == nil {
		return packed
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(mustRead(name)) // a buffer takes everything
	_ = w.Close()
	return packed.Bytes()
}

// hashedName puts a digest of the content into a name: page.js becomes
// page.0123456789abcdef.js.
func hashedName(name string, content []byte) string {
	sum := sha256.Sum256(content)
	stem, ext, _ := strings.Cut(name, ".")
	return stem + "." + hex.EncodeToString(sum[:8]) + "." + ext
}

// Page handles GET /docs.
func (ref *Reference) Page(*http.Request) (any, error) {
	return gateway.Content{Type: "text/html; charset=utf-8", Body: ref.files().page, Header: http.Header{
		"Content-Security-Policy": {policy},
		"Referrer-Policy":         {"no-referrer"},
		"X-Frame-Options":         {"DENY"},
		"Cache-Control":           {"no-cache"},
	}}, nil
}

// Asset handles GET /docs/{asset}.
func (ref *Reference) Asset(r *http.Request) (any, error) {
	name := gateway.Var(r, "asset")
	a, ok := ref.files().assets[name]
	if !ok {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such file").With("resource", "asset").With("id", name)
	}
	c := gateway.Content{Type: a.kind, Header: http.Header{"Cache-Control": {"public, max-age=31536000, immutable"}}}
	if gateway.AcceptsEncoding(r.Header, "gzip") {
		c.Body = a.gzip
		c.Header.Set("Content-Encoding", "gzip")
		return c, nil
	}
	plain, err := gzip.NewReader(bytes.NewReader(a.gzip))
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", name, err)
	}
	c.Reader = plain
	return c, nil
}
