package crashfs

import "fmt"

// Kind names what an operation did.
type Kind uint8

// The kinds of operation. The first seven change names, the next two content,
// and the last two make what came before them durable.
const (
	Create Kind = iota
	Mkdir
	Symlink
	Link
	Unlink
	Rmdir
	Rename
	Write
	Truncate
	Sync
	SyncDir
)

var kindNames = [...]string{
	"create", "mkdir", "symlink", "link", "unlink", "rmdir", "rename", "write", "truncate", "sync", "syncdir",
}

// String returns the kind in lower case.
func (k Kind) String() string { return kindNames[k] }

// Op is one recorded change. Paths are relative to the mount and are those of
// the moment; an unlinked file that is still written keeps its last one.
type Op struct {
	Kind Kind
	Path string
	From string // the old path of a Rename, the target of a Link or Symlink
	Off  int64  // where a Write begins
	Len  int64  // the bytes of a Write, the new size of a Truncate

	data   []byte // what a Write wrote
	edits  []edit // what a change of names did, all or nothing
	object uint64 // the file or directory concerned; for names, the directory whose sync covers them
}

// edit sets one name of a directory to an object, or removes it (object 0).
type edit struct {
	dir    uint64
	name   string
	object uint64
}

// Content returns what a Write wrote. It must not be changed.
func (op Op) Content() []byte { return op.data }

// String returns the operation on one line.
func (op Op) String() string {
	switch op.Kind {
	case Write:
		return fmt.Sprintf("write %s [%d +%d)", op.Path, op.Off, op.Len)
	case Truncate:
		return fmt.Sprintf("truncate %s %d", op.Path, op.Len)
	case Rename, Link, Symlink:
		return fmt.Sprintf("%s %s <- %s", op.Kind, op.Path, op.From)
	default:
		return op.Kind.String() + " " + op.Path
	}
}

// record appends op to the log. The caller holds f.mu and has made the change.
func (f *FS) record(op Op) {
	at := len(f.log)
	f.log = append(f.log, op)
	switch op.Kind {
	case Write, Truncate, Sync, SyncDir:
		o := f.objects[op.object-1]
		o.ops = append(o.ops, at)
	default:
		f.names = append(f.names, at)
	}
	switch op.Kind {
	case SyncDir:
		f.dirSyncs = append(f.dirSyncs, at)
		f.syncs = append(f.syncs, at)
	case Sync:
		f.syncs = append(f.syncs, at)
	}
}
