package console

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"svc/http/gateway"
)

// sampleFiles is a workspace that shows the platform to somebody who has none: an endpoint
// with validation, a listener, a wait for an answer, a schedule, a collection and a page with
// a form and a chart that are kept live. It asks nothing of the outside.
//
//go:embed sample
var sampleFiles embed.FS

// sampleArchive is the sample workspace as it can be imported.
type sampleArchive struct {
	zip []byte
	tag string
}

// packSample makes the archive. The same files are always the same bytes.
func packSample() (a sampleArchive, err error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	err = fs.WalkDir(sampleFiles, "sample", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := sampleFiles.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := w.Create(strings.TrimPrefix(name, "sample/"))
		if err == nil {
			_, err = file.Write(content)
		}
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return a, fmt.Errorf("pack the sample workspace: %w", err)
	}
	sum := sha256.Sum256(b.Bytes())
	return sampleArchive{b.Bytes(), `"` + hex.EncodeToString(sum[:8]) + `"`}, nil
}

// Sample handles GET /console/sample.zip.
func (c *Console) Sample(*http.Request) (any, error) {
	return gateway.Content{Type: "application/zip", Body: c.sample.zip, Header: header(http.Header{
		"Cache-Control": {"no-cache"}, "Etag": {c.sample.tag}, "Content-Disposition": {`attachment; filename="sample.zip"`},
	})}, nil
}
