package api_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDownloadsAreForThoseWhoMay(t *testing.T) {
	t.Parallel()
	s := openFiles(t)
	secret := s.put(field{name: "f", file: "a.txt", content: "secret"})
	for _, who := range []option{as("alice"), as("bob")} {
		got := s.do("GET", address(secret), who)
		require.Equal(t, []any{200, "secret"}, []any{got.status, got.body})
		require.Equal(t, "private, no-cache", got.header.Get("Cache-Control"))
		require.Equal(t, "same-site", got.header.Get("Cross-Origin-Resource-Policy"))
	}
	s.requireRefusal(401, "missing_token", "GET", address(secret))
	s.requireRefusal(401, "missing_token", "GET", address(secret), as("pending"))
	s.requireRefusal(403, "workspace_access_denied", "GET", address(secret), as("carol"))
	s.requireRefusal(403, "permission_denied", "GET", address(secret), key("robot"))
	s.requireRefusal(403, "insufficient_scope", "GET", address(secret), as("narrow"))
	s.requireRefusal(404, "resource_not_found", "GET", "/v2/files/w1/"+strings.Repeat("x", 21)+".a.txt", as("alice"))
	s.requireRefusal(404, "resource_not_found", "GET", "/v2/files/w1/short.a.txt", as("alice"))
	s.requireRefusal(400, "invalid_parameter", "GET", address(secret)+"?token=a&token=b", as("alice"))

	require.Equal(t, 200, s.do("PATCH", at(secret), as("alice"), body(`{"public":true,"name":"b.txt"}`)).status)
	open := s.do("GET", address(secret), with("Origin", "https://elsewhere.example"))
	require.Equal(t, "secret", open.body, "its earlier name finds it")
	require.Equal(t, "public, max-age=300", open.header.Get("Cache-Control"))
	require.Equal(t, "*", open.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "cross-origin", open.header.Get("Cross-Origin-Resource-Policy"))
	brief := s.put(field{name: "f", file: "a.txt", content: "x"}, field{name: "public", content: "true"}, field{name: "expiresAfter", content: "90"})
	require.Equal(t, "public, max-age=90", s.do("GET", address(brief)).header.Get("Cache-Control"), "no longer than it lasts")
}

func TestLinksOpenFiles(t *testing.T) {
	t.Parallel()
	s := openFiles(t)
	made, other := s.put(field{name: "f", file: "é a.txt", content: "secret"}), s.put(field{name: "f", file: "b.txt", content: "x"})
	shared := s.do("POST", at(made)+"/share", as("bob"))
	require.Equal(t, 200, shared.status, shared.body)
	link := shared.fields(t)
	require.Equal(t, []any{60.0, "2026-06-01T12:01:00.000Z"}, []any{link["expiresIn"], link["expiresAt"]})
	path := address(link)
	require.Equal(t, "secret", s.do("GET", path).body)
	require.Equal(t, "secret", s.do("GET", path, as("carol")).body)
	require.Equal(t, "no-referrer", s.do("GET", path).header.Get("Referrer-Policy"))
	_, query, _ := strings.Cut(path, "?")
	s.requireRefusal(401, "invalid_token", "GET", address(other)+"?"+query)
	s.requireRefusal(401, "invalid_token", "GET", path[:len(path)-1])
	s.requireRefusal(401, "invalid_token", "GET", address(made)+"?token=x", as("carol"))
	require.Equal(t, "secret", s.do("GET", address(made)+"?token=x", as("alice")).body, "who may read needs none")

	long := address(s.do("POST", at(made)+"/share", as("alice"), body(`{"expiresIn":3600}`)).fields(t))
	s.pass(time.Minute)
	s.requireRefusal(401, "token_expired", "GET", path)
	require.Equal(t, "secret", s.do("GET", long).body)
	token := s.do("PATCH", at(made), as("alice"), body(`{"shareToken":true}`)).fields(t)["shareToken"].(string)
	s.requireRefusal(401, "invalid_token", "GET", long)
	require.Equal(t, "secret", s.do("GET", address(made)+"?token="+url.QueryEscape(token)).body)
	s.do("PATCH", at(made), as("alice"), body(`{"shareToken":null}`))
	s.requireRefusal(401, "invalid_token", "GET", address(made)+"?token="+url.QueryEscape(token))
	s.requireRefusal(401, "invalid_token", "GET", long)
	require.Len(t, s.recorded(), 4, "links are no events")
}

func TestPartsOfFilesAreServed(t *testing.T) {
	t.Parallel()
	s := openFiles(t)
	content := strings.Repeat("0123456789", 60_000) // more than is held in memory
	for name, text := range map[string]string{"large": content, "small": content[:1000]} {
		made := s.put(field{name: "f", file: name + ".txt", content: text})
		tag := `"` + made["checksum"].(string) + `"`
		get := func(method string, options ...option) answer {
			return s.do(method, address(made), append(options, as("alice"))...)
		}
		whole := get("GET", with("Accept-Encoding", "gzip"))
		require.Equal(t, []any{200, "bytes", tag, ""}, []any{whole.status, whole.header.Get("Accept-Ranges"), whole.header.Get("ETag"), whole.header.Get("Content-Encoding")}, name)
		require.Equal(t, text, whole.body, name)

		part := get("GET", with("Range", "bytes=5-9"))
		require.Equal(t, []any{206, "56789"}, []any{part.status, part.body}, name)
		require.Contains(t, part.header.Get("Content-Range"), "bytes 5-9/")
		require.Equal(t, "789", get("GET", with("Range", "bytes=-3")).body)
		require.Equal(t, "89", get("GET", with("Range", "bytes="+strconv.Itoa(len(text)-2)+"-")).body)
		require.Contains(t, get("GET", with("Range", "bytes=0-0,5-6")).header.Get("Content-Type"), "multipart/byteranges")
		beyond := get("GET", with("Range", "bytes="+strconv.Itoa(len(text))+"-"))
		require.Equal(t, []any{416, "bytes */" + strconv.Itoa(len(text))}, []any{beyond.status, beyond.header.Get("Content-Range")})

		require.Equal(t, 304, get("GET", with("If-None-Match", tag)).status)
		require.Equal(t, 304, get("GET", with("If-None-Match", `"x", W/`+tag)).status)
		require.Equal(t, 304, get("HEAD", with("If-None-Match", "*")).status)
		odd := get("GET", with("If-None-Match", "odd"+tag))
		require.True(t, odd.status == 200 && odd.body == text, name)
		fresh := get("GET", with("If-None-Match", `"x"`))
		require.True(t, fresh.status == 200 && fresh.body == text, name)
		require.Equal(t, 206, get("GET", with("Range", "bytes=0-1"), with("If-Range", tag)).status)
		changed := get("GET", with("Range", "bytes=0-1"), with("If-Range", `"x"`))
		require.True(t, changed.status == 200 && changed.body == text, name)

		head := get("HEAD")
		require.Equal(t, []any{200, strconv.Itoa(len(text)), "", tag}, []any{head.status, head.header.Get("Content-Length"), head.body, head.header.Get("ETag")}, name)
		require.Equal(t, 200, s.do("PUT", at(made), as("alice"), form(t, field{name: "file", file: "x", content: "new"})).status)
		again := get("GET", with("If-None-Match", tag))
		require.Equal(t, []any{200, "new"}, []any{again.status, again.body}, name)
	}
	empty := s.put(field{name: "f", file: "empty", content: ""})
	got := s.do("GET", address(empty), as("alice"))
	require.Equal(t, []any{200, ""}, []any{got.status, got.body})
}

func TestFilesAreHarmless(t *testing.T) {
	t.Parallel()
	s := openFiles(t)
	const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
	for name, test := range map[string]struct{ file, kind, content, mimetype, disposition string }{
		"a picture":             {"a.png", "image/png", picture, "image/png", `inline; filename="a.png"`},
		"text":                  {"a.txt", "", "hello", "text/plain; charset=utf-8", `inline; filename="a.txt"`},
		"a PDF":                 {"a.pdf", "text/plain", "%PDF-1.7", "application/pdf", `inline; filename="a.pdf"`},
		"a film":                {"a.webm", "", "\x1aE\xdf\xa3", "video/webm", `inline; filename="a.webm"`},
		"a page":                {"a.html", "text/html", "<html><script>alert(1)</script>", "text/html; charset=utf-8", `attachment; filename="a.html"`},
		"a page called picture": {"a.png", "image/png", "<!DOCTYPE html><script>alert(1)</script>", "text/html; charset=utf-8", `attachment; filename="a.png"`},
		"a vector picture":      {"a.svg", "image/svg+xml", svg, "image/svg+xml", `attachment; filename="a.svg"`},
		"one called picture":    {"a.png", "image/png", svg, "text/plain; charset=utf-8", `inline; filename="a.png"`},
		"one in XML":            {"a.svg", "image/svg+xml", `<?xml version="1.0"?>` + svg, "image/svg+xml", `attachment; filename="a.svg"`},
		"a script":              {"a.js", "text/javascript", "alert(1)", "text/javascript; charset=utf-8", `attachment; filename="a.js"`},
		"a script as picture":   {"a.js", "image/gif", "alert(1)", "text/plain; charset=utf-8", `inline; filename="a.js"`},
		"bytes":                 {"a.bin", "application/x-thing", "\x00\x01\x02", "application/x-thing", `attachment; filename="a.bin"`},
		"a name to escape":      {"é \\\"%,;'.txt", "", "x", "text/plain; charset=utf-8", `inline; filename="_ __,;'.txt"; filename*=UTF-8''%C3%A9%20%22%25%2C%3B%27.txt`},
	} {
		t.Run(name, func(t *testing.T) {
			made := s.put(field{name: "f", file: test.file, kind: test.kind, content: test.content})
			got := s.do("GET", address(made), as("alice"))
			require.Equal(t, []any{200, test.content}, []any{got.status, got.body})
			require.Equal(t, test.mimetype, got.header.Get("Content-Type"))
			require.Equal(t, test.disposition, got.header.Get("Content-Disposition"))
			require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
			policy := got.header.Get("Content-Security-Policy")
			require.Contains(t, policy, "default-src 'none'")
			require.Equal(t, test.mimetype != "application/pdf", strings.Contains(policy, "sandbox"))
		})
	}
}
