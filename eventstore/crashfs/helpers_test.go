//go:build fault

package crashfs_test

import (
	"bufio"
	"errors"
	"fmt"
	iofs "io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"svc/eventstore/crashfs"
)

// The mount is only ever written by a child: the test binary, told by these
// variables which part to play and where.
const (
	partVar = "CRASHFS_PART"
	dirVar  = "CRASHFS_DIR"
)

func TestMain(m *testing.M) {
	part := os.Getenv(partVar)
	if part == "" {
		os.Exit(m.Run())
	}
	play, ok := parts()[part]
	if !ok {
		play = func(string) error { return errors.New("no such part") }
	}
	if err := play(os.Getenv(dirVar)); err != nil {
		fmt.Fprintf(os.Stderr, "child %s: %v\n", part, err)
		os.Exit(1)
	}
}

// mount mounts an empty directory, or one with the given files, for one test.
func mount(t testing.TB, base map[string]string) (f *crashfs.FS, backing, dir string) {
	t.Helper()
	backing, dir = t.TempDir(), t.TempDir()
	for name, content := range base {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(backing, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(backing, name), []byte(content), 0o644))
	}
	f, err := crashfs.Mount(backing, dir)
	require.NoError(t, err, "these tests need root, /dev/fuse and the fuse module")
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
			_ = unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH)
		}
	})
	return f, backing, dir
}

// child is a running part.
type child struct {
	*exec.Cmd
	lines *bufio.Scanner // what it prints
}

// start starts a part; the test kills it if it is still there at the end.
func start(t testing.TB, part, dir string, env ...string) child {
	t.Helper()
	return startWith(t, nil, part, dir, env...)
}

// startWith starts a part that reads from stdin.
func startWith(t testing.TB, stdin *os.File, part, dir string, env ...string) child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	if stdin != nil {
		cmd.Stdin = stdin
	}
	cmd.Env = append(append(os.Environ(), partVar+"="+part, dirVar+"="+dir), env...)
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0") // or each child lingers for a second
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return child{cmd, bufio.NewScanner(out)}
}

// run plays a part to its end.
func run(t testing.TB, part, dir string, env ...string) {
	t.Helper()
	require.NoError(t, start(t, part, dir, env...).Wait(), part)
}

// image returns the files of an image, with "name/" for an empty directory and
// "-> target" for a symbolic link.
func image(t testing.TB, f *crashfs.FS, cut crashfs.Cut) map[string]string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, f.Image(cut, dir))
	return tree(t, dir)
}

func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, entry iofs.DirEntry, err error) error {
		rel := strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
		switch {
		case err != nil || rel == "":
			return err
		case entry.IsDir():
			inside, err := os.ReadDir(name)
			if len(inside) == 0 {
				files[rel+"/"] = ""
			}
			return err
		case entry.Type()&iofs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			files[rel] = "-> " + target
			return err
		default:
			content, err := os.ReadFile(name)
			files[rel] = string(content)
			return err
		}
	}))
	return files
}

// parts is the table of everything that a child can be asked to do.
func parts() map[string]func(dir string) error {
	all := map[string]func(dir string) error{
		"appenders":    appenders,
		"bulk":         bulk,
		"hold":         holdOpen,
		"mess":         makeRandomChanges,
		"mmap":         mapShared,
		"nats-publish": natsPublish,
		"nats-count":   natsCount,
		"own":          appendForever,
		"pages":        writePages,
		"three writes": threeWrites,
		"twenty names": twentyNames,
	}
	for name, r := range rules {
		all[name] = r.script
	}
	return all
}

func script(steps ...func(dir string) error) func(string) error {
	return func(dir string) error {
		for i, step := range steps {
			if err := step(dir); err != nil {
				return fmt.Errorf("step %d: %w", i+1, err)
			}
		}
		return nil
	}
}

type step = func(dir string) error

// file opens name with flag and runs each action on it.
func file(name string, flag int, actions ...func(*os.File) error) step {
	return func(dir string) error {
		f, err := os.OpenFile(filepath.Join(dir, name), flag, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		for _, act := range actions {
			if err := act(f); err != nil {
				return err
			}
		}
		return f.Close()
	}
}

func write(text string) func(*os.File) error {
	return func(f *os.File) error { _, err := f.WriteString(text); return err }
}

func writeAt(off int64, text string) func(*os.File) error {
	return func(f *os.File) error { _, err := f.WriteAt([]byte(text), off); return err }
}

func truncate(size int64) func(*os.File) error {
	return func(f *os.File) error { return f.Truncate(size) }
}

func fsync(f *os.File) error { return f.Sync() }

// syncDir opens a directory and syncs it.
func syncDir(name string) step { return file(name, os.O_RDONLY, fsync) }

func put(name, text string) step {
	return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) }
}

func rename(from, to string) step {
	return func(dir string) error { return os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)) }
}

func remove(name string) step {
	return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
}

func mkdir(name string) step {
	return func(dir string) error { return os.MkdirAll(filepath.Join(dir, name), 0o755) }
}

func link(from, to string) step {
	return func(dir string) error { return os.Link(filepath.Join(dir, from), filepath.Join(dir, to)) }
}

func symlink(target, name string) step {
	return func(dir string) error { return os.Symlink(target, filepath.Join(dir, name)) }
}

// with returns base with changes; a change to "-" removes the file.
func with(base, changes map[string]string) map[string]string {
	out := maps.Clone(base)
	maps.Copy(out, changes)
	maps.DeleteFunc(out, func(_, content string) bool { return content == "-" })
	return out
}
