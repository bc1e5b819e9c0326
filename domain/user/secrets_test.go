package user_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/user"
)

func TestPasswords(t *testing.T) {
	reset := user.ResetPassword{Email: "ada@example.org", Was: localAccount().Credentials.Fingerprint(), Password: "hash-2", IP: "::1", Validate: true}
	unattended := reset
	unattended.Validate = false
	elsewhere := reset
	elsewhere.Email = "eve@example.org"
	done := func(s user.State, disowned bool) events {
		return events{user.PasswordReset{Email: s.Email, IP: "::1", User: s.User, Credentials: s.Credentials, Disowned: disowned}}
	}
	check(t, map[string]scenario{
		"the right password is replaced": {
			Given: given(localAccount()), When: user.ChangePassword{Was: "hash-1", Password: "hash-2"}, Then: becomes(localAccount(password("hash-2"))),
		},
		"a password that changed meanwhile is not replaced": {
			Given: given(localAccount()), When: user.ChangePassword{Was: "hash-0", Password: "hash-2"}, Refuse: domain.CodeInvalidCredentials,
		},
		"who reads the mail sets a new password": {
			Given: given(localAccount()), When: reset, Then: done(localAccount(password("hash-2")), false),
		},
		"a reset keeps the second factor": {
			Given: given(localAccount(totp("sealed", 7))), When: reset, Then: done(localAccount(totp("sealed", 7), password("hash-2")), false),
		},
		"a mail proves the address and ends waiting": {
			Given: given(localAccount(pending)), When: reset, Then: done(localAccount(password("hash-2")), true),
		},
		"a mail does not replace the consent of a super admin": {
			Given: given(localAccount(pending)), When: unattended, Then: done(localAccount(password("hash-2"), func(s *user.State) { s.Status = user.Pending }), true),
		},
		"what a stranger put on the account goes with its proof": {
			Given: given(localAccount(unproven, totp("theirs", 7), identity("acme", "eve"))), When: reset, Then: done(localAccount(password("hash-2")), true),
		},
		"a token of an earlier password is spent": {
			Given: given(localAccount(password("hash-3"))), When: reset, Refuse: domain.CodeValidation,
		},
		"a token of an earlier address is spent": {
			Given: given(localAccount()), When: elsewhere, Refuse: domain.CodeValidation,
		},
		"a deactivated account is not reset": {
			Given: given(localAccount(inactive)), When: reset, Refuse: domain.CodeValidation,
		},
	})
}

func TestProvingAnAddress(t *testing.T) {
	waiting := func(s *user.State) { s.Status = user.Pending }
	prove := user.ProveEmail{Email: "ada@example.org", Validate: true}
	check(t, map[string]scenario{
		"a mail link validates": {
			Given: given(localAccount(pending)), When: prove, Then: becomes(localAccount()),
		},
		"a mail link alone does not validate where a super admin does": {
			Given: given(localAccount(pending)), When: user.ProveEmail{Email: "ada@example.org"}, Then: becomes(localAccount(waiting)),
		},
		"a second click does nothing": {
			Given: given(localAccount()), When: prove,
		},
		"a link to another address is spent": {
			Given: given(localAccount(pending)), When: user.ProveEmail{Email: "eve@example.org", Validate: true}, Refuse: domain.CodeValidation,
		},
		"a link does not revive a deactivated account": {
			Given: given(localAccount(inactive)), When: prove, Refuse: domain.CodeValidation,
		},
		"the operator claims an account": {
			Given: given(localAccount(inactive, unproven)), When: user.Claim{}, Then: becomes(localAccount()),
		},
		"the operator takes an account from a stranger": {
			Given: given(localAccount(pending, totp("theirs", 7), identity("acme", "eve"))), When: user.Claim{Password: "hash-2"}, Then: taken(localAccount(password("hash-2"))),
		},
		"a claim with a new password keeps the identities of its owner": {
			Given: given(localAccount(totp("lost", 7), identity("acme", "a1"))), When: user.Claim{Password: "hash-2"}, Then: becomes(localAccount(identity("acme", "a1"), password("hash-2"))),
		},
		"what is claimed already stays as it is": {
			Given: given(localAccount()), When: user.Claim{},
		},
	})
}

func TestLinkingAnIdentity(t *testing.T) {
	link := user.Link{Provider: "acme", Identity: user.Identity{ID: "a1", Email: "ada@example.org"}, Email: "ada@example.org"}
	check(t, map[string]scenario{
		"a provider that vouches for the address is linked": {
			Given: given(localAccount()), When: link, Then: becomes(localAccount(identity("acme", "a1"))),
		},
		"it is linked once": {
			Given: given(localAccount(identity("acme", "a1"))), When: link,
		},
		"what a stranger put on the account goes": {
			Given: given(localAccount(pending, totp("theirs", 7), identity("other", "eve"))), When: link,
			Then: taken(localAccount(identity("acme", "a1"), password(""))),
		},
		"another identity of the same provider is somebody else": {
			Given: given(localAccount(identity("acme", "a0"))), When: link, Refuse: domain.CodePermissionDenied,
		},
		"a deactivated account stays so": {
			Given: given(localAccount(inactive)), When: link, Refuse: domain.CodeInvalidCredentials,
		},
		"an address that changed meanwhile is not linked": {
			Given: given(localAccount(func(s *user.State) { s.Email = "ada@new.org" })), When: link, Refuse: domain.CodeInvalidCredentials,
		},
	})
}

func TestTheSecondFactor(t *testing.T) {
	spent := events{user.CodeAccepted{UserID: id, Email: "ada@example.org", IP: "::1", Step: 8}}
	check(t, map[string]scenario{
		"a secret is offered": {
			Given: given(localAccount()), When: user.OfferTOTP{Sealed: []byte("new")}, Then: becomes(localAccount(offered("new"))),
		},
		"the old secret counts until the new one is confirmed": {
			Given: given(localAccount(totp("old", 7))), When: user.OfferTOTP{Sealed: []byte("new")}, Then: becomes(localAccount(totp("old", 7), offered("new"))),
		},
		"a code confirms the offer and is spent with it": {
			Given: given(localAccount(offered("new"))), When: user.ConfirmTOTP{Sealed: []byte("new"), Step: 8}, Then: becomes(localAccount(totp("new", 8))),
		},
		"a code for an earlier offer confirms nothing": {
			Given: given(localAccount(offered("newer"))), When: user.ConfirmTOTP{Sealed: []byte("new"), Step: 8}, Refuse: domain.CodeConflict,
		},
		"without an offer there is nothing to confirm": {
			Given: given(localAccount()), When: user.ConfirmTOTP{Step: 8}, Refuse: domain.CodeConflict,
		},
		"a code is spent": {
			Given: given(localAccount(totp("old", 7))), When: user.UseCode{Step: 8, IP: "::1"}, Then: spent,
		},
		"a code is spent once": {
			Given: append(given(localAccount(totp("old", 7))), spent...), When: user.UseCode{Step: 8, IP: "::1"}, Refuse: domain.CodeInvalidCredentials,
		},
		"an older code is spent with it": {
			Given: append(given(localAccount(totp("old", 6))), spent...), When: user.UseCode{Step: 7, IP: "::1"}, Refuse: domain.CodeInvalidCredentials,
		},
		"without a second factor there is no code": {
			Given: given(localAccount()), When: user.UseCode{Step: 8}, Refuse: domain.CodeNotFound,
		},
		"the second factor is removed with its offer": {
			Given: given(localAccount(totp("old", 7), offered("new"))), When: user.DropTOTP{}, Then: becomes(localAccount()),
		},
		"a secret is sealed anew": {
			Given: given(localAccount(totp("old", 7), offered("new"))), When: user.ResealTOTP{Was: []byte("old"), Sealed: []byte("again")},
			Then: becomes(localAccount(totp("again", 7), offered("new"))),
		},
		"an offered secret is sealed anew": {
			Given: given(localAccount(offered("new"))), When: user.ResealTOTP{Was: []byte("new"), Sealed: []byte("again")}, Then: becomes(localAccount(offered("again"))),
		},
		"a secret that was replaced meanwhile stays": {
			Given: given(localAccount(totp("other", 7))), When: user.ResealTOTP{Was: []byte("old"), Sealed: []byte("again")},
		},
		"removing what is not there does nothing": {
			Given: given(localAccount()), When: user.DropTOTP{},
		},
	})
}

// No payload shows a hash, a sealed text, or which code was used.
func TestPayloadsShowNoSecret(t *testing.T) {
	s := localAccount(totp("sealed-secret", 4711), offered("offered-secret"))
	for _, ev := range []domain.Event{
		user.SignedUp{User: s.User, IP: "::1", Credentials: s.Credentials},
		user.Created{User: s.User, Credentials: s.Credentials},
		user.Updated{User: s.User, Credentials: s.Credentials, Disowned: true},
		user.PasswordReset{Email: s.Email, IP: "::1", User: s.User, Credentials: s.Credentials},
		user.CodeAccepted{UserID: id, Email: s.Email, IP: "::1", Step: 4711},
	} {
		body, err := json.Marshal(ev.(domain.PayloadEvent).Payload())
		require.NoError(t, err)
		for _, secret := range []string{"hash-1", "c2VhbGVk", "b2ZmZXJl", "4711", "credentials", "disowned"} {
			require.NotContains(t, string(body), secret, ev.EventType())
		}
		require.Contains(t, string(body), "ada@example.org", ev.EventType())
	}
}

func TestAFingerprintTellsPasswordsApart(t *testing.T) {
	a, b := user.Credentials{Password: "hash-1"}, user.Credentials{Password: "hash-2"}
	require.Equal(t, a.Fingerprint(), a.Fingerprint())
	require.NotEqual(t, a.Fingerprint(), b.Fingerprint())
	require.NotContains(t, a.Fingerprint(), "hash")
}
