package yamltext_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/commands/yamltext"
	"svc/domain/document"
	"svc/domain/domaintest"
)

// texts are strings that are hard to write: those that look like something else,
// that end a line or a text, and that have blanks where blanks get lost.
func texts() *rapid.Generator[string] {
	hard := rapid.SampledFrom([]string{
		"", " ", "\n", "\t", "a\n", "a\n\n", "a\nb", "a \nb", "\na", " a\nb", "a\n b\n\tc\n\n\n", "a: b", "a:", "a #b", "# a", "- a", "-", "---", "...",
		"null", "Null", "~", "yes", "Off", "y", "1", "0x1f", "0o7", "1e3", ".5", "1_000", "-.inf", ".nan", "2001-01-01", "<<", "=", "{{body.amount}} > 100",
		"'", "''", `"`, `\`, "it's", "[a]", "{a}", "*a", "&a", "!a", "|", ">", "%a", "@a", "`a", "a\tb", "a\x00b", "\x7f", "\u0085", "a\u2028b\nc", "\ufeff",
		"\ufffd", "\ufffe", "é", "日本", "😀", "\U0001fffe", "/a/b", "_a", "a  b", "a@b.c", "? a", "\r", "a\r\nb", strings.Repeat("k", 1001), strings.Repeat("' ", 600),
		strings.Repeat("é\n", 700),
	})
	return rapid.OneOf(hard, rapid.StringOf(rapid.RuneFrom([]rune("ab: -#'\"\n\t\\{}[]|>,?&*!%@`é~0"))), rapid.String())
}

// values are values nested at most so deep.
func values(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 6
		if depth == 0 {
			kinds = 4
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "word")
		case 1:
			return rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Int64(), func(i int64) float64 { return float64(i) })).Draw(t, "number")
		case 4:
			return rapid.SliceOfN(values(depth-1), 0, 4).Draw(t, "list")
		case 5:
			return mappings(depth).Draw(t, "mapping")
		default:
			return texts().Draw(t, "text")
		}
	})
}

func mappings(depth int) *rapid.Generator[*document.Map] {
	return rapid.Custom(func(t *rapid.T) *document.Map {
		m := document.MapOf()
		for range rapid.IntRange(0, 4).Draw(t, "keys") {
			m.Set(texts().Draw(t, "key"), values(max(depth-1, 0)).Draw(t, "value"))
		}
		return m
	})
}

// documents are values of every kind, mappings more often than others.
func documents() *rapid.Generator[any] {
	return rapid.OneOf(values(4), rapid.Map(mappings(5), func(m *document.Map) any { return m }))
}

func TestWhatIsWrittenReadsBackEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := documents().Draw(t, "value")
		text, err := document.YAML(v)
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(string(text), "\n"))
		for _, read := range []func([]byte, document.Limits) (any, error){yamltext.Read, yamltext.ReadForeign} {
			back, err := read(text, document.FileLimits)
			require.NoError(t, err, "%s", text)
			require.True(t, document.Equal(v, back), "%s\n%#v\n%#v", text, v, back)
			again, err := document.YAML(back)
			require.NoError(t, err)
			require.Equal(t, string(text), string(again))
		}
	})
}

// asTheLibrary demands that what is taken for written by document.YAML is what the
// library reads, within the same limits.
func asTheLibrary(t require.TestingT, text []byte) {
	for _, limits := range []document.Limits{document.FileLimits, {Bytes: 200, Depth: 3, Nodes: 10}} {
		v, ours := document.ReadYAML(text, limits)
		if !ours {
			continue
		}
		want, err := yamltext.ReadForeign(text, limits)
		require.NoError(t, err, "%s", text)
		require.True(t, document.Equal(want, v), "%s\n%#v\n%#v", text, want, v)
	}
}

func TestWhatIsReadWithoutTheLibraryIsWhatTheLibraryReads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, err := document.YAML(documents().Draw(t, "value"))
		require.NoError(t, err)
		asTheLibrary(t, text)
		if len(text) > 0 { // and when it is not quite what was written
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			inserted := rapid.SampledFrom([]string{"", " ", "\n", "-", ":", "'", "#", "a", "0", ": ", "- ", "|", "{}", "&a ", "!a ", "<<"}).Draw(t, "inserted")
			asTheLibrary(t, []byte(string(text[:at])+inserted+string(text[at+rapid.IntRange(0, 1).Draw(t, "cut"):])))
		}
	})
}

func TestYAMLAndJSONAreTwoSpellingsOfOneValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := documents().Draw(t, "value")
		text, err := document.JSON(v)
		require.NoError(t, err)
		fromJSON, err := document.ReadJSON(text, document.FileLimits)
		require.NoError(t, err, "%s", text)
		require.True(t, document.Equal(v, fromJSON), "%s", text)
		fromYAML, err := yamltext.Read(text, document.FileLimits)
		require.NoError(t, err, "%s", text)
		require.True(t, document.Equal(v, fromYAML), "%s", text)
	})
}

// Whatever people write: reading it ends, and what is read is written in a form
// that never changes again.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		handwritten, "a: 1\n", "{\"a\": [1, {\"b\": null}]}", "a: &x [1, 2]\nb: *x\n", "a: &x {b: *x}\n", "? - a\n: b\n", "a: !!int 1\nb: !x 2\n",
		"--- a\n--- b\n", "# only\n", "%YAML 1.2\n---\na: >\n  folded\n  text\n\n", "a:\n\t- b", "\"\\ud83d\\ude00\"", "{\"a\":\"\\ud83d\\ude00\"}",
		"a: b: c", "- - - a\n  -\n", "[a, b: c, {d}]", "<<: {a: 1}\na: 2\n", "a: |+\n  x\n\n", "? |\n  long\n: - a\n", "\u2028: \u0085\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		asTheLibrary(t, []byte(text))
		var v any
		var err error
		require.Less(t, domaintest.MeasureEffort(t, func() { v, err = yamltext.Read([]byte(text), document.FileLimits) }), 10*time.Second)
		if err != nil {
			return
		}
		written, err := document.YAML(v)
		require.NoError(t, err)
		back, err := yamltext.Read(written, document.Limits{})
		require.NoError(t, err, "%s", written)
		require.True(t, document.Equal(v, back), "%s", written)
		again, err := document.YAML(back)
		require.NoError(t, err)
		require.Equal(t, string(written), string(again))
	})
}
