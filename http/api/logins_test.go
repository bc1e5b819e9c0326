package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ips remembers IPs, as a store for all nodes does.
type ips struct {
	mu      sync.Mutex
	records map[string][]byte
}

func (d *ips) Get(_ context.Context, key string) ([]byte, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	value, ok := d.records[key]
	return value, ok, nil
}

func (d *ips) Put(_ context.Context, key string, value []byte, _ time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.records[key] = value
	return nil
}

// trustProxy lets requests name the IP that they come from.
func (h *identityService) trustProxy() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limits.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
}

func from(ip string) option { return with("X-Forwarded-For", ip) }

// deviceOf returns the cookie of the device that an answer sets.
func deviceOf(t *testing.T, got answer) string {
	t.Helper()
	for _, line := range got.header.Values("Set-Cookie") {
		if cookie, err := http.ParseSetCookie(line); err == nil && cookie.Name == "svc-device" {
			require.True(t, cookie.HttpOnly)
			require.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
			return cookie.Name + "=" + cookie.Value
		}
	}
	t.Fatalf("no device: %v", got.header)
	return ""
}

// Wrong passwords slow down who sends them. They lock nobody else out, and nobody who
// signed in there before.
func TestWrongPasswordsLockNobodyElseOut(t *testing.T) {
	t.Parallel()
	h := openIdentity(t)
	h.newAccount("ada@example.org")
	h.limit()
	h.trustProxy()
	const attacker, home, office = "203.0.113.7", "198.51.100.1", "198.51.100.2"
	right := func(options ...option) answer { return h.login("ada@example.org", password, options...) }
	wrong := func(status int, options ...option) answer {
		t.Helper()
		got := h.login("ada@example.org", "wrong", options...)
		require.Equal(t, status, got.status, got.body)
		return got
	}
	phone := deviceOf(t, h.login("ada@example.org", password, from(home)))

	t.Log("five a minute from one IP for one address")
	for range 5 {
		wrong(401, from(attacker))
	}
	refused := h.requireRefusal(429, "rate_limit_exceeded", "", "POST /v2/login", from(attacker), body(`{"email":"Ada@Example.org","password":"wrong"}`))
	require.NotEmpty(t, refused.header.Get("Retry-After"))
	details := refused.fields(t)["details"].(map[string]any)
	require.Equal(t, "login", details["name"])
	require.EqualValues(t, 5, details["limit"])
	require.Equal(t, 429, right(from(attacker)).status, "who guesses does not learn that it was right")
	require.Equal(t, 401, h.login("bob@example.org", "wrong", from(attacker)).status, "another address is another count")

	t.Log("the right person, from elsewhere, and with a known device from the same IP")
	require.Equal(t, 200, right(from(office)).status)
	require.Equal(t, 200, right(from(attacker), with("Cookie", phone)).status)

	t.Log("and from an IP where they signed in before, after five wrong ones there")
	for range 5 {
		wrong(401, from(office))
	}
	require.Equal(t, 200, right(from(office)).status)
	for range 14 {
		wrong(401, from(office))
	}
	wrong(429, from(office))
	require.Equal(t, 200, right(from(office), with("Cookie", phone)).status, "their device is counted by itself")

	t.Log("a device is known for the accounts that signed in there")
	for range 5 {
		wrong(401, from("203.0.113.8"))
	}
	require.Equal(t, 429, right(from("203.0.113.8"), with("Cookie", phone[:len(phone)-4]+"AAAA")).status, "a forged one is none")
	bob := h.do("POST", "/v2/signup", from(home), body(jsonOf(t, map[string]string{"email": "bob@example.org", "password": password, "firstName": "B", "lastName": "B"})))
	require.Equal(t, 201, bob.status, bob.body)
	both := deviceOf(t, h.login("bob@example.org", password, from(home), with("Cookie", phone)))
	require.Equal(t, 200, right(from(attacker), with("Cookie", both)).status)
	require.Equal(t, 200, h.login("bob@example.org", password, from(attacker), with("Cookie", both)).status)
	require.Equal(t, 1, strings.Count(both, "."), "one token for each")

	t.Log("many IPs guess no faster than some: fifty a minute for one address")
	h.pass(time.Minute)
	for i := range 50 {
		wrong(401, from(fmt.Sprintf("192.0.2.%d", i)))
	}
	wrong(429, from("192.0.2.200"))
	require.Equal(t, 429, right(from("192.0.2.201")).status, "also the right one, where nobody is known")
	require.Equal(t, 200, right(from(home)).status, "a known IP passes")
	require.Equal(t, 200, right(from("192.0.2.201"), with("Cookie", phone)).status, "and a known device")
	h.pass(time.Minute)
	require.Equal(t, 200, right(from("192.0.2.201")).status)
}

// One client cannot try one password at every address: 300 a minute, and those who signed
// in there before are not counted with it.
func TestOneClientTriesSoManyAddresses(t *testing.T) {
	t.Parallel()
	h := openIdentity(t)
	h.newAccount("ada@example.org")
	h.limit()
	h.trustProxy()
	const office = "198.51.100.2"
	require.Equal(t, 200, h.login("ada@example.org", password, from(office)).status)
	tries := 0
	for got := 401; got == 401 && tries < 400; tries++ {
		got = h.login(fmt.Sprintf("nobody%d@example.org", tries), "wrong", from(office)).status
	}
	require.Equal(t, 300, tries, "the login of before was one, and the last was refused")
	h.requireRefusal(429, "rate_limit_exceeded", "", "POST /v2/login", from(office), body(`{"email":"new@example.org","password":"wrong"}`))
	require.Equal(t, 200, h.login("ada@example.org", password, from(office)).status, "who is known there passes")
	require.Equal(t, 401, h.login("nobody1@example.org", "wrong", from("198.51.100.3")).status, "another client is another count")
}

// Codes are counted by account, for who has the right password and nobody else.
func TestCodesAreCountedByAccount(t *testing.T) {
	t.Parallel()
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	secret := h.secondFactor(ada)
	h.limit()
	h.trustProxy()
	try := func(i int, secret, code string) answer {
		return h.do("POST", "/v2/login", from(fmt.Sprintf("192.0.2.%d", i)), body(jsonOf(t, map[string]string{"email": "ada@example.org", "password": secret, "totp": code})))
	}
	for i := range 8 {
		require.Equal(t, 401, try(i, "wrong", "000000").status, "who has no password spends none of the tries")
	}
	for i := range 5 {
		require.Equal(t, 401, try(10+i, password, "000000").status)
	}
	require.Equal(t, 429, try(20, password, "000000").status, "whatever the IP")
	h.pass(time.Minute)
	require.Equal(t, 200, try(21, password, h.code(secret)).status)
}
