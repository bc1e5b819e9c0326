package apitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"svc/http/api"
)

// document is the API's document, loaded once.
type document struct {
	router  routers.Router
	schemas *compiled
}

var load = sync.OnceValues(func() (*document, error) {
	doc, err := Document()
	if err != nil {
		return nil, err
	}
	for _, kind := range []string{"text/html", "text/javascript", "application/x-ndjson"} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.PlainBodyDecoder)
	}
	schemas, err := compile(doc)
	if err != nil {
		return nil, err
	}
	plain := *doc
	plain.OpenAPI = "3.0.3" // headers are as plain as that; schemas of 3.1 are compiled anew for each answer
	router, err := gorillamux.NewRouter(&plain)
	return &document{router, schemas}, err
})

// Document is the API's document, read once. A test of the API holds it to the rules
// of OpenAPI: that takes long, and who only compares answers need not wait for it.
var Document = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("load document: %w", err)
	}
	return doc, nil
})

// Validate fails the test unless res, whose body was read already, is an answer
// that the document allows to its request: the status, the headers and every
// field. An answer to what the document does not know must be an error in the
// shape of its API version.
func Validate(tb testing.TB, res *http.Response, body []byte) {
	tb.Helper()
	if err := Check(res, body); err != nil {
		tb.Errorf("%s %s answered %d against the document: %v\n%.500s", res.Request.Method, res.Request.URL, res.StatusCode, err, body)
	}
}

// Check is Validate without a test to fail.
func Check(res *http.Response, body []byte) error {
	doc, err := load()
	if err != nil {
		return err
	}
	for _, name := range []string{"X-Correlation-Id", "X-Svc-Api-Version-Used"} {
		if res.Header.Get(name) == "" {
			return fmt.Errorf("no %s header", name)
		}
	}
	if res.StatusCode >= http.StatusBadRequest {
		if err := checkShape(res.Request.URL, body); err != nil {
			return err
		}
	}
	route, vars, err := doc.router.FindRoute(asStable(res.Request))
	if errors.Is(err, routers.ErrPathNotFound) || errors.Is(err, routers.ErrMethodNotAllowed) || res.StatusCode == http.StatusGone {
		return doc.checkError(res, body)
	}
	if err != nil {
		return err
	}
	asked := &openapi3filter.RequestValidationInput{Request: res.Request, PathParams: vars, Route: route}
	isJSON := strings.HasPrefix(res.Header.Get("Content-Type"), "application/json")
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: asked, Status: res.StatusCode, Header: res.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: isJSON},
	})
	if err != nil || !isJSON || res.Request.Method == http.MethodHead {
		return err
	}
	return doc.schemas.check(placeOf(route, res.StatusCode), body)
}

// placeOf returns where the document has the schema of an answer in JSON, "" when
// it says nothing of the body.
func placeOf(route *routers.Route, status int) string {
	answers, name := route.Operation.Responses, strconv.Itoa(status)
	if answers.Value(name) == nil {
		name = "default"
	}
	answer := answers.Value(name)
	if answer.Value.Content["application/json"] == nil {
		return ""
	}
	at := answer.Ref
	if at == "" {
		at = "#/paths/" + escaped(route.Path) + "/" + strings.ToLower(route.Method) + "/responses/" + name
	}
	return at + "/content/application~1json/schema"
}

var escaped = strings.NewReplacer("~", "~0", "/", "~1").Replace

// checkError accepts an error, and nothing but an error.
func (d *document) checkError(res *http.Response, body []byte) error {
	if res.StatusCode < http.StatusBadRequest {
		return errors.New("the document does not know this operation")
	}
	if res.Request.Method == http.MethodHead {
		return nil
	}
	return d.schemas.check("#/components/schemas/Error", body)
}

// asStable returns the request as the document knows it: a beta version has the
// paths of the stable one, HEAD is a GET, and a slash at the end does not count.
func asStable(r *http.Request) *http.Request {
	path := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(path, "/v3/"); ok {
		path = "/v2/" + rest
	}
	at := &http.Request{Method: r.Method, Host: r.Host, Header: r.Header, URL: &url.URL{RawPath: "/" + strings.Trim(path, "/")}}
	at.URL.Path, _ = url.PathUnescape(at.URL.RawPath)
	if at.Method == http.MethodHead {
		at.Method = http.MethodGet
	}
	return at
}

// checkShape tells the two shapes of errors apart: nested under /v3, flat
// elsewhere. A failing readiness report is no error in that sense, and JSON-RPC has errors of its own.
func checkShape(u *url.URL, body []byte) error {
	value, err := decode(body)
	fields, _ := value.(map[string]any)
	if err != nil || fields["error"] == nil || fields["jsonrpc"] != nil {
		return nil // not an error object; the schema has its say
	}
	_, nested := fields["error"].(map[string]any)
	if wanted := strings.HasPrefix(u.Path, "/v3/"); nested != wanted {
		return fmt.Errorf("nested error: %t, should be %t", nested, wanted)
	}
	return nil
}
