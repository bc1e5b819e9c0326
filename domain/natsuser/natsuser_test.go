package natsuser_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/domaintest"
	"svc/domain/natsuser"
)

type scenario = domaintest.Scenario[natsuser.State, natsuser.Command]

var (
	noon   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	key    = "U" + strings.Repeat("A", 55)
	issuer = "A" + strings.Repeat("B", 55)
	terms  = natsuser.Terms{Name: "board", Workspaces: []string{"w1"}, Types: []string{"workspaces.bulkPush.*"}, ExpiresAt: noon.Add(time.Hour)}
	user   = natsuser.User{ID: natsuser.IDOf(key), Terms: terms, PublicKey: key, Issuer: issuer}
	made   = []domain.Event{natsuser.Created{User: user}}
)

// create is the command with terms that one change makes of the usual ones.
func create(change func(*natsuser.Terms)) natsuser.Create {
	t := terms
	change(&t)
	return natsuser.Create{PublicKey: key, Issuer: issuer, Terms: t, Now: noon}
}

func same(*natsuser.Terms) {}

func TestNATSUser(t *testing.T) {
	gone := append(made[:1:1], natsuser.Deleted{User: user})
	for name, sc := range map[string]scenario{
		"a program is let in":                 {When: create(same), Then: made},
		"the same again does nothing":         {Given: made, When: create(same)},
		"a key has one user":                  {Given: made, When: create(func(t *natsuser.Terms) { t.Name = "x" }), Refuse: domain.CodeAlreadyExists},
		"a key that was removed stays so":     {Given: gone, When: create(same), Refuse: domain.CodeAlreadyExists},
		"it is shut out":                      {Given: made, When: natsuser.Delete{}, Then: gone[1:]},
		"it is shut out once":                 {Given: gone, When: natsuser.Delete{}, Refuse: domain.CodeNotFound},
		"what never was cannot be shut out":   {When: natsuser.Delete{}, Refuse: domain.CodeNotFound},
		"it needs a name":                     {When: create(func(t *natsuser.Terms) { t.Name = " " }), Refuse: domain.CodeValidation},
		"it needs a workspace":                {When: create(func(t *natsuser.Terms) { t.Workspaces = nil }), Refuse: domain.CodeValidation},
		"all and some do not go together":     {When: create(func(t *natsuser.Terms) { t.All = true }), Refuse: domain.CodeValidation},
		"workspaces are few":                  {When: create(func(t *natsuser.Terms) { t.Workspaces = make([]string, 201) }), Refuse: domain.CodeValidation},
		"types are few":                       {When: create(func(t *natsuser.Terms) { t.Types = slicesOf("a", 21) }), Refuse: domain.CodeValidation},
		"types are words":                     {When: create(func(t *natsuser.Terms) { t.Types = []string{"workspaces.bulk*"} }), Refuse: domain.CodeValidation},
		"an end lies ahead":                   {When: create(func(t *natsuser.Terms) { t.ExpiresAt = noon }), Refuse: domain.CodeValidation},
		"a key has the form of one":           {When: natsuser.Create{PublicKey: "SUAM", Terms: terms, Now: noon}, Refuse: domain.CodeValidation},
		"the key of an account is not a user": {When: natsuser.Create{PublicKey: issuer, Terms: terms, Now: noon}, Refuse: domain.CodeValidation},
	} {
		t.Run(name, func(t *testing.T) { sc.Check(t, natsuser.Decider) })
	}
}

func slicesOf(text string, n int) (list []string) {
	for range n {
		list = append(list, text)
	}
	return list
}

func TestAllWorkspacesWithoutAnEnd(t *testing.T) {
	c := create(func(t *natsuser.Terms) { *t = natsuser.Terms{Name: "all", All: true} })
	events, err := natsuser.Decider.Decide(natsuser.State{}, c)
	require.NoError(t, err)
	all := natsuser.Decider.Fold(natsuser.State{}, events...)
	require.True(t, all.LiveAt(noon.AddDate(100, 0, 0)))
	require.True(t, user.LiveAt(noon))
	require.False(t, user.LiveAt(terms.ExpiresAt))
}

func TestPatternsAreOfWholeWords(t *testing.T) {
	for _, good := range []string{"*", "a", "workspaces.*", "workspaces.*.started", "a b.c>", "größe"} {
		require.True(t, natsuser.IsPattern(good), good)
	}
	for _, bad := range []string{"", " ", ".", "a.", ".a", "a..b", "a*", "*a.b", "**", "a\nb", strings.Repeat("a", 201)} {
		require.False(t, natsuser.IsPattern(bad), bad)
	}
}
