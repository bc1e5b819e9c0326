package files

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/file"
	"svc/eventstore"
)

// ShareToken is the requested share token of a file. The zero ShareToken is none.
type ShareToken struct {
	Generate bool   // a new one
	Text     string // this one
}

// shareToken matches a chosen token: a short one could be guessed.
var shareToken = regexp.MustCompile(`^[A-Za-z0-9_-]{16,128}$`)

// The purposes of sealed values.
const linkPurpose = "files/link"

func tokenPurpose(id string) string { return "files/token/" + id }

// tokenFor returns the change of the share token of a file; nil when it does not change.
func (f *Files) tokenFor(ctx context.Context, workspaceID, id string, t *ShareToken, may May) (*file.Token, error) {
	if t == nil {
		return nil, nil
	}
	if t.Text != "" {
		now, err := f.Find(ctx, workspaceID, id, may)
		if err != nil {
			return nil, err
		}
		if have, err := f.ShareToken(ctx, now); err != nil || have == t.Text {
			return nil, err
		}
	}
	sealed, err := f.seal(ctx, workspaceID, id, *t)
	return &file.Token{Sealed: sealed}, err
}

// seal returns a share token sealed; nothing for none.
func (f *Files) seal(ctx context.Context, workspaceID, id string, t ShareToken) ([]byte, error) {
	switch {
	case t.Generate:
		var err error
		if t.Text, err = f.newToken(ctx, workspaceID, id); err != nil {
			return nil, err
		}
	case t.Text == "":
		return nil, nil
	case !shareToken.MatchString(t.Text):
		return nil, domain.Invalid(domain.FieldError{Field: "shareToken", Message: "must be true, or 16 to 128 letters, digits, - and _"})
	}
	sealed, err := f.o.Vault.Seal(ctx, workspaceID, []byte(t.Text), tokenPurpose(id))
	if err != nil {
		return nil, failure("seal a share token", err)
	}
	return sealed, nil
}

// newToken returns a random token. For a repeated request it is the same each time.
func (f *Files) newToken(ctx context.Context, workspaceID, id string) (string, error) {
	seed := commands.RequestFrom(ctx).Seed
	if seed == "" {
		return rand.Text(), nil
	}
	mac, err := f.o.Vault.MAC(ctx, workspaceID, tokenPurpose(id), []byte(seed))
	if err != nil {
		return "", failure("draw a share token", err)
	}
	return base64.RawURLEncoding.EncodeToString(mac[:16]), nil
}

// failure wraps an error of the vault; a transient one is Unavailable.
func failure(what string, err error) error {
	err = fmt.Errorf("%s: %w", what, err)
	if errors.Is(err, eventstore.ErrUnavailable) {
		return commands.Refused(err)
	}
	return err
}

// ShareToken returns the share token of a file; "" when it has none.
func (f *Files) ShareToken(ctx context.Context, s file.State) (string, error) {
	if len(s.Share.Sealed) == 0 {
		return "", nil
	}
	token, err := f.o.Vault.Open(ctx, s.WorkspaceID, s.Share.Sealed, tokenPurpose(s.ID))
	if err != nil {
		return "", failure("open the share token of file "+s.ID, err)
	}
	return string(token), nil
}

// Link returns a token for a file that is valid until expires, or until the share token changes.
func (f *Files) Link(ctx context.Context, s file.State, expires time.Time) (string, error) {
	mac, err := f.linkMAC(ctx, s, expires.Unix())
	if err != nil {
		return "", err
	}
	body := binary.BigEndian.AppendUint64(nil, uint64(expires.Unix()))
	return base64.RawURLEncoding.EncodeToString(append(body, mac...)), nil
}

// linkSize is that of the time and the proof in a link.
const linkSize = 8 + 32

// Admit refuses a token that is not valid for a file now.
func (f *Files) Admit(ctx context.Context, s file.State, token string) error {
	have, err := f.ShareToken(ctx, s)
	if err != nil {
		return err
	}
	if have != "" && hmac.Equal([]byte(have), []byte(token)) {
		return nil
	}
	refusal := domain.Refuse(domain.CodeInvalidToken, "this link does not open the file")
	body, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(body) != linkSize {
		return refusal
	}
	expires := int64(binary.BigEndian.Uint64(body))
	mac, err := f.linkMAC(ctx, s, expires)
	switch {
	case err != nil:
		return err
	case !hmac.Equal(mac, body[8:]):
		return refusal
	case !f.o.Now().Before(time.Unix(expires, 0)):
		return domain.Refuse(domain.CodeTokenExpired, "this link has expired")
	}
	return nil
}

// linkMAC returns the MAC of a link to a file, for its expiry and its current share token.
func (f *Files) linkMAC(ctx context.Context, s file.State, expires int64) ([]byte, error) {
	message := fmt.Appendf(nil, "%s\x00%d\x00%d", s.ID, expires, s.Share.Generation)
	mac, err := f.o.Vault.MAC(ctx, s.WorkspaceID, linkPurpose, message)
	if err != nil {
		return nil, failure("sign a link to file "+s.ID, err)
	}
	return mac, nil
}
