//go:build bench

package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
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
	aimFanout   = 50   // ms at the 99th percentile
	fanoutRate  = 1000 // events in a second
	fanoutTime  = 10 * time.Second
	fanoutBatch = 10
)

// fanoutSize is how many readers there are, and in how many workspaces. The readers run on
// the machine of the service, and take as much of it.
type fanoutSize struct {
	name                string
	readers, workspaces int
}

// crowds are the platform as it is used, a thousand readers of whom each follows the
// workspace that they work in, and the worst of it, everyone in the same workspace.
var crowds = []fanoutSize{{"fanout", 1000, 10}, {"fanout-one-workspace", 250, 1}}

// makeWorkspace creates a workspace and returns its id.
func (a api) makeWorkspace(t *testing.T) string {
	t.Helper()
	status, _, body, err := a.ask("POST", "/v2/workspaces", `{"name":"W"}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status, "%s", body)
	var made struct {
		ID string `json:"id"`
	}
	require.NoError(t, json.Unmarshal(body, &made))
	return made.ID
}

func benchFanout(t *testing.T, _ *history) {
	for _, c := range crowds {
		c.follow(t)
	}
}

// follow has many readers follow workspaces over server-sent events while those are
// written to, and some of them come and go.
func (c fanoutSize) follow(t *testing.T) {
	t.Helper()
	others := watchOthers(t)
	port := freePort(t)
	service := launch(t, command(t, "serve", append(settingsOf(t.TempDir(), port), "RATE_LIMIT_REQUESTS=0", "RATE_LIMIT_SEARCH_EVENTS=0")...), port)
	service.awaitReady(t, "/readyz")
	a := api{fmt.Sprintf("http://127.0.0.1:%d", port), &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
	ids := make([]string, c.workspaces)
	for i := range ids {
		ids[i] = a.makeWorkspace(t)
	}
	readers := scaled(c.readers)
	total := int(fanoutTime.Seconds()) * fanoutRate
	each := total / c.workspaces
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var ready, all sync.WaitGroup
	var reconnects atomic.Int64
	latencies := make([][]time.Duration, readers)
	failures := make(chan error, readers)
	for i := range readers {
		ready.Add(1)
		all.Go(func() {
			r := &sseReader{address: fmt.Sprintf("127.0.0.1:%d", port), path: "/v2/workspaces/" + ids[i%c.workspaces] + "/events/stream?types=tick", who: fmt.Sprintf("tester%d", i%40), total: each, ready: ready.Done}
			if i/c.workspaces%10 == 0 {
				r.leaveEvery = each / 5
			}
			if err := r.run(ctx); err != nil {
				failures <- fmt.Errorf("reader %d: %w", i, err)
			}
			reconnects.Add(int64(r.reconnects))
			latencies[i] = r.latency
		})
	}
	ready.Wait()
	cpu, own, start := cpuOf(t, service.Process.Pid), ownCPU(t), time.Now()
	tick := time.NewTicker(time.Second * fanoutBatch / fanoutRate)
	defer tick.Stop()
	for i := range total / fanoutBatch {
		<-tick.C
		n := i / c.workspaces * fanoutBatch // the first of this batch in its workspace
		events := make([]string, fanoutBatch)
		for k := range events {
			events[k] = fmt.Sprintf(`{"type":"tick","payload":{"n":%d,"t":%d}}`, n+k, time.Now().UnixNano())
		}
		status, _, body, err := a.ask("POST", "/v2/workspaces/"+ids[i%c.workspaces]+"/events", `{"events":[`+strings.Join(events, ",")+`]}`)
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, status, "%s", body)
	}
	sent := time.Since(start)
	all.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	var merged []time.Duration
	for _, l := range latencies {
		merged = append(merged, l...)
	}
	out := line{
		"readers": readers, "workspaces": c.workspaces, "events": total, "sent_s": sent.Seconds(), "delivered": len(merged), "expected": readers * each, "reconnects": reconnects.Load(),
		"p50_ms": percentile(merged, 50), "p95_ms": percentile(merged, 95), "p99_ms": percentile(merged, 99), "aim_ms": aimFanout,
		"ok": percentile(merged, 99) < aimFanout && len(merged) == readers*each, "others_cores": others(),
		"cpu_s_service": (cpuOf(t, service.Process.Pid) - cpu).Seconds(), "cpu_s_readers": (ownCPU(t) - own).Seconds(),
		"memory_mb":  megabytes(procField(t, service.Process.Pid, "status", "VmRSS") << 10),
		"durability": "group: fdatasync before the answer and before delivery",
	}
	service.stop(t)
	out.print(t, c.name)
}

// sseReader follows events that are numbered from 0 on, and checks that each comes
// once.
type sseReader struct {
	address    string // spoken to without a client: a thousand of those would be what is measured
	path, who  string
	total      int
	ready      func()
	leaveEvery int // it comes back after so many; 0: it stays
	reconnects int
	next       int
	last       string
	latency    []time.Duration
}

func (r *sseReader) run(ctx context.Context) error {
	r.latency = make([]time.Duration, 0, r.total)
	for r.next < r.total {
		if err := r.connect(ctx); err != nil {
			return err
		}
		if r.next < r.total {
			r.reconnects++
		}
	}
	return nil
}

func (r *sseReader) connect(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	req, err := http.NewRequest(http.MethodGet, "http://"+r.address+r.path, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+r.who)
	if r.last != "" {
		req.Header.Set("Last-Event-ID", r.last)
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 32<<10), req)
	if err != nil {
		return err
	}
	// Its body is not closed: that would read it to the end, which there is none of.
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	lines := bufio.NewReaderSize(resp.Body, 32<<10)
	for taken := 0; r.next < r.total; {
		text, err := lines.ReadSlice('\n')
		if err != nil {
			return nil // cut off: it comes back
		}
		switch {
		case bytes.HasPrefix(text, []byte("retry:")) && r.ready != nil:
			r.ready()
			r.ready = nil
		case bytes.HasPrefix(text, []byte("id: ")):
			r.last = string(bytes.TrimSpace(text[4:]))
		case bytes.HasPrefix(text, []byte("data: ")):
			payload := text[max(bytes.Index(text, []byte(`"payload":`)), 0):]
			n, at := number(payload, `"n":`), number(payload, `"t":`)
			if int(n) != r.next {
				return fmt.Errorf("event %d came where %d was due", n, r.next)
			}
			r.next++
			r.latency = append(r.latency, time.Since(time.Unix(0, at)))
			if taken++; taken == r.leaveEvery {
				return nil
			}
		}
	}
	return nil
}

// number is the whole number after the first mark.
func number(text []byte, mark string) int64 {
	at := bytes.Index(text, []byte(mark))
	if at < 0 {
		return -1
	}
	rest := text[at+len(mark):]
	end := bytes.IndexAny(rest, ",}")
	n, err := strconv.ParseInt(string(rest[:max(end, 0)]), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
