package projections_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/accesstoken"
	"svc/domain/user"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
)

// usersFixture is a log with the read models of accounts.
type usersFixture struct {
	t      *testing.T
	log    *jetstream.Store
	models *projections.Models
	last   map[domain.StreamID]uint64
}

func newUsersFixture(t *testing.T) *usersFixture {
	t.Helper()
	h := newFixture(t, projections.Users{}, projections.AccessTokens{})
	return &usersFixture{t: t, log: h.log, models: h.Models, last: map[domain.StreamID]uint64{}}
}

// record appends an event and waits until it can be read.
func (p *usersFixture) record(stream domain.StreamID, ev domain.Event) eventstore.Receipt {
	p.t.Helper()
	r := add(p.t, p.log.Log, stream, p.last[stream], ev)
	p.last[stream] = r.Position.State
	require.NoError(p.t, p.models.Reach(bounded(p.t), r.Position))
	return r
}

func (p *usersFixture) signUp(id, email, first, last string, change ...func(*user.User)) user.User {
	p.t.Helper()
	u := user.User{
		ID: id, Email: email, FirstName: first, LastName: last, Status: user.Validated, MFA: user.MFANone,
		Meta: map[string]json.RawMessage{"k": json.RawMessage(`1`)}, Groups: []string{},
		AuthData: map[string]user.Identity{user.Local: {ID: id, Email: email}},
	}
	for _, c := range change {
		c(&u)
	}
	p.record(user.Stream(id), user.SignedUp{User: u, IP: "::1", Credentials: user.Credentials{Password: "hash"}})
	return u
}

func (p *usersFixture) view(read func(projections.Reader)) {
	p.t.Helper()
	require.NoError(p.t, p.models.View(func(r projections.Reader) error {
		read(r)
		return nil
	}))
}

func (p *usersFixture) find(q projections.UserQuery) (ids []string, total int) {
	p.t.Helper()
	p.view(func(r projections.Reader) {
		page, n, err := projections.Users{}.Search(r, q)
		require.NoError(p.t, err)
		for _, u := range page {
			ids = append(ids, u.ID)
		}
		total = n
	})
	return ids, total
}

func (p *usersFixture) byEmail(email string) string {
	var id string
	p.view(func(r projections.Reader) {
		u, _, err := projections.Users{}.ByEmail(r, email)
		require.NoError(p.t, err)
		id = u.ID
	})
	return id
}

func TestAUserIsFoundByEveryName(t *testing.T) {
	p := newUsersFixture(t)
	ada := p.signUp("u1", "ada@example.org", "Ada", "Byron")
	require.Equal(t, "u1", p.byEmail(" ADA@example.org"))
	p.view(func(r projections.Reader) {
		u, ok, err := projections.Users{}.Get(r, "u1")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, ada, u.User)
		require.True(t, u.HasPassword)
		require.False(t, u.EmailProven)
		require.Equal(t, "u1", u.CreatedBy, "who recorded it")
		require.NotEmpty(t, u.CreatedAt)
	})

	ada.Email, ada.Status = "ada@new.org", user.Deactivated
	ada.AuthData["acme"] = user.Identity{ID: "a1"}
	p.record(user.Stream("u1"), user.Updated{User: ada, Credentials: user.Credentials{EmailProven: true}})
	require.Empty(t, p.byEmail("ada@example.org"), "an old address leads nowhere")
	require.Equal(t, "u1", p.byEmail("ada@new.org"))
	p.view(func(r projections.Reader) {
		u, ok, err := projections.Users{}.Get(r, "u1")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, ada, u.User)
		require.False(t, u.HasPassword)
		b, ok, err := projections.Users{}.Brief(r, "u1")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, user.Deactivated, b.Status)
		require.False(t, b.Super([]string{"ada@new.org"}))
		b.Status = user.Validated
		require.True(t, b.Super([]string{"Ada@New.org"}))
	})
}

func TestADeletedUserVanishes(t *testing.T) {
	p := newUsersFixture(t)
	p.signUp("u1", "ada@example.org", "Ada", "Byron")
	p.record(user.Stream("u1"), user.CodeAccepted{UserID: "u1", Step: 7})
	p.record(user.Stream("u1"), user.Deleted{UserID: "u1"})
	require.Empty(t, p.byEmail("ada@example.org"))
	ids, total := p.find(projections.UserQuery{})
	require.Empty(t, ids)
	require.Zero(t, total)
	p.view(func(r projections.Reader) {
		_, ok, err := projections.Users{}.Brief(r, "u1")
		require.NoError(t, err)
		require.False(t, ok)
	})
}

func TestSearchingUsers(t *testing.T) {
	p := newUsersFixture(t)
	p.signUp("u1", "ada@example.org", "Ada", "Byron")
	p.signUp("u2", "bob@example.org", "Bob", "Stone", func(u *user.User) { u.Groups = []string{"staff", "north"} })
	p.signUp("u3", "cleo@other.net", "Cleo", "Byron", func(u *user.User) {
		u.Status, u.AuthData["acme"] = user.Pending, user.Identity{ID: "c"}
	})
	var middle time.Time
	p.view(func(r projections.Reader) {
		u, _, err := projections.Users{}.Brief(r, "u2")
		require.NoError(t, err)
		middle = u.CreatedAt
	})
	for name, tt := range map[string]struct {
		query projections.UserQuery
		want  []string
	}{
		"everybody, the newest first":    {projections.UserQuery{}, []string{"u3", "u2", "u1"}},
		"an address":                     {projections.UserQuery{Email: "Bob@example.org"}, []string{"u2"}},
		"part of an address is none":     {projections.UserQuery{Email: "bob@"}, nil},
		"ids":                            {projections.UserQuery{IDs: []string{"u1", "u9", "u3", "u1"}}, []string{"u3", "u1"}},
		"no ids":                         {projections.UserQuery{IDs: []string{}}, nil},
		"ids and something else":         {projections.UserQuery{IDs: []string{"u1", "u3"}, FirstName: "CLE"}, []string{"u3"}},
		"an address and another's id":    {projections.UserQuery{Email: "bob@example.org", IDs: []string{"u1"}}, nil},
		"words of names and address":     {projections.UserQuery{Text: "byron OTHER"}, []string{"u3"}},
		"a word":                         {projections.UserQuery{Text: "example.org"}, []string{"u2", "u1"}},
		"a last name":                    {projections.UserQuery{LastName: "byr"}, []string{"u3", "u1"}},
		"a group":                        {projections.UserQuery{Groups: []string{"south", "north"}}, []string{"u2"}},
		"a state":                        {projections.UserQuery{Status: user.Pending}, []string{"u3"}},
		"a provider":                     {projections.UserQuery{AuthProvider: "acme"}, []string{"u3"}},
		"a provider that knows everyone": {projections.UserQuery{AuthProvider: user.Local}, []string{"u3", "u2", "u1"}},
		"a time before":                  {projections.UserQuery{Before: middle.Add(-time.Hour)}, nil},
		"a time after":                   {projections.UserQuery{After: middle.Add(-time.Hour)}, []string{"u3", "u2", "u1"}},
	} {
		t.Run(name, func(t *testing.T) {
			ids, total := p.find(tt.query)
			require.Equal(t, tt.want, ids)
			require.Equal(t, len(tt.want), total)
		})
	}
}

func TestPagesOfASearchAreFull(t *testing.T) {
	p := newUsersFixture(t)
	for i := range 7 {
		p.signUp(fmt.Sprint("u", i), fmt.Sprintf("u%d@example.org", i), "Ada", fmt.Sprint(i%2))
	}
	ids, total := p.find(projections.UserQuery{LastName: "0", Limit: 3})
	require.Equal(t, []string{"u6", "u4", "u2"}, ids)
	require.Equal(t, 4, total)
	ids, total = p.find(projections.UserQuery{LastName: "0", Limit: 3, Page: 1})
	require.Equal(t, []string{"u0"}, ids)
	require.Equal(t, 4, total)
	ids, total = p.find(projections.UserQuery{LastName: "0", Limit: 3, Page: 2})
	require.Empty(t, ids)
	require.Equal(t, 4, total)
}

func (p *usersFixture) token(id, userID string) {
	p.t.Helper()
	p.record(accesstoken.Stream(id), accesstoken.Created{ID: id, UserID: userID, Name: "n-" + id, Hash: "hash-" + id, ExpiresAt: "2030-01-01T00:00:00.000Z"})
}

func (p *usersFixture) tokens(userID string) (ids []string) {
	p.t.Helper()
	p.view(func(r projections.Reader) {
		of, err := projections.AccessTokens{}.Of(r, userID)
		require.NoError(p.t, err)
		for _, t := range of {
			ids = append(ids, t.ID)
		}
	})
	return ids
}

func (p *usersFixture) findToken(hash string) (t projections.AccessToken, ok bool) {
	p.t.Helper()
	p.view(func(r projections.Reader) {
		var err error
		t, ok, err = projections.AccessTokens{}.ByHash(r, hash)
		require.NoError(p.t, err)
	})
	return t, ok
}

func TestAccessTokensAreListedByUser(t *testing.T) {
	p := newUsersFixture(t)
	p.token("t1", "u1")
	p.token("t2", "u1")
	p.token("t3", "u10")
	require.Equal(t, []string{"t2", "t1"}, p.tokens("u1"))
	require.Equal(t, []string{"t3"}, p.tokens("u10"))
	require.Empty(t, p.tokens("u"))
	found, ok := p.findToken("hash-t1")
	require.True(t, ok)
	require.Equal(t, "u1", found.UserID)
	require.Equal(t, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), found.ExpiresAt)

	p.record(accesstoken.Stream("t1"), accesstoken.Deleted{ID: "t1", UserID: "u1"})
	require.Equal(t, []string{"t2"}, p.tokens("u1"))
	_, ok = p.findToken("hash-t1")
	require.False(t, ok)
}

func TestAccessTokensGoWithTheirUser(t *testing.T) {
	p := newUsersFixture(t)
	ada := p.signUp("u1", "ada@example.org", "Ada", "Byron")
	bob := p.signUp("u2", "bob@example.org", "Bob", "Stone")
	cleo := p.signUp("u3", "cleo@example.org", "Cleo", "Stone")
	for i, u := range []user.User{ada, bob, cleo} {
		p.token(fmt.Sprint("t", i), u.ID)
	}
	p.record(user.Stream("u1"), user.Deleted{UserID: "u1"})
	p.record(user.Stream("u2"), user.Updated{User: bob, Disowned: true})
	p.record(user.Stream("u3"), user.PasswordReset{Email: cleo.Email, User: cleo})
	require.Empty(t, p.tokens("u1"))
	require.Empty(t, p.tokens("u2"), "the account changed hands")
	require.Equal(t, []string{"t2"}, p.tokens("u3"))
	_, ok := p.findToken("hash-t1")
	require.False(t, ok)

	p.token("t9", "u2")
	require.Equal(t, []string{"t9"}, p.tokens("u2"), "what comes later counts")
	p.record(user.Stream("u3"), user.PasswordReset{Email: cleo.Email, User: cleo, Disowned: true})
	require.Empty(t, p.tokens("u3"))
}

func TestRebuiltUsersAreTheSame(t *testing.T) {
	p := newUsersFixture(t)
	ada := p.signUp("u1", "ada@example.org", "Ada", "Byron")
	p.token("t1", "u1")
	ada.LastName = "Lovelace"
	p.record(user.Stream("u1"), user.Updated{User: ada, Disowned: true})
	p.signUp("u2", "bob@example.org", "Bob", "Stone")
	p.record(user.Stream("u2"), user.Deleted{UserID: "u2"})
	report, err := p.models.Verify(bounded(t), nil)
	require.NoError(t, err)
	require.True(t, report.OK, "%+v", report)
}
