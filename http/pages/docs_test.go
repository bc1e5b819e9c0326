package pages_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/page"
)

// docs/pages.md shows every block, with a picture that make blocks takes.
func TestEveryBlockIsDocumented(t *testing.T) {
	const docs = "../../docs"
	text, err := os.ReadFile(filepath.Join(docs, "pages.md"))
	require.NoError(t, err)
	var shown []string
	for _, section := range regexp.MustCompile("(?s)### (\\w+)\n\n!\\[\\w+\\]\\((pages/[\\w-]+\\.png)\\)\n\n```yaml\nslug: .*?```\n\nEvents: ").FindAllStringSubmatch(string(text), -1) {
		shown = append(shown, section[1])
		require.FileExists(t, filepath.Join(docs, section[2]), "run: make blocks")
	}
	require.Equal(t, page.BuiltIn, shown)
}
