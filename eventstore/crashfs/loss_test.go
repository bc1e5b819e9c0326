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
