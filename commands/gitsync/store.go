package gitsync

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"
)

// store holds the objects of one remote: a bare repository in the cache, or memory. A
// commit in it has all of its history, because packs are stored as a whole or not at all.
type store struct {
	dir     string // of the remote in the cache; "": memory
	reading string // the directory of the generation; "": none
	disk    *filesystem.Storage
	storer.Storer
}

const (
	haves     = "refs/have/" // refs of the commits of earlier fetches
	maxPacks  = 40           // with more, one new pack is better than many small ones
	keyFile   = "key"        // hides credentials in directory names
	largeFrom = 2 << 20      // objects from this size on are read in parts
)

// openStore opens the store of a remote, per URL and credentials.
func openStore(cacheDir string, r Remote) (*store, error) {
	if cacheDir == "" {
		return &store{Storer: memory.NewStorage()}, nil
	}
	key, err := cacheKey(cacheDir)
	if err != nil {
		return nil, fmt.Errorf("open git cache: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	for _, part := range []string{r.URL, r.User, r.Password, r.SSHKey} {
		mac.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	s := &store{dir: filepath.Join(cacheDir, hex.EncodeToString(mac.Sum(nil))[:32])}
	generation := s.newest()
	if s.packs(generation) > maxPacks {
		generation++
	}
	return s, s.use(generation)
}

// cacheKey reads the key of a cache, or creates one: without its key, an old cache is not
// found again.
func cacheKey(dir string) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, keyFile)
	if key, err := os.ReadFile(file); err == nil && len(key) == sha256.Size {
		return key, nil
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	fresh := file + "-" + hex.EncodeToString(key[:8])
	if err := os.WriteFile(fresh, key, 0o600); err != nil {
		return nil, err
	}
	defer os.Remove(fresh)
	if err := os.Link(fresh, file); err != nil && !errors.Is(err, fs.ErrExist) {
		return key, os.Rename(fresh, file)
	}
	return os.ReadFile(file)
}

// newest returns the number of the newest generation; 1 when there is none.
func (s *store) newest() int {
	newest := 1
	entries, _ := os.ReadDir(s.dir) // none is fine
	for _, entry := range entries {
		if n, err := strconv.Atoi(entry.Name()); err == nil {
			newest = max(newest, n)
		}
	}
	return newest
}

func (s *store) packs(generation int) int {
	names, _ := filepath.Glob(filepath.Join(s.path(generation), "objects", "pack", "*.pack")) // none is fine
	return len(names)
}

func (s *store) path(generation int) string { return filepath.Join(s.dir, strconv.Itoa(generation)) }

// use opens a generation. Older ones that are not in use are deleted.
func (s *store) use(generation int) error {
	s.close()
	dir := s.path(generation)
	inUse.acquire(dir)
	s.reading = dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("open git cache: %w", err)
	}
	s.disk = filesystem.NewStorageWithOptions(osfs.New(dir, osfs.WithBoundOS()), cache.NewObjectLRU(32<<20), filesystem.Options{
		KeepDescriptors: true, LargeObjectThreshold: largeFrom,
	})
	if err := s.disk.Init(); err != nil {
		return fmt.Errorf("open git cache: %w", err)
	}
	s.Storer = s.disk
	for old := generation - 1; old > 0 && old > generation-10; old-- {
		inUse.ifUnused(s.path(old), func(dir string) { _ = os.RemoveAll(dir) }) // it is tried again
	}
	return nil
}

// directoryUsers counts the sessions of this process per directory of the cache, which no
// other process uses.
type directoryUsers struct {
	mu    sync.Mutex
	count map[string]int
}

var inUse = directoryUsers{count: map[string]int{}}

func (r *directoryUsers) acquire(dir string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count[dir]++
}

func (r *directoryUsers) release(dir string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count[dir]--; r.count[dir] <= 0 {
		delete(r.count, dir)
	}
}

// ifUnused calls do for a directory that no session uses, and none can begin to meanwhile.
func (r *directoryUsers) ifUnused(dir string, do func(dir string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count[dir] == 0 {
		do(dir)
	}
}

// replace switches to an empty store.
func (s *store) replace() error {
	if s.dir == "" {
		s.Storer = memory.NewStorage()
		return nil
	}
	return s.use(s.newest() + 1)
}

func (s *store) close() {
	if s.reading != "" {
		inUse.release(s.reading)
		s.reading = ""
	}
	if s.disk != nil {
		_ = s.disk.Close() // it was only read
	}
}

// has reports whether a commit or tag is here, with its history.
func (s *store) has(id plumbing.Hash) bool { return s.HasEncodedObject(id) == nil }

// heads returns the commits that earlier fetches asked for.
func (s *store) heads() (all []plumbing.Hash) {
	refs, err := s.IterReferences()
	if err != nil {
		return nil
	}
	_ = refs.ForEach(func(ref *plumbing.Reference) error { // it cannot fail
		if bytes.HasPrefix([]byte(ref.Name()), []byte(haves)) && s.has(ref.Hash()) {
			all = append(all, ref.Hash())
		}
		return nil
	})
	plumbing.HashesSort(all)
	return slices.Compact(all)
}

// storeHeads stores the heads of the last fetch, and deletes the others.
func (s *store) storeHeads(ids []plumbing.Hash) error {
	for _, old := range s.heads() {
		if !slices.Contains(ids, old) {
			if err := s.RemoveReference(plumbing.ReferenceName(haves + old.String())); err != nil {
				return err
			}
		}
	}
	for _, id := range ids {
		if err := s.SetReference(plumbing.NewHashReference(plumbing.ReferenceName(haves+id.String()), id)); err != nil {
			return err
		}
	}
	return nil
}
