//go:build fault

package fault

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// sink is a receiver that refuses three deliveries in ten, checks the signature of
// each, and knows what it has taken.
type sink struct {
	*httptest.Server
	seed uint64

	mu       sync.Mutex
	hook     *standardwebhooks.Webhook
	tries    map[string]int // by id of the event
	taken    map[string]int // how many of a key were taken, in order
	ids      map[string]bool
	calls    int
	refused  int
	doubled  int
	unsigned int
	early    []string // those that came before one that should have gone first
}

func newSink(t *testing.T, seed uint64) *sink {
	t.Helper()
	s := &sink{seed: seed, tries: map[string]int{}, taken: map[string]int{}, ids: map[string]bool{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var event struct {
		ID      string
		Payload struct {
			Key string
			N   int
		}
	}
	if err != nil || json.Unmarshal(body, &event) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.hook.Verify(body, r.Header) != nil || r.Header.Get(standardwebhooks.HeaderWebhookID) != event.ID {
		s.unsigned++
	}
	key := event.Payload.Key
	if event.Payload.N > s.taken[key] {
		s.early = append(s.early, fmt.Sprintf("%s %d while %d was next", key, event.Payload.N, s.taken[key]))
	}
	if s.tries[event.ID]++; s.shouldRefuse(event.ID, s.tries[event.ID]) {
		s.refused++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if s.ids[event.ID] {
		s.doubled++
		return
	}
	s.ids[event.ID] = true
	s.taken[key]++
}

// shouldRefuse tells whether an attempt is one of the three in ten.
func (s *sink) shouldRefuse(id string, attempt int) bool {
	sum := fnv.New64a()
	_, _ = fmt.Fprintf(sum, "%d %s %d", s.seed, id, attempt)
	return sum.Sum64()%10 < 3
}

func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids)
}

const webhookKeys = 40

// emit records events in batches until the service has acknowledged all of them. A
// batch that was not answered is asked for again, with its key.
func emit(s *service, workspaceID string, events int, stop <-chan struct{}) {
	next := make([]int, webhookKeys)
	for from := 0; from < events; from += 100 {
		var batch []map[string]any
		for i := from; i < min(events, from+100); i++ {
			key := i * 7919 % webhookKeys
			batch = append(batch, map[string]any{"type": "orders.paid", "payload": map[string]any{"key": strconv.Itoa(key), "n": next[key]}})
			next[key]++
		}
		for {
			status, _, err := s.call(http.MethodPost, "/v2/workspaces/"+workspaceID+"/events", fmt.Sprintf("batch-%d", from), map[string]any{"events": batch})
			if err == nil && status == http.StatusCreated {
				break
			}
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}

// subscribe has the events of a workspace sent to the sink, in order of their key.
func (s *sink) subscribe(t *testing.T, to *service, workspaceID string) (id string) {
	t.Helper()
	status, body, err := to.call(http.MethodPost, "/v2/workspaces/"+workspaceID+"/subscriptions", "", map[string]any{
		"url": s.URL, "types": []string{"orders.*"}, "orderKey": "payload.key",
	})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status, "%s", body)
	var made struct{ ID, Secret string }
	require.NoError(t, json.Unmarshal(body, &made))
	s.hook, err = standardwebhooks.NewWebhook(made.Secret)
	require.NoError(t, err)
	return made.ID
}

func TestKilledServicesDeliverEverythingInOrder(t *testing.T) {
	t.Parallel()
	events, seed := 3_000, nodetest.Seed()
	kills := nodetest.Cycles(3, 20)
	if kills > 3 {
		events = 5_000 * kills
	}
	s := newService(t, "EGRESS_ALLOW_PRIVATE=yes", "WEBHOOK_RETRY_SCHEDULE=20ms,50ms,100ms,200ms,500ms,500ms,1s,1s,1s,1s,1s,1s")
	to := newSink(t, seed)
	s.start(t)
	workspaceID, err := s.create("Shop")
	require.NoError(t, err)
	sub := to.subscribe(t, s, workspaceID)
	start, stop := time.Now(), make(chan struct{})
	var emitting sync.WaitGroup
	emitting.Go(func() { emit(s, workspaceID, events, stop) })
	t.Cleanup(func() { close(stop); emitting.Wait() })
	for i := range kills {
		reach := events * (i + 1) / (kills + 1)
		require.Eventually(t, func() bool { return to.count() >= reach }, 5*time.Minute, 2*time.Millisecond, "%d deliveries", reach)
		s.kill()
		s.start(t)
	}
	emitting.Wait()
	require.Eventually(t, func() bool { return to.count() == events }, 5*time.Minute, 5*time.Millisecond, "all of them are delivered")
	took := time.Since(start)

	path := "/v2/workspaces/" + workspaceID + "/subscriptions/" + sub + "/deliveries?limit=1&status="
	for status, want := range map[string]int{"succeeded": events, "pending": 0, "failed": 0, "dead": 0} {
		require.Eventually(t, func() bool { return s.total(path+status) == want }, time.Minute, 20*time.Millisecond, "%d are recorded as %s", want, status)
	}
	s.verify(t)
	s.stop(t)
	to.mu.Lock()
	defer to.mu.Unlock()
	require.Empty(t, to.early, "in order of their key")
	require.Zero(t, to.unsigned, "every signature is good")
	nodetest.Report(t, "webhooks", map[string]any{
		"kills": kills, "deliveries": events, "missing": events - len(to.ids), "attempts": to.calls, "refused": to.refused, "doubled": to.doubled,
		"out_of_order": len(to.early), "bad_signatures": to.unsigned, "seed": seed, "seconds": int(took.Seconds()),
	})
}
