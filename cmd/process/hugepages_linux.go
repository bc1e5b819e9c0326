package process

import (
	"errors"
	"os"
	"reflect"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// collapseHeap puts the memory of the heap on huge pages. A busy heap has some hundred megabytes: on small pages the
// processor spends a tenth of its time on looking up where they are. Nothing else changes, and what is given back to
// the system later is divided again. It fails when there are no huge pages, or when they are not to be used.
func collapseHeap() error {
	enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil {
		return err
	}
	if strings.Contains(string(enabled), "[never]") {
		return errors.ErrUnsupported
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for _, m := range mappingsAround(string(maps), reflect.ValueOf(new([64]byte)).Pointer()) {
		// One at a time: the kernel stops at some of those that fail.
		for at := (m.from + hugePage - 1) &^ (hugePage - 1); at+hugePage <= m.to; at += hugePage {
			switch _, _, err := unix.Syscall(unix.SYS_MADVISE, at, hugePage, unix.MADV_COLLAPSE); err {
			case 0, unix.EAGAIN:
			case unix.EINVAL: // nothing is in it, or the kernel is older than 6.1
			default:
				return err
			}
		}
	}
	return nil
}

// hugePage is the size of a huge page.
const hugePage = 2 << 20

// mapping is a part of the address space.
type mapping struct{ from, to uintptr }

// mappingsAround returns the writable mappings of memory that touch the one with an address, in a list like
// /proc/self/maps. Go adds the arenas of its heap behind one another.
func mappingsAround(maps string, address uintptr) (writable []mapping) {
	found, end := false, uintptr(0)
	for line := range strings.Lines(maps) { // from-to access offset device inode name
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		m := mapping{parseAddress(from), parseAddress(to)}
		isMemory := len(fields) == 5 || fields[5] == "[anon:" // which kernels that know them call areas of Go
		if !isMemory || m.from != end {
			if found {
				break
			}
			writable = nil
		}
		if end = m.to; !isMemory {
			continue
		}
		if fields[1] == "rw-p" {
			writable = append(writable, m)
		}
		found = found || m.from <= address && address < m.to
	}
	if !found {
		return nil
	}
	return writable
}

func parseAddress(text string) uintptr {
	address, _ := strconv.ParseUint(text, 16, 64) // by the kernel
	return uintptr(address)
}
