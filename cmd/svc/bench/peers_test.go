//go:build bench

package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What svc promises, as ratios to the peer in the same run.
const (
	aimCreateRow      = 1.5 // times PocketBase's create, over the API
	aimCreateEndpoint = 0.8 // times PocketBase's create, by an automation
	aimCreateP99      = 50  // milliseconds, of a row over the API
	aimQuery          = 1   // times PocketBase's list of as many
	aimWrite          = 1   // times PocketBase's create: an automation, validated and compiled
	aimReadPeer       = 4   // times PocketBase's getOne
)

const (
	peerConnections = 64
	peerTurns       = 3   // of one run
	listedRows      = 500 // in the collection that lists are of
	listed          = 10
)

// TestPeers compares the service with PocketBase and Node-RED, with the same load generator in the same run.
// make bench-peers installs both.
func TestPeers(t *testing.T) {
	t.Run("pocketbase", comparePocketBase)
	t.Run("nodered", compareNodeRED)
}

// peer is one side of a comparison: a server, and what a connection asks it.
type peer struct {
	server   *server
	requests func(connection int) func() page
}

// always asks the same again and again.
func always(method, path, token, body string) func(int) func() page {
	p := page{request: rawRequest(method, path, token, body)}
	return func(int) func() page { return func() page { return p } }
}

func rawRequest(method, path, token, body string) []byte {
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n", method, path)
	if token != "" {
		b = fmt.Appendf(b, "Authorization: Bearer %s\r\n", token)
	}
	if body != "" {
		b = fmt.Appendf(b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return append(append(b, "\r\n"...), body...)
}

// measure lets the sides take turns.
func measure(t *testing.T, sides map[string]peer) map[string]series {
	t.Helper()
	for _, s := range sides {
		load(t, s.server, peerConnections, sliceTime/2, s.requests) // warm up
	}
	measured := map[string]series{}
	for range runs {
		sum := map[string]sample{}
		for range peerTurns {
			for name, s := range sides {
				sum[name] = sum[name].plus(load(t, s.server, peerConnections, sliceTime, s.requests))
			}
		}
		for name := range sides {
			measured[name] = append(measured[name], sum[name])
		}
	}
	return measured
}

// report prints a line with each side and its ratio to the control, and whether each ratio is what is promised.
func report(t *testing.T, name, control string, aims map[string]float64, measured map[string]series, out line) {
	t.Helper()
	out["runs"], out["connections"] = runs, peerConnections
	ok := true
	if met, has := out["ok"].(bool); has {
		ok = met
	}
	for side, s := range measured {
		s.describe(out, side)
		out["answered_"+side] = s.count()
		if side == control {
			continue
		}
		ratio := s.ratio(measured[control])
		out["ratio_"+side], out["ratios_"+side] = ratio, s.ratios(measured[control])
		out["ratio_cpu_"+side] = measured[control].of(sample.cpuEach) / s.of(sample.cpuEach)
		if aim, has := aims[side]; has {
			out["aim_"+side] = aim
			ok = ok && ratio >= aim
		}
	}
	out["ok"] = ok
	out.print(t, name)
}

// client sets a server up.
type client struct {
	base, token string
}

// do sends a request that succeeds, and returns the answer: a JSON object.
func (c client) do(t *testing.T, method, path, body string) (answer map[string]any) {
	t.Helper()
	req, err := http.NewRequest(method, c.base+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, 2, resp.StatusCode/100, "%s %s: %d %s", method, path, resp.StatusCode, b)
	require.NoError(t, json.Unmarshal(b, &answer), "%s", b)
	return answer
}

const (
	peerEmail    = "ada@example.org"
	peerPassword = "long enough to sign in"
	peerRow      = `{"customer":"Ada Lovelace","city":"Ghent","total":125.94,"quantity":7,"state":"new"}`
)

// pocketBase is a PocketBase with two collections of the same fields: one that grows, and one that is listed.
type pocketBase struct {
	*server
	client
	row string // id of one of the listed rows
}

// launchPocketBase starts PocketBase on a new directory. Its rows are for whoever is signed in; its log of requests
// is off, as the service's is.
func launchPocketBase(t *testing.T) *pocketBase {
	t.Helper()
	path, err := filepath.Abs("../../../.cache/bin/pocketbase")
	require.NoError(t, err)
	require.FileExists(t, path, "make bench-peers builds it")
	dir, port := t.TempDir(), freePort(t)
	said, err := prepareQuiet(t, exec.Command(path, "superuser", "upsert", "root@example.org", peerPassword, "--dir", dir)).CombinedOutput()
	require.NoError(t, err, "%s", said)
	p := &pocketBase{server: launch(t, prepare(t, exec.Command(path, "serve", "--http", fmt.Sprintf("127.0.0.1:%d", port), "--dir", dir)), port)}
	p.awaitReady(t, "/api/health")
	p.client = client{base: fmt.Sprintf("http://127.0.0.1:%d", port)}
	signIn := func(collection, email string) string {
		return client{base: p.base}.do(t, "POST", "/api/collections/"+collection+"/auth-with-password", fmt.Sprintf(`{"identity":%q,"password":%q}`, email, peerPassword))["token"].(string)
	}
	p.token = signIn("_superusers", "root@example.org")
	p.do(t, "PATCH", "/api/settings", `{"logs":{"maxDays":0}}`)
	const rule = `"@request.auth.id != ''"`
	for _, name := range []string{"orders", "listed"} {
		p.do(t, "POST", "/api/collections", fmt.Sprintf(`{"name":%q,"type":"base","listRule":%[2]s,"viewRule":%[2]s,"createRule":%[2]s,"fields":[
			{"name":"customer","type":"text"},{"name":"city","type":"text"},{"name":"total","type":"number"},{"name":"quantity","type":"number"},{"name":"state","type":"text"}]}`, name, rule))
	}
	p.do(t, "POST", "/api/collections/users/records", fmt.Sprintf(`{"email":%q,"password":%q,"passwordConfirm":%[2]q}`, peerEmail, peerPassword))
	p.token = signIn("users", peerEmail)
	for range listedRows {
		p.row = p.do(t, "POST", "/api/collections/listed/records", peerRow)["id"].(string)
	}
	return p
}

// prepareQuiet prepares a command whose output is read by the caller.
func prepareQuiet(t *testing.T, c *exec.Cmd) *exec.Cmd {
	t.Helper()
	prepare(t, c).Stderr = nil
	return c
}

// launchIdentified starts the service as it ships, and signs a new user in.
func launchIdentified(t *testing.T, dir string) (*server, client) {
	t.Helper()
	port := freePort(t)
	s := launch(t, command(t, "identified", append(settingsOf(dir, port), "RATE_LIMIT_DISABLED=true", "ADMIN_PASSWORD="+peerPassword)...), port)
	s.awaitReady(t, "/readyz")
	c := client{base: fmt.Sprintf("http://127.0.0.1:%d", port)}
	signIn := func(email string) string {
		return client{base: c.base}.do(t, "POST", "/v2/login", fmt.Sprintf(`{"email":%q,"password":%q}`, email, peerPassword))["token"].(string)
	}
	user := c.do(t, "POST", "/v2/signup", fmt.Sprintf(`{"email":%q,"password":%q,"firstName":"Ada","lastName":"Lovelace"}`, peerEmail, peerPassword))["id"].(string)
	client{c.base, signIn("admin@localhost")}.do(t, "PATCH", "/v2/users/"+user, `{"status":"validated"}`)
	c.token = signIn(peerEmail)
	return s, c
}

// peerAutomations are endpoints that do with rows what the API does.
var peerAutomations = []string{
	`{"slug":"place","name":"Place an order","when":{"endpoint":"place"},"do":[
		{"run":{"module":"collections","function":"create","parameters":{"collection":"orders","data":"{{body}}"},"output":"made"}}],"output":"{{made}}"}`,
	`{"slug":"latest","name":"List orders","when":{"endpoint":"latest"},"do":[
		{"run":{"module":"collections","function":"findMany","parameters":{"collection":"listed","opts":{"limit":10}},"output":"found"}}],"output":"{{found}}"}`,
}

// comparePocketBase compares rows, automations and workspaces with records of PocketBase: to create one, to read
// one, and to list ten of many.
func comparePocketBase(t *testing.T) {
	dir := t.TempDir()
	service, me := launchIdentified(t, dir)
	pb := launchPocketBase(t)
	newWorkspace := func() string {
		return "/v2/workspaces/" + me.do(t, "POST", "/v2/workspaces", `{"name":"W"}`)["id"].(string)
	}
	here := newWorkspace()
	for _, name := range []string{"orders", "listed"} {
		me.do(t, "PUT", here+"/collections/"+name+"/schema", `{"properties":{"customer":{"type":"string"},"city":{"type":"string"},"total":{"type":"number"},"quantity":{"type":"number"},"state":{"type":"string"}}}`)
	}
	for range listedRows {
		me.do(t, "POST", here+"/collections/listed/rows", peerRow)
	}
	for _, doc := range peerAutomations {
		me.do(t, "POST", here+"/automations", doc)
	}
	places := make([]string, peerConnections)
	for i := range places {
		places[i] = newWorkspace() + "/automations"
	}

	others := watchOthers(t)
	written := make([]int, peerConnections)
	created := measure(t, map[string]peer{
		"pocketbase": {pb.server, always("POST", "/api/collections/orders/records", pb.token, peerRow)},
		"row":        {service, always("POST", here+"/collections/orders/rows", me.token, peerRow)},
		"endpoint":   {service, always("POST", here+"/webhooks/place", "", peerRow)},
		"automation": {service, func(connection int) func() page {
			return func() page {
				written[connection]++
				doc := fmt.Sprintf(`{"slug":"a%d","name":"Charge card","when":{"events":["paid"]},"do":[{"emit":{"event":"charged","payload":{"n":%[1]d}}}]}`, written[connection])
				return page{request: rawRequest("POST", places[connection], me.token, doc)}
			}
		}},
	})
	stored := int(me.do(t, "POST", here+"/collections/orders/query", `{"limit":0}`)["total"].(float64))
	require.GreaterOrEqual(t, stored, created["row"].count()+created["endpoint"].count(), "each answer is a row")
	p99 := created["row"].of(func(s sample) float64 { return percentile(s.latency, 99) })
	report(t, "peers-create", "pocketbase", map[string]float64{"row": aimCreateRow, "endpoint": aimCreateEndpoint, "automation": aimWrite}, created, line{
		"others_cores": others(), "aim_p99_ms_row": aimCreateP99, "ok": p99 <= aimCreateP99, "stored_rows": stored,
		"durability": "row, endpoint, automation: group, fdatasync before the answer; pocketbase: SQLite in WAL mode, synchronous=NORMAL, no fsync before the answer",
	})

	others = watchOthers(t)
	report(t, "peers-list", "pocketbase", map[string]float64{"query": aimQuery}, measure(t, map[string]peer{
		"pocketbase": {pb.server, always("GET", fmt.Sprintf("/api/collections/listed/records?perPage=%d", listed), pb.token, "")},
		"query":      {service, always("POST", here+"/collections/listed/query", me.token, fmt.Sprintf(`{"limit":%d}`, listed))},
		"rows":       {service, always("GET", here+"/collections/listed/rows?"+url.Values{"sort": {"id"}, "limit": {fmt.Sprint(listed)}}.Encode(), me.token, "")},
		"endpoint":   {service, always("GET", here+"/webhooks/latest", "", "")},
	}), line{"others_cores": others(), "rows": listedRows, "listed": listed, "durability": "endpoint: its run is fdatasynced before the answer; others: none: a read"})

	others = watchOthers(t)
	report(t, "peers-read", "pocketbase", map[string]float64{"workspace": aimReadPeer}, measure(t, map[string]peer{
		"pocketbase": {pb.server, always("GET", "/api/collections/listed/records/"+pb.row, pb.token, "")},
		"workspace":  {service, always("GET", here, me.token, "")},
	}), line{"others_cores": others(), "durability": "none: a read"})

	service.stop(t)
	pb.kill(t)
}

// compareNodeRED compares a request that runs an automation with one that runs a flow of Node-RED.
func compareNodeRED(t *testing.T) {
	red := launchNodeRED(t)
	require.NotNil(t, red, "make bench-peers installs Node-RED")
	sides := map[string]peer{}
	add := func(name string, s *server, pages map[string]page) {
		p := slices.Collect(maps.Values(pages))[0]
		sides[name] = peer{s, func(int) func() page { return func() page { return p } }}
	}
	add("nodered", red, orderPage("/"+orderPath))
	for _, mode := range []string{"off", "errors"} {
		s, pages := launchAutomation(t, t.TempDir(), mode)
		add(mode, s, pages)
	}
	others := watchOthers(t)
	report(t, "peers-trigger", "nodered", map[string]float64{"off": aimOff, "errors": aimErrors}, measure(t, sides), line{
		"others_cores": others(), "durability": "off, errors (RUN_RECORDING; errors is the default): every event of the run is fdatasynced before the answer; nodered: nothing is kept",
	})
}
