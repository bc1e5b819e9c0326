package filesync_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"svc/commands/archive"
	"svc/commands/filesync"
	"svc/domain"
)

// directoryFixture is a directory of workspaces.
type directoryFixture struct {
	*filesync.Directory
	t   *testing.T
	dir string
}

func open(t *testing.T, dir string) *directoryFixture {
	t.Helper()
	d, err := filesync.Open(dir, archive.Usual)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return &directoryFixture{d, t, dir}
}

// put writes files by hand.
func (s *directoryFixture) put(files map[string]string) {
	s.t.Helper()
	for p, text := range files {
		p = filepath.Join(s.dir, p)
		require.NoError(s.t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(s.t, os.WriteFile(p, []byte(text), 0o644))
	}
}

func (s *directoryFixture) read(slug string) archive.Tree {
	s.t.Helper()
	tree, err := s.Read(s.t.Context(), slug)
	require.NoError(s.t, err)
	return tree
}

func (s *directoryFixture) replace(slug string, tree, expect archive.Tree, op string) {
	s.t.Helper()
	require.NoError(s.t, s.Replace(s.t.Context(), slug, tree, op, expect))
}

// names lists what is in the directory, hidden ones included, the lock left out.
func (s *directoryFixture) names() (names []string) {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	require.NoError(s.t, err)
	for _, e := range entries {
		if e.Name() != ".svc-lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

func requireReason(t *testing.T, err error, reason string) {
	t.Helper()
	refusal, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, reason, refusal.Details["reason"], "%v", err)
}

func TestADirectoryIsReplacedAndTheRestStays(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	require.Empty(t, s.read("billing"))
	s.replace("billing", state("old"), archive.Tree{}, "op_1")
	require.Equal(t, state("old"), s.read("billing"))

	s.put(map[string]string{
		"billing/README.md": "read me", "billing/automations/README.md": "me too", "billing/.git/config": "x", "billing/docs/deep/a.yml": "y",
		".hidden/index.yml": "", "file": "",
	})
	require.NoError(t, os.Symlink("README.md", filepath.Join(s.dir, "billing", "link")))
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "billing", "empty"), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(s.dir, "billing"), 0o750))
	require.NoError(t, os.Symlink("billing", filepath.Join(s.dir, "alias")))
	s.replace("billing", state("new"), state("old"), "op_2")
	require.Equal(t, state("new"), s.read("billing"))
	for p, text := range map[string]string{"README.md": "read me", "automations/README.md": "me too", ".git/config": "x", "docs/deep/a.yml": "y", "link": "read me"} {
		got, err := os.ReadFile(filepath.Join(s.dir, "billing", p))
		require.NoError(t, err)
		require.Equal(t, text, string(got))
	}
	target, err := os.Readlink(filepath.Join(s.dir, "billing", "link"))
	require.NoError(t, err)
	require.Equal(t, "README.md", target)
	info, err := os.Stat(filepath.Join(s.dir, "billing"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o750), info.Mode().Perm())
	require.DirExists(t, filepath.Join(s.dir, "billing", "empty"))
	require.NoDirExists(t, filepath.Join(s.dir, "billing", "automations", "old"), "nothing is in it any more")

	names, err := s.Directories(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"billing"}, names)
	require.Equal(t, []string{".hidden", "alias", "billing", "file"}, s.names())
}

func TestWhatOthersChangedIsNotReplaced(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	s.replace("billing", state("old"), archive.Tree{}, "op_1")
	require.ErrorIs(t, s.Replace(t.Context(), "billing", state("new"), "op_2", archive.Tree{}), filesync.ErrMoved)
	require.ErrorIs(t, s.Replace(t.Context(), "mailer", state("new"), "op_3", state("old")), filesync.ErrMoved)
	s.Before(func(change string) {
		if strings.HasPrefix(change, "sync .svc-tmp-op_4.billing/automations") {
			s.put(map[string]string{"billing/index.yml": "name: by hand\n"})
		}
	})
	require.ErrorIs(t, s.Replace(t.Context(), "billing", state("new"), "op_4", state("old")), filesync.ErrMoved)
	require.Equal(t, "name: by hand\n", string(s.read("billing")["index.yml"]))
	require.Equal(t, []string{"billing"}, s.names())
}

func TestNothingLeadsOutside(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "index.yml"), []byte("name: outside\n"), 0o600))
	s := open(t, t.TempDir())
	require.NoError(t, os.Symlink(outside, filepath.Join(s.dir, "linked")))
	s.put(map[string]string{"billing/index.yml": "name: B\n", "mailer/index.yml": "name: M\n", "case/pages/a.yml": "", "case/pages/A.yml": ""})
	require.NoError(t, os.Symlink(outside, filepath.Join(s.dir, "billing", "automations")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "index.yml"), filepath.Join(s.dir, "mailer", "security.yml")))
	for _, slug := range []string{"linked", "billing", "mailer", "case"} {
		_, err := s.Read(t.Context(), slug)
		requireReason(t, err, "unsafe_tree")
		err = s.Replace(t.Context(), slug, state("new"), "op_1", archive.Tree{})
		requireReason(t, err, "unsafe_tree")
	}
	_, err := s.Read(t.Context(), "../x")
	require.Error(t, err)
	for _, p := range []string{"../../index.yml", "/index.yml", "pages/.GIT/a.yml"} {
		requireReason(t, s.Replace(t.Context(), "new", archive.Tree{p: nil}, "op_1", archive.Tree{}), "unsafe_tree")
	}
	s.put(map[string]string{"wall/automations/old": "a file"})
	requireReason(t, s.Replace(t.Context(), "wall", state("old"), "op_1", archive.Tree{}), "unsafe_tree")
	text, err := os.ReadFile(filepath.Join(outside, "index.yml"))
	require.NoError(t, err)
	require.Equal(t, "name: outside\n", string(text))
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	s.put(map[string]string{"billing/index.yml": strings.Repeat("#", archive.Usual.FileBytes+1)})
	_, err := s.Read(t.Context(), "billing")
	requireReason(t, err, "limit_exceeded")
	requireReason(t, s.Replace(t.Context(), "x", archive.Tree{"index.yml": make([]byte, archive.Usual.FileBytes+1)}, "op_1", archive.Tree{}), "limit_exceeded")
	_, err = filesync.Open(filepath.Join(s.dir, "gone"), archive.Usual)
	requireReason(t, err, "remote_unreachable")
	require.NotContains(t, err.(interface{ Unwrap() []error }).Unwrap()[0].Error(), s.dir)
}

// The process is killed before each change that it makes, and the next operation
// comes: for everybody who looks the directory is the old state or the new one.
func TestAKillLeavesTheOldStateOrTheNewOne(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{"there was something": "old", "there was nothing": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcomes := map[string]int{}
			for at := 1; ; at++ {
				s := open(t, t.TempDir())
				want := archive.Tree{}
				if before != "" {
					want = state(before)
					s.replace("billing", want, archive.Tree{}, "op_0")
					s.put(map[string]string{"billing/README.md": "read me", "billing/docs/a.txt": "a"})
				}
				if !s.killed(at, "op_1", before) {
					require.Greater(t, at, 8)
					require.Equal(t, state("new"), s.read("billing"))
					break
				}
				got := s.read("billing")
				if len(got) > 0 && string(got["index.yml"]) == "name: new\n" {
					want = state("new")
					outcomes["new"]++
				} else {
					outcomes["old"]++
				}
				require.Equal(t, want, got, "killed before change %d", at)
				if before != "" {
					require.FileExists(t, filepath.Join(s.dir, "billing", "README.md"))
					require.FileExists(t, filepath.Join(s.dir, "billing", "docs", "a.txt"))
				}
				op := []string{"op_1", "op_2"}[at%2] // the same operation, taken over, or another
				s.replace("billing", state("next"), got, op)
				require.Equal(t, state("next"), s.read("billing"))
				require.Equal(t, []string{"billing"}, s.names(), "nothing is left of the one that was killed")
			}
			require.NotZero(t, outcomes["new"])
			require.NotZero(t, outcomes["old"])
		})
	}
}

// killed replaces the directory in a process that dies before a change, and
// reports whether it did; otherwise it went well.
func (s *directoryFixture) killed(at int, op, seen string) bool {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), dirVariable+"="+s.dir, diesVariable+"="+strconv.Itoa(at), opVariable+"="+op, seenVariable+"="+seen)
	err := cmd.Run()
	if err == nil {
		return false
	}
	end, ok := errors.AsType[*exec.ExitError](err)
	require.True(s.t, ok, "%v", err)
	status, _ := end.Sys().(syscall.WaitStatus)
	require.True(s.t, status.Signaled(), "%v", err)
	return true
}

// What an operation that runs elsewhere has put there is left alone, and whoever
// looks in the middle of its renaming waits for it.
func TestAnOperationThatRunsIsNotDisturbed(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	s.replace("billing", state("old"), archive.Tree{}, "op_1")
	other := open(t, s.dir)
	looked := make(chan archive.Tree, 1)
	s.Before(func(change string) {
		switch change {
		case "sync .svc-tmp-op_2.billing":
			requireReason(t, other.Replace(t.Context(), "billing", state("zombie"), "op_2", state("old")), "remote_busy")
			other.replace("billing", state("other"), state("old"), "op_3")
			require.Contains(t, s.names(), ".svc-tmp-op_2.billing")
		case "rename .svc-tmp-op_4.billing billing":
			ctx, cancel := context.WithTimeout(t.Context(), 50e6)
			defer cancel()
			_, err := other.Read(ctx, "billing")
			require.ErrorIs(t, err, context.DeadlineExceeded, "somebody is at it")
			go func() { looked <- other.read("billing") }()
		}
	})
	require.ErrorIs(t, s.Replace(t.Context(), "billing", state("new"), "op_2", state("old")), filesync.ErrMoved)
	require.Equal(t, state("other"), s.read("billing"))
	s.replace("billing", state("new"), state("other"), "op_4")
	require.Equal(t, state("new"), <-looked)
	require.Equal(t, []string{"billing"}, s.names())
}

// A workspace that has nothing any more has no directory, unless there is something
// else in it.
func TestADirectoryWithNothingInItGoes(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	s.replace("billing", state("old"), archive.Tree{}, "op_1")
	s.put(map[string]string{"billing/README.md": "read me"})
	s.replace("billing", archive.Tree{}, state("old"), "op_2")
	require.Empty(t, s.read("billing"))
	require.Equal(t, []string{"billing"}, s.names())
	require.NoError(t, os.Remove(filepath.Join(s.dir, "billing", "README.md")))
	s.replace("billing", archive.Tree{}, archive.Tree{}, "op_3")
	require.Empty(t, s.names())
}

// Readers see a whole state, whatever is replaced while they read.
func TestReadersSeeOneState(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	s.replace("billing", state("a"), archive.Tree{}, "op_0")
	reader, done := open(t, s.dir), make(chan struct{})
	go func() {
		defer close(done)
		for i := range 100 {
			now, next := []string{"a", "b"}[i%2], []string{"b", "a"}[i%2]
			if err := s.Replace(context.WithoutCancel(t.Context()), "billing", state(next), "op_"+strconv.Itoa(i), state(now)); err != nil {
				t.Error(err)
			}
		}
	}()
	for busy := true; busy; {
		select {
		case <-done:
			busy = false
		default:
		}
		tree, err := reader.Read(t.Context(), "billing")
		if !assert.NoError(t, err) {
			<-done
			break
		}
		name := strings.TrimSpace(strings.TrimPrefix(string(tree["index.yml"]), "name:"))
		assert.Equal(t, state(name), tree)
	}
}
