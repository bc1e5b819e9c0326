// Package pages_test asks services over HTTP for the pages of workspaces, as their visitors do.
package pages_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/http/api/apitest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }

// patience is how long something may take on a busy machine.
const patience = time.Minute

// shop is a workspace whose pages are visited.
type shop struct {
	nodetest.Workspace
	slug string
}

// newShop makes a workspace on a service of its own.
func newShop(t *testing.T, env ...string) shop {
	t.Helper()
	return shop{nodetest.NewOwnedWorkspace(t, nodetest.NewServiceWithAccounts(t, env...).Start(t)), "shop"}
}

// page makes a page. Only what is shared with the public is readable without signing in.
func (s shop) page(t *testing.T, public bool, doc string) (id string) {
	t.Helper()
	id = s.Do(t, http.StatusCreated, "POST", s.Path+"/pages", doc).JSON(t)["id"].(string)
	if public {
		s.Do(t, http.StatusOK, "POST", "/v2/pages/"+id+"/permissions", `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
	}
	return id
}

// automation makes an automation.
func (s shop) automation(t *testing.T, doc string) {
	t.Helper()
	s.Do(t, http.StatusCreated, "POST", s.Path+"/automations", doc)
}

// events returns the events of a type, oldest first.
func (s shop) events(t *testing.T, kind string) (all []map[string]any) {
	t.Helper()
	got := s.Do(t, http.StatusOK, "GET", s.Path+"/events?types="+kind+"&sort=asc&limit=100", "")
	var found struct {
		Result struct{ Events []map[string]any }
	}
	require.NoError(t, json.Unmarshal(got.Body, &found), "%s", got.Body)
	return found.Result.Events
}

// awaitEvents waits until there are n events of a type.
func (s shop) awaitEvents(t *testing.T, kind string, n int) (all []map[string]any) {
	t.Helper()
	require.Eventually(t, func() bool {
		all = s.events(t, kind)
		return len(all) >= n
	}, patience, 20*time.Millisecond, kind)
	require.Len(t, all, n)
	return all
}

// visitor is a browser without scripts.
type visitor struct {
	t      *testing.T
	client *http.Client
	origin string
	base   string // path of the pages
	header http.Header
	socket string // names the tab
}

// visitor returns one who comes to the pages below /pages/{slug}, or to a host.
func (s shop) visitor(t *testing.T, host string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	address := strings.TrimPrefix(s.Service.Base, "http://")
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	v := &visitor{t: t, origin: s.Service.Base, base: "/pages/" + s.slug, header: http.Header{"Accept": {"text/html"}}, socket: "tab1"}
	v.client = &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if host != "" {
		v.origin, v.base = "http://"+host+":"+s.Service.Port(), ""
	}
	return v
}

// answer is what a visitor gets.
type answer struct {
	*http.Response
	html string
}

// as returns the visitor with more headers.
func (v *visitor) as(pairs ...string) *visitor {
	next := *v
	next.header = v.header.Clone()
	for i := 0; i < len(pairs); i += 2 {
		next.header.Set(pairs[i], pairs[i+1])
	}
	return &next
}

func (v *visitor) send(method, path string, body io.Reader, media string) answer {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.origin+path, body)
	require.NoError(v.t, err)
	req.Header = v.header.Clone()
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	res, err := v.client.Do(req)
	require.NoError(v.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(v.t, err)
	if inDocument.MatchString(res.Request.URL.Path) && res.StatusCode != http.StatusMethodNotAllowed {
		apitest.Validate(v.t, res, text)
	}
	return answer{res, string(text)}
}

// inDocument are the paths that the OpenAPI document can describe: those on the host of the API, with a slug without
// slashes.
var inDocument = regexp.MustCompile(`^/pages/[^/]+(/([^/_][^/]*)?|/_svc/(events|feed|signin|callback|signout|preview/[^/]+))$`)

// get loads a page.
func (v *visitor) get(path string) answer {
	v.t.Helper()
	return v.send(http.MethodGet, v.base+path, nil, "")
}

// loadPage loads a page that must be there.
func (v *visitor) loadPage(path string) answer {
	v.t.Helper()
	got := v.get(path)
	require.Equal(v.t, http.StatusOK, got.StatusCode, "%s", got.html)
	return got
}

// view is the id of the view of a page.
func (a answer) view(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`data-view="([^"]+)"`).FindStringSubmatch(a.html)
	require.NotNil(t, found, a.html)
	return found[1]
}

// seq is where the feed of a page begins.
func (a answer) seq(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`data-seq="([^"]+)"`).FindStringSubmatch(a.html)
	require.NotNil(t, found, a.html)
	return found[1]
}

// emit does something on a page, as its script does.
func (v *visitor) emit(view, block, on string, values any) answer {
	v.t.Helper()
	body, err := json.Marshal(map[string]any{"view": view, "block": block, "on": on, "values": values, "socket": v.socket})
	require.NoError(v.t, err)
	return v.as("Accept", "application/json").send(http.MethodPost, v.base+"/_svc/events", strings.NewReader(string(body)), "application/json")
}

// interact does something on a page that emits an event.
func (v *visitor) interact(view, block, on string, values any) {
	v.t.Helper()
	got := v.emit(view, block, on, values)
	require.Equal(v.t, http.StatusCreated, got.StatusCode, got.html)
}

// submit sends a form, as a browser without scripts does.
func (v *visitor) submit(form url.Values) answer {
	v.t.Helper()
	return v.as("Origin", v.origin).send(http.MethodPost, v.base+"/_svc/events", strings.NewReader(form.Encode()), "application/x-www-form-urlencoded")
}

// frame is a frame of a feed.
type frame struct{ id, event, data string }

// feed is the feed of a view.
type feed struct {
	t     *testing.T
	body  io.ReadCloser
	lines *bufio.Scanner
}

// follow opens the feed of a view.
func (v *visitor) follow(view, from string) *feed {
	v.t.Helper()
	query := url.Values{"view": {view}, "socket": {v.socket}}
	if from != "" {
		query.Set("fromSeq", from)
	}
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	v.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.origin+v.base+"/_svc/feed?"+query.Encode(), nil)
	require.NoError(v.t, err)
	res, err := v.client.Do(req)
	require.NoError(v.t, err)
	v.t.Cleanup(func() { res.Body.Close() })
	require.Equal(v.t, http.StatusOK, res.StatusCode)
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	return &feed{v.t, res.Body, lines}
}

// next waits for the next frame.
func (f *feed) next() (got frame) {
	f.t.Helper()
	for f.lines.Scan() {
		name, text, _ := strings.Cut(f.lines.Text(), ": ")
		switch name {
		case "id":
			got.id = text
		case "event":
			got.event = text
		case "data":
			got.data = text
			return got
		}
	}
	f.t.Fatal("the feed has ended")
	return got
}

// html is the HTML of a patch.
func (f frame) html(t *testing.T) string {
	t.Helper()
	var patch struct{ Block, HTML string }
	require.NoError(t, json.Unmarshal([]byte(f.data), &patch))
	return patch.HTML
}
