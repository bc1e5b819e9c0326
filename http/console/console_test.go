package console

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"svc/http/gateway"
)

const page = `<!doctype html><html><head><meta name="svc-api-base" content=""><meta name="svc-upload-max" content="" />` +
	`<meta name="svc-build" content=""></head><body></body></html>`

func build() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"index.html":                  file(page),
		"assets/index-AbCd1234.js":    file("plain"),
		"assets/index-AbCd1234.js.br": file("brotli"),
		"assets/index-AbCd1234.js.gz": file("gzip"),
		"assets/logo-AbCd1234.svg":    file("<svg/>"),
	}
}

// serve serves a console as the service does.
func serve(t *testing.T, o Options) *httptest.Server {
	t.Helper()
	g, err := gateway.New(gateway.Options{Routes: New(o).Routes()})
	require.NoError(t, err)
	s := httptest.NewServer(g)
	t.Cleanup(func() {
		s.Close()
		require.NoError(t, g.Close(context.WithoutCancel(t.Context())))
	})
	return s
}

// get asks as a browser does that takes codings, with headers in pairs.
func get(t *testing.T, address string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	r.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res, string(body)
}

func TestEveryScreenIsTheSamePage(t *testing.T) {
	s := serve(t, Options{Files: build(), APIBase: "/base", UploadMax: 10 << 20})
	first, want := get(t, s.URL+"/console/")
	require.Equal(t, http.StatusOK, first.StatusCode)
	require.Equal(t, "text/html; charset=utf-8", first.Header.Get("Content-Type"))
	require.Equal(t, "no-cache", first.Header.Get("Cache-Control"))
	require.Contains(t, want, `<meta name="svc-api-base" content="/base"><meta name="svc-upload-max" content="10485760"><meta name="svc-build" content="`)
	require.Regexp(t, `svc-build" content="[0-9a-f]{16}"`, want)

	for _, path := range []string{"sign-in", "w/x/activity?types=error", "w/x/automations/a%20b/c%2Fd.js", "assets", "index.html", "w/x/assets/a.js"} {
		res, got := get(t, s.URL+"/console/"+path, "Cookie", "access-token=old", "Authorization", "Bearer old")
		require.Equal(t, http.StatusOK, res.StatusCode, path)
		require.Equal(t, want, got, path)
		require.Equal(t, first.Header.Get("Etag"), res.Header.Get("Etag"))
	}

	res, body := get(t, s.URL+"/console/w/y", "If-None-Match", `"other", `+first.Header.Get("Etag"))
	require.Equal(t, http.StatusNotModified, res.StatusCode)
	require.Empty(t, body)
	require.Equal(t, policy, res.Header.Get("Content-Security-Policy"))

	res, _ = get(t, s.URL+"/console?x=y")
	require.Equal(t, http.StatusFound, res.StatusCode)
	require.Equal(t, "/console/?x=y", res.Header.Get("Location"))
}

func TestAnotherBuildIsAnotherPage(t *testing.T) {
	one, _ := get(t, serve(t, Options{Files: build()}).URL+"/console/")
	changed := build()
	changed["assets/logo-AbCd1234.svg"].Data = []byte("<svg></svg>")
	other, _ := get(t, serve(t, Options{Files: changed}).URL+"/console/")
	require.NotEqual(t, one.Header.Get("Etag"), other.Header.Get("Etag"))
}

// The types of files that are taken can change while the service runs.
func TestThePageHasTheTypesOfFilesThatAreTakenNow(t *testing.T) {
	var forbidden atomic.Value
	forbidden.Store([]string{"video/*", "text/html"})
	changed := build()
	changed["index.html"].Data = []byte(page + `<meta name="svc-upload-allowed" content=""><meta name="svc-upload-forbidden" content="">`)
	s := serve(t, Options{Files: changed, UploadTypes: func() ([]string, []string) { return nil, forbidden.Load().([]string) }})
	first, body := get(t, s.URL+"/console/")
	require.Contains(t, body, `<meta name="svc-upload-allowed" content=""><meta name="svc-upload-forbidden" content="video/*,text/html">`)
	forbidden.Store([]string(nil))
	second, body := get(t, s.URL+"/console/")
	require.Contains(t, body, `<meta name="svc-upload-forbidden" content="">`)
	require.NotEqual(t, first.Header.Get("Etag"), second.Header.Get("Etag"))
}

func TestFilesAreSentInTheBestCodingThatTheClientTakes(t *testing.T) {
	s := serve(t, Options{Files: build()})
	for accept, want := range map[string][2]string{
		"gzip, deflate, br, zstd": {"br", "brotli"}, "gzip": {"gzip", "gzip"}, "br;q=0, gzip": {"gzip", "gzip"},
		"identity": {"", "plain"}, "zstd": {"", "plain"},
	} {
		res, body := get(t, s.URL+"/console/assets/index-AbCd1234.js", "Accept-Encoding", accept)
		require.Equal(t, want, [2]string{res.Header.Get("Content-Encoding"), body}, accept)
		require.Equal(t, "text/javascript; charset=utf-8", res.Header.Get("Content-Type"))
		require.Equal(t, "public, max-age=31536000, immutable", res.Header.Get("Cache-Control"))
		require.Contains(t, strings.Join(res.Header.Values("Vary"), ","), "Accept-Encoding")
	}
	packed := build()
	delete(packed, "assets/index-AbCd1234.js")
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	_, err := w.Write([]byte("unpacked"))
	require.NoError(t, errors.Join(err, w.Close()))
	packed["assets/index-AbCd1234.js.gz"].Data = small.Bytes()
	_, body := get(t, serve(t, Options{Files: packed}).URL+"/console/assets/index-AbCd1234.js", "Accept-Encoding", "identity")
	require.Equal(t, "unpacked", body, "the binary has the compressed forms only")
	res, body := get(t, s.URL+"/console/assets/logo-AbCd1234.svg", "Accept-Encoding", "gzip, br")
	require.Equal(t, [2]string{"", "<svg/>"}, [2]string{res.Header.Get("Content-Encoding"), body})
	require.Equal(t, "image/svg+xml", res.Header.Get("Content-Type"))
}

func TestAnUnknownFileIsNotThePage(t *testing.T) {
	s := serve(t, Options{Files: build()})
	for _, name := range []string{"index-OldOld12.js", "index-AbCd1234.js.br", "../index.html", "%2e%2e/index.html", "a/b"} {
		res, body := get(t, s.URL+"/console/assets/"+name)
		if res.StatusCode != http.StatusMovedPermanently { // a path that was not clean
			require.Equal(t, http.StatusNotFound, res.StatusCode, name)
		}
		require.NotContains(t, body, "<html")
	}
	res, err := http.Post(s.URL+"/console/sign-in", "text/plain", nil)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, res.StatusCode)
}

func TestTheSampleIsAnArchiveThatDoesNotChange(t *testing.T) {
	s := serve(t, Options{Files: build()})
	res, body := get(t, s.URL+"/console/sample.zip")
	require.Equal(t, "application/zip", res.Header.Get("Content-Type"))
	archive, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	require.NoError(t, err)
	require.Equal(t, "automations/decide.yml", archive.File[0].Name)
	again, err := packSample()
	require.NoError(t, err)
	require.Equal(t, body, string(again.zip))
	res, _ = get(t, s.URL+"/console/sample.zip", "If-None-Match", res.Header.Get("Etag"))
	require.Equal(t, http.StatusNotModified, res.StatusCode)
}

func TestEveryAnswerKeepsTheBrowserIn(t *testing.T) {
	s := serve(t, Options{Files: build()})
	for _, path := range []string{"", "sign-in", "assets/index-AbCd1234.js", "sample.zip"} {
		res, _ := get(t, s.URL+"/console/"+path)
		require.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; "+
			"frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "+
			"trusted-types svelte-trusted-html svc-worker", res.Header.Get("Content-Security-Policy"))
		require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"))
		require.Equal(t, "same-origin", res.Header.Get("Referrer-Policy"))
		require.Equal(t, "same-origin", res.Header.Get("Cross-Origin-Opener-Policy"))
		require.Empty(t, res.Header.Get("X-Svc-Session-Id"), "a cache may keep it")
	}
}

func TestABuildThatIsNotWholeIsRefused(t *testing.T) {
	for name, damage := range map[string]func(fstest.MapFS){
		"no page":           func(f fstest.MapFS) { delete(f, "index.html") },
		"an unknown value":  func(f fstest.MapFS) { f["index.html"].Data = []byte(page + `<meta name="svc-else" content="">`) },
		"a file elsewhere":  func(f fstest.MapFS) { f["robots.txt"] = &fstest.MapFile{} },
		"an unknown type":   func(f fstest.MapFS) { f["assets/x.exe"] = &fstest.MapFile{} },
		"a copy of no file": func(f fstest.MapFS) { f["assets/gone.js.br"] = &fstest.MapFile{} },
	} {
		files := build()
		damage(files)
		require.Panics(t, func() { New(Options{Files: files}) }, name)
	}
}

// What the binary holds is a whole build: every name has a digest, since it is cached for
// good, every copy is of its file, and the page asks no other host for anything.
func TestTheBuildInTheBinary(t *testing.T) {
	c := New(Options{})
	for name, a := range c.assets {
		require.Regexp(t, `[-.][0-9A-Za-z_-]{8}\.[a-z0-9]+$`, path.Base(name))
		plain, err := c.readPlain(a)
		require.NoError(t, err, name)
		require.NotEmpty(t, plain, name)
	}
	for _, address := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(c.index), -1) {
		require.Regexp(t, `^(/console/|data:,$)`, address[1])
		if name, ok := strings.CutPrefix(address[1], "/console/assets/"); ok {
			require.Contains(t, c.assets, name)
		}
	}
	require.NotRegexp(t, `<script[^>]*>[^<]|<style|style="`, string(c.index), "the policy forbids it")
	_, err := fs.Stat(embedded, "dist/index.html")
	require.NoError(t, err)
}
