package egress_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/egress"
)

func newEgress(t *testing.T, o egress.Options) *egress.Egress {
	t.Helper()
	e, err := egress.New(o)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

func get(e *egress.Egress, address string) (string, error) {
	answer, err := e.Client(10 * time.Second).Get(address)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

func requireRefused(t *testing.T, err error) {
	t.Helper()
	var refused *egress.Refused
	require.ErrorAs(t, err, &refused)
}

func server(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

func respondWith(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func TestTheInsideIsNotReached(t *testing.T) {
	t.Parallel()
	asked := false
	inside := server(t, func(http.ResponseWriter, *http.Request) { asked = true })
	_, port, _ := strings.Cut(strings.TrimPrefix(inside, "http://"), ":")
	e := newEgress(t, egress.Options{})
	for _, address := range []string{
		inside, "http://localhost:" + port, "http://[::1]:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://0.0.0.0:" + port,
		"http://169.254.169.254/latest/meta-data/", "file:///etc/passwd", "gopher://example.com/",
	} {
		_, err := get(e, address)
		requireRefused(t, err)
	}
	// Some resolvers read these as addresses, others as names that do not exist.
	for _, address := range []string{"http://127.1:" + port, "http://2130706433:" + port, "http://0x7f000001:" + port} {
		_, err := get(e, address)
		require.Error(t, err, address)
	}
	require.False(t, asked)
}

func TestTheInsideCanBeOpened(t *testing.T) {
	t.Parallel()
	inside := server(t, respondWith("hello"))
	for name, o := range map[string]egress.Options{
		"all of it": {Rules: egress.Rules{AllowPrivate: true}},
		"a range":   {Rules: egress.Rules{AllowHosts: []string{"127.0.0.0/8"}}},
	} {
		body, err := get(newEgress(t, o), inside)
		require.NoError(t, err, name)
		require.Equal(t, "hello", body)
	}
	_, err := get(newEgress(t, egress.Options{Rules: egress.Rules{AllowPrivate: true, DenyHosts: []string{"127.0.0.1"}}}), inside)
	requireRefused(t, err)
}

func TestRulesChangeWhileItRuns(t *testing.T) {
	t.Parallel()
	inside := server(t, respondWith("hello"))
	e := newEgress(t, egress.Options{Rules: egress.Rules{AllowPrivate: true}})
	_, err := get(e, inside)
	require.NoError(t, err)
	require.NoError(t, e.SetRules(egress.Rules{}))
	_, err = get(e, inside)
	requireRefused(t, err)
	require.Error(t, e.SetRules(egress.Rules{AllowPrivate: true, AllowHosts: []string{"a b"}}))
	_, err = get(e, inside)
	requireRefused(t, err)
}

func TestEveryHopIsChecked(t *testing.T) {
	t.Parallel()
	inside := server(t, respondWith("secret"))
	hops := 0
	hop := server(t, func(w http.ResponseWriter, r *http.Request) {
		hops++
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	named := strings.Replace(hop, "127.0.0.1", "localhost", 1)
	e := newEgress(t, egress.Options{Rules: egress.Rules{AllowHosts: []string{strings.TrimPrefix(named, "http://")}}})
	for n, to := range []string{inside, hop, "file:///etc/passwd"} {
		_, err := get(e, named+"/?to="+url.QueryEscape(to))
		requireRefused(t, err)
		require.Equal(t, n+1, hops, "the first hop is allowed, and no second")
	}
}

func TestRedirectsEnd(t *testing.T) {
	t.Parallel()
	hops := 0
	round := server(t, func(w http.ResponseWriter, r *http.Request) {
		hops++
		http.Redirect(w, r, "/again", http.StatusFound)
	})
	_, err := get(newEgress(t, egress.Options{Rules: egress.Rules{AllowPrivate: true}}), round)
	require.ErrorContains(t, err, "5 redirects")
	require.Equal(t, 6, hops)
}

func TestOwnCertificatesAreTrusted(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(respondWith("hello"))
	t.Cleanup(s.Close)
	plainly := server(t, respondWith("in clear"))
	rules := egress.Rules{AllowPrivate: true}
	_, err := get(newEgress(t, egress.Options{Rules: rules}), s.URL)
	require.ErrorContains(t, err, "certificate")

	file := filepath.Join(t.TempDir(), "roots.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	e := newEgress(t, egress.Options{Rules: rules, ExtraCAFile: file})
	body, err := get(e, s.URL)
	require.NoError(t, err)
	require.Equal(t, "hello", body)

	s.Config.Handler = http.RedirectHandler(plainly, http.StatusFound)
	_, err = get(e, s.URL)
	requireRefused(t, err)
}

func TestBehindAProxyTheTargetIsChecked(t *testing.T) {
	t.Parallel()
	var asked []string
	proxy := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		_, _ = io.WriteString(w, "by proxy")
	})
	known := map[string]string{"out.example": "93.184.216.34", "in.example": "10.0.0.1", "both.example": "93.184.216.34 10.0.0.1"}
	e := newEgress(t, egress.Options{
		HTTPProxy: proxy, Rules: egress.Rules{AllowHosts: []string{"hidden.example"}},
		Resolve: func(_ context.Context, host string) (addrs []netip.Addr, err error) {
			for text := range strings.FieldsSeq(known[host]) {
				addrs = append(addrs, netip.MustParseAddr(text))
			}
			if addrs == nil {
				err = errors.New("no such host")
			}
			return addrs, err
		},
	})
	body, err := get(e, "http://out.example/a")
	require.NoError(t, err)
	require.Equal(t, "by proxy", body)
	_, err = get(e, "http://hidden.example/b")
	require.NoError(t, err, "allowed by its name, and only the proxy can resolve it")
	for _, address := range []string{"http://in.example/", "http://both.example/", proxy} {
		_, err = get(e, address)
		requireRefused(t, err)
	}
	_, err = get(e, "http://nowhere.example/")
	require.ErrorContains(t, err, "no such host")
	require.Equal(t, []string{"http://out.example/a", "http://hidden.example/b"}, asked)
}

func TestTheEnvironmentIsNotAsked(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	inside := server(t, respondWith("hello"))
	body, err := get(newEgress(t, egress.Options{Rules: egress.Rules{AllowPrivate: true}}), inside)
	require.NoError(t, err)
	require.Equal(t, "hello", body)
}

func TestBadOptionsAreReportedAtOnceWithoutSecrets(t *testing.T) {
	t.Parallel()
	_, err := egress.New(egress.Options{
		Rules: egress.Rules{DenyHosts: []string{"a b"}}, HTTPProxy: "socks5://me:hunter2@proxy", ExtraCAFile: "/nowhere.pem",
	})
	for _, wrong := range []string{`"a b"`, "HTTP_PROXY", "/nowhere.pem"} {
		require.ErrorContains(t, err, wrong)
	}
	require.NotContains(t, err.Error(), "hunter2")
}
