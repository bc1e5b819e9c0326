package files

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"svc/commands"
	"svc/commands/files"
	"svc/domain"
	"svc/domain/file"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// CreateFiles handles POST …/files.
func (h *Handlers) CreateFiles(r *http.Request) (any, error) {
	form := uploadForm{dir: h.Dir}
	defer form.close()
	if err := gateway.Parts(r, 0, form.addPart); err != nil {
		return nil, err
	}
	if len(form.files) == 0 {
		return nil, handler.MissingField("file")
	}
	uploads := form.uploads()
	if err := makePrivate(r, uploads); err != nil {
		return nil, err
	}
	made, err := h.Commands.Upload(r.Context(), handler.WorkspaceID(r), uploads, newFileCheck(r, "create"))
	if err != nil {
		return nil, err
	}
	response := make(filesResponse, len(made))
	for i, s := range made {
		if response[i], err = h.savedFileResponse(r, s); err != nil {
			return nil, err
		}
	}
	return gateway.Created(response, handler.Location(r, made[0].ID)), nil
}

// makePrivate makes the files of a visitor private: somebody without a role in the
// workspace whom a rule lets upload, and no more. What they ask for otherwise is refused.
func makePrivate(r *http.Request, uploads []files.Upload) error {
	rights := gateway.GrantFrom(r.Context()).Rights
	if rights.Role() != "" || gateway.CallerFrom(r.Context()).KeyID != "" || rights.Could("update", "files") {
		return nil
	}
	for i := range uploads {
		u := &uploads[i]
		if u.Public != nil && *u.Public || u.ShareToken != nil {
			return domain.Refuse(domain.CodePermissionDenied, "files of visitors are private: leave out public and shareToken").
				With("action", "update").With("subject", "files")
		}
		u.Public = new(false)
	}
	return nil
}

// ReplaceFile handles PUT …/files/{id}.
func (h *Handlers) ReplaceFile(r *http.Request) (any, error) {
	id, err := fileID(r)
	if err != nil {
		return nil, err
	}
	if _, err := h.Commands.Find(r.Context(), handler.WorkspaceID(r), id, newFileCheck(r, "update", contentFields...)); err != nil {
		return nil, err // before a body is taken in for nothing
	}
	form := uploadForm{dir: h.Dir, only: "file"}
	defer form.close()
	if err := gateway.Parts(r, 0, form.addPart); err != nil {
		return nil, err
	}
	if len(form.files) == 0 {
		return nil, handler.MissingField("file")
	}
	content := form.files[0].content()
	changed, err := h.Commands.Replace(r.Context(), handler.WorkspaceID(r), id, content, newReplaceCheck(r, content.Content))
	if err != nil {
		return nil, err
	}
	return h.savedFileResponse(r, changed)
}

// contentFields are those that change with the content of a file.
var contentFields = []string{"mimetype", "size", "checksum"}

// newReplaceCheck decides about the file as it is and as it would be: a right that
// ends at a type must not be left behind with another content.
func newReplaceCheck(r *http.Request, c file.Content) files.May {
	may := newFileCheck(r, "update", contentFields...)
	return func(s file.State) error {
		if err := may(s); err != nil {
			return err
		}
		s.Content = c
		return may(s)
	}
}

// uploadForm is a multipart body as it comes in.
type uploadForm struct {
	dir   string
	only  string // the one field that there may be; "" for all
	files []*uploadedFile
	seen  map[string]bool

	public       *bool
	expiresAfter int64
	shareToken   *files.ShareToken
	metadata     map[string]any
}

// uploadedFile is a file of a form, on disk.
type uploadedFile struct {
	*spooledFile
	name     string // "" for one that has none of its own
	field    string
	declared string
}

// close lets go of the files that came in.
func (f *uploadForm) close() {
	for _, u := range f.files {
		u.Close()
	}
}

// addPart takes one part.
func (f *uploadForm) addPart(p gateway.Part) error {
	if f.only != "" && p.Name != f.only {
		return handler.RefuseField(handler.Shorten(p.Name), "unknown field")
	}
	if f.only != "" && len(f.files) > 0 {
		return handler.RefuseField(f.only, "given twice")
	}
	if p.File != nil {
		return f.add(uploadedFile{name: p.Filename, declared: p.Type}, p.File)
	}
	if f.only == "" && isOption(p.Name) {
		return f.addOption(p)
	}
	declared, content, ok := parseDataURI(p.Text)
	if !ok {
		return handler.RefuseField(handler.Shorten(p.Name), "must be a file, or a data URI")
	}
	return f.add(uploadedFile{field: p.Name, declared: declared}, bytes.NewReader(content))
}

func (f *uploadForm) add(u uploadedFile, content io.Reader) (err error) {
	if u.spooledFile, err = spoolToFile(f.dir, content); err != nil {
		return err
	}
	f.files = append(f.files, &u)
	return nil
}

// content is what a file holds.
func (u *uploadedFile) content() files.Content {
	return files.Content{
		Content: file.Content{Mimetype: mimetypeOf(u.head, u.declared), Size: u.size, Checksum: u.checksum}, Reader: u.File,
	}
}

// Spool writes an uploaded content to disk, under no name, and finds its type. The caller closes it.
func Spool(dir, declared string, content io.Reader) (files.Content, io.Closer, error) {
	spooled, err := spoolToFile(dir, content)
	if err != nil {
		return files.Content{}, nil, err
	}
	u := uploadedFile{spooledFile: spooled, declared: declared}
	return u.content(), spooled, nil
}

// StoreForVisitor stores a private file that a page asked its visitor for, and returns it with its address. The page
// is the permission.
func (h *Handlers) StoreForVisitor(ctx context.Context, workspaceID, name, declared string, content io.Reader) (stored file.State, address string, err error) {
	spooled, err := spoolToFile(h.Dir, content)
	if err != nil {
		return stored, "", err
	}
	defer spooled.Close()
	upload := uploadedFile{spooledFile: spooled, declared: declared}
	made, err := h.Commands.Upload(ctx, workspaceID, []files.Upload{{Name: name, Public: new(false), Content: upload.content()}}, func(file.State) error { return nil })
	if err != nil {
		return stored, "", err
	}
	return made[0], h.fileURL(made[0]), nil
}

// uploads is what is to be made of the form.
func (f *uploadForm) uploads() []files.Upload {
	all := make([]files.Upload, len(f.files))
	for i, u := range f.files {
		content := u.content()
		all[i] = files.Upload{
			Name: cmp.Or(u.name, u.field+fileExtensions[content.Mimetype]), Content: content,
			Public: f.public, Metadata: f.metadata, ExpiresAfter: f.expiresAfter, ShareToken: f.shareToken,
		}
	}
	return all
}

const metadataPrefix = "metadata."

// isOption reports whether a field says something about the files.
func isOption(name string) bool {
	switch name {
	case "expiresAfter", "public", "shareToken", "metadata":
		return true
	}
	return strings.HasPrefix(name, metadataPrefix)
}

// addOption reads a text field.
func (f *uploadForm) addOption(p gateway.Part) (err error) {
	if f.seen[p.Name] {
		return handler.RefuseField(handler.Shorten(p.Name), "given twice")
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	f.seen[p.Name] = true
	switch p.Name {
	case "public":
		public, err := strconv.ParseBool(p.Text)
		if err != nil || p.Text != strconv.FormatBool(public) {
			return handler.RefuseField(p.Name, "must be true or false")
		}
		f.public = &public
	case "expiresAfter":
		if f.expiresAfter, err = strconv.ParseInt(p.Text, 10, 64); err != nil {
			return handler.RefuseField(p.Name, "must be a number of seconds")
		}
	case "shareToken":
		f.shareToken = parseShareToken(p.Text)
	case "metadata":
		return f.wholeMetadata(p.Text)
	default:
		return f.describe(strings.TrimPrefix(p.Name, metadataPrefix), p.Text)
	}
	return nil
}

// parseShareToken reads true, false or a token.
func parseShareToken(text string) *files.ShareToken {
	switch text {
	case "true":
		return &files.ShareToken{Generate: true}
	case "false", "":
		return nil
	}
	return &files.ShareToken{Text: text}
}

// wholeMetadata reads a JSON object by the rules of JSON bodies.
func (f *uploadForm) wholeMetadata(text string) error {
	var in struct {
		Metadata map[string]any `json:"metadata"`
	}
	if !json.Valid([]byte(text)) {
		return handler.RefuseField("metadata", "must be a JSON object")
	}
	body := &http.Request{Body: io.NopCloser(strings.NewReader(`{"metadata":` + text + `}`))}
	if err := gateway.Decode(body, &in); err != nil {
		return err
	}
	for key, value := range in.Metadata {
		if err := f.describe(key, value); err != nil {
			return err
		}
	}
	return nil
}

// describe adds a field to the metadata.
func (f *uploadForm) describe(key string, value any) error {
	if f.metadata == nil {
		f.metadata = map[string]any{}
	}
	if _, twice := f.metadata[key]; twice {
		return handler.RefuseField(metadataPrefix+handler.Shorten(key), "given twice")
	}
	f.metadata[key] = value
	return nil
}

// spooledFile is a content on disk, under no name: nothing is left of it when it is
// closed, nor when the process ends in between.
type spooledFile struct {
	*os.File
	size     int64
	checksum string // SHA-256 in hex
	head     []byte // its beginning
}

// spoolToFile writes a content to disk and looks at it meanwhile.
func spoolToFile(dir string, content io.Reader) (s *spooledFile, err error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, commands.Refused(fmt.Errorf("make room for a file: %w", err))
	}
	f, err := os.CreateTemp(dir, "file-*")
	if err != nil {
		return nil, commands.Refused(fmt.Errorf("make room for a file: %w", err))
	}
	s = &spooledFile{File: f}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := os.Remove(f.Name()); err != nil {
		return nil, commands.Refused(fmt.Errorf("make room for a file: %w", err))
	}
	sum := sha256.New()
	if s.size, err = io.Copy(io.MultiWriter(f, sum), content); err != nil {
		return nil, spoolFault(err)
	}
	s.checksum = hex.EncodeToString(sum.Sum(nil))
	s.head = make([]byte, min(s.size, sniffed))
	if _, err = f.ReadAt(s.head, 0); err != nil && len(s.head) > 0 {
		return nil, spoolFault(err)
	}
	_, err = f.Seek(0, io.SeekStart)
	return s, err
}

// spoolFault tells what the sender did wrong from what our disk did.
func spoolFault(err error) error {
	_, refused := errors.AsType[*domain.Error](err)
	if refused || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return commands.Refused(fmt.Errorf("keep a file: %w", err))
}

// parseDataURI reads data:[type][;base64],content.
func parseDataURI(text string) (declared string, content []byte, ok bool) {
	const scheme = "data:"
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		return "", nil, false
	}
	head, body, found := strings.Cut(text[len(scheme):], ",")
	if !found {
		return "", nil, false
	}
	declared, encoded := strings.CutSuffix(head, ";base64")
	if !encoded {
		plain, err := url.PathUnescape(body)
		return declared, []byte(plain), err == nil
	}
	content, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(body, "="))
	return declared, content, err == nil
}

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
	mimetype, _, err := mime.ParseMediaType(declared)
	if err != nil || !file.IsMediaType(mimetype) {
		return seen
	}
	fits := false
	switch seen {
	case typeBytes:
		fits = !sniffableTypes.MatchString(mimetype)
	case typeText:
		fits = textTypes.MatchString(mimetype) || mimetype == typeSVG && looksLikeSVG(head)
	case typeXML:
		fits = mimetype == "application/xml" || strings.HasSuffix(mimetype, "+xml") && (mimetype != typeSVG || looksLikeSVG(head))
	case typeZip:
		fits = isPackage(head, mimetype)
	}
	if fits {
		return mimetype
	}
	return seen
}

func looksLikeSVG(head []byte) bool { return bytes.Contains(bytes.ToLower(head), []byte("<svg")) }

// isPackage reports whether a zip is a document of the type that it is said to
// be: its first entry tells.
func isPackage(head []byte, mimetype string) bool {
	const firstName = 30 // where the name of the first entry begins
	if len(head) < firstName {
		return false
	}
	rest := head[firstName:]
	switch {
	case bytes.HasPrefix(rest, []byte("[Content_Types].xml")), bytes.HasPrefix(rest, []byte("_rels/.rels")):
		return strings.HasPrefix(mimetype, "application/vnd.openxmlformats-officedocument.")
	case bytes.HasPrefix(rest, []byte("mimetype")):
		return bytes.HasPrefix(rest[len("mimetype"):], []byte(mimetype))
	}
	return false
}

// isInlineType reports whether a browser may open a file of this type in place: it
// shows it, and nothing in it runs.
func isInlineType(mimetype string) bool {
	family, _, _ := strings.Cut(mimetype, "/")
	switch {
	case strings.HasSuffix(mimetype, "+xml"): // image/svg+xml is a document
		return false
	case mimetype == typeText, mimetype == typePDF:
		return true
	}
	return family == "image" || family == "audio" || family == "video"
}
