package fetch_test

import (
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/fetch"
	"svc/domain/automation"
	"svc/domain/value"
)

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintf(w, "%s %s|%s|%s", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), body)
}

func TestRequestsAreSentAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	at, c := serve(t, echo), newClient(t, fetch.Options{})
	for name, tt := range map[string]struct{ params, want string }{
		"an address alone":               {`{"url":"URL/a"}`, "GET /a||"},
		"a query is joined, no body":     {`{"url":"URL/?a=0","query":{"a":[1,2]},"body":{"x":1}}`, "GET /?a=0&a=1&a=2||"},
		"nothing is left out of a query": {`{"url":"URL/","query":{"a":null,"b":[null,"x"],"c":true,"d":{"k":1},"e":""}}`, "GET /?b=x&c=true&d=%7B%22k%22%3A1%7D&e=||"},
		"a query is escaped":             {`{"url":"URL/","query":{"a&b":"c d+é"}}`, "GET /?a%26b=c%20d%2B%C3%A9||"},
		"an address by hand":             {`{"url":"URL/a b?q=c d&é=\"1\"#part"}`, "GET /a%20b?q=c%20d&%C3%A9=%221%22||"},
		"a method in any case":           {`{"url":"URL/","method":"PaTcH"}`, "PATCH /||"},
		"JSON by default":                {`{"url":"URL/","method":"post","body":{"b":1,"a":[null,"é<"]}}`, `POST /|application/json|{"b":1,"a":[null,"é<"]}`},
		"a text as it is":                {`{"url":"URL/","method":"post","body":"{x"}`, "POST /|application/json|{x"},
		"a text of its own type":         {`{"url":"URL/","method":"put","headers":{"content-type":"text/csv"},"body":"a,b"}`, "PUT /|text/csv|a,b"},
		"an object of another type":      {`{"url":"URL/","method":"put","headers":{"Content-Type":"application/vnd.x+json"},"body":[1]}`, "PUT /|application/vnd.x+json|[1]"},
		"a number":                       {`{"url":"URL/","method":"post","body":0}`, "POST /|application/json|0"},
		"a form":                         {`{"url":"URL/","method":"post","headers":{"content-type":"application/x-www-form-urlencoded"},"body":{"a":"b c","l":[1,2],"n":null}}`, "POST /|application/x-www-form-urlencoded|a=b%20c&l=1&l=2"},
		"a form with a charset":          {`{"url":"URL/","method":"post","headers":{"content-type":"Application/X-WWW-Form-Urlencoded; charset=utf-8"},"body":{"a":1}}`, "POST /|Application/X-WWW-Form-Urlencoded; charset=utf-8|a=1"},
		"a form that is encoded":         {`{"url":"URL/","method":"post","headers":{"content-type":"application/x-www-form-urlencoded"},"body":"a=1"}`, "POST /|application/x-www-form-urlencoded|a=1"},
		"delete with a body":             {`{"url":"URL/","method":"delete","body":{}}`, "DELETE /|application/json|{}"},
		"null is no body":                {`{"url":"URL/","method":"post","body":null}`, "POST /||"},
		"an empty text is an empty body": {`{"url":"URL/","method":"post","body":""}`, "POST /|application/json|"},
		"a null method is none":          {`{"url":"URL/","method":null,"headers":null,"query":null,"timeout":null,"auth":null,"stream":null}`, "GET /||"},
		"the scheme counts in any case":  {`{"url":"HTTPURL/"}`, "GET /||"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(tt.params, "HTTPURL", strings.Replace(at, "http://", "HTTP://", 1))
			result, err := fetched(t, c, text, at)
			require.NoError(t, err)
			require.Equal(t, tt.want, result.Value)
			require.Nil(t, result.Failed)
		})
	}
}

func TestBytesAreSentAsTheyAre(t *testing.T) {
	t.Parallel()
	at, c := serve(t, echo), newClient(t, fetch.Options{})
	p := params(t, `{"url":"URL/","method":"post"}`, at)
	p.Set("body", value.Bytes("\x00\xff"))
	result, err := c.Do(t.Context(), fetch.Call{Params: p})
	require.NoError(t, err)
	require.Equal(t, "POST /|application/json|\x00\uFFFD", result.Value)
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	var got http.Header
	var host string
	at := serve(t, func(_ http.ResponseWriter, r *http.Request) { got, host = r.Header, r.Host })
	_, err := fetched(t, newClient(t, fetch.Options{}), `{"url":"URL","headers":{"x-one":" a ","X-Many":["b",2,null],"x-none":null,"x-number":1.5,
		"User-Agent":"me","x-correlation-id":"mine","x-svc-workspace-id":"other","host":"evil.example","connection":"close","Content-Length":"99","accept":"text/x"}}`, at)
	require.NoError(t, err)
	require.Equal(t, "a", got.Get("X-One"))
	require.Equal(t, []string{"b", "2"}, got.Values("X-Many"))
	require.Equal(t, "1.5", got.Get("X-Number"))
	require.NotContains(t, got, "X-None")
	require.Equal(t, "svc-runtime", got.Get("User-Agent"))
	require.Equal(t, []string{"c1"}, got.Values("X-Correlation-Id"))
	require.Equal(t, []string{"w1"}, got.Values("X-Svc-Workspace-Id"))
	require.Equal(t, "text/x", got.Get("Accept"))
	require.NotContains(t, got, "Connection")
	require.Equal(t, strings.TrimPrefix(at, "http://"), host)
}

func TestBadParametersAreRaised(t *testing.T) {
	t.Parallel()
	at := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("nothing may be sent") })
	c := newClient(t, fetch.Options{})
	for _, text := range []string{
		`{}`, `{"url":""}`, `{"url":null}`, `{"url":1}`, `{"url":"/path"}`, `{"url":"ftp://h/"}`, `{"url":"file:///etc/passwd"}`, `{"url":"http://"}`,
		`{"url":"http://h:port/"}`, `{"url":"http://h/\n"}`, `{"url":"http://[::1/"}`, `{"url":"javascript:alert(1)"}`, `{"url":"http:h"}`,
		`{"url":"URL","method":"trace"}`, `{"url":"URL","method":1}`, `{"url":"URL","method":"get / HTTP/1.1\r\nX: y"}`,
		`{"url":"URL","outputMode":"xml"}`, `{"url":"URL","outputMode":7}`,
		`{"url":"URL","timeout":0}`, `{"url":"URL","timeout":-1}`, `{"url":"URL","timeout":601}`, `{"url":"URL","timeout":"5"}`,
		`{"url":"URL","headers":{"a b":"c"}}`, `{"url":"URL","headers":{"":"c"}}`, `{"url":"URL","headers":{"a":"b\r\nc: d"}}`,
		`{"url":"URL","headers":{"a":"b\u0000"}}`, `{"url":"URL","headers":["a"]}`, `{"url":"URL","query":"a=b"}`,
		`{"url":"URL","emitErrors":"no"}`, `{"url":"URL","allowSelfSignedCert":1}`, `{"url":"URL","auth":"me"}`, `{"url":"URL","auth":{"svc":1}}`,
		`{"url":"URL","auth":{"basic":"x"}}`, `{"url":"URL","auth":{"awsv4":[]}}`, `{"url":"URL","auth":{"oauth2":true}}`,
		`{"url":"URL","auth":{"oauth2":{"tokenUrl":"nowhere"}}}`, `{"url":"URL","svcApiKey":"x"}`,
		`{"url":"URL","stream":true}`, `{"url":"URL","stream":{"event":"e","concatenate":{"path":"a..b"}}}`,
		`{"url":"URL","stream":{"event":"e","concatenate":{"throttle":"x"}}}`,
		`{"url":"URL","method":"post","headers":{"content-type":"application/x-www-form-urlencoded"},"body":[1]}`,
		`{"url":"URL","method":"post","multipart":{}}`, `{"url":"URL","method":"post","multipart":[1]}`, `{"url":"URL","method":"post","multipart":[{"value":"x"}]}`,
		`{"url":"URL","method":"post","multipart":[{"fieldname":1,"value":"x"}]}`, `{"url":"URL","method":"post","multipart":[{"fieldname":"f"}]}`,
		`{"url":"URL","method":"post","multipart":[{"fieldname":"f","value":null}]}`,
		`{"url":"URL","method":"post","multipart":[{"fieldname":"f","value":"x","contentType":"a\r\nb: c"}]}`,
	} {
		result, err := fetched(t, c, text, at)
		requireRaised(t, err, automation.InvalidInstruction, "", nil)
		require.Nil(t, result.Failed, text)
	}
}

func TestAStreamIsNotSent(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"body", "headers", "query"} {
		p := params(t, `{"url":"http://h.example/","method":"post"}`, "")
		var v any = (*fetch.Stream)(nil)
		if key != "body" {
			v = value.NewObject("a", v)
		}
		p.Set(key, v)
		_, err := newClient(t, fetch.Options{}).Do(t.Context(), fetch.Call{Params: p})
		requireRaised(t, err, automation.InvalidInstruction, "", nil)
	}
}

func TestMultipart(t *testing.T) {
	t.Parallel()
	var parts []string
	at := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, p, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil {
			return
		}
		for reader := multipart.NewReader(r.Body, p["boundary"]); ; {
			part, err := reader.NextRawPart()
			if err != nil {
				return
			}
			body, _ := io.ReadAll(part)
			parts = append(parts, fmt.Sprintf("%s|%s|%s|%q", part.FormName(), part.FileName(), part.Header.Get("Content-Type"), body))
		}
	})
	p := params(t, `{"url":"URL","method":"post","headers":{"content-type":"text/plain"},"body":"not sent","multipart":[
		{"fieldname":"text","value":"aGk="},
		{"fieldname":"file","value":"aGk=","filename":"a.txt"},
		{"fieldname":"plain","value":"no base64!","filename":"b.txt","contentType":"text/plain"},
		{"fieldname":"numbers","value":[0,255],"filename":"c"},
		{"fieldname":"list","value":[256]},
		{"fieldname":"number","value":7},
		{"fieldname":"o","value":{"k":1},"contentType":"application/json"},
		{"fieldname":"a\"b\r\nX: y","value":""}]}`, at)
	list, _ := p.At("multipart").([]any)
	p.Set("multipart", append(list, value.NewObject("fieldname", "bytes", "value", value.Bytes("\x01"))))
	_, err := newClient(t, fetch.Options{}).Do(t.Context(), fetch.Call{Params: p})
	require.NoError(t, err)
	require.Equal(t, []string{
		`text|||"aGk="`, `file|a.txt|application/octet-stream|"hi"`, `plain|b.txt|text/plain|"no base64!"`,
		`numbers|c|application/octet-stream|"\x00\xff"`, `list|||"[256]"`, `number|||"7"`, `o||application/json|"{\"k\":1}"`,
		`a"b%0D%0AX: y|||""`, `bytes|||"\x01"`,
	}, parts)
}
