package process

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

const someMaps = `00400000-0213a000 r-xp 00000000 fe:00 10070357                           /usr/bin/svc
0460f000-06662000 rw-p 00000000 00:00 0 
3f627000-3f648000 rw-p 00000000 00:00 0                                  [heap]
1f0e78000000-1f0e7a800000 ---p 00000000 00:00 0 
1f0e7a800000-1f0e80c00000 rw-p 00000000 00:00 0 
1f0e80c00000-1f0e80e00000 rw-p 00000000 00:00 0                          [anon: Go: heap]
1f0e80e00000-1f0e84000000 ---p 00000000 00:00 0 
7f3e32000000-7f3e3a000000 rw-s 00000000 fe:00 11338454                   /data/readmodels/000001.vlog
7f3e3a000000-7f3e3b000000 rw-p 00000000 00:00 0 
7f3e44021000-7f3e48000000 ---p 00000000 00:00 0 
`

func TestTheMappingsOfTheHeapTouchOneAnother(t *testing.T) {
	t.Parallel()
	heap := []mapping{{0x1f0e7a800000, 0x1f0e80c00000}, {0x1f0e80c00000, 0x1f0e80e00000}}
	for address, want := range map[uintptr][]mapping{
		0x1f0e7a800000: heap,
		0x1f0e80d00000: heap,
		0x1f0e84000000: nil, // behind it
		0x7f3e32000000: nil, // a file
		0x7f3e3a000000: {{0x7f3e3a000000, 0x7f3e3b000000}},
		0x0460f000:     {{0x0460f000, 0x06662000}},
		0x42:           nil,
	} {
		require.Equal(t, want, mappingsAround(someMaps, address), "%x", address)
	}
	require.Empty(t, mappingsAround("no list\n", 1))
}

func TestAHeapOnHugePagesIsTheSame(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	at, inHeap := reflect.ValueOf(content).Pointer(), false
	for _, m := range mappingsAround(string(maps), reflect.ValueOf(new([64]byte)).Pointer()) {
		inHeap = inHeap || m.from <= at && at < m.to
	}
	require.True(t, inHeap)
	for range 2 {
		_ = collapseHeap() // where there are huge pages
		require.True(t, bytes.Equal(content, bytes.Repeat([]byte("0123456789abcdef"), 1<<20)))
	}
}
