package gitsync_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/egress"
	"svc/commands/gitsync/gittest"
	"svc/domain"
)

func TestThroughEgress(t *testing.T) {
	server := gittest.New(t)
	repo := server.Repo("a.git")
	e, err := egress.New(egress.Options{})
	require.NoError(t, err)
	o := options()
	o.Dial, o.Roots = e.Dial, e.Roots()
	r := remoteOf(server, repo)
	requireRefusal(t, list(t, r, o), domain.CodeValidation, "remote_address_forbidden")
	s := overSSH(gittest.NewSSH(t, server.Dir), repo)
	requireRefusal(t, list(t, s, o), domain.CodeValidation, "remote_address_forbidden")
	r.Exempt, s.Exempt = true, true
	require.NoError(t, list(t, r, o))
	require.NoError(t, list(t, s, o))
}
