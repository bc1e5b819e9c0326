package signing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/signing"
	"svc/domain"
)

const session = "2b0e6f1c-8f0a-4a0e-9f62-0d5d7f6f0a11"

func TestWhomASessionTokenIsOf(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k := h.started(t)
	acting := func(change func(*signing.Acting)) signing.Acting {
		a := signing.Acting{UserID: "ann", SessionID: session, WorkspaceID: "w1", CorrelationID: "c1", Depth: 3}
		change(&a)
		return a
	}
	type said struct {
		subject, session, scope string
		visitor                 bool
	}
	run := said{"run:w1:c1", "run:w1:c1", "", true}
	visitor := said{session, session, "", true}
	for name, tc := range map[string]struct {
		of   signing.Acting
		want said
	}{
		"a user":                           {acting(func(*signing.Acting) {}), said{"ann", session, "", false}},
		"a user with scopes":               {acting(func(a *signing.Acting) { a.Scopes = []string{"events:read", "webhooks"} }), said{"ann", session, "events:read webhooks", false}},
		"a user without any scope":         {acting(func(a *signing.Acting) { a.Scopes = []string{} }), said{"ann", session, "none", false}},
		"a user by an access token":        {acting(func(a *signing.Acting) { a.SessionID = "at:tok_1" }), said{"ann", "at:tok_1", "", false}},
		"a visitor":                        {acting(func(a *signing.Acting) { a.UserID, a.Visitor = session, true }), visitor},
		"a visitor known by the ids alone": {acting(func(a *signing.Acting) { a.UserID = session }), visitor},
		"a visitor without a user id":      {acting(func(a *signing.Acting) { a.UserID, a.Visitor = "", true }), visitor},
		"a visitor has no scopes":          {acting(func(a *signing.Acting) { a.UserID, a.Scopes = session, []string{"x"} }), visitor},
		"a visitor is never a user":        {acting(func(a *signing.Acting) { a.Visitor = true }), visitor},
		"nobody":                           {acting(func(a *signing.Acting) { a.UserID, a.SessionID = "", "" }), run},
		"nobody with a session":            {acting(func(a *signing.Acting) { a.UserID = "" }), run},
		"a user without a session":         {acting(func(a *signing.Acting) { a.SessionID = "" }), run},
		"a session that a caller chose":    {acting(func(a *signing.Acting) { a.UserID, a.SessionID, a.Visitor = "c1", "c1", true }), run},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := k.SessionToken(t.Context(), tc.of, 10*time.Second)
			require.NoError(t, err)
			got, err := k.Verify(t.Context(), token)
			require.NoError(t, err)
			require.Equal(t, tc.want, said{got.Subject, got.SessionID, got.Scope, got.Visitor})
			require.Equal(t, noon.Add(10*time.Second), got.ExpiresAt)
			require.Equal(t, []any{"w1", "c1", 3, ""}, []any{got.WorkspaceID, got.CorrelationID, got.Depth, got.Role})
		})
	}
}

func TestTokensOfWorkspacesAndRoles(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	k := h.started(t)
	token, err := k.WorkspaceToken(t.Context(), signing.Acting{UserID: "ann", SessionID: session, WorkspaceID: "w1", CorrelationID: "c1", Depth: 2}, time.Hour)
	require.NoError(t, err)
	got, err := k.Verify(t.Context(), token)
	require.NoError(t, err)
	want := signing.Claims{
		ID: got.ID, WorkspaceID: "w1", CorrelationID: "c1", Depth: 2, Issuer: issuer, Audience: []string{audience},
		IssuedAt: noon, ExpiresAt: noon.Add(signing.RuntimeAge),
	}
	require.Equal(t, want, got, "it lives a minute at most")

	token, err = k.RoleToken(t.Context(), "w1", "agent", "c1", 2, 0)
	require.NoError(t, err)
	got, err = k.Verify(t.Context(), token)
	require.NoError(t, err)
	want.ID, want.Role = got.ID, "agent"
	require.Equal(t, want, got)

	h.pass(signing.RuntimeAge + time.Minute)
	require.Equal(t, domain.CodeTokenExpired, verdict(t, k, token))
}

func TestTokensOfTheRuntimeNeedAWorkspaceAndARole(t *testing.T) {
	t.Parallel()
	k := newFixture(t).started(t)
	_, err := k.SessionToken(t.Context(), signing.Acting{UserID: "ann", SessionID: session}, time.Second)
	require.ErrorContains(t, err, "a workspace")
	_, err = k.WorkspaceToken(t.Context(), signing.Acting{CorrelationID: "c1", Depth: 1}, time.Second)
	require.ErrorContains(t, err, "a workspace")
	_, err = k.RoleToken(t.Context(), "", "agent", "c1", 1, time.Second)
	require.ErrorContains(t, err, "a workspace")
	_, err = k.RoleToken(t.Context(), "w1", "", "c1", 1, time.Second)
	require.ErrorContains(t, err, "a role")
}
