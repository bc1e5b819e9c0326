package gitsync

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A cache that begins anew leaves what somebody reads, and deletes it once nobody
// does.
func TestAGenerationStaysWhileItIsRead(t *testing.T) {
	t.Parallel()
	cache, remote := t.TempDir(), Remote{URL: "https://example.org/a.git"}
	reader, err := openStore(cache, remote)
	require.NoError(t, err)
	first := reader.reading
	other, err := openStore(cache, remote)
	require.NoError(t, err)
	require.NoError(t, other.replace())
	require.NotEqual(t, first, other.reading)
	require.DirExists(t, first)
	reader.close()
	require.NoError(t, other.replace())
	_, err = os.Stat(first)
	require.ErrorIs(t, err, os.ErrNotExist)
	other.close()
	require.NotContains(t, inUse.count, other.path(3))
}
