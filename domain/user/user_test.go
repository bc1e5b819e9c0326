package user_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/domaintest"
	"svc/domain/user"
)

type scenario = domaintest.Scenario[user.State, user.Command]

type (
	meta   = map[string]json.RawMessage
	events = []domain.Event
)

const id = "0123456789abcdef01234567"

// localAccount is a local account; the functions change it for one case.
func localAccount(changes ...func(*user.State)) user.State {
	s := user.State{
		User: user.User{
			ID: id, Email: "ada@example.org", FirstName: "Ada", LastName: "Byron", Status: user.Validated, Meta: meta{},
			AuthData: map[string]user.Identity{user.Local: {ID: id, Email: "ada@example.org"}}, MFA: user.MFANone, Groups: []string{},
		},
		Credentials: user.Credentials{EmailProven: true, Password: "hash-1"},
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func unproven(s *user.State) { s.Credentials.EmailProven = false }
func vouched(s *user.State)  { s.Credentials.EmailProven, s.Credentials.EmailVouched = false, true }
func pending(s *user.State)  { s.Status = user.Pending; unproven(s) }
func inactive(s *user.State) { s.Status = user.Deactivated }

func password(hash string) func(*user.State) {
	return func(s *user.State) { s.Credentials.Password = hash }
}

func totp(secret string, step int64) func(*user.State) {
	return func(s *user.State) {
		s.MFA, s.Credentials.TOTP, s.Credentials.TOTPStep = user.MFATOTP, []byte(secret), step
	}
}

func offered(secret string) func(*user.State) {
	return func(s *user.State) { s.Credentials.OfferedTOTP = []byte(secret) }
}

func identity(provider, subject string) func(*user.State) {
	return func(s *user.State) { s.AuthData[provider] = user.Identity{ID: subject, Email: "ada@example.org"} }
}

func given(s user.State) events {
	return events{user.Created{User: s.User, Credentials: s.Credentials}}
}

func signedUp(s user.State) events {
	return events{user.SignedUp{User: s.User, Credentials: s.Credentials}}
}

func becomes(s user.State) events {
	return events{user.Updated{User: s.User, Credentials: s.Credentials}}
}

func taken(s user.State) events {
	return events{user.Updated{User: s.User, Credentials: s.Credentials, Disowned: true}}
}

func check(t *testing.T, scenarios map[string]scenario) {
	t.Helper()
	for name, sc := range scenarios {
		t.Run(name, func(t *testing.T) { sc.Check(t, user.Decider) })
	}
}

func TestMakingAnAccount(t *testing.T) {
	signUp := user.SignUp{ID: id, Email: "Ada@Example.org ", FirstName: "Ada", LastName: "Byron", Password: "hash-1", Status: user.Pending, IP: "::1"}
	nameless := signUp
	nameless.FirstName = " "
	visitor := user.State{User: user.User{
		ID: id, Status: user.Validated, Meta: meta{}, AuthData: map[string]user.Identity{user.Anonymous: {ID: id}}, MFA: user.MFANone, Groups: []string{},
	}}
	check(t, map[string]scenario{
		"an address is kept in lower case": {
			When: signUp, Then: events{user.SignedUp{User: localAccount(pending).User, IP: "::1", Credentials: user.Credentials{Password: "hash-1"}}},
		},
		"who signs up has a name": {
			When: nameless, Refuse: domain.CodeValidation,
		},
		"who signs up has an address": {
			When: user.SignUp{ID: id, FirstName: "A", LastName: "B", Status: user.Pending}, Refuse: domain.CodeValidation,
		},
		"the same sign-up again does nothing": {
			Given: given(localAccount()), When: signUp,
		},
		"a local account is made": {
			When: user.Create{ID: id, Email: "ada@example.org", FirstName: "Ada", LastName: "Byron", EmailProven: true, Status: user.Validated, Password: "hash-1", Provider: user.Local},
			Then: given(localAccount()),
		},
		"a visitor has no address": {
			When: user.Create{ID: id, Status: user.Validated, Provider: user.Anonymous}, Then: given(visitor),
		},
		"a visitor is made once": {
			Given: given(visitor), When: user.Create{ID: id, Status: user.Validated, Provider: user.Anonymous},
		},
		"an id is used once": {
			Given: append(given(localAccount()), user.Deleted{UserID: id}), When: user.Create{ID: id, Status: user.Validated, Provider: user.Anonymous},
		},
		"an account comes from somewhere": {
			When: user.Create{ID: id, Status: user.Validated}, Refuse: domain.CodeValidation,
		},
		"a local account has an address": {
			When: user.Create{ID: id, Status: user.Validated, Provider: user.Local}, Refuse: domain.CodeValidation,
		},
		"an account has one of three states": {
			When: user.Create{ID: id, Status: "frozen", Provider: user.Anonymous}, Refuse: domain.CodeValidation,
		},
		"looking changes nothing": {
			Given: given(localAccount()), When: user.Get{},
		},
		"looking at nobody is no fault": {
			When: user.Get{},
		},
		"no command is the operator's fault": {
			Refuse: domain.CodeInternal,
		},
		"part of a commit that never counted changes nothing": {
			Given: events{domain.Void{Name: "gateway.users.created"}}, When: user.Create{ID: id, Status: user.Validated, Provider: user.Anonymous}, Then: given(visitor),
		},
	})
}

func TestChangingAnAccount(t *testing.T) {
	two := json.RawMessage("2")
	withMeta := func(m meta) func(*user.State) { return func(s *user.State) { s.Meta = m } }
	moved := localAccount(vouched, func(s *user.State) {
		s.Email = "ada@new.org"
		s.AuthData[user.Local] = user.Identity{ID: id, Email: "ada@new.org"}
	})
	check(t, map[string]scenario{
		"a change names what it changes": {
			Given: given(localAccount()), When: user.Change{LastName: new("Lovelace"), Language: new("en-GB")},
			Then: becomes(localAccount(func(s *user.State) { s.LastName, s.Language = "Lovelace", "en-GB" })),
		},
		"a change to the same values records nothing": {
			Given: given(localAccount()), When: user.Change{FirstName: new("Ada"), Groups: new([]string(nil)), Meta: new(meta(nil)), Email: new("ADA@example.org")},
		},
		"nobody cannot be changed": {
			When: user.Change{FirstName: new("Eve")}, Refuse: domain.CodeNotFound,
		},
		"who was deleted cannot be changed": {
			Given: append(given(localAccount()), user.Deleted{UserID: id}), When: user.Change{FirstName: new("Eve")}, Refuse: domain.CodeNotFound,
		},
		"a new address is not proven": {
			Given: given(localAccount()), When: user.Change{Email: new("Ada@New.org")}, Then: becomes(moved),
		},
		"a super admin vouches for the address of an account that validated itself": {
			Given: signedUp(localAccount(unproven)), When: user.Change{Status: new(user.Validated)}, Then: becomes(localAccount(vouched)),
		},
		"a super admin ends the pending state": {
			Given: signedUp(localAccount(pending)), When: user.Change{Status: new(user.Validated)}, Then: becomes(localAccount(vouched)),
		},
		"what is proven needs nobody's word": {
			Given: given(localAccount(inactive)), When: user.Change{Status: new(user.Validated)}, Then: becomes(localAccount()),
		},
		"one's own changes prove nothing": {
			Given: signedUp(localAccount(unproven)), When: user.Change{FirstName: new("Eve")}, Then: becomes(localAccount(unproven, func(s *user.State) { s.FirstName = "Eve" })),
		},
		"a local account keeps an address": {
			Given: given(localAccount()), When: user.Change{Email: new("")}, Refuse: domain.CodeValidation,
		},
		"a super admin sets password, state and groups": {
			Given: given(localAccount()), When: user.Change{Password: new("hash-2"), Status: new(user.Deactivated), Groups: new([]string{"a", "b", "a"})},
			Then: becomes(localAccount(inactive, password("hash-2"), func(s *user.State) { s.Groups = []string{"a", "b"} })),
		},
		"a super admin takes the second factor away": {
			Given: given(localAccount(totp("sealed", 7), offered("next"))), When: user.Change{DropTOTP: true}, Then: becomes(localAccount()),
		},
		"meta data is merged and null removes": {
			Given: given(localAccount(withMeta(meta{"a": two, "b": two}))),
			When:  user.MergeMeta{Values: meta{"a": json.RawMessage("null"), "c": json.RawMessage(" {\"x\": 1 } ")}},
			Then:  becomes(localAccount(withMeta(meta{"b": two, "c": json.RawMessage(`{"x":1}`)}))),
		},
		"meta data that is there already records nothing": {
			Given: given(localAccount(withMeta(meta{"a": two}))), When: user.MergeMeta{Values: meta{"a": json.RawMessage(" 2"), "z": nil}},
		},
		"meta data is JSON": {
			Given: given(localAccount()), When: user.MergeMeta{Values: meta{"a": json.RawMessage("{")}}, Refuse: domain.CodeValidation,
		},
		"meta data has a limit": {
			Given: given(localAccount()), When: user.MergeMeta{Values: meta{"a": json.RawMessage(`"` + strings.Repeat("x", 64<<10) + `"`)}}, Refuse: domain.CodeValidation,
		},
		"an account is deleted": {
			Given: given(localAccount()), When: user.Delete{}, Then: events{user.Deleted{UserID: id}},
		},
		"an account is deleted once": {
			Given: append(given(localAccount()), user.Deleted{UserID: id}), When: user.Delete{},
		},
	})
}

func TestADeletedAccountLeavesNothing(t *testing.T) {
	s := user.Decider.Fold(user.State{}, append(given(localAccount()), user.Deleted{UserID: id})...)
	require.Equal(t, user.State{User: user.User{ID: id}, Deleted: true}, s)
	require.False(t, s.Exists())
}

func TestASuperAdminOwnsAListedAddress(t *testing.T) {
	admins := []string{"ADA@example.org", "root@localhost"}
	s := localAccount()
	require.True(t, s.Super(true, admins))
	require.False(t, s.Super(false, admins), "an address that nobody has shown to own")
	require.False(t, s.Super(true, []string{"eve@example.org"}))
	require.False(t, localAccount(inactive).Super(true, admins))
	require.False(t, localAccount(pending).Super(true, admins))
	require.False(t, user.User{Status: user.Validated}.Super(true, []string{""}))
	require.False(t, localAccount(func(s *user.State) { s.Email = "ſoot@localhost" }).Super(true, []string{"soot@localhost"}), "another letter is another address")
}

func TestUsersBelongToThePlatform(t *testing.T) {
	require.Equal(t, domain.StreamID{Scope: domain.Platform, Kind: "user", ID: id}, user.Stream(id))
}

// Which addresses may give roles. Events of before EmailVouched was stored say it by what
// they did.
func TestWhichAddressesAreValid(t *testing.T) {
	updated := func(s user.State) domain.Event { return becomes(s)[0] }
	for name, tt := range map[string]struct {
		history events
		valid   bool
	}{
		"typed at sign-up":                        {signedUp(localAccount(unproven)), false},
		"waiting for a super admin":               {signedUp(localAccount(pending)), false},
		"validated by a super admin, before":      {append(signedUp(localAccount(pending)), updated(localAccount(unproven))), true},
		"and changed since":                       {append(signedUp(localAccount(pending)), updated(localAccount(unproven)), updated(localAccount(unproven, password("hash-2")))), true},
		"and moved since":                         {append(signedUp(localAccount(pending)), updated(localAccount(unproven)), updated(localAccount(unproven, func(s *user.State) { s.Email = "x@y.z" }))), false},
		"validated itself, before, and changed":   {append(signedUp(localAccount(unproven)), updated(localAccount(unproven, password("hash-2")))), false},
		"made by a super admin, before":           {given(localAccount(unproven)), true},
		"made at the first start, or by an IdP":   {given(localAccount()), true},
		"proven by a mail link":                   {append(signedUp(localAccount(pending)), updated(localAccount())), true},
		"vouched for":                             {append(signedUp(localAccount(unproven)), updated(localAccount(vouched))), true},
		"proven by choosing a password by a mail": {append(signedUp(localAccount(unproven)), user.PasswordReset{User: localAccount().User, Credentials: localAccount().Credentials}), true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.valid, user.Decider.Fold(user.State{}, tt.history...).Credentials.IsEmailValid())
		})
	}
}
