package extract

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html/charset"

	"svc/domain"
	"svc/domain/kbdocument"
)

// Types of files that are read.
const (
	typeText     = "text/plain"
	typeMarkdown = "text/markdown"
	typeJSON     = "application/json"
	typeHTML     = "text/html"
	typeCSV      = "text/csv"
	typePDF      = "application/pdf"
	typeDOCX     = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	typeXLSX     = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
)

// readers read the types.
var readers = map[string]func(f File, t *text) error{
	typeText:     readText,
	typeMarkdown: readText,
	typeJSON:     readText,
	typeHTML:     readHTML,
	typeCSV:      readCSV,
	typePDF:      readPDF,
	typeDOCX:     readDOCX,
	typeXLSX:     readXLSX,
}

// textTypes are the types of text by extension.
var textTypes = map[string]string{
	".txt": typeText, ".text": typeText, ".log": typeText,
	".md": typeMarkdown, ".markdown": typeMarkdown,
	".json": typeJSON,
	".html": typeHTML, ".htm": typeHTML, ".xhtml": typeHTML,
	".csv": typeCSV, ".tsv": typeCSV,
}

func isPDF(b []byte) bool { return bytes.Contains(b[:min(len(b), 1024)], []byte("%PDF-")) }
func isZip(b []byte) bool { return bytes.HasPrefix(b, []byte("PK\x03\x04")) }

// detectType returns the type of a file. The bytes decide; they do not tell one kind of text from another, so there the
// extension decides, then the type that was given.
func detectType(f File) (string, error) {
	b := f.Content
	switch {
	case isPDF(b):
		return typePDF, nil
	case isZip(b):
		return officeType(b)
	case bytes.HasPrefix(b, []byte("\xd0\xcf\x11\xe0")): // a compound file: an office file of before 2007, or an encrypted one
		if bytes.Contains(b, []byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00")) {
			return "", refuse(Encrypted, "the file is encrypted")
		}
		return "", refuse(Unsupported, "office files of before 2007 are not read")
	case bytes.HasPrefix(b, []byte("{\\rtf")), isBinary(b):
		return "", refuse(Unsupported, "files of this type are not read")
	}
	if known, ok := textTypes[strings.ToLower(path.Ext(f.Name))]; ok {
		return known, nil
	}
	given, _, _ := strings.Cut(strings.ToLower(f.Mimetype), ";")
	if given = strings.TrimSpace(given); given == "application/xhtml+xml" {
		return typeHTML, nil
	}
	if _, ok := readers[given]; ok && given != typePDF && given != typeDOCX && given != typeXLSX && given != typeText {
		return given, nil
	}
	start := bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(b[:min(len(b), 1024)], []byte("\xef\xbb\xbf")), " \t\r\n"))
	if bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html")) {
		return typeHTML, nil
	}
	return typeText, nil
}

// isBinary reports whether bytes are no text: they have control characters, and are not UTF-16.
func isBinary(b []byte) bool {
	if bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff")) {
		return false
	}
	for _, c := range b[:min(len(b), 8192)] {
		if c < ' ' && !strings.ContainsRune("\t\n\r\f\v\b\x1b\x1a", rune(c)) {
			return true
		}
	}
	return false
}

// decodeText returns text as UTF-8: by its byte order mark, else as it says or was sent (HTML), else UTF-8 where it is
// valid, else Windows-1252.
func decodeText(b []byte, contentType string) string {
	if !strings.HasPrefix(contentType, typeHTML) && utf8.Valid(b) {
		return strings.TrimPrefix(string(b), "\ufeff")
	}
	if !strings.HasPrefix(contentType, typeHTML) {
		contentType = typeText // without a prescan for meta elements, there is only the mark to go by
	}
	encoding, _, _ := charset.DetermineEncoding(b, contentType)
	decoded, err := encoding.NewDecoder().Bytes(b)
	if err != nil {
		decoded = bytes.ToValidUTF8(b, []byte("\ufffd"))
	}
	return strings.TrimPrefix(string(decoded), "\ufeff")
}

// maxFrontMatter is the longest front matter, in bytes.
const maxFrontMatter = 64 << 10

// readText reads text, Markdown and JSON as it is. Front matter fills title, tags and language and is cut off.
func readText(f File, t *text) error {
	body := strings.ReplaceAll(decodeText(f.Content, t.document.Mimetype), "\r\n", "\n")
	switch t.document.Mimetype {
	case typeJSON:
		if !json.Valid([]byte(body)) {
			t.document.Warnings = append(t.document.Warnings, "invalid_json")
		}
	default:
		body = cutFrontMatter(body, t.document)
	}
	if t.document.Mimetype == typeMarkdown && t.document.Title == "" {
		for line := range strings.Lines(body) {
			if title, ok := strings.CutPrefix(line, "# "); ok {
				t.document.Title = strings.Trim(title, "# \n")
				break
			}
		}
	}
	t.add(body)
	return nil
}

// cutFrontMatter reads front matter into a document and returns what follows it.
func cutFrontMatter(body string, d *Document) string {
	rest, ok := strings.CutPrefix(body, "---\n")
	if !ok {
		return body
	}
	end := strings.Index("\n"+rest[:min(len(rest), maxFrontMatter)], "\n---\n")
	if end < 0 {
		return body
	}
	var matter struct {
		Title    string    `yaml:"title"`
		Language string    `yaml:"language"`
		Tags     yaml.Node `yaml:"tags"`
	}
	if err := yaml.Unmarshal([]byte(rest[:end]), &matter); err != nil {
		return body
	}
	d.Title = matter.Title
	language := strings.ToLower(strings.TrimSpace(matter.Language))
	if at := strings.IndexAny(language, "-_"); at >= 0 { // a region or a script: de-CH, zh_Hant
		language = language[:at]
	}
	if slices.Contains(kbdocument.Languages, language) {
		d.Language = language
	}
	var list []string
	if matter.Tags.Decode(&list) != nil {
		list = strings.Split(matter.Tags.Value, ",")
	}
	d.addTags(list)
	return rest[end+len("---\n"):]
}

// addTags gives a document tags as it may have them; a warning says that others were left out.
func (d *Document) addTags(list []string) {
	leftOut := false
	for _, tag := range list {
		switch tag = strings.TrimSpace(tag); {
		case tag == "" || slices.Contains(d.Tags, tag):
		case len(d.Tags) == kbdocument.MaxTags || !domain.IsTitle(tag, kbdocument.MaxTag):
			leftOut = true
		default:
			d.Tags = append(d.Tags, tag)
		}
	}
	if leftOut {
		d.Warnings = append(d.Warnings, "tags_left_out")
	}
}
