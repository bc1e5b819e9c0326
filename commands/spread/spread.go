// Package spread does many small pieces of work that know nothing of each other, on
// all processors.
package spread

import (
	"runtime"
	"sync"
	"sync/atomic"

	"svc/commands"
)

// few is how many pieces are not worth a goroutine.
const few = 8

// Over calls do with 0 to n-1, in any order, and returns when all have returned. A
// panic of one is one of the caller's, who can recover from it.
func Over(n int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n/few)
	if workers < 2 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	var broken atomic.Value
	for range workers {
		all.Go(func() {
			defer commands.Recover(func(panicked *commands.PanicError) { broken.CompareAndSwap(nil, panicked) })
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
	if err := broken.Load(); err != nil {
		panic(err)
	}
}
