package node_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// requireHidden ends a scenario of the runtime: nobody is told a secret that automations
// of a place used. No event of it tells one, as it is stored, listed or delivered, no run,
// as it is listed, shown or replayed, and no line of the log. Nor does any of them tell a
// token of the platform, or that there is something to hide.
func requireHidden(t *testing.T, p place, secrets ...string) {
	t.Helper()
	for where, text := range p.tells(t) {
		requireUntold(t, where, text, secrets...)
		require.NotContains(t, text, `"hides"`, "that is for the platform alone")
	}
	for _, ev := range p.s.activityOf(t, p.id) {
		about, err := json.Marshal(ev.Meta)
		require.NoError(t, err)
		requireUntold(t, "what is stored", ev.Data.EventType()+string(about)+string(ev.Body), secrets...)
	}
	requireUntold(t, "the log", p.s.log.String(), secrets...)
}

// aToken is what every token of the platform looks like.
var aToken = regexp.MustCompile(`eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+`)

// requireUntold checks that a text tells no secret: not as it is, in percent or in base64.
func requireUntold(t *testing.T, where, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		for _, form := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		} {
			if at := strings.Index(text, form); at >= 0 {
				require.FailNow(t, "a secret is told", "%s: %q in …%s…", where, form, text[max(0, at-300):min(len(text), at+300)])
			}
		}
	}
	require.Empty(t, aToken.FindString(text), "%s tells a token", where)
}

// tells is everything that those may read of a place who may read all of it, by where.
func (p place) tells(t *testing.T) map[string]string {
	t.Helper()
	read := func(path string) string { return string(p.does(t, http.StatusOK, "GET", p.path+path, "").body) }
	told := map[string]string{
		"the feed": read("/events?limit=1000&appInstanceDepth=-1"), "the list of runs": read("/runs?limit=100"), "the subscriptions": read("/subscriptions"),
	}
	runs, _ := p.runs(t, "limit=100")
	for _, id := range runs {
		told["run "+id] = read("/runs/" + id)
		for _, document := range []string{"recorded", "current"} {
			got := p.ask(t, "POST", p.path+"/runs/"+id+"/replay", `{"document":"`+document+`"}`)
			require.Contains(t, []int{http.StatusOK, http.StatusConflict}, got.StatusCode, "%s", got.body)
			told["replay "+id+" "+document] = string(got.body)
		}
	}
	var subs []struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(told["the subscriptions"]), &subs))
	for _, sub := range subs {
		told["deliveries "+sub.ID] = read("/subscriptions/" + sub.ID + "/deliveries?limit=100")
	}
	told["the feed after it"] = read("/events?limit=1000&appInstanceDepth=-1")
	return told
}

// requireNoCredential checks, when the scenarios of a workshop are over, that no event of
// its places and no line of its log tells what their owner shows with every request, nor a
// key of the service.
func (w *workshop) requireNoCredential(t *testing.T) {
	t.Helper()
	secrets := []string{internalKey, masterKey, adminPassword, shownBy(w.owner)}
	w.mu.Lock()
	places := slices.Clone(w.places)
	w.mu.Unlock()
	for _, p := range places {
		if p.s.ended {
			break
		}
		got, err := p.s.request(context.Background(), http.MethodGet, p.path+"/events?limit=1000&appInstanceDepth=-1", p.me, "")
		require.NoError(t, err)
		requireUntold(t, "the feed", string(got.body), secrets...) // of one that is deleted, a refusal
	}
	requireUntold(t, "the log", w.log.String(), secrets...)
}

// shownBy is the token that is shown with headers.
func shownBy(h http.Header) string { return strings.TrimPrefix(h.Get("Authorization"), "Bearer ") }

// Secrets by how automations come by them.
const (
	workspaceCanary = "workspace-CANARY-1"
	configCanary    = "config/CANARY+2"
	inputCanary     = "input-CANARY-3"
	headerCanary    = "header-CANARY-4" // which only a header of fetch has
	instanceCanary  = "instance-CANARY-5"
)

// confidant is a place with secrets, all of whose events are delivered.
type confidant struct {
	place
	in *inbox
}

func (w *workshop) confidant(t *testing.T) confidant {
	t.Helper()
	c := confidant{w.place(t), newInbox(t)}
	c.does(t, 200, "PATCH", c.path+"/security/secrets", `{"k":{"value":"`+workspaceCanary+`"},"c":{"value":"`+configCanary+`"}}`)
	c.does(t, 200, "PATCH", c.path, `{"config":{"schema":{"key":{"type":"string","secret":true}},"value":{"key":"{{secret.c}}"}}}`)
	c.does(t, 201, "POST", c.path+"/subscriptions", `{"url":"`+c.in.URL+`","types":["*"]}`)
	return c
}

// tellsNobody checks that nobody was told a secret, when everything is over, and that
// something was told that had some.
func (c confidant) tellsNobody(t *testing.T) {
	t.Helper()
	secrets := []string{workspaceCanary, configCanary, inputCanary, headerCanary, instanceCanary}
	c.settles(t)
	requireHidden(t, c.place, secrets...)
	all, err := c.recorded(t.Context(), "")
	require.NoError(t, err)
	var hidden []string
	for _, e := range all {
		if text, err := json.Marshal(e); err == nil && strings.Contains(string(text), "REDACTED") {
			hidden = append(hidden, e.ID)
		}
	}
	require.NotEmpty(t, hidden, "nothing was to be hidden")
	delivered := func(id string) bool {
		return slices.ContainsFunc(c.in.seen(), func(p parcel) bool { return strings.Contains(string(p.body), id) })
	}
	require.Eventually(t, func() bool { return !slices.ContainsFunc(hidden, func(id string) bool { return !delivered(id) }) }, 20*time.Second, 20*time.Millisecond)
	for _, p := range c.in.seen() {
		head, err := json.Marshal(p.header)
		require.NoError(t, err)
		requireUntold(t, "a delivery", string(head)+string(p.body), secrets...)
	}
}

// settles waits until no run of the place goes on.
func (c confidant) settles(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		running, _ := c.runs(t, "status=running")
		waiting, _ := c.runs(t, "status=waiting")
		return len(running)+len(waiting) == 0
	}, 20*time.Second, 20*time.Millisecond)
}
