//go:build bench

package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	aimPages     = 0.3
	aimFirstByte = 50  // ms at the 95th percentile
	aimPatch     = 200 // ms at the 99th percentile
	pagesRate    = 200 // requests in a second
	pagesTime    = 10 * time.Second
	openPages    = 1000
)

// templatePage is a page as a bare handler renders it: its markup, and its texts, which are escaped.
type templatePage struct {
	Source string
	Texts  []string
}

// pageText is a text between two tags.
var pageText = regexp.MustCompile(`>([^<>]*[^<>\s][^<>]*)<`)

// newTemplatePage makes the template that renders the same bytes.
func newTemplatePage(body []byte) (p templatePage) {
	var source strings.Builder
	at := 0
	for _, found := range pageText.FindAllSubmatchIndex(body, -1) {
		source.Write(body[at:found[2]])
		fmt.Fprintf(&source, "{{index . %d}}", len(p.Texts))
		p.Texts = append(p.Texts, html.UnescapeString(string(body[found[2]:found[3]])))
		at = found[3]
	}
	source.Write(body[at:])
	p.Source = source.String()
	return p
}

// serveTemplate is the control: a handler that executes one template of html/template.
func serveTemplate() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	content, err := os.ReadFile(os.Getenv("BENCH_PAGE"))
	if err != nil {
		return err
	}
	var p templatePage
	if err := json.Unmarshal(content, &p); err != nil {
		return err
	}
	tmpl, err := template.New("page").Parse(p.Source)
	if err != nil {
		return err
	}
	s := &http.Server{Addr: os.Getenv("BENCH_ADDR"), ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var b bytes.Buffer
		if err := tmpl.Execute(&b, p.Texts); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(b.Bytes())
	})}
	go func() {
		<-ctx.Done()
		_ = s.Close()
	}()
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// fiftyBlocks is a page as an author would make it, without automations.
func fiftyBlocks() string {
	blocks := []any{map[string]any{"slug": "Header", "title": "Garden shop", "nav": []any{map[string]any{"text": "Plants", "type": "internal", "value": "plants"}, map[string]any{"text": "Help", "type": "external", "value": "https://example.org/help"}}}}
	for i := range 16 {
		blocks = append(blocks,
			map[string]any{"slug": "RichText", "content": fmt.Sprintf("## Part %d\n\nSow **peas** and *spinach* as soon as the soil is dry, see [the calendar](https://example.org/%d).\n\n- five deep\n- in pairs of rows\n", i, i)},
			map[string]any{"slug": "KPI", "title": "Orders", "n": i, "value": "{{n}}", "unit": "a day", "description": "Against last week"},
			map[string]any{"slug": "Cards", "title": "Plants", "cards": []any{map[string]any{"title": "Pea", "description": "Sweet pods", "action": map[string]any{"text": "See peas", "type": "internal", "value": "peas"}}, map[string]any{"title": "Radish", "description": "White and mild"}}},
		)
	}
	blocks = append(blocks, map[string]any{"slug": "Footer", "content": "Garden shop, Example Street 1"})
	text, _ := json.Marshal(map[string]any{"slug": "index", "name": "Garden shop", "blocks": blocks}) // it is plain data
	return string(text)
}

// makePage makes a page of a new workspace that everybody may read, and returns the path of its pages and the workspace.
func (a api) makePage(t *testing.T, doc string) (base, workspaceID string) {
	t.Helper()
	workspaceID = a.makeWorkspace(t)
	do := func(status int, method, path, body string) (made struct{ ID, Slug string }) {
		got, _, answer, err := a.ask(method, path, body)
		require.NoError(t, err)
		require.Equal(t, status, got, "%s", answer)
		require.NoError(t, json.Unmarshal(answer, &made))
		return made
	}
	id := do(http.StatusCreated, "POST", "/v2/workspaces/"+workspaceID+"/pages", doc).ID
	do(http.StatusOK, "POST", "/v2/pages/"+id+"/permissions", `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
	return "/pages/" + do(http.StatusOK, "GET", "/v2/workspaces/"+workspaceID, "").Slug, workspaceID
}

// benchPages compares a page of fifty blocks through the whole gateway with a bare handler of html/template that answers
// the same bytes; then it asks for it 200 times a second; then a thousand pages are open while events change them.
func benchPages(t *testing.T, _ *history) {
	others := watchOthers(t)
	port := freePort(t)
	service := launch(t, command(t, "serve", append(settingsOf(t.TempDir(), port), "RATE_LIMIT_REQUESTS=0", "RATE_LIMIT_SEARCH_EVENTS=0")...), port)
	service.awaitReady(t, "/readyz")
	a := api{fmt.Sprintf("http://127.0.0.1:%d", port), http.DefaultClient}
	base, _ := a.makePage(t, fiftyBlocks())
	resp, err := http.Get(a.base + base + "/")
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", body)
	require.Equal(t, 50, bytes.Count(body, []byte(`data-block="`)))
	pages := map[string]page{"index": {fmt.Appendf(nil, "GET %s/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAccept: text/html\r\n\r\n", base, port), body}}

	file := filepath.Join(t.TempDir(), "page.json")
	content, err := json.Marshal(newTemplatePage(body))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, content, 0o600))
	barePort := freePort(t)
	bare := launch(t, command(t, "template", "BENCH_PAGE="+file, fmt.Sprintf("BENCH_ADDR=127.0.0.1:%d", barePort)), barePort)
	bare.awaitReady(t, "/")

	ours, control := readInTurns(t, service, bare, pages)
	bare.stop(t)
	fresh := readFresh(t, service, base, time.Duration(turns)*sliceTime)
	firstBytes := readPaced(t, port, pages["index"], pagesRate, pagesTime)
	answered := ours.count() + control.count() + len(firstBytes)
	out := line{
		"runs": runs, "others_cores": others(), "ratios": ours.ratios(control), "connections": connections, "blocks": 50, "body_bytes": len(body), "aim": aimPages,
		"ratio": ours.ratio(control), "ratio_cpu": control.of(sample.cpuEach) / ours.of(sample.cpuEach), "sent": answered, "answered": answered, "durability": "none: a read",
		"aim_p95_ms_first_byte": aimFirstByte, "p50_ms_first_byte": percentile(firstBytes, 50), "p95_ms_first_byte": percentile(firstBytes, 95), "p99_ms_first_byte": percentile(firstBytes, 99),
		"per_s_fresh": fresh.rate(), "cpu_us_each_fresh": fresh.cpuEach(), "ratio_fresh": fresh.rate() / control.of(sample.rate), "ratio_cpu_fresh": control.of(sample.cpuEach) / fresh.cpuEach(),
		"ok": fresh.rate()/control.of(sample.rate) >= aimPages && ours.ratio(control) >= aimPages && percentile(firstBytes, 95) < aimFirstByte,
	}
	ours.describe(out, "service")
	control.describe(out, "bare")
	out.print(t, "pages")
	followPages(t, service, a)
	service.stop(t)
}

// readFresh asks for a page with another query each time, so that none is rendered already.
func readFresh(t *testing.T, s *server, base string, d time.Duration) sample {
	t.Helper()
	collectGarbage()
	counts, failures := make([]int, connections), make([]error, connections)
	var running sync.WaitGroup
	cpu, start := cpuOf(t, s.Process.Pid), time.Now()
	for i := range connections {
		running.Go(func() {
			client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
			defer client.CloseIdleConnections()
			for ; time.Since(start) < d && failures[i] == nil; counts[i]++ {
				var resp *http.Response
				if resp, failures[i] = client.Get(fmt.Sprintf("http://127.0.0.1:%d%s/?q=%d-%d", s.port, base, i, counts[i])); failures[i] == nil {
					_, failures[i] = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					if resp.StatusCode != http.StatusOK {
						failures[i] = fmt.Errorf("status %d", resp.StatusCode)
					}
				}
			}
		})
	}
	running.Wait()
	require.NoError(t, errors.Join(failures...))
	out := sample{took: time.Since(start), cpu: cpuOf(t, s.Process.Pid) - cpu}
	for _, n := range counts {
		out.count += n
	}
	return out
}

// readPaced asks for a page so often in a second, whatever the answers take, and returns how long their first bytes took.
func readPaced(t *testing.T, port int, p page, rate int, d time.Duration) (all []time.Duration) {
	t.Helper()
	collectGarbage()
	due := make(chan time.Time, int(d.Seconds())*rate)
	for i := range cap(due) {
		due <- time.Now().Add(time.Duration(i) * time.Second / time.Duration(rate))
	}
	close(due)
	latency, failures := make([][]time.Duration, connections), make([]error, connections)
	var running sync.WaitGroup
	for i := range connections {
		running.Go(func() { latency[i], failures[i] = readWhenDue(port, p, due) })
	}
	running.Wait()
	require.NoError(t, errors.Join(failures...))
	return slices.Concat(latency...)
}

func readWhenDue(port int, p page, due <-chan time.Time) (latency []time.Duration, err error) {
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for at := range due {
		<-time.After(time.Until(at))
		if _, err := conn.Write(p.request); err != nil {
			return nil, err
		}
		if _, err := in.Peek(1); err != nil {
			return nil, err
		}
		latency = append(latency, time.Since(at))
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !bytes.Equal(body, p.body) {
			return nil, fmt.Errorf("%d %s: %w", resp.StatusCode, body, err)
		}
	}
	return latency, nil
}

// followPages opens a thousand pages, each of another visitor, and measures how long an event takes until its patch is
// there.
func followPages(t *testing.T, service *server, a api) {
	t.Helper()
	others := watchOthers(t)
	base, workspaceID := a.makePage(t, `{"slug":"index","name":"Live","blocks":[{"slug":"Header","title":"Live"},{"slug":"RichText","content":"at {{t}} it was","t":"-","updateOn":"changed"}]}`)
	resp, err := http.Get(a.base + base + "/")
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	view := regexp.MustCompile(`data-view="([^"]+)"`).FindSubmatch(body)
	require.NotNil(t, view, "%s", body)
	readers, events := scaled(openPages), int(pagesTime.Seconds())*pagesRate
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	memory := procField(t, service.Process.Pid, "status", "VmRSS")
	patches, failures := make(chan time.Duration, events), make(chan error, readers)
	var ready, all sync.WaitGroup
	for i := range readers {
		ready.Add(1)
		path := fmt.Sprintf("%s/_svc/feed?view=%s&socket=tab%d", base, view[1], i)
		all.Go(func() {
			if err := readPatches(ctx, service.port, path, fmt.Sprintf("visitor%d", i), ready.Done, patches); err != nil && ctx.Err() == nil {
				failures <- err
			}
		})
	}
	ready.Wait()
	cpu, start := cpuOf(t, service.Process.Pid), time.Now()
	tick := time.NewTicker(time.Second / pagesRate)
	defer tick.Stop()
	for range events {
		<-tick.C
		status, _, answer, err := a.ask("POST", "/v2/workspaces/"+workspaceID+"/events", fmt.Sprintf(`{"events":[{"type":"changed","payload":{"t":"%d"},"target":{"sessionId":"s-visitor%d"}}]}`, time.Now().UnixNano(), rand.IntN(readers)))
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, status, "%s", answer)
	}
	sent := time.Since(start)
	var latency []time.Duration
	for len(latency) < events {
		select {
		case one := <-patches:
			latency = append(latency, one)
		case err := <-failures:
			require.NoError(t, err)
		case <-ctx.Done():
			require.Fail(t, "patches are missing", "%d of %d came", len(latency), events)
		}
	}
	out := line{
		"open": readers, "events": events, "delivered": len(latency), "sent_s": sent.Seconds(), "p50_ms": percentile(latency, 50), "p95_ms": percentile(latency, 95), "p99_ms": percentile(latency, 99),
		"aim_ms": aimPatch, "ok": percentile(latency, 99) < aimPatch, "others_cores": others(), "cpu_s_service": (cpuOf(t, service.Process.Pid) - cpu).Seconds(),
		"memory_mb": megabytes(procField(t, service.Process.Pid, "status", "VmRSS") << 10), "memory_mb_before": megabytes(memory << 10),
		"durability": "group: fdatasync before the answer and before delivery",
	}
	cancel()
	all.Wait()
	out.print(t, "pages-live")
}

// readPatches follows the feed of a page, and notes how long after its event each patch came.
func readPatches(ctx context.Context, port int, path, who string, ready func(), patches chan<- time.Duration) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", path, port, who); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 8<<10), nil)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	lines := bufio.NewReaderSize(resp.Body, 8<<10)
	for {
		text, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		switch {
		case bytes.HasPrefix(text, []byte("retry:")):
			ready()
		case bytes.HasPrefix(text, []byte("data: ")):
			if at := patchTime.FindSubmatch(text); at != nil {
				patches <- time.Since(time.Unix(0, number(append(at[1], ','), "")))
			}
		}
	}
}

var patchTime = regexp.MustCompile(`at (\d{19}) it was`)
