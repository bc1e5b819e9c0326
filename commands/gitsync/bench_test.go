package gitsync_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync"
	"svc/commands/gitsync/gittest"
)

// A push of 500 files on top of a history, and a pull of them by somebody who has
// nothing yet.
func BenchmarkPushAndPull(b *testing.B) {
	server := gittest.New(b)
	tree := files("index.yml", "slug: bench\n")
	for i := range 499 {
		tree[fmt.Sprintf("automations/a%03d.yml", i)] = []byte(noise(uint64(i), 2000))
	}
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		repo := server.Repo(fmt.Sprintf("r%d.git", n))
		clone := repo.Clone()
		clone.Write("README.md", "hello\n")
		head := clone.Commit("first")
		clone.Push("main")
		b.StartTimer()

		s := open(b, remoteOf(server, repo), options())
		_, err := s.ListRefs(b.Context())
		require.NoError(b, err)
		require.NoError(b, s.Fetch(b.Context(), "refs/heads/main"))
		c := save(b, s.Objects(), head, "", tree)
		requireOutcomes(b, push(b, s, gitsync.Update{Name: "refs/heads/main", Old: head, New: c}), gitsync.Accepted)

		p := open(b, remoteOf(server, repo), options())
		_, err = p.ListRefs(b.Context())
		require.NoError(b, err)
		require.NoError(b, p.Fetch(b.Context(), "refs/heads/main"))
		got, err := p.Objects().ReadTree(c, "")
		require.NoError(b, err)
		require.Len(b, got.Managed, 500)
	}
}
