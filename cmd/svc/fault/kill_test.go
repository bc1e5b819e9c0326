//go:build fault

package fault

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/workspace"
)

// writer is the client of the kill test: it creates workspaces and describes them, and knows
// what it was told.
type writer struct {
	name    string
	next    int
	pending string            // a create without an answer yet: repeated with its key
	acked   map[string]string // name to id of acknowledged creates
	text    map[string]string // id to the last acknowledged description
	maybe   map[string]string // id to a description without an answer
	rng     *rand.Rand
}

// write goes on until the service is gone. It is refused nothing.
func (w *writer) write(t *testing.T, s *service) {
	for {
		if w.pending == "" {
			w.pending = fmt.Sprintf("%s-%d", w.name, w.next)
			w.next++
		}
		id, err := s.create(w.pending)
		if refused, ok := errors.AsType[answered](err); ok && refused.status < 500 {
			t.Errorf("%s was refused: %s", w.pending, err)
		}
		if err != nil {
			return
		}
		w.acked[w.pending], w.pending = id, ""
		if w.rng.IntN(2) == 0 && w.describe(s, id) != nil {
			return
		}
	}
}

func (w *writer) describe(s *service, id string) error {
	text := fmt.Sprintf("%s described %d", w.name, w.rng.Uint64())
	w.maybe[id] = text
	err := s.describe(id, text)
	if err == nil {
		w.text[id] = text
		delete(w.maybe, id)
	}
	return err
}

func TestKillLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	s := newService(t)
	writers := make([]*writer, 8)
	for i := range writers {
		writers[i] = &writer{
			name: fmt.Sprintf("w%d", i), acked: map[string]string{}, text: map[string]string{}, maybe: map[string]string{},
			rng: rand.New(rand.NewPCG(uint64(i), 3)),
		}
	}
	kills, start := nodetest.Cycles(200, 2000), time.Now()
	rng := rand.New(rand.NewPCG(1, 2))
	for range kills {
		s.start(t)
		var running sync.WaitGroup
		for _, w := range writers {
			running.Go(func() { w.write(t, s) })
		}
		moment := time.NewTimer(time.Duration(20+rng.IntN(150)) * time.Millisecond)
		<-moment.C
		s.kill()
		running.Wait()
	}
	took := time.Since(start)

	s.start(t)
	for _, w := range writers { // what was not answered is asked again, with its key
		if w.pending != "" {
			id, err := s.create(w.pending)
			require.NoError(t, err)
			w.acked[w.pending] = id
		}
	}
	s.verify(t)
	checkReads(t, s, writers)
	s.stop(t)
	acked := checkLog(t, s, writers)
	nodetest.Report(t, "kill", map[string]any{"kills": kills, "acknowledged": acked, "lost": 0, "doubled": 0, "seconds": int(took.Seconds())})
}

// checkReads asks the service for everything that was acknowledged.
func checkReads(t *testing.T, s *service, writers []*writer) {
	t.Helper()
	for _, w := range writers {
		for name, id := range w.acked {
			got, err := s.read(id)
			require.NoError(t, err, "%s %s was acknowledged", name, id)
			require.Equal(t, name, got.Name)
			if maybe, open := w.maybe[id]; open {
				require.Contains(t, []string{w.text[id], maybe}, got.Description)
			} else {
				require.Equal(t, w.text[id], got.Description)
			}
		}
	}
}

// checkLog reads the log itself: each create once, under the id that was told.
func checkLog(t *testing.T, s *service, writers []*writer) (acked int) {
	t.Helper()
	created := map[string][]string{}
	eachEvent(t, s.openLog(t).Log, domain.State, func(ev domain.Recorded) {
		if c, ok := ev.Data.(workspace.Created); ok {
			created[c.Workspace.Settings.Name] = append(created[c.Workspace.Settings.Name], c.Workspace.ID)
		}
	})
	for _, w := range writers {
		for name, id := range w.acked {
			require.Equal(t, []string{id}, created[name], "created once")
			acked++
		}
	}
	require.Len(t, created, acked+1, "nothing but what was asked for, and the platform workspace")
	return acked
}
