package extract

import (
	"context"
	"fmt"
	"strings"
)

// probeText is what the PDF of Probe says.
const probeText = "svc readiness probe"

// Probe reads a small PDF in a child, as a document would be read.
func (x *Extractor) Probe(ctx context.Context) error {
	d, err := x.Extract(ctx, File{Name: "probe.pdf", Content: probePDF()})
	if err == nil && d.Text != probeText {
		err = fmt.Errorf("the text of the probe was read as %q", d.Text)
	}
	return err
}

// probePDF returns a PDF of one page.
func probePDF() []byte {
	stream := "BT /F1 12 Tf 72 700 Td (" + probeText + ") Tj ET"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(stream), stream),
	}
	var b, table strings.Builder
	b.WriteString("%PDF-1.4\n")
	for i, object := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table.String(), len(objects)+1, at)
	return []byte(b.String())
}
