//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/stretchr/testify/require"
)

// uploadFile stores a file in a workspace beside the browser, and returns it.
func (p *person) uploadFile(t *testing.T, workspace, name string, content []byte) (file map[string]any) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	require.NoError(t, err)
	_, err = part.Write(content)
	require.NoError(t, err)
	require.NoError(t, form.Close())
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.s.base+"/v2/workspaces/"+workspace+"/files", &body)
	require.NoError(t, err)
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+p.token)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	answered, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, res.StatusCode, "%s", answered)
	var files []map[string]any
	require.NoError(t, json.Unmarshal(answered, &files))
	return files[0]
}

// onePixel is a picture.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// onePage is a document of one empty page.
const onePage = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/MediaBox[0 0 300 200]/Parent 2 0 R>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"

// #36: of two files that are dropped the one that is too large is refused before it is sent, with the limit; the other
// arrives. Who can read a file is said where it is changed.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada := s.person(t, "Ada")
	id := ada.workspace(t, "Shop")
	w := "/v2/workspaces/" + id
	sh := newSheet(t, "files")
	b := s.open(t)
	b.signIn(ada)
	b.visit("w/" + id)
	b.see("heading", "Recent changes")
	b.press("g", "f")
	b.awaitAt("w/" + id + "/files")
	b.see("heading", "No files yet")
	sh.capture(b, "empty")

	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	b.drop(write("large.bin", bytes.Repeat([]byte("x"), 11_000_000)))
	b.seeText("Not sent: it has 11 MB, 10 MB are allowed.")
	b.drop(write("clip.mp4", []byte("moving pictures")))
	b.seeText("Not sent: files of the type video/mp4 are not taken here.")
	require.Empty(t, b.requests("POST "+w+"/files"), "refused before they are sent")
	sh.capture(b, "refused")
	b.drop(write("fits.bin", bytes.Repeat([]byte("x"), 9_000_000)))
	b.await(firstRow)
	b.seeText("fits.bin")
	require.Len(t, b.requests("POST "+w+"/files"), 1)
	b.click("button", "Put large.bin away")
	b.gone("button", "Put large.bin away")
	b.click("button", "Put clip.mp4 away")
	b.gone("button", "Put clip.mp4 away")

	// Others that arrive are shown without asking for them.
	pixel, err := base64.StdEncoding.DecodeString(onePixel)
	require.NoError(t, err)
	picture := ada.uploadFile(t, id, "<b>dot.png", pixel)["id"].(string)
	text := ada.uploadFile(t, id, "notes.txt", []byte("A <script>alert(1)</script> line"))["id"].(string)
	markup := ada.uploadFile(t, id, "page.html", []byte("<h1 class=injected>Page</h1>"))["id"].(string)
	b.await(`document.querySelectorAll('[role=row][data-index]').length === 4`)
	sh.capture(b, "filled")
	b.resize(360, 740)
	b.awaitLayout()
	require.True(t, eval[bool](b, `[...document.querySelectorAll('[role=table]')].every((one) => one.scrollHeight <= one.clientHeight)`), "the list does not scroll in itself")
	b.resize(1280, 800)

	b.visit("w/" + id + "/files?file=" + picture)
	b.see("image", "Picture <b>dot.png")
	b.await(`document.querySelector('aside img').naturalWidth === 1`)
	sh.capture(b, "picture")
	anonymous := func(url string) int {
		res, err := http.Get(url)
		require.NoError(t, err)
		_ = res.Body.Close()
		return res.StatusCode
	}
	address := ada.do(t, http.StatusOK, "GET", w+"/files/"+picture, nil)["url"].(string)
	require.NotEqual(t, http.StatusOK, anonymous(address))
	b.click("checkbox", "Everyone can read it Only those who may read files here, or have a share link, can read it.")
	b.seeText("Whoever knows the address can read it, without signing in.")
	require.Equal(t, http.StatusOK, anonymous(address))

	b.visit("w/" + id + "/files?file=" + text)
	b.see("textbox", "Text of notes.txt")
	require.Equal(t, "A <script>alert(1)</script> line", b.valueOf("Text of notes.txt"))
	b.click("button", "Share link")
	b.see("dialog", "Share notes.txt")
	b.choose("Valid for", "7 days")
	b.click("button", "Make the link")
	b.seeText("Valid until")
	sh.capture(b, "share")
	require.Equal(t, http.StatusOK, anonymous(eval[string](b, `document.querySelector('dialog[open] code').textContent`)))
	b.press("Escape")
	b.gone("dialog", "Share notes.txt")
	other := write("other.txt", []byte("Other words"))
	at := call(b, runtime.Evaluate, runtime.EvaluateParams{Expression: `document.querySelector('aside input[type=file]')`})
	call(b, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{other}, ObjectID: at.Result.ObjectID})
	b.await(`document.querySelector('aside textarea')?.value === 'Other words'`)

	document := ada.uploadFile(t, id, "report.pdf", []byte(onePage))["id"].(string)
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{ // a browser without windows shows none
		Source: `Object.defineProperty(Navigator.prototype, 'pdfViewerEnabled', { get: () => true })`,
	})
	b.visit("w/" + id + "/files?file=" + document)
	b.await(`document.querySelector('aside iframe')?.title === 'Document report.pdf' && document.querySelector('aside iframe').src.includes('report.pdf#')`)
	sh.capture(b, "document")

	// What could run something is never opened here.
	b.visit("w/" + id + "/files?file=" + markup)
	b.seeText("This type is not shown here.")
	require.Equal(t, 0, eval[int](b, `document.querySelectorAll('.injected, iframe').length`))
	b.click("button", "Delete")
	b.see("dialog", "Delete page.html?")
	sh.capture(b, "delete")
	b.click("button", "Delete the file")
	b.gone("dialog", "Delete page.html?")
	b.await(`document.querySelectorAll('[role=row][data-index]').length === 4`)
	b.fillAs("searchbox", "Filter files", "dot")
	b.await(`document.querySelectorAll('[role=row][data-index]').length === 1`)
	b.fillAs("searchbox", "Filter files", strings.Repeat("nothing", 3))
	b.see("heading", "No match")
	sh.capture(b, "no match")
}
