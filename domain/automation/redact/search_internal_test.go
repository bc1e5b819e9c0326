package redact

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// naive says the same as an index without being quick about it.
type naive []string

func naiveOf(secrets ...string) (all naive) {
	for _, secret := range New(secrets...).Secrets() {
		if !isShort(secret) {
			all = append(all, encodedForms(secret)...)
		}
	}
	return all
}

// longest is the length of the longest form at a place of a text, 0 when there is none.
func (all naive) longest(text string, at int) (length int) {
	for _, form := range all {
		if strings.HasPrefix(text[at:], form) {
			length = max(length, len(form))
		}
	}
	return length
}

func (all naive) text(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		end := i + all.longest(text, i)
		for j := i; j < end; j++ {
			end = max(end, j+all.longest(text, j))
		}
		if end > i {
			out.WriteString(Redacted)
			i = end
			continue
		}
		out.WriteByte(text[i])
		i++
	}
	return out.String()
}

func (all naive) begun(text string) (longest int) {
	for _, form := range all {
		for n := min(len(form)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, form[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// repetitive are texts of few letters that repeat themselves, so that much in them is like
// something else in them.
func repetitive(pieces int) *rapid.Generator[string] {
	piece := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat(rapid.StringMatching(`[ab/]{1,5}`).Draw(t, "piece"), rapid.IntRange(1, 40).Draw(t, "times"))
	})
	return rapid.Map(rapid.SliceOfN(piece, 1, pieces), func(pieces []string) string { return strings.Join(pieces, "") })
}

// However long secrets are, and however much of one is repeated, what is found is what
// looking for each at every place finds.
func TestSecretsAreFoundAsIfEachWereLookedForEverywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(repetitive(3), 1, 4).Draw(t, "secrets")
		all := naiveOf(secrets...)
		part := rapid.Custom(func(t *rapid.T) string {
			whole := rapid.SampledFrom(append(slices.Clone(all), secrets...)).Draw(t, "form")
			return whole[rapid.IntRange(0, len(whole)-1).Draw(t, "from"):]
		})
		begun := rapid.Map(part, func(whole string) string { return whole[:len(whole)/2] })
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(part, begun, repetitive(2)), 0, 6).Draw(t, "text"), "")

		in := New(secrets...).current()
		if !in.whole[text] {
			require.Equal(t, all.text(text), in.text(text))
		}
		require.Equal(t, all.begun(text), (&search{in: in, text: text}).unfinishedLength())
	})
}

// searchWhole goes through a text, and returns how many bytes were compared for each of its.
func searchWhole(in *index, text string) int {
	whole, end := search{in: in, text: text}, search{in: in, text: text}
	for begin, after := whole.nextSecret(0); begin >= 0; {
		begin, after = whole.nextSecret(after)
	}
	end.unfinishedLength()
	return (whole.compared + end.compared) / len(text)
}

// Whoever calls an endpoint may choose both a secret and the text that it is looked for in.
func TestATextThatRepeatsTheBeginningOfASecretIsGoneThroughOnce(t *testing.T) {
	run, periods := strings.Repeat("a", 20_000), strings.Repeat("a"+strings.Repeat("b", 15), 1000)
	var alike []string
	for i := range 200 {
		alike = append(alike, run[:200+i]+"~b")
	}
	for name, test := range map[string]struct {
		secrets []string
		text    string
	}{
		"one letter":         {[]string{run[:8000] + "~!*/ b"}, run},
		"all of it":          {[]string{run[:8000]}, run},
		"at the end":         {[]string{run[:8000] + "~!*/ b"}, run + "~!*/ b."},
		"one that is longer": {[]string{run + run + "b"}, run + "c"},
		"periods":            {[]string{periods[:8000] + "~!*/ b"}, periods},
		"with a short one":   {[]string{periods[:8000] + "~!*/ b", periods[:8]}, periods},
		"many that are like": {alike, run},
	} {
		t.Run(name, func(t *testing.T) {
			require.Less(t, searchWhole(New(test.secrets...).current(), test.text), 2*longForm)
		})
	}
}
