// Package console serves the web console from the binary: one page for every path below
// /console/, and the scripts, styles and other files that it loads. The sources are in
// web, `make web` builds dist of them.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"svc/domain"
	"svc/http/gateway"
)

//go:embed all:dist
var embedded embed.FS

// Root is the path that the console is served below.
const Root = "/console/"

// policy lets the page load what the binary holds and talk to its own host, and nothing
// else. Text never becomes code: the two policies for trusted types are those of Svelte's
// templates and of the address of the worker.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"worker-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types svelte-trusted-html svc-worker"

// Options are what the page is told about the service.
type Options struct {
	Files     fs.FS  // index.html and assets; nil: those of the binary
	APIBase   string // what comes before /v2 in the paths of the API; usually nothing
	UploadMax int64  // bytes of an uploaded file
	ImportMax int64  // bytes of a workspace archive
	// UploadTypes returns the types of files that are taken and those that are not, as patterns (`image/*`), as the
	// settings say now; nil, and no allowed ones, is all.
	UploadTypes func() (allowed, forbidden []string)
}

// Console is the page and the files that it loads.
type Console struct {
	files   fs.FS
	index   []byte            // as it was built
	values  map[string]string // of its meta elements that never change
	types   func() (allowed, forbidden []string)
	current atomic.Pointer[indexPage]
	assets  map[string]asset // by path below assets
	sample  sampleArchive
}

// indexPage is the completed index.
type indexPage struct {
	allowed, forbidden string // the types that it was completed with
	body               []byte
	tag                string // with quotes
}

// asset is a file that never changes under its name. One that is kept compressed has no plain form: every browser takes
// the compressed one, and others get it unpacked. Files are read when they are asked for, which caches seldom do.
type asset struct {
	contentType string
	plain       string            // name of the file
	compressed  map[string]string // names by content coding
}

// codings are the content codings that files are kept in, the best first.
var codings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// contentTypes are those of the files that a build may make. The list of the system is not
// asked: it differs from host to host.
var contentTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
	".webp": "image/webp", ".woff2": "font/woff2", ".json": "application/json; charset=utf-8", ".txt": "text/plain; charset=utf-8",
	".zip": "application/zip",
}

// New prepares the console. It panics when the build is not whole, which must not reach a
// running server.
func New(o Options) *Console {
	files := o.Files
	if files == nil {
		files, _ = fs.Sub(embedded, "dist") // dist is a valid path
	}
	c, err := load(files, o)
	if err != nil {
		panic("console: " + err.Error())
	}
	return c
}

// load reads a build and completes its page.
func load(files fs.FS, o Options) (*Console, error) {
	c := &Console{files: files, assets: map[string]asset{}, types: o.UploadTypes}
	if c.types == nil {
		c.types = func() (allowed, forbidden []string) { return nil, nil }
	}
	build := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if name == "index.html" {
			c.index, err = fs.ReadFile(files, name)
			build.Write(c.index)
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(build, "%s %d\n", name, info.Size())
		return c.addAsset(name)
	})
	if err != nil {
		return nil, err
	}
	for name, a := range c.assets {
		if a.plain == "" && a.compressed["gzip"] == "" {
			return nil, fmt.Errorf("%s is there as brotli only", name)
		}
	}
	c.values = map[string]string{
		"api-base": o.APIBase, "upload-max": strconv.FormatInt(o.UploadMax, 10), "import-max": strconv.FormatInt(o.ImportMax, 10),
		"build": hex.EncodeToString(build.Sum(nil)[:8]),
	}
	if _, err := c.page(); err != nil {
		return nil, err
	}
	c.sample, err = packSample()
	return c, err
}

// page returns the index with what the settings say now.
func (c *Console) page() (*indexPage, error) {
	allowedTypes, forbiddenTypes := c.types()
	allowed, forbidden := strings.Join(allowedTypes, ","), strings.Join(forbiddenTypes, ",")
	if p := c.current.Load(); p != nil && p.allowed == allowed && p.forbidden == forbidden {
		return p, nil
	}
	values := maps.Clone(c.values)
	values["upload-allowed"], values["upload-forbidden"] = allowed, forbidden
	body, err := complete(c.index, values)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	p := &indexPage{allowed: allowed, forbidden: forbidden, body: body, tag: `W/"` + hex.EncodeToString(sum[:8]) + `"`} // weak: the gateway may compress it
	c.current.Store(p)
	return p, nil
}

// addAsset adds a file: as it is, or one of its compressed forms.
func (c *Console) addAsset(name string) error {
	short, ok := strings.CutPrefix(name, "assets/")
	if !ok {
		return fmt.Errorf("%s is neither index.html nor below assets", name)
	}
	kind := ""
	for _, coding := range codings {
		if original, ok := strings.CutSuffix(short, coding.suffix); ok {
			short, kind = original, coding.name
		}
	}
	a, ok := c.assets[short]
	if !ok {
		a = asset{contentType: contentTypes[path.Ext(short)], compressed: map[string]string{}}
	}
	if a.contentType == "" {
		return fmt.Errorf("%s is of a type that is not in the table", name)
	}
	if kind == "" {
		a.plain = name
	} else {
		a.compressed[kind] = name
	}
	c.assets[short] = a
	return nil
}

// readPlain returns the plain form of a file.
func (c *Console) readPlain(a asset) ([]byte, error) {
	if a.plain != "" {
		return fs.ReadFile(c.files, a.plain)
	}
	compressed, err := fs.ReadFile(c.files, a.compressed["gzip"])
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// emptyMeta is an element of the page that waits for its value.
var emptyMeta = regexp.MustCompile(`<meta name="svc-([a-z-]+)" content=""\s*/?>`)

// complete writes the values into the page that it has an element for.
func complete(page []byte, values map[string]string) ([]byte, error) {
	var unknown error
	page = emptyMeta.ReplaceAllFunc(page, func(element []byte) []byte {
		name := string(emptyMeta.FindSubmatch(element)[1])
		value, ok := values[name]
		if !ok {
			unknown = fmt.Errorf("index.html asks for svc-%s, which is not known", name)
		}
		return fmt.Appendf(nil, `<meta name="svc-%s" content="%s">`, name, html.EscapeString(value))
	})
	if !bytes.Contains(page, []byte(`<meta name="svc-build"`)) {
		return nil, fmt.Errorf("index.html has no place for the build")
	}
	return page, unknown
}

// Routes are the rows of the console. They read no credential: what they answer is the same
// for everybody, and may be kept by caches.
func (c *Console) Routes() []gateway.Route {
	row := func(path string, answer func(*http.Request) (any, error), summary string) gateway.Route {
		return gateway.Route{Method: http.MethodGet, Path: path, Permission: gateway.Public, OwnAuth: true, NoWait: true, Summary: summary,
			Handler: gateway.HandlerFunc(answer)}
	}
	return []gateway.Route{
		row("/console", c.Index, "Show the web console"),
		row("/console/{path:.+}", c.Index, "Show a screen of the web console"),
		row("/console/assets/{asset:.+}", c.Asset, "Load a file of the web console"),
		row("/console/sample.zip", c.Sample, "Load the sample workspace"),
	}
}

// header are the headers of all answers, and more.
func header(more http.Header) http.Header {
	h := http.Header{
		"Content-Security-Policy":    {policy},
		"Referrer-Policy":            {"same-origin"},
		"Cross-Origin-Opener-Policy": {"same-origin"},
	}
	maps.Copy(h, more)
	return h
}

// Index handles GET of every path below /console/ that is no asset. The page finds out by
// itself which screen is meant.
func (c *Console) Index(r *http.Request) (any, error) {
	if r.URL.Path == strings.TrimSuffix(Root, "/") {
		location := Root
		if r.URL.RawQuery != "" {
			location += "?" + r.URL.RawQuery
		}
		return gateway.Redirect(location), nil
	}
	shown, err := c.page()
	if err != nil {
		return nil, err
	}
	h := header(http.Header{"Cache-Control": {"no-cache"}, "Etag": {shown.tag}})
	return gateway.Content{Type: "text/html; charset=utf-8", Body: shown.body, Header: h}, nil
}

// Asset handles GET /console/assets/{asset}.
func (c *Console) Asset(r *http.Request) (_ any, err error) {
	name := gateway.Var(r, "asset")
	a, ok := c.assets[name]
	if !ok {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such file").With("resource", "asset").With("id", name)
	}
	answer := gateway.Content{Type: a.contentType, Header: header(http.Header{"Cache-Control": {"public, max-age=31536000, immutable"}})}
	for _, coding := range codings {
		if compressed := a.compressed[coding.name]; compressed != "" && gateway.AcceptsEncoding(r.Header, coding.name) {
			answer.Header.Set("Content-Encoding", coding.name)
			answer.Body, err = fs.ReadFile(c.files, compressed)
			return answer, err
		}
	}
	answer.Body, err = c.readPlain(a)
	return answer, err
}
