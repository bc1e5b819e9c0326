package projections

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"
)

// markName is the file that says how the store is being used. It is there from
// the open to a clean close.
const markName = "svc.open"

// The phases of a mark.
const (
	opening = "opening"
	opened  = "open"
)

// maxOpenings is how many opens may end the process before the store is held to
// be the cause.
const maxOpenings = 2

type mark struct {
	Phase    string `json:"phase"`
	Boot     string `json:"boot"`
	Openings int    `json:"openings,omitempty"` // that did not come to an end
}

// examine returns what speaks against the store before Badger opens it. Badger
// itself leaves out tables and truncates manifests that do not open, and panics
// in goroutines of its own, so it is not asked.
func (d *DB) examine() error {
	if _, err := os.Stat(d.opts.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	m := d.readMark()
	switch boot := d.opts.BootID(); {
	case m.Phase == opening && m.Openings >= maxOpenings:
		return fmt.Errorf("%d opens did not come to an end", m.Openings)
	case m.Boot != "" && boot != "" && m.Boot != boot:
		return errors.New("the machine went down while the store was open")
	}
	if err := d.opts.checkKeys(); err != nil {
		return fmt.Errorf("key registry: %w", err)
	}
	manifest, err := d.opts.readManifest()
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	for id, t := range manifest.Tables {
		if err := checkTable(table.NewFilename(id, d.opts.Dir), t.Compression); err != nil {
			return fmt.Errorf("table %d: %w", id, err)
		}
	}
	return nil
}

// checkKeys reads the key registry, which is empty, but not without a checksum.
func (o DBOptions) checkKeys() error {
	keys, err := badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: o.Dir, ReadOnly: true})
	if err != nil {
		return err
	}
	return keys.Close()
}

// readManifest reads the list of tables and accepts no torn end: what it cut
// off could have named tables that hold data.
func (o DBOptions) readManifest() (badger.Manifest, error) {
	file, err := os.Open(filepath.Join(o.Dir, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		return badger.Manifest{}, o.requireNoTables()
	}
	if err != nil {
		return badger.Manifest{}, err
	}
	defer file.Close()
	manifest, end, err := badger.ReplayManifestFile(file, 0, o.badger())
	if err != nil {
		return manifest, err
	}
	if stat, err := file.Stat(); err != nil || stat.Size() != end {
		return manifest, errors.Join(err, fmt.Errorf("ends at %d", end))
	}
	return manifest, nil
}

func (o DBOptions) requireNoTables() error {
	tables, err := filepath.Glob(filepath.Join(o.Dir, "*.sst"))
	if err == nil && len(tables) > 0 {
		err = fmt.Errorf("missing, but there are %d tables", len(tables))
	}
	return err
}

// checkTable reads the whole table and its checksums. A truncated file may fault
// when it is touched, and a damaged one make Badger panic: both are errors here.
func checkTable(path string, compression options.CompressionType) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	file, err := z.OpenMmapFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	t, err := table.OpenTable(file, table.Options{
		ReadOnly: true, ChkMode: options.OnTableRead, Compression: compression, BlockSize: 4 << 10,
	})
	if err != nil {
		return err
	}
	return t.Close(-1)
}

// mark records the phase. That the store is open must be on disk before anything
// is written to it, so that a machine that goes down is found out; that it is
// being opened need outlive the process only.
func (d *DB) mark(phase string) error {
	if err := os.MkdirAll(d.opts.Dir, 0o700); err != nil {
		return err
	}
	m := mark{Phase: phase, Boot: d.opts.BootID()}
	if phase == opening {
		m.Openings = d.readMark().Openings + 1
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := replaceFile(d.markPath(), b, phase == opened); err != nil {
		return fmt.Errorf("mark the store as %s: %w", phase, err)
	}
	return nil
}

func (d *DB) unmark() error { return os.Remove(d.markPath()) }

func (d *DB) markPath() string { return filepath.Join(d.opts.Dir, markName) }

// readMark returns the mark; the zero mark when there is none, or none legible.
func (d *DB) readMark() (m mark) {
	b, err := os.ReadFile(d.markPath())
	if err != nil || json.Unmarshal(b, &m) != nil {
		return mark{}
	}
	return m
}

func replaceFile(path string, b []byte, synced bool) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	if synced {
		err = errors.Join(err, file.Sync())
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	if !synced {
		return nil
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// moveAside renames the store and returns its new name. It keeps only the last
// one, so that repeated damage does not fill the disk.
func (d *DB) moveAside() (string, error) {
	older, err := filepath.Glob(d.opts.Dir + ".corrupt-*")
	if err != nil {
		return "", err
	}
	for _, path := range older {
		if err := os.RemoveAll(path); err != nil {
			return "", fmt.Errorf("remove an older damaged store: %w", err)
		}
	}
	aside := d.opts.Dir + ".corrupt-" + d.opts.Now().UTC().Format("20060102T150405Z")
	if err := os.Rename(d.opts.Dir, aside); err != nil {
		return "", fmt.Errorf("move the damaged store aside: %w", err)
	}
	return aside, nil
}

// lockFile takes the lock that keeps a second process away. It comes before
// Badger's own, whose refusal cannot be told from damage.
func lockFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("lock read model store: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock read model store: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("the read model store %s is used by another process: %w", path, err), file.Close())
	}
	return file, nil
}

// kernelBootID returns Linux's name for this run of the machine; "" elsewhere.
func kernelBootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
