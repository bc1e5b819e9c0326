//go:build fault

package fault

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/activity"
)

const platformKey = "q8Zt2vKx0mR7pLw4YbN1cHs9dGf5jUa3"

// clean erases all activity of a workspace, as the platform itself asks for it. A run
// that was killed stands in the way until its lease has ended.
func (s *service) clean(workspaceID string) (done activity.Cleaned, status int, err error) {
	body := fmt.Sprintf(`{"retention":0,"workspaceMaxEvents":-1,"workspaceIds":[%q]}`, workspaceID)
	req, err := http.NewRequest(http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/sys/cleanup/indices", s.port), strings.NewReader(body))
	if err != nil {
		return done, 0, err
	}
	req.Header.Set("X-Svc-Api-Key", platformKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return done, 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(answer, &done)
	}
	return done, resp.StatusCode, err
}

// emitMany records events of a workspace, which must be acknowledged.
func (s *service) emitMany(t *testing.T, workspaceID string, n int) {
	t.Helper()
	var events []map[string]any
	for i := range n {
		events = append(events, map[string]any{"type": "my.event", "payload": map[string]any{"n": i}})
	}
	status, body, err := s.call(http.MethodPost, "/v2/workspaces/"+workspaceID+"/events", "", map[string]any{"events": events})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status, "%s", body)
}

// cleanAndKill kills the service after a while, from when a cleanup has begun. It
// tells whether that one was broken off.
func (s *service) cleanAndKill(t *testing.T, workspaceID string, after time.Duration) (broken bool) {
	t.Helper()
	process := s.cmd.Process
	for {
		killer := time.AfterFunc(after, func() { _ = process.Kill() })
		_, status, err := s.clean(workspaceID)
		if err != nil || status != http.StatusLocked || !killer.Stop() {
			return err != nil
		}
		select { // the lease of the one that was killed before has not ended yet
		case <-time.After(250 * time.Millisecond):
		case <-t.Context().Done():
			return false
		}
	}
}

// A cleanup that is killed at any moment loses nothing but what it is about, and the
// next one finishes it: what readers see, what the read models know and what the log
// has agree in the end, and the log of states is as it was.
func TestKilledCleanupsAreFinished(t *testing.T) {
	t.Parallel()
	s, seed := newService(t, "INTERNAL_API_KEY="+platformKey), nodetest.Seed()
	rng := rand.New(rand.NewPCG(seed, 1))
	s.start(t)
	erased, err := s.create("erased")
	require.NoError(t, err)
	kept, err := s.create("kept")
	require.NoError(t, err)
	kills, broken := nodetest.Cycles(4, 40), 0
	for range kills {
		for range 5 {
			s.emitMany(t, erased, 100)
		}
		s.emitMany(t, kept, 10)
		if s.cleanAndKill(t, erased, time.Duration(rng.IntN(80))*time.Millisecond) {
			broken++
		}
		s.kill()
		s.start(t)
	}
	require.Eventually(t, func() bool {
		done, status, err := s.clean(erased)
		return err == nil && status == http.StatusOK && len(done.Errors) == 0
	}, time.Minute, 500*time.Millisecond)
	again, _, err := s.clean(erased)
	require.NoError(t, err)
	require.Zero(t, again.Expired.Total, "nothing is left to erase")
	s.verify(t)
	_, page, err := s.call(http.MethodGet, "/v2/workspaces/"+erased+"/events?types=my.event", "", nil)
	require.NoError(t, err)
	require.JSONEq(t, `{"result":{"events":[]}}`, string(page))
	s.stop(t)
	require.Equal(t, map[string]int{kept: 10 * kills}, emittedEvents(t, s))
	nodetest.Report(t, "kill-cleanup", map[string]any{"seed": seed, "kills": kills, "broken_off": broken, "kept": 10 * kills, "lost": 0, "returned": 0})
}

// emittedEvents counts what the log has of my.event, by workspace; and the log of
// states must have no gap.
func emittedEvents(t *testing.T, s *service) map[string]int {
	t.Helper()
	found := map[string]int{}
	eachEvent(t, s.openLog(t).Log, domain.Activity, func(ev domain.Recorded) {
		if ev.Data.EventType() == "my.event" {
			found[ev.Stream.Scope]++
		}
	})
	return found
}
