package crashfs

import (
	"fmt"
	iofs "io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// directory is what a directory holds after a cut: an object for each name.
type directory map[string]uint64

// Image writes into dir what the disk could hold after cut. Dir is made if
// need be and must be empty and outside of the mount. The writer may still be
// running. Images of growing cuts are the fastest: each continues the content
// that the one before left in memory.
func (f *FS) Image(cut Cut, dir string) error {
	if end := f.Mark(); cut.At < 0 || cut.At > end {
		return fmt.Errorf("crashfs: %s: the log has %d operations", cut, end)
	}
	dir, err := f.emptyDir(dir)
	if err != nil {
		return fmt.Errorf("crashfs: image: %w", err)
	}
	f.images.Lock()
	defer f.images.Unlock()
	w := writer{fs: f, cut: cut, names: f.namesAt(cut), done: map[uint64]string{}}
	if err := w.fill(dir, rootID); err != nil {
		return fmt.Errorf("crashfs: image of %s: %w", cut, err)
	}
	return nil
}

// emptyDir makes dir if it is missing, and refuses one that Image must not use.
func (f *FS) emptyDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for _, taken := range []string{f.mountpoint, f.backing} {
		if dir == taken || strings.HasPrefix(dir, taken+string(filepath.Separator)) {
			return "", fmt.Errorf("%s is below %s", dir, taken)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty", dir)
	}
	return dir, err
}

// namesAt returns the directories as they are after cut, by object.
func (f *FS) namesAt(cut Cut) map[uint64]directory {
	f.mu.Lock()
	defer f.mu.Unlock()
	dirs := map[uint64]directory{}
	for _, e := range f.base {
		set(dirs, e)
	}
	kept := f.keptNames(cut)
	for _, i := range f.names[:sort.SearchInts(f.names, cut.At)] {
		if kept(i) {
			for _, e := range f.log[i].edits {
				set(dirs, e)
			}
		}
	}
	return dirs
}

// keptNames returns which changes of names survive the cut.
func (f *FS) keptNames(cut Cut) func(i int) bool {
	switch cut.Names {
	case NamesKept:
		return func(int) bool { return true }
	case NamesOrdered, NamesJournaled:
		last := lastBefore(f.dirSyncs, cut.At)
		if cut.Names == NamesJournaled {
			last = lastBefore(f.syncs, cut.At)
		}
		end := last + 1 + cut.random(0).IntN(cut.At-last)
		return func(i int) bool { return i < end }
	default:
		return func(i int) bool {
			return lastBefore(f.objects[f.log[i].object-1].ops, cut.At) > i
		}
	}
}

// lastBefore returns the last of the ascending indices before at, or -1.
func lastBefore(indices []int, at int) int {
	n := sort.SearchInts(indices, at)
	if n == 0 {
		return -1
	}
	return indices[n-1]
}

func set(dirs map[uint64]directory, e edit) {
	if dirs[e.dir] == nil {
		dirs[e.dir] = directory{}
	}
	if e.object == 0 {
		delete(dirs[e.dir], e.name)
		return
	}
	dirs[e.dir][e.name] = e.object
}

// writer writes one image.
type writer struct {
	fs    *FS
	cut   Cut
	names map[uint64]directory
	done  map[uint64]string // where each object was written first
}

// fill writes all that the directory object id holds into dir.
func (w *writer) fill(dir string, id uint64) error {
	for _, name := range slices.Sorted(maps.Keys(w.names[id])) {
		if err := w.write(filepath.Join(dir, name), w.names[id][name]); err != nil {
			return err
		}
	}
	return nil
}

// write writes one object. A second name of a file is a hard link. A directory
// has one name; strict loss of half of two renames can leave it with two, and
// then the first in order is kept.
func (w *writer) write(name string, id uint64) error {
	w.fs.mu.Lock()
	o := w.fs.objects[id-1]
	mode := o.mode
	w.fs.mu.Unlock()

	first, again := w.done[id]
	w.done[id] = name
	switch {
	case mode.IsDir() && again:
		return nil
	case again:
		w.done[id] = first
		return os.Link(first, name)
	case mode.IsDir():
		if err := os.Mkdir(name, mode.Perm()|0o700); err != nil {
			return err
		}
		return w.fill(name, id)
	case mode&iofs.ModeSymlink != 0:
		return os.Symlink(string(o.base), name)
	default:
		return os.WriteFile(name, w.fs.contentAt(o, w.cut), mode.Perm())
	}
}
