package extract_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/commands/extract"
	"svc/commands/extract/extracttest"
	"svc/domain/kbdocument"
	"svc/domain/knowledge"
)

// The test binary is also the child.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "extract" {
		if err := extract.Main(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, o extract.Options) *extract.Extractor {
	t.Helper()
	var err error
	o.Executable, err = os.Executable()
	require.NoError(t, err)
	x, err := extract.New(o)
	require.NoError(t, err)
	t.Cleanup(x.Close)
	return x
}

// reasonOf returns why a file was refused.
func reasonOf(t testing.TB, err error) string {
	t.Helper()
	refused, ok := errors.AsType[*extract.Error](err)
	require.True(t, ok, "%v", err)
	return refused.Reason
}

// manyTags returns t0, t1, and so on.
func manyTags(n int) string {
	tags := make([]string, n)
	for i := range tags {
		tags[i] = fmt.Sprint("t", i)
	}
	return strings.Join(tags, ", ")
}

func TestFilesAreRead(t *testing.T) {
	t.Parallel()
	x := open(t, extract.Options{})
	for name, c := range map[string]struct {
		file extract.File
		want extract.Document
	}{
		"text": {
			extract.File{Name: "a.txt", Content: []byte("\xef\xbb\xbfOne.\r\n\r\n\r\n\r\nTwo. ")},
			extract.Document{Mimetype: "text/plain", Text: "One.\n\nTwo."},
		},
		"text in Windows-1252": {
			extract.File{Name: "a.txt", Content: []byte("Un caf\xe9 \x80")},
			extract.Document{Mimetype: "text/plain", Text: "Un café €"},
		},
		"text in UTF-16": {
			extract.File{Name: "a", Content: []byte("\xff\xfeh\x00\xe9\x00")},
			extract.Document{Mimetype: "text/plain", Text: "hé"},
		},
		"markdown with front matter": {
			extract.File{Name: "a.md", Content: []byte("---\ntitle: Guide\ntags: [a, b]\nlanguage: fr\n---\n# Other\n\nText.")},
			extract.Document{Mimetype: "text/markdown", Title: "Guide", Tags: []string{"a", "b"}, Language: "fr", Text: "# Other\n\nText."},
		},
		"markdown, a language with a region and tags that are too long or too many": {
			extract.File{Name: "a.md", Content: []byte("---\nlanguage: pt_BR\ntags: [\"" + strings.Repeat("x", 61) + "\", t0, \"a\\tb\", " + manyTags(60) + "]\n---\nText.")},
			extract.Document{Mimetype: "text/markdown", Tags: strings.Split(manyTags(50), ", "), Language: "pt", Text: "Text.", Warnings: []string{"tags_left_out"}},
		},
		"markdown, a language that is not known": {
			extract.File{Name: "a.md", Content: []byte("---\nlanguage: Klingon\ntags: a, , " + strings.Repeat("é", 60) + "\n---\nText.")},
			extract.Document{Mimetype: "text/markdown", Tags: []string{"a", strings.Repeat("é", 60)}, Text: "Text."},
		},
		"markdown, the title is the first heading": {
			extract.File{Mimetype: "text/markdown; charset=utf-8", Content: []byte("Before\n\n# Guide #\n\nText.")},
			extract.Document{Mimetype: "text/markdown", Title: "Guide", Text: "Before\n\n# Guide #\n\nText."},
		},
		"JSON": {
			extract.File{Name: "a.json", Content: []byte(`{"a": 1}`)},
			extract.Document{Mimetype: "application/json", Text: `{"a": 1}`},
		},
		"CSV": {
			extract.File{Name: "a.csv", Content: []byte("Name;Price\n\"Tea; green\";2,50\nCoffee;3\n")},
			extract.Document{Mimetype: "text/csv", Text: "Name: Tea; green\nPrice: 2,50\n\nName: Coffee\nPrice: 3"},
		},
		"HTML": {
			extract.File{Mimetype: "text/html; charset=iso-8859-1", Content: []byte(`<!DOCTYPE html><html><head><title>A &amp; B</title><style>x{}</style></head>
				<body><nav>Menu</nav><h1>Caf` + "\xe9" + `</h1><p>One <b>two</b>, <a href="x">three</a>.<br>Next</p><script>alert(1)</script><p hidden>no</p><div style="display: none">no</div>
				<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul><table><tr><th>K</th><th>V</th></tr><tr><td>x|y</td><td>1</td></tr></table><pre>code
  here</pre><footer>Foot</footer></body></html>`)},
			extract.Document{Mimetype: "text/html", Title: "A & B", Text: "Menu\n\n# Café\n\nOne two, three.\nNext\n\n- a\n  - b\n- c\n\n| K | V |\n|---|---|\n| x\\|y | 1 |\n\n```\ncode\n  here\n```\n\nFoot"},
		},
		"HTML, the main part": {
			extract.File{Name: "a.html", Content: []byte(`<html><head><meta charset="utf-8"><meta property="og:title" content="Shown"></head><body><div><p>Cookies?</p></div><article><p>` + strings.Repeat("Useful text. ", 30) + `</p></article></body></html>`)},
			extract.Document{Mimetype: "text/html", Title: "Shown", Text: strings.TrimSpace(strings.Repeat("Useful text. ", 30))},
		},
		"HTML, a long page without what is around its main part": {
			extract.File{Name: "a.html", Content: []byte(`<body><nav>Menu</nav><main><p>` + strings.Repeat("Useful text. ", 30) + `</p><ul><li>a<nav>Menu</nav></ul><aside>Ad</aside></main><footer>Foot</footer></body>`)},
			extract.Document{Mimetype: "text/html", Text: strings.TrimSpace(strings.Repeat("Useful text. ", 30)) + "\n\n- a"},
		},
		"HTML, parts that a selector names": {
			extract.File{Name: "a.html", Content: []byte(`<body><nav>Menu</nav><main><p>Text</p><aside>See also</aside></main><footer>Foot</footer></body>`), Selector: kbdocument.Selector{CSS: "nav, main, footer"}},
			extract.Document{Mimetype: "text/html", Text: "Menu\n\nText\n\nSee also\n\nFoot"},
		},
		"HTML, text beside the items of lists and the rows of tables": {
			extract.File{Name: "a.html", Content: []byte(`<ul>Before <b>all</b><li>a</li><ul><li>b</li></ul><div><li>c</li></div><p>d</p></ul><ol><ol><li>e</li></ol></ol>
				<table><caption>Prices of <i>tea</i></caption><tr><th>K</th></tr><tr><td>x</td></tr></table><table><caption>Places</caption><tr><td><h2>Left</h2></td></tr></table>`)},
			extract.Document{Mimetype: "text/html", Text: "- Before all\n- a\n  - b\n- c d\n\n  - e\n\nPrices of tea\n\n| K |\n|---|\n| x |\n\nPlaces\n\n## Left"},
		},
		"PDF": {
			extract.File{Content: extracttest.Pages("/Info << /Title (The title) >>", "First page\nsecond line", "", "Third page")},
			extract.Document{Mimetype: "application/pdf", Title: "The title", Text: "First page\nsecond line\n\nThird page", Pages: []int{0, 24, 24}},
		},
		"PDF of a later version, with other bytes around it": {
			extract.File{Content: append(bytes.Replace(extracttest.Pages("", "Text"), []byte("%PDF-1.4"), []byte("%PDF-2.0"), 1), "\n\x00\x00rubbish"...)},
			extract.Document{Mimetype: "application/pdf", Text: "Text", Pages: []int{0}},
		},
		"DOCX, whatever it is called": {
			extract.File{Name: "a.pdf", Mimetype: "application/pdf", Content: extracttest.DOCX(t, `<w:p><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr><w:r><w:t>Title</w:t></w:r></w:p>
				<w:p><w:r><w:t xml:space="preserve">Some </w:t></w:r><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>
				<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>a</w:t></w:r></w:p><w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>b</w:t></w:r></w:p>
				<w:tbl><w:tr><w:tc><w:p><w:r><w:t>K</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>V</w:t></w:r></w:p></w:tc></w:tr><w:tr><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc></w:tr></w:tbl>`)},
			extract.Document{Mimetype: "application/vnd.openxmlformats-officedocument.wordprocessingml.document", Title: "Title", Text: "# Title\n\nSome new\n\n- a\n- b\n\n| K | V |\n|---|---|\n| x |  |\n\nA note."},
		},
		"DOCX with text boxes": {
			extract.File{Name: "a.docx", Content: extracttest.DOCX(t, `<w:p><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr><w:r><w:t>Before</w:t></w:r><w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">
				<mc:Choice Requires="wps"><w:drawing><w:txbxContent><w:p><w:r><w:t>In the box</w:t></w:r></w:p><w:p><w:r><w:t>and below</w:t></w:r></w:p></w:txbxContent></w:drawing></mc:Choice>
				<mc:Fallback><w:pict><w:txbxContent><w:p><w:r><w:t>In the box</w:t></w:r></w:p><mc:AlternateContent><mc:Choice/></mc:AlternateContent></w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r><w:r><w:t xml:space="preserve"> and after </w:t></w:r>
				<w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice Requires="w16se"><w16se:symEx w16se:char="1F60A"/></mc:Choice><mc:Fallback><w:t>?</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>`)},
			extract.Document{Mimetype: "application/vnd.openxmlformats-officedocument.wordprocessingml.document", Title: "Before and after 😊", Text: "In the box\n\nand below\n\n# Before and after 😊\n\nA note."},
		},
		"XLSX": {
			extract.File{Name: "a.xlsx", Content: extracttest.XLSX(t, `<row><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>Since</t></is></c></row>
					<row><c r="A2" t="s"><v>1</v></c><c r="B2"><f>1+1</f><v>2.5000000000000001</v></c><c r="C2" s="1"><v>45292</v></c></row>`, map[string]string{
				"xl/sharedStrings.xml": `<sst ` + extracttest.SheetNS + `><si><t>Name</t></si><si><r><t>Te</t></r><r><t>a</t></r></si></sst>`,
				"xl/styles.xml":        `<styleSheet ` + extracttest.SheetNS + `><numFmts><numFmt numFmtId="170" formatCode="yyyy\-mm\-dd"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs></styleSheet>`,
			})},
			extract.Document{Mimetype: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", Text: "## Prices\n\nName: Tea\ncolumn 2: 2.5\nSince: 2024-01-01"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := x.Extract(t.Context(), c.file)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, got.Text, knowledge.Normalise(got.Text))
		})
	}
}

func TestFilesWithoutTextAreRefused(t *testing.T) {
	t.Parallel()
	x := open(t, extract.Options{})
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":                   {nil, extract.Empty},
		"white space":             {[]byte(" \n\t "), extract.Empty},
		"PNG":                     {[]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), extract.Unsupported},
		"zip":                     {extracttest.Zip(t, map[string]string{"a.txt": "a"}), extract.Unsupported},
		"office before 2007":      {[]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), extract.Unsupported},
		"encrypted office":        {[]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00"), extract.Encrypted},
		"encrypted PDF":           {extracttest.EncryptedPDF(), extract.Encrypted},
		"scan":                    {extracttest.Pages("", "", ""), extract.NoText},
		"PDF without a table":     {[]byte("%PDF-1.4\nnothing\n%%EOF"), extract.Corrupt},
		"PDF cut short":           {extracttest.Pages("", "page")[:300], extract.Corrupt},
		"DOCX cut short":          {extracttest.DOCX(t, "<w:p/>")[:200], extract.Corrupt},
		"DOCX with broken XML":    {extracttest.DOCX(t, "<w:p><w:r>"), extract.Corrupt},
		"DOCX without text":       {extracttest.Zip(t, map[string]string{"word/document.xml": "<document/>"}), extract.NoText},
		"zip bomb":                {extracttest.BombDOCX(t), extract.TooLarge},
		"XML entities":            {extracttest.EntitiesDOCX(t), extract.Corrupt},
		"elements in each other":  {extracttest.DOCX(t, strings.Repeat("<w:x>", 100_000)), extract.Corrupt},
		"HTML with scripts alone": {[]byte("<html><script>x</script></html>"), extract.NoText},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := x.Extract(t.Context(), extract.File{Content: c.content})
			require.Equal(t, c.want, reasonOf(t, err), "%v", err)
		})
	}
}

// Whatever a PDF does to its parser, the service goes on.
func TestHostilePDFsEndInABoundedError(t *testing.T) {
	t.Parallel()
	x := open(t, extract.Options{Timeout: 3 * time.Second, MemoryMB: 128})
	for name, content := range map[string][]byte{
		"pages that contain each other": extracttest.LoopingPDF(),
		"a table that comes before itself": bytes.Replace(extracttest.Pages("/Prev 99999 ", "x"), []byte("/Prev 99999"),
			fmt.Appendf(nil, "/Prev %05d", bytes.Index(extracttest.Pages("/Prev 99999 ", "x"), []byte("xref\n"))), 1),
		"more objects than memory": bytes.Replace(extracttest.Pages("", "x"), []byte("xref\n0 6"), []byte("xref\n0 2000000000"), 1),
		"a page of all text":       extracttest.PDF("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Parent 2 0 R /Contents 3 0 R >>"),
		"arrays in each other":     extracttest.PDF("", "<< /Type /Catalog /Pages "+strings.Repeat("[", 3_000_000)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := x.Extract(ctx, extract.File{Content: content})
			require.Contains(t, []string{extract.Corrupt, extract.Timeout, extract.Crashed, extract.NoText}, reasonOf(t, err))
		})
	}
	d, err := x.Extract(t.Context(), extract.File{Content: extracttest.Pages("", "still here")})
	require.NoError(t, err)
	require.Equal(t, "still here", d.Text)
}

func TestALongTextIsCut(t *testing.T) {
	t.Parallel()
	x := open(t, extract.Options{MaxText: 10})
	d, err := x.Extract(t.Context(), extract.File{Content: []byte(strings.Repeat("é", 11))})
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("é", 10), d.Text)
	require.True(t, d.Truncated)
	d, err = x.Extract(t.Context(), extract.File{Content: extracttest.Pages("", "12345", "6789", "more")})
	require.NoError(t, err)
	require.Equal(t, "12345\n\n678", d.Text)
	require.Equal(t, []int{0, 7}, d.Pages)
	require.True(t, d.Truncated)
}

func TestACancelledCallIsNoFaultOfTheFile(t *testing.T) {
	t.Parallel()
	x := open(t, extract.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := x.Extract(ctx, extract.File{Content: []byte("x")})
	require.ErrorIs(t, err, context.Canceled)
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	_, err := extract.New(extract.Options{})
	require.Error(t, err)
	_, err = extract.New(extract.Options{Executable: "x", Timeout: -1})
	require.Error(t, err)
}
