package apitest_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/http/api/apitest"
)

// res is an answer to a request, with the headers that every answer has.
func res(method, path string, status int, headers ...string) *http.Response {
	h := http.Header{}
	for _, pair := range [][2]string{{"Content-Type", "application/json; charset=utf-8"}, {"X-Correlation-Id", "c1"}, {"X-Svc-Api-Version-Used", "2025-01-01"}} {
		h.Set(pair[0], pair[1])
	}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			h.Del(headers[i])
		}
	}
	return &http.Response{StatusCode: status, Header: h, Request: &http.Request{Method: method, URL: &url.URL{Path: path}}}
}

const (
	flat   = `{"error":"resource_not_found","message":"no","requestId":"c1"}`
	nested = `{"error":{"code":"resource_not_found","message":"no","requestId":"c1"}}`
)

func TestAnswersThatTheDocumentAllows(t *testing.T) {
	for name, test := range map[string]struct {
		res  *http.Response
		body string
	}{
		"a workspace":                 {res("GET", "/v2/workspaces/w1", 200, "ETag", `"1"`), `{"id":"w1","name":"a","dirty":true,"contentRevision":1,"labels":[],"more":1}`},
		"an error":                    {res("GET", "/v2/workspaces/w1", 404), flat},
		"a nested error":              {res("GET", "/v3/workspaces/w1", 404), nested},
		"an error of an unknown path": {res("GET", "/v2/nothing", 404), flat},
		"an error of another method":  {res("PUT", "/v2/workspaces/w1", 405), flat},
		"a retired version":           {res("GET", "/v1/workspaces/w1", 410), flat},
		"a failing report":            {res("GET", "/v2/readiness", 400), `{"status":"error","services":{}}`},
	} {
		t.Run(name, func(t *testing.T) { require.NoError(t, apitest.Check(test.res, []byte(test.body))) })
	}
}

func TestAnswersThatTheDocumentForbids(t *testing.T) {
	for name, test := range map[string]struct {
		res  *http.Response
		body string
		want string
	}{
		"no correlation id":       {res("GET", "/healthz", 200, "X-Correlation-Id", ""), `{"healthy":true}`, "no X-Correlation-Id"},
		"no version":              {res("GET", "/healthz", 200, "X-Svc-Api-Version-Used", ""), `{"healthy":true}`, "no X-Svc-Api-Version-Used"},
		"no tag":                  {res("GET", "/v2/workspaces/w1", 200), `{"id":"w1","name":"a"}`, "ETag"},
		"another type":            {res("GET", "/v2/workspaces/w1", 200, "ETag", `"1"`), `{"id":"w1","name":7}`, "name"},
		"a missing field":         {res("GET", "/v2/workspaces/w1", 200, "ETag", `"1"`), `{"id":"w1"}`, "name"},
		"another status":          {res("GET", "/v2/workspaces/w1", 202), `{}`, "status is not supported"},
		"another media type":      {res("GET", "/healthz", 200, "Content-Type", "text/plain"), `healthy`, "Content-Type"},
		"an unknown code":         {res("GET", "/v2/workspaces/w1", 404), `{"error":"lost","message":"no","requestId":"c1"}`, "value must be one of"},
		"a nested error in v2":    {res("GET", "/v2/workspaces/w1", 404), nested, "nested error: true"},
		"a flat error in v3":      {res("GET", "/v3/workspaces/w1", 404), flat, "nested error: false"},
		"an unknown path that is": {res("GET", "/v2/nothing", 200), `{}`, "does not know this operation"},
		"an error of no shape":    {res("GET", "/v2/nothing", 404), `{"fault":"lost"}`, ""},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorContains(t, apitest.Check(test.res, []byte(test.body)), test.want) })
	}
}
