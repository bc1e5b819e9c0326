package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"svc/commands/files"
	"svc/domain"
	"svc/domain/file"
	"svc/http/gateway"
)

// createFiles handles POST …/files.
func createFiles(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		form := uploadForm{dir: d.Files.Dir}
		defer form.close()
		if err := gateway.Parts(r, 0, form.take); err != nil {
			return nil, err
		}
		if len(form.files) == 0 {
			return nil, missing("file")
		}
		uploads := form.uploads()
		if err := keepPrivate(r, uploads); err != nil {
			return nil, err
		}
		made, err := d.Files.Commands.Upload(r.Context(), workspaceID(r), uploads, mayFile(r, "create"))
		if err != nil {
			return nil, err
		}
		shown := make(shownFiles, len(made))
		for i, s := range made {
			if shown[i], err = fileAfter(d, r, s); err != nil {
				return nil, err
			}
		}
		return gateway.Created(shown, strings.TrimRight(r.URL.Path, "/")+"/"+made[0].ID), nil
	}
}

// keepPrivate makes the files of a visitor private: somebody without a role in the
// workspace whom a rule lets upload, and no more. What they ask for otherwise is refused.
func keepPrivate(r *http.Request, uploads []files.Upload) error {
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

// replaceFile handles PUT …/files/{id}.
func replaceFile(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id, err := fileID(r)
		if err != nil {
			return nil, err
		}
		if _, err := d.Files.Commands.Find(r.Context(), workspaceID(r), id, mayFile(r, "update", contentFields...)); err != nil {
			return nil, err // before a body is taken in for nothing
		}
		form := uploadForm{dir: d.Files.Dir, only: "file"}
		defer form.close()
		if err := gateway.Parts(r, 0, form.take); err != nil {
			return nil, err
		}
		if len(form.files) == 0 {
			return nil, missing("file")
		}
		content := form.files[0].content()
		changed, err := d.Files.Commands.Replace(r.Context(), workspaceID(r), id, content, mayReplaceFile(r, content.Content))
		if err != nil {
			return nil, err
		}
		return fileAfter(d, r, changed)
	}
}

// contentFields are those that change with the content of a file.
var contentFields = []string{"mimetype", "size", "checksum"}

// mayReplaceFile decides about the file as it is and as it would be: a right that
// ends at a type must not be left behind with another content.
func mayReplaceFile(r *http.Request, c file.Content) files.May {
	may := mayFile(r, "update", contentFields...)
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
	*spooled
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

// take takes one part.
func (f *uploadForm) take(p gateway.Part) error {
	if f.only != "" && p.Name != f.only {
		return refuseField(shortened(p.Name), "unknown field")
	}
	if f.only != "" && len(f.files) > 0 {
		return refuseField(f.only, "given twice")
	}
	if p.File != nil {
		return f.add(uploadedFile{name: p.Filename, declared: p.Type}, p.File)
	}
	if f.only == "" && isOption(p.Name) {
		return f.option(p)
	}
	declared, content, ok := parseDataURI(p.Text)
	if !ok {
		return refuseField(shortened(p.Name), "must be a file, or a data URI")
	}
	return f.add(uploadedFile{field: p.Name, declared: declared}, bytes.NewReader(content))
}

func (f *uploadForm) add(u uploadedFile, content io.Reader) (err error) {
	if u.spooled, err = spool(f.dir, content); err != nil {
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

// option reads a text field.
func (f *uploadForm) option(p gateway.Part) (err error) {
	if f.seen[p.Name] {
		return refuseField(shortened(p.Name), "given twice")
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	f.seen[p.Name] = true
	switch p.Name {
	case "public":
		public, err := strconv.ParseBool(p.Text)
		if err != nil || p.Text != strconv.FormatBool(public) {
			return refuseField(p.Name, "must be true or false")
		}
		f.public = &public
	case "expiresAfter":
		if f.expiresAfter, err = strconv.ParseInt(p.Text, 10, 64); err != nil {
			return refuseField(p.Name, "must be a number of seconds")
		}
	case "shareToken":
		f.shareToken = tokenOf(p.Text)
	case "metadata":
		return f.wholeMetadata(p.Text)
	default:
		return f.describe(strings.TrimPrefix(p.Name, metadataPrefix), p.Text)
	}
	return nil
}

// tokenOf reads true, false or a token.
func tokenOf(text string) *files.ShareToken {
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
		return refuseField("metadata", "must be a JSON object")
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
		return refuseField(metadataPrefix+shortened(key), "given twice")
	}
	f.metadata[key] = value
	return nil
}
