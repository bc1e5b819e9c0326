package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/automation"
	"svc/domain/automation/text"
	"svc/domain/value"
)

// call calls a function with parameters that are JSON.
func call(t testing.TB, function, params string) (any, error) {
	t.Helper()
	v, err := value.ParseJSON(params)
	require.NoError(t, err)
	return text.Call(function, v.(*value.Object))
}

func TestTextIsSplit(t *testing.T) {
	tests := map[string]struct{ params, want string }{
		"empty":                 {`{"content": ""}`, `[]`},
		"short":                 {`{"content": "a b\n\nc"}`, `[{"content":"a b\n\nc","size":6}]`},
		"paragraphs":            {`{"content": "aaaa\n\nbbbb\n\ncccc", "chunkSize": 10, "chunkOverlap": 0}`, `[{"content":"aaaa\n\nbbbb","size":10},{"content":"cccc","size":4}]`},
		"the first that occurs": {`{"content": "aaaa\nbbbb cc", "chunkSize": 8, "chunkOverlap": 0}`, `[{"content":"aaaa","size":4},{"content":"bbbb cc","size":7}]`},
		"overlap":               {`{"content": "aa bb cc dd", "chunkSize": 5, "chunkOverlap": 2}`, `[{"content":"aa bb","size":5},{"content":"bb cc","size":5},{"content":"cc dd","size":5}]`},
		"overlap in whole parts": {`{"content": "aaa bbb ccc ddd", "chunkSize": 11, "chunkOverlap": 6}`,
			`[{"content":"aaa bbb ccc","size":11},{"content":"ccc ddd","size":7}]`},
		"overlap that leaves no room": {`{"content": "aa bb cccccc", "chunkSize": 6, "chunkOverlap": 5}`, `[{"content":"aa bb","size":5},{"content":"cccccc","size":6}]`},
		"long parts":                  {`{"content": "aaaaaaaaaa bb", "chunkSize": 4, "chunkOverlap": 0}`, `[{"content":"aaaa","size":4},{"content":"aaaa","size":4},{"content":"aa","size":2},{"content":"bb","size":2}]`},
		"neighbours of all kinds":     {`{"content": "aaaaaa bb", "chunkSize": 5, "chunkOverlap": 0}`, `[{"content":"aaaaa","size":5},{"content":"a bb","size":4}]`},
		"characters":                  {`{"content": "h😀éllo", "chunkSize": 3, "chunkOverlap": 1}`, `[{"content":"h😀é","size":3},{"content":"éll","size":3},{"content":"lo","size":2}]`},
		"own separators":              {`{"content": "a;b,c;d", "chunkSize": 3, "chunkOverlap": 0, "separators": [";", ","]}`, `[{"content":"a","size":1},{"content":"b,c","size":3},{"content":"d","size":1}]`},
		"kept separators":             {`{"content": "a;bb;cc", "chunkSize": 4, "chunkOverlap": 0, "separators": [";"], "keepSeparator": true}`, `[{"content":"a;bb","size":4},{"content":";cc","size":3}]`},
		"no last resort":              {`{"content": "aaaa bb", "chunkSize": 3, "chunkOverlap": 0, "separators": [" "]}`, `[{"content":"aaaa","size":4},{"content":"bb","size":2}]`},
		"no separators":               {`{"content": "aaaa bb", "chunkSize": 3, "chunkOverlap": 0, "separators": []}`, `[{"content":"aaaa bb","size":7}]`},
		"many separators":             {`{"content": "\n\n\n\na\n\n\n\nb\n\n", "chunkSize": 9, "chunkOverlap": 0}`, `[{"content":"a\n\n\n\nb","size":6}]`},
		"only separators":             {`{"content": "\n\n\n\n", "chunkSize": 2, "chunkOverlap": 0}`, `[]`},
		"nulls":                       {`{"content": "a", "chunkSize": null, "chunkOverlap": null, "separators": null, "keepSeparator": null}`, `[{"content":"a","size":1}]`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := call(t, "splitText", tt.params)
			require.NoError(t, err)
			require.Equal(t, tt.want, value.JSON(got, ""))
		})
	}
}

func TestAddressesAreTakenApart(t *testing.T) {
	got, err := call(t, "parseUrl", `{"url": "https://a.b/c?q=1"}`)
	require.NoError(t, err)
	require.Equal(t, "1", value.Walk(got, "searchParams", "q"))
	for _, params := range []string{`{"url": "x"}`, `{"url": ""}`, `{"url": 1}`, `{"url": null}`} {
		got, err := call(t, "parseUrl", params)
		require.NoError(t, err)
		require.Equal(t, value.Undefined, got, params)
	}
}

func TestRefusals(t *testing.T) {
	tests := map[string]struct{ function, params, want string }{
		"unknown":            {"join", `{}`, `text has no function "join"`},
		"no url":             {"parseUrl", `{}`, "url is missing"},
		"no content":         {"splitText", `{}`, "content is a string, not undefined"},
		"content a number":   {"splitText", `{"content": 1}`, "content is a string, not number"},
		"a size of 0":        {"splitText", `{"content": "", "chunkSize": 0}`, "chunkSize is a whole number from 1 on"},
		"a size of a half":   {"splitText", `{"content": "", "chunkSize": 1.5}`, "chunkSize is a whole number from 1 on"},
		"a size of text":     {"splitText", `{"content": "", "chunkSize": "9"}`, "chunkSize is a whole number from 1 on"},
		"an endless size":    {"splitText", `{"content": "", "chunkSize": 1e300}`, "chunkSize is a whole number from 1 on"},
		"an overlap below 0": {"splitText", `{"content": "", "chunkOverlap": -1}`, "chunkOverlap is a whole number from 0 on"},
		"an overlap of size": {"splitText", `{"content": "", "chunkSize": 5, "chunkOverlap": 5}`, "chunkOverlap (5) is less than chunkSize (5)"},
		"the usual overlap":  {"splitText", `{"content": "", "chunkSize": 100}`, "chunkOverlap (200) is less than chunkSize (100)"},
		"separators in text": {"splitText", `{"content": "", "separators": ","}`, "separators are a list of strings, not string"},
		"a separator of 1":   {"splitText", `{"content": "", "separators": [1]}`, "separators are strings, not number"},
		"many separators":    {"splitText", `{"content": "", "separators": [` + strings.TrimSuffix(strings.Repeat(`"a",`, 101), ",") + `]}`, "there are at most 100 separators"},
		"keep a word":        {"splitText", `{"content": "", "keepSeparator": "yes"}`, "keepSeparator is true or false, not string"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := call(t, tt.function, tt.params)
			raised := automation.ErrorOf(err)
			require.Equal(t, automation.InvalidInstruction, raised.Name)
			require.Equal(t, tt.want, raised.Message)
		})
	}
}

func TestChunksThatOverlapTooMuchAreRefused(t *testing.T) {
	_, err := text.Call("splitText", value.NewObject("content", strings.Repeat("a", 1<<17), "chunkOverlap", 999.0))
	require.ErrorContains(t, err, "they overlap too much")
}

// Every chunk stands in the content as it is and fits; with the separators kept
// and no overlap, the chunks are the content.
func TestChunksAreTheContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.StringMatching(`[ab \né]{0,60}`).Draw(t, "content")
		size := rapid.IntRange(1, 20).Draw(t, "size")
		overlap := rapid.IntRange(0, size-1).Draw(t, "overlap")
		keep := rapid.Bool().Draw(t, "keep")
		got, err := text.Call("splitText", value.NewObject("content", content, "chunkSize", float64(size), "chunkOverlap", float64(overlap), "keepSeparator", keep))
		require.NoError(t, err)
		all, rest := "", content
		for _, item := range got.([]any) {
			chunk := value.At(item, "content").(string)
			require.NotEmpty(t, chunk)
			require.LessOrEqual(t, utf8.RuneCountInString(chunk), size)
			require.InDelta(t, utf8.RuneCountInString(chunk), value.At(item, "size"), 0)
			require.Contains(t, rest, chunk)
			all += chunk
		}
		if keep && overlap == 0 {
			require.Equal(t, content, all)
		}
	})
}
