package automation_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/automation"
	"svc/domain/domaintest"
)

// fromYAML reads a document and keeps the order of its keys.
func fromYAML(t *testing.T, text string) any {
	t.Helper()
	return domaintest.ParseYAML(t, text)
}

// golden is a block of testdata/documents.txt.
type golden struct {
	title  string
	doc    any
	faults []string
}

func readGolden(t *testing.T) []golden {
	t.Helper()
	file, err := os.ReadFile("testdata/documents.txt")
	require.NoError(t, err)
	var all []golden
	for i, block := range strings.Split("\n"+string(file), "\n== ") {
		title, rest, _ := strings.Cut(block, "\n")
		text, faults, ok := strings.Cut(rest+"\n", "--\n")
		if i == 0 {
			continue
		}
		require.True(t, ok, title)
		if strings.HasPrefix(text, "- ") {
			text = "name: t\ndo:\n" + text
		}
		g := golden{title: title, doc: fromYAML(t, text)}
		for line := range strings.Lines(faults) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				g.faults = append(g.faults, line)
			}
		}
		all = append(all, g)
	}
	return all
}

func written(f automation.Fault) string {
	level := "error"
	switch {
	case f.Warning:
		level = "warning"
	case f.Code == domain.CodeInvalidRequest:
		level = "request"
	}
	return fmt.Sprintf("%s %s: %s", level, f.Field, f.Message)
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, g := range readGolden(t) {
		t.Run(g.title, func(t *testing.T) {
			t.Parallel()
			_, faults := automation.Parse(g.doc, automation.Rules{})
			left := []string{}
			for _, f := range faults {
				left = append(left, written(f))
			}
			for _, want := range g.faults {
				head, part, _ := strings.Cut(want, ": ")
				found := slices.IndexFunc(left, func(got string) bool {
					return strings.HasPrefix(got, head+": ") && strings.Contains(got, part)
				})
				require.GreaterOrEqual(t, found, 0, "missing %q of\n%s", want, strings.Join(left, "\n"))
				left = slices.Delete(left, found, found+1)
			}
			require.Empty(t, left)
		})
	}
}
