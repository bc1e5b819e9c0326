//go:build bench

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"testing"

	"svc/cmd/node/nodetest"
)

// The test binary is also the processes that are measured or needed beside
// them: roles says what each does instead of running tests.
var roles = map[string]func() error{
	"serve":      nodetest.Serve,
	"identified": nodetest.ServeIdentified,
	"bare":       serveBare,
	"template":   serveTemplate,
	"orders":     serveOrders,
	"slowdisk":   serveSlowDisk,
}

const roleVariable = "BENCH_ROLE"

func TestMain(m *testing.M) {
	if nodetest.RunChild() {
		return
	}
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	stop, err := profile(role)
	if err == nil {
		err = roles[role]()
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// TestBench is the table of benchmarks, by their names in docs/benchmarks.md.
// The long log of start is filled first and used last: the broker remembers the
// ids of events for two minutes, and a start within that time would measure those.
func TestBench(t *testing.T) {
	past := newHistory(t, 1_000_000)
	for _, b := range []struct {
		name string
		run  func(*testing.T, *history)
	}{
		{"fill", func(t *testing.T, past *history) { past.fill(t) }},
		{"replay", benchReplay},
		{"append", benchAppend},
		{"read", benchRead},
		{"write", benchWrite},
		{"trigger", benchTrigger},
		{"past", benchPast},
		{"identity", benchIdentity},
		{"git", benchGit},
		{"bulk", benchBulk},
		{"webhooks", benchWebhooks},
		{"ingest", benchIngest},
		{"fanout", benchFanout},
		{"feed", benchFeed},
		{"pages", benchPages},
		{"search", benchSearch},
		{"rebuild", benchRebuild},
		{"crawl", benchCrawl},
		{"ask", benchAsk},
		{"agent", benchAgent},
		{"growth", benchGrowth},
		{"idle", benchIdle},
		{"start", benchStart},
	} {
		t.Run(b.name, func(t *testing.T) { b.run(t, past) })
	}
}

// runs is how often each side of a benchmark is measured.
const runs = 3

// scaled returns n, or the part of it that BENCH_SCALE (0 to 1) asks for while
// a benchmark is being worked on.
func scaled(n int) int {
	if f, err := strconv.ParseFloat(os.Getenv("BENCH_SCALE"), 64); err == nil {
		return int(float64(n) * f)
	}
	return n
}

// profile writes a CPU profile of this process to BENCH_PROFILE_DIR, if set.
func profile(name string) (stop func(), err error) {
	dir := os.Getenv("BENCH_PROFILE_DIR")
	if dir == "" {
		return func() {}, nil
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%d.pprof", name, os.Getpid())))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}
