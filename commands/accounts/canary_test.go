package accounts_test

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/accounts"
	"svc/domain"
)

// Nothing that opens something is ever written down in clear: not in an event,
// not in a bucket, not in a line of the log.
func TestNoSecretIsWrittenDown(t *testing.T) {
	t.Parallel()
	h := newFixture(t, byMail)
	secrets := map[string]string{}
	ada := h.signUp("ada@example.org")
	secrets["password"] = password
	_, secrets["confirmation"] = h.mail(ada.Email)
	require.NoError(t, h.Validate(h.ctx(), secrets["confirmation"]))
	in, err := h.login(ada.Email, password, "")
	require.NoError(t, err)
	secrets["JWT"] = in.Token
	_, err = h.login(ada.Email, "wrong-canary-password", "")
	require.Error(t, err)
	_, err = h.login("typed-canary-password", "x", "")
	require.Error(t, err)
	secrets["wrong password"], secrets["password typed as address"] = "wrong-canary-password", "typed-canary-password"

	token, err := h.CreateAccessToken(h.ctx(), in.Session, "ci", h.later())
	require.NoError(t, err)
	secrets["access token"] = token.Token
	secrets["secret of the access token"] = token.Token[27:]
	secret := h.secondFactor(in.Session)
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	require.NoError(t, err)
	secrets["TOTP secret"], secrets["raw TOTP secret"] = secret, string(raw)
	secrets["TOTP secret in base64"], secrets["TOTP secret in hex"] = base64.RawStdEncoding.EncodeToString(raw)[:20], hex.EncodeToString(raw)

	require.NoError(t, h.RequestReset(h.ctx(), ada.Email, ""))
	_, secrets["reset"] = h.mail(ada.Email)
	_, secrets["reset that was not used"] = h.invitationMail("bob@example.org")
	require.NoError(t, h.Reset(h.ctx(), secrets["reset"], newPassword, ""))
	secrets["new password"] = newPassword
	first, err := h.FirstStart(h.ctx())
	require.NoError(t, err)
	secrets["first password"] = first[0].Password
	claimed, err := h.Claim(h.ctx(), "bob@example.org", true)
	require.NoError(t, err)
	secrets["claimed password"] = claimed.Password
	h.awaitBackground()

	for _, log := range domain.Logs() {
		for _, r := range h.recorded(log) {
			body, err := json.Marshal(r)
			require.NoError(t, err)
			for name, secret := range secrets {
				require.NotContains(t, string(body), secret, "%s in %s", name, r.Data.EventType())
			}
		}
	}
	for name, secret := range secrets {
		require.NotContains(t, h.log.String(), secret, name)
		require.Empty(t, h.filesWith(secret), name)
	}
	require.NotEmpty(t, h.filesWith("ada@example.org"), "the search finds what is there")
}

// invitationMail returns the mail to somebody who was invited.
func (h *fixture) invitationMail(email string) (sentMail, string) {
	h.t.Helper()
	_, err := h.Invite(h.ctx(), accounts.Invitation{Email: email})
	require.NoError(h.t, err)
	return h.mail(email)
}

// filesWith returns the files of the log and its buckets that hold a text.
func (h *fixture) filesWith(text string) (found []string) {
	h.t.Helper()
	require.NoError(h.t, filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Contains(body, []byte(text)) {
			found = append(found, path)
		}
		return nil
	}))
	return found
}
