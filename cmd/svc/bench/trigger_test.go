//go:build bench

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

const (
	aimOff    = 2.5 // times Node-RED, recording off; five times is hoped for
	aimErrors = 1.5 // with the default recording
	aimAll    = 1.0 // every run recorded
	orderPath = "order"
)

// The automation that is measured, what it is sent and what it answers. What the others
// do is the same.
const (
	orderAutomation = `{"slug":"order","name":"Order","when":{"endpoint":"order"},"do":[
		{"set":{"name":"total","value":"{% {{body.price}} * {{body.quantity}} %}"}},
		{"conditions":{
			"{{total}} >= 100":[{"set":{"name":"total","value":"{% round({{total}} * 0.9, 2) %}"}},{"set":{"name":"label","value":"discount for {{body.customer.name}}"}}],
			"default":[{"set":{"name":"label","value":"full price"}}]}}],
		"output":{"order":"{{body.order}}","total":"{{total}}","label":"{{label}}"}}`
	orderBody   = `{"order":"o-000042","price":19.99,"quantity":7,"customer":{"name":"Ada","city":"Ghent"}}`
	orderAnswer = `{"order":"o-000042","total":125.94,"label":"discount for Ada"}`
	orderFlow   = `const o = msg.payload; let total = o.price * o.quantity, label = "full price";
if (total >= 100) { total = Math.round(total * 90) / 100; label = "discount for " + o.customer.name; }
msg.payload = {order: o.order, total: total, label: label}; return msg;`
)

// handlerState is what the bare handler reads and writes.
type handlerState struct {
	Order    string  `json:"order"`
	Price    float64 `json:"price"`
	Quantity float64 `json:"quantity"`
	Customer struct {
		Name string `json:"name"`
	} `json:"customer"`
}

type charged struct {
	Order string  `json:"order"`
	Total float64 `json:"total"`
	Label string  `json:"label"`
}

// serveOrders is the control: the automation as a handler that somebody wrote by hand,
// and that keeps nothing.
func serveOrders() error {
	s := &http.Server{Addr: os.Getenv("BENCH_ADDR"), ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var o handlerState
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c := charged{o.Order, o.Price * o.Quantity, "full price"}
		if c.Total >= 100 {
			c.Total, c.Label = float64(int(c.Total*90+0.5))/100, "discount for "+o.Customer.Name
		}
		body, err := json.Marshal(c)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write(body)
	})}
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// benchTrigger compares a request that runs an automation, with every run on the log
// before it is answered, with a flow of Node-RED and a handler in Go that do the same and
// keep nothing.
func benchTrigger(t *testing.T, _ *history) {
	others := watchOthers(t)
	sides := map[string]*server{"bare": launchOrders(t)}
	requests := map[string]map[string]page{"bare": orderPage("/" + orderPath)}
	dirs := map[string]string{}
	for _, mode := range []string{"off", "errors", "all"} {
		dirs[mode] = t.TempDir()
		sides[mode], requests[mode] = launchAutomation(t, dirs[mode], mode)
	}
	if red := launchNodeRED(t); red != nil {
		sides["nodered"], requests["nodered"] = red, orderPage("/"+orderPath)
	}
	for name, s := range sides {
		readOnce(t, s, requests[name], time.Second) // warm up
	}
	measured := map[string]series{}
	for range runs {
		sum := map[string]sample{}
		for range turns {
			for name, s := range sides {
				sum[name] = sum[name].plus(readOnce(t, s, requests[name], sliceTime))
			}
		}
		for name := range sides {
			measured[name] = append(measured[name], sum[name])
		}
	}
	out := line{
		"runs": runs, "others_cores": others(), "connections": connections, "aim_off": aimOff, "aim_errors": aimErrors, "aim_all": aimAll,
		"durability": "off, errors, all (RUN_RECORDING): every event of the run is fdatasynced before the answer; bare and nodered: nothing is kept",
	}
	for name, s := range measured {
		s.describe(out, name)
	}
	for _, mode := range []string{"off", "errors", "all"} {
		sides[mode].stop(t)
		out["stored_"+mode], out["answered_"+mode] = executedIn(t, dirs[mode]), measured[mode].count()
		require.GreaterOrEqual(t, out["stored_"+mode], out["answered_"+mode], "each answer is a run on the log")
		out["ratio_bare_"+mode] = measured[mode].ratio(measured["bare"])
		if red := measured["nodered"]; red != nil {
			out["ratio_"+mode], out["ratios_"+mode] = measured[mode].ratio(red), measured[mode].ratios(red)
		}
	}
	if red := measured["nodered"]; red != nil {
		out["ok"] = measured["off"].ratio(red) >= aimOff && measured["errors"].ratio(red) >= aimErrors && measured["all"].ratio(red) >= aimAll
	} else {
		out["control"] = "Node-RED is not installed: npm install --prefix .cache/node-red node-red"
	}
	out.print(t, "trigger")
}

// orderPage is the request of the benchmark, and the body that must answer it.
func orderPage(path string) map[string]page {
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(orderBody), orderBody)
	return map[string]page{path: {request, []byte(orderAnswer)}}
}

func launchOrders(t *testing.T) *server {
	t.Helper()
	port := freePort(t)
	s := launch(t, command(t, "orders", fmt.Sprintf("BENCH_ADDR=127.0.0.1:%d", port)), port)
	s.awaitOrders(t, "/"+orderPath)
	return s
}

// launchAutomation starts a service with the automation.
func launchAutomation(t *testing.T, dir, recording string) (*server, map[string]page) {
	t.Helper()
	port := freePort(t)
	s := launch(t, command(t, "serve", append(settingsOf(dir, port), "RATE_LIMIT_DISABLED=true", "RUN_RECORDING="+recording)...), port)
	s.awaitReady(t, "/readyz")
	a := api{fmt.Sprintf("http://127.0.0.1:%d", port), http.DefaultClient}
	id := a.makeWorkspace(t)
	status, _, answer, err := a.ask("POST", "/v2/workspaces/"+id+"/automations", orderAutomation)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status, "%s", answer)
	return s, orderPage("/v2/workspaces/" + id + "/webhooks/" + orderPath)
}

// launchNodeRED starts Node-RED with a flow that does the same, if it is installed.
func launchNodeRED(t *testing.T) *server {
	t.Helper()
	path, err := exec.LookPath("node-red")
	if err != nil {
		if path, err = filepath.Abs("../../../.cache/node-red/node_modules/.bin/node-red"); err != nil {
			return nil
		}
	}
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	dir, port := t.TempDir(), freePort(t)
	flow := []map[string]any{
		{"id": "tab", "type": "tab", "label": "orders"},
		{"id": "in", "z": "tab", "type": "http in", "url": "/" + orderPath, "method": "post", "wires": [][]string{{"f"}}},
		{"id": "f", "z": "tab", "type": "function", "func": orderFlow, "outputs": 1, "libs": []any{}, "wires": [][]string{{"out"}}},
		{"id": "out", "z": "tab", "type": "http response", "statusCode": "200", "headers": map[string]string{}, "wires": []any{}},
	}
	body, err := json.Marshal(flow)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flows.json"), body, 0o600))
	settings := `module.exports = {flowFile: "flows.json", uiHost: "127.0.0.1", logging: {console: {level: "warn", metrics: false, audit: false}}}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "settings.js"), []byte(settings), 0o600))
	s := launch(t, prepare(t, exec.Command(path, "--userDir", dir, "--port", fmt.Sprint(port)), "NODE_ENV=production"), port)
	s.awaitOrders(t, "/"+orderPath)
	return s
}

// awaitOrders waits until an order is answered.
func (s *server) awaitOrders(t *testing.T, path string) {
	t.Helper()
	a := api{fmt.Sprintf("http://127.0.0.1:%d", s.port), &http.Client{Timeout: 2 * time.Second}}
	require.Eventually(t, func() bool {
		status, _, answer, err := a.ask("POST", path, orderBody)
		return err == nil && status == http.StatusOK && string(answer) == orderAnswer
	}, time.Minute, 20*time.Millisecond)
}

// executedIn counts the runs on the log of a service that has ended.
func executedIn(t *testing.T, dir string) int {
	t.Helper()
	return countActivity(t, dir, func(ev domain.Event) bool {
		_, ok := ev.(activity.Executed)
		return ok
	})
}

// countActivity counts the wanted events on the log of a service that has ended.
func countActivity(t *testing.T, dir string, wanted func(domain.Event) bool) (n int) {
	t.Helper()
	store := openStore(t, filepath.Join(dir, "log"), "group")
	defer closeStore(t, store)
	err := store.Log.Subscribe(t.Context(), domain.Activity, 1, func(b eventstore.Batch) error {
		for _, e := range b.Events {
			if wanted(e.Data) {
				n++
			}
		}
		if b.Pending == 0 {
			return errRead
		}
		return nil
	})
	require.ErrorIs(t, err, errRead)
	return n
}

// errRead ends the reading of a log that was read to its end.
var errRead = errors.New("the log was read")
