package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands"
)

// A child has the lock of its parent from the fork on, and here for as long as it wants.
func TestADirectoryIsLockedWhenTheChildOfItsLastHolderLetsGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := LockDir(t.Context(), dir)
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), "cat")
	child.ExtraFiles = []*os.File{first.file}
	in, err := child.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	require.NoError(t, first.Release())
	_, err = LockDir(t.Context(), dir)
	require.ErrorIs(t, err, ErrDirInUse)

	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	require.NoError(t, err)
	locked := make(chan error, 1)
	go func() { locked <- commands.LockFile(t.Context(), f) }()
	require.NoError(t, in.Close())
	require.NoError(t, child.Wait())
	require.NoError(t, <-locked)
	require.NoError(t, f.Close())
}
