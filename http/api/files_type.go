package api

import (
	"bytes"
	"mime"
	"net/http"
	"regexp"
	"strings"
)

// sniffed is how much of a content tells its type.
const sniffed = 512

// Types that decide how a file is treated.
const (
	typeBytes = "application/octet-stream"
	typeText  = "text/plain"
	typeXML   = "text/xml"
	typeZip   = "application/zip"
	typeSVG   = "image/svg+xml"
	typePDF   = "application/pdf"
)

// fileExtensions are of the files that come as data URIs, without a name.
var fileExtensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", typeSVG: ".svg", typePDF: ".pdf",
	typeText: ".txt", "text/csv": ".csv", "text/html": ".html", "application/json": ".json", "audio/mpeg": ".mp3", "video/mp4": ".mp4",
}

// sniffableTypes are the types that are seen in the bytes: who declares one of them and
// sends something else is wrong.
var sniffableTypes = regexp.MustCompile(`^(text/.*|image/(png|jpeg|gif|webp|bmp|x-icon|svg\+xml)|application/(pdf|postscript|zip|x-gzip|gzip|x-rar-compressed|vnd\.ms-fontobject|wasm)|font/.*)$`)

// textTypes are the types of text besides text/*.
var textTypes = regexp.MustCompile(`^(text/.+|application/(json|xml|javascript|x-javascript|ecmascript|yaml|x-yaml|toml|sql|graphql|rtf|x-sh|x-ndjson|.+\+(json|xml|yaml)))$`)

// mimetypeOf tells the type of a file by how its content begins. What the sender
// says counts only where the bytes say nothing, and do not say otherwise.
func mimetypeOf(head []byte, declared string) string {
	seen, _, _ := strings.Cut(http.DetectContentType(head), ";")
	said, _, err := mime.ParseMediaType(declared)
	if err != nil || !mediaTypes.MatchString(said) {
		return seen
	}
	fits := false
	switch seen {
	case typeBytes:
		fits = !sniffableTypes.MatchString(said)
	case typeText:
		fits = textTypes.MatchString(said) || said == typeSVG && looksLikeSVG(head)
	case typeXML:
		fits = said == "application/xml" || strings.HasSuffix(said, "+xml") && (said != typeSVG || looksLikeSVG(head))
	case typeZip:
		fits = isPackage(head, said)
	}
	if fits {
		return said
	}
	return seen
}

var mediaTypes = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$`)

func looksLikeSVG(head []byte) bool { return bytes.Contains(bytes.ToLower(head), []byte("<svg")) }

// isPackage reports whether a zip is a document of the type that it is said to
// be: its first entry tells.
func isPackage(head []byte, said string) bool {
	const firstName = 30 // where the name of the first entry begins
	if len(head) < firstName {
		return false
	}
	rest := head[firstName:]
	switch {
	case bytes.HasPrefix(rest, []byte("[Content_Types].xml")), bytes.HasPrefix(rest, []byte("_rels/.rels")):
		return strings.HasPrefix(said, "application/vnd.openxmlformats-officedocument.")
	case bytes.HasPrefix(rest, []byte("mimetype")):
		return bytes.HasPrefix(rest[len("mimetype"):], []byte(said))
	}
	return false
}

// shownInline reports whether a browser may open a file of this type in place: it
// shows it, and nothing in it runs.
func shownInline(mimetype string) bool {
	family, _, _ := strings.Cut(mimetype, "/")
	switch {
	case strings.HasSuffix(mimetype, "+xml"): // image/svg+xml is a document
		return false
	case mimetype == typeText, mimetype == typePDF:
		return true
	}
	return family == "image" || family == "audio" || family == "video"
}
