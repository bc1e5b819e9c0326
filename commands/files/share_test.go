package files_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/files"
	"svc/domain"
	"svc/domain/file"
	"svc/eventstore"
)

func (l *library) token(s file.State) string {
	l.t.Helper()
	token, err := l.ShareToken(l.t.Context(), s)
	require.NoError(l.t, err)
	return token
}

func (l *library) link(s file.State, lasts time.Duration) string {
	l.t.Helper()
	token, err := l.Link(l.t.Context(), s, l.now.Add(lasts))
	require.NoError(l.t, err)
	require.Regexp(l.t, `^[A-Za-z0-9_-]+$`, token)
	return token
}

func (l *library) checkToken(s file.State, token string) domain.Code {
	l.t.Helper()
	return domain.CodeOf(l.Admit(l.t.Context(), s, token))
}

func (l *library) change(s file.State, c files.Change) file.State {
	l.t.Helper()
	changed, err := l.Change(l.t.Context(), "w1", s.ID, c, anyone)
	require.NoError(l.t, err)
	return changed
}

func TestALinkOpensItsFileForItsTime(t *testing.T) {
	t.Parallel()
	l := open(t)
	made, other := l.one(upload("a", "x")), l.one(upload("a", "x"))
	link := l.link(made, time.Minute)
	require.Equal(t, domain.CodeNone, l.checkToken(made, link))
	require.Equal(t, domain.CodeInvalidToken, l.checkToken(other, link), "not another file")
	elsewhere := made
	elsewhere.WorkspaceID = "w2"
	require.Equal(t, domain.CodeInvalidToken, l.checkToken(elsewhere, link), "nor one of another workspace")
	body, err := base64.RawURLEncoding.DecodeString(link)
	require.NoError(t, err)
	for i := range body {
		bad := append([]byte{}, body...)
		bad[i] ^= 1
		require.Equal(t, domain.CodeInvalidToken, l.checkToken(made, base64.RawURLEncoding.EncodeToString(bad)), "byte %d", i)
	}
	for _, bad := range []string{"", "x", "é", link + "A", link[1:], strings.Repeat("A", 54)} {
		require.Equal(t, domain.CodeInvalidToken, l.checkToken(made, bad), bad)
	}
	l.now = l.now.Add(time.Minute)
	require.Equal(t, domain.CodeTokenExpired, l.checkToken(made, link))
}

func TestANewShareTokenVoidsEarlierLinks(t *testing.T) {
	t.Parallel()
	l := open(t)
	made := l.one(upload("a", "x"))
	bare := l.link(made, time.Hour)
	first := l.change(made, files.Change{ShareToken: &files.ShareToken{Generate: true}})
	require.Equal(t, domain.CodeInvalidToken, l.checkToken(first, bare))
	token, link := l.token(first), l.link(first, time.Hour)
	require.GreaterOrEqual(t, len(token), 16)
	require.Equal(t, domain.CodeNone, l.checkToken(first, token))
	require.Equal(t, domain.CodeNone, l.checkToken(first, link))

	kept := l.change(first, files.Change{ShareToken: &files.ShareToken{Text: token}, Public: new(true)})
	require.Equal(t, first.Share, kept.Share, "the same token is no new one")
	require.Equal(t, domain.CodeNone, l.checkToken(kept, link))

	second := l.change(first, files.Change{ShareToken: &files.ShareToken{Generate: true}})
	for _, old := range []string{token, link, bare} {
		require.Equal(t, domain.CodeInvalidToken, l.checkToken(second, old))
	}
	chosen := strings.Repeat("Chosen-1_", 2)
	third := l.change(second, files.Change{ShareToken: &files.ShareToken{Text: chosen}})
	require.Equal(t, chosen, l.token(third))
	require.Equal(t, domain.CodeNone, l.checkToken(third, chosen))

	none := l.change(third, files.Change{ShareToken: &files.ShareToken{}})
	require.Empty(t, l.token(none))
	for _, old := range []string{"", chosen, token, link, bare} {
		require.Equal(t, domain.CodeInvalidToken, l.checkToken(none, old), "links of before the first token do not come back")
	}
	for _, bad := range []string{"short", strings.Repeat("a", 129), strings.Repeat("é", 16)} {
		_, err := l.Change(t.Context(), "w1", made.ID, files.Change{ShareToken: &files.ShareToken{Text: bad}}, anyone)
		require.Equal(t, domain.CodeValidation, domain.CodeOf(err), bad)
	}
	for _, r := range l.history(made.ID) {
		text, err := json.Marshal(r)
		require.NoError(t, err)
		for _, secret := range []string{token, chosen, l.token(second)} {
			require.NotContains(t, string(text), secret)
		}
	}
}

func TestADestroyedKeyEndsAllLinks(t *testing.T) {
	t.Parallel()
	l := open(t)
	shared := upload("a", "x")
	shared.ShareToken = &files.ShareToken{Generate: true}
	made := l.one(shared)
	link, bare := l.link(made, time.Hour), l.one(upload("b", "y"))
	plain := l.link(bare, time.Hour)
	require.NoError(t, l.vault.Destroy(t.Context(), "w1"))
	require.Equal(t, domain.CodeInternal, l.checkToken(made, link), "the token cannot be read any more")
	require.Equal(t, domain.CodeInvalidToken, l.checkToken(bare, plain))
}

// brokenVault is a vault that does not open.
type brokenVault struct{ err error }

func (s brokenVault) Seal(context.Context, string, []byte, string) ([]byte, error) { return nil, s.err }
func (s brokenVault) Open(context.Context, string, []byte, string) ([]byte, error) { return nil, s.err }
func (s brokenVault) MAC(context.Context, string, string, []byte) ([]byte, error)  { return nil, s.err }

func TestAVaultThatDoesNotOpenIsNoRefusal(t *testing.T) {
	t.Parallel()
	fault := &brokenVault{}
	l := open(t, func(o *files.Options) { o.Vault = fault })
	made := l.one(upload("a", "x"))
	shared := made
	shared.Share = file.Share{Generation: 1, Sealed: []byte("x")}
	seeded := commands.WithRequest(t.Context(), &commands.Request{Seed: "s"})
	for _, fault.err = range []error{eventstore.ErrUnavailable, errors.New("odd")} {
		for name, try := range map[string]func() error{
			"seal": func() error {
				_, err := l.Change(t.Context(), "w1", made.ID, files.Change{ShareToken: &files.ShareToken{Generate: true}}, anyone)
				return err
			},
			"draw": func() error {
				_, err := l.Change(seeded, "w1", made.ID, files.Change{ShareToken: &files.ShareToken{Generate: true}}, anyone)
				return err
			},
			"open":   func() error { _, err := l.ShareToken(t.Context(), shared); return err },
			"link":   func() error { _, err := l.Link(t.Context(), made, l.now); return err },
			"admit":  func() error { return l.Admit(t.Context(), made, strings.Repeat("A", 54)) },
			"shared": func() error { return l.Admit(t.Context(), shared, "x") },
		} {
			err := try()
			require.ErrorIs(t, err, fault.err, name)
			_, passing := errors.AsType[*commands.Unavailable](err)
			require.Equal(t, errors.Is(fault.err, eventstore.ErrUnavailable), passing, name)
		}
	}
}
