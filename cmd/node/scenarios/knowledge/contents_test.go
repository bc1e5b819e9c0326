package knowledge_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/extract/extracttest"
)

// Files are uploaded, read and found. Rows 10 to 13 of the knowledge contract's conformance list; commands/extract reads
// more of them.
func TestContentsOfFiles(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "KNOWLEDGE_EXTRACT_TIMEOUT=20").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"FAQ"}`)
	base := p.Path + "/knowledgeBases/faq"
	all := base + "/documents"
	// upload posts files, names and contents in turn, and waits until each is ready or an error.
	upload := func(t *testing.T, files ...string) (docs []map[string]any) {
		t.Helper()
		got := postFiles(t, p, all, nil, files...)
		require.Equal(t, 201, got.StatusCode, "%s", got.Body)
		require.NoError(t, json.Unmarshal(got.Body, &docs))
		for i := range docs {
			require.Eventually(t, func() bool {
				docs[i] = p.Do(t, 200, "GET", all+"/"+docs[i]["id"].(string), "").JSON(t)
				return docs[i]["status"] == "ready" || docs[i]["status"] == "error"
			}, 2*time.Minute, 50*time.Millisecond, "%s", files[2*i])
		}
		return docs
	}
	part := func(doc map[string]any, name string) string {
		return string(p.Do(t, 200, "GET", all+"/"+doc["id"].(string)+"/"+name, "").Body)
	}
	reasons := func(docs []map[string]any) (list []any) {
		for _, doc := range docs {
			list = append(list, nodetest.ObjectAt(doc, "error")["reason"])
		}
		return list
	}
	found := func(query string) []string { return search(t, p, "faq", `{"query":"`+query+`"}`).names() }

	t.Run("pages of a PDF, rows of tables", func(t *testing.T) {
		page := strings.Repeat("A line about invoices.\n", 50)
		docs := upload(t, "manual.pdf", string(extracttest.Pages("", "First page\n"+page, "Second page\n"+page, "Third page\n"+page)),
			"prices.xlsx", string(extracttest.XLSX(t, `<row><c r="A1" t="inlineStr"><is><t>Name</t></is></c><c r="B1" t="inlineStr"><is><t>Price</t></is></c></row><row><c r="A2" t="inlineStr"><is><t>Tea</t></is></c><c r="B2"><v>2.5</v></c></row>`, nil)),
			"sizes.csv", "name;size\nCar;3\nBus;9\n")
		require.Equal(t, []any{"ready", "ready", "ready"}, nodetest.Fields(docs, "status"), docs)
		pages := map[float64]string{}
		for _, c := range p.Do(t, 200, "GET", all+"/"+docs[0]["id"].(string)+"/chunks", "").List(t) {
			page, _ := c["page"].(float64)
			pages[page] += c["text"].(string)
		}
		require.Len(t, pages, 3)
		require.Contains(t, pages[1], "First page")
		require.Contains(t, pages[2], "Second page")
		require.Contains(t, pages[3], "Third page")
		require.Equal(t, "## Prices\n\nName: Tea\nPrice: 2.5", part(docs[1], "text"))
		require.Equal(t, "name: Car\nsize: 3\n\nname: Bus\nsize: 9", part(docs[2], "text"))
		require.Contains(t, part(docs[1], "chunks"), "Name: Tea")
	})

	t.Run("files without a text, and one of another name", func(t *testing.T) {
		docs := upload(t, "locked.pdf", string(extracttest.EncryptedPDF()), "scan.pdf", string(extracttest.Pages("", "", "")),
			"empty.txt", "", "photo.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "letter.pdf", string(extracttest.DOCX(t, `<w:p><w:r><w:t>Dear customer</w:t></w:r></w:p>`)))
		require.Equal(t, []any{"encrypted", "no_text", "empty", "unsupported_type", nil}, reasons(docs), docs)
		require.Equal(t, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", docs[4]["mimetype"])
		require.Equal(t, "Dear customer\n\nA note.", part(docs[4], "text"))
	})

	t.Run("hostile files among others", func(t *testing.T) {
		docs := upload(t, "before.txt", "Before the hostile ones.", "bomb.docx", string(extracttest.BombDOCX(t)), "entities.docx", string(extracttest.EntitiesDOCX(t)),
			"loop.pdf", string(extracttest.LoopingPDF()), "after.txt", "After the hostile ones.", "after.pdf", string(extracttest.Pages("", "Hostile no more")))
		require.Equal(t, []any{"ready", "error", "error", "error", "ready", "ready"}, nodetest.Fields(docs, "status"), docs)
		require.Equal(t, []any{"too_large", "corrupt", "extraction_timeout"}, reasons(docs[1:4]), docs)
		s.Await(t, "/readyz", 200)
		require.ElementsMatch(t, []string{"before.txt", "after.txt", "after.pdf"}, found("hostile"))
	})

	t.Run("text in Windows-1252, and a short one", func(t *testing.T) {
		french := strings.Repeat("Le cheval est dans le pr\xe9 avec les autres et il ne sort pas de la prairie \x80. ", 3) + "Un caf\xe9."
		docs := upload(t, "pr\u00e9.txt", french, "short.txt", "Zwanzig kleine rote Haeuser gebaut")
		require.Equal(t, []any{"ready", "ready"}, nodetest.Fields(docs, "status"), docs)
		require.Contains(t, part(docs[0], "text"), "dans le pr\u00e9 avec")
		require.Contains(t, part(docs[0], "text"), "prairie \u20ac. Le")
		require.Equal(t, []any{"fr", "und"}, nodetest.Fields(docs, "language"))
		require.Equal(t, []string{"pr\u00e9.txt"}, found("chevaux"))
		require.Equal(t, []string{"short.txt"}, found("haeuser"))
	})
}
