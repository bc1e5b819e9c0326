package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"time"

	"svc/commands/files"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/file"
	"svc/http/gateway"
	"svc/projections"
)

// FilesDeps are what the handlers of files ask for.
type FilesDeps struct {
	Commands Files
	Links    Links
	Contents Contents
	URL      string // API_URL: the addresses of files begin with it; default /v2
	Dir      string // where files wait while they come and go; default that of the system
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

// shownFile is a file as it is answered.
type shownFile struct {
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
func (f shownFile) Replayable() any {
	f.ShareToken = ""
	return f
}

// shownFiles is the answer to an upload.
type shownFiles []shownFile

// Replayable implements gateway.Replayable.
func (all shownFiles) Replayable() any {
	again := make([]any, len(all))
	for i, f := range all {
		again[i] = f.Replayable()
	}
	return again
}

// fileBody is the body of PATCH …/files/{id}. The fields that the service sets
// may be sent back, and change nothing.
type fileBody struct {
	Name         change[string]         `json:"name"`
	ExpiresAfter change[int64]          `json:"expiresAfter"`
	Public       change[bool]           `json:"public"`
	ShareToken   change[tokenChoice]    `json:"shareToken"`
	Metadata     change[map[string]any] `json:"metadata"`

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
	return refuseField("shareToken", "must be true, false or a text")
}

// changes returns what the body asks for, and the fields that it names.
func (in fileBody) changes() (c files.Change, fields []string, err error) {
	if in.Name.given && in.Name.value == nil {
		return c, nil, refuseField("name", "must be a text: it cannot be removed")
	}
	if in.Public.given && in.Public.value == nil {
		return c, nil, refuseField("public", "must be true or false: it cannot be removed")
	}
	c = files.Change{Name: in.Name.value, Public: in.Public.value, ExpiresAfter: in.ExpiresAfter.orNil(), Metadata: in.Metadata.orNil()}
	if in.ShareToken.given {
		token := files.ShareToken(in.ShareToken.orZero())
		c.ShareToken = &token
	}
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"name", in.Name.given}, {"expiresAfter", in.ExpiresAfter.given}, {"public", in.Public.given},
		{"shareToken", in.ShareToken.given}, {"metadata", in.Metadata.given},
	} {
		if f.given {
			fields = append(fields, f.name)
		}
	}
	return c, fields, nil
}

// getFile handles GET …/files/{id}.
func getFile(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id, err := fileID(r)
		if err != nil {
			return nil, err
		}
		var found projections.File
		var ok bool
		err = d.ReadModel.View(func(rd projections.Reader) (err error) {
			found, ok, err = projections.Files{}.Get(rd, workspaceID(r), id, d.Now())
			return err
		})
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, noFile(id)
		}
		if err := mayFile(r, "read")(found.State); err != nil {
			return nil, err
		}
		return showFile(d, r, found)
	}
}

// updateFile handles PATCH …/files/{id}.
func updateFile(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id, err := fileID(r)
		if err != nil {
			return nil, err
		}
		var in fileBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		c, fields, err := in.changes()
		if err != nil {
			return nil, err
		}
		changed, err := d.Files.Commands.Change(r.Context(), workspaceID(r), id, c, mayFile(r, "update", fields...))
		if err != nil {
			return nil, err
		}
		return fileAfter(d, r, changed)
	}
}

// deleteFile handles DELETE …/files/{id}.
func deleteFile(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id, err := fileID(r)
		if err != nil {
			return nil, err
		}
		if _, err := d.Files.Commands.Delete(r.Context(), workspaceID(r), id, mayFile(r, "delete")); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return idOf(id), nil
	}
}

// mayFile decides an action on a file with the rights of the caller.
func mayFile(r *http.Request, action string, fields ...string) files.May {
	rights := gateway.GrantFrom(r.Context()).Rights
	return func(s file.State) error { return rights.Check(action, "files", fileObject(s), fields...) }
}

// fileObject is a file as rules see it.
func fileObject(s file.State) access.Object {
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
		return "", noFile(shortened(id))
	}
	return id, nil
}

// shortened bounds what an answer repeats of a request.
func shortened(text string) string {
	if r := []rune(text); len(r) > maxEchoed {
		return string(r[:maxEchoed]) + "…"
	}
	return text
}

func noFile(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such file").With("resource", "file").With("id", id)
}
