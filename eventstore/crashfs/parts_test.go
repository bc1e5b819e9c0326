//go:build fault

package crashfs_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

// parts is the table of everything that a child can be asked to do.
func parts() map[string]func(dir string) error {
	all := map[string]func(dir string) error{
		"appenders":    appenders,
		"bulk":         bulk,
		"hold":         holdOpen,
		"mess":         mess,
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
