package gitsync_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync"
	"svc/commands/gitsync/gittest"
	"svc/domain"
)

// noise is text that does not compress to nothing, so that cuts fall into it.
func noise(seed uint64, size int) string {
	r := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "k%d: %x\n", r.IntN(1000), r.Uint64())
	}
	return b.String()
}

// Wherever the connection is cut during a push, what it returns is never other
// than what the server has: accepted is there, an error or a refusal is not, and
// the rest is said to be unknown.
func TestCutsDuringAPush(t *testing.T) {
	t.Parallel()
	overProxies(t, func(t *testing.T, repo *gittest.Repo, remote gitsync.Remote, proxy *gittest.Proxy, quiet func()) {
		local := open(t, remote, options())
		at := save(t, local.Objects(), "", "", files("index.yml", noise(0, 30_000)))
		requireOutcomes(t, push(t, local, gitsync.Update{Name: "refs/heads/main", New: at}), gitsync.Accepted)
		up, down := proxy.Passed(gittest.Up), proxy.Passed(gittest.Down)
		counts := map[string]int{}
		for i := range 20 {
			d, total := gittest.Up, up
			if i%2 == 1 {
				d, total = gittest.Down, down
			}
			s := open(t, remote, options())
			proxy.Arm(gittest.Up, -1)
			_, err := s.ListRefs(t.Context())
			require.NoError(t, err)
			require.NoError(t, s.Fetch(t.Context(), "refs/heads/main"))
			next := save(t, s.Objects(), at, "", files("index.yml", noise(uint64(i+1), 30_000)))
			proxy.Arm(d, rand.IntN(total+1))
			start := time.Now()
			results, err := s.Push(t.Context(), []gitsync.Update{
				{Name: "refs/heads/svc/billing/main", Old: repo.ID("refs/heads/svc/billing/main"), New: next},
				{Name: "refs/heads/main", Old: at, New: next},
			})
			require.Less(t, time.Since(start), 20*time.Second)
			quiet()
			now := repo.ID("refs/heads/main")
			require.Contains(t, []string{at, next}, now)
			require.Equal(t, now == next, repo.ID("refs/heads/svc/billing/main") == next, "all or nothing")
			switch {
			case err != nil:
				counts["error"]++
				requireNoSecret(t, err)
				require.Equal(t, domain.CodeUnavailable, domain.CodeOf(err), "%v", err)
				require.Equal(t, at, now)
			case results[1].Outcome == gitsync.Accepted:
				require.Equal(t, next, now)
			case results[1].Outcome == gitsync.Refused:
				require.Equal(t, at, now)
			}
			if err == nil {
				counts[results[1].Outcome.String()]++
			}
			at = now
		}
		repo.Git("fsck", "--strict", "--no-dangling")
		t.Log(counts)
	})
}

// Wherever the connection is cut during a fetch, the session says so, the store
// has nothing of it, and the next fetch succeeds.
func TestCutsDuringAFetch(t *testing.T) {
	t.Parallel()
	overProxies(t, func(t *testing.T, repo *gittest.Repo, remote gitsync.Remote, proxy *gittest.Proxy, _ func()) {
		clone := repo.Clone()
		clone.Write("index.yml", noise(1, 200_000))
		clone.Commit("first")
		clone.Push("main")
		o := options()
		o.Cache = t.TempDir()
		fetch := func() (string, error) {
			s := open(t, remote, o)
			refs, err := s.ListRefs(t.Context())
			if err != nil {
				return "", err
			}
			head := refs.Branch("main")
			if err := s.Fetch(t.Context(), head); err != nil {
				require.False(t, s.Objects().Has(head))
				return "", err
			}
			_, err = s.Objects().ReadTree(head, "")
			return head, err
		}
		proxy.Arm(gittest.Up, -1)
		_, err := fetch()
		require.NoError(t, err)
		down := proxy.Passed(gittest.Down)
		failed := 0
		for i := range 10 {
			clone.Write("index.yml", noise(uint64(i+2), 200_000))
			head := clone.Commit("more")
			clone.Push("main")
			proxy.Arm(gittest.Down, rand.IntN(down))
			if _, err := fetch(); err != nil {
				failed++
				requireRefusal(t, err, domain.CodeUnavailable, "remote_unreachable")
			}
			proxy.Arm(gittest.Up, -1)
			got, err := fetch()
			require.NoError(t, err)
			require.Equal(t, head, got)
		}
		require.NotZero(t, failed)
	})
}

func overProxies(t *testing.T, test func(t *testing.T, repo *gittest.Repo, remote gitsync.Remote, proxy *gittest.Proxy, quiet func())) {
	t.Run("https", func(t *testing.T) {
		t.Parallel()
		server := gittest.New(t)
		repo := server.Repo("billing.git")
		proxy := gittest.NewProxy(t, server.Address())
		remote := remoteOf(server, repo)
		remote.URL = strings.Replace(remote.URL, server.Address(), proxy.Address, 1)
		test(t, repo, remote, proxy, server.Wait)
	})
	t.Run("ssh", func(t *testing.T) {
		t.Parallel()
		server := gittest.New(t)
		repo := server.Repo("billing.git")
		daemon := gittest.NewSSH(t, server.Dir)
		proxy := gittest.NewProxy(t, daemon.Address)
		remote := overSSH(daemon, repo)
		remote.URL = strings.Replace(remote.URL, daemon.Address, proxy.Address, 1)
		remote.KnownHosts = strings.Replace(remote.KnownHosts, daemonName(daemon.Address), daemonName(proxy.Address), 1)
		test(t, repo, remote, proxy, daemon.Wait)
	})
}

// daemonName is an address as known_hosts has it.
func daemonName(address string) string {
	host, port, _ := strings.Cut(address, ":")
	return "[" + host + "]:" + port
}
