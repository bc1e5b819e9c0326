package accounts_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/accounts"
	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/accesstoken"
	"svc/domain/session"
	"svc/domain/user"
	"svc/projections"
)

// isTokenKnown reports whether an access token is known.
func (h *fixture) isTokenKnown(token string) bool {
	h.t.Helper()
	require.NoError(h.t, h.models.Fresh(h.ctx()))
	var ok bool
	require.NoError(h.t, h.models.View(func(r projections.Reader) (err error) {
		_, ok, err = projections.AccessTokens{}.ByHash(r, domain.HashSecret(token))
		return err
	}))
	return ok
}

func (h *fixture) later() string { return h.now().Add(time.Hour).Format(time.RFC3339) }

func TestAccessTokens(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada, bob := h.signUp("ada@example.org"), h.signUp("bob@example.org")
	in := h.enter(ada.Email, password, "")
	first, err := h.CreateAccessToken(h.ctx(), in, "ci", h.later())
	require.NoError(t, err)
	require.Regexp(t, `^at:[0-9a-f]{24}[A-Za-z0-9_-]{43}$`, first.Token)
	require.Regexp(t, `^tok_[0-9a-f]{24}$`, first.ID)
	require.Equal(t, ada.ID, first.UserID)
	require.True(t, h.isTokenKnown(first.Token))
	second, err := h.CreateAccessToken(h.ctx(), in, "ci", h.later())
	require.NoError(t, err)
	for _, bad := range []string{"", "soon", "2030-01-01", h.now().Add(-time.Second).Format(time.RFC3339)} {
		_, err := h.CreateAccessToken(h.ctx(), in, "ci", bad)
		requireRefusal(t, err, domain.CodeValidation, "")
	}

	for _, other := range []string{first.ID, first.Token, "tok_x", "at:", "at:x", first.Token + "x", ""} {
		_, err = h.DeleteAccessToken(h.ctx(), bob.ID, other)
		requireRefusal(t, err, domain.CodeNotFound, "")
	}
	_, err = h.DeleteAccessToken(h.ctx(), ada.ID, first.Token[:len(first.Token)-1]+"!")
	requireRefusal(t, err, domain.CodeNotFound, "")
	id, err := h.DeleteAccessToken(h.ctx(), ada.ID, first.Token)
	require.NoError(t, err)
	require.Equal(t, first.ID, id)
	require.False(t, h.isTokenKnown(first.Token))
	id, err = h.DeleteAccessToken(h.ctx(), ada.ID, second.ID)
	require.NoError(t, err)
	require.Equal(t, second.ID, id)
	require.False(t, h.isTokenKnown(second.Token))
}

func TestARepeatedRequestShowsTheSameAccessToken(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	in, err := h.Anonymous(h.ctx(), accounts.Client{})
	require.NoError(t, err)
	again := func(seed string) accounts.AccessToken {
		made, err := h.CreateAccessToken(commands.WithRequest(h.ctx(), &commands.Request{Seed: seed}), in.Session, "ci", h.later())
		require.NoError(t, err)
		return made
	}
	first := again("key")
	require.Equal(t, first.Token, again("key").Token)
	require.NotEqual(t, first.Token, again("other").Token)
	require.Equal(t, 2, h.countEvents(domain.State, accesstoken.Created{}))
	require.True(t, h.state(in.UserID).Exists(), "a visitor who has a token is somebody")
}

func TestPasswordsAreChangedByWhoKnowsThem(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	in, other := h.enter(ada.Email, password, ""), h.enter(ada.Email, password, "")
	requireRefusal(t, h.ChangePassword(h.ctx(), in, "wrong", newPassword), domain.CodeInvalidCredentials, "")
	requireRefusal(t, h.ChangePassword(h.ctx(), in, password, "short"), domain.CodeValidation, "")
	require.True(t, h.isSessionValid(other))
	require.NoError(t, h.ChangePassword(h.ctx(), in, password, newPassword))
	require.True(t, h.isSessionValid(in))
	require.False(t, h.isSessionValid(other))
	h.enter(ada.Email, newPassword, "")
	_, err := h.login(ada.Email, password, "")
	requireRefusal(t, err, domain.CodeInvalidCredentials, "")
}

func TestNoSessionSlipsThroughAPasswordChange(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	in := h.enter(ada.Email, password, "")
	var between sessions.Session
	h.meanwhile = func() { between = h.enter(ada.Email, password, "") }
	require.NoError(t, h.ChangePassword(h.ctx(), in, password, newPassword))
	require.NotEmpty(t, between.ID)
	require.False(t, h.isSessionValid(between), "it was opened with the old password")
	require.True(t, h.isSessionValid(in))
}

func TestAHalfDonePasswordChangeLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	in, other := h.enter(ada.Email, password, ""), h.enter(ada.Email, password, "")
	changed := false
	h.counted.refuse = func(ev domain.Event) bool {
		_, now := ev.(user.Updated)
		changed = changed || now
		return changed && !now
	}
	require.NoError(t, h.ChangePassword(h.ctx(), in, password, newPassword))
	require.False(t, h.isSessionValid(other))

	h.counted.refuse = nil
	other = h.enter(ada.Email, newPassword, "")
	h.counted.refuse = func(ev domain.Event) bool { _, ended := ev.(session.Ended); return ended }
	require.Error(t, h.ChangePassword(h.ctx(), in, newPassword, password))
	h.counted.refuse = nil
	require.True(t, h.isSessionValid(other))
	h.enter(ada.Email, newPassword, "") // nothing was changed: it can be tried again
}

func TestAnAccountChangesItself(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada, bob := h.signUp("ada@example.org"), h.signUp("bob@example.org")
	in := h.enter(ada.Email, password, "")
	got, err := h.PatchSelf(h.ctx(), in, accounts.Patch{Photo: new("https://example.org/a.png"), Meta: new(map[string]json.RawMessage{"a": json.RawMessage("1")})})
	require.NoError(t, err)
	require.Equal(t, "https://example.org/a.png", got.Photo)
	meta, err := h.MergeMeta(h.ctx(), in, map[string]json.RawMessage{"b": json.RawMessage("[2]")})
	require.NoError(t, err)
	require.Equal(t, map[string]json.RawMessage{"a": json.RawMessage("1"), "b": json.RawMessage("[2]")}, meta)
	meta, err = h.DeleteMeta(h.ctx(), in, "a")
	require.NoError(t, err)
	require.Equal(t, map[string]json.RawMessage{"b": json.RawMessage("[2]")}, meta)

	for field, p := range map[string]accounts.Patch{
		"email": {Email: new("root@example.org")}, "status": {Status: new(user.Validated)}, "groups": {Groups: new([]string{"admins"})},
		"password": {Password: new(newPassword)}, "mfa": {MFA: new("none")},
	} {
		_, err := h.PatchSelf(h.ctx(), in, p)
		requireRefusal(t, err, domain.CodePermissionDenied, "")
		require.ErrorContains(t, err, field)
	}
	_, err = h.Patch(h.ctx(), accounts.Actor{UserID: ada.ID}, bob.ID, accounts.Patch{FirstName: new("Eve")})
	requireRefusal(t, err, domain.CodePermissionDenied, "")

	requireRefusal(t, h.DeleteSelf(h.ctx(), in, "wrong"), domain.CodeInvalidCredentials, "")
	require.NoError(t, h.DeleteSelf(h.ctx(), in, password))
	require.False(t, h.isSessionValid(in))
	_, err = h.PatchSelf(h.ctx(), in, accounts.Patch{FirstName: new("Eve")})
	requireRefusal(t, err, domain.CodeNotFound, "")
}

func TestASuperAdminChangesAnybody(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	root := accounts.Actor{UserID: "root", Super: true}
	ada, bob := h.signUp("ada@example.org"), h.signUp("bob@example.org")
	in := h.enter(ada.Email, password, "")
	h.secondFactor(in)
	got, err := h.Patch(h.ctx(), root, ada.ID, accounts.Patch{MFA: new("none"), Groups: new([]string{"staff"})})
	require.NoError(t, err)
	require.Equal(t, user.MFANone, got.MFA)
	require.Equal(t, []string{"staff"}, got.Groups)
	require.True(t, h.isSessionValid(in))

	_, err = h.Patch(h.ctx(), root, ada.ID, accounts.Patch{MFA: new("totp")})
	requireRefusal(t, err, domain.CodeValidation, "")
	_, err = h.Patch(h.ctx(), root, ada.ID, accounts.Patch{Email: new(bob.Email)})
	requireRefusal(t, err, domain.CodeAlreadyExists, "")
	_, err = h.Patch(h.ctx(), root, ada.ID, accounts.Patch{Password: new("short")})
	requireRefusal(t, err, domain.CodeValidation, "")
	_, err = h.Patch(h.ctx(), root, ada.ID, accounts.Patch{Password: new(newPassword), Status: new(user.Status("gone"))})
	requireRefusal(t, err, domain.CodeValidation, "")
	require.True(t, h.isSessionValid(in), "a change that is refused ends nothing")
	_, err = h.Patch(h.ctx(), root, "0123", accounts.Patch{Password: new(newPassword)})
	requireRefusal(t, err, domain.CodeNotFound, "")

	_, err = h.Patch(h.ctx(), root, ada.ID, accounts.Patch{Password: new(newPassword)})
	require.NoError(t, err)
	require.False(t, h.isSessionValid(in))
	in, other := h.enter(ada.Email, newPassword, ""), h.enter(ada.Email, newPassword, "")
	_, err = h.Patch(h.ctx(), accounts.Actor{UserID: ada.ID, SessionID: in.ID, Super: true}, ada.ID, accounts.Patch{Password: new(password)})
	require.NoError(t, err)
	require.True(t, h.isSessionValid(in))
	require.False(t, h.isSessionValid(other))

	_, err = h.Patch(h.ctx(), root, ada.ID, accounts.Patch{Status: new(user.Deactivated)})
	require.NoError(t, err)
	require.False(t, h.isSessionValid(in))
	requireRefusal(t, h.DeleteUser(h.ctx(), "0123"), domain.CodeNotFound, "")
	require.NoError(t, h.DeleteUser(h.ctx(), ada.ID))
	requireRefusal(t, h.DeleteUser(h.ctx(), ada.ID), domain.CodeNotFound, "")
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	in, other := h.enter(ada.Email, password, ""), h.enter(ada.Email, password, "")
	live, err := h.SessionsOf(h.ctx(), ada.ID)
	require.NoError(t, err)
	require.Len(t, live, 2)
	require.NoError(t, h.EndSession(h.ctx(), ada.ID, other.ID))
	require.False(t, h.isSessionValid(other))
	requireRefusal(t, h.EndSession(h.ctx(), ada.ID, other.ID), domain.CodeNotFound, "")
	requireRefusal(t, h.EndSession(h.ctx(), "somebody else", in.ID), domain.CodeNotFound, "")
	require.NoError(t, h.EndSessions(h.ctx(), ada.ID))
	require.False(t, h.isSessionValid(in))
}

func TestSomebodyIsInvited(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, err := h.Invite(h.ctx(), accounts.Invitation{Email: "Ada@example.org", FirstName: "Ada", Groups: []string{"staff"}})
	require.NoError(t, err)
	require.Equal(t, user.Validated, ada.Status)
	_, err = h.login(ada.Email, "", "")
	requireRefusal(t, err, domain.CodeInvalidCredentials, "")
	m, token := h.mail("ada@example.org")
	require.Contains(t, m.text, "console/reset#token=")
	require.NoError(t, h.Reset(h.ctx(), token, newPassword, ""))
	h.enter(ada.Email, newPassword, "")

	bob, err := h.Invite(h.ctx(), accounts.Invitation{Email: "bob@example.org", Password: password})
	require.NoError(t, err)
	h.enter(bob.Email, password, "")
	_, err = h.Invite(h.ctx(), accounts.Invitation{Email: "bob@example.org", Password: password})
	requireRefusal(t, err, domain.CodeAlreadyExists, "")
	_, err = h.Invite(h.ctx(), accounts.Invitation{Email: "cleo@example.org", Password: "short"})
	requireRefusal(t, err, domain.CodeValidation, "")
	_, err = h.Invite(h.ctx(), accounts.Invitation{})
	requireRefusal(t, err, domain.CodeValidation, "")
	h.awaitBackground()
	require.Empty(t, h.mails)
}

func TestTheFirstStartMakesSuperAdmins(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(s *accounts.Settings) { s.SuperAdmins = []string{"Root@Example.org", "admin@localhost"} })
	nodes := []*accounts.Accounts{h.Accounts, h.node(), h.node()}
	made := make([][]accounts.NewAccount, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() {
			var err error
			if made[i], err = node.FirstStart(h.ctx()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var winner []accounts.NewAccount
	for _, m := range made {
		if len(m) > 0 {
			require.Empty(t, winner, "one node makes them all")
			winner = m
		}
	}
	require.Len(t, winner, 2)
	require.NotEqual(t, winner[0].Password, winner[1].Password)
	for _, one := range winner {
		require.Regexp(t, `^[a-z2-9]{6}(-[a-z2-9]{6}){3}$`, one.Password)
		h.enter(one.Email, one.Password, "")
		require.True(t, h.isSuper(one.ID))
	}

	h.set(func(s *accounts.Settings) { s.SuperAdmins = append(s.SuperAdmins, "late@example.org") })
	require.NoError(t, h.DeleteUser(h.ctx(), winner[0].ID))
	again, err := h.FirstStart(h.ctx())
	require.NoError(t, err)
	require.Empty(t, again, "there is one first start")
}

func TestTheFirstPasswordCanBeGiven(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(s *accounts.Settings) { s.AdminPassword = "short" })
	_, err := h.FirstStart(h.ctx())
	require.ErrorContains(t, err, "ADMIN_PASSWORD")
	require.NotContains(t, err.Error(), "short")
	h.set(func(s *accounts.Settings) { s.AdminPassword = password })
	made, err := h.FirstStart(h.ctx())
	require.NoError(t, err)
	require.Len(t, made, 1)
	require.Empty(t, made[0].Password)
	h.enter("root@example.org", password, "")
	h.set(func(s *accounts.Settings) { s.SuperAdmins = nil })
	made, err = h.FirstStart(h.ctx())
	require.NoError(t, err)
	require.Empty(t, made)
}

func TestAnAddressMakesNoSuperAdminUntilItIsProven(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	root := h.signUp("root@example.org")
	in := h.enter(root.Email, password, "")
	require.Empty(t, root.Role)
	require.False(t, h.isSuper(root.ID))
	claimed, err := h.Claim(h.ctx(), "ROOT@example.org", false)
	require.NoError(t, err)
	require.NotEmpty(t, claimed.Password, "whoever signed up may have been somebody else")
	require.True(t, h.isSuper(root.ID))
	require.False(t, h.isSessionValid(in))
	_, err = h.login(root.Email, password, "")
	requireRefusal(t, err, domain.CodeInvalidCredentials, "")
	in = h.enter(root.Email, claimed.Password, "")

	again, err := h.Claim(h.ctx(), root.Email, false)
	require.NoError(t, err)
	require.Empty(t, again.Password)
	require.True(t, h.isSessionValid(in))
	renewed, err := h.Claim(h.ctx(), root.Email, true)
	require.NoError(t, err)
	require.False(t, h.isSessionValid(in))
	h.enter(root.Email, renewed.Password, "")

	made, err := h.Claim(h.ctx(), "new@example.org", false)
	require.NoError(t, err)
	h.enter("new@example.org", made.Password, "")
	_, err = h.Claim(h.ctx(), "nobody", false)
	requireRefusal(t, err, domain.CodeValidation, "")

	_, err = h.Patch(h.ctx(), accounts.Actor{Super: true}, made.ID, accounts.Patch{Email: new("other@example.org")})
	require.NoError(t, err)
	h.set(func(s *accounts.Settings) { s.SuperAdmins = append(s.SuperAdmins, "other@example.org") })
	require.False(t, h.isSuper(made.ID), "an address that a super admin typed is not proven")
	h.proveEmail(made.ID)
	require.True(t, h.isSuper(made.ID))
}
