package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	examplesDir = "../../examples"
	onceAYear   = "59 23 31 12 *"
)

// Every example is a workspace without a fault, and does what its README says. Its outside world is served by the test.
func TestExamples(t *testing.T) {
	t.Parallel()
	x := &exampleWorld{remoteUser: newRemoteUser(t).signIn(t)}
	outside := httptest.NewServer(x)
	t.Cleanup(outside.Close)
	x.outside = outside.URL
	uses := map[string]func(t *testing.T, x *exampleWorld){
		"orders": useOrders, "expenses": useExpenses, "status": useStatus, "importer": useImporter, "webhook": useWebhook,
	}
	folders, err := os.ReadDir(examplesDir)
	require.NoError(t, err)
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		name := folder.Name()
		require.Contains(t, uses, name, "an example without a test")
		t.Run(name, func(t *testing.T) {
			require.FileExists(t, filepath.Join(examplesDir, name, "README.md"))
			dir := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(examplesDir, name))))
			rewrite := func(name, pattern, with string) {
				path := filepath.Join(dir, name)
				require.NoError(t, os.WriteFile(path, []byte(regexp.MustCompile(pattern).ReplaceAllString(readFile(t, path), with)), 0o600))
			}
			// The addresses of the outside world are settings of the workspace. Nothing is to run by itself meanwhile.
			rewrite("index.yml", `https://[a-z]+\.example\.com`, x.outside)
			rewrite("index.yml", `pause: 10`, `pause: 0.1`)
			if name == "status" {
				rewrite("automations/check.yml", `\*/5 \* \* \* \*`, onceAYear)
			}
			require.Contains(t, x.must(t, "validate", dir), "nothing is wrong")
			require.Contains(t, x.must(t, "apply", dir, "--strict"), "made ")
			uses[name](t, x)
		})
		delete(uses, name)
	}
	require.Empty(t, uses, "a test without an example")
}

// exampleWorld is the caller of the examples, and the services that they call.
type exampleWorld struct {
	*remoteUser
	outside string

	mu       sync.Mutex
	requests []string // method and path
	busy     int      // how many requests are answered with 503 next
	failing  int      // how many deliveries and looks at the health are answered with 500 next
	received []delivered
}

// delivered is a request with a body that an example sent.
type delivered struct {
	header http.Header
	body   string
}

// ServeHTTP implements http.Handler.
func (x *exampleWorld) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.requests = append(x.requests, r.Method+" "+r.URL.Path)
	prices := map[string]string{"/prices/chair": `{"price":120}`, "/prices/pen": `{"price":2}`}
	switch price, isKnown := prices[r.URL.Path]; {
	case x.busy > 0:
		x.busy--
		w.WriteHeader(http.StatusServiceUnavailable)
	case isKnown:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, price)
	case strings.HasPrefix(r.URL.Path, "/prices/"):
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodPost:
		x.received = append(x.received, delivered{r.Header.Clone(), string(body)})
		x.fail(w)
	case r.URL.Path == "/health":
		x.fail(w)
	}
}

// fail answers with 500 as often as it has to.
func (x *exampleWorld) fail(w http.ResponseWriter) {
	if x.failing > 0 {
		x.failing--
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// set changes the outside world, and forgets what it was asked.
func (x *exampleWorld) set(busy, failing int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.busy, x.failing, x.requests, x.received = busy, failing, nil, nil
}

func (x *exampleWorld) deliveries() []delivered {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]delivered(nil), x.received...)
}

func (x *exampleWorld) count(request string) (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, one := range x.requests {
		if one == request {
			n++
		}
	}
	return n
}

// endpoint calls an endpoint of a workspace as anybody, and returns the status and the text of the answer.
func (x *exampleWorld) endpoint(t *testing.T, slug, path, body string, headers ...string) (int, string) {
	t.Helper()
	return x.request(t, http.MethodPost, "/v2/workspaces/slug:"+slug+"/webhooks/"+path, body, headers...)
}

func (x *exampleWorld) request(t *testing.T, method, path, body string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, x.url()+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	answer, err := plainHTTP.Do(req)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// events returns the payloads of the events of a type, the first one first.
func (x *exampleWorld) events(t *testing.T, slug, kind string) (payloads []string) {
	t.Helper()
	var found struct {
		Result struct {
			Events []struct{ Payload json.RawMessage }
		}
	}
	require.NoError(t, json.Unmarshal(x.send(t, http.MethodGet, "/workspaces/slug:"+slug+"/events?types="+kind, x.tok, ""), &found))
	for _, e := range found.Result.Events {
		payloads = append([]string{string(e.Payload)}, payloads...)
	}
	return payloads
}

func (x *exampleWorld) awaitEvents(t *testing.T, slug, kind string, n int) []string {
	t.Helper()
	require.Eventually(t, func() bool { return len(x.events(t, slug, kind)) >= n }, time.Minute, 20*time.Millisecond, "%d %s", n, kind)
	return x.events(t, slug, kind)
}

// requireSchedule checks that an automation is going to be started by its schedule.
func (x *exampleWorld) requireSchedule(t *testing.T, slug, automation, cron string) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, payload := range x.events(t, slug, "runtime.schedules.created") {
			if member(t, payload, "slug") == automation && strings.Contains(payload, strconv.Quote(cron)) {
				return true
			}
		}
		return false
	}, time.Minute, 20*time.Millisecond)
}

// member returns a member of a JSON object as text.
func member(t *testing.T, text, name string) string {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &object), "%s", text)
	return fmt.Sprint(object[name])
}

// The app is installed twice with other settings. A busy price list is asked again, a large order waits, a key reads one
// instance only, and decisions are delivered with a signature.
func useOrders(t *testing.T, x *exampleWorld) {
	x.must(t, "workspace", "create", "Shops", "--slug", "shops")
	x.must(t, "app", "publish", "orders", "orders")
	for instance, limit := range map[string]string{"paris": "500", "lyon": "50"} {
		x.must(t, "app", "install", "shops", "orders", "--slug", instance, "--config", `{"priceList":"`+x.outside+`","limit":`+limit+`}`)
	}
	subscription := x.call(t, http.MethodPost, "/workspaces/slug:shops/subscriptions", x.tok, `{"url":"`+x.outside+`/hook","types":["lyon.order.decided"]}`)

	status, answer := x.endpoint(t, "shops", "paris.orders", `{"article":"chair","quantity":0}`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, answer, "must be at least 1")
	x.set(1, 0)
	status, answer = x.endpoint(t, "shops", "paris.orders", `{"article":"chair","quantity":2}`)
	require.Equal(t, http.StatusOK, status, answer)
	require.Equal(t, "240", member(t, answer, "amount"))
	require.Equal(t, 2, x.count("GET /prices/chair"), "it was busy once")
	status, _ = x.endpoint(t, "shops", "paris.orders", `{"article":"sofa","quantity":1}`)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, x.awaitEvents(t, "shops", "paris.order.decided", 1)[0], "approved")

	_, answer = x.endpoint(t, "shops", "lyon.orders", `{"article":"chair","quantity":2}`)
	id := member(t, answer, "id")
	require.Eventually(t, func() bool {
		return strings.Contains(x.must(t, "runs", "list", "shops", "--status", "waiting"), "lyon.place")
	}, time.Minute, 20*time.Millisecond)
	var key struct{ APIKey string }
	made := x.must(t, "key", "create", "shops", "reader", "--json", "--rules", `[{"action":"read","subject":"collections","conditions":{"name":"orders","appInstance":"lyon"}}]`)
	require.NoError(t, json.Unmarshal([]byte(made), &key))
	rows := func(instance string) (int, string) {
		return x.request(t, http.MethodGet, "/v2/workspaces/slug:shops/collections/orders/rows?appInstance="+instance, "", "X-Svc-Api-Key", key.APIKey)
	}
	status, answer = rows("lyon")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, answer, `"placed"`)
	status, _ = rows("paris")
	require.Equal(t, http.StatusForbidden, status)

	x.must(t, "events", "emit", "shops", "lyon.order.approved", "--payload", `{"id":"`+id+`","by":"ann"}`)
	require.Contains(t, x.awaitEvents(t, "shops", "lyon.order.decided", 1)[0], "approved")
	_, answer = rows("lyon")
	require.Contains(t, answer, `"approved"`)
	require.Eventually(t, func() bool { return len(x.deliveries()) == 1 }, time.Minute, 20*time.Millisecond)
	sent := x.deliveries()[0]
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(subscription["secret"].(string), "whsec_"))
	require.NoError(t, err)
	mac := hmac.New(sha256.New, secret)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", sent.header.Get("Webhook-Id"), sent.header.Get("Webhook-Timestamp"), sent.body)
	require.Equal(t, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)), sent.header.Get("Webhook-Signature"))

	_, answer = x.endpoint(t, "shops", "lyon.report", "")
	require.JSONEq(t, `{"lines":[{"_id":"approved","orders":1,"amount":240}]}`, answer)
	x.requireSchedule(t, "orders", "report", "0 18 * * *")
}

// A visitor fills in the form of the page. The expense waits for an answer, and the page shows it.
func useExpenses(t *testing.T, x *exampleWorld) {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	visitor := &http.Client{Jar: jar, Timeout: time.Minute}
	page := func() string {
		answer, err := visitor.Get(x.url() + "/pages/expenses/")
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, "%s", text)
		return string(text)
	}
	view := regexp.MustCompile(`name="svc:view" value="([^"]+)"`).FindStringSubmatch(page())
	require.NotNil(t, view)
	sent, err := visitor.PostForm(x.url()+"/pages/expenses/_svc/events", url.Values{
		"svc:view": {view[1]}, "svc:block": {"1"}, "svc:on": {"onSubmit"}, "what": {"Chair"}, "amount": {"120"},
	})
	require.NoError(t, err)
	require.NoError(t, sent.Body.Close())
	require.Equal(t, http.StatusOK, sent.StatusCode)
	require.Eventually(t, func() bool {
		return strings.Contains(x.must(t, "runs", "list", "expenses", "--status", "waiting"), "enter")
	}, time.Minute, 20*time.Millisecond)
	require.Regexp(t, `Chair</td>.*120</td>.*entered</td>`, page())
	row, _, _ := strings.Cut(x.must(t, "data", "query", "expenses", "expenses"), "\n")
	x.must(t, "events", "emit", "expenses", "expense.answered", "--payload", `{"id":"`+member(t, row, "id")+`","approve":true}`)
	require.Eventually(t, func() bool { return strings.Contains(page(), "approved</td>") }, time.Minute, 20*time.Millisecond)
}

// Changes of a site are events, once each, and the page shows how the sites are.
func useStatus(t *testing.T, x *exampleWorld) {
	check := func(summary string) {
		t.Helper()
		status, answer := x.endpoint(t, "status", "check", "")
		require.Equal(t, http.StatusOK, status, answer)
		require.Equal(t, summary, member(t, answer, "summary"))
		status, shown := x.request(t, http.MethodGet, "/pages/status/", "")
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, shown, summary)
	}
	x.set(0, 0)
	check("Everything works")
	require.Len(t, x.awaitEvents(t, "status", "site.up", 2), 2)
	x.set(0, 2)
	check("1 of 2 do not work")
	check("1 of 2 do not work")
	require.Contains(t, x.awaitEvents(t, "status", "site.down", 1)[0], "answered 500")
	check("Everything works")
	require.Len(t, x.awaitEvents(t, "status", "site.up", 3), 3)
	require.Len(t, x.events(t, "status", "site.down"), 1, "a change is told once")
	x.requireSchedule(t, "status", "check", onceAYear)
}

// A file is stored, what does not fit is reported, a second file changes rows, and the search finds text as it stands.
func useImporter(t *testing.T, x *exampleWorld) {
	x.awaitEvents(t, "importer", "workspaces.collections.updated", 1)
	file := readFile(t, filepath.Join(examplesDir, "importer/customers.csv"))
	status, answer := x.endpoint(t, "importer", "import", file, "Content-Type", "text/csv")
	require.Equal(t, http.StatusOK, status, answer)
	require.JSONEq(t, `{"stored":2,"refused":[{"email":"no address","why":"email of customers: must be an e-mail address (format email)"}]}`, answer)
	search := func(text string) string {
		status, found := x.request(t, http.MethodGet, "/v2/workspaces/slug:importer/webhooks/search?text="+url.QueryEscape(text), "")
		require.Equal(t, http.StatusOK, status, found)
		return found
	}
	require.Contains(t, search("PARIS"), `Ann \"the best\" Miller`)
	require.Contains(t, search("lyon, part"), "Bob Brown")
	require.Equal(t, "[]", search(".*"), "it is no pattern")
	_, answer = x.endpoint(t, "importer", "import?separator=%3B", "email;name\nann@example.org;Ann Baker\n", "Content-Type", "text/csv")
	require.JSONEq(t, `{"stored":1,"refused":[]}`, answer)
	require.Contains(t, search("paris"), "Ann Baker")
	status, _ = x.request(t, http.MethodGet, "/v2/workspaces/slug:importer/webhooks/search", "")
	require.Equal(t, http.StatusBadRequest, status)
}

// Only what is signed is taken, once each. Its payments are sent on, again when the target fails, and given up in the end.
func useWebhook(t *testing.T, x *exampleWorld) {
	x.awaitEvents(t, "webhook", "workspaces.collections.updated", 1)
	require.Zero(t, x.types(t, "s3cret-key", "secret", "set", "webhook", "signing_key").code)
	send := func(id, key string, at time.Time) (int, string) {
		const body = `{"type":"paid","payments":[{"id":1,"amount":5},{"id":2,"amount":7}]}`
		mac := hmac.New(sha256.New, []byte(key))
		_, _ = fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
		return x.endpoint(t, "webhook", "payments", body, "Webhook-Id", id, "Webhook-Timestamp", fmt.Sprint(at.Unix()), "Webhook-Signature", hex.EncodeToString(mac.Sum(nil)))
	}
	for name, refused := range map[string]func() (int, string){
		"another key": func() (int, string) { return send("d1", "another", time.Now()) },
		"old":         func() (int, string) { return send("d1", "s3cret-key", time.Now().Add(-time.Hour)) },
		"not signed":  func() (int, string) { return x.endpoint(t, "webhook", "payments", `{}`) },
	} {
		status, answer := refused()
		require.Equal(t, http.StatusUnauthorized, status, "%s: %s", name, answer)
	}
	x.set(0, 4)
	status, answer := send("d1", "s3cret-key", time.Now())
	require.Equal(t, http.StatusOK, status, answer)
	_, answer = send("d1", "s3cret-key", time.Now())
	require.JSONEq(t, `{"received":"again"}`, answer)
	require.Len(t, x.awaitEvents(t, "webhook", "payment.paid", 2), 2)
	require.Len(t, x.awaitEvents(t, "webhook", "forwarded.payment", 2), 2)
	tries := x.deliveries()
	require.Len(t, tries, 6, "four failed")
	require.Regexp(t, `^d1-[12]$`, tries[0].header.Get("Idempotency-Key"))
	require.Contains(t, tries[0].body, `"type":"payment.paid"`)

	x.set(0, 10)
	_, answer = send("d2", "s3cret-key", time.Now())
	require.JSONEq(t, `{"received":"d2"}`, answer)
	require.Len(t, x.awaitEvents(t, "webhook", "forwarded.failed", 2), 2)
	require.Len(t, x.deliveries(), 10, "five tries each")
}
