package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/accounts"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
)

func TestAProfileIsChanged(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	got := h.do("PATCH", "/v2/user", ada.bearer(), body(`{"firstName":"Augusta","photo":"https://example.org/a.png","language":"pt-BR","meta":{"theme":"dark","n":1}}`))
	require.Equal(t, http.StatusOK, got.status, got.body)
	fields := got.fields(t)
	require.Equal(t, "Augusta", fields["firstName"])
	require.Equal(t, "Byron", fields["lastName"])
	require.Equal(t, map[string]any{"theme": "dark", "n": 1.0}, fields["meta"])
	require.Equal(t, ada.id, fields["updatedBy"])
	me := h.do("GET", "/v2/me", ada.bearer()).fields(t)
	for name, value := range fields {
		require.Equal(t, value, me[name], "a write answers what a read shows: %s", name)
	}
	got = h.do("PATCH", "/v2/user", ada.bearer(), body(`{"photo":null,"language":null,"meta":null,"lastName":null}`))
	fields = got.fields(t)
	require.NotContains(t, fields, "photo")
	require.NotContains(t, fields, "language")
	require.Equal(t, map[string]any{}, fields["meta"])
	require.Empty(t, fields["lastName"])
	require.Len(t, eventsOf[user.Updated](h, domain.State), 2)
	require.Equal(t, http.StatusOK, h.do("PATCH", "/v2/user", ada.bearer(), body(`{"firstName":"Augusta"}`)).status)
	require.Len(t, eventsOf[user.Updated](h, domain.State), 2, "nothing changed")

	for _, c := range []refusal{
		{"another address", "PATCH /v2/user", []option{ada.bearer(), body(`{"email":"eve@example.org"}`)}, 400, "invalid_request", `{"errors":[{"field":"email","message":"unknown field"}]}`},
		{"a wrong type", "PATCH /v2/user", []option{ada.bearer(), body(`{"firstName":7}`)}, 400, "invalid_request", ``},
		{"data that is a list", "PATCH /v2/user", []option{ada.bearer(), body(`{"meta":[]}`)}, 400, "invalid_request", ``},
		{"a long name", "PATCH /v2/user", []option{ada.bearer(), body(`{"firstName":"` + strings.Repeat("x", 101) + `"}`)}, 422, "validation_failed", `{"errors":[{"field":"firstName","message":"must be at most 100 characters without control characters"}]}`},
		{"a photo that runs", "PATCH /v2/user", []option{ada.bearer(), body(`{"photo":"javascript:alert(1)"}`)}, 422, "validation_failed", ``},
		{"a photo elsewhere", "PATCH /v2/user", []option{ada.bearer(), body(`{"photo":"//evil.example/a.png"}`)}, 422, "validation_failed", ``},
		{"no language", "PATCH /v2/user", []option{ada.bearer(), body(`{"language":"!"}`)}, 422, "validation_failed", ``},
		{"nobody", "PATCH /v2/user", []option{body(`{}`)}, 401, "missing_token", ``},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, h.testService, "") })
	}
}

func TestAVisitorComesToOwnSomething(t *testing.T) {
	h := openIdentity(t)
	visitor := h.visitor()
	got := h.do("PATCH", "/v2/users/"+visitor.id, visitor.bearer(), body(`{"firstName":"Nobody"}`))
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Equal(t, "Nobody", got.fields(t)["firstName"])
	require.Equal(t, map[string]any{"anonymous": map[string]any{"id": visitor.id}}, got.fields(t)["authData"])
	require.Len(t, eventsOf[user.Created](h, domain.State), 2, "the super admin's, and this one")
	require.Equal(t, "Nobody", h.do("GET", "/v2/me", visitor.bearer()).fields(t)["firstName"])
	h.requireRefusal(403, "permission_denied", "", "POST /v2/contacts", visitor.bearer(), body(`{"email":"`+rootEmail+`"}`))

	other := h.visitor()
	require.JSONEq(t, `{"id":"`+other.id+`"}`, h.do("DELETE", "/v2/user", other.bearer()).body, "who owned nothing")
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", other.bearer())
	require.JSONEq(t, `{"id":"`+visitor.id+`"}`, h.do("DELETE", "/v2/user", visitor.bearer()).body)
	h.requireRefusal(401, "invalid_token", "", "GET /v2/me", visitor.bearer())
}

func TestDataOfOnesOwn(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	require.JSONEq(t, `{"theme":"dark","wide":{"a":[1,null]}}`, h.do("POST", "/v2/user/meta", ada.bearer(), body(`{"theme":"dark","wide":{"a":[1,null]}}`)).body)
	require.JSONEq(t, `{"theme":"light","wide":{"a":[1,null]},"a/b":true}`, h.do("POST", "/v2/user/meta", ada.bearer(), body(`{"theme":"light","a/b":true}`)).body)
	require.JSONEq(t, `{"theme":"light","a/b":true}`, h.do("POST", "/v2/user/meta", ada.bearer(), body(`{"wide":null}`)).body)
	require.JSONEq(t, `{"theme":"light"}`, h.do("DELETE", "/v2/user/meta/a%2Fb", ada.bearer()).body)
	require.JSONEq(t, `{"theme":"light"}`, h.do("DELETE", "/v2/user/meta/nothing", ada.bearer()).body)
	require.JSONEq(t, `{}`, h.do("DELETE", "/v2/user/meta/theme", ada.bearer()).body)
	require.Equal(t, map[string]any{}, h.do("GET", "/v2/me", ada.bearer()).fields(t)["meta"])
	require.Len(t, eventsOf[user.Updated](h, domain.State), 5)

	h.requireRefusal(400, "invalid_request", "", "POST /v2/user/meta", ada.bearer(), body(`[]`))
	h.requireRefusal(400, "invalid_request", "", "POST /v2/user/meta", ada.bearer(), body(`null`))
	h.requireRefusal(400, "invalid_request", "", "POST /v2/user/meta", ada.bearer(), body(`{"a":1,"a":2}`))
	h.requireRefusal(422, "validation_failed", "", "POST /v2/user/meta", ada.bearer(), body(`{"big":"`+strings.Repeat("x", 64<<10)+`"}`))
	h.requireRefusal(401, "missing_token", "", "POST /v2/user/meta", body(`{}`))
	h.requireRefusal(401, "missing_token", "", "DELETE /v2/user/meta/a")
}

func TestAnAccountIsDeleted(t *testing.T) {
	h := openIdentity(t)
	ada, other := h.newAccount("ada@example.org"), h.enter("ada@example.org")
	token := h.accessToken(ada)
	h.requireRefusal(400, "missing_parameter", "", "DELETE /v2/user", ada.bearer())
	h.requireRefusal(401, "invalid_credentials", "", "DELETE /v2/user", ada.bearer(), body(`{"currentPassword":"wrong"}`))
	gone := h.do("DELETE", "/v2/user", ada.bearer(), body(`{"currentPassword":"`+password+`"}`))
	require.JSONEq(t, `{"id":"`+ada.id+`"}`, gone.body)
	require.Negative(t, cookieOf(t, gone).MaxAge)
	for _, credential := range []string{ada.token, other.token, token} {
		h.requireRefusal(401, "invalid_token", "", "GET /v2/me", as(credential))
	}
	require.Equal(t, []user.Deleted{{UserID: ada.id}}, eventsOf[user.Deleted](h, domain.State))
	require.Len(t, eventsOf[session.Ended](h, domain.State), 2)
	h.requireRefusal(401, "invalid_credentials", "", "POST /v2/login", body(`{"email":"ada@example.org","password":"`+password+`"}`))
	require.NotEqual(t, ada.id, h.newAccount("ada@example.org").id, "the address is free")
}

// blobs is an api.Blobs in memory.
type blobs struct{ kept sync.Map }

func (b *blobs) Put(_ context.Context, content []byte) (name string, err error) {
	sum := sha256.Sum256(content)
	name = hex.EncodeToString(sum[:])
	b.kept.Store(name, bytes.Clone(content))
	return name, nil
}

func (b *blobs) Get(_ context.Context, name string) ([]byte, error) {
	content, ok := b.kept.Load(name)
	if !ok {
		return nil, errors.New("no such blob")
	}
	return content.([]byte), nil
}

// part is one part of a multipart body.
type part struct{ name, file, content string }

func multipartBody(t *testing.T, parts ...part) option {
	t.Helper()
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	for _, p := range parts {
		head := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + p.name + `"`}}
		if p.file != "" {
			head.Set("Content-Disposition", head.Get("Content-Disposition")+`; filename="`+p.file+`"`)
			head.Set("Content-Type", "image/png")
		}
		out, err := w.CreatePart(head)
		require.NoError(t, err)
		_, err = io.WriteString(out, p.content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(&text), int64(text.Len())
		r.Header.Set("Content-Type", w.FormDataContentType())
	}
}

const png = "\x89PNG\r\n\x1a\n and the rest of a picture"

func TestAPictureIsUploadedAndShown(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	for content, kind := range map[string]string{
		png: "image/png", "\xff\xd8\xff\xe0 a JPEG": "image/jpeg", "GIF89a": "image/gif", "RIFF\x00\x00\x00\x00WEBPVP8 ": "image/webp",
	} {
		got := h.do("POST", "/v2/user/photo", ada.bearer(), multipartBody(t, part{"photo", "me.bin", content}))
		require.Equal(t, http.StatusOK, got.status, got.body)
		address := got.fields(t)["photo"].(string)
		require.Regexp(t, `^/v2/users/`+ada.id+`/photo\?v=[0-9a-f]{64}$`, address)
		seen := h.do("GET", address)
		require.Equal(t, content, seen.body)
		require.Equal(t, kind, seen.header.Get("Content-Type"))
		require.Equal(t, "public, max-age=31536000, immutable", seen.header.Get("Cache-Control"))
		require.Equal(t, "default-src 'none'; sandbox", seen.header.Get("Content-Security-Policy"))
		require.Equal(t, "nosniff", seen.header.Get("X-Content-Type-Options"))
		require.Equal(t, address, h.do("PATCH", "/v2/user", ada.bearer(), body(`{"photo":"`+address+`"}`)).fields(t)["photo"], "sent back")
		require.Empty(t, h.do("HEAD", address).body)
		require.Equal(t, http.StatusOK, h.do("GET", address, as(h.accessToken(ada))).status, "with any credential")
	}
	require.Len(t, eventsOf[user.Updated](h, domain.State), 4)
}

func TestPicturesThatAreRefused(t *testing.T) {
	h := openIdentity(t)
	ada, bob := h.newAccount("ada@example.org"), h.newAccount("bob@example.org")
	upload := func(p person, parts ...part) answer {
		return h.do("POST", "/v2/user/photo", p.bearer(), multipartBody(t, parts...))
	}
	large := png + strings.Repeat("x", 4<<20)
	for _, c := range []refusal{
		{"an SVG", "POST /v2/user/photo", []option{ada.bearer(), multipartBody(t, part{"photo", "a.svg", `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`})}, 422, "validation_failed", `{"errors":[{"field":"photo","message":"must be a PNG, JPEG, GIF or WebP picture"}]}`},
		{"a page", "POST /v2/user/photo", []option{ada.bearer(), multipartBody(t, part{"photo", "a.png", `<html>`})}, 422, "validation_failed", ``},
		{"nothing in it", "POST /v2/user/photo", []option{ada.bearer(), multipartBody(t, part{"photo", "a.png", ""})}, 422, "validation_failed", ``},
		{"no part", "POST /v2/user/photo", []option{ada.bearer(), multipartBody(t)}, 400, "missing_parameter", `{"parameter":"photo","errors":[{"field":"photo","message":"is required"}]}`},
		{"no file", "POST /v2/user/photo", []option{ada.bearer(), multipartBody(t, part{"photo", "", png})}, 400, "invalid_request", `{"errors":[{"field":"photo","message":"must be a file"}]}`},
		{"another part", "POST /v2/user/photo", []option{ada.bearer(), multipartBody(t, part{"picture", "a.png", png})}, 400, "invalid_request", `{"errors":[{"field":"picture","message":"unknown field"}]}`},
		{"two", "POST /v2/user/photo", []option{ada.bearer(), multipartBody(t, part{"photo", "a.png", png}, part{"photo", "b.png", png})}, 400, "invalid_request", `{"errors":[{"field":"photo","message":"given twice"}]}`},
		{"too large", "POST /v2/user/photo", []option{ada.bearer(), multipartBody(t, part{"photo", "a.png", large})}, 413, "invalid_request", ``},
		{"far too large", "POST /v2/user/photo", []option{ada.bearer(), multipartBody(t, part{"photo", "a.png", large + large})}, 413, "invalid_request", ``},
		{"JSON", "POST /v2/user/photo", []option{ada.bearer(), body(`{"photo":"x"}`)}, 415, "invalid_request", `{"reason":"unsupported_media_type"}`},
		{"nobody", "POST /v2/user/photo", []option{multipartBody(t, part{"photo", "a.png", png})}, 401, "missing_token", ``},
		{"a picture of nobody", "GET /v2/users/nobody/photo?v=" + strings.Repeat("a", 64), nil, 404, "resource_not_found", `{"resource":"photo","id":"nobody"}`},
		{"no picture", "GET /v2/users/" + bob.id + "/photo?v=" + strings.Repeat("a", 64), nil, 404, "resource_not_found", ``},
		{"no name", "GET /v2/users/" + bob.id + "/photo", nil, 400, "missing_parameter", ``},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, h.testService, "") })
	}
	require.Empty(t, eventsOf[user.Updated](h, domain.State))

	address := upload(ada, part{"photo", "a.png", png}).fields(t)["photo"].(string)
	_, name, _ := strings.Cut(address, "?v=")
	own := "/v2/users/" + bob.id + "/photo?v=" + name
	h.requireRefusal(422, "validation_failed", "", "PATCH /v2/user", bob.bearer(), body(`{"photo":"`+own+`"}`))
	h.requireRefusal(422, "validation_failed", "", "PATCH /v2/users/"+bob.id, bob.bearer(), body(`{"photo":"`+own+`"}`))
	h.requireRefusal(404, "resource_not_found", "", "GET "+own)
	h.do("PATCH", "/v2/user", ada.bearer(), body(`{"photo":null}`))
	h.requireRefusal(404, "resource_not_found", "", "GET "+address)
}

// What is no picture is not shown, whatever a user calls it.
func TestOnlyPicturesAreShown(t *testing.T) {
	h := openIdentity(t)
	ada := h.newAccount("ada@example.org")
	name, err := h.blobs.Put(t.Context(), []byte("<script>alert(1)</script>"))
	require.NoError(t, err)
	address := "/v2/users/" + ada.id + "/photo?v=" + name
	_, err = h.accounts.Patch(t.Context(), accounts.Actor{UserID: ada.id}, ada.id, accounts.Patch{Photo: &address})
	require.NoError(t, err)
	h.requireRefusal(404, "resource_not_found", "", "GET "+address)

	h.blobs.kept.Clear()
	h.requireRefusal(503, "service_unavailable", "", "GET "+address)
}
