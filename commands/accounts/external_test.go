package accounts_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/accounts"
	"svc/domain"
	"svc/domain/user"
)

func acmeIdentity(subject, email string) accounts.Identity {
	return accounts.Identity{Provider: "acme", Subject: subject, Email: email, EmailVerified: true, FirstName: "Ada", LastName: "Byron"}
}

func TestAProviderBringsAUser(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	in, err := h.LoginWith(h.ctx(), acmeIdentity("a1", "Ada@Example.org"), accounts.Client{IP: "203.0.113.7", ClientID: "console"})
	require.NoError(t, err)
	s := h.state(in.UserID)
	require.Equal(t, user.Validated, s.Status)
	require.True(t, s.Credentials.EmailProven)
	require.Equal(t, "ada@example.org", s.Email)
	require.Equal(t, map[string]user.Identity{"acme": {ID: "a1", Email: "ada@example.org"}}, s.AuthData)
	require.Equal(t, "acme", in.Session.Provider)
	claims, err := h.keys.Verify(h.ctx(), in.Token)
	require.NoError(t, err)
	require.Equal(t, "console", claims.ClientID)

	again, err := h.LoginWith(h.ctx(), acmeIdentity("a1", "ada@elsewhere.org"), accounts.Client{})
	require.NoError(t, err)
	require.Equal(t, in.UserID, again.UserID, "the subject counts, not the address")
	other, err := h.LoginWith(h.ctx(), acmeIdentity("a1/x", "bob@example.org"), accounts.Client{})
	require.NoError(t, err)
	require.NotEqual(t, in.UserID, other.UserID)
	_, err = h.LoginWith(h.ctx(), acmeIdentity("a2", "ada@example.org"), accounts.Client{})
	requireRefusal(t, err, domain.CodePermissionDenied, "identity_conflict")
}

func TestAnUnverifiedAddressIsNobodys(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	claim := acmeIdentity("e1", ada.Email)
	claim.EmailVerified = false
	in, err := h.LoginWith(h.ctx(), claim, accounts.Client{})
	require.NoError(t, err)
	require.NotEqual(t, ada.ID, in.UserID)
	s := h.state(in.UserID)
	require.Empty(t, s.Email)
	require.False(t, s.Credentials.EmailProven)
	require.Empty(t, s.AuthData["acme"].Email, "roles are given by it")
}

func TestWhatAProviderTellsOfSomebodyMustFit(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	in, err := h.LoginWith(h.ctx(), accounts.Identity{
		Provider: "acme", Subject: "a1", Email: "ä@example.org", EmailVerified: true, FirstName: "Ada\n", LastName: strings.Repeat("x", 101),
		Photo: "javascript:alert(1)", Language: "en",
	}, accounts.Client{})
	require.NoError(t, err)
	s := h.state(in.UserID)
	require.Equal(t, "en", s.Language)
	require.Empty(t, s.Email+s.FirstName+s.LastName+s.Photo)
	for _, who := range []accounts.Identity{{Provider: user.Local, Subject: "x"}, {Provider: user.Anonymous, Subject: "x"}, {Subject: "x"}, {Provider: "acme"}} {
		_, err := h.LoginWith(h.ctx(), who, accounts.Client{})
		requireRefusal(t, err, domain.CodeInternal, "")
	}
	_, err = h.LoginWith(h.ctx(), acmeIdentity(strings.Repeat("x", 256), "a@b.c"), accounts.Client{})
	requireRefusal(t, err, domain.CodeValidation, "")
}

func TestAVerifiedAddressLeadsToItsAccount(t *testing.T) {
	t.Parallel()
	h := newFixture(t, byMail)
	ada := h.signUp("ada@example.org")
	_, token := h.mail(ada.Email)
	require.NoError(t, h.Validate(h.ctx(), token))
	before := h.enter(ada.Email, password, "")
	in, err := h.LoginWith(h.ctx(), acmeIdentity("a1", ada.Email), accounts.Client{})
	require.NoError(t, err)
	require.Equal(t, ada.ID, in.UserID)
	require.True(t, h.isSessionValid(before))
	h.enter(ada.Email, password, "") // its password is its owner's

	_, err = h.Patch(h.ctx(), accounts.Actor{Super: true}, ada.ID, accounts.Patch{Status: new(user.Deactivated)})
	require.NoError(t, err)
	for _, provider := range []string{"acme", "other"} {
		who := acmeIdentity("a1", ada.Email)
		who.Provider = provider
		_, err = h.LoginWith(h.ctx(), who, accounts.Client{})
		requireRefusal(t, err, domain.CodeInvalidCredentials, "")
	}
	require.Equal(t, 2, h.countEvents(domain.Activity, user.LoginFailed{}))
}

// Somebody who made an account with another's address must not keep a way in
// once its owner comes.
func TestAStrangerDoesNotWaitInAnAccount(t *testing.T) {
	t.Parallel()
	h := newFixture(t, atOnce)
	ada := h.signUp("ada@example.org")
	stranger := h.enter(ada.Email, password, "")
	in, err := h.LoginWith(h.ctx(), acmeIdentity("a1", ada.Email), accounts.Client{})
	require.NoError(t, err)
	require.Equal(t, ada.ID, in.UserID)
	require.False(t, in.Session.MFAPending)
	require.True(t, h.isSessionValid(in.Session))
	require.False(t, h.isSessionValid(stranger))
	_, err = h.login(ada.Email, password, "")
	requireRefusal(t, err, domain.CodeInvalidCredentials, "")
}

func TestAPendingAccountIsValidWithItsOwner(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.signUp("ada@example.org")
	in, err := h.LoginWith(h.ctx(), acmeIdentity("a1", ada.Email), accounts.Client{})
	require.NoError(t, err)
	require.Equal(t, ada.ID, in.UserID)
	require.Equal(t, user.Validated, h.state(ada.ID).Status)
}

func TestOneIdentityIsOneUserOnAllNodes(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	nodes := []*accounts.Accounts{h.Accounts, h.node()}
	ids := make([]string, 6)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			in, err := nodes[i%2].LoginWith(h.ctx(), acmeIdentity("a1", "ada@example.org"), accounts.Client{})
			if err != nil {
				t.Error(err)
			}
			ids[i] = in.UserID
		})
	}
	all.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
	require.Equal(t, 1, h.countEvents(domain.State, user.Created{}))
}
