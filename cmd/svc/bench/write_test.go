//go:build bench

package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	writers   = 64
	writeTime = 4 * time.Second
)

// api asks a service as somebody whom it trusts.
type api struct {
	base   string
	client *http.Client
}

func (a api) ask(method, path, body string) (status int, header http.Header, answer []byte, err error) {
	req, err := http.NewRequest(method, a.base+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("Authorization", "Bearer tester")
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, answer, err
}

// must returns the id in an answer.
func (a api) must(t *testing.T, method, path, body string, want int) string {
	t.Helper()
	status, _, answer, err := a.ask(method, path, body)
	require.NoError(t, err)
	require.Equal(t, want, status, "%s", answer)
	var made struct{ ID string }
	_ = json.Unmarshal(answer, &made) // a list has none
	return made.ID
}

// requestAll is a bare loop of n requests, so many at once.
func requestAll(t *testing.T, n, atOnce int, request func(client *http.Client, i int) (*http.Response, error)) sample {
	t.Helper()
	collectGarbage()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for range atOnce {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				resp, err := request(client, int(i-1))
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	all.Wait()
	return sample{count: n, took: time.Since(start)}
}

// benchWrite creates automations from many clients at once, through the whole
// gateway: validated, decided, fsynced and in the read model when they are answered.
func benchWrite(t *testing.T, _ *history) {
	others := watchOthers(t)
	port := freePort(t)
	service := launch(t, command(t, "serve", settingsOf(t.TempDir(), port)...), port)
	service.awaitReady(t, "/readyz")
	a := api{fmt.Sprintf("http://127.0.0.1:%d", port), &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: writers}}}
	places := make([]string, writers)
	for i := range places {
		places[i] = "/v2/workspaces/" + a.makeWorkspace(t) + "/automations"
	}
	var ours series
	for run := range runs {
		collectGarbage()
		ours = append(ours, a.postForAWhile(t, service, places, writeTime, func(i int) string {
			return fmt.Sprintf(`{"slug":"a%d-%d","name":"Charge card","when":{"events":["paid"]},"do":[{"emit":{"event":"charged","payload":{"n":%d}}}]}`, run, i, i)
		}))
	}
	stored := 0
	for _, place := range places {
		status, header, _, err := a.ask("GET", place+"?limit=1", "")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status)
		n, err := strconv.Atoi(header.Get("X-Total-Count"))
		require.NoError(t, err)
		stored += n
	}
	service.stop(t)
	require.Equal(t, ours.count(), stored, "each answer is one automation")
	out := line{
		"runs": runs, "others_cores": others(), "clients": writers, "sent": ours.count(), "answered": ours.count(), "stored": stored,
		"control": "none: no other server is available here", "durability": "group: fdatasync before the answer, shared by all who wait",
	}
	ours.describe(out, "service")
	out.print(t, "write")
}

// postForAWhile lets a client for each place post there, what body says, for a while.
func (a api) postForAWhile(t *testing.T, service *server, places []string, while time.Duration, body func(i int) string) (s sample) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed error
	cpu, start := cpuOf(t, service.Process.Pid), time.Now()
	for _, place := range places {
		all.Go(func() {
			var mine []time.Duration
			for i := 0; time.Since(start) < while; i++ {
				began := time.Now()
				status, _, answer, err := a.ask("POST", place, body(i))
				if err == nil && status != http.StatusCreated {
					err = fmt.Errorf("%d %.300s", status, answer)
				}
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					return
				}
				mine = append(mine, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			s.latency = append(s.latency, mine...)
		})
	}
	all.Wait()
	require.NoError(t, failed)
	s.count, s.took, s.cpu = len(s.latency), time.Since(start), cpuOf(t, service.Process.Pid)-cpu
	return s
}
