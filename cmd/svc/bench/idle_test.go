//go:build bench

package bench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/eventstore/jetstream"
)

// Aims of a service that nobody uses.
const (
	aimMemoryMB = 80
	aimCPU      = 0.5 // percent of one core
	aimBinaryMB = 60
)

// benchIdle measures what the service takes while nothing happens.
func benchIdle(t *testing.T, _ *history) {
	dir, path, others := t.TempDir(), binary(t), watchOthers(t)
	store := openStore(t, filepath.Join(dir, "log"), jetstream.SyncGroup)
	const workspaces, events = 100, 1000
	require.NoError(t, write(t, store, workspaces, events))
	require.EqualValues(t, events, lastOf(t, store))
	closeStore(t, store)
	info, err := os.Stat(path)
	require.NoError(t, err)

	s := startBinary(t, path, dir)
	s.awaitReady(t, "/readyz")
	const warm, window = 30 * time.Second, 20 * time.Second
	<-time.After(warm)
	pid := s.Process.Pid
	written, cpu := procField(t, pid, "io", "write_bytes"), cpuOf(t, pid)
	<-time.After(window)
	written, cpu = procField(t, pid, "io", "write_bytes")-written, cpuOf(t, pid)-cpu
	resident, proportional := procField(t, pid, "status", "VmRSS"), procField(t, pid, "smaps_rollup", "Pss")
	anonymous := procField(t, pid, "status", "RssAnon")
	s.stop(t)

	percent := 100 * cpu.Seconds() / window.Seconds()
	memory, size := float64(resident)/1024, megabytes(info.Size())
	okMemory, okCPU, okSize := memory < aimMemoryMB, percent < aimCPU, size < aimBinaryMB
	line{
		"runs": 1, "others_cores": others(), "warm_s": warm.Seconds(), "window_s": window.Seconds(), "events": events, "workspaces": workspaces,
		"rss_mb": memory, "pss_mb": float64(proportional) / 1024, "anon_mb": float64(anonymous) / 1024,
		"cpu_percent": percent, "written_kb": float64(written) / 1024, "binary_mb": size,
		"aim_rss_mb": aimMemoryMB, "aim_cpu_percent": aimCPU, "aim_binary_mb": aimBinaryMB,
		"ok_memory": okMemory, "ok_cpu": okCPU, "ok_binary": okSize, "ok": okMemory && okCPU && okSize, "durability": "group",
	}.print(t, "idle")
}
