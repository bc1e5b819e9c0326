package fetch

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/oauth2"

	"svc/domain/automation"
	"svc/domain/automation/value"
)

func TestTheSameRequestHasTheSameHash(t *testing.T) {
	t.Parallel()
	base := value.NewObject("url", "http://h/", "body", value.NewObject("a", 1.0))
	same := []*value.Object{
		value.NewObject("body", value.NewObject("a", 1.0), "url", "http://h/", "method", "GET"),
		value.NewObject("url", "http://h/", "body", value.NewObject("a", 1.0), "timeout", 5.0, "output", "r", "emitErrors", false, "outputMode", "base64"),
	}
	for _, o := range same {
		require.Equal(t, Hash(base), Hash(o))
	}
	seen := map[string]bool{Hash(base): true}
	for _, o := range []*value.Object{
		nil, value.NewObject("url", "http://h/"), value.NewObject("url", "http://h/", "method", "post", "body", value.NewObject("a", 1.0)),
		value.NewObject("url", "http://h/", "body", value.NewObject("a", 2.0)), value.NewObject("url", "http://h/", "body", `{"a":1}`),
		value.NewObject("url", "http://h/", "headers", value.NewObject("a", "b")), value.NewObject("url", "http://h/", "query", value.NewObject("a", "b")),
		value.NewObject("url", "http://h/", "auth", value.NewObject("basic", value.NewObject("user", "me"))),
		value.NewObject("url", "http://h/", "svcApiKey", value.NewObject("name", "a")),
	} {
		require.False(t, seen[Hash(o)], value.JSON(o, ""))
		seen[Hash(o)] = true
	}
}

func TestAnEgressIsRequired(t *testing.T) {
	t.Parallel()
	_, err := New(Options{})
	require.Error(t, err)
}

func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	all := newTokens()
	now := time.Now()
	for i := range 3 * maxTokens {
		c := credentials{clientID: strings.Repeat("x", i)}
		all.put(c, &oauth2.Token{AccessToken: "t", Expiry: now.Add(time.Hour)}, now)
		_, ok := all.get(c, now)
		require.True(t, ok)
		require.LessOrEqual(t, len(all.all), maxTokens)
	}
	all = newTokens()
	kept := credentials{clientID: "kept"}
	all.put(kept, &oauth2.Token{AccessToken: "t", Expiry: now.Add(time.Hour)}, now)
	for i := range maxTokens {
		all.put(credentials{scope: strings.Repeat("x", i)}, &oauth2.Token{Expiry: now.Add(-time.Hour)}, now)
	}
	_, ok := all.get(kept, now)
	require.True(t, ok, "those that expired make room first")
}

func FuzzParametersNeverMakeABadRequest(f *testing.F) {
	for _, text := range []string{
		`{"url":"http://h/?a=b c","query":{"a":[1,{"b":null}]},"headers":{"x-a":["b","é"]},"body":{"x":1},"method":"post"}`,
		`{"url":"https://u:p@h:1/%zz","multipart":[{"fieldname":"a\"\r\n","value":[1,2],"filename":"b","contentType":"c"}],"method":"put"}`,
		`{"url":"http://h","stream":{"event":"e","concatenate":{"path":"a[0].b","throttle":1e300}},"timeout":1e-300}`,
		`{"url":"http://h","auth":{"awsv4":{"service":"s3"},"basic":{"user":[]}},"headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":{"":""},"method":"delete"}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := value.ParseJSON(text)
		params, ok := v.(*value.Object)
		if err != nil || !ok {
			return
		}
		Hash(params)
		c := &Client{Options: Options{Timeout: maxTimeout}}
		terms, err := c.readTerms(params)
		if err != nil {
			require.Equal(t, automation.InvalidInstruction, automation.ErrorOf(err).Name)
			return
		}
		q, err := newRequest(terms.method, params)
		if err != nil {
			require.Equal(t, automation.InvalidInstruction, automation.ErrorOf(err).Name)
			return
		}
		require.False(t, strings.ContainsAny(q.address.RequestURI(), " \r\n\t"), q.address.RequestURI())
		for name, all := range q.header {
			require.True(t, httpguts.ValidHeaderFieldName(name))
			for _, text := range all {
				require.True(t, httpguts.ValidHeaderFieldValue(text))
			}
		}
		x := &exchange{Client: c, call: Call{Params: params}, terms: terms, request: q}
		require.LessOrEqual(t, utf8.RuneCountInString(x.call.shownBody(http.MethodPost)), shownBody)
		x.shownHeaders()
		x.call.address()
	})
}

func FuzzAnySplitGivesTheSameText(f *testing.F) {
	f.Add("héllo 😀", 1)
	f.Add("a\xf0\x9f", 2)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = 1 + (n&0xff)%8
		split := &texts{}
		var got strings.Builder
		add := func(items []*value.Object) {
			for _, item := range items {
				if s, ok := item.At("chunk").(string); ok {
					got.WriteString(s)
				}
			}
		}
		for at := 0; at < len(text); at += n {
			items, err := split.Feed([]byte(text[at:min(at+n, len(text))]))
			require.NoError(t, err)
			add(items)
			require.Less(t, len(split.rest), utf8.UTFMax)
		}
		add(split.End())
		if utf8.ValidString(text) && !strings.ContainsAny(text, "[{") {
			require.Equal(t, text, got.String())
		}
		require.True(t, utf8.ValidString(got.String()))
	})
}
