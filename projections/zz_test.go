package projections_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"svc/projections"
)

func rss() string {
	b, _ := os.ReadFile("/proc/self/status")
	out := ""
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, "VmRSS") || strings.HasPrefix(l, "RssAnon") || strings.HasPrefix(l, "RssFile") {
			out += strings.Join(strings.Fields(l), " ") + "; "
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return out + fmt.Sprintf("heap %d MB sys %d", m.HeapInuse>>20, m.Sys>>20)
}

func BenchmarkZZ(b *testing.B) {
	fmt.Println("start", rss())
	dir, dbd := b.TempDir(), b.TempDir()+"/m"
	{
		db, c := openDB(b, dbd)
		fmt.Println("badger alone, empty", rss())
		c()
		_ = db
	}
	log, closeLog := openLog(b, dir)
	fmt.Println("jetstream", rss())
	_ = log
	closeLog()
	h := openHouse(b, dir, dbd)
	fmt.Println("house empty", rss())
	fill(b, h.log, 20000)
	require.NoError(b, h.Fresh(bounded(b)))
	fmt.Println("filled", rss())
	debug.FreeOSMemory()
	fmt.Println("filled, freed", rss())
	f, _ := os.Create("/tmp/heap.out")
	pprof.WriteHeapProfile(f)
	f.Close()
	h.shut()
	debug.FreeOSMemory()
	fmt.Println("shut", rss())
	st := time.Now()
	db, c := openDB(b, dbd)
	fmt.Println("open took", time.Since(st), rss())
	m, err := projections.New(projections.Options{DB: db, Store: log})
	require.NoError(b, err)
	debug.FreeOSMemory()
	fmt.Println("reopened badger only", listed(b, m), rss())
	c()
}
