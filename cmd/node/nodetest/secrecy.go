package nodetest

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

	"github.com/stretchr/testify/require"
)

// RequireHidden ends a scenario of the runtime: nobody is told a secret that automations
// of a place used. No event of it tells one, as it is stored, listed or delivered, no run,
// as it is listed, shown or replayed, and no line of the log. Nor does any of them tell a
// token of the platform, or that there is something to hide.
func RequireHidden(t *testing.T, p Place, secrets ...string) {
	t.Helper()
	for where, text := range p.tells(t) {
		RequireUntold(t, where, text, secrets...)
		require.NotContains(t, text, `"hides"`, "that is for the platform alone")
	}
	for _, ev := range p.Service.ActivityOf(t, p.ID) {
		about, err := json.Marshal(ev.Meta)
		require.NoError(t, err)
		RequireUntold(t, "what is stored", ev.Data.EventType()+string(about)+string(ev.Body), secrets...)
	}
	RequireUntold(t, "the log", p.Service.Log.String(), secrets...)
}

// aToken is what every token of the platform looks like.
var aToken = regexp.MustCompile(`eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+`)

// RequireUntold checks that a text tells no secret: not as it is, in percent or in base64.
func RequireUntold(t *testing.T, where, text string, secrets ...string) {
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
func (p Place) tells(t *testing.T) map[string]string {
	t.Helper()
	read := func(path string) string { return string(p.Does(t, http.StatusOK, "GET", p.Path+path, "").Body) }
	told := map[string]string{
		"the feed": read("/events?limit=1000&appInstanceDepth=-1"), "the list of runs": read("/runs?limit=100"), "the subscriptions": read("/subscriptions"),
	}
	runs, _ := p.Runs(t, "limit=100")
	for _, id := range runs {
		told["run "+id] = read("/runs/" + id)
		for _, document := range []string{"recorded", "current"} {
			got := p.Ask(t, "POST", p.Path+"/runs/"+id+"/replay", `{"document":"`+document+`"}`)
			require.Contains(t, []int{http.StatusOK, http.StatusConflict}, got.StatusCode, "%s", got.Body)
			told["replay "+id+" "+document] = string(got.Body)
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

// RequireNoCredential checks, when the scenarios of a workshop are over, that no event of
// its places and no line of its log tells what their owner shows with every request, nor a
// key of the service.
func (w *Workshop) RequireNoCredential(t *testing.T) {
	t.Helper()
	secrets := []string{InternalKey, MasterKey, AdminPassword, ShownBy(w.Owner)}
	w.mu.Lock()
	places := slices.Clone(w.places)
	w.mu.Unlock()
	for _, p := range places {
		if p.Service.Ended {
			break
		}
		got, err := p.Service.Request(context.Background(), http.MethodGet, p.Path+"/events?limit=1000&appInstanceDepth=-1", p.Me, "")
		require.NoError(t, err)
		RequireUntold(t, "the feed", string(got.Body), secrets...) // of one that is deleted, a refusal
	}
	RequireUntold(t, "the log", w.Log.String(), secrets...)
}

// ShownBy is the token that is shown with headers.
func ShownBy(h http.Header) string { return strings.TrimPrefix(h.Get("Authorization"), "Bearer ") }
