package gitsync_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
	"svc/domain"
)

// A small pack can hold a large object: as what compresses well, or as the
// difference to a smaller one.
func TestAnObjectThatUnpacksTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('a' + rng.IntN(26))
		}
		return string(b)
	}
	part := noise(800_000)
	for name, texts := range map[string][]string{
		"zeros":      {strings.Repeat("0", 3_000_000)},
		"difference": {part, part + part + part},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := gittest.New(t)
			repo := server.Repo("large.git")
			clone := repo.Clone()
			head := ""
			for _, text := range texts {
				clone.Write("video.bin", text)
				head = clone.Commit("video")
			}
			clone.Push("main")
			repo.Git("repack", "-adq")
			o := options()
			o.Cache, o.Limits.ObjectBytes = t.TempDir(), 1_000_000
			s := open(t, remoteOf(server, repo), o)
			_, err := s.ListRefs(t.Context())
			require.NoError(t, err)
			refusal := requireRefusal(t, s.Fetch(t.Context(), head), domain.CodeValidation, "limit_exceeded")
			require.Equal(t, "objectBytes", refusal.Details["limit"])
			left, err := filepath.Glob(filepath.Join(o.Cache, "*", "*", "objects", "pack", "*"))
			require.NoError(t, err)
			require.Empty(t, left)
			o.Limits.ObjectBytes = 4_000_000
			s = open(t, remoteOf(server, repo), o)
			_, err = s.ListRefs(t.Context())
			require.NoError(t, err)
			require.NoError(t, s.Fetch(t.Context(), head))
		})
	}
}
