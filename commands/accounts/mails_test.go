package accounts_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/accounts"
	"svc/domain"
	"svc/domain/user"
)

const newPassword = "another horse battery"

func TestAnAddressIsConfirmedByMail(t *testing.T) {
	t.Parallel()
	h := newFixture(t, byMail)
	ada := h.signUp("ada@example.org")
	m, first := h.mail(ada.Email)
	require.Contains(t, m.text, "https://example.org/console/confirm#token="+first)

	require.NoError(t, h.RequestValidation(h.ctx(), "ADA@example.org"))
	_, second := h.mail(ada.Email)
	requireRefusal(t, h.Reset(h.ctx(), second, newPassword, ""), domain.CodeValidation, "") // it is for something else
	require.NoError(t, h.Validate(h.ctx(), second))
	s := h.state(ada.ID)
	require.Equal(t, user.Validated, s.Status)
	require.True(t, s.Credentials.EmailProven)
	h.enter(ada.Email, password, "")

	requireRefusal(t, h.Validate(h.ctx(), second), domain.CodeValidation, "")
	require.NoError(t, h.Validate(h.ctx(), first), "it is true already")
	require.Equal(t, 1, h.countEvents(domain.State, user.Updated{}))
	require.NoError(t, h.RequestValidation(h.ctx(), ada.Email))
	require.NoError(t, h.RequestValidation(h.ctx(), "nobody@example.org"))
	requireRefusal(t, h.RequestValidation(h.ctx(), "nobody"), domain.CodeValidation, "")
	h.awaitBackground()
	require.Empty(t, h.mails, "who is confirmed gets no mail, nor does nobody")
}

func TestAMailDoesNotReplaceConsent(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.signUp("ada@example.org")
	h.proveEmail(ada.ID)
	_, err := h.login(ada.Email, password, "")
	requireRefusal(t, err, domain.CodeInvalidCredentials, "manual_validation")
}

func TestAPasswordIsResetByMail(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	in := h.enter(ada.Email, password, "")
	require.NoError(t, h.RequestReset(h.ctx(), "Ada@example.org", "203.0.113.7"))
	m, token := h.mail(ada.Email)
	require.Contains(t, m.text, "https://example.org/console/reset#token="+token)
	require.NoError(t, h.RequestReset(h.ctx(), ada.Email, "203.0.113.7"))
	_, other := h.mail(ada.Email)

	requireRefusal(t, h.Reset(h.ctx(), token, "short", ""), domain.CodeValidation, "")
	requireRefusal(t, h.Reset(h.ctx(), "no token", newPassword, ""), domain.CodeValidation, "")
	requireRefusal(t, h.Validate(h.ctx(), token), domain.CodeValidation, "")
	require.NoError(t, h.Reset(h.ctx(), token, newPassword, "203.0.113.7"))
	requireRefusal(t, h.Reset(h.ctx(), token, newPassword, ""), domain.CodeValidation, "")
	requireRefusal(t, h.Reset(h.ctx(), other, newPassword, ""), domain.CodeValidation, "") // of the password before
	require.False(t, h.isSessionValid(in))
	require.True(t, h.state(ada.ID).Credentials.EmailProven)
	_, err := h.login(ada.Email, password, "")
	requireRefusal(t, err, domain.CodeInvalidCredentials, "")
	h.enter(ada.Email, newPassword, "")

	require.Equal(t, 2, h.countEvents(domain.Activity, user.PasswordResetRequested{}))
	require.Equal(t, 1, h.countEvents(domain.State, user.PasswordReset{}))
}

// A reset takes the account from whoever made it with another's address.
func TestAStrangerLosesWhatTheyPutOnAnAccount(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	stranger := h.enter(ada.Email, password, "")
	h.secondFactor(stranger)
	token, err := h.CreateAccessToken(h.ctx(), stranger, "backdoor", h.now().Add(time.Hour).Format(time.RFC3339))
	require.NoError(t, err)
	require.True(t, h.isTokenKnown(token.Token))

	require.NoError(t, h.RequestReset(h.ctx(), ada.Email, ""))
	_, mailed := h.mail(ada.Email)
	require.NoError(t, h.Reset(h.ctx(), mailed, newPassword, ""))
	require.False(t, h.isSessionValid(stranger))
	require.False(t, h.isTokenKnown(token.Token))
	h.enter(ada.Email, newPassword, "")
}

func TestMailTokensAgeAndFollowTheirAddress(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	require.NoError(t, h.RequestReset(h.ctx(), ada.Email, ""))
	_, old := h.mail(ada.Email)
	h.pass(time.Hour)
	requireRefusal(t, h.Reset(h.ctx(), old, newPassword, ""), domain.CodeValidation, "")

	require.NoError(t, h.RequestReset(h.ctx(), ada.Email, ""))
	_, reset := h.mail(ada.Email)
	require.NoError(t, h.RequestValidation(h.ctx(), ada.Email))
	_, confirm := h.mail(ada.Email)
	_, err := h.Patch(h.ctx(), accounts.Actor{Super: true}, ada.ID, accounts.Patch{Email: new("ada@new.org")})
	require.NoError(t, err)
	requireRefusal(t, h.Reset(h.ctx(), reset, newPassword, ""), domain.CodeValidation, "")
	requireRefusal(t, h.Validate(h.ctx(), confirm), domain.CodeValidation, "")

	require.NoError(t, h.RequestReset(h.ctx(), "ada@new.org", ""))
	_, reset = h.mail("ada@new.org")
	require.NoError(t, h.RequestValidation(h.ctx(), "ada@new.org"))
	_, confirm = h.mail("ada@new.org")
	require.NoError(t, h.DeleteUser(h.ctx(), ada.ID))
	requireRefusal(t, h.Reset(h.ctx(), reset, newPassword, ""), domain.CodeValidation, "")
	requireRefusal(t, h.Validate(h.ctx(), confirm), domain.CodeValidation, "")
}

// Whether an address has an account cannot be told from what is asked for it.
func TestNobodyIsMailedWhoIsNotThere(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	bob := h.signUp("bob@example.org")
	_, err := h.Patch(h.ctx(), accounts.Actor{Super: true}, bob.ID, accounts.Patch{Status: new(user.Deactivated)})
	require.NoError(t, err)
	_, err = h.LoginWith(h.ctx(), accounts.Identity{Provider: "acme", Subject: "d1", Email: "dora@example.org", EmailVerified: true}, accounts.Client{})
	require.NoError(t, err)
	for _, email := range []string{"nobody@example.org", "bob@example.org", "dora@example.org"} {
		require.NoError(t, h.RequestReset(h.ctx(), email, "203.0.113.7"))
		require.NoError(t, h.RequestValidation(h.ctx(), email))
	}
	requireRefusal(t, h.RequestReset(h.ctx(), "a@b@c", ""), domain.CodeValidation, "")
	h.awaitBackground()
	require.Empty(t, h.mails)
	require.Equal(t, 3, h.countEvents(domain.Activity, user.PasswordResetRequested{}))
}

func TestWithoutMailRequestsSucceedSilently(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	h.mailer = nil
	h.Accounts = h.node()
	ada := h.signUp("ada@example.org")
	require.NoError(t, h.RequestReset(h.ctx(), ada.Email, ""))
	require.NoError(t, h.RequestValidation(h.ctx(), ada.Email))
	h.awaitBackground()
	require.Empty(t, h.log.String())
	_, err := h.Invite(h.ctx(), accounts.Invitation{Email: "bob@example.org"})
	requireRefusal(t, err, domain.CodeValidation, "")
}

// echo is a mail server that refuses every mail by repeating it.
type echo struct{}

func (echo) Send(_ context.Context, _, _, text string) error { return errors.New("550 no: " + text) }

func TestNoTokenIsLogged(t *testing.T) {
	t.Parallel()
	h := newFixture(t, byMail)
	h.mailer = echo{}
	h.Accounts = h.node()
	h.signUp("ada@example.org")
	h.awaitBackground()
	require.Contains(t, h.log.String(), "a mail was not sent")
	require.NotContains(t, h.log.String(), "token=")
}

// silentMailServer is a mail server that never answers. It tells who waits for it.
type silentMailServer chan string

func (m silentMailServer) Send(ctx context.Context, to, _, _ string) error {
	m <- to
	<-ctx.Done()
	return ctx.Err()
}

func TestMailsThatCannotBeSentAreGivenUp(t *testing.T) {
	t.Parallel()
	h := newFixture(t, byMail)
	server := make(silentMailServer, 10)
	h.mailer = server
	h.Accounts = h.node()
	for _, email := range []string{"ada@example.org", "bob@example.org"} {
		h.signUp(email)
		require.Equal(t, email, <-server)
	}
	for range 300 { // more than can wait
		require.NoError(t, h.RequestValidation(h.ctx(), "ada@example.org"))
	}
	ctx, cancel := context.WithCancelCause(h.ctx())
	enough := errors.New("enough")
	cancel(enough)
	begin := time.Now()
	require.ErrorIs(t, h.Close(ctx), enough)
	require.Less(t, time.Since(begin), 30*time.Second)
	require.Contains(t, h.log.String(), "too many are waiting")
	require.NoError(t, h.RequestReset(h.ctx(), "ada@example.org", ""), "after the end it is as if there were no mail")
	require.NoError(t, h.Close(h.ctx()))
}

func TestNothingWasLostWhenNoMailWaitsAtTheEnd(t *testing.T) {
	t.Parallel()
	h := newFixture(t, byMail)
	ended, cancel := context.WithCancel(h.ctx())
	cancel()
	require.NoError(t, h.Close(ended), "an end that others used up the time of is not a fault of the mails")
}
