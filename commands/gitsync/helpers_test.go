package gitsync_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/archive"
	"svc/commands/gitsync"
	"svc/commands/gitsync/gittest"
	"svc/domain"
)

func dial(ctx context.Context, _, address string, _ bool) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

func options() gitsync.Options { return gitsync.Options{Dial: dial} }

func remoteOf(s *gittest.Server, r *gittest.Repo) gitsync.Remote {
	return gitsync.Remote{URL: r.URL, User: gittest.User, Password: gittest.Password, CABundle: s.CA}
}

func overSSH(s *gittest.SSH, r *gittest.Repo) gitsync.Remote {
	return gitsync.Remote{URL: s.URL(r), SSHKey: s.Key, KnownHosts: s.KnownHosts()}
}

func open(t testing.TB, r gitsync.Remote, o gitsync.Options) *gitsync.Session {
	t.Helper()
	s, err := gitsync.Open(r, o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// requireRefusal checks code and reason, and that nothing secret is told.
func requireRefusal(t testing.TB, err error, code domain.Code, reason string) refusalFields {
	t.Helper()
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, code, refusal.Code, refusal.Message)
	require.Equal(t, reason, refusal.Details["reason"], refusal.Message)
	requireNoSecret(t, err)
	return refusalFields{refusal.Message, refusal.Details}
}

// refusalFields is a refusal that nobody has to handle.
type refusalFields struct {
	Message string
	Details map[string]any
}

func requireNoSecret(t testing.TB, err error) {
	t.Helper()
	text := err.Error()
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		details, failed := json.Marshal(refusal.Details)
		require.NoError(t, failed)
		text += string(details)
	}
	for _, secret := range []string{gittest.Password, gittest.Passphrase, "PRIVATE KEY", "YWxpY2U6"} {
		require.NotContains(t, text, secret)
	}
}

var noon = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// save writes files on top of a commit and commits them.
func save(t testing.TB, o *gitsync.Objects, parent, root string, files archive.Tree, removed ...string) string {
	t.Helper()
	tree, err := o.WriteTree(parent, root, files, removed)
	require.NoError(t, err)
	c := gitsync.Commit{
		Tree: tree, Message: "Version v1 of billing", Author: gitsync.Signature{Name: "Ada", Email: "ada@example.com", When: noon},
		Committer: gitsync.Signature{Name: "svc", Email: "noreply@example.com", When: noon},
	}
	if parent != "" {
		c.Parents = []string{parent}
	}
	id, err := o.WriteCommit(c)
	require.NoError(t, err)
	return id
}

func push(t testing.TB, s *gitsync.Session, updates ...gitsync.Update) []gitsync.Result {
	t.Helper()
	results, err := s.Push(t.Context(), updates)
	require.NoError(t, err)
	require.Len(t, results, len(updates))
	return results
}

func requireOutcomes(t testing.TB, results []gitsync.Result, want ...gitsync.Outcome) {
	t.Helper()
	for i, r := range results {
		require.Equal(t, want[i], r.Outcome, "%s: %s", r.Name, r.Text)
	}
}

func files(pathsAndTexts ...string) archive.Tree {
	tree := archive.Tree{}
	for i := 0; i < len(pathsAndTexts); i += 2 {
		tree[pathsAndTexts[i]] = []byte(pathsAndTexts[i+1])
	}
	return tree
}

func lines(n int, word string) string { return strings.Repeat(word+"\n", n) }

// transports runs a test over HTTPS and over SSH.
func transports(t *testing.T, test func(t *testing.T, repo *gittest.Repo, remote gitsync.Remote)) {
	t.Run("https", func(t *testing.T) {
		t.Parallel()
		server := gittest.New(t)
		repo := server.Repo("billing.git")
		test(t, repo, remoteOf(server, repo))
	})
	t.Run("ssh", func(t *testing.T) {
		t.Parallel()
		server := gittest.New(t)
		repo := server.Repo("billing.git")
		test(t, repo, overSSH(gittest.NewSSH(t, server.Dir), repo))
	})
}
