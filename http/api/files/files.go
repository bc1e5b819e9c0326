// Package files has the handlers of files.
package files

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc/commands/files"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/file"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// Handlers answer requests about files.
type Handlers struct {
	ReadModel handler.ReadModel
	Access    handler.Access
	Commands  Files
	Links     Links
	Contents  Contents
	URL       string // API_URL: the addresses of files begin with it; default /v2
	Dir       string // where files wait while they come and go; default that of the system
	Now       func() time.Time
}

// Files changes files. It is a *files.Files.
type Files interface {
	Upload(ctx context.Context, workspaceID string, uploads []files.Upload, may files.May) ([]file.State, error)
	Find(ctx context.Context, workspaceID, id string, may files.May) (file.State, error)
	Change(ctx context.Context, workspaceID, id string, c files.Change, may files.May) (file.State, error)
	Replace(ctx context.Context, workspaceID, id string, c files.Content, may files.May) (file.State, error)
	Delete(ctx context.Context, workspaceID, id string, may files.May) (file.State, error)
}

// Links opens files to whoever has one. It is a *files.Files.
type Links interface {
	// ShareToken returns the share token of a file; "" when it has none.
	ShareToken(ctx context.Context, s file.State) (string, error)
	// Link returns a token that opens a file until expires.
	Link(ctx context.Context, s file.State, expires time.Time) (string, error)
	// Admit refuses a token that does not open a file now.
	Admit(ctx context.Context, s file.State, token string) error
}

// Contents reads what files hold, by its SHA-256 in hex. It is a
// *jetstream.Blobs.
type Contents interface {
	Open(ctx context.Context, name string) (content io.ReadCloser, size int64, err error)
}

// fileResponse is a file as it is answered.
type fileResponse struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	URL          string         `json:"url"`
	Mimetype     string         `json:"mimetype"`
	Size         int64          `json:"size"`
	WorkspaceID  string         `json:"workspaceId"`
	Path         string         `json:"path"`
	Public       bool           `json:"public"`
	Metadata     map[string]any `json:"metadata"`
	ExpiresAt    string         `json:"expiresAt,omitempty"`
	ExpiresAfter int64          `json:"expiresAfter,omitempty"`
	ShareToken   string         `json:"shareToken,omitempty"` // to those who may update
	Checksum     string         `json:"checksum"`
	CreatedAt    string         `json:"createdAt,omitempty"`
	CreatedBy    string         `json:"createdBy,omitempty"`
	UpdatedAt    string         `json:"updatedAt,omitempty"`
	UpdatedBy    string         `json:"updatedBy,omitempty"`
}

// Replayable implements gateway.Replayable: what is kept for a repeat holds no
// token.
func (f fileResponse) Replayable() any {
	f.ShareToken = ""
	return f
}

// filesResponse is the answer to an upload.
type filesResponse []fileResponse

// Replayable implements gateway.Replayable.
func (all filesResponse) Replayable() any {
	again := make([]any, len(all))
	for i, f := range all {
		again[i] = f.Replayable()
	}
	return again
}

// fileRequest is the body of PATCH …/files/{id}. The fields that the service sets
// may be sent back, and change nothing.
type fileRequest struct {
	Name         handler.Field[string]         `json:"name"`
	ExpiresAfter handler.Field[int64]          `json:"expiresAfter"`
	Public       handler.Field[bool]           `json:"public"`
	ShareToken   handler.Field[tokenChoice]    `json:"shareToken"`
	Metadata     handler.Field[map[string]any] `json:"metadata"`

	ID          json.RawMessage `json:"id"`
	URL         json.RawMessage `json:"url"`
	Mimetype    json.RawMessage `json:"mimetype"`
	Size        json.RawMessage `json:"size"`
	WorkspaceID json.RawMessage `json:"workspaceId"`
	Path        json.RawMessage `json:"path"`
	ExpiresAt   json.RawMessage `json:"expiresAt"`
	Checksum    json.RawMessage `json:"checksum"`
	CreatedAt   json.RawMessage `json:"createdAt"`
	CreatedBy   json.RawMessage `json:"createdBy"`
	UpdatedAt   json.RawMessage `json:"updatedAt"`
	UpdatedBy   json.RawMessage `json:"updatedBy"`
}

// tokenChoice is true for a new token, false for none, or a token.
type tokenChoice files.ShareToken

// UnmarshalJSON implements json.Unmarshaler.
func (c *tokenChoice) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &c.Generate) == nil || json.Unmarshal(b, &c.Text) == nil {
		return nil
	}
	return handler.RefuseField("shareToken", "must be true, false or a text")
}

// changes returns what the body asks for, and the fields that it names.
func (in fileRequest) changes() (c files.Change, fields []string, err error) {
	if in.Name.Given && in.Name.Value == nil {
		return c, nil, handler.RefuseField("name", "must be a text: it cannot be removed")
	}
	if in.Public.Given && in.Public.Value == nil {
		return c, nil, handler.RefuseField("public", "must be true or false: it cannot be removed")
	}
	c = files.Change{Name: in.Name.Value, Public: in.Public.Value, ExpiresAfter: in.ExpiresAfter.OrNil(), Metadata: in.Metadata.OrNil()}
	if in.ShareToken.Given {
		token := files.ShareToken(in.ShareToken.OrZero())
		c.ShareToken = &token
	}
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"name", in.Name.Given}, {"expiresAfter", in.ExpiresAfter.Given}, {"public", in.Public.Given},
		{"shareToken", in.ShareToken.Given}, {"metadata", in.Metadata.Given},
	} {
		if f.given {
			fields = append(fields, f.name)
		}
	}
	return c, fields, nil
}

// GetFile handles GET …/files/{id}.
func (h *Handlers) GetFile(r *http.Request) (any, error) {
	id, err := fileID(r)
	if err != nil {
		return nil, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	found, ok, err := projections.Files{}.Get(rd, handler.WorkspaceID(r), id, h.Now())
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, noFile(id)
	}
	if err := newFileCheck(r, "read")(found.State); err != nil {
		return nil, err
	}
	return h.toFileResponse(r, found)
}

// UpdateFile handles PATCH …/files/{id}.
func (h *Handlers) UpdateFile(r *http.Request) (any, error) {
	id, err := fileID(r)
	if err != nil {
		return nil, err
	}
	var in fileRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	c, fields, err := in.changes()
	if err != nil {
		return nil, err
	}
	changed, err := h.Commands.Change(r.Context(), handler.WorkspaceID(r), id, c, newFileCheck(r, "update", fields...))
	if err != nil {
		return nil, err
	}
	return h.savedFileResponse(r, changed)
}

// DeleteFile handles DELETE …/files/{id}.
func (h *Handlers) DeleteFile(r *http.Request) (any, error) {
	id, err := fileID(r)
	if err != nil {
		return nil, err
	}
	if _, err := h.Commands.Delete(r.Context(), handler.WorkspaceID(r), id, newFileCheck(r, "delete")); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return handler.IDResponse(id), nil
}

// newFileCheck decides an action on a file with the rights of the caller.
func newFileCheck(r *http.Request, action string, fields ...string) files.May {
	rights := gateway.GrantFrom(r.Context()).Rights
	return func(s file.State) error { return rights.Check(action, "files", Object(s), fields...) }
}

// Object is a file as rules see it.
func Object(s file.State) access.Object {
	fields := access.Fields{
		"id": s.ID, "workspaceId": s.WorkspaceID, "mimetype": s.Mimetype, "name": s.Name, "size": s.Size, "public": s.Public,
		"metadata": s.Metadata, "checksum": s.Checksum, "createdBy": s.CreatedBy,
	}
	if !s.ExpiresAt.IsZero() {
		fields["expiresAt"] = s.ExpiresAt.UTC().Format(domain.Timestamp)
	}
	return fields
}

// fileIDs is the form of the ids of files.
var fileIDs = regexp.MustCompile(`^[0-9A-Za-z_-]{21}$`)

// fileID is the id in the path. What cannot be one is none.
func fileID(r *http.Request) (string, error) {
	id := gateway.Var(r, "id")
	if !fileIDs.MatchString(id) {
		return "", noFile(handler.Shorten(id))
	}
	return id, nil
}

func noFile(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such file").With("resource", "file").With("id", id)
}

// toFileResponse is a file as the caller sees it.
func (h *Handlers) toFileResponse(r *http.Request, f projections.File) (fileResponse, error) {
	response := fileResponse{
		ID: f.ID, Name: f.State.Name, URL: h.fileURL(f.State), Mimetype: f.Mimetype, Size: f.Size, WorkspaceID: f.WorkspaceID, Path: f.Path,
		Public: f.Public, Metadata: f.Metadata, ExpiresAfter: f.ExpiresAfter, ExpiresAt: handler.FormatTime(f.ExpiresAt), Checksum: f.Checksum,
		CreatedAt: f.CreatedAt, CreatedBy: f.CreatedBy, UpdatedAt: f.UpdatedAt, UpdatedBy: f.UpdatedBy,
	}
	if response.Metadata == nil {
		response.Metadata = map[string]any{}
	}
	var err error
	if gateway.GrantFrom(r.Context()).Rights.Allows("update", "files", Object(f.State), "shareToken") {
		response.ShareToken, err = h.Links.ShareToken(r.Context(), f.State)
	}
	return response, err
}

// savedFileResponse is the answer to a write: the file as a read would show it now.
func (h *Handlers) savedFileResponse(r *http.Request, s file.State) (fileResponse, error) {
	handler.AwaitVisible(r.Context(), h.ReadModel)
	f := projections.File{State: s}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	if found, ok, err := (projections.Files{}).Get(rd, s.WorkspaceID, s.ID, h.Now()); err == nil && ok {
		f = found // else without its times: the write has happened
	}
	return h.toFileResponse(r, f)
}

// fileURL is where a file is downloaded.
func (h *Handlers) fileURL(s file.State) string {
	base := strings.TrimRight(h.URL, "/")
	if base == "" {
		base = "/v2"
	}
	return base + "/files/" + url.PathEscape(s.WorkspaceID) + "/" + s.ID + "." + url.PathEscape(s.Name)
}

// ListFiles handles GET …/files. Permissions come before paging, so that pages
// are full and the count is right.
func (h *Handlers) ListFiles(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	page, sort := q.Page(20, 100), q.Sort("name", "size", "mimetype", "createdAt", "updatedAt")
	if err := q.Err(); err != nil {
		return nil, err
	}
	wanted, err := readFileQuery(r)
	if err != nil {
		return nil, err
	}
	readable := gateway.GrantFrom(r.Context()).Rights.Filter("read", "files")
	var found []projections.File
	rd := h.ReadModel.Reader()
	defer rd.Close()
	err = projections.Files{}.List(rd, handler.WorkspaceID(r), h.Now(), func(f projections.File) bool {
		if readable(Object(f.State)) && wanted.matches(f) {
			found = append(found, f)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	orderFiles(found, sort)
	items := []fileResponse{}
	for _, f := range gateway.PageOf(found, page) {
		item, err := h.toFileResponse(r, f)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return gateway.List(r, items, len(found), page), nil
}

// fileQuery is what fields must be: values of JSON, or texts that stand for
// whatever value is written so.
type fileQuery []fieldQuery

type fieldQuery struct {
	field string
	value any
	text  bool
}

// fileFields are what files can be asked for by, besides those of their metadata.
var fileFields = []string{
	"id", "name", "mimetype", "size", "public", "checksum", "expiresAt", "expiresAfter", "createdAt", "createdBy", "updatedAt", "updatedBy",
}

// readFileQuery reads the conditions of a list: {field}=value, or query, a JSON
// object of them.
func readFileQuery(r *http.Request) (wanted fileQuery, err error) {
	for name, texts := range r.URL.Query() {
		switch name {
		case "page", "limit", "sort":
		case "query":
			var whole map[string]any
			if len(texts) != 1 || json.Unmarshal([]byte(texts[0]), &whole) != nil {
				return nil, badFileQuery("query", "must be a JSON object of field and value")
			}
			for field, value := range whole {
				wanted = append(wanted, fieldQuery{field, value, false})
			}
		default:
			if len(texts) != 1 {
				return nil, badFileQuery(name, "was given twice")
			}
			wanted = append(wanted, fieldQuery{name, texts[0], true})
		}
	}
	for _, w := range wanted {
		if !slices.Contains(fileFields, w.field) && !strings.HasPrefix(w.field, "metadata.") {
			return nil, badFileQuery(w.field, "is no field of a file")
		}
	}
	return wanted, nil
}

func badFileQuery(parameter, message string) error {
	parameter = handler.Shorten(parameter)
	return domain.Refuse(domain.CodeInvalidParameter, "%s %s", parameter, message).With("parameter", parameter)
}

// matches reports whether a file is what was asked for.
func (q fileQuery) matches(f projections.File) bool {
	for _, w := range q {
		have, ok := fieldOfFile(f, w.field)
		if !ok || w.text && queryText(have) != w.value || !w.text && !domain.Same(have, w.value) {
			return false
		}
	}
	return true
}

// queryText is a value as a query has it: a text as it is, others as JSON.
func queryText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	body, _ := json.Marshal(value) // it was JSON before
	return string(body)
}

// fieldOfFile returns a field by its dotted path; ok is false when the file has
// none.
func fieldOfFile(f projections.File, path string) (value any, ok bool) {
	switch path {
	case "createdAt":
		return f.CreatedAt, true
	case "updatedAt":
		return f.UpdatedAt, true
	case "updatedBy":
		return f.UpdatedBy, true
	case "expiresAfter":
		return f.ExpiresAfter, f.ExpiresAfter != 0
	}
	first, rest, deeper := strings.Cut(path, ".")
	value, ok = Object(f.State).Field(first)
	for ok && deeper {
		var fields map[string]any
		if fields, ok = value.(map[string]any); ok {
			first, rest, deeper = strings.Cut(rest, ".")
			value, ok = fields[first]
		}
	}
	return value, ok
}

// orderFiles sorts what came the newest first.
func orderFiles(found []projections.File, by gateway.Sort) {
	slices.SortStableFunc(found, func(a, b projections.File) int {
		if by.Down {
			a, b = b, a
		}
		switch by.Field {
		case "name":
			return strings.Compare(strings.ToLower(a.State.Name), strings.ToLower(b.State.Name))
		case "mimetype":
			return strings.Compare(a.Mimetype, b.Mimetype)
		case "size":
			return int(min(1, max(-1, a.Size-b.Size)))
		case "createdAt":
			return strings.Compare(a.CreatedAt, b.CreatedAt)
		}
		return strings.Compare(a.UpdatedAt, b.UpdatedAt)
	})
}

// The time that a link lasts, in seconds.
const (
	usualLink   = 60
	longestLink = 365 * 86400
)

// ShareFile handles POST …/files/{id}/share.
func (h *Handlers) ShareFile(r *http.Request) (any, error) {
	id, err := fileID(r)
	if err != nil {
		return nil, err
	}
	lasts, err := readLinkLifetime(r)
	if err != nil {
		return nil, err
	}
	s, err := h.Commands.Find(r.Context(), handler.WorkspaceID(r), id, newFileCheck(r, "update", "shareToken"))
	if err != nil {
		return nil, err
	}
	expires := h.Now().Truncate(time.Second).Add(time.Duration(lasts) * time.Second)
	token, err := h.Links.Link(r.Context(), s, expires)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"url": h.fileURL(s) + "?token=" + url.QueryEscape(token), "expiresAt": expires.UTC().Format(domain.Timestamp), "expiresIn": lasts,
	}, nil
}

// readLinkLifetime reads for how many seconds a link is to last.
func readLinkLifetime(r *http.Request) (int64, error) {
	lasts := int64(usualLink)
	in := struct {
		ExpiresIn *int64 `json:"expiresIn"`
	}{&lasts}
	if err := gateway.Decode(r, &in); err != nil {
		return 0, err
	}
	if in.ExpiresIn == nil || lasts < 1 || lasts > longestLink {
		return 0, domain.Invalid(domain.FieldError{Field: "expiresIn", Message: "must be a number of seconds, from 1 to those of a year"})
	}
	return lasts, nil
}
