//go:build fault

package crashfs_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/eventstore/crashfs"
)

// appenders has four goroutines append numbered lines to one file each and
// print a line's name once it is synced.
func appenders(dir string) error {
	me := os.Getenv("CRASHFS_ME")
	var out sync.Mutex
	var all sync.WaitGroup
	errs := make(chan error, 4)
	for g := range cap(errs) {
		all.Go(func() {
			name := fmt.Sprintf("%s%d", me, g)
			errs <- file(name, newFile|os.O_APPEND, func(f *os.File) error {
				if err := syncDir(".")(dir); err != nil {
					return err
				}
				for i := range 50 {
					line := fmt.Sprintf("%s-%03d", name, i)
					if _, err := f.WriteString(line + "\n"); err != nil {
						return err
					}
					if err := f.Sync(); err != nil {
						return err
					}
					out.Lock()
					fmt.Println(name, line)
					out.Unlock()
				}
				return nil
			})(dir)
		})
	}
	all.Wait()
	for range cap(errs) {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func TestWhatConcurrentWritersAcknowledgedIsInTheImage(t *testing.T) {
	f, _, dir := mount(t, nil)
	type ack struct {
		name, line string
		mark       int
	}
	var mu sync.Mutex
	var acks []ack
	var all sync.WaitGroup
	for _, me := range []string{"p", "q"} {
		c := start(t, "appenders", dir, "CRASHFS_ME="+me)
		all.Go(func() {
			for c.lines.Scan() {
				name, line, _ := strings.Cut(c.lines.Text(), " ")
				mu.Lock()
				acks = append(acks, ack{name, line, f.Mark()})
				mu.Unlock()
			}
			if err := c.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Len(t, acks, 2*4*50)
	for i, a := range acks {
		if i%8 != 0 {
			continue
		}
		cut := crashfs.Cut{At: a.mark, Data: crashfs.DataLoss(i / 8 % 3), Names: crashfs.NameLoss(i / 8 % 2), Seed: uint64(i)}
		require.Contains(t, image(t, f, cut)[a.name], a.line+"\n", "%s", cut)
	}
}

// appendForever writes, grows and renames until it is killed.
func appendForever(dir string) error {
	for i := 0; ; i++ {
		name := fmt.Sprintf("f%d", i%7)
		if err := file("tmp", newFile, write(strings.Repeat(name, i%9000)), fsync)(dir); err != nil {
			return err
		}
		if err := rename("tmp", name)(dir); err != nil {
			return err
		}
		fmt.Println(i)
	}
}

func TestAKilledWriterLeavesALogThatEqualsTheDisk(t *testing.T) {
	f, backing, dir := mount(t, base)
	c := start(t, "own", dir)
	for range 300 {
		require.True(t, c.lines.Scan())
	}
	mark := f.Mark()
	_ = image(t, f, crashfs.Cut{At: mark, Data: crashfs.Torn}) // while it writes
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
	require.GreaterOrEqual(t, f.Mark(), mark)
	require.NoError(t, f.Close())
	require.Equal(t, tree(t, backing), image(t, f, crashfs.Cut{At: f.Mark(), Data: crashfs.Kept, Names: crashfs.NamesKept}))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "still mounted")
}

// holdOpen keeps a file open until it is killed.
func holdOpen(dir string) error {
	return file("old", os.O_RDWR, func(*os.File) error {
		fmt.Println("open")
		_, err := os.Stdin.Read(make([]byte, 1)) // the parent never writes
		return err
	})(dir)
}

func TestCloseWorksUnderAProcessThatHoldsFilesOpen(t *testing.T) {
	f, _, dir := mount(t, base)
	stdin, never, err := os.Pipe()
	require.NoError(t, err)
	defer never.Close()
	c := startWith(t, stdin, "hold", dir)
	require.True(t, c.lines.Scan())
	require.NoError(t, f.Close())
	require.NoError(t, f.Close(), "a second Close is the first")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	again, err := crashfs.Mount(t.TempDir(), dir)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

// makeRandomChanges makes a few thousand random changes, the same each time.
func makeRandomChanges(dir string) error {
	random := rand.New(rand.NewPCG(1, 2))
	name := func() string {
		return fmt.Sprintf("%s/f%d", []string{".", "d1", "d1/d2"}[random.IntN(3)], random.IntN(6))
	}
	if err := mkdir("d1/d2")(dir); err != nil {
		return err
	}
	for range 3000 {
		text := strings.Repeat(string(rune('a'+random.IntN(26))), random.IntN(9000))
		off := random.Int64N(20000)
		a, b := name(), name()
		switch random.IntN(9) {
		case 0, 1, 2:
			_ = file(a, newFile, writeAt(off, text), fsync)(dir)
		case 3, 4:
			_ = file(a, newFile, writeAt(off, text))(dir)
		case 5:
			_ = file(a, os.O_WRONLY, truncate(off))(dir)
		case 6:
			_ = rename(a, b)(dir)
		case 7:
			_ = link(a, b)(dir)
		case 8:
			_ = remove(a)(dir)
		}
		if random.IntN(10) == 0 {
			_ = syncDir(filepath.Dir(a))(dir)
		}
	}
	return nil
}

func TestImagesDoNotDependOnTheOrderTheyAreMadeIn(t *testing.T) {
	f, backing, dir := mount(t, base)
	run(t, "mess", dir)
	end := f.Mark()
	require.Equal(t, tree(t, backing), image(t, f, crashfs.Cut{At: end, Data: crashfs.Kept, Names: crashfs.NamesKept}))
	var up []map[string]string
	for at := 0; at <= end; at += end / 20 {
		up = append(up, image(t, f, crashfs.Cut{At: at, Data: crashfs.Torn, Names: crashfs.NamesOrdered, Seed: 3}))
	}
	for i := len(up) - 1; i >= 0; i-- {
		require.Equal(t, up[i], image(t, f, crashfs.Cut{At: i * (end / 20), Data: crashfs.Torn, Names: crashfs.NamesOrdered, Seed: 3}))
	}
}

// bulk makes a log of 100,000 operations and 180 MB: 25 files, a sync for each
// ten writes.
func bulk(dir string) error {
	block := make([]byte, 2000)
	for n := range 25 {
		err := file(fmt.Sprintf("f%d", n), newFile, func(f *os.File) error {
			for i := range 3600 {
				if _, err := f.Write(block); err != nil {
					return err
				}
				if i%10 == 9 {
					if err := f.Sync(); err != nil {
						return err
					}
				}
			}
			return nil
		})(dir)
		if err != nil {
			return err
		}
	}
	return syncDir(".")(dir)
}

// BenchmarkImage makes images of a large log at growing cuts.
func BenchmarkImage(b *testing.B) {
	f, _, dir := mount(b, nil)
	begin := time.Now()
	run(b, "bulk", dir)
	end := f.Mark()
	b.Logf("recorded %d operations in %s", end, time.Since(begin))
	out, i := b.TempDir(), 0
	for b.Loop() {
		into := fmt.Sprintf("%s/%d", out, i)
		cut := crashfs.Cut{At: end/2 + i%100*(end/200), Data: crashfs.Torn, Names: crashfs.NamesKept, Seed: uint64(i)}
		require.NoError(b, f.Image(cut, into))
		b.StopTimer()
		require.NoError(b, os.RemoveAll(into))
		b.StartTimer()
		i++
	}
}
