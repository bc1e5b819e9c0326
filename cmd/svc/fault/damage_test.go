//go:build fault

package fault

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// filled starts a service and creates n workspaces in it.
func filled(t *testing.T, n int) (s *service, ids map[string]string) {
	t.Helper()
	s = newService(t)
	s.start(t)
	ids = map[string]string{}
	for i := range n {
		name := fmt.Sprintf("workspace %d", i)
		id, err := s.create(name)
		require.NoError(t, err)
		ids[name] = id
	}
	return s, ids
}

// intact asks for every workspace and for one write more.
func intact(t *testing.T, s *service, ids map[string]string) {
	t.Helper()
	for name, id := range ids {
		got, err := s.read(id)
		require.NoError(t, err)
		require.Equal(t, name, got.Name)
	}
	_, err := s.create("one more " + strconv.FormatInt(time.Now().UnixNano(), 36))
	require.NoError(t, err)
	s.verify(t)
}

// blocks returns the block files of STATE, oldest first.
func blocks(t *testing.T, s *service) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.dir, "log", "jetstream", "$G", "streams", "STATE", "msgs", "*.blk"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	number := func(path string) int {
		n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".blk"))
		require.NoError(t, err)
		return n
	}
	slices.SortFunc(paths, func(a, b string) int { return number(a) - number(b) })
	return paths
}

func TestATornTailIsCutOff(t *testing.T) {
	s, ids := filled(t, 50)
	s.kill()
	newest := blocks(t, s)
	f, err := os.OpenFile(newest[len(newest)-1], os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = f.Write(bytes.Repeat([]byte{0x5a, 0, 0, 0, 0xff}, 40)) // half a record
	require.NoError(t, err)
	require.NoError(t, f.Close())
	s.start(t)
	intact(t, s, ids)
	nodetest.Report(t, "torn-tail", map[string]any{})
}

func TestADeletedIndexIsMadeAnew(t *testing.T) {
	s, ids := filled(t, 50)
	s.stop(t)
	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(blocks(t, s)[0]), "index.db")))
	s.start(t)
	intact(t, s, ids)
	nodetest.Report(t, "deleted-index", map[string]any{})
}

func TestDeletedReadModelsAreRebuilt(t *testing.T) {
	s, ids := filled(t, 50)
	s.kill()
	require.NoError(t, os.RemoveAll(filepath.Join(s.dir, "readmodels")))
	s.start(t)
	intact(t, s, ids)
	nodetest.Report(t, "deleted-read-models", map[string]any{})
}

func TestCorruptReadModelsAreMovedAsideAndRebuilt(t *testing.T) {
	s, ids := filled(t, 50)
	s.stop(t)
	files, err := filepath.Glob(filepath.Join(s.dir, "readmodels", "*"))
	require.NoError(t, err)
	for _, path := range files {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 16 {
			flip(t, path, info.Size()/2)
		}
	}
	s.start(t)
	intact(t, s, ids)
	nodetest.Report(t, "corrupt-read-models", map[string]any{})
}

// flip turns one byte of a file over.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	require.NoError(t, err)
	b[0] ^= 0xff
	_, err = f.WriteAt(b, at)
	require.NoError(t, err)
}

// Damage of what was acknowledged cannot be mended. It must not go unnoticed:
// not ready, no writes, and reads go on.
func TestFlippedBitsInTheLogAreNoticed(t *testing.T) {
	for _, place := range []struct {
		name string
		part int64 // of the block, in hundredths
	}{{"early", 5}, {"middle", 50}, {"late", 95}} {
		t.Run(place.name, func(t *testing.T) {
			s, ids := filled(t, 60)
			s.kill()
			block := blocks(t, s)[0]
			info, err := os.Stat(block)
			require.NoError(t, err)
			flip(t, block, info.Size()*place.part/100)

			s.launch(t)
			s.awaitAlive(t)
			require.Eventually(t, func() bool {
				status, _, err := s.call(http.MethodPost, "/v2/workspaces", "", map[string]any{"name": "no"})
				return err == nil && status == http.StatusServiceUnavailable
			}, time.Minute, 20*time.Millisecond, "writes must be refused")
			status, _, err := s.call(http.MethodGet, "/readyz", "", nil)
			require.NoError(t, err)
			require.Equal(t, http.StatusServiceUnavailable, status)
			for name, id := range ids {
				got, err := s.read(id)
				require.NoError(t, err, "reads go on: the read models have it still")
				require.Equal(t, name, got.Name)
			}
		})
	}
	nodetest.Report(t, "flipped-bits", map[string]any{})
}

func (s *service) awaitAlive(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, _, err := s.call(http.MethodGet, "/healthz", "", nil)
		return err == nil && status == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
}
