package reference

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/http/gateway"
)

func get(t *testing.T, h gateway.HandlerFunc, asset, accept string) *http.Response {
	t.Helper()
	r := gateway.WithVars(httptest.NewRequest(http.MethodGet, "/docs/"+asset, nil), map[string]string{"asset": asset})
	r.Header.Set("Accept-Encoding", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func unpack(t *testing.T, packed []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	plain, err := io.ReadAll(r)
	require.NoError(t, err)
	return plain
}

func TestFilesAreSentPackedToThoseWhoCanUnpack(t *testing.T) {
	ref := New()
	require.Len(t, ref.files().assets, 2)
	for name, a := range ref.files().assets {
		packed, err := io.ReadAll(get(t, ref.Asset, name, "gzip").Body)
		require.NoError(t, err)
		require.True(t, bytes.Equal(a.gzip, packed))
		plain, err := io.ReadAll(get(t, ref.Asset, name, "identity").Body)
		require.NoError(t, err)
		require.True(t, bytes.Equal(unpack(t, a.gzip), plain))
	}
}

func TestAnUnknownFileIsNotFound(t *testing.T) {
	require.Equal(t, http.StatusNotFound, get(t, New().Asset, "page.js", "gzip").StatusCode)
}

func TestThePageLoadsNothingFromElsewhere(t *testing.T) {
	ref := New()
	res := get(t, ref.Page, "", "")
	require.Equal(t, "text/html; charset=utf-8", res.Header.Get("Content-Type"))
	require.NotRegexp(t, `https?:|unsafe-eval|script-src[^;]*unsafe`, res.Header.Get("Content-Security-Policy"))
	for _, address := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(ref.files().page), -1) {
		require.Regexp(t, `^(/[^/]|data:,$)`, address[1])
	}
	require.NotContains(t, string(ref.files().page), "{{")
}

// The viewer is the published one: dist/README.md tells how it is replaced.
func TestTheViewerIsUnchanged(t *testing.T) {
	sum := sha256.Sum256(unpack(t, mustPack("scalar.js")))
	require.Equal(t, "bf091006bdc3af6067af77c2f534812e3e633e94a94e87138069f570f33b762c", hex.EncodeToString(sum[:]))
}
