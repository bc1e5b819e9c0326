package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/http/gateway"
)

// model is a ReadModel that remembers what it was asked.
type model struct {
	mu     sync.Mutex
	asked  []string
	behind bool
	broken bool
}

func TestAFreshReadModelNeedsNoTimer(t *testing.T) {
	w := start(t, gateway.Options{ReadModel: current{}, Routes: []gateway.Route{
		{Method: "GET", Path: "/x", Surface: gateway.Versioned, Permission: gateway.Public, Handler: returns(1, nil)},
	}})
	require.Equal(t, 200, w.do("GET", "/v2/x", "").status)
}

// current is a read model that is up to date, and fails whoever sets a timer.
type current struct{}

// Reach implements gateway.ReadModel.
func (c current) Reach(ctx context.Context, _ domain.Position) error { return c.Fresh(ctx) }

// Fresh implements gateway.ReadModel.
func (current) Fresh(ctx context.Context) error {
	if _, timed := ctx.Deadline(); timed {
		return errors.New("a timer was set")
	}
	return nil
}

// Reach implements gateway.ReadModel.
func (m *model) Reach(ctx context.Context, pos domain.Position) error {
	return m.answer(ctx, fmt.Sprint("reach ", pos.State))
}

// Fresh implements gateway.ReadModel.
func (m *model) Fresh(ctx context.Context) error { return m.answer(ctx, "fresh") }

func (m *model) answer(ctx context.Context, asked string) error {
	if err := ctx.Err(); err != nil {
		return err // asked whether there is anything to wait for: there is
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, asked)
	if _, bounded := ctx.Deadline(); !bounded {
		return errors.New("waits for ever")
	}
	if m.broken {
		return errors.New("checkpoint lost")
	}
	if m.behind {
		return fmt.Errorf("wait: %w", context.DeadlineExceeded)
	}
	return nil
}

func (m *model) takeCalls() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := m.asked
	m.asked = nil
	return asked
}

func TestReadsWaitForTheReadModel(t *testing.T) {
	token := domain.Position{State: 42, Activity: 7}.Token()
	tests := map[string]struct {
		method, path, min string
		asked             []string
	}{
		"a read":                       {"GET", "/v2/x", "", []string{"fresh"}},
		"a HEAD":                       {"HEAD", "/v2/x", "", []string{"fresh"}},
		"a read from a position":       {"GET", "/v2/x", token, []string{"reach 42", "fresh"}},
		"a read from a revision":       {"GET", "/v2/x", "17", []string{"reach 17", "fresh"}},
		"a write":                      {"POST", "/v2/x", token, nil},
		"a search by POST":             {"POST", "/v2/search", token, []string{"reach 42", "fresh"}},
		"the largest revision":         {"GET", "/v2/x", "18446744073709551615", []string{"reach 18446744073709551615", "fresh"}},
		"what runs what was saved":     {"POST", "/v2/run", "", []string{"reach 9"}},
		"that from a position":         {"GET", "/v2/run", token, []string{"reach 42", "reach 9"}},
		"a plain path":                 {"GET", "/plain", token, nil},
		"a report about itself":        {"GET", "/v2/report", token, nil},
		"a versioned path, unprefixed": {"GET", "/both", "", []string{"fresh"}},
	}
	m := &model{}
	ok := returns(1, nil)
	known := func() domain.Position { return domain.Position{State: 9, Activity: 1000} }
	w := start(t, gateway.Options{ReadModel: m, Known: known, Routes: []gateway.Route{
		{Method: "GET", Path: "/x", Surface: gateway.Versioned, Permission: gateway.Public, Handler: ok},
		{Method: "GET", Path: "/run", Surface: gateway.Versioned, Permission: gateway.Public, Effect: gateway.Writes, Runs: true, Handler: ok},
		{Method: "POST", Path: "/run", Surface: gateway.Versioned, Permission: gateway.Public, Runs: true, Handler: ok},
		{Method: "POST", Path: "/x", Surface: gateway.Versioned, Permission: gateway.Public, Handler: ok},
		{Method: "POST", Path: "/search", Surface: gateway.Versioned, Permission: gateway.Public, Effect: gateway.Reads, Handler: ok},
		{Method: "GET", Path: "/both", Surface: gateway.VersionedAndPlain, Permission: gateway.Public, Handler: ok},
		{Method: "GET", Path: "/report", Surface: gateway.Versioned, Permission: gateway.Public, NoWait: true, Handler: ok},
		get("/plain", 1)}})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, 200, w.do(tt.method, tt.path, "", "X-Svc-Min-Seq", tt.min).status)
			require.Equal(t, tt.asked, m.takeCalls())
		})
	}
	for _, bad := range []string{"18446744073709551616", "99999999999999999999999", "abc", "-1", "1.5", token + "x", "<script>"} {
		f := w.do("GET", "/v2/x", "", "X-Svc-Min-Seq", bad).requireFailure(t, 400, domain.CodeInvalidParameter)
		require.Equal(t, "x-svc-min-seq", f.Details["parameter"])
	}
	m.behind = true
	a := w.do("GET", "/v2/x", "")
	require.Equal(t, "read_model_behind", a.requireFailure(t, 503, domain.CodeUnavailable).Details["reason"])
	require.Equal(t, "1", a.header.Get("Retry-After"))
	m.behind, m.broken = false, true
	w.do("GET", "/v2/x", "").requireFailure(t, 500, domain.CodeInternal)
}

func TestAWriteTellsItsPosition(t *testing.T) {
	write := func(r *http.Request) (any, error) {
		commands.RequestFrom(r.Context()).Saw(domain.Position{State: 3, Activity: 9})
		return 1, nil
	}
	w := serve(t, post("/x", write), post("/idle", returns(1, nil)), post("/fail", func(r *http.Request) (any, error) {
		_, _ = write(r)
		return nil, domain.Refuse(domain.CodeConflict, "half way")
	}))
	token := domain.Position{State: 3, Activity: 9}.Token()
	require.Equal(t, token, w.do("POST", "/x", "").header.Get("X-Svc-Seq"))
	require.Equal(t, token, w.do("POST", "/fail", "").header.Get("X-Svc-Seq"))
	require.Empty(t, w.do("POST", "/idle", "").header.Get("X-Svc-Seq"))
}

func TestAWriteThatChangedNothingTellsWhatIsKnown(t *testing.T) {
	known := domain.Position{State: 8}
	w := start(t, gateway.Options{Known: func() domain.Position { return known }, Idempotency: newMemoryStore(), Routes: []gateway.Route{
		post("/idle", returns(1, nil)), post("/fail", returns(nil, domain.Refuse(domain.CodeConflict, "no"))), get("/x", 1)}})
	seq := func(a answer) string { return a.header.Get("X-Svc-Seq") }
	require.Equal(t, known.Token(), seq(w.do("POST", "/idle", "")))
	first := w.do("POST", "/idle", "", "Idempotency-Key", "k")
	require.Equal(t, known.Token(), seq(first))
	known.State = 9
	require.Equal(t, seq(first), seq(w.do("POST", "/idle", "", "Idempotency-Key", "k")), "a replay tells the first position")
	require.Empty(t, seq(w.do("POST", "/fail", "")))
	require.Empty(t, seq(w.do("GET", "/x", "")))
}

func TestAReadTellsWhatItContainsAtLeast(t *testing.T) {
	known := domain.Position{State: 8}
	read := func(handler gateway.HandlerFunc, path string) gateway.Route {
		return gateway.Route{Method: "GET", Path: path, Surface: gateway.Versioned, Permission: gateway.Public, Handler: handler}
	}
	w := start(t, gateway.Options{ReadModel: current{}, Known: func() domain.Position { return known }, Routes: []gateway.Route{
		read(func(*http.Request) (any, error) {
			known.State++ // somebody writes meanwhile: the answer may not contain it
			return tagged{"t1"}, nil
		}, "/x"),
		read(returns(nil, domain.Refuse(domain.CodeConflict, "no")), "/fail")}})
	seq := func(a answer) string { return a.header.Get("X-Svc-Seq") }
	require.Equal(t, domain.Position{State: 8}.Token(), seq(w.do("GET", "/v2/x", "")))
	unchanged := w.do("GET", "/v2/x", "", "If-None-Match", `"t1"`)
	require.Equal(t, http.StatusNotModified, unchanged.status)
	require.Equal(t, domain.Position{State: 9}.Token(), seq(unchanged))
	require.Empty(t, seq(w.do("GET", "/v2/fail", "")))
}

func TestTheWriteGate(t *testing.T) {
	for name, shut := range map[string]error{
		"any error":     errors.New("disk is low"),
		"a known wait":  closed{},
		"a refusal":     domain.Refuse(domain.CodeUnavailable, "stopping"),
		"a wrapped one": fmt.Errorf("gate: %w", closed{}),
	} {
		t.Run(name, func(t *testing.T) {
			quiet := post("/search", returns(1, nil))
			quiet.Effect = gateway.Reads
			loud := get("/hook", 1)
			loud.Effect = gateway.Writes
			w := start(t, gateway.Options{WriteGate: func() error { return shut },
				Routes: []gateway.Route{get("/x", 1), post("/x", returns(1, nil)), quiet, loud}})
			for _, at := range [][2]string{{"POST", "/x"}, {"GET", "/hook"}} {
				a := w.do(at[0], at[1], "")
				a.requireFailure(t, 503, domain.CodeUnavailable)
				require.NotEmpty(t, a.header.Get("Retry-After"))
				require.NotContains(t, a.body, "disk")
			}
			require.Equal(t, 200, w.do("GET", "/x", "").status)
			require.Equal(t, 200, w.do("POST", "/search", "").status)
		})
	}
}

// staleAuthorizer refuses until the read model has caught up.
type staleAuthorizer struct{ asked atomic.Int64 }

// Authorize implements gateway.Authorizer.
func (f *staleAuthorizer) Authorize(context.Context, gateway.Caller, gateway.Permission, string) (gateway.Grant, error) {
	if f.asked.Add(1) == 1 {
		return gateway.Grant{}, domain.Refuse(domain.CodeWorkspaceDenied, "unknown so far")
	}
	return gateway.Grant{InWorkspace: true}, nil
}

func TestAWriteSeesTheRightsOfTheWriteBefore(t *testing.T) {
	m, f := &model{}, &staleAuthorizer{}
	w := start(t, gateway.Options{ReadModel: m, Authorizer: f, Routes: []gateway.Route{{Method: "PATCH", Path: "/x", Surface: gateway.Versioned,
		Permission: gateway.Action{Action: "update", Subject: "workspaces"}, Handler: returns(1, nil)}}})
	require.Equal(t, 200, w.do("PATCH", "/v2/x", "", "Authorization", "Bearer ann").status)
	require.Equal(t, []string{"fresh"}, m.takeCalls())
	require.Equal(t, 200, w.do("PATCH", "/v2/x", "", "Authorization", "Bearer ann").status)
	require.Empty(t, m.takeCalls(), "a right that is known costs nothing")
}
