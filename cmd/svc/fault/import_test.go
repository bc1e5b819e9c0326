//go:build fault

package fault

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/archive"
)

// stock is an archive of one generation: large enough to be staged, with another
// number of parts each time.
func stock(t *testing.T, generation int) []byte {
	t.Helper()
	tree := archive.Tree{"index.yml": fmt.Appendf(nil, "name: Generation %d\nslug: stock\n", generation)}
	for i := range 20 + generation%3*20 {
		text := strings.Repeat(fmt.Sprintf("%d-", generation), 20_000)
		tree[fmt.Sprintf("automations/a%d.yml", i)] = fmt.Appendf(nil, "slug: a%d\nname: Generation %d\ndo: []\noutput: %s\n", i, generation, text)
	}
	var b bytes.Buffer
	require.NoError(t, tree.WriteZip(&b))
	return b.Bytes()
}

// upload sends an archive with prune; the error is nil only when the import was
// acknowledged.
func (s *service) upload(path string, data []byte) error {
	req, err := http.NewRequest(http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d%s?prune=true", s.port, path), bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer tester")
	req.Header.Set("Content-Type", "application/zip")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

// exported returns the archive of a workspace.
func (s *service) exported(t *testing.T, id string) []byte {
	t.Helper()
	status, body, err := s.call(http.MethodGet, "/v2/workspaces/"+id+"/export", "", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%.300s", body)
	return body
}

// Whatever moment the process is killed at during an import: afterwards the
// content is the old or the new one, and an import that was acknowledged is
// there.
func TestKillDuringImportsLeavesTheOldOrTheNew(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.start(t)
	id, err := s.create("stock")
	require.NoError(t, err)
	require.NoError(t, s.upload("/v2/workspaces/"+id+"/import", stock(t, 0)))
	old := s.exported(t, id)
	kills, rng, started := nodetest.Cycles(20, 300), rand.New(rand.NewPCG(4, 2)), time.Now()
	kept, switched := 0, 0
	for generation := 1; generation <= kills; generation++ {
		data := stock(t, generation)
		outcome := make(chan error, 1)
		go func() { outcome <- s.upload("/v2/workspaces/"+id+"/import", data) }()
		moment := time.NewTimer(time.Duration(rng.IntN(250)) * time.Millisecond)
		<-moment.C
		s.kill()
		acknowledged := <-outcome == nil
		s.start(t)
		now := s.exported(t, id)
		if bytes.Equal(old, now) {
			require.False(t, acknowledged, "an import that was acknowledged is gone")
			kept++
			continue
		}
		// The same archive again changes nothing: all of it was there.
		require.NoError(t, s.upload("/v2/workspaces/"+id+"/import", data))
		require.True(t, bytes.Equal(now, s.exported(t, id)), "round %d left a mixture", generation)
		old = now
		switched++
	}
	s.verify(t)
	s.stop(t)
	nodetest.Report(t, "import", map[string]any{"kills": kills, "old": kept, "new": switched, "mixed": 0, "seconds": int(time.Since(started).Seconds())})
}
