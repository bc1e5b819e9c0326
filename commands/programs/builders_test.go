package programs_test

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"svc/commands/content"
	"svc/commands/programs"
)

// slow is a shelf from which the content of one workspace is not had before it is let go,
// unless whoever asks for it gives up.
type slow struct {
	shelf
	id    string
	let   chan struct{}
	asked *atomic.Int32 // how often for the content of that workspace
}

func (s slow) At(ctx context.Context, id string, revision uint64) (map[string]content.Ref, error) {
	if id == s.id {
		s.asked.Add(1)
		select {
		case <-s.let:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.shelf.At(ctx, id, revision)
}

// held returns a library that waits for the content of a workspace.
func held(t *testing.T, s shelf, id string) (*programs.Library, slow) {
	t.Helper()
	all := slow{s, id, make(chan struct{}), new(atomic.Int32)}
	return library(t, all, &bytes.Buffer{}), all
}

// answer is what somebody got who asked for a house.
type answer struct {
	house *programs.ProgramSet
	err   error
}

// asks has somebody ask for the house of a workspace, and returns when nobody gets on by
// themselves any more.
func asks(ctx context.Context, l *programs.Library, id string) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		h, err := l.ProgramSet(ctx, id)
		got <- answer{h, err}
	}()
	synctest.Wait()
	return got
}

func TestNobodyWaitsForTheHouseOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	s := shelf{}
	s.has("large", "a")
	s.has("w", "own")
	s.has("app", "one")
	synctest.Test(t, func(t *testing.T) {
		l, large := held(t, s, "large")
		first := asks(t.Context(), l, "large")
		require.Empty(t, first)

		done := make(chan struct{})
		go func() {
			defer close(done)
			h, err := l.ProgramSet(t.Context(), "w")
			assert.NoError(t, err)
			assert.Equal(t, []string{"own"}, names(h))
			h, err = l.ProgramSetBefore(t.Context(), "w", 0)
			assert.NoError(t, err)
			assert.Equal(t, []string{"own"}, names(h))
			assert.NoError(t, l.CheckCapacity(t.Context(), "w", "", content.Instance{Slug: "x", App: content.Installed{Slug: "app"}}))
		}()
		synctest.Wait()
		select {
		case <-done:
		default:
			assert.Fail(t, "the other workspace waits")
		}
		close(large.let)
		require.NoError(t, (<-first).err)
		<-done
	})
}

func TestAHouseIsBuiltOnceForAllWhoAskForIt(t *testing.T) {
	t.Parallel()
	s := shelf{}
	s.has("w", "own")
	synctest.Test(t, func(t *testing.T) {
		l, w := held(t, s, "w")
		var all []<-chan answer
		for range 5 {
			all = append(all, asks(t.Context(), l, "w"))
		}
		close(w.let)
		first := <-all[0]
		require.NoError(t, first.err)
		for _, other := range all[1:] {
			require.Same(t, first.house, (<-other).house)
		}
		require.EqualValues(t, 1, w.asked.Load())
	})
}

// sharing is a shelf with two workspaces that have one app.
func sharing() shelf {
	s := shelf{}
	s.installs("v", "app", "x")
	s.installs("w", "app", "y")
	s.has("app", "one")
	return s
}

func TestAnAppIsCompiledOnceForTheHousesThatHaveIt(t *testing.T) {
	t.Parallel()
	s := sharing()
	synctest.Test(t, func(t *testing.T) {
		l, app := held(t, s, "app")
		v, w := asks(t.Context(), l, "v"), asks(t.Context(), l, "w")
		require.EqualValues(t, 1, app.asked.Load(), "the second waits for what the first reads")
		close(app.let)
		require.Equal(t, []string{"x.one"}, names((<-v).house))
		require.Equal(t, []string{"y.one"}, names((<-w).house))
		require.EqualValues(t, 1, app.asked.Load())
	})
}

func TestWhoGivesUpHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := sharing()
	synctest.Test(t, func(t *testing.T) {
		l, app := held(t, s, "app")
		builds, stop := context.WithCancel(t.Context())
		waits, leave := context.WithCancel(t.Context())
		v, w := asks(builds, l, "v"), asks(t.Context(), l, "w")
		again := asks(waits, l, "w")
		require.Empty(t, v)

		leave()
		require.ErrorIs(t, (<-again).err, context.Canceled, "it does not wait for who builds")
		stop()
		require.ErrorIs(t, (<-v).err, context.Canceled)
		close(app.let)
		require.Equal(t, []string{"y.one"}, names((<-w).house), "who waited builds it instead")
	})
}
