package extract

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/knowledge"
)

func TestASharedChildEndsWithAnyFault(t *testing.T) {
	t.Parallel()
	x, err := New(Options{Executable: os.Args[0]})
	require.NoError(t, err)
	t.Cleanup(x.Close)
	for _, content := range []string{" ", "\x89PNG\r\n\x1a\n\x00", "<html><script>x</script></html>"} {
		_, err := x.Extract(t.Context(), File{Content: []byte("text")})
		require.NoError(t, err)
		require.Len(t, x.idle, 1)
		_, err = x.Extract(t.Context(), File{Content: []byte(content)})
		require.Error(t, err)
		require.Empty(t, x.idle, "%q", content)
	}
}

// Whatever the bytes are, reading text of any kind ends with a document or with an Error. PDFs are left to their
// process.
func FuzzRead(f *testing.F) {
	f.Add([]byte("---\ntitle: [\n---\n# x"), "a.md")
	f.Add([]byte("a;b\n\"x"), "a.csv")
	f.Add([]byte("<table><tr><td><ul><li>x<p>y</table>"), "a.html")
	f.Add([]byte("PK\x03\x04"), "a.docx")
	f.Fuzz(func(t *testing.T, content []byte, name string) {
		if isPDF(content) {
			return
		}
		d, err := read(File{Name: name, Content: content}, 1000)
		if err != nil {
			return
		}
		if d.Text == "" || d.Text != knowledge.Normalise(d.Text) || len([]rune(d.Text)) > 1000 {
			t.Fatalf("%q", d.Text)
		}
	})
}
