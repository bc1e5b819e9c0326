//go:build bench

package bench

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/eventstore/jetstream"
)

// Aims of a start, in seconds.
const (
	aimClean  = 1.0
	aimKilled = 3.0
)

// remembered is how long the broker knows the ids of events, to drop a second
// one with the same.
const remembered = 2 * time.Minute

// firstEvents are those of a first start: the platform workspace, the signing
// keys (told twice), the super admin and the name it holds.
const firstEvents = 5

// benchStart measures from exec to the first 200 of /readyz on a long log.
func benchStart(t *testing.T, past *history) {
	past.fill(t)
	others := watchOthers(t)
	path := binary(t)
	s := startBinary(t, path, past.dir) // builds the read models
	s.awaitReady(t, "/readyz")
	s.stop(t)
	if left := remembered - time.Since(past.made); left > 0 {
		t.Logf("waiting %s until no id of the log is remembered", left)
		<-time.After(left)
	}
	clean, killed := make([]float64, runs), make([]float64, runs)
	var resident int64
	for run := range runs {
		collectGarbage()
		s, clean[run] = start(t, path, past.dir)
		s.kill(t)
		collectGarbage()
		s, killed[run] = start(t, path, past.dir)
		resident = procField(t, s.Process.Pid, "status", "VmRSS")
		s.stop(t)
	}
	store := openStore(t, past.log(), jetstream.SyncGroup)
	stored := lastOf(t, store)
	closeStore(t, store)
	require.Equal(t, past.events+firstEvents, stored, "every event, and what the first start made")
	c, k := median(clean), median(killed)
	line{
		"runs": runs, "events": past.events, "workspaces": past.workspaces, "log_mb": megabytes(sizeOf(t, past.log())),
		"readmodels_mb": megabytes(sizeOf(t, filepath.Join(past.dir, "readmodels"))), "rss_mb": float64(resident) / 1024,
		"clean_s": c, "killed_s": k, "all_clean_s": clean, "all_killed_s": killed, "aim_clean_s": aimClean, "aim_killed_s": aimKilled,
		"ok_clean": c < aimClean, "ok_killed": k < aimKilled, "ok": c < aimClean && k < aimKilled,
		"sent": past.events, "stored": stored, "durability": "group", "page_cache": "warm", "others_cores": others(),
	}.print(t, "start")
}

// start runs the service and returns it with the seconds until it was ready.
func start(t *testing.T, path, dir string) (*server, float64) {
	t.Helper()
	from := time.Now()
	s := startBinary(t, path, dir)
	s.awaitReady(t, "/readyz")
	return s, time.Since(from).Seconds()
}
