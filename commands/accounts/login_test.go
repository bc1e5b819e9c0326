package accounts_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/accounts"
	"svc/domain"
	"svc/domain/user"
)

func TestSigningUpAndIn(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	made, validation, err := h.SignUp(h.ctx(), accounts.SignUp{Email: "Ada@Example.org", Password: password, FirstName: "Ada", LastName: "Byron", Language: "en", IP: "203.0.113.7"})
	require.NoError(t, err)
	require.Equal(t, accounts.ValidationAuto, validation)
	require.Equal(t, "ada@example.org", made.Email)
	require.Equal(t, user.Validated, made.Status)
	require.Len(t, made.ID, 24)
	require.Empty(t, made.Role)
	require.NotContains(t, h.state(made.ID).Credentials.Password, password)

	in, err := h.Login(h.ctx(), accounts.Login{Email: "ADA@example.org", Password: password, Client: accounts.Client{IP: "203.0.113.7", UserAgent: "test", ExpiresAfter: time.Minute}})
	require.NoError(t, err)
	require.Equal(t, made.ID, in.UserID)
	require.WithinDuration(t, h.now().Add(time.Minute), in.Expires, 20*time.Second, "a session that ends before the token would")
	claims, err := h.keys.Verify(h.ctx(), in.Token)
	require.NoError(t, err)
	require.Equal(t, made.ID, claims.Subject)
	require.Equal(t, in.SessionID, claims.SessionID)
	require.Equal(t, accounts.Scopes, claims.Scope)
	require.NotEmpty(t, claims.ID)
	require.Equal(t, in.Expires, claims.ExpiresAt)
	require.True(t, h.isSessionValid(in.Session))
	require.False(t, in.Session.MFA || in.Session.MFAPending || in.Session.Anonymous)

	long := h.enter("ada@example.org", password, "")
	issued, err := h.Issue(h.ctx(), long, "openid")
	require.NoError(t, err)
	require.WithinDuration(t, h.now().Add(time.Hour), issued.Expires, time.Minute, "ACCESS_TOKENS_MAX_AGE")

	told := h.recorded(domain.Activity)
	require.Equal(t, user.LoginSucceeded{
		ID: made.ID, Email: "ada@example.org", IP: "203.0.113.7", Provider: user.Local,
		Session: user.OpenedSession{ID: in.SessionID, Expires: in.Session.Expires.Format("2006-01-02T15:04:05.000Z")},
	}, told[0].Data)
	require.Equal(t, domain.Platform, told[0].Stream.Scope)

	require.NoError(t, h.Logout(h.ctx(), in.Session))
	require.NoError(t, h.Logout(h.ctx(), in.Session))
	require.False(t, h.isSessionValid(in.Session))
	require.True(t, h.isSessionValid(long))
}

func TestAnAddressIsUsedOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	first := h.signUp("ada@example.org")
	_, _, err := h.SignUp(h.ctx(), accounts.SignUp{Email: "ADA@example.org", Password: password, FirstName: "Eve", LastName: "E"})
	requireRefusal(t, err, domain.CodeAlreadyExists, "")
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, map[string]any{"field": "email", "value": "ada@example.org"}, refusal.Details)

	require.NoError(t, h.DeleteUser(h.ctx(), first.ID))
	require.NotEqual(t, first.ID, h.signUp("ada@example.org").ID, "a deleted account frees its address")
}

func TestOfManyWhoSignUpAtOnceOneGetsTheAddress(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	nodes := []*accounts.Accounts{h.Accounts, h.node()}
	var got atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			_, _, err := nodes[i%2].SignUp(h.ctx(), accounts.SignUp{Email: "ada@example.org", Password: password, FirstName: "A", LastName: "B"})
			if err == nil {
				got.Add(1)
			} else if domain.CodeOf(err) != domain.CodeAlreadyExists {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, got.Load())
}

func TestARepeatedSignUpMeetsItsOwnAccount(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	again := func() accounts.Account {
		ctx := commands.WithRequest(h.ctx(), &commands.Request{Seed: "key"})
		made, _, err := h.SignUp(ctx, accounts.SignUp{Email: "ada@example.org", Password: password, FirstName: "Ada", LastName: "Byron"})
		require.NoError(t, err)
		return made
	}
	require.Equal(t, again(), again())
}

func TestEveryFaultOfASignUpIsNamed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	_, _, err := h.SignUp(h.ctx(), accounts.SignUp{Email: "nobody", Password: "short", FirstName: "", LastName: "B", Language: "?"})
	requireRefusal(t, err, domain.CodeValidation, "")
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	var fields []string
	for _, f := range refusal.Details["errors"].([]domain.FieldError) {
		fields = append(fields, f.Field)
	}
	require.Equal(t, []string{"email", "language", "firstName", "password"}, fields)
	require.NotContains(t, err.Error(), "short ")
	require.Zero(t, h.countEvents(domain.State, user.SignedUp{}))
}

// Whatever is wrong gets the same answer, and is recorded the same way.
func TestARefusedLoginTellsNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	bob := h.signUp("bob@example.org")
	_, err := h.Patch(h.ctx(), accounts.Actor{Super: true}, bob.ID, accounts.Patch{Status: new(user.Deactivated)})
	require.NoError(t, err)
	cleo := h.signUp("cleo@example.org")
	require.NoError(t, h.DeleteUser(h.ctx(), cleo.ID))
	_, err = h.LoginWith(h.ctx(), accounts.Identity{Provider: "acme", Subject: "d1", Email: "dora@example.org", EmailVerified: true}, accounts.Client{})
	require.NoError(t, err)

	_, unknown := h.login("nobody@example.org", password, "")
	requireRefusal(t, unknown, domain.CodeInvalidCredentials, "")
	for name, in := range map[string][2]string{
		"a wrong password":             {"ada@example.org", "wrong"},
		"no password":                  {"ada@example.org", ""},
		"a deactivated account":        {"bob@example.org", password},
		"a deleted account":            {"cleo@example.org", password},
		"an account without password":  {"dora@example.org", password},
		"an empty password for it":     {"dora@example.org", ""},
		"no address":                   {"", password},
		"something that is no address": {"ada", password},
	} {
		_, err := h.login(in[0], in[1], "")
		require.Equal(t, unknown, err, name)
	}
	require.Equal(t, 9, h.countEvents(domain.Activity, user.LoginFailed{}))
	require.True(t, h.isSessionValid(h.enter(ada.Email, password, "")))
}

// What a refused login asks of the log does not depend on who was named.
func TestAnUnknownAddressCostsAsMuchAsAKnownOne(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	cost := func(email string) [2]int32 {
		h.counted.loads.Store(0)
		h.counted.appends.Store(0)
		_, err := h.login(email, "wrong", "")
		requireRefusal(t, err, domain.CodeInvalidCredentials, "")
		return [2]int32{h.counted.loads.Load(), h.counted.appends.Load()}
	}
	require.Equal(t, [2]int32{2, 1}, cost(ada.Email))
	require.Equal(t, [2]int32{2, 1}, cost("nobody@example.org"))
}

// A login that is half done when its account is deactivated, or gets another
// password, must not leave a session that nobody ends.
func TestALoginIsOverWhenItsAccountIs(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	root := accounts.Actor{Super: true}
	for _, change := range []accounts.Patch{{Password: new(newPassword)}, {Status: new(user.Deactivated)}} {
		_, err := h.Patch(h.ctx(), root, ada.ID, accounts.Patch{Password: new(password)})
		require.NoError(t, err)
		h.meanwhile = func() {
			_, err := h.Patch(h.ctx(), root, ada.ID, change)
			require.NoError(t, err)
		}
		_, err = h.login(ada.Email, password, "")
		requireRefusal(t, err, domain.CodeInvalidCredentials, "")
		require.NoError(t, h.models.Fresh(h.ctx()))
		live, err := h.SessionsOf(h.ctx(), ada.ID)
		require.NoError(t, err)
		require.Empty(t, live)
	}
}

func TestWhoWaitsIsToldForWhat(t *testing.T) {
	t.Parallel()
	for validation, reason := range map[string]string{
		accounts.ValidationEmail: "email_not_validated", accounts.ValidationManual: "manual_validation",
	} {
		h := newFixture(t, func(s *accounts.Settings) { s.Validation = validation })
		ada := h.signUp("ada@example.org")
		require.Equal(t, user.Pending, ada.Status)
		_, err := h.login(ada.Email, password, "")
		requireRefusal(t, err, domain.CodeInvalidCredentials, reason)
		_, err = h.login(ada.Email, "wrong", "")
		requireRefusal(t, err, domain.CodeInvalidCredentials, "")

		_, err = h.Patch(h.ctx(), accounts.Actor{Super: true}, ada.ID, accounts.Patch{Status: new(user.Validated)})
		require.NoError(t, err)
		h.enter(ada.Email, password, "")
		require.False(t, h.state(ada.ID).Credentials.EmailProven, "consent is no proof of an address")
	}
}

func TestWhatIsSwitchedOff(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	h.set(func(s *accounts.Settings) { s.DisableSignin, s.DisableSignup = true, true })
	_, err := h.login(ada.Email, password, "")
	requireRefusal(t, err, domain.CodePermissionDenied, "")
	_, _, err = h.SignUp(h.ctx(), accounts.SignUp{Email: "bob@example.org", Password: password})
	requireRefusal(t, err, domain.CodePermissionDenied, "")
	requireRefusal(t, h.RequestReset(h.ctx(), ada.Email, ""), domain.CodePermissionDenied, "")
	requireRefusal(t, h.Reset(h.ctx(), "token", password, ""), domain.CodePermissionDenied, "")
}

func TestALoginLastsAsLongAsItMay(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	_, err := h.Login(h.ctx(), accounts.Login{Email: ada.Email, Password: password, Client: accounts.Client{ExpiresAfter: -time.Second}})
	requireRefusal(t, err, domain.CodeValidation, "")
	_, err = h.Anonymous(h.ctx(), accounts.Client{ExpiresAfter: -1})
	requireRefusal(t, err, domain.CodeValidation, "")
	_, err = h.LoginWith(h.ctx(), accounts.Identity{Provider: "acme", Subject: "s"}, accounts.Client{ExpiresAfter: -1})
	requireRefusal(t, err, domain.CodeValidation, "")
}

func TestVisitors(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := commands.WithRequest(h.ctx(), &commands.Request{Seed: "key"})
	in, err := h.Anonymous(ctx, accounts.Client{IP: "203.0.113.7"})
	require.NoError(t, err)
	other, err := h.Anonymous(commands.WithRequest(h.ctx(), &commands.Request{Seed: "key"}), accounts.Client{})
	require.NoError(t, err)
	require.NotEqual(t, in.UserID, other.UserID, "two visitors are never one")
	require.Len(t, in.UserID, 24)
	require.True(t, in.Session.Anonymous)
	require.False(t, h.state(in.UserID).Exists(), "who owns nothing is no account")

	require.NoError(t, h.Materialise(ctx, in.Session))
	require.NoError(t, h.Materialise(h.ctx(), in.Session))
	s := h.state(in.UserID)
	require.Equal(t, user.Validated, s.Status)
	require.Equal(t, map[string]user.Identity{user.Anonymous: {ID: in.UserID}}, s.AuthData)
	require.Equal(t, 1, h.countEvents(domain.State, user.Created{}))

	patched, err := h.PatchSelf(h.ctx(), other.Session, accounts.Patch{FirstName: new("Visitor")})
	require.NoError(t, err)
	require.Equal(t, "Visitor", patched.FirstName)
	_, err = h.OfferMFA(h.ctx(), other.Session, "")
	requireRefusal(t, err, domain.CodePermissionDenied, "")
	require.NoError(t, h.DeleteSelf(h.ctx(), other.Session, ""))
	require.False(t, h.isSessionValid(other.Session))
	require.False(t, h.state(other.UserID).Exists())
}
