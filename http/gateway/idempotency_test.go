package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/http/gateway"
)

// memoryStore is an IdempotencyStore in memory.
type memoryStore struct {
	mu      sync.Mutex
	records map[string][]byte
	claimed chan string // told of every claim, when set
	broken  bool
	most    int // bytes of a record; zero: any number
}

func newMemoryStore() *memoryStore { return &memoryStore{records: map[string][]byte{}} }

// Claim implements gateway.IdempotencyStore.
func (s *memoryStore) Claim(_ context.Context, key string, record []byte, _ time.Duration) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return nil, errors.New("store is down")
	}
	if s.claimed != nil {
		s.claimed <- key
	}
	if existing, ok := s.records[key]; ok {
		return existing, nil
	}
	s.records[key] = record
	return nil, nil
}

// Put implements gateway.IdempotencyStore.
func (s *memoryStore) Put(ctx context.Context, key string, record []byte, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most > 0 && len(record) > s.most {
		return errors.New("record too large")
	}
	s.records[key] = record
	return ctx.Err()
}

// Delete implements gateway.IdempotencyStore.
func (s *memoryStore) Delete(ctx context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, key)
	return ctx.Err()
}

// forget lets go of everything, as if its time were over.
func (s *memoryStore) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.records)
}

func (s *memoryStore) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records)
}

type secret struct {
	ID    string `json:"id"`
	Token string `json:"token,omitempty"`
}

// Replayable implements gateway.Replayable.
func (s secret) Replayable() any { return secret{ID: s.ID} }

// counting creates a numbered resource each time it is really called.
func counting(calls *atomic.Int64) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		n := calls.Add(1)
		var in map[string]any
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if in["fail"] == true {
			return nil, domain.Refuse(domain.CodeValidation, "no")
		}
		commands.RequestFrom(r.Context()).Saw(domain.Position{State: uint64(n)})
		return gateway.Created(secret{ID: strconv.FormatInt(n, 10), Token: "once"}, "/x/1").WithCookie(&http.Cookie{Name: "a", Value: "b"}), nil
	}
}

func onceOnly(t *testing.T, store gateway.IdempotencyStore, h gateway.HandlerFunc) *world {
	t.Helper()
	w := start(t, gateway.Options{Idempotency: store, Routes: []gateway.Route{post("/x", h), post("/y", h),
		{Method: "PUT", Path: "/x", Permission: gateway.Public, Handler: h}, get("/x", 1)}})
	return w
}

func TestARepeatedWriteGetsTheFirstAnswer(t *testing.T) {
	var calls atomic.Int64
	store := newMemoryStore()
	w := onceOnly(t, store, counting(&calls))
	first := w.do("POST", "/x", `{"a":1}`, "Idempotency-Key", "k1")
	require.Equal(t, 201, first.status)
	require.Equal(t, `{"id":"1","token":"once"}`, first.body)
	require.Empty(t, first.header.Get("Idempotency-Replayed"))

	again := w.do("POST", "/x", `{"a":1}`, "Idempotency-Key", "k1")
	require.Equal(t, 201, again.status)
	require.Equal(t, `{"id":"1"}`, again.body, "what is shown once is left out")
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	for _, name := range []string{"Location", "X-Svc-Seq", "Content-Type"} {
		require.Equal(t, first.header.Get(name), again.header.Get(name), name)
	}
	require.NotEmpty(t, again.header.Get("X-Svc-Seq"))
	require.NotEqual(t, first.header.Get("X-Correlation-Id"), again.header.Get("X-Correlation-Id"))
	require.Empty(t, again.header.Get("Set-Cookie"))
	require.EqualValues(t, 1, calls.Load())
	store.mu.Lock()
	for _, kept := range store.records {
		require.NotContains(t, string(kept), "once")
	}
	store.mu.Unlock()

	for name, other := range map[string]answer{
		"body":   w.do("POST", "/x", `{"a":2}`, "Idempotency-Key", "k1"),
		"path":   w.do("POST", "/y", `{"a":1}`, "Idempotency-Key", "k1"),
		"query":  w.do("POST", "/x?dryRun=true", `{"a":1}`, "Idempotency-Key", "k1"),
		"method": w.do("PUT", "/x", `{"a":1}`, "Idempotency-Key", "k1"),
	} {
		require.Equal(t, "idempotency_key_reused", other.requireFailure(t, 409, domain.CodeConflict).Details["reason"], name)
	}
	require.Equal(t, `{"id":"2","token":"once"}`, w.do("POST", "/x", `{"a":1}`, "Idempotency-Key", "k2").body)
	require.Equal(t, `{"id":"3","token":"once"}`, w.do("POST", "/x", `{"a":1}`, "Idempotency-Key", "k1", "Authorization", "Bearer ann").body, "another caller")
	require.Equal(t, `{"id":"4","token":"once"}`, w.do("POST", "/x", `{"a":1}`).body, "no key")
	for _, id := range []string{"5", "6"} { // somebody else behind the same address
		nobody := w.do("POST", "/x", `{"a":1}`, "Idempotency-Key", "k1", "Authorization", "")
		require.Equal(t, `{"id":"`+id+`","token":"once"}`, nobody.body, "without a credential nothing is replayed")
		require.Empty(t, nobody.header.Get("Idempotency-Replayed"))
	}
	require.Equal(t, 201, w.do("POST", "/x", `{"a":2}`, "Idempotency-Key", "k1", "Authorization", "").status, "nor held against another")
}

func TestFailuresKeepNothing(t *testing.T) {
	var calls atomic.Int64
	store := newMemoryStore()
	w := onceOnly(t, store, counting(&calls))
	for _, body := range []string{`{"fail":true}`, `{`} {
		for range 2 {
			require.GreaterOrEqual(t, w.do("POST", "/x", body, "Idempotency-Key", "k").status, 400)
		}
	}
	require.EqualValues(t, 4, calls.Load())
	require.Zero(t, store.size())

	broken := onceOnly(t, newMemoryStore(), func(*http.Request) (any, error) { panic("boom") })
	for range 2 {
		broken.do("POST", "/x", "", "Idempotency-Key", "k").requireFailure(t, 500, domain.CodeInternal)
	}
	report := onceOnly(t, store, returns(gateway.Status(400, "report"), nil))
	report.do("POST", "/x", "", "Idempotency-Key", "k")
	require.Zero(t, store.size())
}

func TestBadIdempotencyKeys(t *testing.T) {
	var calls atomic.Int64
	w := onceOnly(t, newMemoryStore(), counting(&calls))
	for _, key := range []string{"", strings.Repeat("k", 256), "\xff\xfe", "a\tb"} {
		f := w.do("POST", "/x", "", "Idempotency-Key", key).requireFailure(t, 400, domain.CodeInvalidParameter)
		require.Equal(t, "Idempotency-Key", f.Details["parameter"])
	}
	w.do("POST", "/x", "", "Idempotency-Key", "a", "Idempotency-Key", "b").requireFailure(t, 400, domain.CodeInvalidParameter)
	require.Zero(t, calls.Load())
	require.Equal(t, 201, w.do("POST", "/x", "", "Idempotency-Key", strings.Repeat("k", 255)).status)
	require.Equal(t, 201, w.do("POST", "/x", "", "Idempotency-Key", "clé ~ 鍵").status)
	require.Equal(t, 200, w.do("GET", "/x", "", "Idempotency-Key", "").status, "a read has no use for it")
}

func TestAConcurrentTwinWaits(t *testing.T) {
	for name, nodes := range map[string]int{"on one node": 1, "on two nodes": 2} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			entered, release := make(chan struct{}), make(chan struct{})
			h := func(r *http.Request) (any, error) {
				close(entered)
				<-release
				return counting(&calls)(r)
			}
			store := newMemoryStore()
			w := []*world{onceOnly(t, store, h)}
			if nodes == 2 {
				w = append(w, onceOnly(t, store, h))
				store.claimed = make(chan string, 1000)
			}
			answers := make(chan answer, 2)
			var wg sync.WaitGroup
			wg.Go(func() { answers <- w[0].do("POST", "/x", `{}`, "Idempotency-Key", "k") })
			<-entered
			wg.Go(func() { answers <- w[len(w)-1].do("POST", "/x", `{}`, "Idempotency-Key", "k") })
			if nodes == 2 {
				for range 3 { // the first node's claim, then the second's attempts
					<-store.claimed
				}
			}
			close(release)
			wg.Wait()
			a, b := <-answers, <-answers
			require.EqualValues(t, 1, calls.Load())
			require.Equal(t, []int{201, 201}, []int{a.status, b.status})
			require.Equal(t, "true", a.header.Get("Idempotency-Replayed")+b.header.Get("Idempotency-Replayed"))
		})
	}
}

func TestAnAnswerThatCameTooLateIsKept(t *testing.T) {
	var calls atomic.Int64
	release := make(chan struct{})
	w := start(t, gateway.Options{Idempotency: newMemoryStore(),
		Settings: func() gateway.Settings {
			return gateway.Settings{RequestTimeout: 50 * time.Millisecond, WriteGrace: time.Minute}
		},
		Routes: []gateway.Route{post("/x", func(r *http.Request) (any, error) {
			<-release
			return counting(&calls)(r)
		})}})
	w.do("POST", "/x", `{}`, "Idempotency-Key", "k").requireFailure(t, 504, domain.CodeGatewayTimeout)
	close(release)
	var again answer
	require.Eventually(t, func() bool {
		again = w.do("POST", "/x", `{}`, "Idempotency-Key", "k")
		return again.status == 201
	}, time.Minute, time.Millisecond)
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.EqualValues(t, 1, calls.Load())
}

func TestALargeBodyIsNotHeld(t *testing.T) {
	var sizes []int
	upload := post("/x", func(r *http.Request) (any, error) {
		n := 0
		err := error(nil)
		for buf := make([]byte, 64); err == nil; {
			var m int
			m, err = r.Body.Read(buf)
			n += m
		}
		sizes = append(sizes, n)
		return n, nil
	})
	upload.Body = gateway.UploadBody
	w := start(t, gateway.Options{Routes: []gateway.Route{upload}, Idempotency: newMemoryStore(), Settings: func() gateway.Settings {
		return gateway.Settings{RequestMaxSize: 100, UploadsMaxSize: 1000}
	}})
	for range 2 {
		require.Equal(t, "500", w.do("POST", "/x", strings.Repeat("a", 500), "Idempotency-Key", "k").body)
	}
	w.do("POST", "/x", strings.Repeat("a", 501), "Idempotency-Key", "k").requireFailure(t, 409, domain.CodeConflict)
	require.Equal(t, []int{500}, sizes)
}

func TestTheSeedOfIDs(t *testing.T) {
	w := onceOnly(t, nil, func(r *http.Request) (any, error) { return commands.RequestFrom(r.Context()).Seed, nil })
	seed := func(body, key string, more ...string) string {
		return w.do("POST", "/x", body, append([]string{"Idempotency-Key", key}, more...)...).body
	}
	require.Equal(t, seed("{}", "a"), seed("{}", "a"))
	require.NotEqual(t, seed("{}", "a"), seed("{}", "b"))
	require.NotEqual(t, seed("{}", "a"), seed(`{"x":1}`, "a"))
	require.NotEqual(t, seed("{}", "a"), seed("{}", "a", "Authorization", "Bearer ann"))
	require.Equal(t, `""`, w.do("POST", "/x", "{}").body)
	require.Equal(t, `""`, seed("{}", "a", "Authorization", ""), "nobody's requests are each their own")
}

func TestASeedTakesTheKeyOfTheService(t *testing.T) {
	seed := func(key string) string {
		w := start(t, gateway.Options{SeedKey: []byte(key), Routes: []gateway.Route{
			post("/x", func(r *http.Request) (any, error) { return commands.RequestFrom(r.Context()).Seed, nil }),
		}})
		return w.do("POST", "/x", "{}", "Idempotency-Key", "a").body
	}
	require.Equal(t, seed("one"), seed("one"), "on every node, and after a restart")
	require.NotEqual(t, seed("one"), seed("two"))
}

func TestAStoreThatIsDownRefusesTheWrite(t *testing.T) {
	var calls atomic.Int64
	w := onceOnly(t, &memoryStore{broken: true}, counting(&calls))
	a := w.do("POST", "/x", "", "Idempotency-Key", "k")
	a.requireFailure(t, 503, domain.CodeUnavailable)
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.Zero(t, calls.Load(), "once only cannot be promised")
	require.Equal(t, 201, w.do("POST", "/x", "").status)
}

func TestAStreamReplaysAsItsLastFrame(t *testing.T) {
	store := newMemoryStore()
	var fail atomic.Bool
	w := onceOnly(t, store, returns(gateway.Stream{Serve: func(w http.ResponseWriter, _ *http.Request) (any, error) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: 1\n\ndata: 2\n\n"))
		if fail.Load() {
			return nil, errors.New("cut")
		}
		return map[string]int{"frame": 2}, nil
	}}, nil))
	require.Equal(t, "data: 1\n\ndata: 2\n\n", w.do("POST", "/x", "", "Idempotency-Key", "k").body)
	again := w.do("POST", "/x", "", "Idempotency-Key", "k")
	require.Equal(t, `{"frame":2}`, again.body)
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	fail.Store(true)
	w.do("POST", "/x", "", "Idempotency-Key", "k2")
	require.Equal(t, 1, store.size())
}
