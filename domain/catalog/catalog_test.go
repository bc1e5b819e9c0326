package catalog_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/automation"
	"svc/domain/catalog"
)

var update = flag.Bool("update", false, "rewrite testdata/event_types.txt and docs/events.md")

// The list of stored type names only ever grows: a line that leaves this file
// is a stream that no longer opens.
func TestEventTypesGolden(t *testing.T) {
	names := slices.Sorted(maps.Keys(catalog.Events()))
	golden(t, "testdata/event_types.txt", strings.Join(names, "\n")+"\n")
}

func TestEventDocsGolden(t *testing.T) {
	golden(t, "../../docs/events.md", catalog.Docs())
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run: go test ./domain/catalog -update")
	if string(want) != got {
		t.Errorf("%s is out of date from line %d on; run: go test ./domain/catalog -update", file, firstDifference(string(want), got))
	}
}

// firstDifference returns the number of the first line that a and b do not share.
func firstDifference(a, b string) int {
	of := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(of) || of[i] != line {
			return i + 1
		}
	}
	return len(strings.Split(a, "\n"))
}

// A type name is a subject and a word of the API: it is written as the catalogue
// writes names, and its row says what it means.
func TestEveryRowIsComplete(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][A-Za-z]*(\.[a-z][A-Za-z]*)*$`)
	for _, f := range catalog.Table() {
		require.Regexp(t, name, f.Name)
		require.Contains(t, domain.Logs(), f.Log, f.Name)
		require.Positive(t, f.Schema, f.Name)
		require.Regexp(t, `^[A-Z].*\.$`, f.Summary, f.Name)
	}
}

// Whatever is in the table opens again, and opens as itself.
func TestEveryTypeSurvivesItsOwnJSON(t *testing.T) {
	events := catalog.Events()
	for name := range events {
		t.Run(name, func(t *testing.T) {
			zero, err := events.Decode(name, []byte(`{}`))
			require.NoError(t, err)
			require.Equal(t, name, zero.EventType())
			body, err := json.Marshal(zero)
			require.NoError(t, err)
			again, err := events.Decode(name, body)
			require.NoError(t, err)
			require.Equal(t, zero, again)
		})
	}
}

func TestDocsNameEveryTypeAndItsFields(t *testing.T) {
	page := catalog.Docs()
	for _, f := range catalog.Table() {
		require.Contains(t, page, "\n### "+f.Name+"\n")
	}
	for _, row := range []string{
		"| `fromWorkspace.slug` | text |",
		"| `details` | object, optional |",
		"| `source.http.method` | text, optional |",
		"| `source.automationDepth` | whole number, optional |",
	} {
		require.Contains(t, page, row)
	}
}

// A type that automations could emit would be taken for one of the platform.
func TestAutomationsCannotEmitTypesOfThePlatform(t *testing.T) {
	for _, f := range catalog.Table() {
		if f.Name != "error" && f.Name != "usage" {
			require.True(t, automation.Native(f.Name), "add %s to natives in domain/automation/when.go", f.Name)
		}
	}
}
