package sse_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/sse"
	"svc/domain/value"
)

// parse feeds text in packets of n bytes and returns the items as JSON, one per
// line.
func parse(text string, n, limit int) (string, error) {
	p := sse.New(limit)
	var all []string
	add := func(items []*value.Object) {
		for _, item := range items {
			all = append(all, value.JSON(item, ""))
		}
	}
	for at := 0; at < len(text); at += n {
		items, err := p.Feed([]byte(text[at:min(len(text), at+n)]))
		add(items)
		if err != nil {
			return strings.Join(all, "\n"), err
		}
	}
	add(p.End())
	return strings.Join(all, "\n"), nil
}

var streams = map[string]struct{ text, want string }{
	"nothing":                           {"", ""},
	"text and JSON":                     {"data: a\n\ndata: {\"k\":1}\n\n", `{"index":0,"chunk":{"data":["a"]}}` + "\n" + `{"index":1,"chunk":{"data":[{"k":1}]}}`},
	"one entry per line of data":        {"data: a\ndata:b\ndata\n\n", `{"index":0,"chunk":{"data":["a","b",""]}}`},
	"all fields":                        {"event: e\nid: 7\nretry: 10\n: hi\ndata: [1]\n\n", `{"index":0,"chunk":{"event":"e","data":[[1]],"id":"7","retry":10,"comment":"hi"}}`},
	"lines end in every way":            {"data: a\r\n\r\ndata: b\r\rdata: c\n\n", `{"index":0,"chunk":{"data":["a"]}}` + "\n" + `{"index":1,"chunk":{"data":["b"]}}` + "\n" + `{"index":2,"chunk":{"data":["c"]}}`},
	"the last needs no blank line":      {"data: a\n\ndata: b", `{"index":0,"chunk":{"data":["a"]}}` + "\n" + `{"index":1,"chunk":{"data":["b"]}}`},
	"a comment alone":                   {": ping\n\n", `{"index":0,"chunk":{"data":[],"comment":"ping"}}`},
	"unknown fields are ignored":        {"nope: 1\n\nDATA: x\n\ndata: a\nwhat\n\n", `{"index":0,"chunk":{"data":["a"]}}`},
	"a retry that is no number":         {"retry: soon\ndata: a\n\n", `{"index":0,"chunk":{"data":["a"]}}`},
	"an id with a zero byte":            {"id: a\x00b\ndata: a\n\n", `{"index":0,"chunk":{"data":["a"]}}`},
	"broken JSON is text":               {"data: {\"k\":\n\n", `{"index":0,"chunk":{"data":["{\"k\":"]}}`},
	"a number is text":                  {"data: 1\n\n", `{"index":0,"chunk":{"data":["1"]}}`},
	"one space is taken away":           {"data:  a\n\n", `{"index":0,"chunk":{"data":[" a"]}}`},
	"a byte order mark":                 {"\uFEFFdata: a\n\n", `{"index":0,"chunk":{"data":["a"]}}`},
	"a value with a colon":              {"data: a: b\n\n", `{"index":0,"chunk":{"data":["a: b"]}}`},
	"many blank lines":                  {"\n\n\ndata: a\n\n\n\n", `{"index":0,"chunk":{"data":["a"]}}`},
	"characters of several bytes":       {"data: é😀\n\n", `{"index":0,"chunk":{"data":["é😀"]}}`},
	"bytes that are no text":            {"data: a\xffb\n\n", "{\"index\":0,\"chunk\":{\"data\":[\"a\uFFFDb\"]}}"},
	"numbers out of range":              {"data: [1e999]\n\n", `{"index":0,"chunk":{"data":[[null]]}}`},
	"an event without data is one too":  {"event: done\n\n", `{"index":0,"chunk":{"event":"done","data":[]}}`},
	"the last of two comments is shown": {":a\n:b\n\n", `{"index":0,"chunk":{"data":[],"comment":"b"}}`},
}

func TestEventsAreReadInAnyPackets(t *testing.T) {
	t.Parallel()
	for name, tt := range streams {
		t.Run(name, func(t *testing.T) {
			for n := 1; n <= len(tt.text)+1; n++ {
				got, err := parse(tt.text, n, 1000)
				require.NoError(t, err)
				require.Equal(t, tt.want, got, "packets of %d bytes", n)
			}
		})
	}
}

func TestBadStreamsHaveABound(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a line without end":      "data: " + strings.Repeat("a", 200),
		"an event of many lines":  strings.Repeat("data: a\n", 50),
		"empty fields for ever":   strings.Repeat("data\n", 100),
		"unknown fields for ever": strings.Repeat("x\n", 200),
	} {
		for _, n := range []int{1, 7, 1000} {
			got, err := parse("data: ok\n\n"+text, n, 100)
			require.ErrorIs(t, err, sse.ErrTooLarge, name)
			require.Equal(t, `{"index":0,"chunk":{"data":["ok"]}}`, got, "what came before is not lost")
		}
	}
	p := sse.New(10)
	_, err := p.Feed([]byte(strings.Repeat("a", 11)))
	require.ErrorIs(t, err, sse.ErrTooLarge)
	_, err = p.Feed([]byte("data: a\n\n"))
	require.ErrorIs(t, err, sse.ErrTooLarge, "it does not go on")
	require.Empty(t, p.End())
}

func TestManyEventsInOneStreamAreNotTooLarge(t *testing.T) {
	t.Parallel()
	got, err := parse(strings.Repeat("data: aaaaaaaa\n\n", 1000), 4096, 20)
	require.NoError(t, err)
	require.Equal(t, 1000, strings.Count(got, "aaaaaaaa"))
}

func FuzzAnySplitGivesTheSameItems(f *testing.F) {
	for _, tt := range streams {
		f.Add(tt.text, 1, 3)
	}
	f.Fuzz(func(t *testing.T, text string, a, b int) {
		want, wantErr := parse(text, len(text)+1, 256)
		a, b = 1+(a&0xffff)%(len(text)+1), 1+(b&0xffff)%(len(text)+1)
		for _, n := range []int{1, a, b} {
			got, err := parse(text, n, 256)
			require.Equal(t, wantErr, err)
			require.Equal(t, want, got)
		}
	})
}

func BenchmarkParser(b *testing.B) {
	text := []byte(strings.Repeat("event: delta\ndata: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\n", 100))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := sse.New(1 << 20).Feed(text); err != nil {
			b.Fatal(err)
		}
	}
}
