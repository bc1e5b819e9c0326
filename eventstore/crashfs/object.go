package crashfs

import (
	iofs "io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
)

// rootID is the object number of the mounted directory.
const rootID = 1

// object is a file, a directory or a symbolic link, apart from its names.
// Its number is never used again.
type object struct {
	id       uint64
	mode     iofs.FileMode
	names    []place            // where it is now; none once unlinked
	last     string             // its path when it lost its last name
	children map[string]*object // of a directory
	base     []byte             // content at mount time, or the target of a symbolic link
	ops      []int              // the operations of the log on its content, or its syncs

	cache content // guarded by FS.images
}

// place is one name of an object.
type place struct {
	dir  *object
	name string
}

// add makes an object that has no name yet.
func (f *FS) add(mode iofs.FileMode, base []byte) *object {
	o := &object{id: uint64(len(f.objects) + 1), mode: mode, base: base}
	if mode.IsDir() {
		o.children = map[string]*object{}
	}
	f.objects = append(f.objects, o)
	return o
}

// put gives o a name, taking it from whoever had it.
func (o *object) put(dir *object, name string) {
	dir.drop(name)
	dir.children[name] = o
	o.names = append(o.names, place{dir, name})
}

// drop removes a name of a directory, if it exists.
func (o *object) drop(name string) {
	child := o.children[name]
	if child == nil {
		return
	}
	child.last = child.path()
	delete(o.children, name)
	child.names = slices.DeleteFunc(child.names, func(p place) bool { return p.dir == o && p.name == name })
}

// path returns where o is, relative to the mount. The root is ".".
func (o *object) path() string {
	switch {
	case o.id == rootID:
		return "."
	case len(o.names) == 0:
		return o.last
	default:
		return path.Join(o.names[0].dir.path(), o.names[0].name)
	}
}

// gone reports whether o has no name left.
func (o *object) gone() bool { return o.id != rootID && len(o.names) == 0 }

// real returns the path of o in the backing directory.
func (f *FS) real(o *object) string { return filepath.Join(f.backing, o.path()) }

// readBase takes in what the backing directory holds.
func (f *FS) readBase() error {
	info, err := os.Stat(f.backing)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &iofs.PathError{Op: "mount", Path: f.backing, Err: syscall.ENOTDIR}
	}
	linked := map[uint64]*object{}
	return f.readDir(f.add(info.Mode(), nil), linked)
}

// readDir takes in the directory o and all below it. Linked holds the files
// with several names that were met already, by inode.
func (f *FS) readDir(o *object, linked map[uint64]*object) error {
	entries, err := os.ReadDir(f.real(o))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		child, err := f.readEntry(filepath.Join(f.real(o), entry.Name()), linked)
		if err != nil {
			return err
		}
		child.put(o, entry.Name())
		f.base = append(f.base, edit{o.id, entry.Name(), child.id})
		if child.mode.IsDir() {
			if err := f.readDir(child, linked); err != nil {
				return err
			}
		}
	}
	return nil
}

// readEntry takes in one file, link or directory, without what is below it.
func (f *FS) readEntry(name string, linked map[uint64]*object) (*object, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	stat := info.Sys().(*syscall.Stat_t)
	if o := linked[stat.Ino]; o != nil {
		return o, nil
	}
	var content []byte
	switch {
	case info.Mode().IsRegular():
		content, err = os.ReadFile(name)
	case info.Mode()&iofs.ModeSymlink != 0:
		var target string
		target, err = os.Readlink(name)
		content = []byte(target)
	case !info.IsDir():
		err = &iofs.PathError{Op: "mount", Path: name, Err: syscall.ENOTSUP}
	}
	o := f.add(info.Mode(), content)
	if !info.IsDir() && stat.Nlink > 1 {
		linked[stat.Ino] = o
	}
	return o, err
}
