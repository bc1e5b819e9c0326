package knowledge_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/knowledge"
)

func texts(chunks []knowledge.Chunk) (all []string) {
	for _, c := range chunks {
		all = append(all, c.Text)
	}
	return all
}

func TestTextsAreDividedByStructure(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("w", 250)
	for name, c := range map[string]struct {
		text    string
		overlap int
		want    []string
	}{
		"short":                              {"# A\n\nOne.\n\nTwo.", 0, []string{"# A\n\nOne.\n\nTwo."}},
		"a heading begins anew":              {"# A\n\n" + strings.Repeat("a", 60) + "\n\n# B\n\nb", 0, []string{"# A\n\n" + strings.Repeat("a", 60), "# B\n\nb"}},
		"a heading is not last":              {strings.Repeat("a", 150) + "\n\n### B\n\n" + strings.Repeat("b", 100), 0, []string{strings.Repeat("a", 150), "### B\n\n" + strings.Repeat("b", 100)}},
		"sentences":                          {strings.Repeat("a", 120) + ". " + strings.Repeat("b", 120) + ".", 0, []string{strings.Repeat("a", 120) + ".", strings.Repeat("b", 120) + "."}},
		"sentences, repeated":                {strings.Repeat("a", 150) + ". Short. " + strings.Repeat("b", 120) + ".", 20, []string{strings.Repeat("a", 150) + ". Short.", "Short. " + strings.Repeat("b", 120) + "."}},
		"a long word":                        {word, 0, []string{word[:200], word[200:]}},
		"code at line ends":                  {"```\n" + strings.Repeat("x", 150) + "\n\n" + strings.Repeat("y", 150) + "\n```", 0, []string{"```\n" + strings.Repeat("x", 150), strings.Repeat("y", 150) + "\n```"}},
		"a table keeps its head":             {"| h |\n|---|\n| " + strings.Repeat("1", 150) + " |\n| " + strings.Repeat("2", 150) + " |", 0, []string{"| h |\n|---|\n| " + strings.Repeat("1", 150) + " |", "| h |\n|---|\n| " + strings.Repeat("2", 150) + " |"}},
		"code fits or waits":                 {strings.Repeat("a", 120) + ".\n\n```\n" + strings.Repeat("x", 90) + "\n" + strings.Repeat("y", 90) + "\n\t" + strings.Repeat("z", 90) + "\n```", 0, []string{strings.Repeat("a", 120) + ".", "```\n" + strings.Repeat("x", 90) + "\n" + strings.Repeat("y", 90), "\t" + strings.Repeat("z", 90) + "\n```"}},
		"a sentence waits":                   {strings.Repeat("a", 120) + ".\n\n" + strings.Repeat("b ", 50) + "c. " + strings.Repeat("d ", 60) + "e.", 0, []string{strings.Repeat("a", 120) + ".", strings.Repeat("b ", 50) + "c.", strings.Repeat("d ", 60) + "e."}},
		"the room is filled":                 {strings.Repeat("a", 120) + ".\n\n" + strings.Repeat("b ", 30) + "c. " + strings.Repeat("d ", 80) + "e.", 0, []string{strings.Repeat("a", 120) + ".\n\n" + strings.Repeat("b ", 30) + "c.", strings.Repeat("d ", 80) + "e."}},
		"a long sentence":                    {"Short.\n\n" + strings.Repeat("word ", 45) + "end.", 0, []string{"Short.", strings.TrimSpace(strings.Repeat("word ", 40)), strings.Repeat("word ", 5) + "end."}},
		"a long line of code":                {"```\n" + strings.Repeat("word ", 45) + "end\n```", 0, []string{"```\n" + strings.TrimSpace(strings.Repeat("word ", 39)), strings.Repeat("word ", 6) + "end\n```"}},
		"paragraphs, repeated":               {strings.TrimSpace(strings.Repeat(strings.Repeat("a", 39)+".\n\n", 8)), 100, []string{strings.TrimSpace(strings.Repeat(strings.Repeat("a", 39)+".\n\n", 4)), strings.TrimSpace(strings.Repeat(strings.Repeat("a", 39)+".\n\n", 4)), strings.TrimSpace(strings.Repeat(strings.Repeat("a", 39)+".\n\n", 4))}},
		"a long text, repeated":              {strings.TrimSpace(strings.Repeat(strings.Repeat("a", 48)+". ", 10)), 60, []string{strings.TrimSpace(strings.Repeat(strings.Repeat("a", 48)+". ", 4)), strings.TrimSpace(strings.Repeat(strings.Repeat("a", 48)+". ", 4)), strings.TrimSpace(strings.Repeat(strings.Repeat("a", 48)+". ", 4))}},
		"part of a sentence is not repeated": {strings.Repeat("word ", 39) + "last the end.\n\n" + strings.Repeat("b", 150) + ".", 60, []string{strings.TrimSpace(strings.Repeat("word ", 39)) + " last", "the end.\n\n" + strings.Repeat("b", 150) + "."}},
		"rows with another head":             {"| h |\n|---|\n" + strings.Repeat("| "+strings.Repeat("1", 45)+" |\n", 8), 60, []string{"| h |\n|---|\n" + strings.TrimSpace(strings.Repeat("| "+strings.Repeat("1", 45)+" |\n", 3)), "| h |\n|---|\n" + strings.TrimSpace(strings.Repeat("| "+strings.Repeat("1", 45)+" |\n", 3)), "| h |\n|---|\n" + strings.TrimSpace(strings.Repeat("| "+strings.Repeat("1", 45)+" |\n", 3))}},
		"a head without room":                {"| " + strings.Repeat("h ", 120) + "|\n|---|\n| 1 |", 0, []string{"| " + strings.TrimSpace(strings.Repeat("h ", 99)), strings.Repeat("h ", 21) + "|\n|---|\n| 1 |"}},
		"a heading is never alone":           {"# " + strings.Repeat("t", 48) + "\n\n## B\n\nText.", 0, []string{"# " + strings.Repeat("t", 48) + "\n\n## B\n\nText."}},
		"cjk":                                {strings.Repeat("漢", 150) + "。" + strings.Repeat("字", 100) + "。", 0, []string{strings.Repeat("漢", 150) + "。", strings.Repeat("字", 100) + "。"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chunks, cut := knowledge.Chunking{Size: 200, Overlap: c.overlap}.Divide(c.text, "en", nil)
			require.False(t, cut)
			require.Equal(t, c.want, texts(chunks))
		})
	}
}

func TestAChunkKnowsItsHeadings(t *testing.T) {
	t.Parallel()
	text := "# A\n\n## B\n\n" + strings.Repeat("b", 100) + "\n\n## C\n\n" + strings.Repeat("c", 100)
	chunks, _ := knowledge.Chunking{Size: 200}.Divide(text, "en", nil)
	require.Len(t, chunks, 2)
	require.Equal(t, []string{"A", "B"}, chunks[0].Headings)
	require.Equal(t, []string{"A", "C"}, chunks[1].Headings)
}

// Whatever a text is, its chunks are short enough, in order, and have all of it. No word is cut that fits into a chunk.
func TestChunksHaveTheWholeText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{
			"# ", "## ", "### ", "word ", "Sentence. ", "\n", "\n\n", "```\n", "| a | b |\n", "|---|---|\n", "漢字。", "é", strings.Repeat("long", 60), "? ", "\t",
		})).Draw(t, "parts")
		text := knowledge.Normalise(strings.Join(parts, ""))
		c := knowledge.Chunking{Size: rapid.IntRange(200, 400).Draw(t, "size"), Overlap: rapid.IntRange(0, 100).Draw(t, "overlap"), Fixed: rapid.Bool().Draw(t, "fixed")}
		chunks, cut := c.Divide(text, "en", nil)
		require.False(t, cut)
		again, _ := c.Divide(text, "en", nil)
		require.Equal(t, chunks, again)
		runes, at := []rune(text), 0
		for i, chunk := range chunks {
			require.Equal(t, i, chunk.N)
			require.LessOrEqual(t, utf8.RuneCountInString(chunk.Text), c.Size, "%q", chunk.Text)
			require.Less(t, chunk.From, chunk.To)
			if !c.Fixed {
				for ; at < chunk.From; at++ {
					require.True(t, unicode.IsSpace(runes[at]), "%q is lost", runes[at:chunk.From])
				}
			}
			at = chunk.To
			if !c.Fixed && at < len(runes) && !unicode.IsSpace(runes[at]) && !strings.ContainsRune("。！？", runes[at-1]) {
				from, to := at, at
				for from > 0 && !unicode.IsSpace(runes[from-1]) {
					from--
				}
				for to < len(runes) && !unicode.IsSpace(runes[to]) {
					to++
				}
				require.Greater(t, to-from, c.Size/4, "%q", runes[from:to])
			}
			require.True(t, strings.HasSuffix(chunk.Text, string(runes[chunk.To-1:chunk.To])))
		}
		for ; at < len(runes); at++ {
			require.True(t, unicode.IsSpace(runes[at]))
		}
		require.Equal(t, text, knowledge.Normalise(text))
	})
}

func TestAChunkKnowsItsPage(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 200) + "\n\n" + strings.Repeat("b", 200) + "\n\n" + strings.Repeat("c", 100)
	chunks, _ := knowledge.Chunking{Size: 200}.Divide(text, "en", []int{0, 202, 404})
	require.Len(t, chunks, 3)
	for i, c := range chunks {
		require.Equal(t, i+1, c.Page)
	}
}

var update = flag.Bool("update", false, "write the golden files")

// goldenTexts have every kind of block. Their chunks are stored: other chunks are another ChunkingVersion.
var goldenTexts = []struct{ name, language, text string }{
	{"headings", "en", "# Guide\r\n\r\nWelcome. " + strings.Repeat("This sentence is here to fill the passage. ", 8) + "\n\n\n\n## Install\n\nRun it.\n\n### Linux\n\n" + strings.Repeat("Install the package first! ", 12) + "\n\n## Last"},
	{"table", "en", "Before.\n\n| Name | Price |\n|------|------:|\n" + strings.Repeat("| a product with a long name | 12.50 |\n", 12) + "\nAfter."},
	{"code", "en", "Use this:\n\n```go\n" + strings.Repeat("fmt.Println(\"a line of code\")\n\n", 12) + "```\n\nDone?"},
	{"long word", "und", "A " + strings.Repeat("incomprehensibility", 30) + " end"},
	{"cjk", "cjk", "# 案内\n\n" + strings.Repeat("これは文です。次の文！", 40)},
	{"paragraphs", "en", strings.Repeat("A paragraph of forty characters is here.\n\n", 9) + "### Below\n\n" + strings.Repeat("Another one. ", 9) + "\n\nThe last one is short."},
	{"room", "en", strings.Repeat("Half of the passage is full. ", 6) + "\n\n" + strings.Repeat("a long sentence without an end ", 5) + "ends here. " + strings.Repeat("It goes on. ", 12) + strings.Repeat("and a longer one has no end at all ", 12) + "but here. Then.\n\n```\nfunc main() {\n" + strings.Repeat("\tfmt.Println(\"indented\")\n", 14) + "}\n```"},
	{"combining", "fr", "E\u0301te\u0301 \tpasse\u0301  \n\x00\x07fin. " + strings.Repeat("Il fait beau\u2026 ", 25)},
}

func TestChunksAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	const golden = "testdata/chunks.json"
	got := map[string][]knowledge.Chunk{}
	for _, c := range goldenTexts {
		text := knowledge.Normalise(c.text)
		got[c.name], _ = knowledge.Chunking{Size: 250, Overlap: 60}.Divide(text, c.language, []int{0, 300})
		got[c.name+", fixed"], _ = knowledge.Chunking{Size: 250, Overlap: 60, Fixed: true}.Divide(text, c.language, nil)
	}
	encoded, err := json.MarshalIndent(got, "", " ")
	require.NoError(t, err)
	encoded = append(encoded, '\n')
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, encoded, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(encoded), "other chunks are another knowledge.ChunkingVersion; then run: go test ./domain/knowledge -update")
}
