package projections

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// keepSpare lays in the next memtable file, if Badger has taken the last one.
// It leaves room for the memtable before it to be made a table.
func (s *space) keepSpare() error {
	if s.spare != nil {
		if stat, err := s.spare.Stat(); err != nil || stat.Size() == 0 {
			return err
		}
		s.full = append(s.full, s.memtablePath(s.next-1))
		s.spare.Close()
		s.spare = nil
		s.next++
	}
	if err := s.demand(s.dir, 2*s.memtable+s.values); err != nil || s.bare {
		return err
	}
	return s.makeSpare()
}

func (s *space) memtablePath(number int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%05d.mem", number))
}

func (s *space) makeSpare() error {
	file, err := os.OpenFile(s.memtablePath(s.next), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	stat, err := file.Stat()
	if err == nil && stat.Size() > 0 {
		file.Close() // Badger made it
		s.next++
		return s.makeSpare()
	}
	if err == nil {
		err = layIn(int(file.Fd()), s.memtable)
	}
	if err == nil {
		s.spare = file
		return nil
	}
	file.Close()
	os.Remove(file.Name())
	if s.bare = errors.Is(err, errors.ErrUnsupported); s.bare {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrNoSpace, err)
}

// dropSpare gives the room of the spare back to the disk.
func (s *space) dropSpare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare == nil {
		return
	}
	if stat, err := s.spare.Stat(); err == nil && stat.Size() == 0 {
		os.Remove(s.spare.Name())
	}
	s.spare.Close()
	s.spare = nil
}

// memtableFile is a file of a memtable, or a spare.
type memtableFile struct {
	path   string
	number int
	size   int64
}

func memtables(dir string) (files []memtableFile) {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.mem")) // a pattern that is well formed
	for _, path := range paths {
		number, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".mem"))
		if stat, statErr := os.Stat(path); cmp.Or(err, statErr) == nil {
			files = append(files, memtableFile{path, number, stat.Size()})
		}
	}
	return files
}
