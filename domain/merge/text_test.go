package merge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/domaintest"
	"svc/domain/merge"
)

func TestText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base, ours, theirs, merged string
		clean                      bool
	}{
		"one side changed":            {"a\nb\n", "a\nb\n", "a\nx\n", "a\nx\n", true},
		"the other side changed":      {"a\nb\n", "a\nx\n", "a\nb\n", "a\nx\n", true},
		"both changed the same way":   {"a\nb\n", "a\nx\n", "a\nx\n", "a\nx\n", true},
		"a line before, a line after": {"a\nb\nc\n", "x\na\nb\nc\n", "a\nb\nc\ny\n", "x\na\nb\nc\ny\n", true},
		"a line apart":                {"a\nb\nc\n", "x\nb\nc\n", "a\nb\ny\n", "x\nb\ny\n", true},
		"changes that touch":          {"a\nb\n", "x\nb\n", "a\ny\n", "<<<<<<< ours\nx\nb\n=======\na\ny\n>>>>>>> theirs\n", false},
		"changes that overlap":        {"a\nb\nc\n", "x\nc\n", "a\ny\n", "<<<<<<< ours\nx\nc\n=======\na\ny\n>>>>>>> theirs\n", false},
		"lines at one place":          {"a\nb\n", "a\nx\nb\n", "a\ny\nb\n", "a\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\nb\n", false},
		"what is equal is not marked": {"a\nb\n", "a\n1\nx\n2\nb\n", "a\n1\ny\n2\nb\n", "a\n1\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n2\nb\n", false},
		"removed and changed":         {"a\nb\nc\n", "a\nc\n", "a\nx\nc\n", "a\n<<<<<<< ours\n=======\nx\n>>>>>>> theirs\nc\n", false},
		"the end of the text went":    {"a\nb\nc\n", "x\nb\nc\n", "a\nb\nc", "x\nb\nc", true},
		"the end of the text came":    {"a\nb\nc", "x\nb\nc", "a\nb\nc\n", "x\nb\nc\n", true},
		"a conflict without end":      {"a", "x", "y", "<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n", false},
		"both added the same":         {"", "a\n", "a\n", "a\n", true},
		"both added":                  {"", "a\n", "b\n", "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n", false},
		"nothing at all":              {"", "", "", "", true},
		"emptied and left alone":      {"a\n", "", "a\n", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			merged, clean := merge.Text([]byte(c.base), []byte(c.ours), []byte(c.theirs))
			require.Equal(t, c.merged, string(merged))
			require.Equal(t, c.clean, clean)
			require.Equal(t, c.clean, !merge.HasMarkers(merged))
		})
	}
}

func TestHasMarkers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"<<<<<<< HEAD\n":               true,
		"a: 1\n=======\nb: 2\n":        true,
		"a: 1\r\n>>>>>>> main\r\n":     true,
		"||||||| 1a2b3c\n":             true,
		"a: 1\n>>>>>>>":                true,
		"":                             false,
		"a: |\n  <<<<<<< HEAD\n":       false,
		"'<<<<<<< HEAD': 1\n":          false,
		"# <<<<<<< HEAD\n":             false,
		"<<<<<<<<\n======\n":           false,
		"======= a title =======: 1\n": false,
	} {
		require.Equal(t, want, merge.HasMarkers([]byte(text)), "%q", text)
	}
}

// text draws a text of few different lines, so that they repeat.
func text(t *rapid.T, label string) []byte {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "  a\n", "\n", "d\n"}), 0, 30).Draw(t, label)
	return []byte(strings.Join(parts, "") + rapid.SampledFrom([]string{"", "", "end"}).Draw(t, label+" end"))
}

func TestTheTextOfOneChangeIsThatChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, x := text(t, "base"), text(t, "changed")
		for _, sides := range [][2][]byte{{b, x}, {x, b}, {x, x}} {
			merged, clean := merge.Text(b, sides[0], sides[1])
			require.True(t, clean)
			require.Equal(t, string(x), string(merged))
		}
	})
}

func TestNeitherSideIsPreferred(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, o, s := text(t, "base"), text(t, "ours"), text(t, "theirs")
		merged, clean := merge.Text(b, o, s)
		mirrored, also := merge.Text(b, s, o)
		require.Equal(t, clean, also)
		if clean {
			require.Equal(t, string(merged), string(mirrored))
		}
	})
}

// No text of one megabyte keeps anybody waiting, however it was made.
func TestNoTextIsSlow(t *testing.T) {
	for name, texts := range adversaries() {
		t.Run(name, func(t *testing.T) {
			effort := domaintest.MeasureEffort(t, func() { merge.Text([]byte(texts[0]), []byte(texts[1]), []byte(texts[2])) })
			t.Log(effort)
			require.Less(t, effort, domaintest.RaceSlowdown*5*time.Second)
		})
	}
}

// adversaries are texts that a merge without bounds would never end with.
func adversaries() map[string][3]string {
	long := domaintest.NewLongTexts()
	random, repeated := long.Random, long.Repeated
	words := random(50_000)
	return map[string][3]string{
		"random lines":            {random(1 << 40), random(1 << 40), random(1 << 40)},
		"random of two kinds":     {random(2), random(2), random(2)},
		"random of few kinds":     {random(5), random(5), random(5)},
		"random of some kinds":    {random(5000), random(5000), random(5000)},
		"repetitive lines":        {repeated("a\nb\n"), repeated("b\na\na\n"), repeated("a\nb\nb\n")},
		"repetitive, added":       {repeated("a\n")[:long.Size()/2], repeated("a\n"), repeated("a\nb\n")},
		"nothing but line ends":   {repeated("\n"), repeated("\n") + "\n\n", repeated("\n\na\n")},
		"filler":                  {repeated("a\n\n\n\n"), repeated("b\n\n\n\n\n"), repeated("\n\nc\n")},
		"nothing before":          {"", random(3), random(3)},
		"one line":                {repeated("a"), repeated("b"), repeated("c")},
		"moved blocks":            {words + random(1000), random(1000) + words, words},
		"the same, the other way": {repeated("a\nb\nc\n"), repeated("c\nb\na\n"), repeated("b\nc\na\n")},
	}
}
