package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/gateway"
)

type embedded struct {
	Label string `json:"label"`
}

type document struct {
	embedded
	Name    string              `json:"name"`
	Count   int                 `json:"count,omitempty"`
	Size    uint8               `json:"size"`
	Ratio   float64             `json:"ratio"`
	On      *bool               `json:"on"`
	Tags    []string            `json:"tags"`
	Nested  *document           `json:"nested"`
	Items   []document          `json:"items"`
	ByName  map[string]document `json:"byName"`
	Payload map[string]any      `json:"payload"`
	Any     any                 `json:"any"`
	Raw     json.RawMessage     `json:"raw"`
	At      time.Time           `json:"at"`
	Strict  strict              `json:"strict"`
	Hidden  string              `json:"-"`
}

// strict decodes itself, and refuses everything in its own words.
type strict struct{}

func (*strict) UnmarshalJSON([]byte) error { return domain.Refuse(domain.CodeValidation, "never") }

func decoding() gateway.Route {
	return post("/decode", func(r *http.Request) (any, error) {
		var d document
		if err := gateway.Decode(r, &d); err != nil {
			return nil, err
		}
		return map[string]any{"name": d.Name, "label": d.Label}, nil
	})
}

func TestDecode(t *testing.T) {
	deep := func(n int) string { return `{"any":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	deepest := "any" + strings.Repeat("[0]", 32) + "[…" // as much of the path as is shown
	tests := map[string]struct {
		body  string
		field string // at fault; - for none in particular; "" for fine
	}{
		"nothing":                     {``, ""},
		"an empty object":             {`{}`, ""},
		"space around":                {" \n{ \"name\" : \"a\" }\t\n", ""},
		"an embedded field":           {`{"label":"a"}`, ""},
		"open parts":                  {`{"payload":{"x":{"y":1}},"any":{"x":[{"z":null}]},"raw":{"q":1},"at":"2025-01-01T00:00:00Z"}`, ""},
		"nulls":                       {`{"name":null,"nested":null,"tags":null}`, ""},
		"escaped keys":                {`{"\u006eame":"a"}`, ""},
		"nesting at the limit":        {deep(63), ""},
		"numbers as they come":        {`{"raw":1e9999,"count":-3,"ratio":1.5e3}`, ""},
		"half an object":              {`{"name":`, "-"},
		"not JSON":                    {`name=a`, "-"},
		"a comment":                   {`{"name":"a" /* no */}`, "-"},
		"two documents":               {`{"name":"a"}{"name":"b"}`, "-"},
		"trailing data":               {`{"name":"a"} x`, "-"},
		"a byte order mark":           {"\ufeff{}", "-"},
		"invalid UTF-8":               {"{\"name\":\"\xff\"}", "-"},
		"a control character":         {"{\"name\":\"\x01\"}", "-"},
		"null":                        {`null`, "body"},
		"a list":                      {`[]`, "-"},
		"a text":                      {`"a"`, "-"},
		"nesting over the limit":      {deep(64), deepest},
		"nesting far over":            {deep(200_000), deepest},
		"nesting far over, no end":    {strings.TrimRight(deep(9000), "]}"), deepest},
		"brackets in a text":          {`{"name":"` + strings.Repeat("[", 100) + `\""`, "-"},
		"an unknown field":            {`{"nmae":"a"}`, "nmae"},
		"another case":                {`{"Name":"a"}`, "Name"},
		"a hidden field":              {`{"Hidden":"a"}`, "Hidden"},
		"an unknown field below":      {`{"nested":{"items":[{},{"x":1}]}}`, "nested.items[1].x"},
		"an unknown field in a map":   {`{"byName":{"a b":{"x":1}}}`, "byName.a b.x"},
		"a doubled key":               {`{"name":"a","name":"b"}`, "name"},
		"a doubled key, escaped":      {`{"name":"a","n\u0061me":"b"}`, "name"},
		"a doubled key below":         {`{"nested":{"count":1,"count":2}}`, "nested.count"},
		"a doubled key in a payload":  {`{"payload":{"a":[{"b":1,"b":1}]}}`, "payload.a[0].b"},
		"a number for a text":         {`{"name":1}`, "name"},
		"a number for an embedded":    {`{"label":1}`, "label"},
		"and below":                   {`{"nested":{"items":[{"label":1}]}}`, "nested.items.label"},
		"a text for a number":         {`{"count":"1"}`, "count"},
		"a fraction for a count":      {`{"count":1.5}`, "count"},
		"a number over its range":     {`{"count":99999999999999999999}`, "count"},
		"a huge exponent":             {`{"ratio":1e999}`, "ratio"},
		"a huge exponent, open":       {`{"any":1e999}`, "any"},
		"a negative size":             {`{"size":-1}`, "size"},
		"an object for a list":        {`{"tags":{}}`, "tags"},
		"a number in a list of texts": {`{"tags":["a",1]}`, "tags"},
		"an object for a flag":        {`{"on":{}}`, "on"},
		"a time that is none":         {`{"at":"yesterday"}`, "-"},
		"a surrogate pair":            {`{"name":"\ud83d\ude00 \\ud800 \u00e9"}`, ""},
		"a high surrogate alone":      {`{"name":"\ud800"}`, "name"},
		"a low surrogate alone":       {`{"name":"a\uDC00"}`, "name"},
		"a pair the wrong way round":  {`{"payload":{"a":["\ude00\ud83d"]}}`, "payload.a[0]"},
		"a high surrogate and text":   {`{"name":"\ud800u0041"}`, "name"},
		"half a surrogate in a key":   {`{"payload":{"\ud800":1}}`, "payload.\ufffd"},
		"a name without an end":       {`{"` + strings.Repeat("é", 9000) + `":1}`, strings.Repeat("é", 100) + "…"},
		"a long name above a fault":   {`{"byName":{"` + strings.Repeat("k", 9000) + `":{"x":1}}}`, "byName." + strings.Repeat("k", 93) + "…"},
		"a million digits":            {`{"count":` + strings.Repeat("9", 900_000) + `}`, "count"},
	}
	w := serve(t, decoding())
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := w.do("POST", "/decode", tt.body, "Content-Type", "application/json")
			if tt.field == "" {
				require.Equal(t, 200, a.status, a.body)
				return
			}
			f := a.requireFailure(t, 400, domain.CodeInvalidRequest)
			if tt.field != "-" {
				require.Equal(t, tt.field, f.Details["errors"].([]any)[0].(map[string]any)["field"])
			}
			require.Less(t, len(a.body), 2000, "an answer does not echo the body")
		})
	}
	require.Equal(t, "never", w.do("POST", "/decode", `{"strict":1}`).requireFailure(t, 422, domain.CodeValidation).Message)
}

func TestDecodeNamesEveryFault(t *testing.T) {
	a := serve(t, decoding()).do("POST", "/decode", `{"x":1,"nested":{"y":1},"name":"a","name":"b"}`)
	require.Len(t, a.requireFailure(t, 400, domain.CodeInvalidRequest).Details["errors"], 3)
}

func TestDecodeListsTwentyFaults(t *testing.T) {
	var fields []string
	for i := range 50 {
		fields = append(fields, fmt.Sprintf(`"x%d":1`, i))
	}
	w := serve(t, decoding(), post("/query", func(r *http.Request) (any, error) { return 1, gateway.NewQuery(r).Err() }))
	a := w.do("POST", "/decode", "{"+strings.Join(fields, ",")+"}")
	require.Len(t, a.requireFailure(t, 400, domain.CodeInvalidRequest).Details["errors"], 20)
	query := strings.Repeat("%00", 200)
	for i := range 50 {
		query += fmt.Sprintf("&a%d=%%00", i)
	}
	f := w.do("POST", "/query?"+query, "").requireFailure(t, 400, domain.CodeInvalidParameter)
	require.Len(t, f.Details["errors"], 20)
	require.Less(t, len([]rune(f.Message)), 150)
}

func TestContentTypes(t *testing.T) {
	w := serve(t, decoding())
	for kind, status := range map[string]int{
		"application/json": 200, "application/json; charset=utf-8": 200, "Application/JSON; charset=UTF-8": 200, "": 200,
		"text/plain": 415, "application/x-www-form-urlencoded": 415, "application/json; charset=latin1": 415,
		"application/vnd.api+json": 415, "multipart/form-data; boundary=x": 415, ";;;": 415, "application/xml": 415,
	} {
		a := w.do("POST", "/decode", `{"name":"a"}`, "Content-Type", kind)
		require.Equal(t, status, a.status, kind)
		if status == 415 {
			require.Equal(t, "unsupported_media_type", a.requireFailure(t, 415, domain.CodeInvalidRequest).Details["reason"])
		}
	}
	require.Equal(t, 200, w.do("POST", "/decode", "", "Content-Type", "text/plain").status, "no body is an empty object")
	w.do("POST", "/decode", `{}`, "Content-Encoding", "gzip").requireFailure(t, 415, domain.CodeInvalidRequest)
}

func TestBodyLimits(t *testing.T) {
	read := func(r *http.Request) (any, error) {
		b, err := io.ReadAll(r.Body)
		return len(b), err
	}
	route := func(path string, kind gateway.Body, most int64) gateway.Route {
		rt := post(path, read)
		rt.Body, rt.MaxBody = kind, most
		return rt
	}
	w := start(t, gateway.Options{
		Routes: []gateway.Route{decoding(), route("/upload", gateway.UploadBody, 0), route("/archive", gateway.ArchiveBody, 0),
			route("/none", gateway.NoBody, 0), route("/photo", gateway.UploadBody, 50), route("/files", gateway.FilesBody, 0)},
		Settings: func() gateway.Settings {
			return gateway.Settings{RequestMaxSize: 100, UploadsMaxSize: 200, ImportMaxSize: 300}
		},
	})
	const parts = "multipart/form-data; boundary=b"
	tests := []struct {
		path   string
		size   int
		status int
		limit  float64
		kind   string // Content-Type
	}{
		{"/decode", 101, 413, 100, ""}, {"/upload", 200, 200, 0, ""}, {"/upload", 201, 413, 200, ""},
		{"/archive", 300, 200, 0, ""}, {"/archive", 301, 413, 300, ""}, {"/none", 5000, 200, 0, ""}, {"/photo", 51, 413, 50, ""},
		{"/files", 101, 413, 100, ""}, {"/files", 1<<20 + 2000, 200, 0, parts}, {"/files", 1<<20 + 2001, 413, 1<<20 + 2000, parts},
	}
	for _, tt := range tests {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.path, tt.size, chunked), func(t *testing.T) {
				r := w.request("POST", tt.path, strings.Repeat(" ", tt.size))
				if tt.kind != "" {
					r.Header.Set("Content-Type", tt.kind)
				}
				if chunked {
					r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader(strings.Repeat(" ", tt.size)))
				}
				a := w.send(r)
				require.Equal(t, tt.status, a.status, a.body)
				if tt.status == 413 {
					f := a.requireFailure(t, 413, domain.CodeInvalidRequest)
					require.Equal(t, tt.limit, f.Details["limit"])
					require.Equal(t, float64(tt.size), f.Details["length"])
				}
			})
		}
	}
}

func TestLiesAboutTheBody(t *testing.T) {
	w := serve(t, decoding())
	for name, raw := range map[string]string{
		"shorter than announced": "POST /decode HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{\"name\":",
		"a bad chunk":            "POST /decode HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n",
		"a chunk cut short":      "POST /decode HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			a := w.raw(raw)
			a.requireFailure(t, 400, domain.CodeInvalidRequest)
		})
	}
	large := w.raw("POST /decode HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\nExpect: 100-continue\r\n\r\n")
	large.requireFailure(t, 413, domain.CodeInvalidRequest)
}

// raw sends bytes as they are and half-closes the connection.
func (w *world) raw(request string) answer {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	require.NoError(w.t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, request)
	require.NoError(w.t, err)
	require.NoError(w.t, conn.(*net.TCPConn).CloseWrite())
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func TestParts(t *testing.T) {
	upload := post("/upload", func(r *http.Request) (any, error) {
		got := map[string]string{}
		err := gateway.Parts(r, 10, func(p gateway.Part) error {
			if p.File == nil {
				got[p.Name] = p.Text
				return nil
			}
			b, err := io.ReadAll(p.File)
			got[p.Name] = p.Filename + ":" + string(b)
			return err
		})
		return got, err
	})
	upload.Body = gateway.UploadBody
	w := serve(t, upload)
	form := func(parts ...string) string { return "--b\r\n" + strings.Join(parts, "\r\n--b\r\n") + "\r\n--b--\r\n" }
	file := func(content string) string {
		return "Content-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\r\n" + content
	}
	text := "Content-Disposition: form-data; name=\"t\"\r\n\r\nhello"
	const kind = "multipart/form-data; boundary=b"
	require.JSONEq(t, `{"t":"hello","f":"a.txt:0123456789"}`, w.do("POST", "/upload", form(text, file("0123456789")), "Content-Type", kind).body)
	large := w.do("POST", "/upload", form(file("0123456789X")), "Content-Type", kind).requireFailure(t, 413, domain.CodeInvalidRequest)
	require.Equal(t, 10.0, large.Details["limit"])
	w.do("POST", "/upload", form(text, file("01"))[:60], "Content-Type", kind).requireFailure(t, 400, domain.CodeInvalidRequest)
	w.do("POST", "/upload", form(strings.Split(strings.Repeat(text+"|", 51), "|")[:51]...), "Content-Type", kind).requireFailure(t, 400, domain.CodeInvalidRequest)
	w.do("POST", "/upload", "{}", "Content-Type", "application/json").requireFailure(t, 415, domain.CodeInvalidRequest)
}

// Whatever the bytes, Decode either accepts a document that encoding/json
// accepts too, or refuses it with a 4xx.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{}`, `{"name":"a"}`, `{"nested":{"items":[{"x":1}]}}`, `{"a":"\u0061\\\""}`, `[`, `{"any":[[[]]],"any":1}`, "{\"\xff\":1}", `nul`, `{"raw":  1 , "payload" : {} }`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest("POST", "/", strings.NewReader(string(body)))
		var got, want document
		err := gateway.Decode(r, &got)
		if err != nil {
			require.Contains(t, []domain.Code{domain.CodeInvalidRequest, domain.CodeValidation}, domain.CodeOf(err))
			return
		}
		if len(body) > 0 {
			require.NoError(t, json.Unmarshal(body, &want))
			require.Equal(t, want, got)
		}
	})
}
