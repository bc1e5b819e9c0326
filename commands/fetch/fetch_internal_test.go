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
	"svc/domain/value"
)

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
		automation.EffectOf("fetch").Compared(params)
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
		split := &textSplitter{}
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

// The requests and signatures are those that AWS publishes.
func TestSignaturesOfAWS(t *testing.T) {
	t.Parallel()
	suite := awsKey{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "service", "us-east-1"}
	iam := suite
	iam.service = "iam"
	storage := awsKey{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "s3", "us-east-1"}
	const later, before = "20150830T123600Z", "20130524T000000Z"
	for name, tt := range map[string]struct {
		key               awsKey
		at, method, url   string
		headers           http.Header
		body              string
		signed, signature string
	}{
		"get":  {suite, later, "GET", "https://example.amazonaws.com/", nil, "", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		"post": {suite, later, "POST", "https://example.amazonaws.com/", nil, "", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		"get with a query out of order": {
			suite, later, "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", nil, "", "host;x-amz-date",
			"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
		},
		"list users": {
			iam, later, "GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
			http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}, "", "content-type;host;x-amz-date",
			"5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
		},
		"get an object": {
			storage, before, "GET", "https://examplebucket.s3.amazonaws.com/test.txt", http.Header{"Range": {"bytes=0-9"}}, "",
			"host;range;x-amz-content-sha256;x-amz-date", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
		},
		"put an object": {
			storage, before, "PUT", "https://examplebucket.s3.amazonaws.com/test$file.text",
			http.Header{"Date": {"Fri, 24 May 2013 00:00:00 GMT"}, "X-Amz-Storage-Class": {"REDUCED_REDUNDANCY"}}, "Welcome to Amazon S3.",
			"date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
		},
		"get the lifecycle of a bucket": {
			storage, before, "GET", "https://examplebucket.s3.amazonaws.com/?lifecycle", nil, "", "host;x-amz-content-sha256;x-amz-date",
			"fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
		},
		"list objects": {
			storage, before, "GET", "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J", nil, "", "host;x-amz-content-sha256;x-amz-date",
			"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequest(tt.method, tt.url, nil)
			require.NoError(t, err)
			if tt.headers != nil {
				r.Header = tt.headers
			}
			r.Header.Set("User-Agent", agent)
			at, err := time.Parse(awsTime, tt.at)
			require.NoError(t, err)
			tt.key.sign(r, []byte(tt.body), at)
			got := r.Header.Get("Authorization")
			require.Contains(t, got, "SignedHeaders="+tt.signed+", ")
			require.True(t, strings.HasSuffix(got, "Signature="+tt.signature), got)
			require.Equal(t, tt.at, r.Header.Get("X-Amz-Date"))
		})
	}
}

func TestWhatIsSignedForAWSIsTidy(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"http://h": "/", "http://h/": "/", "http://h//a/./b/../c/": "/a/c/", "http://h/a%20b": "/a%2520b", "http://h/%E1%88%B4": "/%25E1%2588%25B4", "http://h/a:b": "/a%3Ab",
	} {
		r, err := http.NewRequest(http.MethodGet, sent, nil)
		require.NoError(t, err)
		require.Equal(t, want, awsKey{service: "service"}.canonicalPath(r.URL), sent)
	}
	for sent, want := range map[string]string{
		"": "", "b=2&a=1&a=0": "a=0&a=1&b=2", "flag": "flag=", "k=a+b%20c": "k=a%20b%20c", "k=%zz": "k=%25zz", "a-b=1&a=2": "a=2&a-b=1", "x=é": "x=%C3%A9",
	} {
		require.Equal(t, want, canonicalQuery(sent), sent)
	}
}
