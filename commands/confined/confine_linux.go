package confined

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	maxDescriptors = 16
	// slack is what the runtime takes besides the heap, and the step in which it
	// asks for memory.
	slack = 64 << 20
)

// attributes are those of the child: a session of its own, so that it and all it
// started are ended at once, and an end when the thread that started it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// Confine gives up for good what the process is not to have: a child calls it before it reads what it does not trust.
// After it the process may take so much more memory, in bytes, and work for the timeout. Other processes of the
// same user are not counted against it (RLIMIT_NPROC counts the service too): the
// filter refuses to make any.
func Confine(timeout time.Duration, memory int64) error {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // first to go when the machine has no memory left
	data, err := dataInUse()
	if err != nil {
		return err
	}
	seconds := uint64(Threads*(timeout.Seconds()+1)) + 1
	for limit, most := range map[int]uint64{
		unix.RLIMIT_DATA:   data + uint64(memory) + slack,
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

// refused are the system calls that the child has no use for: sockets, files by
// name, other programs and processes, and ways around all that.
var refused = []uint32{
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
	unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG,
	unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_MEMFD_CREATE,
	unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_LINKAT, unix.SYS_SYMLINKAT,
	unix.SYS_FCHMODAT, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_TRUNCATE, unix.SYS_CHDIR, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT,
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_KILL, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_PRLIMIT64, unix.SYS_SETRLIMIT, unix.SYS_INIT_MODULE,
	unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
}

// machine is what a filter has to know of a kind of processor.
type machine struct {
	audit  uint32   // how the kernel names it
	older  []uint32 // calls that only it has: open creat fork vfork unlink rename mkdir rmdir link symlink chmod chown mknod
	beyond uint32   // numbers from here on belong to another way of calling; 0: there is none
}

var machines = map[string]machine{
	"amd64": {unix.AUDIT_ARCH_X86_64, []uint32{2, 85, 57, 58, 87, 82, 83, 84, 86, 88, 90, 92, 133}, 0x40000000},
	"arm64": {unix.AUDIT_ARCH_AARCH64, nil, 0},
}

// Where a filter finds what it looks at, and what it answers.
const (
	numberAt   = 0
	machineAt  = 4
	firstArgAt = 16
	allowCall  = unix.SECCOMP_RET_ALLOW
	refuseCall = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	noSuchCall = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// Unconfined returns why the filter cannot be set on this machine, nil when it can. The
// kernel may not have it, and the container that the service runs in may not let it.
func Unconfined() error {
	if _, known := machines[runtime.GOARCH]; !known {
		return errors.New("no filter for " + runtime.GOARCH)
	}
	answer := uint32(unix.SECCOMP_RET_ERRNO)
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&answer))); errno != 0 {
		return fmt.Errorf("the kernel has no filter for us: %w", errno)
	}
	return nil
}

// refuseCalls sets the filter on every thread, and with it that no program can
// give back what was given up.
func refuseCalls() error {
	m, known := machines[runtime.GOARCH]
	if !known {
		return errors.New("no filter for " + runtime.GOARCH)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	code := filter(m)
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	stray, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("set the filter: %w", errno)
	}
	if stray != 0 {
		return fmt.Errorf("set the filter: thread %d did not take it", stray)
	}
	return nil
}

// filter is the program that the kernel asks about each call. Threads may be made,
// processes not: clone3 hides which it makes, so it does not exist.
func filter(m machine) []unix.SockFilter {
	code := []unix.SockFilter{
		load(machineAt), when(m.audit), answer(refuseCall), load(numberAt),
	}
	if m.beyond != 0 {
		code = append(code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: m.beyond, Jf: 1}, answer(refuseCall))
	}
	for _, number := range append(append([]uint32{}, refused...), m.older...) {
		code = append(code, unless(number, 1), answer(refuseCall))
	}
	return append(code,
		unless(unix.SYS_CLONE3, 1), answer(noSuchCall),
		unless(unix.SYS_CLONE, 3),
		load(firstArgAt),
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_THREAD, Jt: 1},
		answer(refuseCall),
		answer(allowCall),
	)
}

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

// unless skips the next steps when what was loaded is not k.
func unless(k uint32, steps uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: steps}
}

// when skips the next step when what was loaded is k.
func when(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: 1}
}

func answer(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
}
