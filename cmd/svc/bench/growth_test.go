//go:build bench

package bench

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
)

// aimGrowth is how much more CPU a save or a run may take in the largest workspace, or with the
// most workspaces, than in the smallest.
const aimGrowth = 1.5

// Sizes of workspaces. A workspace has at most workspace.MaxDocuments documents.
var (
	savedSizes = []int{10, 1_000, workspace.MaxDocuments - 10}
	runSizes   = []int{1, 100, workspace.MaxDocuments - 10}
)

// savers is how many clients save at once. Each has a document of its own.
const savers = 8

// growthService is a service with workspaces of several sizes.
type growthService struct {
	*server
	api
	dir     string
	saved   map[int]string // ids of workspaces, by how many documents they have
	run     map[int]string
	busy    string  // id of the workspace with the activity
	startS  float64 // seconds until it was ready
	idleMB  float64 // memory of it after the start, without files
	dataMB  float64
	events  int
	spaces  int
	running map[int]map[string]page
}

// benchGrowth measures how the cost of the same work grows with what is stored: saves and runs in
// workspaces of several sizes, runs, pages, memory and start with few and with many workspaces and
// events.
func benchGrowth(t *testing.T, _ *history) {
	others := watchOthers(t)
	empty := newGrown(t, nil, nil, 1, 0)
	empty.stop(t)
	few := newGrown(t, savedSizes, runSizes, 1, 10_000)
	many := newGrown(t, nil, runSizes[:1], scaled(10_000), scaled(1_000_000))
	out := line{
		"runs": runs, "aim": aimGrowth, "durability": "group: fdatasync before the answer", "events_few": few.events, "events_many": many.events,
		"workspaces_few": few.spaces, "workspaces_many": many.spaces,
	}
	saves, triggers := map[int]series{}, map[string]series{}
	for run := range runs {
		for _, n := range savedSizes {
			saves[n] = append(saves[n], few.save(t, n, run))
		}
		for _, n := range runSizes {
			name := fmt.Sprint(n)
			triggers[name] = append(triggers[name], readOnce(t, few.server, few.running[n], 2*sliceTime))
		}
		triggers["many"] = append(triggers["many"], readOnce(t, many.server, many.running[1], 2*sliceTime))
	}
	cpu := sample.cpuEach
	for n, s := range saves {
		out[fmt.Sprintf("cpu_us_save_%d", n)] = s.of(cpu)
	}
	for name, s := range triggers {
		out["cpu_us_run_"+name] = s.of(cpu)
	}
	smallest, largest := savedSizes[0], savedSizes[len(savedSizes)-1]
	save := saves[largest].of(cpu) / saves[smallest].of(cpu)
	run := triggers[fmt.Sprint(largest)].of(cpu) / triggers["1"].of(cpu)
	among := triggers["many"].of(cpu) / triggers["1"].of(cpu)
	out["ratio_save"], out["ratio_run"], out["ratio_run_workspaces"] = save, run, among
	out["ok"] = max(save, run, among) <= aimGrowth
	for name, path := range map[string]string{"list": "/v2/workspaces?limit=50", "feed": "/v2/workspaces/{busy}/events?limit=50"} {
		a, b := few.pageCPU(t, path), many.pageCPU(t, path)
		out["cpu_us_"+name+"_few"], out["cpu_us_"+name+"_many"], out["ratio_"+name] = a, b, b/a
	}
	out["start_s_few"], out["start_s_many"], out["ratio_start"] = few.startS, many.startS, many.startS/few.startS
	out["data_mb_few"], out["data_mb_many"] = few.dataMB, many.dataMB
	out["idle_kb_each_workspace"] = (many.idleMB - empty.idleMB) * 1024 / float64(many.spaces)
	few.stop(t)
	many.stop(t)
	out["others_cores"] = others()
	out.print(t, "growth")
}

// newGrown makes a service with workspaces of these sizes, and as many others and events.
func newGrown(t *testing.T, saved, run []int, spaces, events int) *growthService {
	t.Helper()
	g := &growthService{dir: t.TempDir(), saved: map[int]string{}, run: map[int]string{}, running: map[int]map[string]page{}, spaces: spaces, events: events}
	port := freePort(t)
	g.api = api{fmt.Sprintf("http://127.0.0.1:%d", port), &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: savers}}}
	launchService := func() *server {
		return launch(t, command(t, "serve", append(settingsOf(g.dir, port), "RATE_LIMIT_DISABLED=true", "RATE_LIMIT_REQUESTS=0", "RATE_LIMIT_SEARCH_EVENTS=0")...), port)
	}
	g.server = launchService()
	g.awaitReady(t, "/readyz")
	for _, n := range saved {
		g.saved[n] = g.makeWorkspace(t)
	}
	for _, n := range run {
		g.run[n] = g.makeWorkspace(t)
		status, _, answer, err := g.ask("POST", "/v2/workspaces/"+g.run[n]+"/automations", orderAutomation)
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, status, "%s", answer)
	}
	g.busy = g.makeWorkspace(t)
	g.stop(t)

	store := openStore(t, filepath.Join(g.dir, "log"), jetstream.SyncNever)
	for n, id := range g.saved {
		addAutomations(t, store.Log, id, n)
	}
	for n, id := range g.run {
		addAutomations(t, store.Log, id, n-1)
	}
	require.NoError(t, write(t, store, spaces, uint64(spaces)))
	fillActivity(t, store, g.busy, "other", events, 0)
	closeStore(t, store)

	g.server = launchService() // builds the read models
	g.awaitReady(t, "/readyz")
	g.awaitIdle(t) // what listens to events has heard of those that were written behind its back
	g.stop(t)
	collectGarbage()
	began := time.Now()
	g.server = launchService()
	g.awaitReady(t, "/readyz")
	g.startS = time.Since(began).Seconds()
	g.awaitIdle(t)
	g.idleMB = float64(procField(t, g.Process.Pid, "status", "RssAnon")) / 1024
	g.dataMB = megabytes(sizeOf(t, g.dir))
	for n, id := range g.run {
		g.running[n] = orderPage("/v2/workspaces/" + id + "/webhooks/" + orderPath)
		readOnce(t, g.server, g.running[n], time.Second) // warm up
	}
	for n := range g.saved {
		g.save(t, n, runs)
	}
	return g
}

// addAutomations adds automations to a workspace, all with an endpoint, an event that they
// listen to and one that they emit.
func addAutomations(t *testing.T, store eventstore.Store, id string, n int) {
	t.Helper()
	history, err := store.Load(t.Context(), workspace.Stream(id), 0)
	require.NoError(t, err)
	last := history[len(history)-1].Seq
	const batch = 50
	for from := 0; from < n; from += batch {
		var facts []eventstore.Fact
		for i := from; i < min(n, from+batch); i++ {
			body := []byte(numberedAutomation(i, 0))
			facts = append(facts, eventstore.Fact{ID: ulid.Make().String(), Event: workspace.AutomationCreated{Entry: workspace.Entry{
				Path: fmt.Sprintf("automations/a%d", i), Hash: workspace.HashOf(body), Checksum: "sha256:" + workspace.HashOf(body), Body: body, Endpoint: fmt.Sprintf("a%d", i),
			}}})
		}
		receipt, err := store.Append(t.Context(), eventstore.Commit{
			Stream: workspace.Stream(id), Expected: last, Facts: facts, Meta: domain.Meta{UserID: "u-bench", CorrelationID: "c-bench"},
		})
		require.NoError(t, err)
		last = receipt.Seqs[len(receipt.Seqs)-1]
	}
}

func numberedAutomation(i, change int) string {
	return fmt.Sprintf(`{"slug":"a%d","name":"Charge card %d","when":{"events":["paid"],"endpoint":true},"do":[{"emit":{"event":"charged","payload":{"n":%d}}}]}`, i, change, i)
}

// save has several clients save automations of the workspace of a size for a while.
func (g *growthService) save(t *testing.T, size, run int) (s sample) {
	t.Helper()
	collectGarbage()
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed error
	cpu, start := cpuOf(t, g.Process.Pid), time.Now()
	for client := range min(savers, size) {
		all.Go(func() {
			path := fmt.Sprintf("/v2/workspaces/%s/automations/a%d", g.saved[size], client)
			for i := 0; time.Since(start) < 2*sliceTime; i++ {
				status, _, answer, err := g.ask("PUT", path, numberedAutomation(client, run*1_000_000+i+1))
				if err == nil && status != http.StatusOK {
					err = fmt.Errorf("%d %.300s", status, answer)
				}
				mu.Lock()
				s.count++
				if err != nil {
					failed = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, failed)
	s.took, s.cpu = time.Since(start), cpuOf(t, g.Process.Pid)-cpu
	return s
}

// pageCPU returns the CPU time of a page in microseconds. {busy} in a path is the workspace with
// the activity.
func (g *growthService) pageCPU(t *testing.T, path string) float64 {
	t.Helper()
	path = strings.ReplaceAll(path, "{busy}", g.busy)
	const n = 200
	var figures []float64
	for range runs {
		cpu := cpuOf(t, g.Process.Pid)
		for range n {
			status, _, answer, err := g.ask("GET", path, "")
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, "%s", answer)
		}
		figures = append(figures, float64((cpuOf(t, g.Process.Pid)-cpu).Microseconds())/n)
	}
	return median(figures)
}
