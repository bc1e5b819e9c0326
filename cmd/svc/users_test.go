package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUsersAreManagedInASession(t *testing.T) {
	t.Parallel()
	d := newRemoteUser(t).signIn(t)
	withPassword := func(args ...string) outcome {
		t.Helper()
		return d.types(t, adminPassword+"\n", args...)
	}
	const newPassword = "a password of grace"
	got := d.types(t, newPassword+"\n"+adminPassword+"\n", "user", "invite", "Grace@example.org", "--first-name", "Grace", "--language", "fr", "--password", "--json")
	require.Zero(t, got.code, got.err)
	var invited struct{ ID, Email, FirstName, Language, Status string }
	require.NoError(t, json.Unmarshal([]byte(got.out), &invited))
	require.Equal(t, "grace@example.org", invited.Email)
	require.Equal(t, "Grace", invited.FirstName)
	require.Equal(t, "fr", invited.Language)
	require.Equal(t, "validated", invited.Status)
	d.call(t, "POST", "/login", "", `{"email":"grace@example.org","password":"`+newPassword+`"}`)
	got = withPassword("user", "invite", "linus@example.org")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "does not send mail")

	got = withPassword("user", "list", "--search", "grace")
	require.Zero(t, got.code, got.err)
	require.Equal(t, []string{"ID", "EMAIL", "FIRST", "NAME", "LAST", "NAME", "STATUS", "ROLE", "CREATED"}, strings.Fields(lines(got.out)[0]))
	require.Len(t, lines(got.out), 2)
	require.Contains(t, got.out, invited.ID)

	got = withPassword("user", "deactivate", "GRACE@example.org")
	require.Zero(t, got.code, got.err)
	require.Equal(t, "deactivated grace@example.org ("+invited.ID+"); `svc user activate "+invited.ID+"` lets them in again\n", got.out)
	got = withPassword("user", "list", "--status", "deactivated", "--json")
	require.Zero(t, got.code, got.err)
	var list []struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(got.out), &list))
	require.Equal(t, []struct{ ID string }{{invited.ID}}, list)
	got = withPassword("user", "activate", invited.ID)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "activated grace@example.org")

	// What is refused changes nothing, and says what to do.
	got = withPassword("user", "deactivate", "nobody@example.org")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "there is no user with the mail address nobody@example.org")
	got = d.types(t, newPassword+"\n"+adminPassword+"\n", "user", "invite", "grace@example.org", "--password")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "already_exists")
	got = withPassword("user", "list", "--status", "asleep")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "status")
	require.Equal(t, 1, d.types(t, "wrong\n", "user", "list").code)
	require.Contains(t, d.requireFailure(t, 1, "user", "list"), "password of admin@localhost: nothing was given")
	require.Equal(t, 2, d.run(t, "user", "invite").code)
	require.Contains(t, d.requireFailure(t, 2, "user", "lst"), "did you mean list")

	// Every session has ended with its command, but the one of this test.
	sessions := d.send(t, "GET", "/users/"+d.profiles(t)["default"].UserID+"/sessions", d.tok, "")
	var open []any
	require.NoError(t, json.Unmarshal(sessions, &open))
	require.Len(t, open, 1)

	// The token of a session is enough.
	d.env = []string{"SVC_URL=" + d.url(), "SVC_TOKEN=" + d.tok}
	require.Contains(t, d.must(t, "user", "list"), "grace@example.org")

	// Others are told so, and are asked for no password.
	other := *d
	other.home, other.env = t.TempDir(), nil
	d.call(t, "POST", "/users", d.tok, `{"email":"ada@example.org","password":"`+adminPassword+`"}`)
	require.Zero(t, other.types(t, adminPassword+"\n", "login", "--url", d.url(), "--email", "ada@example.org").code)
	require.Contains(t, other.requireFailure(t, 1, "user", "list"), "next: this takes a super admin: `svc login` as one")
}
