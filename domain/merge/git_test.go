package merge_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/document"
	"svc/domain/merge"
)

// git merges as the git binary does. It is required: without it nothing says
// whether a merge is right.
type git struct{ binary, dir string }

func newGit(t *testing.T) git {
	t.Helper()
	binary, err := exec.LookPath("git")
	require.NoError(t, err, "the git binary is needed to compare with")
	return git{binary, t.TempDir()}
}

func (g git) merge(t *testing.T, base, ours, theirs string) (merged string, clean bool) {
	t.Helper()
	for name, text := range map[string]string{"base": base, "ours": ours, "theirs": theirs} {
		require.NoError(t, os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600))
	}
	cmd := exec.Command(g.binary, "merge-file", "-p", "-q", "-L", "ours", "-L", "base", "-L", "theirs", "ours", "base", "theirs") //nolint:gosec // as found
	cmd.Dir = g.dir
	cmd.Env = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(g.dir)}
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 && exit.ExitCode() < 128 {
		return out.String(), false // as many conflicts
	}
	require.NoError(t, err)
	return out.String(), true
}

// edited makes n random changes to lines: few kinds of lines, so that they repeat.
func edited(draw *rand.Rand, lines []string, n int, line func() string) []string {
	lines = append([]string(nil), lines...)
	for range n {
		at := draw.IntN(len(lines) + 1)
		many := 1 + draw.IntN(4)
		end := min(len(lines), at+many)
		switch draw.IntN(5) {
		case 0:
			lines = append(lines[:at:at], lines[end:]...)
		case 1:
			var more []string
			for range many {
				more = append(more, line())
			}
			lines = append(lines[:at:at], append(more, lines[at:]...)...)
		case 2:
			for i := at; i < end; i++ {
				lines[i] = line()
			}
		case 3: // twice
			lines = append(lines[:end:end], lines[at:]...)
		case 4: // moved
			part := append([]string(nil), lines[at:end]...)
			rest := append(lines[:at:at], lines[end:]...)
			to := draw.IntN(len(rest) + 1)
			lines = append(rest[:to:to], append(part, rest[to:]...)...)
		}
	}
	return lines
}

// Whatever git merges is merged to the same bytes, and what it does not is marked
// as it marks it.
func TestTextIsThatOfGit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ rounds, lines, kinds, changes int }{
		"short texts":               {800, 60, 60, 5},
		"hardly any other lines":    {400, 40, 3, 4},
		"long texts":                {100, 3000, 2000, 40},
		"long, of few lines":        {50, 3000, 8, 60},
		"hardly anything in common": {10, 4000, 4000, 3000},
		"nothing alike but filler":  {10, 4000, 12, 2500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, draw := newGit(t), rand.New(rand.NewPCG(1, uint64(c.lines*c.kinds)))
			clean := 0
			for range c.rounds {
				kinds := 2 + draw.IntN(c.kinds)
				line := func() string { return strings.Repeat("  ", draw.IntN(3)) + strconv.Itoa(draw.IntN(kinds)) + "\n" }
				var base []string
				for range draw.IntN(c.lines) {
					base = append(base, line())
				}
				ours := edited(draw, base, draw.IntN(c.changes), line)
				from := base
				if draw.IntN(3) == 0 {
					from = ours // both have these changes, and perhaps more
				}
				theirs := edited(draw, from, draw.IntN(c.changes), line)
				if g.same(t, ended(draw, base), ended(draw, ours), ended(draw, theirs)) {
					clean++
				}
			}
			t.Log(clean, "of", c.rounds, "were clean")
		})
	}
}

// Very long texts that are much the same but for places where hardly a line is
// left are where git takes a good difference instead of the shortest.
func TestLongTextsAreMergedAsByGit(t *testing.T) {
	t.Parallel()
	g, draw := newGit(t), rand.New(rand.NewPCG(3, 3))
	for range 12 {
		base := make([]string, 36_000)
		for i := range base {
			base[i] = strconv.Itoa(draw.IntN(12_000)) + "\n"
		}
		ours := slices.Clone(base)
		for from := draw.IntN(200); from < len(ours); {
			to := min(len(ours), from+100+draw.IntN(1500))
			part := ours[from:to]
			draw.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
			from = to + 10 + draw.IntN(1500)
		}
		line := func() string { return base[draw.IntN(len(base))] }
		theirs := edited(draw, base, 1+draw.IntN(9), line)
		g.same(t, strings.Join(base, ""), strings.Join(ours, ""), strings.Join(theirs, ""))
	}
}

// Lines that are everywhere, among others that are new, are where git does not
// look for the same line at all.
func TestRewrittenPartsAreMergedAsByGit(t *testing.T) {
	t.Parallel()
	g, draw := newGit(t), rand.New(rand.NewPCG(5, 5))
	for range 400 {
		often := 2 + draw.IntN(9)
		written := func(n int) (lines []string) {
			for range n {
				line := strconv.Itoa(draw.IntN(1<<30)) + "\n"
				if draw.IntN(often) == 0 {
					line = strings.Repeat("  ", draw.IntN(2)) + "- run:\n"
				}
				lines = append(lines, line)
			}
			return lines
		}
		base := written(60 + draw.IntN(500))
		rewritten := func() string {
			lines := base
			for range 1 + draw.IntN(3) {
				from := draw.IntN(len(lines))
				to := min(len(lines), from+draw.IntN(150))
				lines = slices.Concat(lines[:from], written(draw.IntN(150)), lines[to:])
			}
			return strings.Join(lines, "")
		}
		g.same(t, strings.Join(base, ""), rewritten(), rewritten())
	}
}

// ended joins lines, sometimes without the end of the last one.
func ended(draw *rand.Rand, lines []string) string {
	text := strings.Join(lines, "")
	if draw.IntN(5) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

// same fails unless the merge is that of git, and reports whether it was clean.
func (g git) same(t *testing.T, base, ours, theirs string) bool {
	t.Helper()
	want, wantClean := g.merge(t, base, ours, theirs)
	got, clean := merge.Text([]byte(base), []byte(ours), []byte(theirs))
	if clean != wantClean || string(got) != want {
		require.Equal(t, want, string(got), "of %q, %q and %q", base, ours, theirs)
		require.Equal(t, wantClean, clean)
	}
	return clean
}

// triples is how many files are merged by git and here. Each costs a process.
const triples = 600

// Files as the platform writes them, changed as people and programs do: whatever
// git merges is merged to the same bytes.
func TestCanonicalFilesAreMergedAsByGit(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]*document.Kind{"index": document.Index, "automations": document.Automation, "pages": document.Page} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, a := newGit(t), author{rand.New(rand.NewPCG(7, uint64(len(name))))}
			clean := 0
			for range triples / 3 {
				base := a.document()
				texts := [3]string{}
				for i, doc := range []*document.Map{base, a.edited(base, 1+a.IntN(3)), a.edited(base, 1+a.IntN(3))} {
					text, err := kind.Text(doc)
					require.NoError(t, err)
					texts[i] = string(text)
				}
				if g.same(t, texts[0], texts[1], texts[2]) {
					clean++
				}
			}
			require.Greater(t, clean, triples/3/4, "hardly anything was merged")
			require.Less(t, clean, triples/3, "nothing collided")
		})
	}
}

// author writes documents and changes them.
type author struct{ *rand.Rand }

func (a author) word() string {
	return strings.Fields("set emit wait run call name value event order mail user total {{body.amount}} a: yes 12 #x")[a.IntN(16)]
}

func (a author) document() *document.Map {
	m := document.MapOf(document.Pair{Key: "slug", Value: "charge"}, document.Pair{Key: "name", Value: a.word()})
	for _, key := range []string{"description", "labels", "when", "config", "do", "blocks", "output", "extra"} {
		switch {
		case a.IntN(4) == 0:
		case key == "labels":
			m.Set(key, []any{a.word(), a.word(), a.word()})
		case key == "do" || key == "blocks":
			m.Set(key, a.list(2))
		case key == "description":
			m.Set(key, a.lines())
		default:
			m.Set(key, a.mapping(2))
		}
	}
	return m
}

func (a author) lines() string {
	var b strings.Builder
	for range 1 + a.IntN(6) {
		b.WriteString(a.word() + " " + a.word() + "\n")
	}
	return b.String()
}

func (a author) list(depth int) []any {
	var list []any
	for range a.IntN(6) {
		list = append(list, document.MapOf(document.Pair{Key: a.word(), Value: a.value(depth)}))
	}
	return list
}

func (a author) mapping(depth int) *document.Map {
	m := document.MapOf()
	for range a.IntN(5) {
		m.Set(a.word(), a.value(depth))
	}
	return m
}

func (a author) value(depth int) any {
	switch n := a.IntN(6); {
	case n == 0 && depth > 0:
		return a.list(depth - 1)
	case n <= 2 && depth > 0:
		return a.mapping(depth - 1)
	case n == 3:
		return a.lines()
	case n == 4:
		return float64(a.IntN(3))
	default:
		return a.word()
	}
}

// edited returns m with n changes, anywhere in it.
func (a author) edited(m *document.Map, n int) *document.Map {
	m = m.Copy()
	for range n {
		keys := m.Keys()
		if len(keys) < 2 || a.IntN(8) == 0 {
			m.Set(fmt.Sprintf("new%d", a.IntN(3)), a.value(2))
			continue
		}
		key := keys[1+a.IntN(len(keys)-1)] // the slug stays
		v, _ := m.Get(key)
		if a.IntN(10) == 0 {
			m.Delete(key)
			continue
		}
		m.Set(key, a.changed(v))
	}
	return m
}

func (a author) changed(v any) any {
	switch v := v.(type) {
	case *document.Map:
		return a.edited(v, 1)
	case []any:
		at := a.IntN(len(v) + 1)
		switch {
		case at == len(v) || a.IntN(3) == 0:
			return append(append(v[:at:at], a.changed("")), v[at:]...)
		case a.IntN(3) == 0:
			return append(v[:at:at], v[at+1:]...)
		}
		return append(append(v[:at:at], a.changed(v[at])), v[at+1:]...)
	case string:
		if strings.Contains(v, "\n") && a.IntN(2) == 0 {
			return v + a.lines()
		}
	}
	return a.word()
}
