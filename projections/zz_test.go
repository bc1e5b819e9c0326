package projections_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

func BenchmarkZZ(b *testing.B) {
	for _, open := range []bool{false, true} {
		if open {
			openDB(b, b.TempDir()+"/m")
		}
		time.Sleep(3 * time.Second)
		var a, z syscall.Rusage
		syscall.Getrusage(0, &a)
		time.Sleep(20 * time.Second)
		syscall.Getrusage(0, &z)
		fmt.Println(open, "cpu in 20s:", time.Duration(z.Utime.Nano()-a.Utime.Nano()), time.Duration(z.Stime.Nano()-a.Stime.Nano()), "switches", z.Nvcsw-a.Nvcsw)
	}
}
