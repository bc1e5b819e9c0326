package api_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/file"
	"svc/http/api/files"
)

func TestFilesAreUploadedReadChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := openFiles(t)
	made := s.do("POST", "/v2/workspaces/w1/files", as("alice"), form(t,
		field{name: "metadata", content: `{"kind":"logo","sizes":[1,2]}`},
		field{name: "a", file: "logo.png", kind: "image/png", content: picture},
		field{name: "metadata.team", content: "web"},
		field{name: "note", content: "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte("hello"))},
		field{name: "expiresAfter", content: "3600"}, field{name: "public", content: "true"}, field{name: "shareToken", content: "true"},
	))
	require.Equal(t, http.StatusCreated, made.status, made.body)
	items := made.items(t)
	require.Len(t, items, 2)
	logo, note := items[0], items[1]
	id := logo["id"].(string)
	require.Equal(t, at(logo), made.header.Get("Location"))
	token := logo["shareToken"].(string)
	require.NotEqual(t, token, note["shareToken"])
	require.NotEmpty(t, logo["createdAt"])
	for name, want := range map[string]any{
		"name": "logo.png", "mimetype": "image/png", "size": 8.0, "workspaceId": "w1", "path": "w1/" + id + ".logo.png",
		"url": "https://api.example.org/v2/files/w1/" + id + ".logo.png", "public": true, "expiresAfter": 3600.0,
		"expiresAt": "2026-06-01T13:00:00.000Z", "createdBy": "alice", "updatedBy": "alice",
		"checksum": "4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6",
		"metadata": map[string]any{"kind": "logo", "sizes": []any{1.0, 2.0}, "team": "web"},
	} {
		require.Equal(t, want, logo[name], name)
	}
	require.Equal(t, []any{"note.txt", "text/plain", 5.0}, []any{note["name"], note["mimetype"], note["size"]})
	require.Equal(t, made.items(t)[0], s.do("GET", at(logo), as("alice")).fields(t))

	changed := s.do("PATCH", at(logo), as("bob"), body(`{"name":"mark.png","expiresAfter":null,"public":false,"metadata":null,"shareToken":true,"id":"ignored"}`))
	require.Equal(t, http.StatusOK, changed.status, changed.body)
	after := changed.fields(t)
	require.Equal(t, []any{"mark.png", "bob", "alice", false, nil, map[string]any{}}, []any{
		after["name"], after["updatedBy"], after["createdBy"], after["public"], after["expiresAt"], after["metadata"],
	})
	require.NotEqual(t, token, after["shareToken"])

	replaced := s.do("PUT", at(logo), as("alice"), form(t, field{name: "file", file: "other.html", kind: "image/png", content: "<html>"}))
	require.Equal(t, http.StatusOK, replaced.status, replaced.body)
	require.Equal(t, []any{id, "mark.png", after["url"], "text/html"}, []any{
		replaced.fields(t)["id"], replaced.fields(t)["name"], replaced.fields(t)["url"], replaced.fields(t)["mimetype"],
	}, "same id, same address")

	require.Equal(t, map[string]any{"id": id}, s.do("DELETE", at(logo), as("alice")).fields(t))
	details := s.requireRefusal(404, "resource_not_found", "GET", at(logo), as("alice"))
	require.Equal(t, map[string]any{"resource": "file", "id": id}, details)
	s.requireRefusal(404, "resource_not_found", "DELETE", at(logo), as("alice"))
	s.requireRefusal(404, "resource_not_found", "PATCH", at(logo), as("alice"), body(`{"public":true}`))
	s.requireRefusal(404, "resource_not_found", "PUT", at(logo), as("alice"), form(t, field{name: "file", file: "a", content: "x"}))
	s.requireRefusal(404, "resource_not_found", "POST", at(logo)+"/share", as("alice"))
	s.requireRefusal(404, "resource_not_found", "GET", "/v2/workspaces/w1/files/"+strings.Repeat("x", 300), as("alice"))

	const updated = "workspaces.files.updated"
	require.Equal(t, []string{"workspaces.files.uploaded", "workspaces.files.uploaded", updated, updated, "workspaces.files.deleted"}, s.types())
	for _, r := range s.recorded() {
		text, err := json.Marshal(r)
		require.NoError(t, err)
		for _, secret := range []string{token, after["shareToken"].(string), note["shareToken"].(string)} {
			require.NotContains(t, string(text), secret)
		}
		if shown, ok := r.Data.(domain.PayloadEvent); ok {
			payload, err := json.Marshal(shown.Payload())
			require.NoError(t, err)
			require.NotContains(t, strings.ToLower(string(payload)), "share")
		}
		require.Equal(t, "w1", r.Stream.Scope)
	}
	require.Equal(t, file.Deleted{ID: id, Name: "mark.png"}, s.recorded()[4].Data)
}

func TestWhatIsNoUploadIsRefused(t *testing.T) {
	t.Parallel()
	s := openFiles(t)
	s.settings.Forbidden = []string{"application/pdf"}
	good := field{name: "file", file: "a.txt", content: "x"}
	many := make([]field, 51)
	for i := range many {
		many[i] = field{name: "file", file: fmt.Sprintf("%d.txt", i), content: "x"}
	}
	for name, test := range map[string]struct {
		status int
		code   string
		fields []field
	}{
		"nothing":             {400, "missing_parameter", []field{{name: "public", content: "true"}}},
		"51 parts":            {400, "invalid_request", many},
		"an unknown field":    {400, "invalid_request", []field{good, {name: "colour", content: "red"}}},
		"no data URI":         {400, "invalid_request", []field{{name: "f", content: "data:image/png"}}},
		"a broken data URI":   {400, "invalid_request", []field{{name: "f", content: "data:image/png;base64,!!"}}},
		"a broken escape":     {400, "invalid_request", []field{{name: "f", content: "data:,%zz"}}},
		"no truth":            {400, "invalid_request", []field{good, {name: "public", content: "yes"}}},
		"no number":           {400, "invalid_request", []field{good, {name: "expiresAfter", content: "soon"}}},
		"a negative number":   {422, "validation_failed", []field{good, {name: "expiresAfter", content: "-5"}}},
		"no metadata":         {400, "invalid_request", []field{good, {name: "metadata", content: "{"}}},
		"metadata of no kind": {400, "invalid_request", []field{good, {name: "metadata", content: "[]"}}},
		"two values":          {400, "invalid_request", []field{good, {name: "metadata", content: `{},"x":{}`}}},
		"a key twice":         {400, "invalid_request", []field{good, {name: "metadata", content: `{"a":1,"a":2}`}}},
		"a key in two ways":   {400, "invalid_request", []field{good, {name: "metadata", content: `{"a":1}`}, {name: "metadata.a", content: "1"}}},
		"a field twice":       {400, "invalid_request", []field{good, {name: "public", content: "true"}, {name: "public", content: "true"}}},
		"too deep":            {400, "invalid_request", []field{good, {name: "metadata", content: `{"a":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}`}}},
		"a backslash":         {422, "validation_failed", []field{{name: "f", file: `C:\\a.txt`, content: "x"}}},
		"another direction":   {422, "validation_failed", []field{{name: "f", file: "gpj\u202e.exe", content: "x"}}},
		"a control character": {400, "invalid_request", []field{{name: "f", file: "a\x01b", content: "x"}}},
		"a long name":         {422, "validation_failed", []field{{name: "f", file: strings.Repeat("x", 256), content: "x"}}},
		"a forbidden type":    {422, "validation_failed", []field{good, {name: "f", file: "a.txt", kind: "text/plain", content: "%PDF-1.7"}}},
		"a short token":       {422, "validation_failed", []field{good, {name: "shareToken", content: "abc"}}},
		"large metadata":      {422, "validation_failed", []field{good, {name: "metadata.a", content: strings.Repeat("x", 40<<10)}}},
	} {
		t.Run(name, func(t *testing.T) {
			s.requireRefusal(test.status, test.code, "POST", "/v2/workspaces/w1/files", as("alice"), form(t, test.fields...))
			require.Empty(t, s.recorded(), "all or none")
			require.Empty(t, s.waiting())
		})
	}
	details := s.requireRefusal(413, "invalid_request", "POST", "/v2/workspaces/w1/files", as("alice"), form(t, good, field{name: "f", file: "b", content: strings.Repeat("x", maxUpload+1)}))
	require.Equal(t, []any{float64(maxUpload), float64(maxUpload + 1)}, []any{details["limit"], details["length"]})
	s.requireRefusal(413, "invalid_request", "POST", "/v2/workspaces/w1/files", as("alice"), form(t, good, field{name: "metadata.a", content: strings.Repeat("x", 1<<20+1)}))
	s.requireRefusal(415, "invalid_request", "POST", "/v2/workspaces/w1/files", as("alice"), body(`{}`))
	cutOff := func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\nhalf")), -1
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	}
	s.requireRefusal(400, "invalid_request", "POST", "/v2/workspaces/w1/files", as("alice"), cutOff)
	require.Empty(t, s.recorded())

	made := s.put(good)
	for name, fields := range map[string][]field{
		"nothing":       {},
		"another field": {{name: "f", file: "a", content: "x"}},
		"two files":     {{name: "file", file: "a", content: "x"}, {name: "file", file: "b", content: "y"}},
		"an option":     {{name: "file", file: "a", content: "x"}, {name: "public", content: "true"}},
	} {
		got := s.do("PUT", at(made), as("alice"), form(t, fields...))
		require.Equal(t, 400, got.status, name)
	}
	s.requireRefusal(422, "validation_failed", "PUT", at(made), as("alice"), form(t, field{name: "file", file: "a", content: "%PDF-1.7"}))
	require.Len(t, s.recorded(), 1)
}

func TestPathsInNamesAreCutOff(t *testing.T) {
	t.Parallel()
	s := openFiles(t)
	require.Equal(t, "passwd", s.put(field{name: "f", file: "../../etc/passwd", content: "x"})["name"])
	s.requireRefusal(422, "validation_failed", "PATCH", at(s.put(field{name: "f", file: "a", content: "x"})), as("alice"), body(`{"name":"../a"}`))
}

func TestChangesOfFilesAreChecked(t *testing.T) {
	t.Parallel()
	s := openFiles(t)
	made := s.put(field{name: "f", file: "a", content: "x"})
	for text, status := range map[string]int{
		`{"name":null}`: 400, `{"public":null}`: 400, `{"public":"yes"}`: 400, `{"colour":1}`: 400, `{"shareToken":5}`: 400, `{"expiresAfter":"x"}`: 400,
		`{"name":""}`: 422, `{"shareToken":"short"}`: 422, `{"expiresAfter":-1}`: 422, `{"metadata":{"":1}}`: 422, `{}`: 200,
	} {
		require.Equal(t, status, s.do("PATCH", at(made), as("alice"), body(text)).status, text)
	}
	chosen := "my-own-share-token"
	require.Equal(t, chosen, s.do("PATCH", at(made), as("alice"), body(`{"shareToken":"`+chosen+`"}`)).fields(t)["shareToken"])
	require.Equal(t, chosen, s.do("PATCH", at(made), as("alice"), body(`{"shareToken":"`+chosen+`"}`)).fields(t)["shareToken"])
	require.Len(t, s.recorded(), 2, "the same again is no event")
	require.NotContains(t, s.do("PATCH", at(made), as("alice"), body(`{"shareToken":false}`)).fields(t), "shareToken")
	for _, text := range []string{`{"expiresIn":0}`, `{"expiresIn":31536001}`, `{"expiresIn":null}`} {
		s.requireRefusal(422, "validation_failed", "POST", at(made)+"/share", as("alice"), body(text))
	}
	s.requireRefusal(400, "invalid_request", "POST", at(made)+"/share", as("alice"), body(`{"expires":1}`))
}

func TestFilesAreForThoseWhoMay(t *testing.T) {
	t.Parallel()
	s := openFiles(t)
	secret := s.put(field{name: "f", file: "a.txt", content: "x"}, field{name: "shareToken", content: "true"})
	require.Contains(t, s.do("GET", at(secret), as("bob")).fields(t), "shareToken", "who may update sees it")
	s.requireRefusal(403, "workspace_access_denied", "GET", at(secret), as("carol"))
	s.requireRefusal(403, "workspace_access_denied", "GET", "/v2/workspaces/w9/files", as("carol"))
	s.requireRefusal(401, "missing_token", "GET", at(secret))
	s.requireRefusal(403, "insufficient_scope", "GET", at(secret), as("narrow"))
	s.requireRefusal(403, "workspace_access_denied", "POST", "/v2/workspaces/w1/files", as("carol"), form(t, field{name: "f", file: "b.txt", content: "y"}))
	given := s.do("POST", "/v2/workspaces/w2/files", as("carol"), form(t, field{name: "f", file: "b.txt", content: "y"}))
	require.Equal(t, 201, given.status, "where a rule lets everyone upload: %s", given.body)
	require.Equal(t, false, given.items(t)[0]["public"])
	for _, option := range []field{{name: "shareToken", content: "true"}, {name: "public", content: "true"}} {
		s.requireRefusal(403, "permission_denied", "POST", "/v2/workspaces/w2/files", as("carol"), form(t, field{name: "f", file: "b.txt", content: "y"}, option))
	}

	// Who may change what is told about a file makes no links to it.
	require.Equal(t, 200, s.do("PATCH", at(secret), as("dora"), body(`{"metadata":{"by":"dora"}}`)).status)
	require.NotContains(t, s.do("GET", at(secret), as("dora")).fields(t), "shareToken")
	s.requireRefusal(403, "permission_denied", "POST", at(secret)+"/share", as("dora"))
	s.requireRefusal(403, "permission_denied", "PATCH", at(secret), as("dora"), body(`{"shareToken":true}`))

	// The key is for pictures that it made itself.
	robot := key("robot")
	s.requireRefusal(403, "permission_denied", "PATCH", at(secret), robot, body(`{"public":true}`))
	s.requireRefusal(403, "permission_denied", "DELETE", at(secret), robot)
	s.requireRefusal(403, "permission_denied", "GET", at(secret), robot)
	s.requireRefusal(403, "permission_denied", "POST", at(secret)+"/share", robot)
	own := s.do("POST", "/v2/workspaces/w1/files", robot, form(t, field{name: "f", file: "a.png", content: picture}))
	require.Equal(t, 201, own.status, own.body)
	require.Equal(t, "key:key_1", own.items(t)[0]["createdBy"])
	mine := own.items(t)[0]
	s.requireRefusal(403, "permission_denied", "PUT", at(mine), robot, form(t, field{name: "file", file: "a.png", kind: "image/png", content: "no picture"}))
	require.Equal(t, 200, s.do("PUT", at(mine), robot, form(t, field{name: "file", file: "b.gif", content: "GIF89a"})).status)

	got := s.do("GET", "/v2/workspaces/w1/files?limit=1", robot)
	require.Equal(t, "1", got.header.Get("X-Total-Count"), "rights come before pages")
	require.Equal(t, mine["id"], got.items(t)[0]["id"])
}

func TestAFileBelongsToItsWorkspace(t *testing.T) {
	t.Parallel()
	s := openFiles(t)
	made := s.put(field{name: "f", file: "a.txt", content: "x"}, field{name: "public", content: "true"})
	other := strings.Replace(at(made), "/w1/", "/w2/", 1)
	s.requireRefusal(404, "resource_not_found", "GET", other, as("alice"))
	s.requireRefusal(404, "resource_not_found", "PATCH", other, as("alice"), body(`{"public":false}`))
	s.requireRefusal(404, "resource_not_found", "PUT", other, as("alice"), form(t, field{name: "file", file: "a", content: "x"}))
	s.requireRefusal(404, "resource_not_found", "DELETE", other, as("alice"))
	s.requireRefusal(404, "resource_not_found", "POST", other+"/share", as("alice"))
	for _, elsewhere := range []string{"w2", "w9", "platform"} {
		s.requireRefusal(404, "resource_not_found", "GET", strings.Replace(address(made), "/w1/", "/"+elsewhere+"/", 1))
	}
	require.Empty(t, s.do("GET", "/v2/workspaces/w2/files", as("alice")).items(t))
	require.Len(t, s.recorded(), 1)
}

func TestFilesAreListed(t *testing.T) {
	t.Parallel()
	s := openFiles(t)
	for i, name := range []string{"b.txt", "A.txt", "c.png"} {
		content := strings.Repeat("x", 3-i)
		if i == 2 {
			content = picture
		}
		s.put(field{name: "f", file: name, content: content}, field{name: "metadata", content: fmt.Sprintf(`{"n":%d,"deep":{"x":"y%d"}}`, i*1000000, i)})
	}
	names := func(query string) (found []string) {
		got := s.do("GET", "/v2/workspaces/w1/files"+query, as("bob"))
		require.Equal(t, 200, got.status, got.body)
		for _, f := range got.items(t) {
			found = append(found, f["name"].(string))
		}
		return found
	}
	for query, want := range map[string][]string{
		"?sort=name": {"A.txt", "b.txt", "c.png"}, "?sort=-name": {"c.png", "b.txt", "A.txt"},
		"?sort=size": {"A.txt", "b.txt", "c.png"}, "?sort=mimetype&limit=1": {"c.png"}, "?sort=createdAt&limit=1&page=1": {"A.txt"}, "?sort=-createdAt": {"c.png", "A.txt", "b.txt"},
		"?mimetype=image/png": {"c.png"}, "?size=2": {"A.txt"}, "?metadata.n=2000000": {"c.png"}, "?metadata.deep.x=y1": {"A.txt"}, "?metadata.deep.x.z=1": nil, "?metadata.none=1": nil,
		"?public=true": nil, "?createdBy=alice&name=c.png": {"c.png"}, "?updatedBy=nobody": nil, "?expiresAfter=0": nil, "?updatedAt=x": nil, "?createdAt=x": nil,
		"?query=%7B%22size%22:3,%22public%22:false%7D": {"b.txt"}, "?query=%7B%22size%22:%223%22%7D": nil, "?query=%7B%22metadata.n%22:1000000%7D": {"A.txt"},
	} {
		require.Equal(t, want, names(query), query)
	}
	all := s.do("GET", "/v2/workspaces/w1/files?limit=2", as("bob"))
	require.Equal(t, "3", all.header.Get("X-Total-Count"))
	require.Contains(t, all.header.Get("Link"), "page=1")
	for _, bad := range []string{"?sort=colour", "?colour=red", "?query=x", "?query=%5B%5D", "?query={}&query={}", "?name=a&name=b", "?limit=101", "?query=%7B%22colour%22:1%7D"} {
		s.requireRefusal(400, "invalid_parameter", "GET", "/v2/workspaces/w1/files"+bad, as("bob"))
	}
}

func TestAnExpiredFileIsNowhere(t *testing.T) {
	t.Parallel()
	s := openFiles(t)
	made := s.put(field{name: "f", file: "a.txt", content: "x"}, field{name: "public", content: "true"}, field{name: "expiresAfter", content: "60"})
	require.Equal(t, 200, s.do("GET", address(made)).status)
	s.pass(time.Minute)
	s.requireRefusal(404, "resource_not_found", "GET", at(made), as("alice"))
	s.requireRefusal(404, "resource_not_found", "PATCH", at(made), as("alice"), body(`{"expiresAfter":null}`))
	s.requireRefusal(404, "resource_not_found", "GET", address(made))
	s.requireRefusal(404, "resource_not_found", "GET", address(made), as("alice"))
	require.Empty(t, s.do("GET", "/v2/workspaces/w1/files", as("alice")).items(t))
}

func TestARepeatedUploadIsOneUpload(t *testing.T) {
	t.Parallel()
	s := openFiles(t)
	upload := form(t, field{name: "f", file: "a.txt", content: "x"}, field{name: "shareToken", content: "true"})
	first := s.do("POST", "/v2/workspaces/w1/files", as("alice"), upload, with("Idempotency-Key", "k1"))
	again := s.do("POST", "/v2/workspaces/w1/files", as("alice"), upload, with("Idempotency-Key", "k1"))
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.Equal(t, first.items(t)[0]["id"], again.items(t)[0]["id"])
	require.NotContains(t, again.items(t)[0], "shareToken", "no token is kept for it")
	require.Len(t, s.recorded(), 1)
	changed := func() answer {
		return s.do("PATCH", at(first.items(t)[0]), as("alice"), body(`{"shareToken":true}`), with("Idempotency-Key", "k2"))
	}
	require.NotEqual(t, first.items(t)[0]["shareToken"], changed().fields(t)["shareToken"])
	require.NotContains(t, changed().fields(t), "shareToken")
	require.Len(t, s.recorded(), 2)
}

// broken are contents that cannot be read.
type broken struct{ err error }

func (b broken) Open(context.Context, string) (io.ReadCloser, int64, error) {
	if b.err != nil {
		return nil, 0, b.err
	}
	return io.NopCloser(io.MultiReader(strings.NewReader("x"), failing{})), 3, nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("damaged") }

func TestADamagedContentIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, contents := range map[string]broken{"missing": {errors.New("no such blob")}, "damaged": {}} {
		s := openFiles(t, func(d *files.Handlers) { d.Contents = contents })
		made := s.put(field{name: "f", file: "a.txt", content: "xyz"})
		s.requireRefusal(503, "service_unavailable", "GET", address(made), as("alice"))
		require.Equal(t, 200, s.do("HEAD", address(made), as("alice")).status, name)
	}
	s := openFiles(t, func(d *files.Handlers) { d.Contents = broken{} })
	made := s.put(field{name: "f", file: "a.txt", content: "other size"})
	s.requireRefusal(500, "internal_error", "GET", address(made), as("alice"))
}

func TestNoRoomIsToldSo(t *testing.T) {
	t.Parallel()
	s := openFiles(t, func(d *files.Handlers) { d.Dir = "/dev/null/no" })
	s.requireRefusal(503, "service_unavailable", "POST", "/v2/workspaces/w1/files", as("alice"), form(t, field{name: "f", file: "a", content: "x"}))
	require.Empty(t, s.recorded())
}
