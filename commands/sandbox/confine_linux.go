package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	maxDescriptors = 16
	// slack is what the runtime takes besides the heap, and the step in which it
	// asks for memory.
	slack = 64 * megabyte
)

// attributes are those of the child: a session of its own, so that it and all it
// started are ended at once, and an end when the thread that started it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// confine gives up for good what code is not to have. Other processes of the
// same user are not counted against it (RLIMIT_NPROC counts the service too): the
// filter refuses to make any.
func confine(o order) error {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // first to go when the machine has no memory left
	data, err := dataInUse()
	if err != nil {
		return err
	}
	seconds := uint64(childThreads*(o.Timeout.Seconds()+1)) + 1
	for limit, most := range map[int]uint64{
		unix.RLIMIT_DATA:   data + uint64(withGarbage(o.memory())) + slack,
		unix.RLIMIT_CPU:    seconds,
		unix.RLIMIT_NOFILE: maxDescriptors,
		unix.RLIMIT_FSIZE:  0,
		unix.RLIMIT_CORE:   0,
	} {
		if err := unix.Setrlimit(limit, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit %d to %d: %w", limit, most, err)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return refuseCalls()
}

// dataInUse returns how much memory counts against RLIMIT_DATA already.
func dataInUse() (uint64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("read the memory in use: %w", err)
	}
	_, rest, found := bytes.Cut(status, []byte("VmData:"))
	fields := bytes.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, fmt.Errorf("read the memory in use: no VmData in %q", status)
	}
	kilobytes, err := strconv.ParseUint(string(fields[0]), 10, 64)
	return kilobytes << 10, err
}
