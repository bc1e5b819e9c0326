//go:build fault

package crashfs_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/eventstore/crashfs"
)

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
