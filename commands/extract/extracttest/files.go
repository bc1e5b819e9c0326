// Package extracttest makes small PDF and office files for tests.
package extracttest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Zip makes a zip file of parts.
func Zip(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range parts {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// PDF makes a PDF of objects, the first of which is the catalogue. Trailer is what its trailer has besides.
func PDF(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var offsets []int
	for i, o := range objects {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, at := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, trailer, xref)
	return b.Bytes()
}

// Pages makes a PDF with a page for each text, lines of which are lines. One without a text is like a scan.
func Pages(trailer string, pages ...string) []byte {
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"}
	var kids []string
	for _, text := range pages {
		stream := "BT /F1 12 Tf 14 TL 72 700 Td"
		for line := range strings.SplitSeq(text, "\n") {
			stream += " (" + line + ") Tj T*"
		}
		stream += " ET"
		n := len(objects) + 1
		kids = append(kids, fmt.Sprintf("%d 0 R", n))
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", n+1),
			fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(stream), stream))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(pages))
	return PDF(trailer, objects...)
}

// EncryptedPDF makes a PDF that only a password opens.
func EncryptedPDF() []byte {
	return Pages("/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /O (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) /U (bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb) /P -4 >> /ID [(abc) (abc)]", "secret")
}

// LoopingPDF makes a PDF whose pages contain each other.
func LoopingPDF() []byte {
	return PDF("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R] /Count 1000 >>")
}

// The namespaces of office files.
const (
	WordNS  = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`
	SheetNS = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
)

// DOCX makes a DOCX file with a body, a style berschrift1 of headings and a footnote.
func DOCX(t testing.TB, body string) []byte {
	t.Helper()
	return Zip(t, map[string]string{
		"[Content_Types].xml": "<Types/>",
		"word/document.xml":   `<?xml version="1.0"?><w:document ` + WordNS + `><w:body>` + body + `</w:body></w:document>`,
		"word/styles.xml":     `<w:styles ` + WordNS + `><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>`,
		"word/footnotes.xml":  `<w:footnotes ` + WordNS + `><w:footnote><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>`,
	})
}

// BombDOCX makes a small DOCX file that is huge when it is unpacked.
func BombDOCX(t testing.TB) []byte {
	t.Helper()
	return DOCX(t, strings.Repeat("<w:p><w:r><w:t>"+strings.Repeat("0", 1000)+"</w:t></w:r></w:p>", 20_000))
}

// EntitiesDOCX makes a DOCX file that declares entities.
func EntitiesDOCX(t testing.TB) []byte {
	t.Helper()
	return Zip(t, map[string]string{"word/document.xml": `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>`})
}

// XLSX makes a workbook of one sheet, Prices. Other is what it has besides, by part.
func XLSX(t testing.TB, rows string, other map[string]string) []byte {
	t.Helper()
	parts := map[string]string{
		"xl/workbook.xml":            `<workbook ` + SheetNS + `><sheets><sheet name="Prices" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml":   `<worksheet ` + SheetNS + `><sheetData>` + rows + `</sheetData></worksheet>`,
	}
	maps.Copy(parts, other)
	return Zip(t, parts)
}
