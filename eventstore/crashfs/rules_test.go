//go:build fault

package crashfs_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"svc/eventstore/crashfs"
)

type files = map[string]string

// rule is a script and what is left of it when the power fails at its end.
type rule struct {
	script step
	strict files // nothing unsynced survives; on top of the base
	names  files // as strict, but all names survive; nil: the same
}

const newFile = os.O_CREATE | os.O_WRONLY

// base is on disk before each script.
var base = files{"old": "old", "dir/inner": "inner"}

var rules = map[string]rule{
	"a written file without any sync is gone": {
		script(put("a", "text")), files{}, files{"a": ""},
	},
	"a synced file without a directory sync is gone": {
		script(file("a", newFile, write("text"), fsync)), files{}, files{"a": "text"},
	},
	"a directory sync alone keeps the name without the data": {
		script(put("a", "text"), syncDir(".")), files{"a": ""}, nil,
	},
	"both syncs keep the file": {
		script(file("a", newFile, write("text"), fsync), syncDir(".")), files{"a": "text"}, nil,
	},
	"what is written after the sync is lost": {
		script(file("old", os.O_WRONLY|os.O_APPEND, write("er"), fsync, write("!"))), files{"old": "older"}, nil,
	},
	"an overwrite in place is lost until synced": {
		script(file("old", os.O_WRONLY, writeAt(1, "XX"))), files{"old": "old"}, nil,
	},
	"an overwrite in place is kept when synced": {
		script(file("old", os.O_WRONLY, writeAt(1, "XX"), writeAt(5, "y"), fsync)), files{"old": "oXX\x00\x00y"}, nil,
	},
	"a truncation is lost until synced": {
		script(file("old", os.O_WRONLY, truncate(1))), files{"old": "old"}, nil,
	},
	"a truncation is kept when synced": {
		script(file("old", os.O_WRONLY, truncate(1), truncate(2), fsync)), files{"old": "o\x00"}, nil,
	},
	"opening with O_TRUNC is a truncation": {
		script(file("old", os.O_WRONLY|os.O_TRUNC, fsync, write("new"))), files{"old": ""}, nil,
	},
	"O_SYNC syncs each write": {
		script(file("old", os.O_WRONLY|os.O_SYNC, write("new"), write("er"))), files{"old": "newer"}, nil,
	},
	"O_SYNC does not sync a truncation": {
		script(file("old", os.O_WRONLY|os.O_SYNC, write("new"), truncate(1))), files{"old": "new"}, nil,
	},
	"a rename without a directory sync did not happen": {
		script(file("tmp", newFile, write("new"), fsync), rename("tmp", "old")), files{}, files{"old": "new"},
	},
	"a synced rename carries the data of its file": {
		script(file("tmp", newFile, write("new"), fsync), rename("tmp", "old"), syncDir(".")), files{"old": "new"}, nil,
	},
	"a synced rename of unsynced data leaves an empty file": {
		script(put("tmp", "new"), rename("tmp", "old"), syncDir(".")), files{"old": ""}, nil,
	},
	"a move to another directory needs only the sync of its destination": {
		script(rename("old", "dir/moved"), syncDir("dir")), files{"old": "-", "dir/moved": "old"}, nil,
	},
	"a move to another directory is not kept by the sync of its source": {
		script(rename("old", "dir/moved"), syncDir(".")), files{}, files{"old": "-", "dir/moved": "old"},
	},
	"a moved directory takes its files along": {
		script(rename("dir", "moved"), file("moved/inner", os.O_WRONLY, write("I"), fsync), syncDir(".")),
		files{"dir/inner": "-", "moved/inner": "Inner"}, nil,
	},
	"an unlink without a directory sync did not happen": {
		script(remove("old")), files{}, files{"old": "-"},
	},
	"an unlink is kept when synced": {
		script(remove("old"), syncDir(".")), files{"old": "-"}, nil,
	},
	"a new directory needs the sync of its parent": {
		script(mkdir("d"), file("d/a", newFile, write("text"), fsync), syncDir("d")), files{}, files{"d/a": "text"},
	},
	"a new directory is kept with what it synced": {
		script(mkdir("d"), file("d/a", newFile, write("text"), fsync), syncDir("d"), put("d/b", ""), syncDir(".")),
		files{"d/a": "text"}, files{"d/a": "text", "d/b": ""},
	},
	"a removed directory is kept removed when synced": {
		script(remove("dir/inner"), remove("dir"), syncDir(".")), files{"dir/inner": "-"}, nil,
	},
	"a name used again is the new file": {
		script(remove("old"), file("old", newFile, write("2"), fsync), syncDir(".")), files{"old": "2"}, nil,
	},
	"a hard link is a second name of one file": {
		script(link("old", "twin"), syncDir("."), remove("old"), file("twin", os.O_WRONLY, write("T"), fsync)),
		files{"old": "Tld", "twin": "Tld"}, files{"old": "-", "twin": "Tld"},
	},
	"a symbolic link is a name": {
		script(symlink("old", "s"), syncDir("."), symlink("old", "t")), files{"s": "-> old"}, files{"s": "-> old", "t": "-> old"},
	},
}

func TestRules(t *testing.T) {
	for name, r := range rules {
		t.Run(name, func(t *testing.T) {
			f, backing, dir := mount(t, base)
			run(t, name, dir)
			end := f.Mark()
			names := r.names
			if names == nil {
				names = r.strict
			}
			require.Equal(t, with(base, r.strict), image(t, f, crashfs.Cut{At: end}))
			require.Equal(t, with(base, names), image(t, f, crashfs.Cut{At: end, Names: crashfs.NamesKept}))
			require.Equal(t, tree(t, backing), image(t, f, crashfs.Cut{At: end, Names: crashfs.NamesKept, Data: crashfs.Kept}))
			require.Equal(t, base, image(t, f, crashfs.Cut{At: 0, Names: crashfs.NamesKept, Data: crashfs.Kept}))
		})
	}
}

const seeds = 200

func threeWrites(dir string) error {
	return file("old", os.O_WRONLY|os.O_TRUNC, fsync, write("aaaa"), write("bbbb"), write("cccc"))(dir)
}

func TestTornKeepsAPrefixThatMayEndInsideAWrite(t *testing.T) {
	f, _, dir := mount(t, base)
	run(t, "three writes", dir)
	lengths := map[int]bool{}
	for seed := range uint64(seeds) {
		cut := crashfs.Cut{At: f.Mark(), Data: crashfs.Torn, Seed: seed}
		got := image(t, f, cut)
		require.Equal(t, got, image(t, f, cut), "%s gave two images", cut)
		require.True(t, strings.HasPrefix("aaaabbbbcccc", got["old"]), "%s: %q", cut, got["old"])
		lengths[len(got["old"])] = true
	}
	require.Len(t, lengths, 13, "every length from nothing to all must occur")
}

// writePages syncs three pages of 'o', then writes 'n' over them and two more.
func writePages(dir string) error {
	page := func(b byte, n int) string { return strings.Repeat(string(b), n*4096) }
	return file("old", os.O_WRONLY|os.O_TRUNC, writeAt(0, page('o', 3)), fsync, writeAt(0, page('n', 5)), truncate(4*4096))(dir)
}

func TestShuffledKeepsAnyPagesAndAnySize(t *testing.T) {
	f, _, dir := mount(t, base)
	run(t, "pages", dir)
	sizes, pages := map[int]bool{}, map[string]bool{}
	for seed := range uint64(seeds) {
		cut := crashfs.Cut{At: f.Mark(), Data: crashfs.Shuffled, Seed: seed}
		got := []byte(image(t, f, cut)["old"])
		require.Equal(t, string(got), image(t, f, cut)["old"], "%s gave two images", cut)
		sizes[len(got)/4096] = true
		var kinds []byte
		for page := range slices.Chunk(got, 4096) {
			require.Equal(t, bytes.Repeat(page[:1], 4096), page, "%s: half a page", cut)
			kinds = append(kinds, page[0])
		}
		pages[string(kinds[:3])] = true
	}
	require.Equal(t, map[int]bool{3: true, 4: true, 5: true}, sizes)
	require.Len(t, pages, 8, "each of three pages old or new, in every combination")
}

func twentyNames(dir string) error {
	for i := range 20 {
		if err := file(fmt.Sprintf("f%02d", i), newFile, write("x"), fsync)(dir); err != nil {
			return err
		}
		if i == 4 {
			if err := syncDir("dir")(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestOrderedNamesSurviveUpToAPoint(t *testing.T) {
	f, _, dir := mount(t, base)
	run(t, "twenty names", dir)
	counts := map[int]bool{}
	for seed := range uint64(seeds) {
		cut := crashfs.Cut{At: f.Mark(), Names: crashfs.NamesOrdered, Seed: seed}
		got := image(t, f, cut)
		n := len(got) - len(base)
		for i := range n {
			require.Equal(t, "x", got[fmt.Sprintf("f%02d", i)], "%s: a later name survived an earlier one", cut)
		}
		counts[n] = true
	}
	require.Len(t, counts, 16, "from the five before the sync of any directory to all twenty")
	require.False(t, counts[4])
}

func TestJournaledNamesAreCoveredByTheSyncOfAFile(t *testing.T) {
	f, _, dir := mount(t, base)
	run(t, "twenty names", dir)
	for seed := range uint64(seeds) {
		cut := crashfs.Cut{At: f.Mark(), Names: crashfs.NamesJournaled, Seed: seed}
		require.Len(t, image(t, f, cut), 20+len(base), "%s", cut)
	}
}

func mapShared(dir string) error {
	return file("old", os.O_RDWR, func(f *os.File) error {
		_, err := unix.Mmap(int(f.Fd()), 0, 3, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != unix.ENODEV {
			return fmt.Errorf("a shared mapping was not refused: %w", err)
		}
		return nil
	})(dir)
}

func TestSharedMappingIsRefused(t *testing.T) {
	_, _, dir := mount(t, base)
	run(t, "mmap", dir)
}

func TestImageRefusesWhatItWouldSpoil(t *testing.T) {
	f, backing, dir := mount(t, base)
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "mine"), nil, 0o644))
	require.ErrorContains(t, f.Image(crashfs.Cut{}, full), "not empty")
	require.ErrorContains(t, f.Image(crashfs.Cut{}, filepath.Join(dir, "x")), "is below")
	require.ErrorContains(t, f.Image(crashfs.Cut{}, filepath.Join(backing, "x")), "is below")
	require.ErrorContains(t, f.Image(crashfs.Cut{At: 1, Seed: 7}, t.TempDir()),
		"Cut{At: 1, Data: Strict, Names: NamesStrict, Seed: 7}: the log has 0 operations")
}
