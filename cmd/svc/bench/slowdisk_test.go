//go:build bench

package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// slowNode is a file or directory of a disk that takes its time to sync.
type slowNode struct {
	*fs.LoopbackNode
	delay time.Duration
}

// WrapChild implements fs.NodeWrapChilder: what lies in a slow directory is slow.
func (n *slowNode) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &slowNode{ops.(*fs.LoopbackNode), n.delay}
}

// Fsync implements fs.NodeFsyncer. It heeds no interrupt, as a disk does not:
// every signal of the Go scheduler to the caller would be one.
func (n *slowNode) Fsync(ctx context.Context, f fs.FileHandle, flags uint32) syscall.Errno {
	<-time.After(n.delay)
	if file, ok := f.(fs.FileFsyncer); ok {
		return file.Fsync(ctx, flags)
	}
	return 0 // a directory: its names are in the backing file system's hands
}

// serveSlowDisk shows BENCH_BACKING at BENCH_MOUNT until its input ends. Reads
// and writes go straight to the backing files where the kernel can do that. It
// is a process of its own: whoever serves a mount must not wait for it.
func serveSlowDisk() error {
	delay, err := time.ParseDuration(os.Getenv("BENCH_FSYNC"))
	if err != nil {
		return err
	}
	backing := os.Getenv("BENCH_BACKING")
	var st syscall.Stat_t
	if err := syscall.Stat(backing, &st); err != nil {
		return err
	}
	data := &fs.LoopbackRoot{Path: backing, Dev: st.Dev}
	root := &slowNode{&fs.LoopbackNode{RootData: data}, delay}
	data.RootNode = root
	second := time.Second
	server, err := fs.Mount(os.Getenv("BENCH_MOUNT"), root, &fs.Options{
		EntryTimeout: &second, AttrTimeout: &second,
		MountOptions: fuse.MountOptions{Name: "slowdisk", FsName: backing, DirectMountStrict: true, MaxWrite: 1 << 20, MaxStackDepth: 1},
	})
	if err != nil {
		return err
	}
	fmt.Println("mounted")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return server.Unmount()
}

// mountSlowDisk returns a directory on a disk whose fsync takes at least delay.
func mountSlowDisk(t *testing.T, delay time.Duration) string {
	t.Helper()
	mount := t.TempDir()
	p := command(t, "slowdisk", "BENCH_BACKING="+t.TempDir(), "BENCH_MOUNT="+mount, "BENCH_FSYNC="+delay.String())
	in, err := p.StdinPipe()
	require.NoError(t, err)
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = p.Wait()
		_ = unix.Unmount(mount, unix.MNT_DETACH) // it is there only when the process died
	})
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "a slow disk needs /dev/fuse and the right to mount")
	require.Equal(t, "mounted\n", said)
	return mount
}
