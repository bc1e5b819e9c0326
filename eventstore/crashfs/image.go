package crashfs

import (
	"bytes"
	"fmt"
	iofs "io/fs"
	"maps"
	"math/rand/v2"
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
	w := imageWriter{fs: f, cut: cut, names: f.namesAt(cut), done: map[uint64]string{}}
	if err := w.writeDir(dir, rootID); err != nil {
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
	for _, used := range []string{f.mountpoint, f.backing} {
		if dir == used || strings.HasPrefix(dir, used+string(filepath.Separator)) {
			return "", fmt.Errorf("%s is below %s", dir, used)
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
		applyNameChange(dirs, e)
	}
	names := f.keptNames(cut)
	for _, i := range f.names[:sort.SearchInts(f.names, cut.At)] {
		if names(i) {
			for _, e := range f.log[i].edits {
				applyNameChange(dirs, e)
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

func applyNameChange(dirs map[uint64]directory, e nameChange) {
	if dirs[e.dir] == nil {
		dirs[e.dir] = directory{}
	}
	if e.object == 0 {
		delete(dirs[e.dir], e.name)
		return
	}
	dirs[e.dir][e.name] = e.object
}

// imageWriter writes one image.
type imageWriter struct {
	fs    *FS
	cut   Cut
	names map[uint64]directory
	done  map[uint64]string // where each object was written first
}

// writeDir writes all that the directory object id holds into dir.
func (w *imageWriter) writeDir(dir string, id uint64) error {
	for _, name := range slices.Sorted(maps.Keys(w.names[id])) {
		if err := w.writeEntry(filepath.Join(dir, name), w.names[id][name]); err != nil {
			return err
		}
	}
	return nil
}

// writeEntry writes one object. A second name of a file is a hard link. A directory
// has one name; strict loss of half of two renames can leave it with two, and
// then the first in order is kept.
func (w *imageWriter) writeEntry(name string, id uint64) error {
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
		return w.writeDir(name, id)
	case mode&iofs.ModeSymlink != 0:
		return os.Symlink(string(o.base), name)
	default:
		return os.WriteFile(name, w.fs.contentAt(o, w.cut), mode.Perm())
	}
}

const pageSize = 4096

// content is what a file holds after some of its operations. Images of growing
// cuts extend it; an earlier cut starts again from the base.
type content struct {
	data    []byte
	applied int // how many of the object's operations are in data
}

// contentAt returns what the file o holds after cut. The result is valid, and
// must not be changed, until the next call. The caller holds f.images.
func (f *FS) contentAt(o *object, cut Cut) []byte {
	log, ops := f.opsBefore(o, cut.At)
	durable := len(ops)
	for cut.Data != Kept && durable > 0 && log[ops[durable-1]].Kind != Sync {
		durable--
	}
	if o.cache.data == nil || o.cache.applied > durable {
		o.cache = content{data: append(make([]byte, 0, len(o.base)+1), o.base...)}
	}
	for ; o.cache.applied < durable; o.cache.applied++ {
		o.cache.data = applyOp(o.cache.data, log[ops[o.cache.applied]])
	}
	rest := ops[durable:]
	switch {
	case len(rest) == 0:
		return o.cache.data
	case cut.Data == Torn:
		return applyTorn(o.cache.data, selectOps(log, rest), cut.random(o.id))
	case cut.Data == Shuffled:
		return applyShuffled(o.cache.data, selectOps(log, rest), cut.random(o.id))
	default:
		return o.cache.data
	}
}

// selectOps returns the operations of the log at the indices.
func selectOps(log []Op, indices []int) []Op {
	ops := make([]Op, len(indices))
	for i, at := range indices {
		ops[i] = log[at]
	}
	return ops
}

// opsBefore returns the log and the operations of o before at.
func (f *FS) opsBefore(o *object, at int) (log []Op, ops []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log, o.ops[:sort.SearchInts(o.ops, at)]
}

// applyOp returns data after a write or truncation, reusing its memory.
func applyOp(data []byte, op Op) []byte {
	switch op.Kind {
	case Write:
		data = resize(data, max(len(data), int(op.Off+op.Len)))
		copy(data[op.Off:], op.data)
	case Truncate:
		data = resize(data, int(op.Len))
	}
	return data
}

// resize returns data with size bytes; those beyond its old length are zero.
func resize(data []byte, size int) []byte {
	old := len(data)
	if size > cap(data) {
		data = slices.Grow(data, size-old)
	}
	data = data[:size]
	if size > old {
		clear(data[old:])
	}
	return data
}

// applyTorn keeps some of the first operations, and perhaps half of the last one.
func applyTorn(durable []byte, rest []Op, random *rand.Rand) []byte {
	written := rest[:random.IntN(len(rest)+1)]
	data := bytes.Clone(durable)
	for i, op := range written {
		if i == len(written)-1 && op.Kind == Write && random.IntN(2) == 0 {
			op.Len = random.Int64N(op.Len + 1)
			op.data = op.data[:op.Len]
			if op.Len == 0 {
				break // not even a size
			}
		}
		data = applyOp(data, op)
	}
	return data
}

// applyShuffled takes each page, and the size, at a random moment of its own.
func applyShuffled(durable []byte, rest []Op, random *rand.Rand) []byte {
	moment := func() int { return random.IntN(len(rest) + 1) }
	longest, size, sizeMoment := len(durable), len(durable), moment()
	end := size
	for i, op := range rest {
		switch op.Kind {
		case Write:
			size = max(size, int(op.Off+op.Len))
		case Truncate:
			size = int(op.Len)
		}
		longest = max(longest, size)
		if i < sizeMoment {
			end = size
		}
	}
	moments := make([]int, (longest+pageSize-1)/pageSize)
	for page := range moments {
		moments[page] = moment()
	}
	data := resize(bytes.Clone(durable), longest)
	for i, op := range rest {
		applyPages(data, op, func(page int) bool { return i < moments[page] })
	}
	return data[:end]
}

// applyPages applies op to those pages of data that are kept. It never changes
// the length: what a truncation cut off becomes zero.
func applyPages(data []byte, op Op, isWritten func(page int) bool) {
	from, to := int(op.Off), int(op.Off+op.Len)
	if op.Kind == Truncate {
		from, to = int(op.Len), len(data)
	}
	for from < to {
		page := from / pageSize
		end := min(to, (page+1)*pageSize)
		switch {
		case !isWritten(page):
		case op.Kind == Truncate:
			clear(data[from:end])
		default:
			copy(data[from:end], op.data[from-int(op.Off):])
		}
		from = end
	}
}

// DataLoss says what becomes of the content that no fsync covered.
type DataLoss uint8

const (
	// Strict loses all of it: a file is what its last fsync saw.
	Strict DataLoss = iota
	// Torn keeps, for each file, a random number of the first writes and
	// truncations since its last fsync; the last write kept may be cut short.
	Torn
	// Shuffled takes each 4 KiB page, and the size, as it was at its own random
	// moment between the last fsync and the cut: pages reach the disk in any
	// order, and a file may have grown over pages that never did (zeros).
	Shuffled
	// Kept loses none: the process died, the machine did not.
	Kept
)

// NameLoss says what becomes of the names that no directory fsync covered.
type NameLoss uint8

const (
	// NamesStrict loses all of them: a directory is what its last fsync saw.
	NamesStrict NameLoss = iota
	// NamesOrdered keeps changes of all directories in the order they were
	// made, up to a random moment between the last fsync of any directory and
	// the cut, as a journal does. An fsync of a file covers no name.
	NamesOrdered
	// NamesJournaled is NamesOrdered where an fsync of any file or directory
	// also covers every name changed before it: what ext4 and xfs do in
	// practice, and what no standard promises.
	NamesJournaled
	// NamesKept loses none.
	NamesKept
)

// Cut is a loss of power. The zero Cut is before the first operation; with At
// set, it is the harshest one.
type Cut struct {
	At    int      // the operations with a smaller index happened
	Data  DataLoss // default Strict
	Names NameLoss // default NamesStrict
	Seed  uint64   // decides all that is random; the same seed gives the same image
}

// String returns the cut as a composite literal's fields, for the message of a
// failed test.
func (c Cut) String() string {
	data := [...]string{"Strict", "Torn", "Shuffled", "Kept"}[c.Data]
	names := [...]string{"NamesStrict", "NamesOrdered", "NamesJournaled", "NamesKept"}[c.Names]
	return fmt.Sprintf("Cut{At: %d, Data: %s, Names: %s, Seed: %d}", c.At, data, names, c.Seed)
}

// random returns the source that decides about one object (0: the names).
func (c Cut) random(object uint64) *rand.Rand { return rand.New(rand.NewPCG(c.Seed, object)) }
