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

// RequireSecretsHidden checks at the end of a scenario that no secret that automations of the
// workspace used can be read: in events as they are stored, listed or delivered, in runs as they
// are listed, shown or replayed, and in the log of the node. Nor may there be a token of the
// platform, or the mark that a run has secrets.
func RequireSecretsHidden(t *testing.T, p Workspace, secrets ...string) {
	t.Helper()
	for where, text := range p.readableTexts(t) {
		RequireNoSecretIn(t, where, text, secrets...)
		require.NotContains(t, text, `"hides"`, "that is for the platform alone")
	}
	for _, ev := range p.Service.Activity(t, p.ID) {
		about, err := json.Marshal(ev.Meta)
		require.NoError(t, err)
		RequireNoSecretIn(t, "what is stored", ev.Data.EventType()+string(about)+string(ev.Body), secrets...)
	}
	RequireNoSecretIn(t, "the log", p.Service.Log.String(), secrets...)
}

// tokenPattern matches every token of the platform.
var tokenPattern = regexp.MustCompile(`eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+`)

// RequireNoSecretIn checks that a text has no secret: not plain, percent-encoded or in base64.
func RequireNoSecretIn(t *testing.T, where, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		for _, form := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		} {
			if at := strings.Index(text, form); at >= 0 {
				require.FailNow(t, "a secret is readable", "%s: %q in …%s…", where, form, text[max(0, at-300):min(len(text), at+300)])
			}
		}
	}
	require.Empty(t, tokenPattern.FindString(text), "%s has a token", where)
}

// readableTexts returns everything that a reader with all rights can read of a workspace, by where it is.
func (p Workspace) readableTexts(t *testing.T) map[string]string {
	t.Helper()
	read := func(path string) string { return string(p.Do(t, http.StatusOK, "GET", p.Path+path, "").Body) }
	told := map[string]string{
		"the feed": read("/events?limit=1000&appInstanceDepth=-1"), "the list of runs": read("/runs?limit=100"), "the subscriptions": read("/subscriptions"),
	}
	runs, _ := p.ListRuns(t, "limit=100")
	for _, id := range runs {
		told["run "+id] = read("/runs/" + id)
		for _, document := range []string{"recorded", "current"} {
			got := p.Send(t, "POST", p.Path+"/runs/"+id+"/replay", `{"document":"`+document+`"}`)
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

// RequireNoCredential checks at the end of a test that no event of its workspaces and no line of
// the log has the token of the owner or a key of the service.
func (w *OwnedService) RequireNoCredential(t *testing.T) {
	t.Helper()
	secrets := []string{InternalKey, MasterKey, AdminPassword, TokenIn(w.Owner)}
	w.mu.Lock()
	places := slices.Clone(w.workspaces)
	w.mu.Unlock()
	for _, p := range places {
		if p.Service.Ended {
			break
		}
		got, err := p.Service.Request(context.Background(), http.MethodGet, p.Path+"/events?limit=1000&appInstanceDepth=-1", p.Auth, "")
		require.NoError(t, err)
		RequireNoSecretIn(t, "the feed", string(got.Body), secrets...) // of one that is deleted, a refusal
	}
	RequireNoSecretIn(t, "the log", w.Log.String(), secrets...)
}

// TokenIn returns the token in headers.
func TokenIn(h http.Header) string { return strings.TrimPrefix(h.Get("Authorization"), "Bearer ") }
