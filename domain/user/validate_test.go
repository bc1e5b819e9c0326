package user_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/user"
)

func TestAddresses(t *testing.T) {
	for email, fine := range map[string]bool{
		"admin@localhost":                       true,
		"a.b+c_d@mail.example.org":              true,
		"o'hara@example.org":                    true,
		"a@xn--bcher-kva.example":               true,
		strings.Repeat("a", 64) + "@b.c":        true,
		"":                                      false,
		"a":                                     false,
		"@b.c":                                  false,
		"a@":                                    false,
		"a@b@c.d":                               false,
		".a@b.c":                                false,
		"a.@b.c":                                false,
		"a..b@c.d":                              false,
		"a b@c.d":                               false,
		"a@b c.d":                               false,
		"a@b..c":                                false,
		"a@-b.c":                                false,
		"a@b-.c":                                false,
		"a@b.c\r\nBcc: eve@example.org":         false,
		"a\x00@b.c":                             false,
		"<a@b.c>":                               false,
		`"a b"@c.d`:                             false,
		"ä@b.c":                                 false,
		"a@bücher.example":                      false,
		strings.Repeat("a", 65) + "@b.c":        false,
		"a@" + strings.Repeat("b", 64) + ".c":   false,
		"a@" + strings.Repeat("b.", 130) + "co": false,
	} {
		require.Equal(t, fine, user.IsEmail(email), "%q", email)
	}
}

func TestEveryFaultOfAnAccountIsNamed(t *testing.T) {
	_, err := user.Decider.Decide(localAccount(), user.Change{
		FirstName: new("a\nb"), LastName: new(strings.Repeat("é", 101)), Photo: new("javascript:alert(1)"), Language: new("e"),
		Email: new("nobody"), Status: new(user.Status("gone")), Groups: new([]string{""}), Meta: new(meta{"": json.RawMessage("1")}),
	})
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	var fields []string
	for _, f := range refusal.Details["errors"].([]domain.FieldError) {
		fields = append(fields, f.Field)
	}
	require.Equal(t, []string{"email", "firstName", "lastName", "photo", "language", "status", "meta", "groups"}, fields)
}

func TestWhatAnAccountMayHold(t *testing.T) {
	long := make([]string, 101)
	for i := range long {
		long[i] = strings.Repeat("g", i+1)
	}
	for name, tt := range map[string]struct {
		change user.Change
		fine   bool
	}{
		"a name of a hundred characters":       {user.Change{FirstName: new(strings.Repeat("é", 100))}, true},
		"no name":                              {user.Change{FirstName: new("")}, true},
		"a broken name":                        {user.Change{FirstName: new("\xff")}, false},
		"a language":                           {user.Change{Language: new("zh-Hant-TW")}, true},
		"no language":                          {user.Change{Language: new("")}, true},
		"a language that begins with a number": {user.Change{Language: new("1e")}, false},
		"a language with a hole":               {user.Change{Language: new("en--GB")}, false},
		"a language with a blank":              {user.Change{Language: new("en GB")}, false},
		"a long language":                      {user.Change{Language: new(strings.Repeat("en-", 12) + "en")}, false},
		"a photo that was uploaded":            {user.Change{Photo: new("/v2/users/u1/photo?v=1")}, true},
		"another path of this site":            {user.Change{Photo: new("/oidc/session/end")}, false},
		"a path that leads elsewhere":          {user.Change{Photo: new("/v2/users/../../oidc/session/end")}, false},
		"a photo of the web":                   {user.Change{Photo: new("https://example.org/a.png")}, true},
		"a photo of another site in disguise":  {user.Change{Photo: new("//evil.example/a.png")}, false},
		"a photo that goes back":               {user.Change{Photo: new(`/\evil.example`)}, false},
		"a photo without a host":               {user.Change{Photo: new("https:///a.png")}, false},
		"a long photo":                         {user.Change{Photo: new("/" + strings.Repeat("a", 2048))}, false},
		"a hundred groups":                     {user.Change{Groups: new(long[:100])}, true},
		"too many groups":                      {user.Change{Groups: new(long)}, false},
		"a long group":                         {user.Change{Groups: new(long[100:])}, false},
		"meta data at its limit":               {user.Change{Meta: new(meta{"k": json.RawMessage(`"` + strings.Repeat("x", 64<<10-3) + `"`)})}, true},
		"meta data over its limit":             {user.Change{Meta: new(meta{"k": json.RawMessage(`"` + strings.Repeat("x", 64<<10-2) + `"`)})}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := user.Decider.Decide(localAccount(), tt.change)
			want := domain.CodeValidation
			if tt.fine {
				want = domain.CodeNone
			}
			require.Equal(t, want, domain.CodeOf(err), "%v", err)
		})
	}
}

// Whatever is changed in whatever order, the log tells the same story as the
// state, a refusal changes nothing, and the account stays valid.
func FuzzAnAccountSurvivesItsOwnLog(f *testing.F) {
	f.Add("Ada", "ada@example.org", `{"a":1}`, []byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add("a\x00", "nobody", `<`, []byte{0, 9, 17, 25, 255})
	registry := domain.NewRegistry(domain.Describe[user.SignedUp](domain.State, "x"), domain.Describe[user.Created](domain.State, "x"),
		domain.Describe[user.Updated](domain.State, "x"), domain.Describe[user.PasswordReset](domain.State, "x"),
		domain.Describe[user.CodeAccepted](domain.State, "x"), domain.Describe[user.Deleted](domain.State, "x"))
	f.Fuzz(func(t *testing.T, name, email, value string, script []byte) {
		name, value = strings.ToValidUTF8(name, "?"), strings.ToValidUTF8(value, "?")
		var live, told user.State
		for _, b := range script {
			before := live
			made, err := user.Decider.Decide(live, scripted(b, live, name, email, value))
			if err != nil {
				require.Empty(t, made)
				require.NotEqual(t, domain.CodeInternal, domain.CodeOf(err), "%v", err)
			}
			live = user.Decider.Fold(live, made...)
			if len(made) == 0 {
				require.Equal(t, before, live)
			}
			for _, ev := range made {
				body, err := json.Marshal(ev)
				require.NoError(t, err)
				again, err := registry.Decode(ev.EventType(), body)
				require.NoError(t, err)
				told = user.Decider.Evolve(told, again)
			}
			require.Equal(t, live, told)
			require.True(t, !live.Exists() || live.Email == "" || user.IsEmail(live.Email))
		}
	})
}

// scripted is the command that one byte of a script stands for.
func scripted(b byte, s user.State, name, email, value string) user.Command {
	switch b % 12 {
	case 0:
		return user.SignUp{ID: id, Email: email, FirstName: name, LastName: name, Status: user.Pending, Password: "h"}
	case 1:
		return user.Change{FirstName: &name, Groups: new([]string{name, name}), Meta: new(meta{name: json.RawMessage(value)})}
	case 2:
		return user.MergeMeta{Values: meta{name: json.RawMessage(value)}}
	case 3:
		return user.ProveEmail{Email: s.Email, Validate: b > 100}
	case 4:
		return user.OfferTOTP{Sealed: []byte(value)}
	case 5:
		return user.ConfirmTOTP{Sealed: s.Credentials.OfferedTOTP, Step: int64(b)}
	case 6:
		return user.UseCode{Step: int64(b)}
	case 7:
		return user.Link{Provider: "acme", Identity: user.Identity{ID: name, Email: email}, Email: s.Email}
	case 8:
		return user.ResetPassword{Email: s.Email, Was: s.Credentials.Fingerprint(), Password: name, Validate: true}
	case 9:
		return user.Change{Email: &email, DropTOTP: b > 128}
	case 10:
		return user.Claim{Password: name}
	default:
		return user.Create{ID: id, Provider: user.Anonymous, Status: user.Validated}
	}
}
