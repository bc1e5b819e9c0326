package knowledge_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/commands/knowledge"
)

func TestCitationsAreFiltered(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"see [1].":                       "see [1].",
		"see [1] and [9]":                "see [1] and ",
		"[9, 2,8 , 1]":                   "[2, 1]",
		"[1, 2, 3, 4, 5]":                "[1, 2, 3, 4, 5]",
		"[ 1 , 99 , 2 , 99 , 3 , 99 ]!":  "[1, 2, 3]!",
		"[99, 98, 97, 96, 95] end":       " end",
		"[99, 98, 97, 96, 5, 94]":        "[5]",
		"[2019, 2020, 2021 and 2022]":    "[2019, 2020, 2021 and 2022]",
		"[1, 2020, 2021, 2022 and 3]":    "[1, 2020, 2021, 2022 and 3]",
		"[1, 2, 3, 4, [5], 6]":           "[1, 2, 3, 4, [5], 6]",
		"[1, 2, 3, 4, 5,]":               "[1, 2, 3, 4, 5,]",
		"[1, 2, 3, 4, 5":                 "[1, 2, 3, 4, 5",
		"[a remark](https://x.y/[1])":    "[a remark](https://x.y/[1])",
		"[] [,] [1;2] [12345678901234]":  "[] [,] [1;2] [12345678901234]",
		"[1," + strings.Repeat(" ", 300): "[1," + strings.Repeat(" ", 300),
	} {
		filter := knowledge.CitationFilter{Sources: 5}
		require.Equal(t, want, filter.Feed(text)+filter.End(), text)
	}
	filter := knowledge.CitationFilter{Sources: 5}
	require.Empty(t, filter.Feed("[1, 2, 3, 4"))
	require.Equal(t, "[1, 2, 3, 4", filter.Feed(", 9"), "a long list is not held back until its end")
	require.Equal(t, ", 5]", filter.Feed(", 5]"))
	require.Equal(t, map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true}, filter.Used)
}

// However an answer comes in pieces, what is shown is the same, and names the sources that there are.
func TestCitationsAreFilteredInAnyPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const sources = 7
		var text, want strings.Builder
		used := map[int]bool{}
		for range rapid.IntRange(0, 8).Draw(t, "parts") {
			if rapid.Bool().Draw(t, "other") {
				other := rapid.SampledFrom([]string{"word ", "é世 ", "[x] ", "[1 x", "[", "] ", "[1,] ", "[,2] ", "\n", "12, 3 "}).Draw(t, "text")
				text.WriteString(other + ".")
				want.WriteString(other + ".")
				continue
			}
			var all, known []string
			for range rapid.IntRange(1, 12).Draw(t, "numbers") {
				n := rapid.IntRange(0, sources+3).Draw(t, "n")
				all = append(all, strconv.Itoa(n))
				if n >= 1 && n <= sources {
					known, used[n] = append(known, strconv.Itoa(n)), true
				}
			}
			text.WriteString("[" + strings.Join(all, rapid.SampledFrom([]string{",", ", ", " , "}).Draw(t, "between")) + "]")
			if len(known) > 0 {
				want.WriteString("[" + strings.Join(known, ", ") + "]")
			}
		}
		filter := knowledge.CitationFilter{Sources: sources}
		var shown strings.Builder
		for rest := []rune(text.String()); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			shown.WriteString(filter.Feed(string(rest[:n])))
			rest = rest[n:]
		}
		shown.WriteString(filter.End())
		require.Equal(t, want.String(), shown.String())
		for n := range sources + 4 {
			require.Equal(t, used[n], filter.Used[n], n)
		}
	})
}
