package gitsync_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/archive"
	"svc/commands/gitsync"
)

func TestFilesThatAreInNoCommitAreCompared(t *testing.T) {
	t.Parallel()
	before := archive.Tree{"a": []byte("1\n2\n"), "b": []byte("x\n"), "c": []byte("same\n")}
	after := archive.Tree{"a": []byte("1\n3\n4\n"), "c": []byte("same\n"), "d": []byte("new\n")}
	require.Equal(t, gitsync.Changes{
		Files: []string{"a", "b", "d"}, Created: []string{"d"}, Deleted: []string{"b"},
		Insertions: map[string]int{"a": 2, "b": 0, "d": 1}, Deletions: map[string]int{"a": 1, "b": 1, "d": 0},
		Summary: gitsync.Summary{Changes: 3, Insertions: 3, Deletions: 2},
	}, gitsync.Compare(before, after))
}
