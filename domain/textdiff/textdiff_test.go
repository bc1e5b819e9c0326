package textdiff_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/domaintest"
	"svc/domain/textdiff"
)

// numbered is a text of the lines 1 to n, some of them replaced.
func numbered(n int, replaced map[int]string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if text, ok := replaced[i]; ok {
			b.WriteString(text)
			continue
		}
		fmt.Fprintf(&b, "%d\n", i)
	}
	return b.String()
}

// The patches are those of git 2.39, `git diff --no-index`, without its first
// lines.
func TestUnified(t *testing.T) {
	t.Parallel()
	twenty := numbered(20, nil)
	for name, c := range map[string]struct{ before, after, patch string }{
		"equal texts have no difference": {"a\nb\n", "a\nb\n", ""},
		"a line changed": {"a\nb\nc\n", "a\nB\nc\n", `--- a/f
+++ b/f
@@ -1,3 +1,3 @@
 a
-b
+B
 c
`},
		"one line is not counted": {"a\n", "b\n", `--- a/f
+++ b/f
@@ -1 +1 @@
-a
+b
`},
		"three lines are shown around a change": {twenty, numbered(20, map[int]string{10: "ten\n"}), `--- a/f
+++ b/f
@@ -7,7 +7,7 @@
 7
 8
 9
-10
+ten
 11
 12
 13
`},
		"changes six lines apart are one hunk": {twenty, numbered(20, map[int]string{5: "five\n", 12: ""}), `--- a/f
+++ b/f
@@ -2,14 +2,13 @@
 2
 3
 4
-5
+five
 6
 7
 8
 9
 10
 11
-12
 13
 14
 15
`},
		"changes seven lines apart are two": {twenty, numbered(20, map[int]string{5: "", 13: "13\nnew\n"}), `--- a/f
+++ b/f
@@ -2,7 +2,6 @@
 2
 3
 4
-5
 6
 7
 8
@@ -11,6 +10,7 @@
 11
 12
 13
+new
 14
 15
 16
`},
		"an empty text filled": {"", "a\nb\n", `--- a/f
+++ b/f
@@ -0,0 +1,2 @@
+a
+b
`},
		"a text emptied": {"a\n", "", `--- a/f
+++ b/f
@@ -1 +0,0 @@
-a
`},
		"the end of the last line came": {"a\nb", "a\nb\n", `--- a/f
+++ b/f
@@ -1,2 +1,2 @@
 a
-b
\ No newline at end of file
+b
`},
		"neither text ends in a line end": {"a\nb", "x\nb", `--- a/f
+++ b/f
@@ -1,2 +1,2 @@
-a
+x
 b
\ No newline at end of file
`},
		"a hunk says where it is": {"when:\n  endpoint: true\ndo:\n  - a: 1\n  - b: 2\n  - c: 3\n  - d: 4\n", "when:\n  endpoint: true\ndo:\n  - a: 1\n  - b: 2\n  - c: 3\n  - d: 5\n", `--- a/f
+++ b/f
@@ -4,4 +4,4 @@ do:
   - a: 1
   - b: 2
   - c: 3
-  - d: 4
+  - d: 5
`},
		"an item more is told from its dash on": {"do:\n  - run:\n      x: 1\n", "do:\n  - run:\n      x: 1\n  - run:\n      x: 1\n", `--- a/f
+++ b/f
@@ -1,3 +1,5 @@
 do:
   - run:
       x: 1
+  - run:
+      x: 1
`},
		"a block less is told from its head on": {"a:\n  x: 1\n\nb:\n  x: 1\n\nc:\n", "a:\n  x: 1\n\nc:\n", `--- a/f
+++ b/f
@@ -1,7 +1,4 @@
 a:
   x: 1
 
-b:
-  x: 1
-
 c:
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.patch, textdiff.Unified("f", []byte(c.before), []byte(c.after)))
		})
	}
}

func TestAFileThatComesOrGoes(t *testing.T) {
	t.Parallel()
	require.Equal(t, "--- /dev/null\n+++ b/pages/home.yml\n@@ -0,0 +1 @@\n+a\n", textdiff.Unified("pages/home.yml", nil, []byte("a\n")))
	require.Equal(t, "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", textdiff.Unified("f", []byte("a\n"), nil))
	require.Empty(t, textdiff.Unified("f", nil, []byte{}), "an empty file has no lines to tell of")
}

func TestAPathIsReadBackWhole(t *testing.T) {
	t.Parallel()
	for path, head := range map[string]string{
		"pages/home.yml":    "--- a/pages/home.yml\n+++ b/pages/home.yml\n",
		"pages/my home.yml": "--- a/pages/my home.yml\t\n+++ b/pages/my home.yml\t\n",
		"a\nb":              "--- \"a/a\\nb\"\n+++ \"b/a\\nb\"\n",
	} {
		require.True(t, strings.HasPrefix(textdiff.Unified(path, []byte("a\n"), []byte("b\n")), head), path)
	}
}

func TestALongTitleIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	before := "title" + strings.Repeat("é", 60) + "\n" + numbered(9, nil)
	patch := textdiff.Unified("f", []byte(before), []byte(strings.Replace(before, "8\n", "x\n", 1)))
	require.Contains(t, patch, "@@ title"+strings.Repeat("é", 37)+"\n")
}

func TestStats(t *testing.T) {
	t.Parallel()
	insertions, deletions := textdiff.Stats([]byte("a\nb\nc\n"), []byte("a\nx\ny\nc"))
	require.Equal(t, 3, insertions, "x, y and a c of another end")
	require.Equal(t, 2, deletions)
	insertions, deletions = textdiff.Stats(nil, nil)
	require.Zero(t, insertions+deletions)
}

// text draws a text of few different lines, so that they repeat.
func text(t *rapid.T, label string) string {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "  a\n", "  b\n", "\n", "c\n", "-\n", "+x\n", "@@\n", "\\ \n"}), 0, 40).Draw(t, label)
	return strings.Join(parts, "") + rapid.SampledFrom([]string{"", "", "end", " "}).Draw(t, label+" end")
}

func TestAPatchGivesTheOtherText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := text(t, "before"), text(t, "after")
		patch := textdiff.Unified("f", []byte(before), []byte(after))
		require.Equal(t, before == after, patch == "")
		got, insertions, deletions := apply(t, before, patch)
		require.Equal(t, after, got)
		in, out := textdiff.Stats([]byte(before), []byte(after))
		require.Equal(t, [2]int{in, out}, [2]int{insertions, deletions})
	})
}

func TestADifferenceIsTheShortest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := text(t, "before"), text(t, "after")
		insertions, deletions := textdiff.Stats([]byte(before), []byte(after))
		require.Equal(t, distance(lines(before), lines(after)), insertions+deletions)
	})
}

// distance is how many lines come and go at least, found the slow way.
func distance(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, line := range a {
		diagonal := 0
		for j := range b {
			above := row[j+1]
			if line == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return len(a) + len(b) - 2*row[len(b)]
}

func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		all = append(all, line)
	}
	return all
}

// apply is what patch(1) does, without its guesses: every line must be where the
// patch says.
func apply(t require.TestingT, before, patch string) (after string, insertions, deletions int) {
	from, said := lines(before), lines(patch)
	var to []string
	at := 0
	for i := 2; i < len(said); { // after the names
		var start, count, newStart, newCount int
		parseHunk(t, said[i], &start, &count, &newStart, &newCount)
		if count > 0 {
			start--
		}
		require.GreaterOrEqual(t, start, at, "hunks are in order")
		to = append(to, from[at:start]...)
		if newCount > 0 {
			newStart--
		}
		require.Len(t, to, newStart)
		at = start
		for i++; i < len(said) && !strings.HasPrefix(said[i], "@@ "); i++ {
			mark, line := said[i][0], said[i][1:]
			if i+1 < len(said) && said[i+1] == "\\ No newline at end of file\n" {
				line = strings.TrimSuffix(line, "\n")
			}
			switch mark {
			case '\\':
				continue
			case '+':
				insertions++
			case '-':
				deletions++
			case ' ':
			default:
				require.Fail(t, "no line of a patch", "%q", said[i])
			}
			if mark != '+' {
				if from[at] != line { // seldom asked of testify, which is slow
					require.Equal(t, from[at], line)
				}
				at++
			}
			if mark != '-' {
				to = append(to, line)
			}
		}
		require.Equal(t, start+count, at)
		require.Len(t, to, newStart+newCount)
	}
	return strings.Join(append(to, from[at:]...), ""), insertions, deletions
}

func parseHunk(t require.TestingT, line string, start, count, newStart, newCount *int) {
	fields := strings.Fields(line)
	require.Equal(t, "@@", fields[0])
	for i, into := range [][2]*int{{start, count}, {newStart, newCount}} {
		first, n, many := strings.Cut(fields[1+i][1:], ",")
		if !many {
			n = "1"
		}
		var err error
		*into[0], err = strconv.Atoi(first)
		require.NoError(t, err)
		*into[1], err = strconv.Atoi(n)
		require.NoError(t, err)
	}
}

// No text of one megabyte keeps anybody waiting, however it was made.
func TestNoTextIsSlow(t *testing.T) {
	for name, pair := range adversaries() {
		t.Run(name, func(t *testing.T) {
			before, after := pair[0], pair[1]
			var patch string
			effort := domaintest.MeasureEffort(t, func() { patch = textdiff.Unified("f", []byte(before), []byte(after)) })
			require.Less(t, effort, domaintest.RaceSlowdown*time.Second)
			got, _, _ := apply(t, before, patch)
			same := after == got // require.Equal would print them
			require.True(t, same, "the patch does not give the text")
		})
	}
}

// adversaries are pairs of texts that a diff without bounds would never end with.
func adversaries() map[string][2]string {
	long := domaintest.NewLongTexts()
	random, repeated := long.Random, long.Repeated
	words := random(50_000)
	shuffled := lines(words)
	long.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	return map[string][2]string{
		"random lines":              {random(1 << 40), random(1 << 40)},
		"random of few kinds":       {random(3), random(3)},
		"random of some kinds":      {random(5000), random(5000)},
		"the same lines shuffled":   {words, strings.Join(shuffled, "")},
		"repetitive lines":          {repeated("a\nb\n"), repeated("b\na\na\n")},
		"repetitive, of one length": {repeated("a\na\nb\n"), repeated("a\nb\nb\n")},
		"nothing but line ends":     {repeated("\n"), repeated("\n") + "\n\n"},
		"half of it":                {repeated("a\n"), repeated("a\n")[:long.Size()/2]},
		"one line":                  {repeated("a"), repeated("b")},
		"moved blocks":              {random(1000) + words, words + random(1000)},
	}
}

func BenchmarkUnified(b *testing.B) {
	before := numbered(5000, nil)
	after := numbered(5000, map[int]string{7: "", 900: "x\n", 2500: "y\nz\n", 4999: "w\n"})
	b.ReportAllocs()
	for b.Loop() {
		textdiff.Unified("f", []byte(before), []byte(after))
	}
}
