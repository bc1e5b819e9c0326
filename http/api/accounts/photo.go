package accounts

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"

	"svc/commands"
	"svc/commands/accounts"
	"svc/domain"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// The bounds of an uploaded picture.
const (
	maxPhoto     = 4 << 20
	MaxPhotoBody = maxPhoto + 16<<10 // with what multipart puts around it
)

// photoTypes are the pictures that every browser shows, and nothing in them runs.
var photoTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// uploadedPhoto begins the address of each picture that was uploaded here.
const uploadedPhoto = "/v2/users/"

// photoAddress is where the picture of a user is, by the name of its content: a
// new picture has a new address, so that each may be kept for ever.
func photoAddress(userID, name string) string { return uploadedPhoto + userID + "/photo?v=" + name }

// SetPhoto handles POST /v2/user/photo.
func (h *Handlers) SetPhoto(r *http.Request) (any, error) {
	content, err := readPhoto(r)
	if err != nil {
		return nil, err
	}
	by, err := h.callerSession(r)
	if err != nil {
		return nil, err
	}
	name, err := h.Blobs.Put(r.Context(), content)
	if err != nil {
		return nil, commands.Refused(fmt.Errorf("keep a picture: %w", err))
	}
	address := photoAddress(by.UserID, name)
	changed, err := h.Accounts.PatchSelf(r.Context(), by, accounts.Patch{Photo: &address})
	if err != nil {
		return nil, err
	}
	return h.savedUserResponse(r, changed), nil
}

// readPhoto reads the one part of the body.
func readPhoto(r *http.Request) (content []byte, err error) {
	err = gateway.Parts(r, maxPhoto, func(p gateway.Part) error {
		switch {
		case p.Name != "photo":
			return handler.RefuseField(p.Name, "unknown field")
		case content != nil:
			return handler.RefuseField(p.Name, "given twice")
		case p.File == nil:
			return handler.RefuseField(p.Name, "must be a file")
		}
		content, err = io.ReadAll(p.File)
		return err
	})
	if err != nil {
		return nil, err
	}
	if content == nil {
		return nil, handler.MissingField("photo")
	}
	if photoType(content) == "" {
		return nil, domain.Invalid(domain.FieldError{Field: "photo", Message: "must be a PNG, JPEG, GIF or WebP picture"})
	}
	return content, nil
}

// photoType tells by the bytes what picture they are; "" for none. What the
// client calls it does not matter.
func photoType(content []byte) string {
	if kind := http.DetectContentType(content); slices.Contains(photoTypes, kind) {
		return kind
	}
	return ""
}

var blobName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// GetPhoto handles GET /v2/users/{userId}/photo. It shows the picture that the
// user has now, and nothing else that may bear the same name.
func (h *Handlers) GetPhoto(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	name := q.Required("v")
	if err := q.Err(); err != nil {
		return nil, err
	}
	id := gateway.Var(r, "userId")
	found, err := handler.FindUser(h.ReadModel, id, "")
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && (!blobName.MatchString(name) || found.Photo != photoAddress(id, name)) {
		return nil, noPhoto(id)
	}
	if err != nil {
		return nil, err
	}
	content, err := h.Blobs.Get(r.Context(), name)
	if err != nil {
		return nil, commands.Refused(fmt.Errorf("read a picture: %w", err))
	}
	kind := photoType(content)
	if kind == "" {
		return nil, noPhoto(id)
	}
	return gateway.Content{Type: kind, Body: content, Header: http.Header{
		"Cache-Control":           {"public, max-age=31536000, immutable"},
		"Content-Security-Policy": {"default-src 'none'; sandbox"},
	}}, nil
}

func noPhoto(userID string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such picture").With("resource", "photo").With("id", userID)
}
