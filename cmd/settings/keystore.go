package settings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// keyStore keeps keys in files that only one user may read.
type keyStore struct {
	dir string
	uid int
}

const (
	keyDirMode  = 0o700
	keyFileMode = 0o600
	maxKeyFile  = 64 << 10
)

// read returns the text of a key file, os.ErrNotExist when there is none.
func (s keyStore) read(path string) (string, error) {
	if err := s.checkDir(); err != nil {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return "", fmt.Errorf("%s is a symbolic link; put the key file itself there", path)
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	if err := s.private(path, info, keyFileMode); err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxKeyFile))
	return strings.TrimSuffix(string(content), "\n"), err
}

// checkDir judges the directory; os.ErrNotExist when there is none.
func (s keyStore) checkDir() error {
	info, err := os.Lstat(s.dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", s.dir)
	}
	return s.private(s.dir, info, keyDirMode)
}

// private demands that only our user owns and reaches path.
func (s keyStore) private(path string, info os.FileInfo, mode os.FileMode) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != s.uid {
		return fmt.Errorf("%s is owned by user %d, not by %d that runs svc; fix it with: chown %d %s", path, stat.Uid, s.uid, s.uid, path)
	}
	if got := info.Mode().Perm(); got&^mode != 0 {
		return fmt.Errorf("%s has access rights %04o, wider than %04o; if nobody else has read it, fix it with: chmod %04o %s", path, got, mode, mode, path)
	}
	return nil
}

// write keeps text in a new file at path: complete and on disk, or not there.
func (s keyStore) write(path, text string) error {
	if err := s.makeDir(); err != nil {
		return err
	}
	temp, err := os.CreateTemp(s.dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // gone already after the rename
	_, err = temp.WriteString(text + "\n")
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncDir(s.dir)
}

// makeDir creates the directory and makes its name durable.
func (s keyStore) makeDir() error {
	data := filepath.Dir(s.dir)
	if err := os.MkdirAll(data, keyDirMode); err != nil {
		return err
	}
	if err := os.Mkdir(s.dir, keyDirMode); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := syncDir(data); err != nil {
		return err
	}
	return s.checkDir()
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
