package egress_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/egress"
)

func TestThePlatformIsReachedWhateverTheRulesSay(t *testing.T) {
	t.Parallel()
	platform, other := server(t, respondWith("own")), server(t, respondWith("other"))
	e := newEgress(t, egress.Options{Own: []string{platform + "/v2"}, Rules: egress.Rules{DenyHosts: []string{"127.0.0.1", "localhost"}}})
	body, err := get(e, platform+"/any")
	require.NoError(t, err)
	require.Equal(t, "own", body)
	for _, address := range []string{other, strings.Replace(platform, "127.0.0.1", "localhost", 1)} {
		_, err = get(e, address)
		requireRefused(t, err)
	}
	require.NoError(t, e.SetRules(egress.Rules{}))
	_, err = get(e, platform)
	require.NoError(t, err)
}

func TestThePlatformIsReachedBehindAProxy(t *testing.T) {
	t.Parallel()
	proxy := server(t, respondWith("by proxy"))
	e := newEgress(t, egress.Options{HTTPProxy: proxy, Own: []string{"http://svc.example/v2"}, Rules: egress.Rules{DenyHosts: []string{"svc.example"}}})
	body, err := get(e, "http://svc.example/v2/me")
	require.NoError(t, err, "nobody here could resolve it")
	require.Equal(t, "by proxy", body)
}

func TestAnAddressOfThePlatformHasItsSchemeAndPort(t *testing.T) {
	t.Parallel()
	e := newEgress(t, egress.Options{Own: []string{"https://svc.example/v2", "http://localhost:3001/v2"}})
	for address, own := range map[string]bool{
		"https://svc.example/": true, "https://SVC.example.:443/x?y": true, "http://svc.example/": false, "http://svc.example:443/": false,
		"https://svc.example:8443/": false, "https://a.svc.example/": false, "https://svc.example.evil.example/": false,
		"http://localhost:3001": true, "http://localhost": false, "http://127.0.0.1:3001": false, "https://svc.example@evil.example/": false,
	} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		require.Equal(t, own, e.Own(u), address)
	}
	_, err := egress.New(egress.Options{Own: []string{"svc.example", "https://ok.example", "ftp://svc.example"}})
	require.ErrorContains(t, err, `"svc.example"`)
	require.ErrorContains(t, err, `"ftp://svc.example"`)
}

func TestOtherNamesOfThePlatformAreItsOwnAndKeepTheRules(t *testing.T) {
	t.Parallel()
	other := server(t, respondWith("other"))
	e := newEgress(t, egress.Options{
		Own:   []string{"https://svc.example/v2"},
		Names: []string{"https://console.example/console/", "https://*.pages.example", "http://*-Pages.example:8080", other},
	})
	for address, own := range map[string]bool{
		"https://console.example/v2/me": true, "http://console.example/": false, "https://console.example:8443/": false, "https://a.console.example/": false,
		"https://shop.pages.example/": true, "https://SHOP.pages.example.:443/x": true, "https://a.b.pages.example/": false, "https://.pages.example/": false,
		"https://pages.example/": false, "http://shop.pages.example/": false, "https://shop.pages.example:8443/": false, "https://shop.pages.example.evil.example/": false,
		"https://shop.pages.example@evil.example/": false, "http://shop-pages.example:8080/": true, "http://shop-pages.example/": false,
		"https://svc.example/": true, "https://evil.example/": false,
	} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		require.Equal(t, own, e.Own(u), address)
	}
	_, err := get(e, other)
	requireRefused(t, err)
	_, err = egress.New(egress.Options{Names: []string{"*.pages.example"}})
	require.ErrorContains(t, err, `"*.pages.example"`)
}

func TestOneRequestMayTrustAnyCertificate(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(respondWith("hello"))
	t.Cleanup(s.Close)
	e := newEgress(t, egress.Options{Rules: egress.Rules{AllowPrivate: true}})
	answer, err := e.TrustingClient(10 * time.Second).Get(s.URL)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.NoError(t, answer.Body.Close())
	_, err = get(e, s.URL)
	require.ErrorContains(t, err, "certificate", "its connection is not used again by one that does not")
	require.NoError(t, e.SetRules(egress.Rules{}))
	_, err = e.TrustingClient(10 * time.Second).Get(s.URL) //nolint:bodyclose // there is no answer
	requireRefused(t, err)
}
