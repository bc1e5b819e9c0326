package fetch_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/fetch"
	"svc/domain/automation/redact"
	"svc/domain/value"
)

func TestABodyIsReadByItsType(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{})
	for name, tt := range map[string]struct {
		contentType, body string
		want              any
	}{
		"JSON":                          {"application/json; charset=utf-8", `{"a":[1]}`, value.NewObject("a", []any{1.0})},
		"a kind of JSON":                {"application/problem+json", `1`, 1.0},
		"JSON as text":                  {"text/json", `null`, nil},
		"JSON that is none":             {"application/json", `{"a"`, `{"a"`},
		"JSON with a mark":              {"application/json", "\uFEFF[]", []any{}},
		"JSON beyond numbers":           {"application/json", `1e999`, nil},
		"text":                          {"text/html; charset=utf-8", "<é>", "<é>"},
		"text in Latin 1":               {"text/plain; charset=ISO-8859-1", "caf\xe9", "café"},
		"text that is none":             {"text/plain", "a\xff", "a\uFFFD"},
		"XML":                           {"application/xml", "<a/>", "<a/>"},
		"a kind of XML":                 {"image/svg+xml", "<svg/>", "<svg/>"},
		"a script":                      {"application/javascript", "x", "x"},
		"lines of JSON":                 {"application/x-ndjson", "{}\n{}", "{}\n{}"},
		"a form":                        {"application/x-www-form-urlencoded", "a=1", "a=1"},
		"no type, text":                 {"", "é", "é"},
		"no type, bytes":                {"", "\xff", value.Bytes("\xff")},
		"bytes":                         {"image/png", "text", value.Bytes("text")},
		"a type that is none":           {";;;", "text", "text"},
		"nothing":                       {"application/json", "", ""},
		"nothing, and bytes":            {"image/png", "", ""},
		"a type with odd parameters":    {"application/json; ;=", "[1]", []any{1.0}},
		"an attachment of unknown type": {"application/octet-stream", "{}", value.Bytes("{}")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := fetched(t, c, `{"url":"URL"}`, answers(t, http.StatusOK, tt.contentType, tt.body))
			require.NoError(t, err)
			require.Equal(t, tt.want, result.Value)
		})
	}
}

func TestOutputModes(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{})
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		if kind := r.URL.Query().Get("type"); kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		w.Header()["Date"] = nil
		w.Header()["X-Twice"] = []string{"1", "2"}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, r.URL.Query().Get("body"))
	})
	for text, want := range map[string]string{
		`{"url":"URL?type=application/json&body=[1]"}`:                                  `[1]`,
		`{"url":"URL?type=application/json&body=[1]","outputMode":"detailed_response"}`: `{"status":201,"headers":{"content-length":"3","content-type":"application/json","x-twice":["1","2"]},"body":[1],"stream":false}`,
		`{"url":"URL?type=application/json&body=[1]","outputMode":"base64"}`:            `"WzFd"`,
		`{"url":"URL?type=text/plain;charset=utf-8&body=hi","outputMode":"data_url"}`:   `"data:text/plain;charset=utf-8;base64,aGk="`,
		`{"url":"URL?body=hi","outputMode":"data_url"}`:                                 `"data:application/octet-stream;base64,aGk="`,
		`{"url":"URL","outputMode":"base64"}`:                                           `""`,
		`{"url":"URL?type=text/plain&body=hi","method":"head"}`:                         `""`,
	} {
		result, err := fetched(t, c, strings.ReplaceAll(text, ";charset", "%3Bcharset"), at)
		require.NoError(t, err)
		require.Equal(t, want, value.JSON(result.Value, ""), text)
	}
}

func TestAnErrorStatusIsNoError(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{})
	at := answers(t, http.StatusInternalServerError, "application/json", `{"e":1}`)
	result, err := fetched(t, c, `{"url":"URL/x?q=1","query":{"a":"b"},"method":"post","headers":{"Authorization":"Bearer me","Cookie":"c","X-Svc-Api-Key":"k","X-Y":"z"},"body":{"n":1}}`, at)
	require.NoError(t, err)
	require.Equal(t, `{"e":1}`, value.JSON(result.Value, ""))
	payload, err := json.Marshal(result.Failed)
	require.NoError(t, err)
	var told map[string]any
	require.NoError(t, json.Unmarshal(payload, &told))
	require.Equal(t, map[string]any{
		"method": "POST", "url": at + "/x?q=1&a=b", "body": `{"n":1}`,
		"headers": map[string]any{"authorization": "REDACTED", "cookie": "REDACTED", "x-svc-api-key": "REDACTED", "x-y": "z", "content-type": "application/json"},
	}, told["request"])
	answer, _ := told["response"].(map[string]any)
	require.Equal(t, 500.0, answer["status"])
	require.Equal(t, `{"e":1}`, answer["body"])
	require.NotContains(t, told, "error")

	result, err = fetched(t, c, `{"url":"URL","emitErrors":false}`, at)
	require.NoError(t, err)
	require.Nil(t, result.Failed)
}

func TestWhatIsToldIsCut(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{})
	for name, tt := range map[string]struct {
		body string
		want string
	}{
		"characters are counted, not bytes": {strings.Repeat("é", 20_000), strings.Repeat("é", 10_000)},
		"bytes are base64":                  {"\x00\xff\x00", "AP8A"},
	} {
		at := answers(t, http.StatusNotFound, "application/octet-stream", tt.body)
		p := params(t, `{"url":"URL","method":"post"}`, at)
		p.Set("body", tt.body)
		result, err := c.Do(t.Context(), fetch.Call{Params: p})
		require.NoError(t, err, name)
		require.Equal(t, tt.want, result.Failed.Body)
		require.Equal(t, tt.want, result.Failed.ResponseBody)
	}
	at := answers(t, http.StatusNotFound, "text/plain", strings.Repeat("\xff", 100_000))
	result, err := fetched(t, c, `{"url":"URL"}`, at)
	require.NoError(t, err)
	require.Len(t, result.Failed.ResponseBody, 10_000)
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestAnEncodingOfTheWayIsTakenOff(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{})
	for name, tt := range map[string]struct {
		encoding, params string
		body             []byte
		want             any
	}{
		"gzip":                                {"gzip", `{"url":"URL"}`, zipped(t, `[1]`), []any{1.0}},
		"gzip that the author asked for":      {"gzip", `{"url":"URL","headers":{"accept-encoding":"gzip"}}`, zipped(t, `[1]`), []any{1.0}},
		"an empty body":                       {"gzip", `{"url":"URL","headers":{"accept-encoding":"gzip"}}`, nil, ""},
		"an encoding that is not known":       {"br", `{"url":"URL","headers":{"accept-encoding":"br"}}`, []byte("x"), value.Bytes("x")},
		"an encoding that says there is none": {"identity", `{"url":"URL"}`, []byte(`[1]`), []any{1.0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Encoding", tt.encoding)
				_, _ = w.Write(tt.body)
			})
			result, err := fetched(t, c, tt.params, at)
			require.NoError(t, err)
			require.Equal(t, tt.want, result.Value)
		})
	}
}

func TestBadAnswersHaveABound(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{MaxResponse: 1 << 20})
	bomb := zipped(t, strings.Repeat("\x00", 64<<20))
	endless := func(w http.ResponseWriter, r *http.Request) {
		block := bytes.Repeat([]byte("data: "), 4096)
		for r.Context().Err() == nil {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	for name, handle := range map[string]http.HandlerFunc{
		"endless": endless,
		"a length that is too large": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1048577")
			w.WriteHeader(http.StatusOK)
			http.NewResponseController(w).Flush() //nolint:errcheck // the client may be gone
			<-r.Context().Done()
		},
		"a bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		},
		"endless headers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Large", strings.Repeat("a", 100_000))
		},
	} {
		for _, extra := range []string{``, `,"headers":{"accept-encoding":"gzip"}`, `,"stream":{"event":"e"}`} {
			if extra == `,"stream":{"event":"e"}` && strings.HasPrefix(name, "a length") {
				continue // a stream has no length
			}
			result, err := fetched(t, c, `{"url":"URL"`+extra+`}`, serve(t, handle))
			requireReason(t, err, "too_large")
			require.Equal(t, "too_large", result.Failed.Reason, name)
		}
	}
	result, err := fetched(t, c, `{"url":"URL","method":"head"}`, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1048577")
	}))
	require.NoError(t, err, "the length of a body that is not sent does not count")
	require.Empty(t, result.Value)
	exact := strings.Repeat("a", 1<<20)
	result, err = fetched(t, c, `{"url":"URL"}`, answers(t, http.StatusOK, "text/plain", exact))
	require.NoError(t, err)
	require.Equal(t, exact, result.Value)
}

// TestBadAnswersOfTooManyValuesAreTooLarge fetches few bytes that would take a lot of memory.
func TestBadAnswersOfTooManyValuesAreTooLarge(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{})
	bomb := zipped(t, "["+strings.Repeat("{},", 2_000_000)+"{}]")
	at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb)
	})
	for _, extra := range []string{``, `,"stream":{"event":"e"}`} {
		result, err := fetched(t, c, `{"url":"URL"`+extra+`}`, at)
		requireReason(t, err, "too_large")
		require.Equal(t, "too_large", result.Failed.Reason)
	}
	result, err := fetched(t, c, `{"url":"URL","outputMode":"base64"}`, at)
	require.NoError(t, err, "as it is it takes what it has")
	require.Len(t, result.Value, 8_000_008)
}

// A few megabytes come before the end of each answer, which waits for open.
func serveUnfinished(t *testing.T, open <-chan struct{}) (address string, begun *atomic.Int32) {
	t.Helper()
	begun = &atomic.Int32{}
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		begun.Add(1)
		_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
		if r.URL.Path != "/small" {
			_, _ = w.Write(bytes.Repeat([]byte("y"), 1<<20))
			_ = http.NewResponseController(w).Flush()
			<-open
		}
	}), begun
}

func TestAFewLargeAnswersOfAWorkspaceAreReadAtOnce(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	address, begun := serveUnfinished(t, open)
	c := newClient(t, fetch.Options{})
	get := func(workspaceID, path string) (fetch.Result, error) {
		return c.Do(t.Context(), fetch.Call{Params: value.NewObject("url", address+path, "timeout", 30.0), WorkspaceID: workspaceID})
	}
	ended := make(chan error, 6)
	for range 6 {
		go func() {
			result, err := get("busy", "/large")
			if text, _ := result.Value.(string); err == nil && len(text) != 2<<20 {
				err = io.ErrShortWrite
			}
			ended <- err
		}()
	}
	require.Eventually(t, func() bool { return begun.Load() == 6 }, time.Minute, time.Millisecond)
	result, err := get("busy", "/small")
	require.NoError(t, err, "what is small does not wait")
	require.Len(t, result.Value, 1<<20)
	short, err := c.Do(t.Context(), fetch.Call{Params: value.NewObject("url", address+"/large", "timeout", 0.3), WorkspaceID: "other"})
	requireReason(t, err, "timeout")
	require.Equal(t, value.Undefined, short.Value)
	require.Empty(t, ended)
	close(open)
	for range 6 {
		require.NoError(t, <-ended)
	}
}

func TestTheTimeThatALargeAnswerWaitsIsThatOfTheFetch(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	address, begun := serveUnfinished(t, open)
	c := newClient(t, fetch.Options{})
	ended := make(chan error, 4)
	for range 4 {
		go func() {
			_, err := c.Do(t.Context(), fetch.Call{Params: value.NewObject("url", address, "timeout", 30.0), WorkspaceID: "w1"})
			ended <- err
		}()
	}
	require.Eventually(t, func() bool { return begun.Load() == 4 }, time.Minute, time.Millisecond)
	_, err := fetched(t, c, `{"url":"URL","timeout":0.5}`, address)
	requireReason(t, err, "timeout")
	close(open)
	for range 4 {
		require.NoError(t, <-ended)
	}
}

// What is told of a body has no secret in it, and no part of one.
func TestSecretsAreTakenOutBeforeBodiesAreCut(t *testing.T) {
	t.Parallel()
	const secret = "hunter22-CANARY"
	set := redact.New(secret)
	hide := func(text string, cut bool) string {
		if cut {
			return set.RedactCut(text)
		}
		return set.Text(text)
	}
	for _, before := range []int{0, 9_000, 9_986, 9_990, 9_999, 10_000, 39_990} {
		for _, binary := range []string{"", "\xff\xfe"} {
			body := binary + strings.Repeat("é", before/2) + secret + strings.Repeat("z", 100)
			address := answers(t, http.StatusBadGateway, "text/plain", body)
			result, err := newClient(t, fetch.Options{}).Do(t.Context(), fetch.Call{
				Params: value.NewObject("url", address, "method", "post", "body", value.Bytes(body)), Redact: hide,
			})
			require.NoError(t, err)
			for _, told := range []string{result.Failed.Body, result.Failed.ResponseBody} {
				require.NotEmpty(t, told)
				require.NotContains(t, told, secret[:4])
				require.NotContains(t, told, "aHVudGVy", "as base64")
			}
		}
	}
}
