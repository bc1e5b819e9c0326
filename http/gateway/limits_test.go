package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/gateway"
)

// counters is a Limiter in memory.
type counters struct {
	mu     sync.Mutex
	totals map[string]int64
	broken bool
}

func newCounters() *counters { return &counters{totals: map[string]int64{}} }

// Add implements gateway.Limiter.
func (c *counters) Add(_ context.Context, key string, _ time.Duration, n int64) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken {
		return 0, errors.New("store is down")
	}
	c.totals[key] += n
	return c.totals[key], nil
}

// total is the sum of all counters.
func (c *counters) total() (sum int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.totals {
		sum += n
	}
	return sum
}

// proxied makes X-Forwarded-For count, so that one client can be many.
func proxied(s gateway.Settings) func() gateway.Settings {
	s.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	return func() gateway.Settings { return s }
}

func limited(rate gateway.RateClass) gateway.Route {
	return gateway.Route{Method: "POST", Path: "/x", Surface: gateway.Versioned, Permission: gateway.Public, Rate: rate, Handler: returns(1, nil)}
}

func TestTheTableOfLimits(t *testing.T) {
	upper := regexp.MustCompile("[A-Z]")
	for _, l := range gateway.RateLimits() {
		require.Equal(t, "RATE_LIMIT_"+strings.ToUpper(upper.ReplaceAllString(string(l.Name), "_$0")), l.Setting)
		require.Positive(t, l.PerMinute)
	}
}

func TestALimitByIP(t *testing.T) {
	store := newCounters()
	w := start(t, gateway.Options{Routes: []gateway.Route{limited(gateway.RateSignup)}, Limiter: store,
		Settings: proxied(gateway.Settings{RateLimits: map[gateway.RateClass]int64{gateway.RateSignup: 2}})})
	from := func(ip string) answer { return w.do("POST", "/v2/x", "", "X-Forwarded-For", ip) }

	first := from("8.8.8.8")
	require.Equal(t, 200, first.status)
	require.Equal(t, []string{"2", "1", "1740830460"}, []string{first.header.Get("X-RateLimit-Limit"),
		first.header.Get("X-RateLimit-Remaining"), first.header.Get("X-RateLimit-Reset")})
	require.Equal(t, "0", from("8.8.8.8").header.Get("X-RateLimit-Remaining"))

	over := from("8.8.8.8")
	f := over.requireFailure(t, 429, domain.CodeRateLimit)
	require.Equal(t, map[string]any{"name": "signup", "limit": 2.0, "period": 60.0, "retryAfter": 50.0, "resetAt": "2025-03-01T12:01:00.000Z"}, f.Details)
	require.Equal(t, "50", over.header.Get("Retry-After"))
	require.Equal(t, "0", over.header.Get("X-RateLimit-Remaining"))
	require.Equal(t, 200, from("9.9.9.9").status, "another address has its own window")
	require.Equal(t, 200, from("2001:db8::1").status)
	require.Equal(t, "0", from("2001:db8::2").header.Get("X-RateLimit-Remaining"), "one network is one client")

	store.mu.Lock()
	defer store.mu.Unlock()
	for key := range store.totals {
		require.Regexp(t, `^[A-Za-z]+/[0-9a-f]{32}/\d+$`, key)
	}
}

func TestWindowsPass(t *testing.T) {
	now := noon
	var mu sync.Mutex
	w := start(t, gateway.Options{
		Routes: []gateway.Route{limited("")},
		Now:    func() time.Time { mu.Lock(); defer mu.Unlock(); return now },
		Settings: func() gateway.Settings {
			return gateway.Settings{RateLimits: map[gateway.RateClass]int64{gateway.RateRequests: 1}}
		},
	})
	require.Equal(t, 200, w.do("POST", "/v2/x", "").status)
	w.do("POST", "/v2/x", "").requireFailure(t, 429, domain.CodeRateLimit)
	mu.Lock()
	now = now.Add(50 * time.Second)
	mu.Unlock()
	require.Equal(t, 200, w.do("POST", "/v2/x", "").status)
}

func TestCallersAreLimitedApart(t *testing.T) {
	w := start(t, gateway.Options{Routes: []gateway.Route{limited(gateway.RateCreateWorkspace)}, Settings: func() gateway.Settings {
		return gateway.Settings{RateLimits: map[gateway.RateClass]int64{gateway.RateCreateWorkspace: 1, gateway.RateRequests: 50}}
	}})
	for _, who := range []string{"nobody", "session", "super admin", "API key"} {
		a := w.do("POST", "/v2/x", "", credentials[who]...)
		require.Equal(t, 200, a.status, who)
		require.Equal(t, "1", a.header.Get("X-RateLimit-Limit"), "the tightest is shown")
		w.do("POST", "/v2/x", "", credentials[who]...).requireFailure(t, 429, domain.CodeRateLimit)
	}
	w.do("POST", "/v2/x", "", credentials["access token"]...).requireFailure(t, 429, domain.CodeRateLimit)
}

func TestLimitsCanBeOff(t *testing.T) {
	one := map[gateway.RateClass]int64{gateway.RateSignup: 1, gateway.RateRequests: 0}
	for name, s := range map[string]gateway.Settings{
		"one":  {RateLimits: map[gateway.RateClass]int64{gateway.RateSignup: 0, gateway.RateRequests: 0}},
		"both": {RateLimits: one, DisableRateLimit: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, gateway.Options{Routes: []gateway.Route{limited(gateway.RateSignup)}, Settings: func() gateway.Settings { return s }})
			for range 3 {
				a := w.do("POST", "/v2/x", "")
				require.Equal(t, 200, a.status)
				require.Empty(t, a.header.Get("X-RateLimit-Limit"))
			}
		})
	}
	probe := get("/healthz", 1)
	probe.Probe, probe.Rate = true, gateway.RateSignup
	require.Empty(t, serve(t, probe).do("GET", "/healthz", "").header.Get("X-RateLimit-Limit"))
}

func TestAHandlerLimitsByWhatItReads(t *testing.T) {
	login := limited(gateway.RateLogin)
	login.Handler = gateway.HandlerFunc(func(r *http.Request) (any, error) {
		return 1, gateway.Limit(r.Context(), gateway.RateLogin, r.URL.Query().Get("email"))
	})
	w := start(t, gateway.Options{Routes: []gateway.Route{login}, Limiter: newCounters()})
	for range 5 {
		require.Equal(t, 200, w.do("POST", "/v2/x?email=a", "").status)
	}
	require.Equal(t, "login", w.do("POST", "/v2/x?email=a", "").requireFailure(t, 429, domain.CodeRateLimit).Details["name"])
	require.Equal(t, "4", w.do("POST", "/v2/x?email=b", "").header.Get("X-RateLimit-Remaining"))
}

func TestLimitsFailOpen(t *testing.T) {
	w := start(t, gateway.Options{Routes: []gateway.Route{limited(gateway.RatePasswordReset)}, Limiter: &counters{broken: true}})
	for range 8 {
		require.Equal(t, 200, w.do("POST", "/v2/x", "").status)
	}
	require.Contains(t, w.log.String(), "rate limit not counted")
}

func TestBusyLimitsAreSettledBetweenNodes(t *testing.T) {
	store := newCounters()
	opts := gateway.Options{Routes: []gateway.Route{limited("")}, Limiter: store, Settings: func() gateway.Settings {
		return gateway.Settings{RateLimits: map[gateway.RateClass]int64{gateway.RateRequests: 10}}
	}}
	a, b := start(t, opts), start(t, opts)
	remaining := func(w *world) string { return w.do("POST", "/v2/x", "").header.Get("X-RateLimit-Remaining") }
	for _, want := range []string{"9", "8", "7"} {
		require.Equal(t, want, remaining(a))
	}
	shared := func(n int64) func() bool { return func() bool { return store.total() == n } }
	require.Eventually(t, shared(3), time.Minute, time.Millisecond, "a shares its three")
	require.Equal(t, "9", remaining(b), "b does not know yet")
	require.Eventually(t, shared(4), time.Minute, time.Millisecond, "b shares its one")
	require.Eventually(t, func() bool { return remaining(b) < "6" }, time.Minute, time.Millisecond, "b has learned of a's")
	require.Equal(t, "6", remaining(a), "what is settled is not counted twice")
}

func TestBadCredentialsAreCountedToo(t *testing.T) {
	w := start(t, gateway.Options{Routes: []gateway.Route{limited("")}, Settings: func() gateway.Settings {
		return gateway.Settings{RateLimits: map[gateway.RateClass]int64{gateway.RateRequests: 2}}
	}})
	for range 2 {
		w.do("POST", "/v2/x", "", "Authorization", "Bearer guess").requireFailure(t, 401, domain.CodeInvalidToken)
	}
	w.do("POST", "/v2/x", "", "Authorization", "Bearer guess").requireFailure(t, 429, domain.CodeRateLimit)
}

func TestStrangersOfOneAddressShareTheirLimit(t *testing.T) {
	sys := get("/sys/config", 1)
	w := start(t, gateway.Options{Routes: []gateway.Route{limited(""), sys}, Settings: func() gateway.Settings {
		return gateway.Settings{RateLimits: map[gateway.RateClass]int64{gateway.RateRequests: 4}}
	}})
	require.Equal(t, 200, w.do("POST", "/v2/x", "").status)
	w.do("POST", "/v2/x", "", "Authorization", "Bearer guess").requireFailure(t, 401, domain.CodeInvalidToken)
	w.do("POST", "/v2/unknown", "").requireFailure(t, 404, domain.CodeNotFound)
	w.do("PATCH", "/v2/x", "").requireFailure(t, 405, domain.CodeInvalidRequest)
	for _, request := range [][]string{{"POST", "/v2/x"}, {"POST", "/v2/unknown"}, {"PATCH", "/v2/x"}, {"GET", "/nothing"}} {
		w.do(request[0], request[1], "").requireFailure(t, 429, domain.CodeRateLimit)
	}
	w.do("POST", "/v2/x", "", "Authorization", "Bearer guess").requireFailure(t, 429, domain.CodeRateLimit)
	require.Equal(t, 200, w.do("POST", "/v2/x", "", "Authorization", "Bearer ann").status, "who is known has a limit of their own")
	require.Equal(t, 200, w.do("GET", "/sys/config", "").status)
	w.do("GET", "/sys/unknown", "").requireFailure(t, 404, domain.CodeNotFound)
}

func TestOwnCallsAreNotLimited(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	slow := gateway.HandlerFunc(func(*http.Request) (any, error) {
		entered <- struct{}{}
		<-leave
		return 1, nil
	})
	w := start(t, gateway.Options{Routes: []gateway.Route{
		{Method: "GET", Path: "/own", Surface: gateway.Versioned, Permission: gateway.Internal, Handler: slow},
		{Method: "GET", Path: "/both", Surface: gateway.Versioned, Permission: gateway.SuperOrInternal, Handler: slow},
		{Method: "GET", Path: "/open", Surface: gateway.Versioned, Permission: gateway.Public, Handler: returns(1, nil)},
	}, Settings: func() gateway.Settings {
		return gateway.Settings{InternalKey: "inside", MaxConcurrent: 1, RateLimits: map[gateway.RateClass]int64{gateway.RateRequests: 1}}
	}})
	var wg sync.WaitGroup
	for range 2 {
		for _, path := range []string{"/v2/own", "/v2/both"} {
			wg.Go(func() { require.Equal(t, 200, w.do("GET", path, "", "X-Svc-Api-Key", "inside").status) })
		}
	}
	for range 4 {
		<-entered
	}
	close(leave)
	wg.Wait()
	require.Equal(t, 200, w.do("GET", "/v2/open", "", "X-Svc-Api-Key", "inside").status)
	w.do("GET", "/v2/open", "", "X-Svc-Api-Key", "inside").requireFailure(t, 429, domain.CodeRateLimit)
}

func TestConcurrentRequestsAreBounded(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	slow := limited("")
	slow.Handler = gateway.HandlerFunc(func(*http.Request) (any, error) {
		entered <- struct{}{}
		<-leave
		return 1, nil
	})
	w := start(t, gateway.Options{Routes: []gateway.Route{slow}, Settings: func() gateway.Settings {
		return gateway.Settings{MaxConcurrent: 2}
	}})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { w.do("POST", "/v2/x", "") })
		<-entered
	}
	over := w.do("POST", "/v2/x", "")
	over.requireFailure(t, 429, domain.CodeConcurrency)
	require.Equal(t, "1", over.header.Get("Retry-After"))
	wg.Go(func() { w.do("POST", "/v2/x", "", "Authorization", "Bearer ann") })
	<-entered // another caller is not held up
	close(leave)
	wg.Wait()
	go func() { <-entered }()
	require.Equal(t, 200, w.do("POST", "/v2/x", "").status, "places are given back")
}

func TestLiveConnectionsAreBounded(t *testing.T) {
	entered := make(chan struct{})
	raw := gateway.Route{Method: "GET", Path: "/raw", Permission: gateway.Public, Streaming: true,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { entered <- struct{}{}; <-r.Context().Done() })}
	result := get("/result", gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
		entered <- struct{}{}
		<-r.Context().Done()
		return nil, nil
	}})
	w := start(t, gateway.Options{Routes: []gateway.Route{raw, result}, Settings: func() gateway.Settings {
		return gateway.Settings{MaxLive: 2}
	}})
	var wg sync.WaitGroup
	for _, path := range []string{"/raw", "/result"} {
		wg.Go(func() { w.do("GET", path, "") })
		<-entered
	}
	w.do("GET", "/raw", "").requireFailure(t, 429, domain.CodeConcurrency)
	w.do("GET", "/result", "").requireFailure(t, 429, domain.CodeConcurrency)
	w.gateway.EndStreams()
	wg.Wait()
}

// Behind one address there may be a whole office, or one client that opens thousands.
func TestVisitorsAreCountedBySession(t *testing.T) {
	entered := make(chan struct{})
	serve := func(_ http.ResponseWriter, r *http.Request) (any, error) {
		entered <- struct{}{}
		<-r.Context().Done()
		return nil, nil
	}
	visit := gateway.Route{Method: "GET", Path: "/visit", Permission: gateway.Public, Handler: gateway.HandlerFunc(func(r *http.Request) (any, error) {
		return gateway.Stream{Serve: serve, Session: r.URL.Query().Get("session")}, nil
	})}
	w := start(t, gateway.Options{Routes: []gateway.Route{visit, get("/plain", 1)}, Settings: proxied(gateway.Settings{MaxConcurrent: 1, MaxLive: 2, MaxLiveVisitors: 4})})
	const office = "203.0.113.7"
	var wg sync.WaitGroup
	open := func(path, from string, headers ...string) {
		wg.Go(func() { w.do("GET", path, "", append(headers, "X-Forwarded-For", from)...) })
		<-entered
	}
	refuse := func(limit float64, path string, headers ...string) {
		t.Helper()
		refused := w.do("GET", path, "", append(headers, "X-Forwarded-For", office)...).requireFailure(t, 429, domain.CodeConcurrency)
		require.Equal(t, limit, refused.Details["limit"])
	}
	for _, session := range []string{"a", "a", "b"} {
		open("/visit?session="+session, office)
	}
	require.Equal(t, 200, w.do("GET", "/plain", "", "X-Forwarded-For", office).status, "a live connection is no request in flight")
	refuse(2, "/visit?session=a")
	open("/visit", office, "Authorization", "Bearer guest") // whose session came with the request
	refuse(4, "/visit?session=c")
	refuse(4, "/visit", "Authorization", "Bearer guest")
	open("/visit", office, "Authorization", "Bearer ann")
	open("/visit?session=c", "203.0.113.8")
	w.gateway.EndStreams()
	wg.Wait()
}
