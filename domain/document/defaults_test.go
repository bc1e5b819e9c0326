package document_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/document"
)

// What is so anyway is not written, and is shown again when the document is completed.
func TestDefaultsAreNotWritten(t *testing.T) {
	t.Parallel()
	doc := document.MapOf(
		document.Pair{Key: "search", Value: document.MapOf(
			document.Pair{Key: "boosts", Value: document.MapOf(document.Pair{Key: "headings", Value: 1.5}, document.Pair{Key: "title", Value: 3.0})},
			document.Pair{Key: "weights", Value: document.MapOf(document.Pair{Key: "text", Value: 1.0})},
			document.Pair{Key: "limit", Value: 10.0},
		)},
		document.Pair{Key: "language", Value: "auto"},
		document.Pair{Key: "chunking", Value: document.MapOf(document.Pair{Key: "overlap", Value: 150.0}, document.Pair{Key: "size", Value: 1500.0})},
		document.Pair{Key: "name", Value: "FAQ"},
	)
	text, err := document.Knowledge.Text(doc)
	require.NoError(t, err)
	require.Equal(t, "name: FAQ\nsearch:\n  boosts:\n    title: 3\n", string(text))

	whole, err := document.JSON(document.Knowledge.Complete(document.Knowledge.Canonical(doc)))
	require.NoError(t, err)
	require.Equal(t, `{"name":"FAQ","language":"auto","chunking":{"strategy":"structure","size":1500,"overlap":150},`+
		`"search":{"boosts":{"title":3,"headings":1.5},"mode":"auto","limit":10,"weights":{"text":1,"vector":1},"minSimilarity":0},"answer":{"topK":8,"temperature":0.2,"maxTokens":1000}}`, string(whole))

	text, err = document.Knowledge.Text(document.Knowledge.Complete(document.MapOf()))
	require.NoError(t, err)
	require.Equal(t, "{}\n", string(text))
}

func TestSlugsOfKnowledgeBases(t *testing.T) {
	t.Parallel()
	for slug, valid := range map[string]bool{"faq": true, "a-1": true, "search": false, "ask": false, "A": false, "a/b": false, "-a": false, "a_b": false, "": false} {
		require.Equal(t, valid, document.Knowledge.HasSlug(slug), slug)
	}
}
