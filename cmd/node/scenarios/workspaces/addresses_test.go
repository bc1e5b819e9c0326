package workspaces_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// An address that somebody only typed at sign-up gives no role, is not shared with and
// fills no placeholder, until a super admin vouches for it.
func TestAnUnprovenAddressGivesNothing(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "WORKSPACE_FILES_MAX_BYTES=1000", "UPLOADS_DEFAULT_VISIBILITY=public").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.Do(t, 200, "PUT", p.Path+"/security", `{"authorizations":{"roles":{"editor":{},"staff":{"auth":{"svc":{"conditions":{"authData.email":{"$regex":"@example\\.org$"}}}}}},
		"rules":[{"role":"staff","action":"read","subject":"workspaces"},
			{"action":"get_usage","subject":"workspaces","conditions":{"description":"{{user.email}}"}},
			{"action":"create","subject":"files","conditions":{"mimetype":"text/plain"}}]}}`)
	p.Do(t, 200, "PATCH", p.Path, `{"description":"eve@example.org"}`)
	const usage = "/usage?afterDate=2026-01-01T00:00:00Z&beforeDate=2026-02-01T00:00:00Z"

	eve := s.Must(t, "POST", "/v2/signup", nil, `{"email":"eve@example.org","password":"long enough","firstName":"E","lastName":"E"}`)
	require.Equal(t, "auto", eve["validation"])
	asEve := nodetest.Workspace{Service: s, Path: p.Path, ID: p.ID, Auth: nodetest.Bearer(s.Login(t, "eve@example.org", "long enough")["token"].(string))}
	nothing := func(why string) {
		t.Helper()
		t.Log(why)
		asEve.RequireRefusal(t, 403, "workspace_access_denied", "GET", p.Path, "")
		asEve.RequireRefusal(t, 403, "workspace_access_denied", "GET", p.Path+usage, "")
		missing := p.RequireRefusal(t, 404, "resource_not_found", "POST", p.Path+"/permissions", `{"target":{"email":"eve@example.org"},"permissions":{"role":"editor"}}`)
		require.Equal(t, "eve@example.org", missing["id"], "as an address that nobody has")
	}
	nothing("ACCOUNT_VALIDATION_METHOD=auto lets her in and proves nothing")

	t.Run("visitors", func(t *testing.T) {
		upload := func(who http.Header, fields map[string]string, size int) nodetest.Answer {
			var body bytes.Buffer
			form := multipart.NewWriter(&body)
			for name, value := range fields {
				require.NoError(t, form.WriteField(name, value))
			}
			part, err := form.CreateFormFile("file", "note.txt")
			require.NoError(t, err)
			_, err = fmt.Fprint(part, strings.Repeat("x", size))
			require.NoError(t, err)
			require.NoError(t, form.Close())
			return nodetest.Workspace{Service: s, Path: p.Path, ID: p.ID, Auth: who}.Send(t, "POST", p.Path+"/files", body.String(), "Content-Type", form.FormDataContentType())
		}
		visitor := nodetest.Bearer(s.Must(t, "POST", "/v2/login/anonymous", nil, "")["token"].(string))
		made := upload(visitor, nil, 100)
		require.Equal(t, 201, made.StatusCode, "a rule lets them: %s", made.Body)
		require.Contains(t, string(made.Body), `"public":false`, "whatever UPLOADS_DEFAULT_VISIBILITY says")
		for _, fields := range []map[string]string{{"public": "true"}, {"shareToken": "true"}} {
			refused := upload(visitor, fields, 1)
			require.Equal(t, 403, refused.StatusCode, "%v: %s", fields, refused.Body)
			require.Equal(t, "permission_denied", refused.Code(t))
		}
		own := upload(p.Auth, nil, 100)
		require.Equal(t, 201, own.StatusCode, "%s", own.Body)
		require.Contains(t, string(own.Body), `"public":true`)

		t.Log("many at once: the limit of all files holds")
		var mu sync.Mutex
		count := map[int]int{}
		var running sync.WaitGroup
		for range 10 {
			running.Go(func() {
				got := upload(visitor, nil, 200)
				mu.Lock()
				defer mu.Unlock()
				count[got.StatusCode]++
				if got.StatusCode == 429 {
					details := got.JSON(t)["details"].(map[string]any)
					if got.Code(t) != "quota_exceeded" || got.Header.Get("Retry-After") == "" || details["limit"] != 1000.0 || details["size"] != 200.0 {
						t.Errorf("%s", got.Body)
					}
				}
			})
		}
		running.Wait()
		require.Equal(t, map[int]int{201: 4, 429: 6}, count)
		require.Equal(t, 429, upload(p.Auth, nil, 1).StatusCode, "the owner's files are among them")
		var first []struct{ ID string }
		require.NoError(t, json.Unmarshal(made.Body, &first))
		p.Do(t, 200, "DELETE", p.Path+"/files/"+first[0].ID, "")
		require.Equal(t, 201, upload(p.Auth, nil, 100).StatusCode, "what was deleted gives its room back")

		other := s.Must(t, "POST", "/v2/workspaces", p.Auth, `{"name":"Other"}`)["id"].(string)
		for _, who := range []http.Header{visitor, asEve.Auth, nil} {
			got := nodetest.Workspace{Service: s, Auth: who}.Send(t, "POST", "/v2/workspaces/"+other+"/files", "x", "Content-Type", "multipart/form-data; boundary=x")
			require.Contains(t, []int{401, 403}, got.StatusCode, "the document of a new workspace lets no visitor upload: %s", got.Body)
		}
		for _, ev := range p.Do(t, 200, "GET", p.Path+"/events?limit=1000", "").JSON(t)["result"].(map[string]any)["events"].([]any) {
			require.NotEqual(t, "workspaces.files.counted", ev.(map[string]any)["type"], "totals are nobody's to read")
		}
	})

	s.Must(t, "PATCH", "/v2/users/"+eve["id"].(string), s.Root, `{"status":"validated"}`)
	asEve.Do(t, 200, "GET", p.Path, "")
	asEve.Do(t, 200, "GET", p.Path+usage, "")
	require.Nil(t, s.Must(t, "GET", "/v2/me", asEve.Auth, "")["role"])
	p.Do(t, 200, "POST", p.Path+"/permissions", `{"target":{"email":"eve@example.org"},"permissions":{"role":"editor"}}`)
	p.Do(t, 200, "DELETE", p.Path+"/permissions/"+eve["id"].(string), "")

	t.Run("times", func(t *testing.T) {
		inOneForm := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
		likeATime := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d`)
		seen := 0
		var walk func(path string, v any)
		walk = func(path string, v any) {
			switch v := v.(type) {
			case map[string]any:
				for key, member := range v {
					walk(path+"."+key, member)
				}
			case []any:
				for _, item := range v {
					walk(path+"[]", item)
				}
			case string:
				if likeATime.MatchString(v) {
					seen++
					require.Regexp(t, inOneForm, v, path)
				}
			}
		}
		answered := func(got nodetest.Answer) {
			var v any
			require.NoError(t, json.Unmarshal(got.Body, &v))
			walk(got.Request.URL.Path, v)
		}
		answered(p.Do(t, 201, "POST", p.Path+"/security/apikeys", `{"name":"k","expiresAt":"2099-01-01T01:00:00+01:00","rules":[{"action":"read","subject":"workspaces"}]}`))
		answered(p.Do(t, 200, "POST", p.Path+"/writeLock", `{"reason":"times"}`))
		answered(p.Do(t, 200, "GET", p.Path, ""))
		answered(p.Do(t, 200, "DELETE", p.Path+"/writeLock", ""))
		answered(asEve.Do(t, 201, "POST", "/v2/user/accessTokens", `{"name":"t","expiresAt":"2099-01-01T00:00:00Z"}`))
		answered(p.Do(t, 201, "POST", p.Path+"/subscriptions", `{"url":"https://example.org/hook","types":["x"]}`))
		answered(p.Do(t, 201, "POST", p.Path+"/versions", `{"name":"v1"}`))
		for _, path := range []string{"/security/apikeys", "/subscriptions", "/versions", "/operations", "/history", "/files", "/events?limit=1000", "/status"} {
			answered(p.Do(t, 200, "GET", p.Path+path, ""))
		}
		for _, path := range []string{"/v2/workspaces/platform/events?limit=1000", "/v2/workspaces/platform/history", "/sys/jwks", "/v2/user/sessions", "/v2/user/accessTokens", "/"} {
			answered(s.Get(t, path, s.Root))
		}
		require.Greater(t, seen, 60)
	})

	t.Log("a super admin does not become one by the word of another: that takes proof")
	s.Reload(t, "SUPER_ADMIN_EMAILS=admin@localhost,eve@example.org")
	require.Nil(t, s.Must(t, "GET", "/v2/me", asEve.Auth, "")["role"])

	t.Log("another address that a super admin sets counts, and the old one does not any more")
	s.Must(t, "PATCH", "/v2/users/"+eve["id"].(string), s.Root, `{"email":"eve@elsewhere.org"}`)
	asEve.RequireRefusal(t, 403, "workspace_access_denied", "GET", p.Path, "")
	p.Do(t, 200, "POST", p.Path+"/permissions", `{"target":{"email":"eve@elsewhere.org"},"permissions":{"role":"editor"}}`)
}
