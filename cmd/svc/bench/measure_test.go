//go:build bench

package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// line is what a benchmark prints.
type line map[string]any

// print writes the line with its name first.
func (l line) print(t *testing.T, name string) {
	t.Helper()
	for key, value := range l {
		switch v := value.(type) {
		case float64:
			l[key] = short(v)
		case []float64:
			l[key] = rounded(v)
		}
	}
	b, err := json.Marshal(l)
	require.NoError(t, err)
	fmt.Printf("{\"bench\":%q,%s\n", name, b[1:])
}

// short rounds to three digits that count, and never before the point.
func short(f float64) float64 {
	if f == 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	scale := math.Pow(10, max(0, 2-math.Floor(math.Log10(math.Abs(f)))))
	return math.Round(f*scale) / scale
}

func rounded(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = short(v)
	}
	return out
}

// readCPUTime is the CPU time, in seconds, that the whole machine has spent on
// anything, and of that the part of this process and its ended children.
func readCPUTime(t *testing.T) (all, own float64) {
	t.Helper()
	b, err := os.ReadFile("/proc/stat")
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(b), "\n")
	for i, field := range strings.Fields(first)[1:9] {
		ticks, err := strconv.ParseFloat(field, 64)
		require.NoError(t, err)
		if i != 3 && i != 4 { // idle, and waiting for the disk
			all += ticks / 100
		}
	}
	var children syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children))
	ended := time.Duration(children.Utime.Nano() + children.Stime.Nano())
	return all, (ownCPU(t) + ended).Seconds()
}

// watchOthers returns how many cores others kept busy since the call. What a
// living child used counts as others' until it has ended.
func watchOthers(t *testing.T) func() float64 {
	t.Helper()
	start := time.Now()
	all, own := readCPUTime(t)
	return func() float64 {
		nowAll, nowOwn := readCPUTime(t)
		return max(0, ((nowAll-all)-(nowOwn-own))/time.Since(start).Seconds())
	}
}

// sample is one side of one run.
type sample struct {
	count   int             // operations that were answered well
	took    time.Duration   // all of them together
	cpu     time.Duration   // of the side that is measured
	latency []time.Duration // of each; may be empty
}

func (s sample) rate() float64 { return float64(s.count) / s.took.Seconds() }

// cpuEach is the CPU time of one operation in microseconds.
func (s sample) cpuEach() float64 { return float64(s.cpu.Microseconds()) / float64(s.count) }

// plus is s and a further slice of the same run.
func (s sample) plus(o sample) sample {
	return sample{s.count + o.count, s.took + o.took, s.cpu + o.cpu, append(s.latency, o.latency...)}
}

// series is one side of all runs.
type series []sample

// of returns the median of a figure over the runs.
func (s series) of(figure func(sample) float64) float64 {
	values := make([]float64, len(s))
	for i := range s {
		values[i] = figure(s[i])
	}
	return median(values)
}

func (s series) count() (n int) {
	for i := range s {
		n += s[i].count
	}
	return n
}

// ratios are this side's rate to the control's of the same run, run by run.
func (s series) ratios(control series) []float64 {
	values := make([]float64, len(s))
	for i := range s {
		values[i] = s[i].rate() / control[i].rate()
	}
	return values
}

// ratio is the median of ratios.
func (s series) ratio(control series) float64 { return median(s.ratios(control)) }

// describe adds the rate, the latencies and the CPU time of one side to a line.
func (s series) describe(l line, side string) {
	l["per_s_"+side] = s.of(sample.rate)
	l["cpu_s_"+side] = s.of(func(s sample) float64 { return s.cpu.Seconds() })
	l["cpu_us_each_"+side] = s.of(sample.cpuEach)
	if len(s[0].latency) == 0 {
		return
	}
	for _, p := range []int{50, 95, 99} {
		l[fmt.Sprintf("p%d_ms_%s", p, side)] = s.of(func(s sample) float64 { return percentile(s.latency, p) })
	}
}

// rates are the rates of the runs: when they differ much, the run was disturbed.
func (s series) rates() []float64 {
	values := make([]float64, len(s))
	for i := range s {
		values[i] = s[i].rate()
	}
	return values
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// percentile returns the p-th percentile in milliseconds.
func percentile(all []time.Duration, p int) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return milliseconds(sorted[min(len(sorted)-1, len(sorted)*p/100)])
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// collectGarbage makes the next measurement begin without the leftovers of the last one.
func collectGarbage() {
	debug.FreeOSMemory()
	unix.Sync()
}

// ownCPU is the CPU time of this process so far.
func ownCPU(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpuOf is the CPU time of the living threads of a process, to the nanosecond.
func cpuOf(t *testing.T, pid int) (total time.Duration) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	require.NoError(t, err)
	for _, path := range threads {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread ended meanwhile
		}
		ns, err := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
		require.NoError(t, err)
		total += time.Duration(ns)
	}
	return total
}

// procField returns a number of a file below /proc/PID, in the file's unit.
func procField(t *testing.T, pid int, file, name string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	require.NoError(t, err)
	for text := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(text, name+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			require.NoError(t, err)
			return n
		}
	}
	require.Fail(t, "no such field", "%s in %s", name, file)
	return 0
}

// sizeOf is how many bytes the files below dir have.
func sizeOf(t *testing.T, dir string) (total int64) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		total += info.Size()
		return err
	}))
	return total
}

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }

// fsyncTime is the median time that dir's disk takes to make a small write
// durable.
func fsyncTime(t *testing.T, dir string) float64 {
	t.Helper()
	f, err := os.CreateTemp(dir, "fsync")
	require.NoError(t, err)
	defer os.Remove(f.Name())
	defer f.Close()
	var all []float64
	for range 200 {
		_, err := f.Write(make([]byte, 512))
		require.NoError(t, err)
		start := time.Now()
		require.NoError(t, unix.Fdatasync(int(f.Fd())))
		all = append(all, milliseconds(time.Since(start)))
	}
	return median(all)
}
